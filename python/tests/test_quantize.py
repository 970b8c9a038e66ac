"""quantize(): the same bytes as the tool, every kind of samples, goals, results."""

from __future__ import annotations

import json
import logging
import pathlib
import pickle
import shutil
import struct
import subprocess
import sys
import types
import warnings

import numpy as np
import pytest

import qdq
from conftest import DIGITS
from qdq._engines import BIN, environment

TEST = str(DIGITS / "digits_test.npz")


def tool(*args: object) -> bytes:
    program = f"{BIN}/qdq"
    words = [program, *map(str, args)]
    return subprocess.run(words, check=True, capture_output=True, env=environment()).stdout


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"per_channel": False, "method": "percentile", "percentile": 99.9},
        {"exclude": ["r1"], "samples": 100, "equalize": True},
        {"format": "int16", "min_sqnr": 0, "symmetric": True},
        {"format": "dynamic", "samples": 8},
    ],
)
def test_the_same_options_give_the_bytes_of_the_tool(cnn, calib, tmp_path, options):
    out, words = tmp_path / "tool.onnx", []
    for name, value in options.items():
        if name == "per_channel":
            words.append("--per-tensor")
        elif value is True:
            words.append(f"--{name.replace('_', '-')}")
        else:
            words += [f"--{name.replace('_', '-')}", value[0] if isinstance(value, list) else value]
    tool("quantize", cnn, "--calib", calib, "-o", out, "--no-bench", *words)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = qdq.quantize(cnn, calib=calib, bench=False, **options)
    assert result.model.to_bytes() == out.read_bytes()


@pytest.mark.parametrize("name", ["digits_vit", "digits_convnext", "digits_qat_bn"])
@pytest.mark.slow
def test_other_models_give_the_bytes_of_the_tool(name, calib, tmp_path):
    model, plan = DIGITS / f"{name}.onnx", tmp_path / "plan.json"
    tool(
        "quantize",
        model,
        "--calib",
        calib,
        "-o",
        tmp_path / "a.onnx",
        "--no-bench",
        "--plan-out",
        plan,
    )
    times = qdq.Plan(plan) if "times" in json.loads(plan.read_text()) else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = qdq.quantize(model, calib=calib, bench=False, times=times)
    assert result.model.to_bytes() == (tmp_path / "a.onnx").read_bytes()


def test_samples_in_any_form_give_the_same_model(cnn, images):
    images = images[:24]

    class Reader:
        def __init__(self):
            self.rest = iter(images)

        def get_next(self):
            x = next(self.rest, None)
            return None if x is None else {"x": x[None]}

    class Tensor:
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **options):
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    forms = [
        {"x": images},
        images,
        [{"x": x[None]} for x in images],
        ({"x": x[None]} for x in images),
        (list(images), lambda x: {"x": x[None].astype(np.float64)}),
        Reader(),
        [Tensor(x[None]) for x in images],
    ]
    models = {qdq.quantize(cnn, calib=f, bench=False, min_sqnr=0).model.to_bytes() for f in forms}
    assert len(models) == 1


SAMPLES = np.zeros((2, 1, 16, 16), np.float32)


@pytest.mark.parametrize(
    ("calib", "error", "text"),
    [
        ({"y": SAMPLES, "x": SAMPLES}, qdq.FormatError, "'y'"),
        ([{}], qdq.FormatError, "calib: sample 0: found no arrays"),
        ([{"x": SAMPLES[:1]}, {"y": SAMPLES[:1]}], qdq.FormatError, "calib: sample 1: .*'x'"),
        ([{"x": SAMPLES[:1]}, {"x": SAMPLES[:1, :, 1:]}], qdq.FormatError, "sample 1: .*15"),
        ([{"x": SAMPLES[:1].astype(np.int64)}], qdq.FormatError, "sample 0: .*int64"),
        ([], qdq.FormatError, "calib: no samples, expected at least one"),
        (7, TypeError, "calib: found int, expected a path, a dict of arrays"),
        ({"x": np.zeros((2, 1, 15, 16), np.float32)}, qdq.FormatError, "15"),
        ({"x": np.full((2, 1, 16, 16), np.nan, np.float32)}, qdq.FormatError, "nan"),
        ({"x": np.array(["a"])}, qdq.FormatError, "expected numbers"),
        ("/no/such.npz", qdq.FileError, "/no/such.npz: No such file"),
    ],
)
def test_wrong_samples_are_named(cnn, calib, error, text):
    with pytest.raises(error, match="(?i)" + text):
        qdq.quantize(cnn, calib=calib, bench=False)


