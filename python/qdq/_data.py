"""Samples: anything that gives arrays by name becomes a source of the library."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Protocol

import numpy as np

from . import _core, errors
from ._core import Job, Options, encode
from ._model import Model
from ._qdq import ffi, lib


class ArrayLike(Protocol):
    """An array of numpy, or a tensor that becomes one."""

    def __array__(self) -> Any: ...


class DlpackLike(Protocol):
    """A tensor of another package."""

    def __dlpack__(self) -> Any: ...


class ReaderLike(Protocol):
    """ONNX Runtime's ``CalibrationDataReader``."""

    def get_next(self) -> Mapping[str, Any] | None: ...


Tensor = ArrayLike | DlpackLike
# What are samples; see `qdq.quantize`.
SampleSource = (
    str
    | os.PathLike[str]
    | Mapping[str, Any]
    | Tensor
    | ReaderLike
    | tuple[Iterable[Any], Callable[[Any], Any]]
    | Iterable[Mapping[str, Any]]
    | Iterable[Tensor]
)
Labels = str | os.PathLike[str] | Tensor | Iterable[int]

# Options of samples that are images.
IMAGES = "image_size", "mean", "std", "layout", "channel_order"
LABELS = "labels"  # the name of labels that are an array


class Data:
    """An open source of samples."""

    def __init__(self, c: Any, *keep: Any) -> None:
        self.c, self.keep = c, keep

    def __len__(self) -> int:
        return int(lib.qdq_data_count(self.c))

    @property
    def is_random(self) -> bool:
        return bool(lib.qdq_data_is_random(self.c))

    def close(self) -> None:
        ffi.release(self.c)


def open_data(
    source: Any,
    model: Model,
    job: Job,
    given: Mapping[str, Any],
    *,
    labels: Any = None,
    max_samples: int = 0,
    argument: str = "calib",
) -> Data:
    """A source of whatever a user calls samples; see `qdq.quantize`."""
    if hasattr(source, "__array__") or hasattr(source, "__dlpack__"):
        source = {io.name: source for io in model.inputs[:1]}
    check_states(given)
    if labels is not None and not isinstance(labels, (str, os.PathLike)):
        if not isinstance(source, Mapping):
            raise TypeError(
                f"labels: found {type(labels).__name__}, expected a key or a file, or samples in "
                "a dict of arrays"
            )
        key = LABELS
        while key in source:
            key += "_"
        source, labels = {**source, key: labels}, key
    height, width = given.get("image_size") or (0, 0)
    options = Options(
        "qdq_data_opts",
        job,
        given,
        image_height=height,
        image_width=width,
        max_samples=max_samples,
        temp_dir=os.environ.get("TMPDIR") or None,
        labels=labels,
    )
    keep: list[Any] = [options, model]
    if isinstance(source, (str, os.PathLike)):
        made = job.make(lib.qdq_data_open, encode(source), model.c, options.c)
    elif isinstance(source, Mapping):
        keep.append(arrays := Arrays(source, argument))
        n = len(arrays.c)
        made = job.make(lib.qdq_data_from_arrays, arrays.c, n, model.c, options.c)
    else:
        keep.append(samples := Samples(source, job, argument))
        made = job.make(lib.qdq_data_from, samples.c, model.c, options.c)
    return Data(ffi.gc(made, lib.qdq_data_close), *keep)


def check_states(given: Mapping[str, Any]) -> None:
    """Options of sequences make sense together."""
    alone = next((name for name in ("steps", "mask") if given.get(name)), None)
    if alone is not None and not given.get("state"):
        raise errors.UsageError(f"found {alone} without state")


# --- arrays ---------------------------------------------------------------------------------------


def as_array(value: Any) -> Any:
    """An array of numpy of any tensor: by __array__, or by __dlpack__."""
    if isinstance(value, np.ndarray) or hasattr(value, "__array__"):
        return np.asarray(value)
    if hasattr(value, "__dlpack__"):
        return np.from_dlpack(value)
    return np.asarray(value)


def element_type(array: Any, place: str) -> int:
    """ONNX's number of a type of numpy or ml_dtypes."""
    name: str = array.dtype.name
    name = {"float32": "float", "float64": "double"}.get(name, name)
    found = int(lib.qdq_elem_from_name(name.replace("_", "").encode()))
    if found in (lib.QDQ_UNDEFINED, lib.QDQ_STRING):
        raise errors.FormatError(f"{place}: found type {array.dtype}, expected numbers")
    return found


def numpy_type(elem: int, place: str) -> Any:
    """numpy's type of an element; of ml_dtypes for those that numpy lacks."""
    name = _core.text(lib.qdq_elem_name(elem))
    name = {"float": "float32", "double": "float64"}.get(name, name)
    try:
        return np.dtype(name)
    except TypeError:
        pass
    try:
        types = importlib.import_module("ml_dtypes")
        return np.dtype(getattr(types, name.replace("float8e", "float8_e")))
    except (ImportError, AttributeError):
        raise errors.UnsupportedError(f"{place}: numpy has no type {name}") from None


def copy_array(c: Any, place: str) -> Any:
    """An array of numpy with a copy of the elements."""
    shape = tuple(int(c.dim[i]) for i in range(c.rank))
    data = bytes(ffi.buffer(c.data, c.bytes)) if c.bytes else b""
    return np.frombuffer(data, numpy_type(c.elem, place)).reshape(shape)


