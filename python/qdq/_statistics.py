"""Statistics of calibration, which merge (docs/calibrate.md)."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from typing import Any

from . import _core
from ._core import Path, call, encode, make, read
from ._qdq import ffi, lib
from ._records import StatisticsSummary


class Statistics:
    """Statistics of a model's activations over samples, for ``quantize(..., cache=...)``.

    Parameters
    ----------
    source
        A file that `save` or ``qdq calibrate`` wrote.

    Raises
    ------
    FormatError
        The file is malformed or contradicts itself: the text names the place.

    Examples
    --------
    >>> all = qdq.calibrate("model.onnx", "a.npz").merge(qdq.calibrate("model.onnx", "b.npz"))
    >>> qdq.quantize("model.onnx", cache=all, sqnr=False, output="model.qdq.onnx")
    """

    def __init__(self, source: Path) -> None:
        self._set(make(lib.qdq_statistics_load, encode(source)))

    def _set(self, c: Any) -> None:
        self._c = ffi.gc(c, lib.qdq_statistics_free)

    @classmethod
    def _of(cls, c: Any) -> Statistics:
        s = cls.__new__(cls)
        s._set(c)
        return s

    @classmethod
    def from_text(cls, text: str, name: str = "text") -> Statistics:
        """Statistics from the text of a file, which messages call `name`."""
        data = text.encode()
        return cls._of(make(lib.qdq_statistics_parse, data, len(data), encode(name)))

    @property
    def c(self) -> Any:
        """For the functions of this package."""
        return self._c

    @property
    def summary(self) -> StatisticsSummary:
        """Model, target, method, and the numbers of tensors and samples."""
        found: StatisticsSummary = read(lib.qdq_statistics_get_summary(self._c))
        return found

    def merge(self, *others: Statistics) -> Statistics:
        """Statistics of the samples of all, in any order; none of them is changed.

        Raises
        ------
        UsageError
            They are of different models, targets or methods, or share samples.
        """
        made = Statistics.from_text(self.to_text())
        for other in others:
            call(lib.qdq_statistics_merge, made._c, other._c)
        return made

    def save(self, path: Path, *, force: bool = True) -> None:
        """Writes a file, whole or not at all; `force` replaces one that exists."""
        call(lib.qdq_statistics_save, self._c, encode(path), bool(force))

    def to_text(self) -> str:
        """The text of the file; equal samples give equal text."""
        return _core.take_text(lib.qdq_statistics_to_text, self._c)

    def __reduce__(self) -> Any:
        return Statistics.from_text, (self.to_text(),)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Statistics) and self.to_text() == other.to_text()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        s = self.summary
        missing = f", {s.n_missing} missing" if s.n_missing else ""
        return (
            f"<qdq.Statistics: {s.n_tensors} tensors over {s.n_samples} samples{missing}, "
            f"{s.method}, for {s.target}>"
        )


def merge(parts: Iterable[Statistics]) -> Statistics:
    """The statistics of all parts."""
    found = list(parts)
    return found[0].merge(*found[1:])


def as_cache(cache: Any, stack: contextlib.ExitStack) -> Any:
    """The path of a cache; of statistics that of a file, which ends with `stack`."""
    if not isinstance(cache, Statistics):
        return cache
    import tempfile

    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="qdq-statistics-"))
    path = os.path.join(folder, "statistics.json")
    cache.save(path)
    return path
