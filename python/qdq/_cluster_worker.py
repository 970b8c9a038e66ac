"""What runs on the workers of a cluster: what a device is, files, and metrics of shards.

Imported where `distributed` is installed. It knows neither calibration nor tuning.
"""

from __future__ import annotations

import asyncio
import fcntl
import glob
import hashlib
import math
import os
import re
import shutil
import socket
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from distributed import Status, WorkerPlugin

from . import _arguments, _core, errors
from ._data import Arrays, copy_array
from ._engines import Engine, Session
from ._model import Model
from ._qdq import ffi, lib

DEVICES = "qdq-devices"  # topic of announcements
MOST_BYTES = 8 << 30  # of files that were sent to a host
PREFIX = "qdq."  # of the resources that stand for kinds of devices
POLL = 0.5  # seconds between two looks at a lock that another process holds


# --- what a worker is -----------------------------------------------------------------------------


def host_name() -> str:
    """The host of this process: QDQ_CLUSTER_HOST, or the name of the machine."""
    return os.environ.get("QDQ_CLUSTER_HOST") or socket.gethostname()


def processor_name() -> str:
    """The processor, as the system calls it."""
    try:
        with open("/proc/cpuinfo") as file:
            for line in file:
                name, _, value = line.partition(":")
                if name.strip() in ("model name", "Model", "cpu model"):
                    return value.strip()
    except OSError:
        pass
    return os.uname().machine


def kind_name(processor: str, fingerprint: str) -> str:
    """The name of a kind of device that has none from its owner."""
    text = re.sub(r"[^a-z0-9.]+", "-", f"{processor} {fingerprint}".lower()).strip("-")[:48]
    return f"{text}-{hashlib.sha256(f'{processor}|{fingerprint}'.encode()).hexdigest()[:8]}"


class Announce(WorkerPlugin):  # type: ignore[misc]
    """Tells the scheduler what kind of device a worker is: by a resource, and by an event."""

    name = "qdq-device"
    idempotent = False

    def __init__(
        self, engine: str | Mapping[str, str], options: Mapping[str, Any], excluded: frozenset[str]
    ) -> None:
        self.engine, self.options, self.excluded = engine, dict(options), excluded

    async def setup(self, worker: Any) -> None:
        own = getattr(worker, "_qdq_own_kind", None)
        if own is None:
            named = [r for r in worker.state.total_resources if r.startswith(PREFIX)]
            own = worker._qdq_own_kind = named[0].removeprefix(PREFIX) if named else ""
        before = getattr(worker, "_qdq_device", None)
        spec = self.spec_of(own, str(worker.name))
        if before is not None and before["spec"] == spec and worker._qdq_options == self.options:
            found = dict(before)  # without opening an engine: a run may be measuring
        else:
            found = await asyncio.to_thread(self.describe, own, spec)
        found["excluded"] = found["host"] in self.excluded
        worker._qdq_device, worker._qdq_options = found, self.options
        free = 0 if found["error"] or found["excluded"] else 1
        resources = {PREFIX + found["kind"]: free}
        if before is not None and before["kind"] != found["kind"]:
            resources[PREFIX + before["kind"]] = 0
        await worker.set_resources(**resources)
        worker.log_event(DEVICES, {"what": "device", "worker": worker.contact_address, **found})

    def spec_of(self, own: str, worker: str) -> str:
        """The engine of a worker: by the name of its kind, its own, or that of its host."""
        if isinstance(self.engine, str):
            return self.engine
        names = (own, worker, host_name(), "*")
        return next((self.engine[name] for name in names if name in self.engine), "")

    def describe(self, own: str, spec: str) -> dict[str, Any]:
        host, processor = host_name(), processor_name()
        found: dict[str, Any] = {
            "host": host,
            "processor": processor,
            "spec": spec,
            "fingerprint": "",
            "engine": "",
            "error": "",
        }
        try:
            if not spec:
                raise errors.UsageError(f"engine: found none for {own or host}")
            with Engine(spec, **self.options) as engine:
                found["fingerprint"] = _core.text(engine.info.fingerprint)
                found["engine"] = engine.name
        except Exception as e:
            found["error"] = f"{type(e).__name__}: {e}"
        found["kind"] = own or kind_name(processor, found["fingerprint"])
        return found


