"""Functions with the signatures of other tools, so that a script changes one import.

`quantize_static`, `quantize_dynamic`, `quantize`, `get_qdq_config` and `quant_pre_process` are ONNX
Runtime's (``onnxruntime.quantization``), `simplify` is onnxsim's. Each argument maps to an option
of this package, or is an `UnsupportedError` that says why not. `quantize` here is not
`qdq.quantize`: it writes a model as its configuration says.
"""

from __future__ import annotations

import enum
import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import errors
from ._arguments import check_types, dictionary, flag, natural, number, path, texts
from ._core import Job, Path, Shapes
from ._data import SampleSource
from ._engines import Engine
from ._model import Model, ModelSource
from ._qdq import lib
from ._quantize import QuantizeResult
from ._quantize import quantize as quantize_model
from ._tools import compare_models, optimize

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = [
    "CalibrationDataReader",
    "CalibrationMethod",
    "DynamicQuantConfig",
    "QuantFormat",
    "QuantType",
    "QuantizationMode",
    "StaticQuantConfig",
    "get_qdq_config",
    "quant_pre_process",
    "quantize",
    "quantize_dynamic",
    "quantize_static",
    "simplify",
]


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
METHODS = {"MinMax": "max", "Entropy": "entropy-compat", "Percentile": "percentile"}


def refuse(why: str) -> Callable[[Any], dict[str, Any]]:
    """An option that has no counterpart: an error unless it is off."""

    def take(value: Any) -> dict[str, Any]:
        if value:
            raise errors.UnsupportedError(why)
        return {}

    return take


def ignore(value: Any) -> dict[str, Any]:
    """An option that asks for what happens anyway, or that changes no result."""
    return {}


EXTRA: dict[str, Callable[[Any], dict[str, Any]]] = {
    "ActivationSymmetric": lambda v: {"symmetric": v},
    "CalibTensorRangeSymmetric": lambda v: {"symmetric": True} if v else {},
    "WeightSymmetric": lambda v: {"weight_asymmetric": not v},
    "AddQDQPairToWeight": lambda v: {"weights": "float"} if v else {},
    "QuantizeBias": lambda v: {"bias": "int32" if v else "float"},
    "CalibPercentile": lambda v: {"percentile": v},
    "CalibMovingAverage": lambda v: {"method": "moving-average"} if v else {},
    "MinimumRealRange": lambda v: {"set": {"activation.min_range": v}} if v else {},
    "CalibMaxIntermediateOutputs": ignore,  # values are folded into statistics as they come
    "CalibStridedMinMax": ignore,  # the same
    "BlockSize": lambda v: {"block_size": v} if v else {},
    "EnableSubgraph": ignore,  # always
    "DefaultTensorType": ignore,  # every type is inferred
    "QDQKeepRemovableActivations": ignore,  # always: engines fuse them
    "QDQDisableWeightAdjustForInt32Bias": ignore,  # always: what int32 cannot hold stays float
    "SmoothQuant": lambda v: {"smooth": True} if v else {},
    "SmoothQuantAlpha": ignore,  # each activation gets its own
    "SmoothQuantFolding": ignore,  # always: there is no smoothing without
    "ActivationRestrictedAsymmetric": refuse(
        "ActivationRestrictedAsymmetric: ActivationSymmetric, or asymmetric with any zero point"
    ),
    "extra.Sigmoid.nnapi": refuse("extra.Sigmoid.nnapi: there is no target for NNAPI"),
    "CalibMovingAverageConstant": refuse("CalibMovingAverageConstant: the constant is 0.01"),
    "ForceQuantizeNoInputCheck": refuse(
        "ForceQuantizeNoInputCheck: the target's rules decide which operators pass codes on"
    ),
    "MatMulConstBOnly": refuse("MatMulConstBOnly: a target of your own says so (docs/targets.md)"),
    "OpTypesToExcludeOutputQuantization": refuse(
        "OpTypesToExcludeOutputQuantization: a target of your own says so (docs/targets.md)"
    ),
    "DedicatedQDQPair": refuse("DedicatedQDQPair: readers of a tensor share one pair"),
    "QDQOpTypePerChannelSupportToAxis": refuse(
        "QDQOpTypePerChannelSupportToAxis: scales lie along the output channels of each operator"
    ),
    "TensorQuantOverrides": refuse(
        "TensorQuantOverrides: `overrides` of a target, a cache with ranges, or an edited plan"
    ),
    "UseQDQContribOps": refuse("UseQDQContribOps: the opset is raised where types need it"),
}