def test_a_generator_that_raises_in_the_middle_raises_its_own_exception(cnn, images):
    class Mine(Exception):
        pass

    mine = Mine("mine")

    def samples():
        yield {"x": images[:1]}
        raise mine

    with pytest.raises(Mine) as caught:
        qdq.quantize(cnn, calib=samples())
    assert caught.value is mine


def test_the_split_and_the_verdict_are_those_of_the_tool(cnn, images):
    result = qdq.quantize(cnn, calib=images[:16], bench=False)
    assert result.verdict == "reached" and result.split.folds == 4 and result.split.held_out
    result = qdq.quantize(cnn, calib=images[:16], bench=False, min_sqnr=0)
    assert result.verdict == "unknown"
    assert (result.split.calibrate, result.split.evaluate, result.split.folds) == (14, 2, 0)


def test_a_default_goal_that_is_missed_is_a_warning_that_names_the_output(cnn, images, tmp_path):
    op = {"float_us": 100, "int8_us": 30, "inputs": 2}
    costs = {"qdq_sim": 1, "error": 0.5, "ops": {"Conv": op, "Gemm": op, "MatMul": op}}
    (tmp_path / "noisy.json").write_text(json.dumps(costs))
    with pytest.warns(qdq.AccuracyWarning, match="output '.*next: more samples"):
        result = qdq.quantize(cnn, calib=images[:16], engine=f"sim:{tmp_path}/noisy.json")
    assert result.verdict in ("missed", "float") and not result.goal.reached


def test_without_samples_only_the_placement_means_something(cnn):
    result = qdq.quantize(cnn, bench=False)
    assert result.plan.summary.placement_only
    assert result.goal is None


def test_the_result_has_what_was_measured(cnn, calib, tmp_path):
    out = tmp_path / "q.onnx"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", qdq.SpeedWarning)
        result = qdq.quantize(cnn, calib=calib, output=out)
    assert result.model == str(out) and result.quantized.to_bytes() == out.read_bytes()
    assert result.goal.reached and result.sqnr_db > 20
    assert result.engine_check.verdict == "right"
    if result.speed is not None:  # there may have been no time for it
        assert result.speed.after.ci_low <= result.speedup <= result.speed.after.ci_high
    assert "SQNR" in repr(result) and len(repr(result)) < 200
    assert "Conv" in result._repr_html_()
    json.dumps(result.report.to_dict())


def test_plans_compare_and_pickle_and_apply(cnn, calib, tmp_path):
    one = qdq.quantize(cnn, calib=calib, bench=False, min_sqnr=0)
    two = qdq.quantize(cnn, calib=calib, bench=False, min_sqnr=0, exclude=["r1"])
    assert one.plan != two.plan and one.plan.summary.n_weights > two.plan.summary.n_weights
    assert one.plan.diff(two.plan).startswith("--- plan")
    assert one.plan.diff(qdq.Plan(one.plan)) == ""
    assert pickle.loads(pickle.dumps(one.plan)) == one.plan
    assert qdq.Plan(one.plan.to_dict()).summary == one.plan.summary
    one.plan.save(tmp_path / "plan.json")
    one.plan.save_ranges(tmp_path / "ranges.json")
    again = qdq.Plan(tmp_path / "plan.json").apply(pathlib.Path(cnn))
    assert again.to_bytes() == one.model.to_bytes()
    assert qdq.import_plan(again).summary.n_weights == one.plan.summary.n_weights
    with pytest.raises(qdq.FormatError):
        qdq.Plan("{")


def test_a_goal_that_was_given_and_is_missed_is_an_error_with_what_came_nearest(cnn, images):
    calib = images[:16]
    with pytest.raises(qdq.GoalNotReached, match="the goal is not reached") as caught:
        qdq.quantize(cnn, calib=calib, min_sqnr=200, bench=False)
    assert caught.value.nearest.model is not None
    nearest = qdq.quantize(cnn, calib=calib, min_sqnr=200, best_effort=True, bench=False)
    assert not nearest.goal.reached