def device_of(dask_worker: Any) -> dict[str, Any]:
    """What a worker has announced."""
    found: dict[str, Any] = dask_worker._qdq_device
    return found


# --- files ----------------------------------------------------------------------------------------


def folder_of_files() -> str:
    """Where a host keeps files that were sent to it."""
    return os.path.join(tempfile.gettempdir(), f"qdq-files-{os.getuid()}", host_name())


HASHES: dict[tuple[str, int, int, int], str] = {}


def hash_of(path: str) -> str:
    """SHA-256 of a file; of one that did not change since, the one that was computed before."""
    stat = os.stat(path)
    key = (path, stat.st_ino, stat.st_size, stat.st_mtime_ns)
    if key not in HASHES:
        found = hashlib.sha256()
        with open(path, "rb") as file:
            while data := file.read(1 << 20):
                found.update(data)
        HASHES[key] = found.hexdigest()
    return HASHES[key]


def find_file(path: str, sha256: str) -> str | None:
    """A file with these bytes on this host: at its own path, or sent before."""
    sent = os.path.join(folder_of_files(), sha256, os.path.basename(path))
    for place in (path, sent):
        try:
            if os.path.isabs(place) and os.path.isfile(place) and hash_of(place) == sha256:
                return place
        except OSError:
            pass
    return None


def missing_files(files: list[tuple[str, str]]) -> tuple[str, list[str]]:
    """The host, and the hashes that it lacks."""
    return host_name(), [sha for path, sha in files if find_file(path, sha) is None]


def store_file(path: str, sha256: str, data: bytes) -> bool:
    """Keeps a file on this host, whole or not at all."""
    if hashlib.sha256(data).hexdigest() != sha256:
        raise errors.FileError(f"{path}: damaged on its way to {host_name()}")
    folder = os.path.join(folder_of_files(), sha256)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
        file.write(data)
    os.replace(file.name, os.path.join(folder, os.path.basename(path)))
    limit_files()
    return True


def limit_files() -> None:
    """Removes the files that were sent first, if all are too many."""
    found = []
    for path in glob.glob(os.path.join(glob.escape(folder_of_files()), "*", "*")):
        try:
            found.append((os.stat(path).st_mtime, os.stat(path).st_size, path))
        except OSError:
            pass  # another process was faster
    total = sum(size for _, size, _ in found)
    for _, size, path in sorted(found)[:-1]:
        if total <= MOST_BYTES:
            break
        total -= size
        shutil.rmtree(os.path.dirname(path), ignore_errors=True)


class Missing(Exception):
    """A host lacks a file: the client sends it, and repeats the task."""


def resolve(value: Any) -> Any:
    """A value of the client's, with paths of this host for files."""
    if isinstance(value, SentFile):
        path = find_file(value.path, value.sha256)
        if path is None:
            raise Missing(value.sha256)
        return path
    if isinstance(value, list):
        return [resolve(v) for v in value]
    return value


class SentFile:
    """A file of the client's, by its path and its bytes."""

    def __init__(self, path: str, sha256: str) -> None:
        self.path, self.sha256 = path, sha256


# --- one measurement at a time --------------------------------------------------------------------


def is_cancelled(worker: Any, key: Any) -> bool:
    """The result of a running task will not be used: the worker closes, as without a scheduler, or
    the client no longer wants it."""
    state = worker.state.tasks.get(key)
    is_open = worker.status not in (Status.closing, Status.closed)
    return not is_open or state is None or state.state in ("cancelled", "forgotten", "released")


@contextmanager
def lock_of_host(cancelled: Callable[[], bool]) -> Iterator[None]:
    """The only measurement on this host. The system frees the lock of a process that dies."""
    name = re.sub(r"[^A-Za-z0-9.-]", "-", host_name())
    path = os.path.join(tempfile.gettempdir(), f"qdq-measure-{name}.lock")
    try:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        os.chmod(path, 0o666)
    try:
        while True:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if cancelled():
                    raise errors.Cancelled("interrupted") from None
                time.sleep(POLL)
        yield
    finally:
        os.close(fd)


