"""Tuning, calibration and evaluation on a cluster, by dask.distributed (docs/cluster.md).

    from distributed import Client
    import qdq.cluster

    with Client("tcp://scheduler:8786") as client:
        results = qdq.cluster.tune({"resnet": "resnet.onnx"}, client, folder="tuned", calib="c.npz")

The same calls run on ``Client()`` (this machine), ``SSHCluster``, ``SLURMCluster`` and
``KubeCluster``. The workers need this package and an engine: ``pip install qdq[cluster]``.
"""

from __future__ import annotations

import inspect
import os
import tempfile
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import errors
from ._core import Path, Progress
from ._calibrate import calibrate as calibrate_here
from ._data import LABELS
from ._engines import given_of
from ._shards import cluster_modules, evaluate, places
from ._statistics import Statistics, merge
from ._tune import autotune

if TYPE_CHECKING:
    from ._cluster_tune import TuneResults

__all__ = ["calibrate", "configure", "evaluate", "tune"]

# Options of `autotune` that are this module's to decide.
OURS = {"model", "folder", "output", "live", "progress", "engine"}
SAMPLES = "calib", "eval"  # options that are samples
FILES = "labels", "cache", "pattern_caches", "layer_info"  # options that may be files

# What makes workers and a scheduler that wait use little of a processor.
IDLE = {
    "distributed.admin.system-monitor.interval": "60s",
    "distributed.admin.system-monitor.gil.enabled": False,
    "distributed.admin.tick.interval": "2s",  # below the limit at which Dask warns
    "distributed.admin.tick.cycle": "60s",
    "distributed.worker.profile.enabled": False,
    "distributed.worker.profile.interval": "10s",
    "distributed.worker.profile.cycle": "60s",
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,
    "distributed.scheduler.active-memory-manager.start": False,
    "distributed.client.scheduler-info-interval": "60s",
}


def configure() -> dict[str, Any]:
    """Sets Dask's intervals so that workers and schedulers that wait leave the processor alone.

    Call it before a cluster is made in this process: ``LocalCluster`` and ``SSHCluster`` hand the
    settings to their workers. Others read them from a file of Dask's: docs/cluster.md has it.

    Returns
    -------
    dict
        What was set.

    Examples
    --------
    >>> qdq.cluster.configure()
    >>> client = Client(LocalCluster(n_workers=2, threads_per_worker=1))
    """
    cluster, _ = cluster_modules()
    import dask.config

    dask.config.set(IDLE)
    cluster.slow_heartbeats()()
    return dict(IDLE)


def tune(
    models: Any,
    client: Any = None,
    *,
    per: str = "device",
    folder: Path | None = None,
    engine: str | Mapping[str, str] = "ort",
    kinds: Sequence[str] | None = None,
    share_patterns: bool = True,
    retries: int = 2,
    patience: float = 300,
    measures_alone: bool | None = None,
    progress: Progress = False,
    **options: Any,
) -> TuneResults:
    """Tunes each model for each kind of device in a cluster: `qdq.autotune` on its workers.

    A kind of device is what workers with equal processors and engines have in common; a worker that
    was started with ``--resources qdq.NAME=1`` is of the kind NAME. At most one run measures on a
    host at a time.

    Parameters
    ----------
    models
        A dict of models by name, or a list of paths. A model is as of `autotune`, or (model, dict
        of options of its own).
    client
        Dask's. None: that of this process.
    per
        ``"device"``: once for each kind of device.
    folder
        Where results go, in KIND/MODEL/, with all measurements in tune.db. The same call does not
        repeat what it has there. None: a temporary folder that ends with the result.
    engine
        As of `autotune`; or a dict of engines by the name of a kind, a worker or a host; ``"*"``:
        all others.
    kinds
        Only these.
    share_patterns
        A model's run on the first kind starts those on other kinds from its pattern cache: what it
        found there is tried first, and measured like all else. False: each run is alone.
    retries : int
        How often Dask repeats a run whose engine fails.
    patience : float, s
        After that time without a worker of a kind, its runs have failed.
    measures_alone
        Whether a run locks its host. None: with all engines but ``"sim"``, whose times do not
        depend on the machine.
    progress
        True: a bar. A function gets (stage, done, total), on the thread of the caller.
    **options
        Of `autotune`. Files that a host lacks are sent there once; folders must be on all hosts.

    Returns
    -------
    TuneResults
        A dict by (model, kind), with `failed`, `left_out`, `store` and `merged`.

    Raises
    ------
    ClusterError
        The scheduler is lost, or there are no workers. The same call resumes in `folder`.
    Cancelled
        Ctrl-C: runs end after the trial at hand.

    Examples
    --------
    >>> results = qdq.cluster.tune(["a.onnx", "b.onnx"], client, folder="tuned", calib="c.npz")
    >>> results["a", "jetson"].speedup
    """
    cluster, _ = cluster_modules()
    from . import _cluster_tune as tuning

    if per != "device":
        raise errors.UsageError(f"per: found {per!r}, expected 'device'")
    check_options(options)
    client = cluster.client_of(client)
    keep = None
    if folder is None:
        keep = tempfile.TemporaryDirectory(prefix="qdq-cluster-")
        folder = keep.name
    os.makedirs(folder, exist_ok=True)
    results: TuneResults = tuning.TuneResults(os.path.abspath(os.fspath(folder)), keep)
    files = cluster.Files(client)
    try:
        work = tuning.Tuning(
            client,
            files,
            engine,
            given_of(options),
            results,
            retries=retries,
            measures_alone=measures_alone,
            patience=patience,
            progress=progress,
        )
        work.open()
        chosen = choose(sorted(work.kinds), kinds)
        chains = []
        for i, (name, (model, own)) in enumerate(named(models).items()):
            shipped = ship(files, {**options, **own}, model)
            sent = files.add_model(model)
            order = [*chosen[i % len(chosen) :], *chosen[: i % len(chosen)]]
            runs = [tuning.Run(name, sent, kind, shipped) for kind in order]
            chains += [runs] if share_patterns else [[run] for run in runs]
        files.send()
        work.plan(chains)
        work.work()
        tuning.merge(results)
    except KeyboardInterrupt as e:
        if isinstance(e, errors.Cancelled):
            raise
        raise errors.Cancelled("interrupted") from e
    finally:
        files.close()
    return results