class Arrays:
    """Named arrays in C, whose elements stay in numpy's memory."""

    def __init__(self, arrays: Mapping[Any, Any], place: str) -> None:
        self.keep: list[Any] = []
        self.c = ffi.new("qdq_named_array[]", len(arrays))
        for c, (name, value) in zip(self.c, arrays.items()):
            array = as_array(value)
            where = f"{place}: '{name}'" if name is not None else place
            c.array.elem = element_type(array, where)
            if array.ndim > lib.QDQ_MAX_RANK:
                raise errors.FormatError(
                    f"{where}: found {array.ndim} dimensions, expected at most {lib.QDQ_MAX_RANK}"
                )
            c.array.rank = array.ndim
            for i, dim in enumerate(array.shape):
                c.array.dim[i] = dim
            flat = np.ascontiguousarray(array).reshape(-1)
            if flat.dtype.byteorder == ">":
                flat = flat.astype(flat.dtype.newbyteorder("<"))
            data = ffi.from_buffer(flat.view(np.uint8))
            text = ffi.new("char[]", str(name).encode()) if name is not None else ffi.NULL
            c.name, c.array.data, c.array.bytes = text, data, flat.nbytes
            self.keep += [flat, data, text]


# --- samples, one at a time -----------------------------------------------------------------------


class Samples:
    """Functions of the library's `qdq_data_source` over an iterable of Python."""

    def __init__(self, source: Any, job: Job, argument: str) -> None:
        self.source, self.job, self.argument = source, job, argument
        self.rest = iterate(source, argument)
        self.number = 0
        self.arrays = Arrays({}, argument)  # of the present sample
        self.handle = ffi.new_handle(self)
        self.c = ffi.new("qdq_data_source *")
        lib.qdq_data_source_python_init(self.c)
        self.name = ffi.new("char[]", argument.encode())
        self.c.name, self.c.ctx = self.name, self.handle
        self.c.next = lib.qdq_data_source_next_python
        if can_repeat(source):
            self.c.rewind = lib.qdq_data_source_rewind_python
            self.c.count = len(source) if hasattr(source, "__len__") else 0

    def next(self) -> Arrays:
        """The next sample; no arrays after the last one."""
        try:
            sample = next(self.rest)
        except StopIteration:
            return Arrays({}, self.argument)
        arrays = sample if isinstance(sample, Mapping) else {None: sample}
        if not arrays:
            raise errors.FormatError(
                f"{self.argument}: sample {self.number}: found no arrays, expected those of inputs"
            )
        self.arrays = Arrays(arrays, f"{self.argument}: sample {self.number}")
        self.number += 1
        return self.arrays

    def rewind(self) -> bool:
        self.rest, self.number = iterate(self.source, self.argument), 0
        return True


def iterate(source: Any, argument: str) -> Iterator[Any]:
    """Samples of an iterable, of (iterable, transform), or of a CalibrationDataReader."""
    if isinstance(source, tuple) and len(source) == 2 and callable(source[1]):
        items, transform = source
        return transformed(iterate(items, argument), transform)
    get_next = getattr(source, "get_next", None)
    if callable(get_next):
        return handed_out(get_next, argument)
    if isinstance(source, Iterable):
        return iter(source)
    raise TypeError(
        f"{argument}: found {type(source).__name__}, expected a path, a dict of arrays, "
        "an iterable of dicts, (iterable, transform) or a CalibrationDataReader"
    )


# Generators: a StopIteration that a user's function raises is a RuntimeError there, and no end.


def transformed(items: Iterator[Any], transform: Callable[[Any], Any]) -> Iterator[Any]:
    for item in items:
        yield transform(item)


def handed_out(get_next: Callable[[], Any], argument: str) -> Iterator[Any]:
    while True:
        try:
            sample = get_next()
        except StopIteration as e:
            raise RuntimeError(
                f"{argument}: get_next() raised StopIteration, expected None after the last sample"
            ) from e
        if sample is None:
            return
        yield sample


def can_repeat(source: Any) -> bool:
    """A list can be read again; a generator, a reader and what transforms each item cannot."""
    return isinstance(source, (list, tuple)) and not (len(source) == 2 and callable(source[1]))


def stopped(err: Any) -> int:
    """The status of a callback whose exception the job keeps."""
    return _core.set_error(err, int(lib.QDQ_E_INTERRUPTED), "a callback raised an exception")


@ffi.def_extern(error=lib.QDQ_E_INTERRUPTED)  # type: ignore[untyped-decorator]
def qdq_data_source_next_python(ctx: Any, out: Any, n: Any, err: Any) -> int:
    samples: Samples = ffi.from_handle(ctx)
    arrays = samples.job.ask(samples.next)
    if arrays is None:
        return stopped(err)
    out[0], n[0] = arrays.c, len(arrays.c)
    return int(lib.QDQ_OK)


@ffi.def_extern(error=lib.QDQ_E_INTERRUPTED)  # type: ignore[untyped-decorator]
def qdq_data_source_rewind_python(ctx: Any, err: Any) -> int:
    samples: Samples = ffi.from_handle(ctx)
    return int(lib.QDQ_OK) if samples.job.ask(samples.rewind) else stopped(err)