# --- samples --------------------------------------------------------------------------------------


def exist(paths: list[str]) -> list[bool]:
    return [os.path.exists(path) for path in paths]


def open_shard(shard: Any) -> Any:
    """The samples of a shard: what a function gives, or the shard itself."""
    shard = resolve(shard)
    return shard() if callable(shard) else shard


class ShardRun:
    """A model that a metric measures on a shard: as `qdq.MetricRun`."""

    def __init__(self, path: str, engine: Engine, threads: int, is_input: bool) -> None:
        self._job = engine._job
        given = {"threads": _arguments.threads("threads", threads)}
        self._session = Session(engine, Model(path), self._job, given)
        #: it is the model that was given, not a candidate
        self.is_input = is_input

    def __call__(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Runs the model once, on an array for each input; all outputs by name."""
        arrays = Arrays(inputs, "metric")
        found: dict[str, Any] = {}
        handle = ffi.new_handle(found)
        self._job.run(
            lib.qdq_session_run,
            self._session.c,
            arrays.c,
            len(arrays.c),
            lib.qdq_output_fn_python,
            handle,
        )
        return found


@ffi.def_extern(error=lib.QDQ_E_INTERRUPTED)  # type: ignore[untyped-decorator]
def qdq_output_fn_python(ctx: Any, name: Any, array: Any, err: Any) -> int:
    text = _core.text(name)
    ffi.from_handle(ctx)[text] = copy_array(array[0], text)
    return int(lib.QDQ_OK)


def evaluate(
    model: Any,
    is_input: bool,
    shard: Any,
    metric: Callable[[Any, Any], Any],
    engine: str,
    options: dict[str, Any],
    threads: int,
) -> dict[str, Any]:
    """(sum, weight) of a model on a shard."""
    try:
        path, samples = resolve(model), open_shard(shard)
    except Missing as e:
        return {"outcome": "missing", "host": host_name(), "sha256": str(e)}
    return {
        "outcome": "done",
        "value": measure_shard(path, is_input, samples, metric, engine, options, threads),
    }


def measure_shard(
    path: str,
    is_input: bool,
    samples: Any,
    metric: Callable[[Any, Any], Any],
    engine: str,
    options: dict[str, Any],
    threads: int,
) -> tuple[float, float]:
    with Engine(engine, **options) as opened:
        run = ShardRun(path, opened, threads, is_input)
        try:
            value = metric(run, samples)
        finally:
            ffi.release(run._session.c)
    return sum_and_weight(value, samples)


def sum_and_weight(value: Any, samples: Any) -> tuple[float, float]:
    """What a metric returned for a shard."""
    try:
        total, weight = value if isinstance(value, tuple) else (value, None)
        found = float(total), float(0 if weight is None else weight)
    except (TypeError, ValueError):
        raise TypeError(f"metric: found {value!r}, expected a number, or (sum, weight)") from None
    if weight is None:
        n = count_samples(samples)
        found = found[0] * n, float(n)
    if not (math.isfinite(found[0]) and math.isfinite(found[1]) and found[1] >= 0):
        raise errors.FormatError(f"metric: found {value!r}, expected finite numbers")
    return found


def count_samples(samples: Any) -> int:
    """The number of samples in a shard, the weight of a metric that returns none."""
    import numpy as np

    if isinstance(samples, (str, os.PathLike)) and os.fspath(samples).endswith((".npz", ".npy")):
        loaded = np.load(samples)
        samples = {n: loaded[n] for n in loaded.files[:1]} if hasattr(loaded, "files") else loaded
    if isinstance(samples, Mapping):
        samples = next(iter(samples.values()))
    if not hasattr(samples, "__len__") or isinstance(samples, (str, os.PathLike)):
        raise errors.UsageError(
            "metric: found a number for a shard whose samples cannot be counted, expected "
            "(sum, weight)"
        )
    return len(samples)
