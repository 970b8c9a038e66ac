"""The client's side of a cluster: devices, files on hosts, and tasks that all must end well.

Imported where `distributed` is installed.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import queue
import shutil
import tempfile
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from distributed import KilledWorker, get_client
from distributed.comm.addressing import get_address_host

from . import _cluster_worker as worker
from . import _core, errors
from ._cluster_worker import SentFile
from ._model import Model, kind_of, open_model

TRIES = 5  # of sending a file to a host whose workers die
LOOK = 5.0  # seconds between two looks at the scheduler
LOST = "cancelled", "lost"  # states of a task that the scheduler no longer knows


class ClusterError(errors.Error, RuntimeError):
    """The cluster cannot go on: the scheduler is lost, or no worker can do the work."""


def slow_heartbeats() -> Callable[[], None]:
    """What a scheduler runs so that its workers tell it every five seconds that they live.

    Dask lets each of ten workers do so twice a second, and has no setting for it. The function
    names nothing of this package, which a scheduler need not have.
    """

    def slow() -> None:
        import distributed.scheduler

        distributed.scheduler.heartbeat_interval = lambda n: 5.0

    return slow


def client_of(client: Any) -> Any:
    """The client that was given, or the one of this process."""
    if client is None:
        client = get_client()
    if getattr(client, "asynchronous", False):
        raise errors.UsageError("client: found an asynchronous one, expected Client(...)")
    with contextlib.suppress(Exception):  # a scheduler may forbid it
        client.run_on_scheduler(slow_heartbeats())
    return client


def cancel(client: Any, futures: list[Any]) -> None:
    """Ends tasks; without a scheduler there are none, and a client would wait for a new one."""
    if client.status == "running":
        with contextlib.suppress(Exception):
            client.cancel(futures, force=True)


def lost(client: Any, more: str = "") -> ClusterError:
    scheduler = getattr(client.scheduler, "address", "")
    return ClusterError(f"scheduler {scheduler}: lost{more}")


# --- devices --------------------------------------------------------------------------------------


def announce(
    client: Any, engine: Any, options: Mapping[str, Any], excluded: Iterable[str] = ()
) -> dict[str, dict[str, Any]]:
    """Lets all workers tell what they are: what each announced, by address."""
    plugin = worker.Announce(engine, options, frozenset(excluded))
    client.register_plugin(plugin)
    found: dict[str, dict[str, Any]] = client.run(worker.device_of, on_error="ignore")
    if not found:
        raise ClusterError("the cluster has no workers: expected one or more")
    return found


def kinds_of(devices: Mapping[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """A device for each kind; workers of one kind must have one fingerprint."""
    kinds: dict[str, dict[str, Any]] = {}
    for device in sorted(devices.values(), key=lambda d: (d["kind"], d["host"])):
        if device["error"]:
            _core.logger.warning("%s: left out: %s", device["host"], device["error"])
            continue
        first = kinds.setdefault(device["kind"], device)
        for name in ("fingerprint", "processor"):
            if first[name] != device[name]:
                raise errors.UsageError(
                    f"kind '{device['kind']}': {name} is '{first[name]}' on {first['host']} and "
                    f"'{device[name]}' on {device['host']}, expected one; give them two names"
                )
    if not kinds:
        raise errors.EngineError(next(iter(devices.values()))["error"])
    return kinds


# --- files ----------------------------------------------------------------------------------------


class Files:
    """Files of the client, each of which travels to a host at most once."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.files: dict[str, SentFile] = {}
        self.folder = tempfile.mkdtemp(prefix="qdq-cluster-")

    def close(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def add(self, path: str | os.PathLike[str]) -> SentFile:
        full = os.path.abspath(os.fspath(path))
        try:
            sha256 = worker.hash_of(full)
        except OSError as e:
            raise errors.FileError(f"{full}: {e.strerror or e}") from None
        return self.files.setdefault(sha256, SentFile(full, sha256))

    def add_bytes(self, data: bytes, name: str) -> SentFile:
        folder = os.path.join(self.folder, hashlib.sha256(data).hexdigest())
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, name)
        with open(path, "wb") as file:
            file.write(data)
        return self.add(path)

    def add_model(self, source: Any) -> SentFile:
        """A model; one with weights in files of their own as one file."""
        if kind_of(source) == "path":
            with open(source, "rb") as file:
                data = file.read()
            if b"location" not in data:
                return self.add(source)
            source = Model(source)
        return self.add_bytes(open_model(source).to_bytes(), "model.onnx")

    def add_samples(self, source: Any, model: Any) -> Any:
        """Samples: a file is sent, arrays become one; a folder must be on every host."""
        import numpy as np

        if isinstance(source, (str, os.PathLike)):
            text = os.fspath(source)
            return self.add(text) if os.path.isfile(text) else text
        if hasattr(source, "__array__"):
            source = {open_model(model).inputs[0].name: source}
        if isinstance(source, Mapping):
            arrays: dict[str, Any] = {str(n): np.asarray(a) for n, a in source.items()}
            file = io.BytesIO()
            np.savez(file, **arrays)
            return self.add_bytes(file.getvalue(), "samples.npz")
        return source

    def send(self, sha256: str | None = None) -> None:
        """Sends to each host what it lacks of all files, or of one."""
        files = [f for f in self.files.values() if sha256 in (None, f.sha256)]
        lacks: dict[str, list[str]] = {}
        for _ in range(TRIES):
            lacks = self.find_missing(files)
            if not lacks:
                return
            waiting = []
            for address, hashes in lacks.items():
                for one in hashes:
                    path = self.files[one].path
                    with open(path, "rb") as file:
                        data = self.client.scatter(file.read(), workers=[address], hash=False)
                    waiting.append(
                        self.client.submit(
                            worker.store_file, path, one, data, workers=[address], pure=False
                        )
                    )
            for future in waiting:
                with contextlib.suppress(KilledWorker, OSError):
                    future.exception(timeout=600)
        raise ClusterError(f"hosts still lack files after {TRIES} tries: {', '.join(lacks)}")

    def find_missing(self, files: list[SentFile]) -> dict[str, list[str]]:
        """What hosts lack, by the address of one worker of each."""
        asked = [(f.path, f.sha256) for f in files]
        found = self.client.run(worker.missing_files, asked, on_error="ignore")
        hosts = {host: (address, lacks) for address, (host, lacks) in sorted(found.items())}
        return {address: lacks for address, lacks in hosts.values() if lacks}


