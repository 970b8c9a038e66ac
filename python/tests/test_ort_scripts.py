"""Scripts as ONNX Runtime's documentation has them, with one import changed.

Each is a function of the module that it imports: ours, and ONNX Runtime's where that is installed.
"""

from __future__ import annotations

import functools
import types

import numpy as np
import pytest

import qdq
import qdq.compat
from conftest import DIGITS

TEST = str(DIGITS / "digits_test.npz")


def reader(q: types.ModuleType, images: np.ndarray):
    """Samples one at a time, and from the start again."""

    class DigitReader(q.CalibrationDataReader):
        def __init__(self, input_name: str) -> None:
            self.feeds = [{input_name: image[None]} for image in images]
            self.rewind()

        def get_next(self):
            return next(self.rest, None)

        def rewind(self) -> None:
            self.rest = iter(self.feeds)

    return DigitReader("x")


def prepared(q, model, images, folder, **options):
    """Pre-processing, then weights and activations in 8 bits as Q/DQ."""
    q.quant_pre_process(model, folder / "pre.onnx", skip_symbolic_shape=True)
    q.quantize_static(
        folder / "pre.onnx",
        folder / "model.quant.onnx",
        reader(q, images),
        quant_format=q.QuantFormat.QDQ,
        **options,
    )


def each_channel(q, model, images, folder):
    prepared(
        q,
        model,
        images,
        folder,
        per_channel=True,
        reduce_range=False,
        activation_type=q.QuantType.QUInt8,
        weight_type=q.QuantType.QInt8,
        calibrate_method=q.CalibrationMethod.MinMax,
    )


def symmetric(q, model, images, folder):
    prepared(
        q,
        model,
        images,
        folder,
        activation_type=q.QuantType.QInt8,
        weight_type=q.QuantType.QInt8,
        extra_options={"ActivationSymmetric": True, "WeightSymmetric": True},
    )


def entropy(q, model, images, folder):
    prepared(q, model, images, folder, calibrate_method=q.CalibrationMethod.Entropy)


def percentile(q, model, images, folder):
    prepared(
        q,
        model,
        images,
        folder,
        calibrate_method=q.CalibrationMethod.Percentile,
        extra_options={"CalibPercentile": 99.99},
    )


def moving_average(q, model, images, folder):
    prepared(q, model, images, folder, extra_options={"CalibMovingAverage": True})


def some_nodes(q, model, images, folder):
    prepared(q, model, images, folder, op_types_to_quantize=["Conv"], nodes_to_exclude=["r1"])


def of_a_proto(q, model, images, folder):
    onnx = pytest.importorskip("onnx")
    q.quantize_static(onnx.load(model), folder / "model.quant.onnx", reader(q, images))


def dynamic(q, model, images, folder):
    q.quantize_dynamic(model, folder / "model.quant.onnx", weight_type=q.QuantType.QInt8)


def dynamic_products(q, model, images, folder):
    q.quant_pre_process(model, str(folder / "pre.onnx"), skip_symbolic_shape=True)
    q.quantize_dynamic(
        str(folder / "pre.onnx"),
        str(folder / "model.quant.onnx"),
        op_types_to_quantize=["MatMul", "Gemm"],
        per_channel=True,
        extra_options={"MatMulConstBOnly": True},
    )


SCRIPTS = [
    (each_channel, "digits_cnn"),
    pytest.param(symmetric, "digits_cnn", marks=pytest.mark.slow),
    pytest.param(entropy, "digits_cnn", marks=pytest.mark.slow),
    pytest.param(percentile, "digits_cnn", marks=pytest.mark.slow),
    pytest.param(moving_average, "digits_cnn", marks=pytest.mark.slow),
    (some_nodes, "digits_cnn"),
    (of_a_proto, "digits_cnn"),
    pytest.param(each_channel, "digits_vit", marks=pytest.mark.slow),
    (dynamic, "digits_vit"),
    (dynamic_products, "digits_vit"),
]


def made_by(script, q, name, folder):
    """The model that the script leaves; it is sound."""
    folder.mkdir()
    model = str(DIGITS / f"{name}.onnx")
    script(q, model, np.load(DIGITS / "digits_calib.npz")["x"][:64], folder)
    made = folder / "model.quant.onnx"
    assert not any(f.is_error for f in qdq.Model(made).check())
    return made


def accuracies(a, b) -> tuple[float, float]:
    """Of two models, which run."""
    report = qdq.compare(a, b, data=TEST, labels="label").report
    return report.accuracy_a, report.accuracy_b


