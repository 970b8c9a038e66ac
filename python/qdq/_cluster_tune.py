"""Tuning runs on a cluster: which run is next, and what becomes of those that fail.

Imported where `distributed` is installed. Only `qdq.cluster` uses it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import queue
import re
import shutil
import tempfile
import time
import uuid
from collections.abc import Mapping
from typing import Any

from distributed import KilledWorker

from . import _cluster_worker as worker
from . import _cluster_runs, _core, errors
from ._cluster_client import (
    LOOK,
    LOST,
    Bar,
    Files,
    announce,
    cancel,
    kinds_of,
    lost,
    outcome_of,
)
from ._cluster_worker import PREFIX, SentFile
from ._model import Model
from ._plan import Plan
from ._records import MergeReport
from ._stores import merge_stores

DEATHS = 20  # of workers on one host, after which a run has failed
MOST_FAILURES = 3  # different runs that fail on a host that is left out
SURE = 1.0  # seconds after which a run that no worker has is submitted again
RECORD = "run.json"


class Tuned:
    """A model tuned for a kind of device.

    Attributes
    ----------
    name, kind, host : str
        The model, the kind of device, and the host that measured.
    folder : str
        model.onnx, plan.json, report.json, report.html, tune.db and patterns.yaml.
    report : dict
        What report.json has (docs/json.md).
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder
        with open(os.path.join(folder, RECORD)) as file:
            self._record: dict[str, Any] = json.load(file)
        self.name: str = self._record["model"]
        self.kind: str = self._record["device"]["kind"]
        self.host: str = self._record["device"]["host"]
        with open(os.path.join(folder, "report.json")) as file:
            self.report: dict[str, Any] = json.load(file)

    @property
    def model(self) -> Model:
        """The fastest model."""
        return Model(os.path.join(self.folder, "model.onnx"))

    @property
    def plan(self) -> Plan | None:
        """Its placement; None: the input is the fastest."""
        path = os.path.join(self.folder, "plan.json")
        return Plan(path) if os.path.exists(path) else None

    @property
    def speedup(self) -> float:
        """Latency of the input / latency of the model."""
        return float(self.report["speedup"])

    def __repr__(self) -> str:
        return f"<qdq.cluster.Tuned: {self.name} on {self.kind}, {self.speedup:.2f} times as fast>"


class Failed:
    """A model that could not be tuned for a kind of device: `name`, `kind`, `hosts`, `reason`."""

    def __init__(self, name: str, kind: str, hosts: list[str], reason: str) -> None:
        self.name, self.kind, self.hosts, self.reason = name, kind, hosts, reason

    def __repr__(self) -> str:
        return f"<qdq.cluster.Failed: {self.name} on {self.kind}: {self.reason}>"


class TuneResults(dict[tuple[str, str], Tuned]):
    """The results of `qdq.cluster.tune` by (model, kind).

    Attributes
    ----------
    failed : list of Failed
    left_out : dict
        Hosts that were left out, and the runs that failed on each.
    store : str
        The measurements of all runs, in one tune.db.
    merged : MergeReport or None
        What the merge left out: `quarantined` names hosts that contradict others of their kind.
    folder : str
        A temporary one ends with this object.
    """

    def __init__(self, folder: str, keep: Any) -> None:
        super().__init__()
        self.folder, self._keep = folder, keep
        self.failed: list[Failed] = []
        self.left_out: dict[str, list[str]] = {}
        self.store = os.path.join(folder, "tune.db")
        self.merged: MergeReport | None = None


