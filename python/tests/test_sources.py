"""Samples that Python produces while the library works."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import qdq
from conftest import ROOT, measures_memory


class Counting:
    """A list of samples that counts how often it is read."""

    def __init__(self, images):
        self.images, self.made = images, 0

    def __call__(self):
        for x in self.images:
            self.made += 1
            yield {"x": x[None]}


def test_a_generator_is_read_once(cnn, images):
    source = Counting(images[:8])
    qdq.quantize(cnn, calib=source(), bench=False)
    assert source.made == 8


def test_samples_are_produced_one_at_a_time_and_let_go(cnn, images):
    alive: list[weakref.ref] = []
    most = 0

    def samples():
        nonlocal most
        for x in images[:64]:
            array = x[None].copy()
            alive.append(weakref.ref(array))
            most = max(most, sum(r() is not None for r in alive))
            yield {"x": array}
            del array

    qdq.quantize(cnn, calib=samples(), bench=False, min_sqnr=0)
    gc.collect()
    assert most <= 3 and not any(r() is not None for r in alive)


@measures_memory
def test_arrays_are_borrowed_not_copied(cnn, images):
    large = np.repeat(images, 300, axis=0)  # 75 MiB

    def peak():
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))

    qdq.quantize(cnn, calib={"x": images[:8]}, bench=False, min_sqnr=0)
    before = peak()
    result = qdq.quantize(cnn, calib={"x": large}, samples=8, bench=False, min_sqnr=0)
    assert result.compared.samples > 0
    assert peak() - before < 0.6 * large.nbytes / 1024


def test_a_source_that_fails_later_raises_its_own_exception(cnn, images):
    mine = LookupError("mine")
    passes = 0

    class Items(list):
        def __iter__(self):
            nonlocal passes
            passes += 1
            for i, x in enumerate(list.__iter__(self)):
                if passes > 1 and i == 2:
                    raise mine
                yield x

    with pytest.raises(LookupError) as caught:
        qdq.quantize(cnn, calib=Items({"x": x[None]} for x in images[:8]), bench=False)
    assert caught.value is mine


def test_types_of_other_packages_are_named(cnn, images):
    with pytest.raises(qdq.FormatError, match="found type object, expected numbers"):
        qdq.quantize(cnn, calib=[{"x": np.array([None])}])
    ml_dtypes = pytest.importorskip("ml_dtypes")
    small = images[:4].astype(ml_dtypes.bfloat16)
    try:
        qdq.quantize(cnn, calib={"x": small}, bench=False)
    except qdq.FormatError as e:
        assert "bfloat16" in str(e)


def warned(caplog):
    return [r.getMessage() for r in caplog.records if "prove neither" in r.getMessage()]


CONSTANT = np.ones((6, 1, 16, 16), np.float32)


@pytest.mark.parametrize(
    ("samples", "said"),
    [
        (lambda x: {"x": CONSTANT}, "arrays: input 'x' has one value in all samples"),
        (lambda x: ({"x": x[:1]} for _ in range(4)), "calib: all 4 samples are equal"),
        (lambda x: {"x": x[:6]}, None),
        (lambda x: "random:1", None),
    ],
)
def test_samples_that_show_nothing_are_warned_of_once(cnn, images, caplog, samples, said):
    qdq.quantize(cnn, calib=samples(images), bench=False, min_sqnr=0)
    want = [f"{said}; they prove neither scales nor accuracy"] if said else []
    assert warned(caplog) == want
    assert all(r.name == "qdq" and r.levelname == "WARNING" for r in caplog.records)


def test_comparing_and_tuning_warn_of_samples_that_show_nothing(cnn, caplog):
    qdq.compare(cnn, cnn, data={"x": CONSTANT}, per_layer=True)
    assert len(warned(caplog)) == 1
    caplog.clear()
    costs = f"sim:{ROOT}/tests/data/sim_basic.json"
    tune = {"preset": "quick", "target": "ort-cpu", "engine": costs, "details": {"max_attempts": 3}}
    qdq.autotune(cnn, calib={"x": CONSTANT}, min_sqnr=0, **tune)
    assert len(warned(caplog)) == 1


def test_a_stop_that_a_function_of_the_user_raises_does_not_end_the_samples(cnn, images):
    feeds = [{"x": x[None]} for x in images[:4]]

    def transform(i):
        return feeds[i] if i != 2 else next(iter(()))

    class Reader:
        number = 0

        def get_next(self):
            self.number += 1
            return feeds[self.number] if self.number < 3 else next(iter(()))

    with pytest.raises(RuntimeError) as caught:
        qdq.quantize(cnn, calib=([0, 1, 2, 3], transform), bench=False)
    assert isinstance(caught.value.__cause__, StopIteration)
    with pytest.raises(RuntimeError, match="calib: get_next.. raised StopIteration, expected None"):
        qdq.quantize(cnn, calib=Reader(), bench=False)


def test_labels_next_to_an_input_of_that_name():
    text = (
        '<ir_version: 8, opset_import: ["" : 17]> g (float[N,4] labels) => (float[N,4] y) '
        "{ y = Relu (labels) }"
    )
    model = qdq.Model.from_text(text)
    x = np.random.default_rng(0).uniform(size=(8, 4)).astype(np.float32)
    result = qdq.quantize(
        model, calib={"labels": x}, labels=x.argmax(1), max_drop=1, bench=False
    )
    assert result.compared is not None and result.compared.accuracy_a == 1
