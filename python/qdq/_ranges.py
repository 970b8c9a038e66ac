"""The smallest, the timed and the largest shape of inputs: trtexec builds for all three."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import _core, errors
from ._core import make
from ._engines import Engine, split
from ._qdq import ffi, lib

Dims = Mapping[str, tuple[int, ...]]
NAMES = "min_shape", "opt_shape", "max_shape"
ARGUMENTS = "--minShapes", "--optShapes", "--maxShapes"


def take_ranges(engine: str | Engine, given: dict[str, Any]) -> dict[str, tuple[int, ...]]:
    """Gives trtexec the three shapes as arguments, and another engine `opt_shape` as `shape`.

    Returns
    -------
    dict
        Shapes of the samples: those of `shape`, and for other inputs those of `opt_shape`.
    """
    least, timed, most = (given[name] or {} for name in NAMES)
    names, other = NAMES, ""
    args = given["trtexec_args"]
    if args is None and isinstance(engine, Engine):
        args = engine.options.get("trtexec_args")
    if args is not None:
        *found, other = read_arguments(args)
        own = next((name for name in NAMES if given[name]), None)
        if found[1] and own is not None:
            raise errors.UsageError(f"found shapes in trtexec_args and {own}, expected one of them")
        if found[1]:
            (least, timed, most), names = found, ARGUMENTS
    check_end(least, timed, (names[0], names[1]), is_max=False)
    check_end(most, timed, (names[2], names[1]), is_max=True)
    shapes = given["shape"] or {}
    twice = next((name for name in timed if name in shapes), None)
    if twice is not None:
        raise errors.UsageError(f"found shape and {names[1]} of '{twice}', expected one of them")
    usual = {**timed, **shapes}
    if split(engine) != "trtexec":
        if other:
            raise errors.UsageError(
                f"found {other} in trtexec_args and engine {split(engine)}: expected shapes alone, "
                "or engine trtexec"
            )
        given["trtexec_args"], given["shape"] = None, usual or None
    elif names is NAMES and timed:
        ends = least, timed, most
        shown = (f'"{a}={shapes_text(e, timed)}"' for a, e in zip(ARGUMENTS, ends))
        given["trtexec_args"] = " ".join([args or "", *shown]).strip()
    return usual


def read_arguments(args: str) -> tuple[Dims, Dims, Dims, str]:
    """The three shapes in arguments of trtexec, and the first one that is not a shape."""
    found = make(lib.qdq_trtexec_shapes_read, _core.encode(args))
    try:
        ends = (found.min, found.n_min), (found.opt, found.n_opt), (found.max, found.n_max)
        least, timed, most = (
            {_core.text(at[i].name): tuple(at[i].dim[0 : at[i].rank]) for i in range(n)}
            for at, n in ends
        )
        other = "" if found.other == ffi.NULL else _core.text(found.other)
    finally:
        lib.qdq_free(found)
    return least, timed, most, other


def check_end(ends: Dims, timed: Dims, names: tuple[str, str], *, is_max: bool) -> None:
    """Each has a shape that is timed, of its rank and on the right side."""
    end, opt = names
    for name, dims in ends.items():
        usual = timed.get(name)
        if usual is None:
            raise errors.UsageError(f"found {end} of '{name}' without {opt}, which is timed")
        if len(usual) != len(dims):
            raise errors.UsageError(
                f"{end} of '{name}' has rank {len(dims)}, {opt} {len(usual)}: expected equal ranks"
            )
        for i, (a, b) in enumerate(zip(dims, usual), 1):
            if b > a if is_max else b < a:
                raise errors.UsageError(
                    f"{end} of '{name}' has {a} as dimension {i}, {opt} {b}: expected "
                    "min <= opt <= max"
                )


def shapes_text(ends: Dims, timed: Dims) -> str:
    """Shapes as trtexec reads them; inputs without one of their own have the timed one."""
    for name in timed:
        if set(name) & set(",'\"\\"):
            raise errors.UnsupportedError(
                "opt_shape: trtexec takes no name with a comma, a quote or a backslash, found "
                f"'{name}'"
            )
    return ",".join(
        f"'{name}':{'x'.join(map(str, ends.get(name, dims)))}" for name, dims in timed.items()
    )
