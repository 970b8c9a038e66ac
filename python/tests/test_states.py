"""Outputs that are fed back: the bytes and figures of the tool, and values that are rejected."""

from __future__ import annotations

import json
import pathlib

import numpy as np
import pytest

import qdq
from conftest import ROOT
from test_quantize import tool

SIM = f"sim:{ROOT}/tests/data/sim_basic.json"
STATE = {"t": "s"}
SEQUENCES = np.random.default_rng(3).normal(size=(12, 5, 64)).astype(np.float32)
STEPS = {"x": SEQUENCES.reshape(-1, 64)}


def network() -> str:
    """A recurrent network whose state grows with each step."""
    weights = np.random.default_rng(1).normal(size=(2, 64, 64)) * 0.13
    w, u = ("{" + ", ".join(f"{v:.6f}" for v in one.flat) + "}" for one in weights)
    return (
        '<ir_version: 8, opset_import: ["" : 17]> rnn (float[1,64] x, float[1,64] s) => '
        f"(float[1,64] t, float[1,64] y) <float[64,64] w = {w}, float[64,64] u = {u}> "
        "{ a = MatMul(x, w) b = MatMul(s, u) t = Add(a, b) y = Relu(t) }"
    )


@pytest.fixture
def slow_rnn(tmp_path: pathlib.Path) -> str:
    """The same with steps that fill a sample: of short ones each sample is hundreds of calls."""
    text = network().replace("<float[64,64] w", "<int64[2] n = {2048, 64}, float[64,64] w")
    text = text.replace("MatMul(s, u)", "ReduceMean<axes = [0]>(r)")
    text = text.replace("{ a =", "{ many = Expand(s, n) r = MatMul(many, u) a =")
    qdq.Model.from_text(text).save(tmp_path / "slow.onnx")
    return str(tmp_path / "slow.onnx")


@pytest.fixture
def rnn(tmp_path: pathlib.Path) -> str:
    np.savez(tmp_path / "time_axis.npz", x=SEQUENCES)
    np.savez(tmp_path / "samples.npz", **STEPS)
    qdq.Model.from_text(network()).save(tmp_path / "rnn.onnx")
    return str(tmp_path / "rnn.onnx")


def quantize(model, calib, **options) -> bytes:
    made = qdq.quantize(model, calib=calib, bench=False, min_sqnr=0, **options)
    assert made.plan.summary.n_weights == 2
    return made.quantized.to_bytes()


@pytest.mark.parametrize(("data", "steps"), [("time_axis", 0), ("samples", 5)])
def test_the_bytes_and_figures_are_those_of_the_tool(rnn, tmp_path, data, steps):
    calib = tmp_path / f"{data}.npz"
    words = ["--state", "t=s", *(["--steps", steps] if steps else [])]
    options = {"state": STATE, "steps": steps}

    plain = "-o", tmp_path / "a.onnx", "--no-bench", "--min-sqnr", 0
    tool("quantize", rnn, "--calib", calib, *plain, *words)
    made = quantize(rnn, calib, **options)
    assert made == (tmp_path / "a.onnx").read_bytes() != quantize(rnn, STEPS | {"s": STEPS["x"]})

    tool("calibrate", rnn, "--calib", calib, "-o", tmp_path / "a.json", *words)
    assert qdq.calibrate(rnn, calib, **options) == qdq.Statistics(tmp_path / "a.json")

    told = tool("compare", rnn, tmp_path / "a.onnx", "--data", calib, "--json", *words)
    report = qdq.compare(rnn, made, data=calib, **options).report
    found = json.loads(told)
    assert report.samples == found["samples"] == 12
    ours = [float(f"{o.sqnr_db:.6g}") for o in report.outputs]
    assert ours == [o["sqnr_db"] for o in found["outputs"]]


def test_sequences_in_any_form_give_the_same_model(rnn, tmp_path):
    made = quantize(rnn, tmp_path / "samples.npz", state=STATE, steps=5)
    assert quantize(rnn, {"x": SEQUENCES}, state=STATE) == made
    assert quantize(rnn, STEPS, state=STATE, steps=np.int64(5)) == made
    assert quantize(rnn, ({"x": x[None]} for x in STEPS["x"]), state=STATE, steps=5) == made


def test_samples_that_evaluate_are_sequences_too(rnn):
    result = qdq.quantize(rnn, calib=STEPS, eval=STEPS, state=STATE, steps=5, bench=False)
    assert result.compared.samples == 12


CACHES = {
    "state": {"present_key": "past_key", "present_value": "past_value"},
    "mask": ["attention_mask"],
}
CACHE_WORDS = [
    *("--state", "present_key=past_key", "--state", "present_value=past_value"),
    *("--mask", "attention_mask"),
]
TOKENS = ROOT / "tests/cli/fixtures/tokens.npy"


@pytest.fixture
def decoder(tmp_path: pathlib.Path) -> str:
    text = (ROOT / "tests/cli/fixtures/decoder.onnxtxt").read_text()
    qdq.Model.from_text(text).save(tmp_path / "decoder.onnx")
    return str(tmp_path / "decoder.onnx")


