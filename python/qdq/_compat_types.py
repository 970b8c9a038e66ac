"""Enumerations, reader and configurations, as ONNX Runtime's."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ._data import SampleSource
from ._qdq import lib

if TYPE_CHECKING:
    from typing_extensions import Self


class Named(enum.Enum):
    """An enumeration that command lines take by name, as ONNX Runtime's."""

    def __str__(self) -> str:
        return self.name

    @classmethod
    def from_string(cls, name: str) -> Self:
        """The member with this name; a `ValueError` if there is none."""
        try:
            return cls[name]
        except KeyError:
            raise ValueError(
                f"found {name!r}, expected one of {', '.join(m.name for m in cls)}"
            ) from None


class QuantFormat(Named):
    """As ONNX Runtime's. Only QDQ is written."""

    QOperator = 0
    QDQ = 1


class QuantizationMode(Named):
    """As ONNX Runtime's, whose functions no longer take it."""

    IntegerOps = 0
    QLinearOps = 1


class QuantType(Named):
    """As ONNX Runtime's."""

    QInt8 = 0
    QUInt8 = 1
    QFLOAT8E4M3FN = 2
    QInt16 = 3
    QUInt16 = 4
    QInt4 = 5
    QUInt4 = 6

    @property
    def tensor_type(self) -> int:
        """The number of the type in ``onnx.TensorProto``: 3 for ``QInt8``."""
        return int(lib.qdq_elem_from_name(TYPES[self.name].encode()))


class CalibrationMethod(enum.Enum):
    """As ONNX Runtime's."""

    MinMax = 0
    Entropy = 1
    Percentile = 2
    Distribution = 3


class CalibrationDataReader:
    """The base of what hands out samples, as ONNX Runtime's."""

    def get_next(self) -> Mapping[str, Any] | None:
        """The next sample; None after the last one."""
        raise NotImplementedError

    def __iter__(self) -> CalibrationDataReader:
        return self

    def __next__(self) -> Mapping[str, Any]:
        sample = self.get_next()
        if sample is None:
            raise StopIteration
        return sample


TYPES = {
    "QInt8": "int8",
    "QUInt8": "uint8",
    "QInt16": "int16",
    "QUInt16": "uint16",
    "QInt4": "int4",
    "QUInt4": "uint4",
    "QFLOAT8E4M3FN": "float8e4m3fn",
}


class StaticQuantConfig:
    """What `quantize` passes on to `quantize_static`, as ONNX Runtime's.

    Parameters
    ----------
    calibration_data_reader
        Samples.
    calibrate_method, quant_format, activation_type, weight_type, op_types_to_quantize, \
nodes_to_quantize, nodes_to_exclude, per_channel, reduce_range, use_external_data_format, \
calibration_providers, extra_options
        See `quantize_static`; what is None is the target's.
    """

    def __init__(
        self,
        calibration_data_reader: SampleSource | None,
        calibrate_method: Any = CalibrationMethod.MinMax,
        quant_format: Any = QuantFormat.QDQ,
        activation_type: Any = None,
        weight_type: Any = None,
        op_types_to_quantize: Sequence[str] | None = None,
        nodes_to_quantize: Sequence[str] | None = None,
        nodes_to_exclude: Sequence[str] | None = None,
        per_channel: bool | None = None,
        reduce_range: bool = False,
        use_external_data_format: bool = False,
        calibration_providers: Sequence[str] | None = None,
        extra_options: Mapping[str, Any] | None = None,
    ) -> None:
        self.calibration_data_reader = calibration_data_reader
        self.calibrate_method = calibrate_method
        self.quant_format = quant_format
        self.activation_type = activation_type
        self.weight_type = weight_type
        self.op_types_to_quantize = op_types_to_quantize
        self.nodes_to_quantize = nodes_to_quantize
        self.nodes_to_exclude = nodes_to_exclude
        self.per_channel = per_channel
        self.reduce_range = reduce_range
        self.use_external_data_format = use_external_data_format
        self.calibration_providers = calibration_providers
        self.extra_options = dict(extra_options or {})


class DynamicQuantConfig:
    """What `quantize` passes on to `quantize_dynamic`, as ONNX Runtime's.

    Parameters
    ----------
    weight_type, op_types_to_quantize, nodes_to_quantize, nodes_to_exclude, per_channel, \
reduce_range, use_external_data_format, extra_options
        See `quantize_dynamic`; what is None is the target's.
    """

    def __init__(
        self,
        weight_type: Any = None,
        op_types_to_quantize: Sequence[str] | None = None,
        nodes_to_quantize: Sequence[str] | None = None,
        nodes_to_exclude: Sequence[str] | None = None,
        per_channel: bool | None = None,
        reduce_range: bool = False,
        use_external_data_format: bool = False,
        extra_options: Mapping[str, Any] | None = None,
    ) -> None:
        self.weight_type = weight_type
        self.op_types_to_quantize = op_types_to_quantize
        self.nodes_to_quantize = nodes_to_quantize
        self.nodes_to_exclude = nodes_to_exclude
        self.per_channel = per_channel
        self.reduce_range = reduce_range
        self.use_external_data_format = use_external_data_format
        self.extra_options = dict(extra_options or {})
