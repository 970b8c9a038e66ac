"""merge_stores(): measurements of several tuning runs in one file."""

from __future__ import annotations

import os
from collections.abc import Sequence

from ._core import Job, Options, Path, encode
from ._qdq import lib
from ._records import MergeReport


def merge_stores(stores: Sequence[Path], into: Path) -> MergeReport:
    """Merges stores (``tune.db``) of tuning runs into one, as ``qdq stores`` does
    (docs/autotune.md). A run with ``details={"store": into}`` uses it instead of measuring.

    Parameters
    ----------
    stores
        Files of runs; each pair of samples is there once.
    into
        A file that is created, or added to.

    Returns
    -------
    MergeReport
        Numbers, and in `quarantined` what was left out, because its times contradict those of
        another host of the same kind.

    Examples
    --------
    >>> qdq.merge_stores(["a/tune.db", "b/tune.db"], "all.db").n_pairs
    """
    if isinstance(stores, (str, os.PathLike)):
        raise TypeError(f"stores: found {stores!r}, expected a list of paths")
    job, texts = Job(), Options("qdq_load_opts")
    paths = texts.texts([os.fspath(s) for s in stores])
    parts = paths, len(stores), encode(into), job.c
    found: MergeReport = job.report(
        lib.qdq_tune_merge, *parts, free=lib.qdq_tune_merge_result_free
    )
    return found
