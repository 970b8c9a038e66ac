"""Metrics that the workers of a cluster evaluate, shard by shard: for goals, and `qdq.cluster`."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from . import errors
from ._core import Progress
from ._engines import given_of, reject_unknown


def cluster_modules() -> tuple[Any, Any]:
    """The modules that need `distributed`: of the client and of the workers."""
    try:
        import distributed  # noqa: F401
    except ImportError as e:
        raise ImportError(
            f"qdq.cluster needs dask.distributed ({e}): pip install qdq[cluster]"
        ) from None
    from . import _cluster_client, _cluster_worker

    return _cluster_client, _cluster_worker


def places(cluster: Any, client: Any, shards: Sequence[Any]) -> list[list[str] | None]:
    """The hosts that have each shard; None: any."""
    paths = [os.fspath(s) for s in shards if isinstance(s, (str, os.PathLike))]
    have = iter(cluster.hosts_with(client, paths) if paths else [])
    return [next(have) if isinstance(s, (str, os.PathLike)) else None for s in shards]


def evaluate(
    model: Any,
    candidates: Mapping[str, Any] | Sequence[Any],
    shards: Sequence[Any],
    metric: Callable[[Any, Any], Any],
    client: Any = None,
    *,
    engine: str = "ort",
    threads: int = 1,
    retries: int = 2,
    progress: Progress = False,
    **engine_options: Any,
) -> dict[str, float]:
    """Evaluates a model and others made of it by a metric, shard by shard on the workers.

    Parameters
    ----------
    model
        The input model, or None. Its figure has the name ``"input"``.
    candidates
        A dict of models by name, or a list, whose names are ``"0"``, ``"1"``, ...
    shards
        As of `calibrate`, without parts: a path on the workers, arrays, or a function.
    metric
        A function of (run, shard). `run` is as `qdq.MetricRun`; `shard` is the shard, or what its
        function gave. It returns (sum, weight), or a number that is a mean over the shard: its
        weight is the number of samples. That is the length of an array or list, the first axis of
        the first array of a dict or an ``.npz``; other shards need (sum, weight).
    engine, threads, **engine_options
        Of `qdq.Engine`; threads of one run.

    Returns
    -------
    dict
        For each model the sum of all sums / the sum of all weights.

    Examples
    --------
    >>> def right(run, shard):
    ...     x, y = shard["x"], shard["label"]
    ...     return float((run({"x": x})["y"].argmax(1) == y).sum()), len(y)
    >>> qdq.cluster.evaluate("a.onnx", {"int8": "a.qdq.onnx"}, [load_1, load_2], right, client)
    """
    cluster, worker = cluster_modules()
    reject_unknown(engine_options)
    if not callable(metric):
        raise TypeError(f"metric: found {type(metric).__name__}, expected a function")
    if not shards:
        raise errors.UsageError("shards: found none")
    client = cluster.client_of(client)
    if not isinstance(candidates, Mapping):
        candidates = {str(i): m for i, m in enumerate(candidates)}
    if model is not None and "input" in candidates:
        raise errors.UsageError("candidates: found 'input', the name of the model's figure")
    models = {**({"input": model} if model is not None else {}), **candidates}
    files = cluster.Files(client)
    try:
        sent = {name: files.add_model(m) for name, m in models.items()}
        files.send()
        where = places(cluster, client, shards)
        calls = []
        for name, file in sent.items():
            is_input = name == "input" and model is not None
            for i, (shard, hosts) in enumerate(zip(shards, where)):
                args = (file, is_input, shard, metric, engine, engine_options, threads)
                calls.append((worker.evaluate, args, f"{name}-shard-{i}", hosts))
        found = cluster.gather(client, files, calls, retries, progress, "evaluating")
    finally:
        files.close()
    n = len(shards)
    return {name: combine(name, found[i * n : i * n + n]) for i, name in enumerate(sent)}


def combine(name: str, parts: Sequence[tuple[float, float]]) -> float:
    weight = math.fsum(w for _, w in parts)
    if weight <= 0:
        raise errors.UsageError(f"metric of {name}: found weights of 0 in all shards")
    return math.fsum(s for s, _ in parts) / weight


def sharded(
    metric: Callable[[Any, Any], Any], shards: Any, client: Any, o: Mapping[str, Any]
) -> Callable[[Any], float]:
    """The metric of a goal that is evaluated in shards: of `quantize` and `autotune`."""
    if not callable(metric):
        raise errors.UsageError("found client without a metric")
    if not shards:
        raise errors.UsageError("found client without shards")
    if not isinstance(o["engine"], str):
        raise errors.UsageError("client: found an open engine, expected a spec, as 'ort'")
    options = given_of(o)

    def measure(run: Any) -> float:
        name = "input" if run.is_input else "candidate"
        model = run.model if run.is_input else None
        others = {} if run.is_input else {name: run.model}
        found = evaluate(model, others, shards, metric, client, engine=o["engine"], **options)
        return found[name]

    measure.__name__ = getattr(metric, "__name__", "metric")
    return measure