def check_options(options: Mapping[str, Any]) -> None:
    """They must be those of `autotune`."""
    known = set(inspect.signature(autotune).parameters) - OURS - {"client", "shards"}
    for name in options:
        if name not in known:
            raise TypeError(f"tune: found option '{name}', expected one of autotune()'s")


def choose(have: list[str], wanted: Sequence[str] | None) -> list[str]:
    missing = [kind for kind in wanted or () if kind not in have]
    if missing:
        raise errors.UsageError(
            f"kinds: found '{missing[0]}', expected one of {', '.join(map(repr, have))}"
        )
    return [kind for kind in have if wanted is None or kind in wanted]


def named(models: Any) -> dict[str, tuple[Any, dict[str, Any]]]:
    """Models by name, each with options of its own."""
    if not isinstance(models, Mapping):
        if not isinstance(models, (list, tuple)):
            models = [models]
        by_name: dict[str, Any] = {}
        for i, model in enumerate(models):
            is_path = isinstance(model, (str, os.PathLike))
            name = os.path.splitext(os.path.basename(model))[0] if is_path else f"model{i}"
            if name in by_name:
                raise errors.UsageError(f"models: found '{name}' twice, expected a dict of names")
            by_name[name] = model
        models = by_name
    if not models:
        raise errors.UsageError("models: found none")
    found = {}
    for name, model in models.items():
        own: dict[str, Any] = {}
        if isinstance(model, tuple):
            model, own = model
            check_options(own)
        found[str(name)] = (model, own)
    return found


def ship(files: Any, options: Mapping[str, Any], model: Any) -> dict[str, Any]:
    """Options with the files that hosts must have."""

    def sent(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return [sent(v) for v in value]
        is_file = isinstance(value, (str, os.PathLike)) and os.path.isfile(value)
        return files.add(value) if is_file else value

    found = dict(options)
    labels = found.get("labels")
    if hasattr(labels, "__array__") and isinstance(found.get("calib"), Mapping):
        found["calib"], found["labels"] = {**found["calib"], LABELS: labels}, LABELS
    for name in SAMPLES:
        if found.get(name) is not None:
            found[name] = files.add_samples(found[name], model)
    for name in FILES:
        if found.get(name) is not None:
            found[name] = sent(found[name])
    return found


# --- samples in shards ----------------------------------------------------------------------------


def calibrate(
    model: Any,
    shards: Sequence[Any],
    client: Any = None,
    *,
    retries: int = 2,
    progress: Progress = False,
    **options: Any,
) -> Statistics:
    """Collects statistics of shards where their samples are, and merges them.

    Parameters
    ----------
    model
        As of `quantize`. It is sent to each host once.
    shards
        Each is a path on the workers (a worker that has it reads it), a dict of arrays, a function
        that gives samples when a worker calls it, or (one of these, (I, N)): the samples number
        I - 1, I - 1 + N, ... of it.
    retries
        How often Dask repeats a shard that fails.
    **options
        Of `qdq.calibrate`. `threads` is 1 unless it is given: equal numbers give equal bytes.

    Returns
    -------
    Statistics
        For ``qdq.quantize(..., cache=...)``: those of one run over all samples, bit for bit.

    Examples
    --------
    >>> shards = [("calib.npz", (i, 16)) for i in range(1, 17)]
    >>> found = qdq.cluster.calibrate("model.onnx", shards, client)
    """
    cluster, _ = cluster_modules()
    from . import _cluster_runs

    known = set(inspect.signature(calibrate_here).parameters) - {"model", "calib", "part"}
    for name in options:
        if name not in known - {"progress"}:
            raise TypeError(f"calibrate: found option '{name}', expected one of qdq.calibrate()'s")
    options.setdefault("threads", 1)
    client = cluster.client_of(client)
    parts = [split_part(shard) for shard in shards]
    if not parts:
        raise errors.UsageError("shards: found none")
    files = cluster.Files(client)
    try:
        sent = files.add_model(model)
        files.send()
        where = places(cluster, client, [shard for shard, _ in parts])
        calls = [
            (_cluster_runs.calibrate, (sent, shard, part, options), f"shard-{i}", hosts)
            for i, ((shard, part), hosts) in enumerate(zip(parts, where))
        ]
        texts = cluster.gather(client, files, calls, retries, progress, "calibrating")
    finally:
        files.close()
    return merge(Statistics.from_text(text, f"shard {i}") for i, text in enumerate(texts))


def split_part(shard: Any) -> tuple[Any, tuple[int, int] | None]:
    if isinstance(shard, tuple) and len(shard) == 2 and isinstance(shard[1], tuple):
        return shard[0], shard[1]
    return shard, None


def __getattr__(name: str) -> Any:
    """`ClusterError`, `TuneResults`, `Tuned` and `Failed`, which need `distributed`."""
    if name == "ClusterError":
        return cluster_modules()[0].ClusterError
    if name in ("TuneResults", "Tuned", "Failed"):
        cluster_modules()
        from . import _cluster_tune

        return getattr(_cluster_tune, name)
    raise AttributeError(f"module 'qdq.cluster' has no attribute '{name}'")