# The types of those; the rest are texts and lists that no option takes.
EXTRA_TYPES: dict[str, Callable[[str, Any], Any]] = {
    **dict.fromkeys(
        (
            "ActivationSymmetric",
            "CalibTensorRangeSymmetric",
            "WeightSymmetric",
            "AddQDQPairToWeight",
            "QuantizeBias",
            "CalibMovingAverage",
            "CalibStridedMinMax",
            "EnableSubgraph",
            "QDQKeepRemovableActivations",
            "QDQDisableWeightAdjustForInt32Bias",
            "ActivationRestrictedAsymmetric",
            "extra.Sigmoid.nnapi",
            "SmoothQuant",
            "SmoothQuantFolding",
            "ForceQuantizeNoInputCheck",
            "MatMulConstBOnly",
            "DedicatedQDQPair",
            "UseQDQContribOps",
        ),
        flag,
    ),
    "CalibPercentile": number,
    "CalibMovingAverageConstant": number,
    "MinimumRealRange": number,
    "SmoothQuantAlpha": number,
    "BlockSize": natural,
    "CalibMaxIntermediateOutputs": natural,
}

# Of those, what `quantize_dynamic` takes, and otherwise.
DYNAMIC: dict[str, Callable[[Any], dict[str, Any]]] = {
    **{
        name: EXTRA[name]
        for name in (
            "WeightSymmetric",
            "EnableSubgraph",
            "DefaultTensorType",
            "ActivationRestrictedAsymmetric",
            "extra.Sigmoid.nnapi",
        )
    },
    "ActivationSymmetric": refuse(
        "ActivationSymmetric: DynamicQuantizeLinear chooses the zero point from the data"
    ),
    "ForceQuantizeNoInputCheck": ignore,  # only products are quantized
    "MatMulConstBOnly": lambda v: {} if v else only_constant(),
}


def only_constant() -> dict[str, Any]:
    raise errors.UnsupportedError(
        "MatMulConstBOnly: found False, expected True: a product of two activations stays float"
    )


def name_of(value: Any) -> str:
    """The name of a member of our enumeration, or of ONNX Runtime's."""
    return str(getattr(value, "name", value))


def external_of(argument: str, value: Any) -> str:
    return "always" if flag(argument, value) else "auto"


def map_name(argument: str, value: Any, names: Mapping[str, str]) -> str | None:
    if value is None:
        return None
    if name_of(value) not in names:
        raise errors.UnsupportedError(
            f"{argument}: found {name_of(value)}, expected one of {', '.join(names)}"
        )
    return names[name_of(value)]


def exactly(argument: str, names: Sequence[str] | None) -> list[str] | None:
    return [f"={name}" for name in texts(argument, names)] if names else None


def fill_extra(
    options: dict[str, Any],
    given: Mapping[str, Any] | None,
    known: Mapping[str, Callable[[Any], dict[str, Any]]],
) -> None:
    """The options of `extra_options`; None is the default."""
    for option, value in dictionary("extra_options", given or {}).items():
        if option not in known:
            raise errors.UnsupportedError(f"extra_options: found '{option}', which is not known")
        if value is not None:
            kind = EXTRA_TYPES.get(option)
            options.update(known[option](kind(option, value) if kind is not None else value))


def write(result: QuantizeResult, output: Path, external: str) -> QuantizeResult:
    """`result` with its model at `output`."""
    result.output = output
    result.quantized.save(output, external=external)
    result.written()
    return result


