"""The long tasks of a cluster's workers: a run of `qdq.autotune`, and statistics of a shard.

Imported where `distributed` is installed. Only `qdq.cluster` uses it.
"""

from __future__ import annotations

import glob
import os
import shutil
import tempfile
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from distributed import get_worker
from distributed.utils import sync

from . import _calibrate, _core, _tune, errors
from ._cluster_worker import (
    POLL,
    Missing,
    device_of,
    host_name,
    is_cancelled,
    lock_of_host,
    open_shard,
    resolve,
)
from ._qdq import lib

# What a run leaves that the caller gets.
KEPT = (
    "model.onnx",
    "model.onnx.*.data",
    "plan.json",
    "report.json",
    "report.html",
    "patterns.yaml",
    "autotune_cache.json",
    "tune.db",
)


# --- tuning ---------------------------------------------------------------------------------------


def dead_hosts(events: Any, task: str) -> list[str]:
    """Hosts on which a task began, and whose worker never said how it ended."""
    begun: dict[str, str] = {}
    for _, e in events:
        if e.get("task") == task and e["what"] == "begin":
            begun[e["attempt"]] = e["host"]
        elif e.get("task") == task:
            begun.pop(e.get("attempt", ""), None)
    return list(begun.values())


def tune(topic: str, task: str, what: dict[str, Any]) -> dict[str, Any]:
    """One run of `qdq.autotune` on this worker: how it ended, and its files."""
    worker = get_worker()
    key = worker.get_current_task()
    device = device_of(worker)
    head = {"task": task, "host": device["host"], "worker": worker.contact_address}
    dead = dead_hosts(sync(worker.loop, worker.scheduler.events, topic=topic), task)
    if len(set(dead)) > 1:
        return {"outcome": "killed", "hosts": sorted(set(dead))}
    try:
        options = {name: resolve(value) for name, value in what["options"].items()}
        model = resolve(what["model"])
    except Missing as e:
        return {"outcome": "missing", "host": device["host"], "sha256": str(e)}
    if what["measures_alone"] is None:
        alone = device["engine"] != "sim"
    else:
        alone = what["measures_alone"]
    attempt = uuid.uuid4().hex

    def log(event: str, **more: Any) -> None:
        worker.log_event(topic, {"what": event, "attempt": attempt, **head, **more})

    folder = tempfile.mkdtemp(prefix="qdq-run-", dir=worker.local_directory)
    try:
        if what["patterns"]:
            options["pattern_caches"] = [
                *(options.get("pattern_caches") or ()),
                *write_patterns(folder, what["patterns"]),
            ]
        run = os.path.join(folder, "run")
        with lock_of_host(lambda: is_cancelled(worker, key)) if alone else nothing():
            log("begin")
            try:
                with Watch(lambda: is_cancelled(worker, key)) as watch:
                    found = measure(model, run, device["spec"], options, watch)
            except BaseException as e:
                log("error", text=f"{type(e).__name__}: {e}"[:2000])
                raise
            log("end")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return {**found, "device": device}


@contextmanager
def nothing() -> Iterator[None]:
    yield


def write_patterns(folder: str, texts: list[str]) -> list[str]:
    paths = []
    for i, text in enumerate(texts):
        paths.append(os.path.join(folder, f"patterns-{i}.yaml"))
        with open(paths[-1], "w") as file:
            file.write(text)
    return paths


class Watch:
    """Ends a run that the client no longer wants."""

    def __init__(self, cancelled: Callable[[], bool]) -> None:
        self.cancelled, self.ended = cancelled, threading.Event()

    def __call__(self, _: object) -> None:
        """What the state of the run is does not matter here."""

    def started(self, job: _core.Job) -> None:
        """The run has begun, and this is its job."""

        def watch() -> None:
            while not self.ended.wait(POLL):
                if self.cancelled():
                    lib.qdq_cancel_set(job.cancel)
                    return

        threading.Thread(target=watch, name="qdq-watch", daemon=True).start()

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()


def measure(
    model: str, folder: str, spec: str, options: dict[str, Any], watch: Watch
) -> dict[str, Any]:
    """The outcome of a run, and its files."""
    try:
        _tune.autotune(model, folder, engine=spec, live=watch, **options)
    except (errors.GoalNotReached, errors.FormatError, errors.UnsupportedError) as e:
        # of the model, not of the host: a repetition would end alike
        return {"outcome": "failed", "reason": f"{type(e).__name__}: {e}", "files": {}}
    return {"outcome": "tuned", "files": read_files(folder)}


def read_files(folder: str) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for pattern in KEPT:
        for path in sorted(glob.glob(os.path.join(glob.escape(folder), pattern))):
            with open(path, "rb") as file:
                found[os.path.basename(path)] = file.read()
    return found


# --- samples --------------------------------------------------------------------------------------


def calibrate(model: Any, shard: Any, part: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Statistics of one shard, as text."""
    try:
        path, samples = resolve(model), open_shard(shard)
    except Missing as e:
        return {"outcome": "missing", "host": host_name(), "sha256": str(e)}
    found = _calibrate.calibrate(path, samples, part=part, **options)
    return {"outcome": "done", "value": found.to_text()}