class Run:
    """One model on one kind of device."""

    def __init__(self, name: str, model: SentFile, kind: str, options: dict[str, Any]) -> None:
        self.name, self.model, self.kind, self.options = name, model, kind, options
        self.patterns: list[str] = []
        self.future: Any = None
        self.errors = 0
        self.failed_on: set[str] = set()  # hosts
        self.tries = 0
        self.stuck_since = math.inf  # the scheduler has no worker for it
        self.begun: dict[str, str] = {}  # attempts that have not ended: their hosts
        self.dead: list[str] = []  # hosts whose worker ended during an attempt

    @property
    def label(self) -> str:
        return f"{self.name} on {self.kind}"

    def digest(self, device: Mapping[str, Any]) -> str:
        """What the result depends on, but for patterns of other runs, which are a start alone."""
        parts = [self.model.sha256, self.kind, device["fingerprint"], device["processor"]]
        parts += [f"{name}={stable(v)}" for name, v in sorted(self.options.items())]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def stable(value: Any) -> str:
    """A text of an option that is the same in the next call."""
    if isinstance(value, SentFile):
        return value.sha256
    if callable(value):
        return f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', '')}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(stable, value)) + "]"
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{k}:{stable(v)}" for k, v in value.items()) + "}"
    return repr(value)


def folder_name(text: str) -> str:
    """A name of a folder for any text."""
    safe = re.sub(r"[^A-Za-z0-9._+-]", "_", text).strip(".")[:80]
    return safe if safe == text else f"{safe}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