def quantize_static(
    model_input: ModelSource,
    model_output: Path,
    calibration_data_reader: SampleSource | None = None,
    quant_format: Any = QuantFormat.QDQ,
    op_types_to_quantize: Sequence[str] | None = None,
    per_channel: bool | None = None,
    reduce_range: bool = False,
    activation_type: Any = None,
    weight_type: Any = None,
    nodes_to_quantize: Sequence[str] | None = None,
    nodes_to_exclude: Sequence[str] | None = None,
    use_external_data_format: bool = False,
    calibrate_method: Any = CalibrationMethod.MinMax,
    calibration_providers: Sequence[str] | None = None,
    extra_options: Mapping[str, Any] | None = None,
    calibration_cache_path: Path | None = None,
) -> QuantizeResult:
    """ONNX Runtime's ``quantize_static``: writes a quantized model to `model_output`.

    Arguments that are not given are those of the target ``ort-cpu``, which chooses types, channels
    and placement for speed. The model is prepared by itself: no separate pre-processing is needed.

    Parameters
    ----------
    model_input
        A model; see `qdq.Model`.
    model_output : path
        Where the quantized model is written.
    calibration_data_reader
        Samples, in a form of `qdq.quantize`'s `calib`; None with a cache that exists.
    quant_format : QuantFormat
        ``QDQ`` alone.
    op_types_to_quantize, nodes_to_quantize, nodes_to_exclude : list of str
        Operators and names of nodes.
    per_channel, reduce_range : bool
        As of `qdq.quantize`.
    activation_type, weight_type : QuantType
        None: the target's.
    use_external_data_format : bool
        Initializers of 1 KiB and more go to a file of their own.
    calibrate_method : CalibrationMethod
        ``MinMax``, ``Entropy`` or ``Percentile``.
    calibration_providers : list of str
        Execution providers of ONNX Runtime.
    calibration_cache_path : path
        A cache of this package or TensorRT's. It is read where it exists, and written where not.
    extra_options
        See ``qdq.compat.EXTRA`` for what each becomes.

    Returns
    -------
    QuantizeResult
        With the path that was written as `model`.

    Raises
    ------
    UnsupportedError
        An argument has no counterpart: the text says why.

    Examples
    --------
    >>> from qdq.compat import QuantType, quantize_static
    >>> quantize_static("model.onnx", "model.q.onnx", reader, weight_type=QuantType.QInt8)
    """
    if name_of(quant_format) != "QDQ":
        raise errors.UnsupportedError(
            f"quant_format: found {name_of(quant_format)}, expected QDQ, which engines fuse"
        )
    options: dict[str, Any] = {
        "method": map_name("calibrate_method", calibrate_method, METHODS),
        "op_types": op_types_to_quantize or None,
        "include": exactly("nodes_to_quantize", nodes_to_quantize),
        "exclude": exactly("nodes_to_exclude", nodes_to_exclude),
        "per_channel": per_channel,
        "reduce_range": reduce_range or None,
        "activation_type": map_name("activation_type", activation_type, TYPES),
        "weight_type": map_name("weight_type", weight_type, TYPES),
        "providers": [
            p.removesuffix("ExecutionProvider")
            for p in calibration_providers or ()
            if p != "CPUExecutionProvider"
        ]
        or None,
    }
    fill_extra(options, extra_options, EXTRA)
    cache = calibration_cache_path
    if cache is not None and os.path.exists(cache):
        options["cache"] = cache
    elif calibration_data_reader is None:
        raise errors.UsageError("calibration_data_reader: found None, expected samples")
    external = external_of("use_external_data_format", use_external_data_format)
    result = quantize_model(model_input, calib=calibration_data_reader, bench=False, **options)
    if cache is not None and "cache" not in options:
        result.plan.save_ranges(cache)
    return write(result, model_output, external)


def quantize_dynamic(
    model_input: ModelSource,
    model_output: Path,
    op_types_to_quantize: Sequence[str] | None = None,
    per_channel: bool | None = None,
    reduce_range: bool = False,
    weight_type: Any = None,
    nodes_to_quantize: Sequence[str] | None = None,
    nodes_to_exclude: Sequence[str] | None = None,
    use_external_data_format: bool = False,
    extra_options: Mapping[str, Any] | None = None,
) -> QuantizeResult:
    """ONNX Runtime's ``quantize_dynamic``: products whose data are quantized while the model runs.

    MatMul and Gemm with a constant weight become DynamicQuantizeLinear and MatMulInteger, for which
    no samples are needed. What is slower in that form on ONNX Runtime stays float: Conv, LSTM, and
    small products (docs/targets.md).

    Parameters
    ----------
    model_input
        A model; see `qdq.Model`.
    model_output : path
        Where the quantized model is written.
    op_types_to_quantize, nodes_to_quantize, nodes_to_exclude : list of str
        Operators and names of nodes.
    per_channel, reduce_range : bool
        As of `qdq.quantize`.
    weight_type : QuantType
        ``QInt8`` or ``QUInt8``; None: the target's.
    use_external_data_format : bool
        Initializers of 1 KiB and more go to a file of their own.
    extra_options
        See ``qdq.compat.DYNAMIC`` for what each becomes.

    Returns
    -------
    QuantizeResult
        With the path that was written as `model`.

    Raises
    ------
    UnsupportedError
        An argument has no counterpart: the text says why.

    Examples
    --------
    >>> from qdq.compat import quantize_dynamic
    >>> quantize_dynamic("model.onnx", "model.q.onnx")
    """
    types = {name: TYPES[name] for name in ("QInt8", "QUInt8")}
    options: dict[str, Any] = {
        "op_types": op_types_to_quantize or None,
        "include": exactly("nodes_to_quantize", nodes_to_quantize),
        "exclude": exactly("nodes_to_exclude", nodes_to_exclude),
        "per_channel": per_channel,
        "reduce_range": reduce_range or None,
        "weight_type": map_name("weight_type", weight_type, types),
    }
    fill_extra(options, extra_options, DYNAMIC)
    external = external_of("use_external_data_format", use_external_data_format)
    result = quantize_model(model_input, format="dynamic", sqnr=False, bench=False, **options)
    return write(result, model_output, external)


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


