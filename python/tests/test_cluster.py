"""qdq.cluster: tuning, calibration and evaluation on workers of Dask."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import types

import numpy as np
import pytest

import qdq
import qdq.cluster
from conftest import DIGITS, IS_SANITIZED, ROOT

distributed = pytest.importorskip("distributed")
dask = pytest.importorskip("dask")
pytestmark = pytest.mark.skipif(IS_SANITIZED, reason="a sanitizer's workers start too slowly")

SIM = f"sim:{ROOT}/tests/data/sim_basic.json"
CALIB, TEST = str(DIGITS / "digits_calib.npz"), str(DIGITS / "digits_test.npz")
NAMES = "digits_cnn", "digits_cnn_bn", "digits_convnext", "digits_vit", "digits_qat_bn"
QUICK = {"preset": "quick", "target": "ort-cpu", "min_sqnr": 0, "calib": CALIB, "samples": 4}


class Mine(Exception):
    """An exception of the user."""


def model(name: str) -> str:
    return str(DIGITS / f"{name}.onnx")


@contextlib.contextmanager
def cluster_of(*workers, engine=None):
    """A cluster with a worker for each (kind, host); "": what it finds itself."""
    qdq.cluster.configure()
    # by default a cluster of its own gives up a worker that is away 15 s after it was killed
    dask.config.set({"distributed.deploy.lost-worker-timeout": "600s"})
    spec = {}
    for i, (kind, host) in enumerate(workers):
        options = {"nthreads": 1, "host": "127.0.0.1", "dashboard": False}
        options["resources"] = {f"qdq.{kind}": 1} if kind else {}
        options["env"] = {"QDQ_CLUSTER_HOST": host} if host else {}
        spec[f"w{i}"] = {"cls": distributed.Nanny, "options": options}
    scheduler = {
        "cls": distributed.Scheduler,
        "options": {"host": "127.0.0.1", "port": 0, "dashboard": False},
    }
    with distributed.SpecCluster(spec, scheduler=scheduler, silence_logs=50) as cluster:
        with distributed.Client(cluster) as client:
            yield client


@pytest.fixture(scope="module")
def client():
    with cluster_of(("", ""), ("", "")) as found:
        found.wait_for_workers(2)
        yield found


def tune(models, client, folder=None, **options):
    return qdq.cluster.tune(models, client, folder=folder, **{"engine": SIM, **QUICK, **options})


def cost_file(folder: pathlib.Path, device: str, speed: float = 1, **more) -> str:
    """The basic cost model of another device, so many times as fast."""
    cost = json.loads((ROOT / "tests/data/sim_basic.json").read_text())
    for one in [cost["default"], cost["convert"], *cost["ops"].values()]:
        for name in ("float_us", "int8_us"):
            if name in one:
                one[name] /= speed
    cost.update(device=device, **more)
    path = folder / f"{device}-{speed}-{len(more)}.json"
    path.write_text(json.dumps(cost))
    return f"sim:{path}"


def plan_of(folder) -> str:
    path = pathlib.Path(folder) / "plan.json"
    return path.read_text() if path.exists() else ""


# --- tuning ---------------------------------------------------------------------------------------


def test_each_model_is_tuned_once_as_a_single_run_does(client, tmp_path):
    seen = []
    models = [model("digits_cnn"), model("digits_cnn_bn")]
    found = tune(models, client, tmp_path / "out", progress=lambda *a: seen.append(a))
    assert {name for name, _ in found} == {"digits_cnn", "digits_cnn_bn"} and not found.failed
    assert seen[0] == ("tuning", 0, 2) and seen[-1] == ("tuning", 2, 2)
    for (name, kind), tuned in found.items():
        single = qdq.autotune(model(name), tmp_path / name, engine=SIM, **QUICK)
        assert plan_of(tuned.folder) == plan_of(single.folder) != ""
        assert tuned.model.check() == () and tuned.plan == single.plan
        assert tuned.speedup == single.speedup and kind in repr(tuned)
    assert found.merged.n_pairs > 0 and os.path.exists(found.store)
    assert found.merged.quarantined == ()


def test_the_same_call_does_not_repeat_results(client, tmp_path):
    first = tune([model("digits_cnn")], client, tmp_path)
    (one,) = first.values()
    before = os.stat(os.path.join(one.folder, "tune.db")).st_mtime_ns
    second = tune([model("digits_cnn"), model("digits_cnn_bn")], client, tmp_path)
    assert len(second) == 2 and second.merged.n_known_pairs > 0
    assert os.stat(os.path.join(one.folder, "tune.db")).st_mtime_ns == before
    tune([model("digits_cnn")], client, tmp_path, seed=5)  # another option: another result
    assert os.stat(os.path.join(one.folder, "tune.db")).st_mtime_ns != before


def test_a_model_in_memory_and_arrays_are_sent_to_a_host_once(client, images):
    data = pathlib.Path(model("digits_cnn")).read_bytes()
    ours = {"m": (qdq.Model(data), {"calib": images[:4]})}
    found = tune(ours, client)
    assert [name for name, _ in found] == ["m"]
    from qdq import _cluster_client, _cluster_worker

    files = _cluster_client.Files(client)
    sent = files.add_bytes(qdq.Model(data).to_bytes(), "model.onnx")
    assert files.find_missing([sent]) == {}
    secret = os.memfd_create("qdq")  # a file that only this process has
    os.write(secret, os.urandom(100))
    other = files.add(f"/proc/self/fd/{secret}")
    assert len(files.find_missing([other])) == 1  # two workers on one host
    files.send()
    assert files.find_missing([other]) == {}
    os.close(secret)
    files.close()
    with pytest.raises(qdq.FileError, match="damaged on its way"):
        _cluster_worker.store_file("a.bin", "0" * 64, b"x")


def test_workers_say_what_they_are(client):
    from qdq import _cluster_client

    found = _cluster_client.announce(client, SIM, {})
    kinds = _cluster_client.kinds_of(found)
    ((kind, device),) = kinds.items()
    assert len(found) == 2 and "sim-basic" in kind
    assert device["fingerprint"].startswith("sim 1 sim-basic ")
    with pytest.raises(qdq.EngineError, match="UsageError"):
        _cluster_client.kinds_of(_cluster_client.announce(client, {"other": SIM}, {}))


def test_exceptions_of_users_come_out_unchanged(client):
    def fails(stage, done, total):
        raise Mine("of progress")

    def metric(run):
        raise Mine("of a metric")

    with pytest.raises(Mine, match="of progress"):
        tune([model("digits_cnn")], client, progress=fails)
    with pytest.raises(Mine, match="of a metric"):
        tune([model("digits_cnn")], client, metric=metric, min_metric=0)


def test_a_goal_that_a_model_misses_is_reported_and_the_rest_goes_on(client, tmp_path):
    bad = tmp_path / "bad.onnx"
    bad.write_bytes(b"\x08\x07")
    found = tune({"bad": str(bad), "good": model("digits_cnn")}, client)
    assert [f.name for f in found.failed] == ["bad"] and [n for n, _ in found] == ["good"]
    assert "FormatError" in found.failed[0].reason and "bad" in repr(found.failed[0])


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"colour": 1}, TypeError, "tune: found option 'colour'"),
        ({"per": "model"}, qdq.UsageError, "per: found 'model', expected 'device'"),
        ({"kinds": ["tpu"]}, qdq.UsageError, "kinds: found 'tpu', expected one of"),
        ({"models": []}, qdq.UsageError, "models: found none"),
        ({"models": ["a/x.onnx", "b/x.onnx"]}, qdq.UsageError, "found 'x' twice"),
        ({"models": ["missing.onnx"]}, OSError, "missing.onnx"),
        ({"models": {"x": ("x.onnx", {"colour": 1})}}, TypeError, "found option 'colour'"),
        ({"engine": "warp"}, qdq.EngineError, "warp"),
    ],
)
def test_wrong_options_are_named(client, options, error, text):
    models = options.pop("models", [model("digits_cnn")])
    with pytest.raises(error, match=text):
        tune(models, client, **options)


def test_ctrl_c_cancels(client, tmp_path):
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    slow = cost_file(tmp_path, "slow", fail=[{"at": "time", "hang": 0.2}])
    timer.start()
    with pytest.raises(qdq.Cancelled):
        tune([model("digits_cnn")], client, engine=slow)
    for _ in range(100):
        if not any(client.processing().values()):
            break
        time.sleep(0.1)
    assert not any(client.processing().values())
    assert len(tune([model("digits_cnn")], client)) == 1  # the workers are free again


def test_a_run_ends_with_its_worker():
    """Dask waits up to 30 s for a task of a worker that closes, whose result is lost."""
    from qdq._cluster_worker import is_cancelled

    status, task = distributed.Status, types.SimpleNamespace(state="executing")
    tasks = types.SimpleNamespace(tasks={"mine": task})
    worker = types.SimpleNamespace(status=status.running, state=tasks)
    assert not is_cancelled(worker, "mine") and is_cancelled(worker, "other")
    worker.status = status.closing_gracefully  # a worker that is retired ends its tasks first
    assert not is_cancelled(worker, "mine")
    worker.status = status.closing
    assert is_cancelled(worker, "mine")


def test_a_result_that_ends_with_its_worker_is_a_worker_that_was_killed():
    """The task had ended well when it was asked about, but the result was still on its worker."""
    from qdq._cluster_client import outcome_of

    killed = distributed.KilledWorker("task", None, 3)

    class Future:
        status = "finished"

        def exception(self):
            return None

        def result(self):
            raise killed

    assert outcome_of(Future()) == (killed, None)


def test_one_measurement_at_a_time_on_a_host_and_the_dead_free_it(tmp_path):
    from qdq._cluster_worker import lock_of_host

    code = """
        import time
        from qdq._cluster_worker import lock_of_host
        with lock_of_host(lambda: False):
            print("held", flush=True)
            time.sleep(60)
        """
    os.environ["QDQ_CLUSTER_HOST"] = f"test-{os.getpid()}"
    try:
        other = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, text=True
        )
        assert other.stdout.readline() == "held\n"
        with pytest.raises(qdq.Cancelled), lock_of_host(lambda: True):
            pass
        other.kill()
        other.wait()
        with lock_of_host(lambda: True):
            pass
    finally:
        name = f"qdq-measure-{os.environ.pop('QDQ_CLUSTER_HOST')}.lock"
        os.remove(os.path.join(tempfile.gettempdir(), name))


def test_runs_that_lock_their_host_give_the_same_plans(client):
    found = tune([model("digits_cnn"), model("digits_cnn_bn")], client, measures_alone=True)
    assert len(found) == 2


def test_heartbeats_are_slow_on_any_cluster(client, monkeypatch):
    from qdq import _cluster_client

    monkeypatch.setattr(distributed.scheduler, "heartbeat_interval", lambda n: 0.5)
    _cluster_client.client_of(client)
    assert distributed.scheduler.heartbeat_interval(8) == 5.0


def test_the_page_has_the_settings_that_configure_makes():
    yaml = pytest.importorskip("yaml")
    page = (ROOT / "docs/cluster.md").read_text()
    shown = yaml.safe_load(page.split("```yaml\n")[1].split("```")[0])

    def flat(value, name=""):
        if not isinstance(value, dict):
            return {name: value}
        return {
            k: v for n, x in value.items() for k, v in flat(x, f"{name}.{n}".strip(".")).items()
        }

    assert flat(shown) == qdq.cluster.configure()


def test_without_distributed_the_error_says_what_to_install(tmp_path):
    code = """
        import sys
        sys.modules["distributed"] = None
        import qdq.cluster
        try:
            qdq.cluster.tune(["m.onnx"])
        except ImportError as e:
            print(e)
        """
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert "pip install qdq[cluster]" in run.stdout, run.stderr
    code = "import sys, qdq, qdq.cluster; sys.exit('distributed' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=False).returncode == 0


# --- samples --------------------------------------------------------------------------------------


def accuracy(run, shard):
    shard = np.load(shard) if isinstance(shard, str) else shard
    outs = [next(iter(run({"x": x[None]}).values())) for x in shard["x"]]
    return float((np.concatenate(outs).argmax(1) == shard["label"]).sum()), len(shard["x"])


def mean_accuracy(run, shard):
    right, n = accuracy(run, shard)
    return right / n


def shards_of(n: int):
    test = {k: v[:60] for k, v in np.load(TEST).items()}
    return [{k: v[i::n] for k, v in test.items()} for i in range(n)]


def test_statistics_merge_save_and_pickle(tmp_path):
    import pickle

    parts = [qdq.calibrate(model("digits_cnn"), CALIB, part=(i, 2)) for i in (1, 2)]
    whole = parts[1].merge(parts[0])
    assert parts[0].summary.n_missing == parts[1].summary.n_samples
    whole.save(tmp_path / "all.json")
    assert qdq.Statistics(tmp_path / "all.json") == whole == pickle.loads(pickle.dumps(whole))
    assert whole.summary.n_samples == 256 and "256 samples" in repr(whole)
    with pytest.raises(qdq.UsageError):
        whole.merge(parts[0])
    with pytest.raises(qdq.FileError):
        whole.save(tmp_path / "all.json", force=False)
    with pytest.raises(qdq.FormatError):
        qdq.Statistics.from_text("{}")
    for part in ((0, 2), (3, 2)):
        with pytest.raises(qdq.UsageError, match="part: found"):
            qdq.calibrate(model("digits_cnn"), CALIB, part=part)
    with pytest.raises(TypeError, match="part: found 3"):
        qdq.calibrate(model("digits_cnn"), CALIB, part=3)


def test_calibration_in_16_shards_equals_one_run(client, images, tmp_path):
    calib = str(tmp_path / "calib.npz")
    np.savez(calib, x=images[:64])
    shards = [(calib, (i, 16)) for i in range(1, 17)]
    found = qdq.cluster.calibrate(model("digits_cnn"), shards, client)
    assert found == qdq.calibrate(model("digits_cnn"), calib, threads=1)
    options = {"sqnr": False, "bench": False, "threads": 1}
    ours = qdq.quantize(model("digits_cnn"), cache=found, **options)
    whole = qdq.quantize(model("digits_cnn"), calib=calib, **options)
    assert ours.quantized.to_bytes() == whole.quantized.to_bytes()


def test_shards_are_functions_and_arrays_too(client, images):
    shards = [{"x": images[:8]}, lambda: {"x": images[8:16]}]
    found = qdq.cluster.calibrate(model("digits_cnn"), shards, client, method="max")
    assert found.summary.n_samples == 16 and found.summary.method == "max"


def test_evaluation_in_shards_equals_the_local_figure(client, quantized, tmp_path):
    from qdq import _cluster_worker

    def local(path):
        whole = shards_of(1)[0]
        right, n = _cluster_worker.measure_shard(path, True, whole, accuracy, "ort", {}, 1)
        return right / n

    models = {"q": quantized}
    found = qdq.cluster.evaluate(model("digits_cnn"), models, shards_of(4), accuracy, client)
    assert found == {"input": local(model("digits_cnn")), "q": local(quantized)}
    means = qdq.cluster.evaluate(None, [quantized], shards_of(4), mean_accuracy, client)
    assert means == {"0": pytest.approx(found["q"])}
    np.savez(tmp_path / "shard.npz", **shards_of(1)[0])
    shard = str(tmp_path / "shard.npz")
    files = qdq.cluster.evaluate(None, models, [shard], accuracy, client)
    assert 0.9 < files["q"] <= 1


def test_goals_are_evaluated_in_shards(client, cnn, images):
    options = {"calib": images[:16], "bench": False, "max_drop": 0.05}
    ours = qdq.quantize(cnn, metric=accuracy, client=client, shards=shards_of(2), **options)
    whole = shards_of(1)[0]
    alone = qdq.quantize(cnn, metric=lambda run: mean_accuracy(run, whole), **options)
    assert ours.metric == alone.metric and ours.goal.float_metric == alone.goal.float_metric
    assert ours.quantized.to_bytes() == alone.quantized.to_bytes()
    assert ours.goal.metric_name == "accuracy"


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda c: qdq.cluster.evaluate("m", {}, [], accuracy, c), qdq.UsageError, "found none"),
        (lambda c: qdq.cluster.evaluate("m", {}, [1], 5, c), TypeError, "metric: found int"),
        (
            lambda c: qdq.cluster.evaluate("m", {}, [1], accuracy, c, colour=1),
            TypeError,
            "unexpected option of an engine: colour",
        ),
        (
            lambda c: qdq.cluster.evaluate("m", {"input": "n"}, [1], accuracy, c),
            qdq.UsageError,
            "candidates: found 'input'",
        ),
        (
            lambda c: qdq.cluster.evaluate(model(NAMES[0]), {}, ["/none.npz"], accuracy, c),
            qdq.FileError,
            "shard /none.npz: found on no worker",
        ),
        (
            lambda c: qdq.cluster.evaluate(model(NAMES[0]), {}, [3], lambda r, s: 1.0, c),
            qdq.UsageError,
            r"expected \(sum, weight\)",
        ),
        (
            lambda c: qdq.cluster.evaluate(model(NAMES[0]), {}, [3], lambda r, s: (1, 0), c),
            qdq.UsageError,
            "weights of 0",
        ),
        (
            lambda c: qdq.cluster.evaluate(
                model(NAMES[0]), {}, [3], lambda r, s: (float("nan"), 1), c
            ),
            qdq.FormatError,
            "expected finite numbers",
        ),
        (
            lambda c: qdq.cluster.evaluate(model(NAMES[0]), {}, [3], lambda r, s: "good", c),
            TypeError,
            r"found 'good', expected a number, or \(sum, weight\)",
        ),
        (lambda c: qdq.cluster.calibrate("m", [], c), qdq.UsageError, "shards: found none"),
        (lambda c: qdq.cluster.calibrate("m", [1], c, colour=1), TypeError, "option 'colour'"),
        (lambda c: qdq.quantize(model(NAMES[0]), client=c), qdq.UsageError, "without a metric"),
        (lambda c: qdq.quantize(model(NAMES[0]), shards=[1]), qdq.UsageError, "without client"),
        (
            lambda c: qdq.quantize(
                model(NAMES[0]), client=c, metric=accuracy, max_drop=1, calib=CALIB
            ),
            qdq.UsageError,
            "client without shards",
        ),
    ],
)
def test_wrong_calls_are_named(client, call, error, text):
    with pytest.raises(error, match=text):
        call(client)


# --- hosts that fail ------------------------------------------------------------------------------


def test_a_worker_that_returns_nonsense_is_blamed(tmp_path, monkeypatch):
    from qdq import _cluster_runs

    good, calls = _cluster_runs.measure, []

    def measure(*args):
        found = good(*args)
        calls.append(found)
        if len(calls) == 1:
            found["files"]["report.json"] = b'{"baseline_ms": 1, "final_ms": 1e999, "speedup": 1}'
        if len(calls) == 2:
            found["files"]["model.onnx"] = pathlib.Path(model("digits_cnn")).read_bytes()[:100]
        return found

    monkeypatch.setattr(_cluster_runs, "measure", measure)
    local = distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0"
    )
    with local, distributed.Client(local) as client:
        found = tune([model("digits_cnn")], client)
        assert len(found) == 1 and len(calls) == 3
        calls.clear()
        found = tune([model("digits_cnn")], client, retries=0)
        assert not found and "expected finite ones above 0" in found.failed[0].reason


def test_files_that_are_no_result_are_named():
    from qdq import _cluster_tune

    tuning = _cluster_tune.Tuning.__new__(_cluster_tune.Tuning)
    device = {"kind": "k", "fingerprint": "f", "processor": "p"}
    tuning.kinds = {"k": device}
    data = pathlib.Path(model("digits_cnn")).read_bytes()
    run = _cluster_tune.Run("m", _cluster_tune.SentFile(model("digits_cnn"), ""), "k", {})
    report = b'{"baseline_ms": 1, "final_ms": 1, "speedup": 1}'
    files = {"model.onnx": data, "report.json": report, "tune.db": b"SQLite format 3\0"}
    assert tuning.find_nonsense(run, {"device": device, "files": files}) == ""
    other = {**files, "model.onnx": pathlib.Path(ROOT / "tests/data/peers/small.onnx").read_bytes()}
    for change, text in (
        ({"device": {**device, "fingerprint": "g"}}, "fingerprint is 'g', expected 'f'"),
        ({"files": {**files, "tune.db": b""}}, "tune.db is missing"),
        ({"files": {**files, "tune.db": b"x"}}, "tune.db is not a store"),
        ({"files": {**files, "report.json": b"{"}}, "report.json: JSONDecodeError"),
        ({"files": {**files, "report.json": b"{}"}}, "report.json: KeyError"),
        ({"files": other}, "other outputs"),
    ):
        assert text in tuning.find_nonsense(run, {"device": device, "files": files, **change})
