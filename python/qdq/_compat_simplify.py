"""onnxsim's simplify()."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from . import errors
from ._arguments import check_types, flag, natural, path, texts
from ._core import Job, Path, Shapes
from ._engines import Engine
from ._model import Model, ModelSource
from ._optimize import compare_models, optimize


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