def quantize(model_input: ModelSource, model_output: Path, quant_config: Any) -> QuantizeResult:
    """ONNX Runtime's ``quantize``: writes the model that `quant_config` describes.

    Parameters
    ----------
    model_input
        A model; see `qdq.Model`.
    model_output
        Where the quantized model is written.
    quant_config
        A `StaticQuantConfig` or `DynamicQuantConfig`, of this package or of ONNX Runtime.

    Returns
    -------
    QuantizeResult

    Raises
    ------
    UnsupportedError
        A configuration or an argument in it has no counterpart: the text says why.
    TypeError
        `quant_config` is something else.

    Examples
    --------
    >>> from qdq.compat import StaticQuantConfig, quantize
    >>> quantize("model.onnx", "model.q.onnx", StaticQuantConfig(reader))
    """
    kind = type(quant_config).__name__
    if kind == "StaticQuantConfig":
        return quantize_static(model_input, model_output, **vars(quant_config))
    if kind == "DynamicQuantConfig":
        given = dict(vars(quant_config))
        for name in ("activation_type", "calibration_data_reader"):  # of a base class
            given.pop(name, None)
        return quantize_dynamic(model_input, model_output, **given)
    if kind.endswith("WeightOnlyQuantConfig"):
        raise errors.UnsupportedError(
            f"quant_config: found {kind}, expected StaticQuantConfig or DynamicQuantConfig; "
            'weights alone are qdq.quantize(format="int4")'
        )
    raise TypeError(
        f"quant_config: found {kind}, expected StaticQuantConfig or DynamicQuantConfig "
        "(qdq.quantize is the function with options)"
    )


CALIBRATE_ARGS = {
    "symmetric": "CalibTensorRangeSymmetric",
    "moving_average": "CalibMovingAverage",
    "averaging_constant": "CalibMovingAverageConstant",
    "max_intermediate_outputs": "CalibMaxIntermediateOutputs",
    "percentile": "CalibPercentile",
}