# --- tasks ----------------------------------------------------------------------------------------


class Bar:
    """Calls the progress of the user; true: a bar."""

    def __init__(self, progress: Any, stage: str, total: int) -> None:
        self.call = _core.bar() if progress is True else progress or None
        self.stage, self.total, self.shown = stage, total, -1

    def show(self, done: int) -> None:
        if self.call is not None and done != self.shown:
            self.shown = done
            self.call(self.stage, done, self.total)

    def close(self) -> None:
        close = getattr(self.call, "close", None)
        if close is not None:
            close()


def hosts_with(client: Any, paths: list[str]) -> list[list[str] | None]:
    """For each path the addresses of hosts that have it; None: all have it."""
    found = client.run(worker.exist, paths, on_error="ignore")
    out: list[list[str] | None] = []
    for i, path in enumerate(paths):
        have = sorted({get_address_host(a) for a, exists in found.items() if exists[i]})
        lack = {get_address_host(a) for a, exists in found.items() if not exists[i]}
        if not have:
            raise errors.FileError(f"shard {path}: found on no worker")
        out.append(have if lack else None)
    return out


def outcome_of(future: Any) -> tuple[Exception | None, Any]:
    """The exception and the result of a task that has ended.

    One question, not two: a worker that ends takes its results with it, and the task begins anew.
    """
    try:
        return None, future.result()
    except Exception as e:
        return e, None


def gather(
    client: Any,
    files: Files,
    calls: Sequence[tuple[Callable[..., Any], tuple[Any, ...], str, list[str] | None]],
    retries: int,
    progress: Any,
    stage: str,
) -> list[Any]:
    """The results of (function, arguments, name, hosts), in their order.

    An exception of a task comes out unchanged, and ends all others.
    """
    done: queue.SimpleQueue[tuple[int, Any]] = queue.SimpleQueue()
    futures: dict[int, Any] = {}
    results: dict[int, Any] = {}
    bar = Bar(progress, stage, len(calls))

    def submit(i: int) -> None:
        function, args, name, hosts = calls[i]
        key = f"qdq-{name}-{uuid.uuid4().hex}"
        where = {"workers": hosts, "allow_other_workers": False} if hosts else {}
        future = client.submit(function, *args, key=key, pure=False, retries=retries, **where)
        futures[i] = future
        future.add_done_callback(lambda f: done.put((i, f)))

    try:
        bar.show(0)
        for i in range(len(calls)):
            submit(i)
        while len(results) < len(calls):
            try:
                i, future = done.get(timeout=LOOK)
            except queue.Empty:
                if client.status != "running":
                    raise lost(client) from None
                continue
            if future.status in LOST:
                raise lost(client)
            error, found = outcome_of(future)
            if isinstance(error, KilledWorker):
                raise ClusterError(f"{stage} {calls[i][2]}: {error}") from error
            if error is not None:
                raise error
            if found["outcome"] == "missing":
                files.send(found["sha256"])
                submit(i)
                continue
            results[i] = found["value"]
            bar.show(len(results))
    except BaseException as e:
        cancel(client, list(futures.values()))
        if type(e) is KeyboardInterrupt:
            raise errors.Cancelled("interrupted") from e
        raise
    finally:
        bar.close()
    return [results[i] for i in range(len(calls))]
