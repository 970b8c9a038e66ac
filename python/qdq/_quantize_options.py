"""Options of quantize() and autotune() as target, plan and goal of the library."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from . import _core, errors
from ._core import Job, Options
from ._metric import Metric
from ._plan import Target
from ._qdq import lib
from ._shards import sharded

# Keys of the target that an option of its own sets, and how.
FORMATS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "activation_type": lambda v: {"activation.type": v},
    "weight_type": lambda v: {"weight.type": v},
    "symmetric": lambda v: {"activation.symmetric": v},
    "weight_asymmetric": lambda v: {"weight.symmetric": not v},
    "per_channel": lambda v: {"weight.per_channel": v},
    "reduce_range": lambda v: {"weight.reduced": v},
    "pow2": lambda v: {"activation.pow2": v, "weight.pow2": v},
    "block_size": lambda v: {"weight.block": str(v)},
    "weight_method": lambda v: {"weight.method": v},
    "weights": lambda v: {"weight.store": v},
    "accuracy_level": lambda v: {"weight.accuracy_level": str(v)},
    "tables": lambda v: {"weight.tables": v},
    "bias": lambda v: {"bias.type": v},
    "rest": lambda v: {
        "rest.type": {"fp32": "float", "fp16": "float16", "bf16": "bfloat16"}.get(v, v)
    },
    "rest_keep": lambda v: {"rest.keep": v},
    "direct_io": lambda v: {"rest.direct_io": v},
}
TYPES = "activation.type", "activation.symmetric", "weight.type", "weight.symmetric"
PRESETS: dict[str, dict[str, Any]] = {
    "int8": dict(zip(TYPES, ("int8", True, "int8", True))),
    "uint8": dict(zip(TYPES, ("uint8", False, "int8", True))),
    "int16": dict(zip(TYPES, ("int16", True, "int8", True))),
    "fp8": {
        **dict(zip(TYPES, ("float8e4m3fn", True, "float8e4m3fn", True))),
        "bias.type": "float",
    },
    "int4": {
        **dict(zip(TYPES, ("float", False, "int4", True))),
        "weight.block": "32",
        "bias.type": "float",
    },
    "uint4": {
        **dict(zip(TYPES, ("float", False, "uint4", False))),
        "weight.block": "32",
        "bias.type": "float",
    },
    "dynamic": {
        **dict(zip(TYPES, ("float", False, "int8", True))),
        "weight.store": "dynamic",
        "weight.block": "0",
        "bias.type": "float",
    },
}


def target_of(engine: str) -> str:
    """The target for an engine where none is named."""
    return _core.text(lib.qdq_target_of_engine(engine.encode()))


def open_target(target: Any, engine: str, o: Mapping[str, Any]) -> Target:
    """The target with the formats of the options; made for the engine where none is named."""
    if target is None:
        target = target_of(engine)
    made = Target(target)
    changes: dict[str, Any] = {}
    if o["format"] is not None:
        if o["format"] not in PRESETS:
            raise errors.UsageError(
                f"format: found {o['format']!r}, expected one of {', '.join(map(repr, PRESETS))}"
            )
        changes.update(PRESETS[o["format"]])
    for name, keys in FORMATS.items():
        if o[name] is not None:
            changes.update(keys(o[name]))
    given = o["set"] or {}
    if (
        o["weight_type"] is not None or "weight.type" in given
    ) and "without_vnni" in made.to_dict():
        changes["without_vnni"] = "pairs"
    changes.update(given)
    if changes:
        made._change(changes)
    return made


def pipeline_of(o: Mapping[str, Any]) -> str | None:
    """The passes that run before placement."""
    fold = {"input": "fold_input_bytes", "output": "fold_output_bytes", "growth": "growth_budget"}
    given = [n for n in (*fold.values(), "no_fold", "fold_only") if o[n] is not None]
    if not o["optimize"]:
        if given or o["passes"]:
            raise errors.UsageError(
                f"optimize=False: conflicts with {(given or ['passes'])[0]}; expected one of them"
            )
        return _core.text(lib.QDQ_PASSES_MINIMAL)
    passes = o["passes"] or "quantize"
    if not given:
        return str(passes)
    words = [f"{word}={o[name] if o[name] is not None else 1 << 20}" for word, name in fold.items()]
    words += [f"only={op}" for op in o["fold_only"] or ()]
    words += [f"no={op}" for op in o["no_fold"] or ()]
    return f"{passes},fold-constants:{'+'.join(words)}"


def plan_options(o: Mapping[str, Any], job: Job, samples: int, threads: int) -> Options:
    """How a plan is made, from so many samples."""
    given = {"passes": pipeline_of(o), "samples": samples, "threads": threads}
    return Options("qdq_quantize_opts", job, {**o, **given})


def names_goal(o: Mapping[str, Any]) -> bool:
    return any(o[name] is not None for name in ("min_sqnr", "min_agreement", "max_drop", "metric"))


# Keywords that name types, zero points, blocks or stores: then no layer gets others.
NAMES_FORMAT = "activation_type", "weight_type", "symmetric", "weight_asymmetric", "block_size"


def names_format(o: Mapping[str, Any]) -> bool:
    keys = tuple(o["set"] or ())
    return (
        any(o[name] is not None for name in (*NAMES_FORMAT, "weights"))
        or o["format"] is not None
        or any(key.startswith(("activation.", "weight.", "overrides")) for key in keys)
    )


def goal_options(o: Mapping[str, Any], job: Job, **members: Any) -> Options:
    """The goal of the user, or the default one."""
    return Options(
        "qdq_goal_opts",
        given={n: o[n] for n in ("min_sqnr", "min_agreement", "max_drop", "min_metric")},
        by_default=not names_goal(o),
        metric=Metric(o["metric"], job) if o["metric"] is not None else None,
        has_min_metric=o["min_metric"] is not None,
        **members,
    )


def set_shards(o: dict[str, Any]) -> None:
    """With a client, the metric is evaluated on its workers."""
    if o["client"] is not None:
        o["metric"] = sharded(o["metric"], o["shards"], o["client"], o)
    elif o["shards"] is not None:
        raise errors.UsageError("found shards without client")


def check_options(o: Mapping[str, Any]) -> None:
    judging = next(
        (
            n
            for n in ("metric", "max_drop", "min_sqnr", "min_agreement", "labels", "eval")
            if o[n] is not None
        ),
        None,
    )
    if judging is not None and not o["sqnr"]:
        raise errors.UsageError(f"found {judging} where nothing is measured: sqnr=False")
    if o["max_drop"] is not None and o["labels"] is None and o["metric"] is None:
        raise errors.UsageError("found max_drop without labels")
    if o["max_drop"] is not None and o["metric"] is None and not 0 <= o["max_drop"] <= 1:
        raise errors.UsageError(f"max_drop: found {o['max_drop']!r}, expected a share from 0 to 1")
    if o["labels"] is not None and o["calib"] is None and o["eval"] is None:
        raise errors.UsageError("found labels without calib or eval")
    if o["min_agreement"] is not None and not 0 < o["min_agreement"] <= 1:
        raise errors.UsageError(
            f"min_agreement: found {o['min_agreement']!r}, expected more than 0 and at most 1"
        )
    goals = ("min_sqnr", "min_agreement", "max_drop", "metric")
    if o["best_effort"] and not any(o[n] is not None and (n != "min_sqnr" or o[n]) for n in goals):
        raise errors.UsageError(
            "found best_effort without min_sqnr, min_agreement, max_drop or metric"
        )
    if o["percentile"] is not None and not 50 < o["percentile"] <= 100:
        raise errors.UsageError(
            f"percentile: found {o['percentile']!r}, expected more than 50 and at most 100"
        )