def get_qdq_config(
    model_input: ModelSource,
    calibration_data_reader: SampleSource | None,
    calibrate_method: Any = CalibrationMethod.MinMax,
    calibrate_args: Mapping[str, Any] | None = None,
    activation_type: Any = QuantType.QUInt8,
    weight_type: Any = QuantType.QInt8,
    activation_symmetric: bool = False,
    weight_symmetric: bool | None = None,
    per_channel: bool = False,
    reduce_range: bool = False,
    keep_removable_activations: bool = False,
    min_real_range: float | None = None,
    tensor_quant_overrides: Mapping[str, Any] | None = None,
    calibration_providers: Sequence[str] | None = None,
    op_types_to_quantize: Sequence[str] | None = None,
    nodes_to_exclude: Sequence[str] | Callable[[Any, Any], bool] | None = None,
    extra_options: Mapping[str, Any] | None = None,
) -> StaticQuantConfig:
    """ONNX Runtime's ``get_qdq_config``: a configuration for `quantize`.

    ONNX Runtime's quantizes every operator that the model has; here the target's rules decide which
    are faster so.

    Parameters
    ----------
    model_input
        A model; read where `nodes_to_exclude` is a function.
    calibration_data_reader, calibrate_method, activation_type, weight_type, per_channel, \
reduce_range, calibration_providers, op_types_to_quantize
        See `quantize_static`.
    calibrate_args
        ``symmetric``, ``moving_average``, ``averaging_constant``, ``max_intermediate_outputs``,
        ``percentile``: the extra options of these names.
    activation_symmetric, weight_symmetric, keep_removable_activations, min_real_range, \
tensor_quant_overrides
        The extra options of these names.
    nodes_to_exclude
        Names, or a function that gets the ``onnx.ModelProto`` and a node, and returns a bool.
    extra_options
        See `quantize_static`; they come before all others.

    Returns
    -------
    StaticQuantConfig

    Raises
    ------
    UsageError
        `calibrate_args` has a key that is not known.

    Examples
    --------
    >>> from qdq.compat import get_qdq_config, quantize
    >>> quantize("model.onnx", "model.q.onnx", get_qdq_config("model.onnx", reader))
    """
    if callable(nodes_to_exclude):
        proto = Model(model_input).to_proto()
        excluded = [node.name for node in proto.graph.node if nodes_to_exclude(proto, node)]
    else:
        excluded = texts("nodes_to_exclude", nodes_to_exclude or ())
    options: dict[str, Any] = {
        "MinimumRealRange": min_real_range,
        "QDQKeepRemovableActivations": keep_removable_activations,
        "ActivationSymmetric": activation_symmetric,
        "WeightSymmetric": weight_symmetric,
    }
    if tensor_quant_overrides:
        options["TensorQuantOverrides"] = tensor_quant_overrides
    for name, value in dictionary("calibrate_args", calibrate_args or {}).items():
        if name not in CALIBRATE_ARGS:
            raise errors.UsageError(
                f"calibrate_args: found '{name}', expected one of {', '.join(CALIBRATE_ARGS)}"
            )
        options[CALIBRATE_ARGS[name]] = value
    options.update(extra_options or {})
    return StaticQuantConfig(
        calibration_data_reader,
        calibrate_method=calibrate_method,
        activation_type=activation_type,
        weight_type=weight_type,
        op_types_to_quantize=op_types_to_quantize,
        nodes_to_exclude=excluded,
        per_channel=per_channel,
        reduce_range=reduce_range,
        calibration_providers=calibration_providers,
        extra_options=options,
    )


def quant_pre_process(
    input_model: ModelSource | None = None,
    output_model_path: Path | None = None,
    skip_optimization: bool = False,
    skip_onnx_shape: bool = False,
    skip_symbolic_shape: bool = False,
    auto_merge: bool = False,
    int_max: int = 2**31 - 1,
    guess_output_rank: bool = False,
    verbose: int = 0,
    save_as_external_data: bool = False,
    all_tensors_to_one_file: bool = False,
    external_data_location: str | None = None,
    external_data_size_threshold: int = 1024,
    input_model_path: ModelSource | None = None,
) -> None:
    """ONNX Runtime's ``quant_pre_process``: writes the optimized model to `output_model_path`.

    `quantize_static` and `quantize_dynamic` need no such step; a script that has it may keep it.
    Shapes are inferred whenever they are needed, symbolic dims included: the arguments about shape
    inference change nothing.

    Parameters
    ----------
    input_model, input_model_path
        A model; see `qdq.Model`. The second is ONNX Runtime's old name.
    output_model_path : path
        Where the model is written.
    skip_optimization : bool
        Change nothing that is not needed: the model is only read, checked and written.
    skip_onnx_shape, skip_symbolic_shape, auto_merge, int_max, guess_output_rank, verbose
        They change nothing.
    save_as_external_data, all_tensors_to_one_file : bool
        Initializers of 1 KiB and more go to one file next to the model, which is named after it.
    external_data_location, external_data_size_threshold
        None and 1024 alone.

    Raises
    ------
    UnsupportedError
        An argument has no counterpart: the text says why.

    Examples
    --------
    >>> from qdq.compat import quant_pre_process
    >>> quant_pre_process("model.onnx", "model.pre.onnx")
    """
    source = input_model if input_model is not None else input_model_path
    for name, value in (("input_model", source), ("output_model_path", output_model_path)):
        if value is None:
            raise errors.UsageError(f"{name}: found None, expected a model or a path")
    if external_data_location is not None:
        raise errors.UnsupportedError(
            "external_data_location: the file of external data is named after the model"
        )
    if external_data_size_threshold != 1024:
        raise errors.UnsupportedError(
            f"external_data_size_threshold: found {external_data_size_threshold}, expected 1024"
        )
    external = external_of("save_as_external_data", save_as_external_data)
    is_optimized = not flag("skip_optimization", skip_optimization)
    assert source is not None and output_model_path is not None
    made = Model(source)
    if is_optimized:
        made = optimize(made).model
    made.save(output_model_path, external=external)


