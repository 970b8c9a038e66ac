"""What arguments of ONNX Runtime become here, or why they have no counterpart."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from . import errors
from ._arguments import dictionary, flag, natural, number, texts

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
