"""metric=: a function of the user measures models on arrays of its own."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

import qdq
from conftest import DIGITS

TEST = np.load(DIGITS / "digits_test.npz")


def accuracy(run: qdq.MetricRun) -> float:
    right = 0
    for x, y in zip(TEST["x"][:32], TEST["label"]):
        out = run({"x": x[None]})
        right += int(next(iter(out.values())).argmax() == y)
    return right / 32


def quantize(cnn, images, **options):
    return qdq.quantize(cnn, calib=images[:16], bench=False, **options)


def test_a_metric_runs_models_on_dicts_of_arrays(cnn, images):
    seen = []

    def metric(run):
        seen.append((run.is_input, threading.current_thread()))
        return accuracy(run)

    result = quantize(cnn, images, metric=metric, max_drop=0.1)
    assert result.verdict == "reached" and result.goal.metric_name == "metric"
    assert result.metric >= 0.8 and result.goal.float_metric >= 0.9
    assert [is_input for is_input, _ in seen] == [True] + [False] * (len(seen) - 1)
    assert {thread for _, thread in seen} == {threading.main_thread()}


def test_outputs_are_those_of_the_model(cnn, images):
    found = []

    def metric(run):
        found.append(run({"x": images[:1]}))
        return 1

    quantize(cnn, images, metric=metric, min_metric=0)
    names = [io.name for io in qdq.Model(cnn).outputs]
    assert list(found[0]) == names
    assert all(a.dtype == np.float32 and np.isfinite(a).all() for a in found[0].values())


def test_a_metric_that_is_missed_is_an_error_with_what_came_nearest(cnn, images):
    with pytest.raises(qdq.GoalNotReached, match="metric 'half'") as caught:

        def half(run):
            return 1.0 if run.is_input else 0.5

        quantize(cnn, images, metric=half, min_metric=0.9)
    assert caught.value.nearest.metric == 0.5 and caught.value.nearest.verdict == "missed"


@pytest.mark.parametrize("thread", ["main", "other"])
def test_an_exception_in_a_metric_comes_out_unchanged(cnn, images, thread):
    class Mine(Exception):
        pass

    mine, caught = Mine("mine"), []

    def metric(run):
        run({"x": images[:1]})
        raise mine

    def work():
        try:
            quantize(cnn, images, metric=metric, min_metric=0)
        except BaseException as e:
            caught.append(e)

    if thread == "main":
        work()
    else:
        other = threading.Thread(target=work)
        other.start()
        other.join()
    assert caught == [mine]


def test_a_wrong_sample_of_a_metric_is_named(cnn, images):
    with pytest.raises(qdq.Error, match="'y'"):
        quantize(cnn, images, metric=lambda run: run({"y": images[:1]}), min_metric=0)


def test_the_run_of_a_metric_ends_with_it(cnn, images):
    kept = []
    quantize(cnn, images, metric=lambda run: kept.append(run) or 1, min_metric=0)
    with pytest.raises(qdq.UsageError, match="ended with the metric"):
        kept[0]({"x": images[:1]})


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"metric": 3, "min_metric": 1}, TypeError, "metric: found int, expected a function"),
        ({"metric": lambda run: "much", "min_metric": 1}, TypeError, "expected a number"),
        ({"metric": lambda run: 1.0}, qdq.UsageError, "expected min_metric or max_drop"),
        ({"min_metric": 1}, qdq.UsageError, "min_metric without a metric"),
        ({"metric": lambda run: float("nan"), "min_metric": 1}, qdq.FormatError, "found nan"),
        ({"metric": lambda run: 1, "sqnr": False}, qdq.UsageError, "nothing is measured"),
    ],
)
def test_wrong_metrics_are_named(cnn, images, options, error, text):
    with pytest.raises(error, match=text):
        quantize(cnn, images, **options)


def test_interrupt_ends_a_metric_and_its_runs():
    code = f"""
        import numpy as np, os, qdq, signal, threading, time
        def metric(run):
            threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
            while True:
                run({{"x": np.zeros((1, 1, 16, 16), np.float32)}})
        signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            qdq.quantize({str(DIGITS / "digits_cnn.onnx")!r},
                         calib={str(DIGITS / "digits_calib.npz")!r},
                         samples=8, metric=metric, min_metric=1, bench=False)
        except KeyboardInterrupt as e:
            print(type(e).__name__)
        """
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=60
    )
    assert run.stdout == "Cancelled\n", run.stderr


def test_autotune_takes_a_metric(cnn, images):
    calls = []

    def metric(run):
        calls.append(run.is_input)
        return 1.0

    result = qdq.autotune(
        cnn, preset="quick", calib=images[:16], time=3, metric=metric, min_metric=0.5
    )
    assert calls and calls[0] and result.report.verdict in ("tuned", "rules", "float")