def simplify(
    model: ModelSource,
    check_n: int = 0,
    perform_optimization: bool = True,
    skip_fuse_bn: bool = False,
    overwrite_input_shapes: Shapes | None = None,
    test_input_shapes: Shapes | None = None,
    skipped_optimizers: Sequence[str] | None = None,
    skip_constant_folding: bool = False,
    skip_shape_inference: bool = False,
    input_data: Mapping[str, Any] | None = None,
    dynamic_input_shape: bool = False,
    custom_lib: Path | None = None,
    include_subgraph: bool = False,
    unused_output: Sequence[str] | None = None,
    tensor_size_threshold: str | None = None,
    mutable_initializer: bool = False,
    *,
    initializers_as_constants: bool = True,
    inline_functions: bool = False,
    import_custom_schemas: bool = True,
    input_shapes: Shapes | None = None,
    target_opset_version: int | str | None = None,
    extra_optimizers: Sequence[str] | None = None,
    custom_rewriter: Callable[[Any], Any] | None = None,
    function_rewrite_rules: Sequence[Any] | None = None,
    check_rtol: float = 1e-4,
    check_atol: float = 1e-5,
    input_fill: str = "random",
    providers: Sequence[Any] | None = None,
    gemm_fusion_backend: str = "ort_cpu",
    profile: str | None = None,
    ort_profile: str | None = None,
    merge_ort_profile: bool = False,
    output_path: Path | None = None,
    external_data_threshold: str = "100MB",
) -> tuple[Any, bool]:
    """onnxsim's ``simplify``: the optimized ``onnx.ModelProto``, and whether it computes the same.

    Parameters
    ----------
    model
        A path or an ``onnx.ModelProto``, which is not changed.
    check_n
        Compare both models on this number of samples: of `input_data`, or random ones.
    perform_optimization
        False: constants are folded, and nothing else.
    skip_fuse_bn, skip_constant_folding
        Leave these passes out.
    overwrite_input_shapes, input_shapes
        Fix the shapes of inputs in the result; the second is onnxsim's old name.
    test_input_shapes
        Shapes of inputs while both models are compared.
    skipped_optimizers, extra_optimizers
        Names of passes of this package (docs/passes.md) to leave out, and to add.
    input_data
        An array for each input, for the comparison.
    custom_lib
        A library with operators for ONNX Runtime, for the comparison.
    tensor_size_threshold
        Fold constants up to this size: ``"1.5GB"``.
    mutable_initializer
        Initializers that are inputs, too, stay inputs.
    inline_functions
        True is what happens anyway: functions of the model become their nodes.
    target_opset_version
        Raise the opset to this, at most 26, or to ``"latest"``.
    check_rtol, check_atol
        Differences are judged by the type and the range of an output; these two change nothing.
    providers
        Constants are folded by this package, on the processor: only that one may be named.
    output_path, external_data_threshold
        Write the model there, too; with external data above this size.
    skip_shape_inference, dynamic_input_shape, include_subgraph, import_custom_schemas, \
gemm_fusion_backend
        What they ask for happens anyway, or changes no result here.
    unused_output, initializers_as_constants, custom_rewriter, function_rewrite_rules, input_fill, \
profile, ort_profile, merge_ort_profile
        An `UnsupportedError` that says why, unless they are as by default.

    Returns
    -------
    model : onnx.ModelProto
    same : bool
        With `check_n`: both compute the same.

    Raises
    ------
    UnsupportedError
        An argument has no counterpart: the text says why.

    Examples
    --------
    >>> from qdq.compat import simplify
    >>> model, ok = simplify("model.onnx", check_n=3)
    """
    given = dict(locals())
    for name in SIMPLIFY_FLAGS:
        given[name] = flag(name, given[name])
    for name, (default, why) in SIMPLIFY_REFUSED.items():
        if given[name] not in (default, None):
            raise errors.UnsupportedError(f"{name}: {why}")
    for provider in providers or ():
        if (provider if isinstance(provider, str) else provider[0]) != "CPUExecutionProvider":
            raise errors.UnsupportedError(
                f"providers: found {provider!r}, expected 'CPUExecutionProvider': constants are "
                "folded by this package"
            )
    check_n = natural("check_n", check_n)
    done_at = path("output_path", output_path) if output_path is not None else None
    shapes = overwrite_input_shapes or input_shapes
    own = Model(model)
    if shapes:
        own = own.set_shapes(shapes)
    if target_opset_version is not None:
        own = raised(own, target_opset_version)
    most = bytes_of("external_data_threshold", external_data_threshold)
    size = tensor_size_threshold
    limit = bytes_of("tensor_size_threshold", size) if size is not None else None
    done = optimize(own, passes=passes_of(given), fold_output_bytes=limit).model
    same = True
    if check_n > 0:
        data = input_data if input_data is not None else "random:0"
        plugins: dict[str, Any] = {"plugin_libraries": [custom_lib]} if custom_lib else {}
        with Engine("ort", **plugins) as engine:
            samples = check_n if input_data is None else 0
            compared = {"check": data, "engine": engine, "shape": test_input_shapes}
            defaults = optimize.__kwdefaults__ or {}
            options = check_types({**defaults, **compared, "samples": samples}, defaults)
            same, _ = compare_models(own, done, options, Job())
    proto = done.to_proto()
    if done_at is not None:
        done.save(done_at, external="always" if proto.ByteSize() > most else "auto")
    return proto, same


