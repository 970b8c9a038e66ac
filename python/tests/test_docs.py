"""The examples of docs/python.md run, in their order."""

from __future__ import annotations

import inspect
import re
import shutil
import subprocess
import sys
import warnings

import numpy as np
import pytest

import qdq
import qdq.compat
from conftest import DIGITS, ROOT


def test_the_examples_of_the_page_run(tmp_path, monkeypatch, quantized):
    pytest.importorskip("onnx")
    monkeypatch.chdir(tmp_path)
    shutil.copy(DIGITS / "digits_cnn.onnx", "model.onnx")
    samples = np.load(DIGITS / "digits_test.npz")
    np.savez("calib.npz", **{name: samples[name][:100] for name in ("x", "label")})
    shutil.copy(quantized, "other.qdq.onnx")
    images = {"x": np.load(DIGITS / "digits_calib.npz")["x"][:40]}

    class Reader:
        rest = iter(images["x"])

        def get_next(self):
            x = next(self.rest, None)
            return None if x is None else {"x": x[None]}

    names = {"images": images, "reader": Reader()}
    page = (ROOT / "docs/python.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", page, re.S)
    assert len(blocks) >= 5
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", qdq.SpeedWarning)
        for block in blocks:
            exec(block, names)  # of our own page
    assert (tmp_path / "model.qdq.onnx").exists() and (tmp_path / "model.q.onnx").exists()


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("quantize_classifier", "accuracy 0.99"),
        pytest.param("keep_accuracy", "nearest: ", marks=pytest.mark.slow),
        pytest.param("tune_and_plot", "times as fast", marks=pytest.mark.slow),
    ],
)
def test_the_example_scripts_run(script, said, tmp_path):
    if script == "tune_and_plot":
        pytest.importorskip("matplotlib")
    run = subprocess.run(
        [sys.executable, ROOT / f"examples/python/{script}.py", DIGITS, "tuned.png"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0 and said in run.stdout, run.stdout + run.stderr
    assert script != "tune_and_plot" or (tmp_path / "tuned.png").stat().st_size > 1000


def test_the_page_names_what_the_package_has():
    page = (ROOT / "docs/python.md").read_text()
    for name in qdq.__all__:
        if name not in ("Io", "Speed", "Error", "SpeedWarning"):
            assert re.search(rf"\b{name}\b", page), f"docs/python.md lacks {name}"


@pytest.mark.parametrize(
    "function",
    [
        *(qdq.quantize, qdq.autotune, qdq.optimize, qdq.compare, qdq.bench, qdq.check),
        *(qdq.inspect, qdq.import_plan, qdq.strip, qdq.Plan.apply, qdq.calibrate),
        *(v for n, v in vars(qdq.compat).items() if n in qdq.compat.__all__ and callable(v)),
    ],
    ids=lambda f: f"{f.__module__}.{f.__name__}",
)
def test_every_parameter_is_documented(function):
    if isinstance(function, type):
        return
    parameters = inspect.signature(function).parameters
    text = inspect.getdoc(function).partition("Parameters\n")[2].partition("Returns\n")[0]
    heads = re.findall(r"^\S.*", text, re.M)
    named = {word for head in heads for word in re.findall(r"\w+", head.partition(" : ")[0])}
    assert not [name for name in parameters if name not in named and name != "self"]
    if function is not qdq.compat.quant_pre_process:
        assert "Returns\n" in function.__doc__, "Returns"
    if function is not qdq.compat.get_qdq_config:
        assert "Raises\n" in function.__doc__, "Raises"


def test_everything_public_is_documented():
    for name in qdq.__all__:
        thing = getattr(qdq, name)
        assert thing.__doc__ and "A result" not in thing.__doc__, name
        if isinstance(thing, type) and thing.__module__.startswith("qdq"):
            for member, value in vars(thing).items():
                if not member.startswith("_") and (callable(value) or isinstance(value, property)):
                    doc = value.fget.__doc__ if isinstance(value, property) else value.__doc__
                    if member not in ("c", "model", "plan", "report", "write", "info", "to_kind"):
                        assert doc, f"{name}.{member}"