def test_a_mask_grows_with_the_cache_as_in_the_tool(decoder, tmp_path):
    plain = "-o", tmp_path / "a.onnx", "--no-bench", "--min-sqnr", 0
    tool("quantize", decoder, "--calib", TOKENS, *plain, *CACHE_WORDS)
    made = qdq.quantize(decoder, calib=TOKENS, bench=False, min_sqnr=0, **CACHES)
    assert made.quantized.to_bytes() == (tmp_path / "a.onnx").read_bytes()
    report = qdq.compare(decoder, made.quantized, data=TOKENS, **CACHES).report
    assert report.samples == len(np.load(TOKENS))
    with pytest.raises(qdq.UsageError, match="nobody"):
        qdq.compare(decoder, decoder, data=TOKENS, **{**CACHES, "mask": ["nobody"]})


def test_a_sequence_is_tuned_on_the_step_in_its_middle(decoder, tmp_path):
    options = {**CACHES, "engine": SIM, "min_sqnr": 0, "preset": "quick", "target": "ort-cpu"}
    found = qdq.autotune(decoder, tmp_path / "a", calib=TOKENS, **options)
    report = json.loads((tmp_path / "a/report.json").read_text())
    steps = np.load(TOKENS).shape[1]
    assert (report["steps"], report["timed_step"]) == (steps, steps // 2 + 1)
    assert found.speedup > 0


def test_a_sequence_is_timed_step_by_step(slow_rnn, tmp_path):
    rnn = slow_rnn
    np.savez(tmp_path / "time_axis.npz", x=SEQUENCES)
    words = "--state", "t=s", "--data", tmp_path / "time_axis.npz", "--rounds", 6
    told = json.loads(tool("bench", rnn, rnn, "--json", *words))
    for data, options in (
        (tmp_path / "time_axis.npz", {}),
        ({"x": SEQUENCES}, {}),
        (STEPS, {"steps": 5}),
    ):
        result = qdq.bench(rnn, rnn, data=data, state=STATE, rounds=6, warmup=1, **options)
        assert result.steps == told["steps"] == 5 and result.models[1].speedup > 0
        assert result.models[0].runs % 5 == 0 and result.models[0].runs >= 30
        assert result.sequence_ms == tuple(5 * ms for ms in result.median_ms)
        assert result.report.to_dict()["steps"] == 5
    assert qdq.bench(rnn, state=STATE, steps=3, rounds=6).steps == 3
    with pytest.raises(qdq.UsageError, match="found state without data and steps, expected one"):
        qdq.bench(rnn, state=STATE)
    with pytest.raises(qdq.UsageError, match="found mask without state"):
        qdq.bench(rnn, mask=["s"])
    with pytest.raises(qdq.FormatError, match="t"):
        qdq.bench(rnn, qdq.Model(rnn).extract(["x", "s"], ["y"]), state=STATE, steps=3)


def test_samples_of_a_group_are_never_on_both_sides(rnn, tmp_path):
    rng = np.random.default_rng(5)
    data = {name: rng.normal(size=(8, 64)).astype(np.float32) for name in "xs"}
    np.savez(tmp_path / "of.npz", **data, of=np.arange(8) // 2)
    plain = "--calib", tmp_path / "of.npz", "--no-bench", "--min-sqnr", 0, "--groups", "of"
    tool("quantize", rnn, "-o", tmp_path / "a.onnx", *plain)
    made = qdq.quantize(
        rnn, calib=tmp_path / "of.npz", bench=False, min_sqnr=0, groups="of"
    ).quantized
    assert made.to_bytes() == (tmp_path / "a.onnx").read_bytes()
    with pytest.raises(qdq.FormatError, match="nothing"):
        qdq.quantize(rnn, calib=tmp_path / "of.npz", groups="nothing")


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"state": "t=s"}, TypeError, "state: found 't=s', expected a dict of names"),
        ({"state": [("t", "s")]}, TypeError, "state: found .*, expected a dict of names"),
        ({"state": {"t": 3}}, TypeError, "state: found {'t': 3}, expected a dict of names"),
        ({"state": {3: "s"}}, TypeError, "state: found {3: 's'}, expected a dict of names"),
        ({"state": STATE, "steps": "5"}, TypeError, "steps: found '5', expected a whole number"),
        ({"state": STATE, "steps": -1}, qdq.UsageError, "steps: found -1, expected"),
        ({"steps": 5}, qdq.UsageError, "found steps without state"),
        ({"mask": ["s"]}, qdq.UsageError, "found mask without state"),
        ({"state": {}, "steps": 5}, qdq.UsageError, "found steps without state"),
        ({"state": {"z": "s"}, "steps": 5}, qdq.UsageError, "state 'z=s': "),
        ({"state": {"t": ""}, "steps": 5}, qdq.UsageError, "state 't=': "),
        ({"state": {"t": "s", "y": "s"}, "steps": 5}, qdq.UsageError, "state 'y=s': input 's' is"),
        ({"state": STATE, "steps": 2**64}, OverflowError, "steps: found 18446744073709551616"),
        ({"state": STATE}, qdq.FormatError, "found no time axis"),
        ({"state": STATE, "steps": 61}, qdq.FormatError, "61"),
    ],
)
def test_wrong_states_are_named(rnn, options, error, text):
    for call in (
        lambda: qdq.quantize(rnn, calib=STEPS, **options),
        lambda: qdq.compare(rnn, rnn, data=STEPS, **options),
        lambda: qdq.calibrate(rnn, STEPS, **options),
        lambda: qdq.bench(rnn, data=STEPS, **options),
    ):
        with pytest.raises(error, match=text):
            call()
