"""autotune(): results, folder, resuming, interruption."""

from __future__ import annotations

import json
import os
import pathlib
import signal
import threading
import time

import numpy as np
import pytest

import qdq
from conftest import ROOT

SIM = f"sim:{ROOT}/tests/data/sim_basic.json"


def tune(model, folder=None, **options):
    return qdq.autotune(model, folder, preset="quick", target="ort-cpu", engine=SIM, **options)


def test_a_run_leaves_model_plan_and_report(cnn, calib, tmp_path):
    phases = []
    folder, output = tmp_path / "run", tmp_path / "tuned.onnx"
    result = tune(
        cnn, folder, output=output, calib=calib, live=lambda s: phases.append(s.phase), min_sqnr=0
    )
    assert result.model == str(output) and qdq.Model(output).check() == ()
    assert (folder / "model.onnx").read_bytes() == output.read_bytes()
    assert result.report.builds > 1 and result.report.verdict in ("tuned", "rules", "float")
    assert result.speedup > 0 and result.report.wrong == ""
    assert "done" in phases
    best = [s.incumbent_ms for s in result.history if s.incumbent_ms > 0]
    assert len(best) > 1 and best == sorted(best, reverse=True)
    assert "times as fast" in repr(result) and "speedup" in result._repr_html_()
    assert result.plan is None or result.plan.summary.target == "ort-cpu"


def test_the_search_is_drawn_over_its_time(cnn):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    result = tune(cnn, samples=2, min_sqnr=0, details={"max_attempts": 3})
    axes = result.plot()
    names = [line.get_label() for line in axes.lines]
    assert names[:2] == ["best so far", "input"] and axes.get_ylabel() == "ms"
    result.history = ()  # as of a run that had ended before
    assert [t.get_text() for t in result.plot().get_yticklabels()] == ["input", "rules", "result"]
    matplotlib.pyplot.close("all")


def test_without_a_folder_the_model_outlives_the_run(cnn):
    data = pathlib.Path(cnn).read_bytes()
    result = tune(data, samples=2, min_sqnr=0, details={"max_attempts": 3})
    folder = result.folder
    assert isinstance(result.model, bytes)
    del result
    assert not os.path.exists(folder)


def test_details_bound_the_regions(cnn):
    regions = []
    for details in ({}, {"region_builder": "structure", "max_region_size": 1}):
        result = tune(cnn, samples=2, min_sqnr=0, trials=1, details=details)
        report = json.loads(pathlib.Path(result.folder, "report.json").read_text())
        regions.append(report["regions"])
    assert regions[0] < regions[1]


def test_an_exception_in_live_comes_out_unchanged_and_the_run_resumes(cnn, tmp_path):
    mine = RuntimeError("mine")

    def live(state):
        if state.builds > 1:
            raise mine

    with pytest.raises(RuntimeError) as caught:
        tune(cnn, tmp_path / "run", live=live, min_sqnr=0)
    assert caught.value is mine
    assert tune(cnn, tmp_path / "run", min_sqnr=0).report.resumed


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"details": {"colour": 1}}, "details: found 'colour', expected one of 'keep_finished'"),
        ({"details": {"region_builder": "x"}}, "region_builder: found 'x', expected one of 'auto'"),
        ({"preset": "slow"}, "preset: found 'slow', expected one of 'default', 'quick'"),
        ({"trials": -1}, "trials: found -1, expected a whole number"),
    ],
)
def test_wrong_options_are_named(cnn, options, text):
    with pytest.raises((TypeError, qdq.UsageError), match=text):
        qdq.autotune(cnn, engine=SIM, **options)


def test_an_open_engine_says_what_to_tune_on(cnn):
    with qdq.Engine(SIM, engine_timeout=20) as engine:
        assert engine.spec == SIM and engine.options == {"engine_timeout": 20}
        given = {"preset": "quick", "samples": 2, "min_sqnr": 0, "details": {"max_attempts": 3}}
        assert qdq.autotune(cnn, engine=engine, **given).report.builds > 0
        with pytest.raises(qdq.UsageError, match="engine_timeout: conflicts with an engine that"):
            qdq.autotune(cnn, engine=engine, engine_timeout=3, **given)


@pytest.mark.slow
def test_a_real_engine_is_tuned_and_interrupted(cnn, calib, tmp_path):
    def interrupt():
        time.sleep(4)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(qdq.Cancelled):
        qdq.autotune(cnn, tmp_path / "run", calib=calib, time=60)
    thread.join()
    result = qdq.autotune(cnn, tmp_path / "run", calib=calib, preset="quick", time=5)
    assert result.speedup >= 1 and np.isfinite(result.report.final_ms)
