"""Options of the user: each has one type, and a value of another is an error that names it."""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from . import errors


def wrong(name: str, value: Any, expected: str) -> TypeError:
    return TypeError(f"{name}: found {shown(value)}, expected {expected}")


def shown(value: Any) -> str:
    """The value itself where it is short, else its type."""
    text = repr(value)
    return text if len(text) <= 60 and "\n" not in text else type(value).__name__


def flag(name: str, value: Any) -> bool:
    if isinstance(value, (bool, np.bool_)) or (type(value) is int and value in (0, 1)):
        return bool(value)
    raise wrong(name, value, "True or False")


def number(name: str, value: Any) -> float:
    """A number of Python or numpy, or an array without dimensions."""
    is_one = not isinstance(value, (str, bytes, bool, np.bool_)) and not getattr(value, "ndim", 0)
    if is_one and hasattr(value, "__float__"):
        try:
            found = float(value)
        except (TypeError, ValueError):
            found = math.nan
        if not math.isnan(found):
            return found
    raise wrong(name, value, "a number")


def whole(name: str, value: Any) -> int:
    if not isinstance(value, (bool, np.bool_)):
        try:
            return operator.index(value)
        except TypeError:
            pass
    raise wrong(name, value, "a whole number")


def natural(name: str, value: Any) -> int:
    found = whole(name, value)
    if found < 0:
        raise errors.UsageError(f"{name}: found {found}, expected a whole number, 0 or more")
    return found


def threads(name: str, value: Any) -> int:
    """0: as many as this process may use."""
    return natural(name, value) or max(len(os.sched_getaffinity(0)), 1)


def text(name: str, value: Any) -> str:
    if isinstance(value, str):
        return str(value)
    raise wrong(name, value, "a text")


def text_or_auto(name: str, value: Any) -> str | None:
    """None: the library finds out."""
    return None if text(name, value) == "auto" else value


def path(name: str, value: Any) -> Any:
    if isinstance(value, (str, os.PathLike)):
        return value
    raise wrong(name, value, "a path")


def texts(name: str, value: Any) -> list[Any]:
    """A list of texts or paths; one text is a list of one."""
    if isinstance(value, (str, os.PathLike)):
        return [value]
    if isinstance(value, Iterable) and not isinstance(value, (bytes, Mapping)):
        found = list(value)
        if all(isinstance(item, (str, os.PathLike)) for item in found):
            return found
    raise wrong(name, value, "a list of texts")


def channels(name: str, value: Any) -> list[float]:
    """One number for all channels, or one for each."""
    is_list = isinstance(value, Iterable) and not isinstance(value, (str, bytes, Mapping))
    is_one = not is_list or getattr(value, "ndim", None) == 0
    found = [number(name, v) for v in ([value] if is_one else value)]
    if not 1 <= len(found) <= 4:
        raise errors.UsageError(f"{name}: found {len(found)} numbers, expected 1 to 4")
    return found


def size(name: str, value: Any) -> tuple[int, int]:
    """Height and width."""
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes, Mapping)):
        found = list(value)
        if len(found) == 2:
            return natural(name, found[0]), natural(name, found[1])
    raise wrong(name, value, "two whole numbers: height and width")


def states(name: str, value: Any) -> Mapping[str, str]:
    """Inputs by the name of the output that each gets at the next step."""
    if isinstance(value, Mapping):
        if all(isinstance(one, str) for pair in value.items() for one in pair):
            return value
    raise wrong(name, value, "a dict of names, as {'hn': 'h0'}")


def dictionary(name: str, value: Any) -> Mapping[str, Any]:
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return value
    raise wrong(name, value, "a dict")


def shapes(name: str, value: Any) -> dict[str, tuple[int, ...]]:
    """Dims by name of an input."""
    expected = "a dict of shapes, as {'x': (1, 3, 224, 224)}"
    if not isinstance(value, Mapping):
        raise wrong(name, value, expected)
    found = {}
    for key, dims in value.items():
        if not isinstance(key, str) or isinstance(dims, str) or not isinstance(dims, Iterable):
            raise wrong(name, value, expected)
        found[key] = tuple(whole(f"{name} of '{key}'", dim) for dim in dims)
    return found


def function(name: str, value: Any) -> Callable[..., Any]:
    if callable(value):
        return value  # type: ignore[no-any-return]
    raise TypeError(f"{name}: found {type(value).__name__}, expected a function")


def choice(name: str, value: Any) -> str:
    """ "auto", "on" or "off", or a bool for the last two."""
    return value if isinstance(value, str) else "on" if flag(name, value) else "off"


def cached(name: str, value: Any) -> Any:
    """A file of ranges, or statistics."""
    from ._statistics import Statistics

    return value if isinstance(value, Statistics) else path(name, value)


# The type of each option, whatever function takes it.
KINDS: dict[Callable[[str, Any], Any], str] = {
    flag: "optimize symmetric weight_asymmetric per_channel reduce_range pow2 tables direct_io "
    "equalize sqnr best_effort one_format bench restart freeze_inputs verify_each per_layer "
    "fake_quant force metadata",
    number: "percentile min_sqnr min_agreement max_drop min_metric time min_gain engine_timeout "
    "host_timeout tolerance max_ms",
    threads: "threads calib_threads",
    natural: "samples block_size accuracy_level memory fold_input_bytes "
    "fold_output_bytes growth_budget trials max_builds seed rounds warmup steps",
    texts: "exclude include op_types exclude_op_types no_fold fold_only rest_keep providers "
    "plugin_libraries pattern_caches mask",
    text: "passes format activation_type weight_type weight_method weights bias rest cpu method "
    "external_data host mode strategy preset trtexec_args bounds groups",
    text_or_auto: "layout channel_order",
    path: "output ort_library openvino_library trtexec timing_cache encodings external_dir",
    cached: "cache",
    channels: "mean std",
    size: "image_size",
    dictionary: "set details",
    shapes: "shape set_shape min_shape opt_shape max_shape",
    states: "state",
    function: "metric live",
    choice: "bias_correction float_channels smooth",
}
TYPES = {name: kind for kind, names in KINDS.items() for name in names.split()}


def check_types(given: Mapping[str, Any], defaults: Mapping[str, Any] | None) -> dict[str, Any]:
    """Options as values of their types. Only where the default is None may be None."""
    found = dict(given)
    for name, default in (defaults or {}).items():
        kind = TYPES.get(name)
        if kind is not None and not (found[name] is None and default is None):
            found[name] = kind(name, found[name])
    return found


def reject_alone(given: Mapping[str, Any], names: Iterable[str], needed: str) -> None:
    """Options that have no effect without another one."""
    for name in names:
        value = given.get(name)
        if value is not None and not (isinstance(value, (int, float)) and not value):
            raise errors.UsageError(f"found {name} without {needed}")
