"""How results show themselves: short texts, tables and pictures in notebooks, reports for JSON."""

from __future__ import annotations

import json
import xml.etree.ElementTree

import pytest

import qdq
from conftest import ROOT
from qdq._show import svg_bars, svg_steps

SIM = f"sim:{ROOT}/tests/data/sim_basic.json"

TWICE = """<ir_version: 8, opset_import: ["" : 17]>
g (float[1,4] x) => (float[1,4] y) {
  i = Identity (x)
  y = Relu (i)
}
"""


@pytest.fixture(scope="module")
def shown(quantized, tmp_path_factory):
    cnn, calib = (str(ROOT / f"tests/models/digits/digits_{n}") for n in ("cnn.onnx", "calib.npz"))
    result = qdq.quantize(cnn, calib=calib, samples=16, bench=False)
    tuned = qdq.autotune(
        cnn,
        preset="quick",
        target="ort-cpu",
        engine=SIM,
        samples=2,
        min_sqnr=0,
        details={"max_attempts": 3},
    )
    times = qdq.bench(cnn, cnn, engine=SIM)
    result.speed = qdq.Speed(*times.models)
    return {
        "quantize": result,
        "autotune": tuned,
        "optimize": qdq.optimize(qdq.Model.from_text(TWICE)),
        "compare": qdq.compare(cnn, quantized, samples=2),
        "layers": qdq.compare(cnn, quantized, samples=2, per_layer=True),
        "bench": times,
        "check": qdq.check(quantized, target="ort-cpu"),
        "plan": result.plan,
        "target": result.target,
        "model": qdq.Model(cnn),
    }


RESULTS = ["quantize", "autotune", "optimize", "compare", "layers", "bench", "check"]


@pytest.mark.parametrize("name", [*RESULTS, "plan", "target", "model"])
def test_texts_are_short_and_notebooks_get_sound_html(shown, name):
    thing = shown[name]
    assert len(repr(thing)) < 200 and "\n" not in repr(thing)
    fragment = thing._repr_html_()
    root = xml.etree.ElementTree.fromstring(f"<div>{fragment}</div>")
    assert len(root.findall("table")) == 1 and root.findall(".//td")
    pictures = [e for e in root.iter() if e.tag.endswith("svg")]
    assert len(pictures) == {"quantize": 2}.get(name, int(name in RESULTS and name != "check"))


@pytest.mark.parametrize("name", RESULTS)
def test_reports_are_objects_of_one_kind(shown, name):
    report = shown[name].report
    assert json.loads(json.dumps(report.to_dict())) and len(repr(report)) < 250
    with pytest.raises(AttributeError, match="cannot be changed"):
        report.n = 3


def test_the_speed_has_a_short_text(shown):
    assert len(repr(shown["quantize"].speed)) < 100


def test_a_picture_holds_any_name_and_leaves_out_what_is_not_finite():
    picture = svg_bars({"<a>&": 1.5, "b" * 80: -2, "none": float("inf")}, "dB")
    root = xml.etree.ElementTree.fromstring(picture)
    texts = [e.text for e in root.iter() if e.tag.endswith("text")]
    assert "<a>&" in texts and not any("none" in text for text in texts)
    assert all(len(text) < 40 for text in texts)
    assert svg_bars({"none": float("nan")}, "dB") == ""
    assert svg_bars({"zero": 0.0}, "dB")
    xml.etree.ElementTree.fromstring(svg_steps([(0, 2), (1, 1)], {"input": 3, "x": float("nan")}))


def test_a_closed_model_shows_that(cnn):
    model = qdq.Model(cnn)
    model.close()
    assert "closed" in model._repr_html_()