SIMPLIFY_FLAGS = (
    "perform_optimization",
    "skip_fuse_bn",
    "skip_constant_folding",
    "skip_shape_inference",
    "dynamic_input_shape",
    "include_subgraph",
    "mutable_initializer",
    "initializers_as_constants",
    "inline_functions",
    "import_custom_schemas",
    "merge_ort_profile",
)
# Arguments of simplify() that only their default, or None, suits; and why.
SIMPLIFY_REFUSED: dict[str, tuple[Any, str]] = {
    "unused_output": ([], "Model.extract() leaves outputs out"),
    "initializers_as_constants": (True, "skip_constant_folding and skip_fuse_bn keep weights"),
    "custom_rewriter": (None, "change the model before or after this call"),
    "function_rewrite_rules": (None, "change the model before or after this call"),
    "input_fill": ("random", "give the samples of the comparison as input_data"),
    "profile": (None, "the log of optimize() has the changes of each pass"),
    "ort_profile": (None, "constants are not folded by ONNX Runtime"),
    "merge_ort_profile": (False, "constants are not folded by ONNX Runtime"),
}


def passes_of(given: Mapping[str, Any]) -> str:
    """The passes that the arguments of simplify() ask for."""
    whole = given["perform_optimization"]
    passes = ["default" if whole else "lift-constants,fold-constants"]
    if not given["mutable_initializer"]:
        passes.insert(0, "freeze-inputs")
    if given["inline_functions"] and not whole:
        passes.insert(0, "inline-functions")
    if given["skip_fuse_bn"] and whole:
        passes.append("-fold-batchnorm")
    if given["skip_constant_folding"]:
        passes.append("-fold-constants")
    if whole:
        passes += texts("extra_optimizers", given["extra_optimizers"] or ())
    skipped = texts("skipped_optimizers", given["skipped_optimizers"] or ())
    return ",".join([*passes, *(f"-{name}" for name in skipped)])


LATEST_OPSET = 26  # that Model.set_opset() writes


def raised(model: Model, opset: Any) -> Model:
    """A copy with at least this opset; onnxsim also lowers it."""
    wanted = LATEST_OPSET if opset == "latest" else natural("target_opset_version", opset)
    if wanted < model.opset and opset != "latest":
        raise errors.UnsupportedError(
            f"target_opset_version: found {wanted}, expected {model.opset} or more: an opset is "
            "raised, and never lowered"
        )
    return model.set_opset(wanted) if wanted > model.opset else model


def bytes_of(argument: str, size: Any) -> int:
    """``"1.5GB"`` as bytes."""
    found = re.fullmatch(r"([0-9.]+(?:e[0-9]+)?)\s*([KMGT]?B?)", str(size).strip(), re.I)
    factor = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
    try:
        assert found is not None
        return int(float(found[1]) * factor[found[2].upper().rstrip("B")])
    except (AssertionError, ValueError):
        raise errors.UsageError(
            f"{argument}: found {size!r}, expected a size, such as '1.5GB'"
        ) from None