def test_accuracy_with_labels(cnn):
    data = np.load(TEST)
    calib = {"x": data["x"][:128]}
    result = qdq.quantize(cnn, calib=calib, labels=data["label"][:128], max_drop=0.01, bench=False)
    assert result.compared.accuracy_a > 0.9
    whole = {"calib": TEST, "labels": "label", "samples": 128, "max_drop": 0.5}
    assert qdq.quantize(cnn, **whole, bench=False).goal.reached
    each = [{"x": x[None], "label": y[None]} for x, y in zip(data["x"][:64], data["label"])]
    rows = {"x": data["x"][:64], "label": data["label"][:64]}
    for samples in (each, iter(each), rows):
        judged = qdq.quantize(cnn, calib=samples, labels="label", max_drop=0.5, bench=False)
        assert judged.compared.accuracy_a > 0.9
    with pytest.raises(TypeError, match="labels: found ndarray, expected a key or a file"):
        qdq.quantize(cnn, calib=each, labels=data["label"])


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"method": "best"}, TypeError, "method: found 'best', expected one of 'default', 'max'"),
        ({"exclude": 3}, TypeError, "exclude: found 3, expected a list of texts"),
        ({"equalize": "yes"}, TypeError, "equalize: found 'yes', expected True or False"),
        ({"percentile": 20}, qdq.UsageError, "percentile: found 20"),
        ({"max_drop": 0.1}, qdq.UsageError, "max_drop without labels"),
        ({"format": "int3"}, qdq.UsageError, "format: found 'int3', expected one of 'int8'"),
        ({"target": "ort-gpu"}, qdq.UsageError, "ort-gpu"),
        ({"target": 5}, TypeError, "target: found int"),
        ({"shape": [1]}, TypeError, "shape: found"),
        ({"optimize": False, "no_fold": ["Add"]}, qdq.UsageError, "conflicts with no_fold"),
        ({"sqnr": False, "min_sqnr": 3}, qdq.UsageError, "min_sqnr where nothing is measured"),
        ({"engine": "nothing"}, qdq.UsageError, "nothing"),
    ],
)
def test_wrong_options_are_named(cnn, options, error, text):
    with pytest.raises(error, match=text):
        qdq.quantize(cnn, calib="random:0", bench=False, **options)


def test_targets_are_names_files_and_dicts(tmp_path):
    assert "ort-cpu" in qdq.Target.names()
    target = qdq.Target("ort-cpu", activation__type="int8")
    assert target != qdq.Target("ort-cpu")
    assert qdq.Target(target.to_dict()) == target
    assert pickle.loads(pickle.dumps(target)) == target
    path = tmp_path / "own.json"
    path.write_text(json.dumps(target.to_dict()))
    assert qdq.Target(path) == target
    assert [d.key for d in target.differences(qdq.Target("ort-cpu"))] == [
        "type",
        "other_activations",
    ]
    for wrong in ({"name": 3}, {"name": "x", "colour": 1}):
        with pytest.raises(qdq.FormatError, match="^target:"):
            qdq.Target(wrong)


def test_an_option_that_is_false_turns_off_what_a_target_has_on(cnn):
    keys = {"activation.pow2": True, "weight.pow2": True, "weight.reduced": True}
    on = qdq.Target("ort-cpu", **{key.replace(".", "__"): value for key, value in keys.items()})
    given = {"target": on, "bench": False, "sqnr": False}
    assert [d.key for d in on.differences(qdq.quantize(cnn, **given).target)] == []
    off = qdq.quantize(cnn, pow2=False, reduce_range=False, direct_io=False, **given).target
    assert {d.key for d in on.differences(off)} >= {"pow2", "reduced"}
    described = off.to_dict()
    assert not described["weight"]["pow2"] and not described["weight"]["reduced"]
    assert not described["activation"]["pow2"] and not described["rest"]["direct_io"]


def test_messages_go_to_the_logger(cnn, images, caplog):
    with caplog.at_level(logging.INFO, "qdq"):
        qdq.quantize(cnn, calib={"x": images[:3]}, samples=50, bench=False)
    assert any("50" in r.getMessage() for r in caplog.records if r.name == "qdq")


def test_models_are_compared_and_timed(cnn, quantized):
    data = {name: array[:64] for name, array in np.load(TEST).items()}
    result = qdq.compare(cnn, quantized, data=data, per_layer=True, labels="label")
    assert 20 < result.sqnr_db < 100
    assert result.report.accuracy_b > 0.9
    assert result.layers.layers[0].error > 0
    assert qdq.compare(cnn, cnn, samples=4).sqnr_db == float("inf")
    times = qdq.bench(cnn, quantized, rounds=5)
    assert len(times.models) == 2 and times.speedup > 0 and times.median_ms[0] > 0


