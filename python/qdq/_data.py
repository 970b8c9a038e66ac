"""Samples: anything that gives arrays by name becomes a source of the library."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from . import errors
from ._core import Job, Options, encode
from ._model import Model
from ._qdq import ffi, lib

OPTIONS = {
    "mean": "mean",
    "std": "std",
    "layout": "layout",
    "channel_order": "channel_order",
    "shape": "shapes",
}
TYPES = {
    "float": np.float32,
    "double": np.float64,
    "float16": np.float16,
    "uint8": np.uint8,
    "int8": np.int8,
    "uint16": np.uint16,
    "int16": np.int16,
    "int32": np.int32,
    "int64": np.int64,
    "uint32": np.uint32,
    "uint64": np.uint64,
    "bool": np.bool_,
}


class Data:
    """An open source of samples. `close` removes what was spooled."""

    def __init__(self, c: Any, spool: Any, options: Options, model: Model) -> None:
        self.c, self.spool, self.keep = c, spool, (options, model)

    def __len__(self) -> int:
        return int(lib.qdq_data_count(self.c))

    @property
    def is_random(self) -> bool:
        return bool(lib.qdq_data_is_random(self.c))

    def close(self) -> None:
        ffi.release(self.c)
        if self.spool is not None:
            self.spool.cleanup()


def open_data(
    source: Any,
    model: Model,
    job: Job,
    values: Mapping[str, Any],
    labels: Any = None,
    max_samples: int = 0,
    argument: str = "calib",
) -> Data:
    """A source of whatever a user calls samples; see `qdq.quantize`."""
    if hasattr(source, "__array__") or hasattr(source, "__dlpack__"):
        source = {io.name: source for io in model.inputs[:1]}
    spool = None
    if isinstance(source, (str, os.PathLike)):
        spec = os.fspath(source)
    else:
        import tempfile

        spool = tempfile.TemporaryDirectory(prefix="qdq-samples-")
        try:
            spec = write_samples(source, model, spool.name, argument)
            if labels is not None and not isinstance(labels, (str, os.PathLike)):
                np.save(os.path.join(spool.name, "labels.npy"), np.asarray(labels, np.int64))
                labels = os.path.join(spool.name, "labels.npy")
        except BaseException:
            spool.cleanup()
            raise
    if labels is not None and not isinstance(labels, (str, os.PathLike)):
        raise TypeError(
            f"labels: found {type(labels).__name__}, expected a key or a file for {spec}"
        )
    options = Options("qdq_data_opts", job)
    set_image_options(options, values)
    options.set("labels", labels)
    options.set("max_samples", max_samples)
    out = ffi.new("qdq_data **")
    try:
        job.run(lib.qdq_data_open, encode(spec), model.c, options.c, out)
    except BaseException:
        if spool is not None:
            spool.cleanup()
        raise
    return Data(ffi.gc(out[0], lib.qdq_data_close), spool, options, model)


def set_image_options(options: Options, values: Mapping[str, Any]) -> None:
    size = values.get("image_size")
    if size is not None:
        options.c.image_height, options.c.image_width = size
    for name in ("mean", "std"):
        numbers = values.get(name)
        if numbers is not None:
            numbers = [numbers] if isinstance(numbers, (int, float)) else list(numbers)
            if not 1 <= len(numbers) <= 4:
                raise errors.UsageError(f"{name}: found {len(numbers)} numbers, expected 1 to 4")
            options.set(name, numbers)
            setattr(options.c, f"n_{name}", len(numbers))
    for name in ("layout", "channel_order"):
        value = values.get(name)
        options.set(name, None if value == "auto" else value)
    options.set("shapes", values.get("shape"), "shape")


# --- objects of Python ----------------------------------------------------------------------------


def write_samples(source: Any, model: Model, folder: str, argument: str) -> str:
    """Samples as files, one at a time: what can be read once is there for every pass."""
    inputs = {io.name: io for io in model.inputs}
    if isinstance(source, Mapping):
        arrays = {name: as_array(value) for name, value in source.items()}
        path = os.path.join(folder, "samples.npz")
        np.savez(path, **check_sample(arrays, inputs, argument))
        return path
    inner = os.path.join(folder, "samples")
    os.mkdir(inner)
    count = 0
    for sample in iterate(source, argument):
        arrays = check_sample(
            named(sample, inputs, f"{argument}: sample {count}"),
            inputs,
            f"{argument}: sample {count}",
        )
        np.savez(os.path.join(inner, f"{count:09}.npz"), **arrays)
        count += 1
    if count == 0:
        raise errors.FormatError(f"{argument}: found no samples, expected one or more")
    return inner


def iterate(source: Any, argument: str) -> Iterator[Any]:
    """Samples of an iterable, of (iterable, transform), or of a CalibrationDataReader."""
    if isinstance(source, tuple) and len(source) == 2 and callable(source[1]):
        items, transform = source
        return map(transform, iterate(items, argument))
    get_next = getattr(source, "get_next", None)
    if callable(get_next):
        return iter(get_next, None)
    if isinstance(source, Iterable):
        return iter(source)
    raise TypeError(
        f"{argument}: found {type(source).__name__}, expected a path, a dict of arrays, "
        "an iterable of dicts, (iterable, transform) or a CalibrationDataReader"
    )


def named(sample: Any, inputs: Mapping[str, Any], place: str) -> dict[str, Any]:
    """Arrays by input: of a dict, or of one array where the model has one input."""
    if isinstance(sample, Mapping):
        return {str(name): as_array(value) for name, value in sample.items()}
    if len(inputs) != 1:
        raise errors.FormatError(
            f"{place}: found {type(sample).__name__}, expected a dict with "
            + ", ".join(f"'{name}'" for name in inputs)
        )
    return {next(iter(inputs)): as_array(sample)}


def as_array(value: Any) -> Any:
    """An array of numpy of any tensor: by __array__, or by __dlpack__."""
    if isinstance(value, np.ndarray):
        return value
    if hasattr(value, "__array__"):
        return np.asarray(value)
    if hasattr(value, "__dlpack__"):
        return np.from_dlpack(value)
    return np.asarray(value)


def check_sample(arrays: dict[str, Any], inputs: Mapping[str, Any], place: str) -> dict[str, Any]:
    """The arrays with the types of the inputs. Wider floats are rounded, as of files."""
    if len(inputs) == 1 and len(arrays) == 1:
        arrays = {next(iter(inputs)): next(iter(arrays.values()))}
    for what, names in (("no", set(inputs) - set(arrays)), ("surplus", set(arrays) - set(inputs))):
        if names:
            raise errors.FormatError(
                f"{place}: found {what} array '{min(names)}', expected "
                + ", ".join(f"'{name}'" for name in inputs)
            )
    out = {}
    for name, array in arrays.items():
        want = TYPES.get(inputs[name].type)
        if want is not None and array.dtype != want and np.dtype(want).kind != "f":
            raise errors.FormatError(
                f"{place}: '{name}': found type {array.dtype}, expected {np.dtype(want)}"
            )
        if array.dtype.kind not in "fiub":
            raise errors.FormatError(
                f"{place}: '{name}': found type {array.dtype}, expected numbers"
            )
        out[name] = array
    return out


Samples = Any
Transform = Callable[[Any], Any]
