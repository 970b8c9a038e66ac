"""Where the libraries of engines are looked for, in order."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys

import pytest

import qdq
from qdq import _engines


@pytest.fixture
def library(ort):
    return os.path.realpath(ort.library)


def given(**values):
    from qdq._core import Job, text

    options = _engines.options_of("ort", values, Job())  # holds what its struct points to
    return text(options.c.ort_library)


def test_a_path_comes_before_the_environment(monkeypatch):
    monkeypatch.setenv("QDQ_ORT_LIBRARY", "/from/environment.so")
    assert given(ort_library="/given.so") == "/given.so"
    assert given() == "/from/environment.so"


def test_what_is_loaded_comes_before_packages(monkeypatch, library):
    monkeypatch.delenv("QDQ_ORT_LIBRARY", raising=False)
    code = (
        "import ctypes, sys; from qdq import _engines\n"
        "print(_engines.loaded_library('libonnxruntime.so'))\n"
        "ctypes.CDLL(sys.argv[1])\n"
        "print(_engines.loaded_library('libonnxruntime.so'))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, library], capture_output=True, text=True, check=True
    )
    before, behind = run.stdout.split()
    assert before == "None" and os.path.realpath(behind) == library
    assert ctypes.sizeof(ctypes.c_void_p) == 8


def test_packages_are_found_and_not_imported(tmp_path):
    (tmp_path / "onnxruntime/capi").mkdir(parents=True)
    (tmp_path / "onnxruntime/__init__.py").write_text("raise RuntimeError('imported')")
    (tmp_path / "onnxruntime/capi/libonnxruntime.so.1.99.0").write_text("")
    code = "from qdq import _engines as e; print(e.package_folders()[0]); print(e.environment())"
    env = {k: v for k, v in os.environ.items() if not k.startswith("QDQ_")}
    env["PYTHONPATH"] = os.pathsep.join([str(tmp_path), *sys.path])
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env
    )
    assert run.stdout.startswith(str(tmp_path / "onnxruntime/capi"))
    assert "libonnxruntime.so.1.99.0" in run.stdout


def test_engines_are_listed():
    assert {"ort", "openvino", "trtexec", "sim"} <= set(_engines.engine_names())


def test_a_file_that_is_no_engine_is_an_engine_error(cnn):
    with pytest.raises(qdq.EngineError, match="model|digits|load"):
        qdq.bench(cnn, engine=qdq.Engine("ort", ort_library=cnn))


def workers():
    """Processes of engines that this one has started."""
    pids, found = set(), set()
    for task in os.listdir("/proc/self/task"):
        with open(f"/proc/self/task/{task}/children") as children:
            pids |= {int(pid) for pid in children.read().split()}
    for pid in pids:
        with contextlib.suppress(OSError), open(f"/proc/{pid}/comm") as comm:
            if comm.read().strip() == "qdq-worker":
                found.add(pid)
    return found


def test_an_engine_that_crashes_is_an_error_and_the_next_call_works(cnn):
    before = workers()
    with qdq.Engine("ort") as engine:
        qdq.bench(cnn, engine=engine, rounds=6)
        mine = workers() - before
        assert mine
        for pid in mine:
            os.kill(pid, signal.SIGKILL)
        with pytest.raises(qdq.EngineError, match="engine 'ort' crashed"):
            qdq.bench(cnn, engine=engine, rounds=6)
        assert qdq.bench(cnn, engine=engine, rounds=6).models
    assert not workers() - before


def test_an_engine_on_a_host_gives_what_it_gives_here(cnn, tmp_path):
    costs = tmp_path / "sim.json"
    costs.write_text('{"qdq_sim": 1, "noise": 0.1, "default": {"float_us": 2}}')
    worker = os.path.join(_engines.BIN, "qdq-worker")
    host = f"exec:{worker} --serve --cache-dir {tmp_path}/cache"
    with qdq.Engine(f"sim:{costs}") as here, qdq.Engine(f"sim:{costs}", host=host) as there:
        assert qdq.bench(cnn, engine=here, rounds=9) == qdq.bench(cnn, engine=there, rounds=9)


def test_a_host_that_is_not_there_is_an_engine_error():
    with pytest.raises(qdq.EngineError, match="there is no qdq-worker there"):
        qdq.Engine("ort", host="exec:no-such-program")