def test_the_file_is_that_of_the_tool_with_external_data_and_metadata(cnn, calib, tmp_path):
    words = "--no-bench", "--metadata", "--external-data", "always"
    tool("quantize", cnn, "--calib", calib, "-o", tmp_path / "a.onnx", *words)
    before = {p.suffix: p.read_bytes() for p in tmp_path.iterdir()}
    for path in tmp_path.iterdir():
        path.unlink()
    options = {"calib": calib, "bench": False, "metadata": True}
    made = qdq.quantize(cnn, output=tmp_path / "a.onnx", external_data="always", **options)
    assert {p.suffix: p.read_bytes() for p in tmp_path.iterdir()} == before and len(before) == 2
    assert b"qdq.format" in before[".onnx"]
    assert b"qdq.format" in qdq.quantize(cnn, **options).quantized.to_bytes()
    for call in (
        lambda to, **how: made.plan.apply(cnn, output=to, **how),
        lambda to, **how: qdq.strip(made.model, output=to, **how),
        lambda to, **how: qdq.optimize(cnn, output=to, **how),
    ):
        folder = tmp_path / "other"
        folder.mkdir()
        call(folder / "b.onnx", external_data="always")
        assert len([*folder.iterdir()]) == 2
        shutil.rmtree(folder)


def test_check_changes_keys_of_the_target(quantized):
    same, other = (
        qdq.check(quantized, target="ort-cpu", set=changes).target_check
        for changes in (None, {"activation.type": "int8", "activation.symmetric": True})
    )
    assert same != other
    with pytest.raises(qdq.FormatError, match="unknown key 'no'"):
        qdq.check(quantized, target="ort-cpu", set={"no.such": 1})


def test_check_asks_target_and_engine(quantized, calib):
    result = qdq.check(quantized, target="ort-cpu", engine="ort", data=calib)
    assert result.ok and result.target_check.n_fused > 0
    assert result.engine_check.verdict == "right"


def test_optimize_checks_its_result(cnn, calib):
    assert qdq.optimize(cnn, check=calib, samples=4).report.settled
    with pytest.raises(qdq.UsageError, match="no-such-pass"):
        qdq.optimize(cnn, passes="no-such-pass")


def test_check_and_optimize_read_pictures(cnn, tmp_path):
    for i in range(3):
        pixels = bytes(range(i, i + 200)) * 6  # 20 rows of 20 pixels, blue, green and red
        head = struct.pack("<IHHIIiiHHIIiiII", 1254, 0, 0, 54, 40, 20, 20, 1, 24, *[0] * 6)
        (tmp_path / f"{i}.bmp").write_bytes(b"BM" + head + pixels)
    options = {"image_size": (16, 16), "mean": 127, "std": 64}
    assert qdq.optimize(cnn, check=tmp_path, **options).report.settled
    assert qdq.check(cnn, engine="ort", data=tmp_path, **options).engine_check.verdict == "right"
    for call in (
        lambda: qdq.optimize(cnn, check=tmp_path, channel_order="rgb"),
        lambda: qdq.check(cnn, engine="ort", data=tmp_path, channel_order="rgb"),
    ):
        with pytest.raises(qdq.Error, match="channel"):
            call()


def test_plots_show_layers_outputs_and_the_search(cnn, quantized, images):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    layers = qdq.compare(cnn, quantized, samples=4, per_layer=True).plot(most=3)
    assert layers.get_xlabel() == "SQNR of the layer, dB" and len(layers.patches) == 3
    assert [p.get_width() for p in layers.patches] == sorted(p.get_width() for p in layers.patches)
    outputs = qdq.compare(cnn, quantized, samples=4).plot()
    assert [t.get_text() for t in outputs.get_yticklabels()] == ["logits"]
    assert qdq.compare(cnn, quantized, samples=4).plot(outputs) is outputs
    assert len(qdq.quantize(cnn, calib=images[:16], bench=False).plot().patches) == 1
    nearest = qdq.quantize(cnn, calib=images[:16], bench=False, min_sqnr=200, best_effort=True)
    tried = [
        types.SimpleNamespace(node=e.node, error=e.error, is_float=i == 0)
        for i, e in enumerate(nearest.goal.layers)
    ]
    nearest.goal = types.SimpleNamespace(layers=tried)
    labels = [t.get_text() for t in nearest.plot().get_yticklabels()]
    assert len(labels) == len(tried)
    assert [t for t in labels if "(float)" in t] == [f"{tried[0].node} (float)"]
    assert qdq.bench(cnn, cnn, rounds=2, max_ms=60000).plot().get_xlabel() == "ms"
    with pytest.raises(qdq.UsageError, match="nothing was measured"):
        qdq.quantize(cnn, bench=False, sqnr=False).plot()
    matplotlib.pyplot.close("all")


def test_a_plot_without_matplotlib_says_how_to_get_it(cnn, monkeypatch):
    compared = qdq.compare(cnn, cnn, samples=2)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match="plot.. needs matplotlib: pip install matplotlib"):
        compared.plot()