@functools.cache
def float_accuracy(name) -> float:
    return accuracies(DIGITS / f"{name}.onnx", DIGITS / f"{name}.onnx")[0]


@pytest.mark.parametrize(("script", "name"), SCRIPTS)
def test_a_script_with_one_import_changed_gives_no_worse_a_model(script, name, tmp_path):
    ours = made_by(script, qdq.compat, name, tmp_path / "ours")
    try:
        from onnxruntime import quantization
    except ImportError:
        assert float_accuracy(name) - accuracies(ours, ours)[0] < 0.01
        pytest.skip("no onnxruntime.quantization")
    theirs = made_by(script, quantization, name, tmp_path / "theirs")
    of_ours, of_theirs = accuracies(ours, theirs)
    assert float_accuracy(name) - of_ours < 0.01
    assert of_theirs - of_ours < 0.005


def test_every_argument_of_onnxruntime_is_one_of_ours():
    import inspect

    theirs = pytest.importorskip("onnxruntime.quantization")
    for name in ("quantize_static", "quantize_dynamic", "quant_pre_process"):
        given = inspect.signature(getattr(theirs, name)).parameters.values()
        want = [p.name for p in given if p.kind is not p.VAR_KEYWORD]
        have = list(inspect.signature(getattr(qdq.compat, name)).parameters)
        assert have[: len(want)] == want, name
    for name in ("QuantType", "QuantFormat", "CalibrationMethod"):
        want = {m.name for m in getattr(theirs, name)}
        assert want <= {m.name for m in getattr(qdq.compat, name)}, name


def test_every_extra_option_of_onnxruntime_is_known():
    import inspect
    import re

    quantize = pytest.importorskip("onnxruntime.quantization.quantize")
    for function, known in (
        ("quantize_static", qdq.compat.EXTRA),
        ("quantize_dynamic", qdq.compat.DYNAMIC),
    ):
        doc = inspect.getdoc(getattr(quantize, function)) or ""
        options = doc.split("extra_options:")[1]
        named = set(re.findall(r"^ +([A-Za-z][\w.]*) = ", options, re.M))
        assert len(named) >= 5
        assert named <= set(known), f"{function}: {sorted(named - set(known))}"


def test_a_model_is_prepared_as_the_script_says(cnn, tmp_path):
    pre = qdq.compat.quant_pre_process
    plain, moved = tmp_path / "plain.onnx", tmp_path / "moved.onnx"
    pre(cnn, plain, skip_optimization=True)
    assert qdq.inspect(plain)["nodes"] == qdq.inspect(cnn)["nodes"]
    pre(input_model_path=cnn, output_model_path=moved, save_as_external_data=True)
    assert len(list(tmp_path.iterdir())) == 3
    assert qdq.compare(cnn, moved, samples=2).sqnr_db > 60


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"output_model_path": None}, qdq.UsageError, "output_model_path: found None"),
        ({"input_model": None}, qdq.UsageError, "input_model: found None"),
        ({"external_data_location": "w"}, qdq.UnsupportedError, "named after the model"),
        ({"external_data_size_threshold": 9}, qdq.UnsupportedError, "found 9, expected 1024"),
    ],
)
def test_what_preparation_cannot_do_says_so(cnn, tmp_path, options, error, text):
    given = {"input_model": cnn, "output_model_path": tmp_path / "a.onnx", **options}
    with pytest.raises(error, match=text):
        qdq.compat.quant_pre_process(**given)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"weight_type": "QInt4"}, "weight_type: found QInt4, expected one of QInt8, QUInt8"),
        ({"extra_options": {"ActivationSymmetric": True}}, "chooses the zero point"),
        ({"extra_options": {"MatMulConstBOnly": False}}, "product of two activations stays float"),
        ({"extra_options": {"SmoothQuant": True}}, "'SmoothQuant', which is not known"),
    ],
)
def test_what_dynamic_quantization_cannot_do_says_so(cnn, tmp_path, options, text):
    with pytest.raises(qdq.UnsupportedError, match=text):
        qdq.compat.quantize_dynamic(cnn, tmp_path / "q.onnx", **options)


def test_dynamic_quantization_is_that_of_the_format(cnn, tmp_path):
    made = tmp_path / "q.onnx"
    result = qdq.compat.quantize_dynamic(cnn, made, nodes_to_exclude=["no_such_node"])
    other = qdq.quantize(cnn, format="dynamic", bench=False, sqnr=False)
    assert made.read_bytes() == other.model.to_bytes() == result.quantized.to_bytes()