class Tuning:
    """One call of `qdq.cluster.tune`."""

    def __init__(
        self,
        client: Any,
        files: Files,
        engine: Any,
        engine_options: Mapping[str, Any],
        results: TuneResults,
        *,
        retries: int,
        measures_alone: bool | None,
        patience: float,
        progress: Any,
    ) -> None:
        self.client, self.files, self.results = client, files, results
        self.engine, self.engine_options = engine, engine_options
        self.retries, self.measures_alone, self.patience = retries, measures_alone, patience
        self.topic = f"qdq-tune-{uuid.uuid4().hex}"
        self.news: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.chains: list[list[Run]] = []  # runs of a model, one after the other
        self.ready: list[Run] = []
        self.active: dict[str, Run] = {}  # by their key
        self.failing: dict[str, set[str]] = {}  # labels of runs that failed on each host
        self.progress = progress
        self.devices: dict[str, dict[str, Any]] = {}
        self.kinds: dict[str, dict[str, Any]] = {}
        self.alive_at: dict[str, float] = {}
        self.gone: set[str] = set()  # kinds that had no worker for too long
        self.n_runs = 0

    # --- before ---

    def open(self) -> None:
        self.devices = announce(self.client, self.engine, self.engine_options)
        self.kinds = kinds_of(self.devices)
        self.client.subscribe_topic(self.topic, self.news.put)
        self.client.subscribe_topic(worker.DEVICES, self.news.put)

    def plan(self, chains: list[list[Run]]) -> None:
        """Results that are there stay; the first run of each model that is left is ready."""
        self.n_runs = sum(map(len, chains))
        for chain in chains:
            rest = []
            for run in chain:
                kept = self.find_kept(run)
                if kept is not None:
                    self.results[run.name, run.kind] = kept
                else:
                    rest.append(run)
            self.chains.append(rest)
        for rest in self.chains:
            self.next_of(rest)

    def next_of(self, chain: list[Run]) -> None:
        if chain:
            run = chain.pop(0)
            seeds = [t for (name, _), t in self.results.items() if name == run.name]
            run.patterns = [p for t in seeds[:1] for p in read_patterns(t.folder)]
            self.ready.append(run)

    def folder_of(self, run: Run) -> str:
        return os.path.join(self.results.folder, folder_name(run.kind), folder_name(run.name))

    def find_kept(self, run: Run) -> Tuned | None:
        """A result that an earlier call left."""
        try:
            kept = Tuned(self.folder_of(run))
        except (OSError, ValueError, KeyError):
            return None
        return kept if kept._record["digest"] == run.digest(self.kinds[run.kind]) else None

    # --- the runs ---

    def work(self) -> None:
        bar = Bar(self.progress, "tuning", self.n_runs)
        looked = time.monotonic()
        try:
            bar.show(self.n_done())
            while self.ready or self.active:
                if self.client.status != "running":
                    raise lost(self.client, self.so_far())
                self.submit_ready()
                try:
                    self.handle(self.news.get(timeout=self.interval()))
                except queue.Empty:
                    pass
                if time.monotonic() - looked > self.interval():
                    self.look()
                    looked = time.monotonic()
                bar.show(self.n_done())
        except BaseException:
            cancel(self.client, [r.future for r in self.active.values()])
            raise
        finally:
            bar.close()
            if self.client.status == "running":
                with contextlib.suppress(Exception):
                    self.client.unsubscribe_topic(self.topic)
                    self.client.unsubscribe_topic(worker.DEVICES)

    def interval(self) -> float:
        """Seconds between two looks."""
        stuck = any(math.isfinite(r.stuck_since) for r in self.active.values())
        return SURE if stuck else LOOK

    def n_done(self) -> int:
        return len(self.results) + len(self.results.failed)

    def slots(self, kind: str) -> int:
        """Workers of a kind; on a host that measures alone, one."""
        of_kind = [
            d
            for d in self.devices.values()
            if d["kind"] == kind and not d["error"] and d["host"] not in self.results.left_out
        ]
        if all(self.is_alone(d) for d in of_kind):
            return max(len({d["host"] for d in of_kind}), 1)
        return max(len(of_kind), 1)

    def is_alone(self, device: Mapping[str, Any]) -> bool:
        if self.measures_alone is not None:
            return self.measures_alone
        return bool(device["engine"] != "sim")

    def submit_ready(self) -> None:
        used: dict[str, int] = {}
        for run in self.active.values():
            used[run.kind] = used.get(run.kind, 0) + 1
        for run in [r for r in self.ready if r.kind in self.gone]:
            self.ready.remove(run)
            self.fail(run, [], self.no_worker())
        for run in list(self.ready):
            if used.get(run.kind, 0) < self.slots(run.kind):
                used[run.kind] = used.get(run.kind, 0) + 1
                self.ready.remove(run)
                self.submit(run)

    def submit(self, run: Run) -> None:
        what = {
            "model": run.model,
            "options": run.options,
            "patterns": run.patterns,
            "measures_alone": self.measures_alone,
        }
        run.tries += 1
        run.stuck_since = math.inf
        key = f"qdq-tune-{run.label}-{uuid.uuid4().hex}"
        others = self.others_of(run) if run.failed_on else []
        run.future = self.client.submit(
            _cluster_runs.tune,
            self.topic,
            run.label,
            what,
            key=key,
            pure=False,
            retries=self.retries,
            resources={PREFIX + run.kind: 1},
            workers=others or None,
        )
        self.active[key] = run
        run.future.add_done_callback(self.news.put)

    def others_of(self, run: Run) -> list[str]:
        """Addresses of workers on hosts where a run has not failed."""
        out = self.results.left_out.keys() | run.failed_on
        return [
            address
            for address, d in self.devices.items()
            if d["kind"] == run.kind and not d["error"] and d["host"] not in out
        ]

    # --- what is heard of them ---

    def handle(self, news: Any) -> None:
        if isinstance(news, tuple):  # (time, event)
            self.hear(news[1])
            return
        run = self.active.get(news.key)
        if run is None or run.future is not news:
            return  # of a task that was given up
        if news.status in LOST:
            raise lost(self.client, self.so_far())
        error, found = outcome_of(news)
        if isinstance(error, KilledWorker):
            del self.active[news.key]
            self.bury(run, run.begun)
            hosts = sorted(set(run.dead))
            if len(hosts) > 1 or len(run.dead) >= DEATHS or run.tries >= DEATHS:
                self.fail(run, hosts, f"its worker ended {max(len(run.dead), run.tries)} times")
            else:
                self.submit(run)
            return
        del self.active[news.key]
        if isinstance(error, (errors.EngineError, errors.OutOfMemory, errors.FileError)):
            self.fail_on_two(run, f"{type(error).__name__}: {error}")
        elif error is not None:
            raise error
        else:
            self.take(run, found)

    def hear(self, event: Mapping[str, Any]) -> None:
        if event["what"] == "device":
            self.devices[event["worker"]] = dict(event)
            if not event["error"]:
                self.gone.discard(event["kind"])
            self.find_stuck(event["kind"])
            return
        run = next((r for r in self.active.values() if r.label == event["task"]), None)
        if event["what"] == "error":
            self.blame(event["host"], event["task"])
        if run is None:
            return
        if event["what"] == "error":
            run.failed_on.add(event["host"])
        if event["what"] == "begin":
            self.bury(run, run.begun)
            run.begun = {event["attempt"]: event["host"]}
        else:
            run.begun.pop(event["attempt"], None)

    def bury(self, run: Run, begun: dict[str, str]) -> None:
        """Attempts that never ended: their workers died."""
        for host in begun.values():
            run.dead.append(host)
            self.blame(host, run.label)
        run.begun = {}

    def blame(self, host: str, label: str) -> None:
        """A host on which three different runs fail is left out, if another one of its kind is
        there."""
        self.failing.setdefault(host, set()).add(label)
        if len(self.failing[host]) < MOST_FAILURES or host in self.results.left_out:
            return
        kinds = {d["kind"] for d in self.devices.values() if d["host"] == host}
        others = {
            d["kind"]
            for d in self.devices.values()
            if d["host"] != host and d["host"] not in self.results.left_out and not d["error"]
        }
        if not kinds <= others:
            return
        self.results.left_out[host] = sorted(self.failing[host])
        _core.logger.warning(
            "%s: left out: %s failed on it", host, ", ".join(sorted(self.failing[host]))
        )
        found = announce(self.client, self.engine, self.engine_options, self.results.left_out)
        self.devices = found

    # --- results ---

    def take(self, run: Run, found: Mapping[str, Any]) -> None:
        outcome = found["outcome"]
        if outcome == "missing":
            self.files.send(found["sha256"])
            self.submit(run)
            return
        if outcome == "killed":
            hosts = found["hosts"]
            self.fail(run, hosts, f"workers of {len(hosts)} hosts ended: {', '.join(hosts)}")
            return
        device = found["device"]
        if outcome == "failed":
            self.fail(run, [device["host"]], found["reason"])
            return
        wrong = self.find_nonsense(run, found)
        if wrong:
            _core.logger.warning("%s: %s: %s", device["host"], run.label, wrong)
            self.blame(device["host"], run.label)
            run.errors += 1
            run.failed_on.add(device["host"])
            if run.errors > self.retries:
                self.fail(run, sorted(run.failed_on), wrong)
            else:
                self.submit(run)
            return
        self.keep(run, found)
        self.end(run)

    def find_nonsense(self, run: Run, found: Mapping[str, Any]) -> str:
        """What is wrong with a result; "": nothing."""
        device, files = found["device"], found["files"]
        for name in ("kind", "fingerprint", "processor"):
            if device.get(name) != self.kinds[run.kind][name]:
                return f"{name} is {device.get(name)!r}, expected {self.kinds[run.kind][name]!r}"
        for name in ("model.onnx", "report.json", "tune.db"):
            if not files.get(name):
                return f"{name} is missing"
        if not files["tune.db"].startswith(b"SQLite format 3\0"):
            return "tune.db is not a store"
        try:
            report = json.loads(files["report.json"])
            figures = [float(report[n]) for n in ("baseline_ms", "final_ms", "speedup")]
        except (ValueError, TypeError, KeyError) as e:
            return f"report.json: {type(e).__name__}: {e}"
        if not all(math.isfinite(x) and x > 0 for x in figures):
            return f"report.json: found times {figures}, expected finite ones above 0"
        return find_wrong_model(run.model.path, files)

    def keep(self, run: Run, found: Mapping[str, Any]) -> None:
        """Writes a result to the folder, whole or not at all."""
        folder = self.folder_of(run)
        os.makedirs(os.path.dirname(folder), exist_ok=True)
        temporary = tempfile.mkdtemp(prefix=".new-", dir=os.path.dirname(folder))
        for name, data in found["files"].items():
            with open(os.path.join(temporary, os.path.basename(name)), "wb") as file:
                file.write(data)
        record = {
            "model": run.name,
            "device": found["device"],
            "digest": run.digest(self.kinds[run.kind]),
        }
        with open(os.path.join(temporary, RECORD), "w") as text:
            json.dump(record, text)
        shutil.rmtree(folder, ignore_errors=True)
        os.rename(temporary, folder)
        self.results[run.name, run.kind] = Tuned(folder)

    def fail(self, run: Run, hosts: list[str], reason: str) -> None:
        self.results.failed.append(Failed(run.name, run.kind, hosts, reason))
        _core.logger.warning("%s: failed: %s", run.label, reason)
        self.end(run)

    def fail_on_two(self, run: Run, reason: str) -> None:
        """An engine that fails on one host may work on another one of the kind."""
        if len(run.failed_on) < 2 and run.tries < DEATHS and self.others_of(run):
            self.submit(run)
        else:
            self.fail(run, sorted(run.failed_on), reason)

    def end(self, run: Run) -> None:
        for chain in self.chains:
            if chain and chain[0].name == run.name:
                self.next_of(chain)
                break

    # --- runs without a worker ---

    def look(self) -> None:
        """Does the scheduler answer, and does each run have a worker?"""
        try:
            found = self.client.run(worker.device_of, on_error="ignore")
        except Exception as e:
            raise lost(self.client, self.so_far()) from e
        self.devices = dict(found)
        now = time.monotonic()
        for kind in {r.kind for r in self.active.values()}:
            if any(d["kind"] == kind and not d["error"] for d in found.values()):
                self.alive_at[kind] = now
                self.gone.discard(kind)
                self.find_stuck(kind)
            elif now - self.alive_at.setdefault(kind, now) > self.patience:
                self.gone.add(kind)
                for run in [r for r in self.active.values() if r.kind == kind]:
                    self.give_up(run)
                    self.fail(run, [], self.no_worker())

    def no_worker(self) -> str:
        return f"no worker of this kind for {self.patience:.0f} s"

    def find_stuck(self, kind: str) -> None:
        """Submits runs again for which the scheduler had no worker: it does not look at them again
        when a worker announces its kind."""
        waiting = {k: r for k, r in self.active.items() if r.kind == kind}
        running = {key for keys in self.client.processing().values() for key in keys}
        stored = self.client.who_has([r.future for r in waiting.values()])
        now = time.monotonic()
        for key, run in waiting.items():
            if key in running or stored.get(key) or run.future.status != "pending":
                run.stuck_since = math.inf
            elif now - run.stuck_since < SURE:
                run.stuck_since = min(run.stuck_since, now)
            else:
                self.give_up(run)
                self.submit(run)

    def give_up(self, run: Run) -> None:
        del self.active[run.future.key]
        self.client.cancel([run.future], force=True)

    def so_far(self) -> str:
        return (
            f"; {len(self.results)} of {self.n_runs} results are in {self.results.folder}, and the "
            "same call resumes"
        )


