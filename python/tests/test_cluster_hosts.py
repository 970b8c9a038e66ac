"""qdq.cluster: hosts and schedulers that fail, and fleets of several kinds of devices."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import sys
import threading

import pytest

import qdq
import qdq.cluster
from conftest import ROOT
from test_cluster import (
    NAMES,
    QUICK,
    cluster_of,
    cost_file,
    dask,
    distributed,
    model,
    plan_of,
    pytestmark,  # noqa: F401
    tune,
)


@pytest.mark.slow
def test_two_hosts_of_one_kind_that_disagree_are_named(tmp_path):
    engine = {"h1": cost_file(tmp_path, "dev"), "h2": cost_file(tmp_path, "dev", 1.5)}
    with cluster_of(("k", "h1"), ("k", "h2")) as client:
        client.wait_for_workers(2)
        models = {f"m{i}": model("digits_cnn") for i in range(4)}
        found = tune(models, client, engine=engine, share_patterns=False)
    assert {t.host for t in found.values()} == {"h1", "h2"}
    hosts = {t.folder: t.host for t in found.values()}
    named = {hosts[os.path.dirname(q.store)] for q in found.merged.quarantined}
    assert len(named) == 1


@pytest.mark.slow
def test_workers_of_one_kind_have_one_fingerprint(tmp_path):
    engine = {"h1": cost_file(tmp_path, "dev"), "h2": cost_file(tmp_path, "other")}
    with cluster_of(("k", "h1"), ("k", "h2")) as client:
        client.wait_for_workers(2)
        with pytest.raises(qdq.UsageError, match="kind 'k': fingerprint is .* give them two names"):
            tune([model("digits_cnn")], client, engine=engine)


@pytest.mark.slow
def test_a_run_that_kills_two_hosts_has_failed_and_the_rest_goes_on():
    def kill(run):
        os.kill(os.getpid(), signal.SIGKILL)

    with cluster_of(("k", "h1"), ("k", "h2")) as client:
        client.wait_for_workers(2)
        killer = (model("digits_cnn"), {"metric": kill, "min_metric": 0})
        found = tune({"killer": killer, "good": model("digits_cnn_bn")}, client)
    assert [f.name for f in found.failed] == ["killer"] and [n for n, _ in found] == ["good"]
    assert found.failed[0].hosts == ["h1", "h2"] and not found.left_out


@pytest.mark.slow
def test_a_host_on_which_three_runs_fail_is_left_out(tmp_path):
    broken = cost_file(tmp_path, "dev", fail=[{"at": "open", "message": "broken"}])
    engine = {"h1": broken, "*": cost_file(tmp_path, "dev")}
    with cluster_of(("k", "h1"), ("k", "h2")) as client:
        client.wait_for_workers(2)
        found = tune([model(n) for n in NAMES], client, engine=engine, retries=0)
    assert not found.failed and len(found) == 5
    assert list(found.left_out) == ["h1"] and len(found.left_out["h1"]) == 3
    assert {t.host for t in found.values()} == {"h2"}


@pytest.mark.slow
def test_a_kind_without_workers_fails_after_a_while(tmp_path):
    engine = {"a": cost_file(tmp_path, "a"), "b": cost_file(tmp_path, "b")}

    with cluster_of(("a", "h1"), ("b", "h2")) as client:
        client.wait_for_workers(2)

        def lose(stage, done, total):
            if done == 0:
                client.cluster.scale(1)

        found = tune({n: model(n) for n in NAMES}, client, engine=engine, patience=6, progress=lose)
    assert len(found) >= 5 and {kind for _, kind in found} >= {"a"} or found.failed
    assert all("no worker of this kind for 6 s" in f.reason for f in found.failed)
    assert len(found) + len(found.failed) == 10 and found.failed


@pytest.mark.slow
def test_a_lost_scheduler_is_an_error_and_the_same_call_resumes(tmp_path):
    slow = cost_file(tmp_path, "slow", fail=[{"at": "time", "hang": 0.002}])
    models = [model(n) for n in NAMES[:3]]
    # a client that has lost its scheduler is closed after that time
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "4s"}),
        cluster_of(("k", "h1")) as client,
    ):
        client.wait_for_workers(1)

        def end(stage, done, total):
            if done == 1:
                client.sync(client.cluster.scheduler.close)

        with pytest.raises(qdq.cluster.ClusterError, match=r"lost.*1 of 3 results .* resumes"):
            tune(models, client, tmp_path / "out", engine=slow, progress=end)
    seen = []
    with cluster_of(("k", "h1")) as client:
        client.wait_for_workers(1)
        found = tune(
            models, client, tmp_path / "out", engine=slow, progress=lambda *a: seen.append(a)
        )
    assert len(found) == 3 and seen[0] == ("tuning", 1, 3)


@pytest.mark.slow
def test_the_same_call_runs_on_hosts_that_ssh_reaches(tmp_path, monkeypatch):
    """QDQ_SSHD names another sshd than the one in PATH."""
    sshd = os.environ.get("QDQ_SSHD") or shutil.which("sshd") or shutil.which("/usr/sbin/sshd")
    asyncssh = sys.modules.get("asyncssh") or pytest.importorskip(
        "asyncssh", reason="SSHCluster is not tried: no asyncssh"
    )
    if sshd is None:
        pytest.skip("SSHCluster is not tried: no sshd")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    for name in ("host", "user"):
        key = asyncssh.generate_private_key("ssh-ed25519")
        key.write_private_key(tmp_path / name)
        key.write_public_key(tmp_path / f"{name}.pub")
        (tmp_path / name).chmod(0o600)
    (tmp_path / "config").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {tmp_path}/host\nPidFile none\n"
        f"AuthorizedKeysFile {tmp_path}/user.pub\nStrictModes no\nUsePAM no\n"
    )
    server = subprocess.Popen(
        [os.path.abspath(sshd), "-D", "-e", "-f", tmp_path / "config"], stderr=subprocess.PIPE
    )
    try:
        line = server.stderr.readline()
        if b"listening" not in line:
            pytest.skip(f"SSHCluster is not tried: sshd: {line!r}")
        connect = {"port": port, "known_hosts": None, "client_keys": [str(tmp_path / "user")]}
        qdq.cluster.configure()
        ssh = distributed.SSHCluster(
            ["127.0.0.1"] * 3,
            connect_options=connect,
            worker_options={"nthreads": 1, "host": "127.0.0.1"},
            scheduler_options={"host": "127.0.0.1", "dashboard": False},
            remote_python=sys.executable,
        )
        with ssh, distributed.Client(ssh) as client:
            client.wait_for_workers(2)
            found = tune([model("digits_cnn"), model("digits_cnn_bn")], client)
            assert len(found) == 2 and not found.failed
    finally:
        server.terminate()
        server.communicate()


# --- fleets ---------------------------------------------------------------------------------------

FLEET = ["a"] * 3 + ["b"] * 3 + ["c"] * 2
MODELS = {
    **{name: model(name) for name in NAMES},
    "mnist": (str(ROOT / "tests/models/real/mnist.onnx"), {"calib": "random:1"}),
}


@pytest.fixture(scope="module")
def singles(tmp_path_factory):
    """Plans of single runs, one after the other as the cluster has them, and the engines."""
    folder = tmp_path_factory.mktemp("fleet")
    speeds = {"a": 0.5, "b": 1.0, "c": 2.0}
    engine = {kind: cost_file(folder, kind, speed) for kind, speed in speeds.items()}
    plans = {}
    for i, (name, given) in enumerate(MODELS.items()):
        path, own = given if isinstance(given, tuple) else (given, {})
        first = None
        for kind in [*"abc"[i % 3 :], *"abc"[: i % 3]]:
            options = {**QUICK, **own, "engine": engine[kind]}
            if first is not None:
                options["pattern_caches"] = [str(first / "patterns.yaml")]
            out = folder / f"{name}-{kind}"
            qdq.autotune(path, out, **options)
            plans[name, kind] = plan_of(out)
            first = first or out
    return engine, plans


@pytest.mark.slow
def test_six_models_on_three_kinds_have_the_plans_of_single_runs(singles, tmp_path):
    engine, plans = singles
    begun = []
    with cluster_of(*((kind, "") for kind in FLEET)) as client:
        client.wait_for_workers(8)
        found = tune(MODELS, client, tmp_path, engine=engine)
        for topic, events in client.get_events().items():
            if topic.startswith("qdq-tune-"):
                begun += [e["task"] for _, e in events if e["what"] == "begin"]
    assert not found.failed and {k: plan_of(t.folder) for k, t in found.items()} == plans
    assert sorted(begun) == sorted(f"{name} on {kind}" for name, kind in plans)


@pytest.mark.slow
def test_forty_workers_killed_at_random_change_no_plan(singles, tmp_path):
    engine, plans = singles
    slow = {}
    for kind, spec in engine.items():
        cost = json.loads(pathlib.Path(spec[4:]).read_text())
        path = tmp_path / f"slow-{kind}.json"
        path.write_text(json.dumps({**cost, "fail": [{"at": "time", "hang": 0.002}]}))
        slow[kind] = f"sim:{path}"
    chance, killed, ended = random.Random(7), [], threading.Event()
    with cluster_of(*((kind, "") for kind in FLEET)) as client:
        client.wait_for_workers(8)

        def kill():
            while len(killed) < 40 and not ended.wait(0.25):
                busy = sorted(a for a, keys in client.processing().items() if keys)
                if busy:
                    victim = chance.choice(busy)
                    with contextlib.suppress(Exception):
                        (pid,) = client.run(os.getpid, workers=[victim]).values()
                        os.kill(pid, signal.SIGKILL)
                        killed.append(victim)

        thread = threading.Thread(target=kill)
        thread.start()
        try:
            found = tune(MODELS, client, tmp_path / "out", engine=slow)
        finally:
            ended.set()
            thread.join()
    print(f"{len(killed)} workers killed")
    assert not found.failed and {k: plan_of(t.folder) for k, t in found.items()} == plans
    assert len(killed) == 40
