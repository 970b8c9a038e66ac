"""Functions with the signatures of other tools, so that a script changes one import.

`quantize_static`, `quantize_dynamic`, `quantize`, `get_qdq_config` and `quant_pre_process` are ONNX
Runtime's (``onnxruntime.quantization``), `simplify` is onnxsim's. Each argument maps to an option
of this package, or is an `UnsupportedError` that says why not. `quantize` here is not
`qdq.quantize`: it writes a model as its configuration says.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from . import errors
from ._arguments import dictionary, flag, texts
from ._compat_options import (
    DYNAMIC,
    EXTRA,
    METHODS,
    exactly,
    external_of,
    fill_extra,
    map_name,
    name_of,
)
from ._compat_simplify import simplify
from ._compat_types import (
    TYPES,
    CalibrationDataReader,
    CalibrationMethod,
    DynamicQuantConfig,
    QuantFormat,
    QuantizationMode,
    QuantType,
    StaticQuantConfig,
)
from ._core import Path
from ._data import SampleSource
from ._model import Model, ModelSource
from ._optimize import optimize
from ._quantize import quantize as quantize_model
from ._quantize_result import QuantizeResult

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
