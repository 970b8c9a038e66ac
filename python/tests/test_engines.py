"""Where the libraries of engines are looked for, in order."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import signal
import subprocess
import sys

import pytest

import qdq
from qdq import _engines, _ranges


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


def test_every_function_runs_its_engine_on_a_host(cnn, calib, tmp_path):
    worker = os.path.join(_engines.BIN, "qdq-worker")
    there = {"host": f"exec:{worker} --serve --cache-dir {tmp_path}/cache", "host_timeout": 30}
    samples = {"samples": 4, "threads": 1}
    assert qdq.calibrate(cnn, calib, **samples, **there) == qdq.calibrate(cnn, calib, **samples)
    assert qdq.compare(cnn, cnn, data=calib, samples=4, **there).sqnr_db == float("inf")
    assert qdq.optimize(cnn, check=calib, samples=4, **there).report.settled
    assert qdq.check(cnn, engine="ort", **there).engine_check.verdict == "right"
    assert len(qdq.bench(cnn, rounds=6, **there).models) == 1
    missing = {"host": "exec:no-such-program"}
    for call in (
        lambda: qdq.calibrate(cnn, calib, **missing),
        lambda: qdq.compare(cnn, cnn, **missing),
        lambda: qdq.optimize(cnn, check=calib, **missing),
        lambda: qdq.check(cnn, engine="ort", **missing),
        lambda: qdq.bench(cnn, **missing),
    ):
        with pytest.raises(qdq.EngineError, match="there is no qdq-worker there"):
            call()


OPEN = (
    '<ir_version: 8, opset_import: ["" : 17]> g (float[N,4] x, float[M,4] z) => (float[N,4] y, '
    "float[M,4] q) { y = Relu(x) q = Relu(z) }"
)


TRTEXEC = (
    *("help", "onnx", "saveEngine", "loadEngine", "skipInference", "minShapes", "optShapes"),
    *("maxShapes", "shapes", "iterations", "warmUp", "duration", "exportLayerInfo"),
    *("profilingVerbosity", "exportProfile", "exportTimes", "loadInputs", "stronglyTyped"),
    *("timingCacheFile", "useCudaGraph", "noDataTransfers", "useSpinWait", "separateProfileRun"),
)


@pytest.fixture
def stand_in(tmp_path):
    """A trtexec that has some options, notes its arguments, and fails."""
    program = tmp_path / "trtexec"
    known = " ".join(f"--{name}" for name in TRTEXEC)
    program.write_text(
        "#!/bin/sh\necho '&&&& RUNNING TensorRT.trtexec [TensorRT v101601]'\n"
        f'[ "$*" != --help ] || {{ printf "  %s\\n" {known}; exit 0; }}\n'
        'printf "%s\\n" "$@" >>"$0.args"\nexit 1\n'
    )
    program.chmod(0o755)
    return program


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (
            {"opt_shape": {"x": (8, 4)}, "max_shape": {"x": (16, 4)}},
            "--minShapes=x:8x4,z:1x4 --optShapes=x:8x4,z:1x4 --maxShapes=x:16x4,z:1x4",
        ),
        (
            {"min_shape": {"x": (1, 4)}, "opt_shape": {"x": (8, 4), "z": (2, 4)}},
            "--minShapes=x:1x4,z:2x4 --optShapes=x:8x4,z:2x4 --maxShapes=x:8x4,z:2x4",
        ),
    ],
)
@pytest.mark.parametrize("function", ["bench", "autotune"])
def test_trtexec_gets_three_shapes(stand_in, options, expected, function, tmp_path):
    with pytest.raises(qdq.Error):
        getattr(qdq, function)(
            qdq.Model.from_text(OPEN), engine="trtexec", trtexec=stand_in, **options
        )
    told = (tmp_path / "trtexec.args").read_text().split("\n")
    assert [word for word in told if "Shapes" in word][:3] == expected.split()


def test_another_engine_runs_the_shape_that_is_timed(tmp_path):
    model = qdq.Model.from_text(OPEN)
    plain = {"x": (8, 4), "z": (2, 4)}
    for options in (
        {"opt_shape": plain, "max_shape": {"x": (16, 4)}},
        {"opt_shape": {"x": (8, 4)}, "shape": {"z": (2, 4)}},
        {"trtexec_args": "--optShapes=x:8x4,z:2x4 --maxShapes=x:16x4"},
    ):
        given = {"trtexec_args": None, "shape": None, **dict.fromkeys(_ranges.NAMES), **options}
        assert _ranges.take_ranges("ort", given) == given["shape"] == plain
        assert given["trtexec_args"] is None
        assert qdq.bench(model, rounds=6, **options).models[0].runs >= 6
    costs = tmp_path / "sim.json"
    costs.write_text('{"qdq_sim": 1, "default": {"float_us": 2}}')
    options = {"opt_shape": plain, "preset": "quick", "time": 5.0}
    assert qdq.autotune(model, engine=f"sim:{costs}", **options).report.baseline_ms > 0


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"min_shape": {"x": (1, 4)}}, "found min_shape of 'x' without opt_shape, which is timed"),
        ({"max_shape": {"x": (1, 4)}}, "found max_shape of 'x' without opt_shape, which is timed"),
        (
            {"opt_shape": {"x": (8, 4)}, "max_shape": {"x": (8,)}},
            "max_shape of 'x' has rank 1, opt_shape 2: expected equal ranks",
        ),
        (
            {"opt_shape": {"x": (8, 4)}, "max_shape": {"x": (7, 4)}},
            "max_shape of 'x' has 7 as dimension 1, opt_shape 8: expected min <= opt <= max",
        ),
        (
            {"opt_shape": {"x": (8, 4)}, "min_shape": {"x": (8, 5)}},
            "min_shape of 'x' has 5 as dimension 2, opt_shape 4: expected min <= opt <= max",
        ),
        (
            {"opt_shape": {"x": (8, 4)}, "shape": {"x": (8, 4)}},
            "found shape and opt_shape of 'x', expected one of them",
        ),
        (
            {"opt_shape": {"x": (8, 4)}, "trtexec_args": "--optShapes=x:8x4"},
            "found shapes in trtexec_args and opt_shape, expected one of them",
        ),
        (
            {"trtexec_args": "--optShapes=x:8x4 --minShapes=x:9x4"},
            "shapes of 'x': dimension 0 is 9, 8 and 8, expected min <= opt <= max",
        ),
        (
            {"trtexec_args": "--fp16"},
            "found --fp16 in trtexec_args and engine ort: expected shapes alone, or engine trtexec",
        ),
        ({"trtexec_args": "--optShapes=x"}, "optShapes"),
        ({"opt_shape": {"nothing": (8, 4)}}, "nothing"),
    ],
)
def test_wrong_ranges_are_named(options, text):
    model = qdq.Model.from_text(OPEN)
    for function in (qdq.bench, qdq.autotune):
        with pytest.raises((qdq.UsageError, qdq.FormatError), match=re.escape(text)):
            function(model, **options)


def test_trtexec_takes_no_name_with_a_quote(stand_in):
    with pytest.raises(qdq.UnsupportedError, match="takes no name with a comma, a quote or a"):
        qdq.bench(
            qdq.Model.from_text(OPEN),
            engine="trtexec",
            trtexec=stand_in,
            opt_shape={"x,y": (1, 2)},
        )


def test_a_host_that_is_not_there_is_an_engine_error():
    with pytest.raises(qdq.EngineError, match="there is no qdq-worker there"):
        qdq.Engine("ort", host="exec:no-such-program")