def read_patterns(folder: str) -> list[str]:
    try:
        with open(os.path.join(folder, "patterns.yaml")) as file:
            return [file.read()]
    except OSError:
        return []


def find_wrong_model(path: str, files: Mapping[str, bytes]) -> str:
    """Is the result a model with the inputs and outputs of the given one?"""
    with tempfile.TemporaryDirectory(prefix="qdq-") as folder:
        for name, data in files.items():
            if name.startswith("model.onnx"):
                with open(os.path.join(folder, os.path.basename(name)), "wb") as file:
                    file.write(data)
        try:
            made = Model(os.path.join(folder, "model.onnx"))
        except errors.Error as e:
            return f"model.onnx: {e}"
        given = Model(path)
        for what in ("inputs", "outputs"):
            if [io.name for io in getattr(made, what)] != [io.name for io in getattr(given, what)]:
                return f"model.onnx: other {what} than the input model"
    return ""


def merge(results: TuneResults) -> None:
    """All measurements in one store; hosts that contradict others of their kind are named."""
    stores = {os.path.join(t.folder, "tune.db"): t for t in results.values()}
    if not stores:
        return
    results.merged = merge_stores(list(stores), results.store)
    for q in results.merged.quarantined:
        host = stores[q.store].host if q.store in stores else q.store
        _core.logger.warning("%s: measurements left out: %s", host, q.why)
