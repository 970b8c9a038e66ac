"""Scripts for other tools run with one import changed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import qdq
from qdq.compat import (
    CalibrationDataReader,
    CalibrationMethod,
    QuantFormat,
    QuantType,
    quantize_static,
    simplify,
)


class Reader(CalibrationDataReader):
    def __init__(self, images):
        self.rest = iter(images)

    def get_next(self):
        x = next(self.rest, None)
        return None if x is None else {"x": x[None]}


def test_a_script_for_onnxruntime_runs(cnn, images, tmp_path):
    out = tmp_path / "q.onnx"
    result = quantize_static(
        cnn,
        out,
        Reader(images[:32]),
        quant_format=QuantFormat.QDQ,
        per_channel=True,
        activation_type=QuantType.QUInt8,
        weight_type=QuantType.QInt8,
        nodes_to_exclude=["/r1/Add"],
        calibrate_method=CalibrationMethod.Entropy,
        extra_options={"WeightSymmetric": True, "ActivationSymmetric": False},
    )
    assert qdq.Model(out).check() == ()
    assert qdq.compare(cnn, out, data={"x": images}).sqnr_db > 20
    assert result.model == str(out) and result.quantized.to_bytes() == out.read_bytes()
    plan = result.plan.to_dict()
    assert "uint8" in str(plan) and result.plan.summary.n_weights > 0


def test_the_enumerations_of_onnxruntime_are_taken(cnn, images, tmp_path):
    ort = pytest.importorskip("onnxruntime.quantization")
    out = tmp_path / "q.onnx"
    quantize_static(
        cnn,
        out,
        Reader(images[:64]),
        quant_format=ort.QuantFormat.QDQ,
        weight_type=ort.QuantType.QInt8,
        calibrate_method=ort.CalibrationMethod.MinMax,
    )
    assert out.exists()


def test_a_cache_is_written_and_read(cnn, images, tmp_path):
    cache = tmp_path / "ranges.json"
    one = quantize_static(
        cnn, tmp_path / "a.onnx", Reader(images[:8]), calibration_cache_path=cache
    )
    two = quantize_static(cnn, tmp_path / "b.onnx", calibration_cache_path=cache)
    assert cache.exists()
    assert one.plan.summary.n_tensors == two.plan.summary.n_tensors


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"quant_format": QuantFormat.QOperator}, "quant_format: found QOperator, expected QDQ"),
        ({"calibrate_method": CalibrationMethod.Distribution}, "found Distribution, expected one"),
        ({"extra_options": {"Colour": 1}}, "found 'Colour', which is not known"),
        ({"activation_type": "QInt3"}, "activation_type: found QInt3, expected one of QInt8"),
    ],
)
def test_what_has_no_counterpart_says_why(cnn, images, tmp_path, options, text):
    with pytest.raises(qdq.UnsupportedError, match=text):
        quantize_static(cnn, tmp_path / "q.onnx", Reader(images[:2]), **options)


def test_smoothquant_divides_activations(cnn, images, tmp_path):
    result = quantize_static(
        Path(cnn).with_name("digits_vit.onnx"),
        tmp_path / "q.onnx",
        Reader(images[:64]),
        extra_options={"SmoothQuant": True, "SmoothQuantAlpha": 0.5},
    )
    assert result.plan.to_dict()["smoothings"]


def test_every_extra_option_can_be_off(cnn, images, tmp_path):
    from qdq.compat import EXTRA

    off = {name: take(None) for name, take in EXTRA.items() if name != "CalibPercentile"}
    assert all(isinstance(value, dict) for value in off.values())


def test_a_script_for_onnxsim_runs(cnn):
    onnx = pytest.importorskip("onnx")
    model = onnx.load(cnn)
    before = model.SerializeToString(deterministic=True)
    simple, same = simplify(model, check_n=3, overwrite_input_shapes={"x": (1, 1, 16, 16)})
    assert same
    assert isinstance(simple, onnx.ModelProto)
    assert simple.graph.input[0].type.tensor_type.shape.dim[0].dim_value == 1
    assert model.SerializeToString(deterministic=True) == before
    assert simplify(cnn, perform_optimization=False, skip_fuse_bn=True)[1]
    data = {"x": np.zeros((1, 1, 16, 16), np.float32)}
    assert simplify(cnn, check_n=1, input_data=data, tensor_size_threshold="1.5KB")[1]
    with pytest.raises(qdq.UnsupportedError, match="unused_output"):
        simplify(cnn, unused_output=["y"])
    with pytest.raises(qdq.UsageError, match="eliminate_deadend"):
        simplify(cnn, skipped_optimizers=["eliminate_deadend"])


def test_the_command_line_of_onnxruntimes_example_takes_the_enumerations(capsys):
    # as quantization/image_classification/cpu/run.py of onnxruntime-inference-examples has it
    import argparse

    parser = argparse.ArgumentParser()
    parser.add_argument(
        "--quant_format",
        default=QuantFormat.QDQ,
        type=QuantFormat.from_string,
        choices=list(QuantFormat),
    )
    assert parser.parse_args([]).quant_format is QuantFormat.QDQ
    given = parser.parse_args(["--quant_format", "QOperator"]).quant_format
    assert given is QuantFormat.QOperator and f"{given}" == "QOperator"
    with pytest.raises(SystemExit):
        parser.parse_args(["--quant_format", "qdq"])
    assert "invalid from_string value: 'qdq'" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        parser.parse_args(["--help"])
    assert "--quant_format {QOperator,QDQ}" in capsys.readouterr().out


def test_enumerations_have_what_those_of_onnxruntime_have():
    theirs = pytest.importorskip("onnxruntime.quantization")
    for member in theirs.QuantType:
        mine = QuantType.from_string(str(member))
        assert mine.tensor_type == member.tensor_type and mine.value == member.value
    with pytest.raises(ValueError, match="found 'int8', expected one of QInt8, QUInt8"):
        QuantType.from_string("int8")


def test_every_argument_of_onnxsim_is_one_of_ours():
    import inspect

    # of onnxsim 0.8.1, in its order
    names = (
        "model check_n perform_optimization skip_fuse_bn overwrite_input_shapes test_input_shapes "
        "skipped_optimizers skip_constant_folding skip_shape_inference input_data "
        "dynamic_input_shape custom_lib include_subgraph unused_output tensor_size_threshold "
        "mutable_initializer initializers_as_constants inline_functions import_custom_schemas "
        "input_shapes target_opset_version extra_optimizers custom_rewriter "
        "function_rewrite_rules check_rtol check_atol input_fill providers gemm_fusion_backend "
        "profile ort_profile merge_ort_profile output_path external_data_threshold"
    ).split()
    have = inspect.signature(simplify).parameters
    assert list(have) == names
    assert have["initializers_as_constants"].kind is inspect.Parameter.KEYWORD_ONLY
    for name in names:
        assert name in simplify.__doc__, name
    try:
        import onnxsim
    except ImportError:
        return
    theirs = inspect.signature(onnxsim.simplify).parameters
    assert [*theirs] == names or onnxsim.__version__ != "0.8.1"


def test_arguments_of_onnxsim_do_what_they_say(cnn, tmp_path):
    pytest.importorskip("onnx")
    out = tmp_path / "simple.onnx"
    simple, same = simplify(
        cnn,
        input_shapes={"x": (2, 1, 16, 16)},
        target_opset_version=19,
        extra_optimizers=["fold-constants"],
        providers=["CPUExecutionProvider"],
        check_rtol=1e-3,
        gemm_fusion_backend="unrestricted",
        output_path=out,
        external_data_threshold="1KB",
    )
    assert same and simple.opset_import[0].version == 19
    assert simple.graph.input[0].type.tensor_type.shape.dim[0].dim_value == 2
    assert qdq.Model(out).opset == 19 and len(list(tmp_path.iterdir())) == 2
    assert simplify(cnn, target_opset_version="latest")[0].opset_import[0].version == 26


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"initializers_as_constants": False}, qdq.UnsupportedError, "keep weights"),
        ({"custom_rewriter": lambda m: m}, qdq.UnsupportedError, "custom_rewriter: change the mo"),
        ({"function_rewrite_rules": [1]}, qdq.UnsupportedError, "before or after this call"),
        ({"input_fill": "ones"}, qdq.UnsupportedError, "input_fill: give the samples"),
        ({"profile": "a.json"}, qdq.UnsupportedError, "profile: the log of optimize"),
        ({"ort_profile": "a"}, qdq.UnsupportedError, "ort_profile: constants are not folded by"),
        ({"merge_ort_profile": True}, qdq.UnsupportedError, "merge_ort_profile: constants"),
        ({"providers": ["CUDAExecutionProvider"]}, qdq.UnsupportedError, "found 'CUDAExecution"),
        ({"target_opset_version": 7}, qdq.UnsupportedError, "found 7, expected 17 or more"),
        ({"target_opset_version": 99}, qdq.UnsupportedError, "expected 7 to 26"),
        ({"target_opset_version": "new"}, TypeError, "target_opset_version: found 'new'"),
        ({"tensor_size_threshold": "big"}, qdq.UsageError, "found 'big', expected a size, such as"),
        ({"tensor_size_threshold": ""}, qdq.UsageError, "tensor_size_threshold: found ''"),
        ({"extra_optimizers": ["no_such"]}, qdq.UsageError, "no_such"),
        ({"check_n": "3"}, TypeError, "check_n: found '3', expected a whole number"),
        ({"skip_fuse_bn": "no"}, TypeError, "skip_fuse_bn: found 'no', expected True or False"),
        ({"output_path": 3}, TypeError, "output_path: found 3, expected a path"),
    ],
)
def test_arguments_of_onnxsim_that_do_not_map_say_why(cnn, options, error, text):
    with pytest.raises(error, match=text):
        simplify(cnn, **options)


def test_the_module_offers_what_scripts_import():
    from qdq import compat

    assert compat.quantize is not qdq.quantize and set(compat.__all__) <= set(vars(compat))
    for name in compat.__all__:
        assert getattr(compat, name).__module__.startswith(("qdq.compat", "qdq._compat_")), name
    theirs = pytest.importorskip("onnxruntime.quantization")
    assert {n for n in compat.__all__ if n != "simplify"} <= set(vars(theirs))


@pytest.mark.parametrize("of", ["ours", "theirs"])
def test_configurations_are_quantized(cnn, images, tmp_path, of):
    from qdq import compat

    made = compat if of == "ours" else pytest.importorskip("onnxruntime.quantization")
    static = made.StaticQuantConfig(Reader(images[:8]), weight_type=made.QuantType.QInt8)
    out = tmp_path / "q.onnx"
    assert compat.quantize(cnn, out, static).plan.summary.n_weights > 0
    assert compat.quantize(cnn, out, made.DynamicQuantConfig()).model == str(out)


def test_a_configuration_for_the_whole_model(cnn, images, tmp_path):
    pytest.importorskip("onnx")
    from qdq.compat import get_qdq_config, quantize

    config = get_qdq_config(
        cnn,
        Reader(images[:8]),
        calibrate_method=CalibrationMethod.Percentile,
        calibrate_args={"percentile": 99.9},
        activation_symmetric=True,
        per_channel=True,
        nodes_to_exclude=lambda model, node: node.op_type == "Gemm",
    )
    assert config.extra_options["CalibPercentile"] == 99.9 and config.nodes_to_exclude
    plan = quantize(cnn, tmp_path / "q.onnx", config).plan
    assert not any("Gemm" in count.what for count in plan.summary.quantized)
    with pytest.raises(qdq.UsageError, match="found 'colour', expected one of symmetric, moving"):
        get_qdq_config(cnn, None, calibrate_args={"colour": 1})
    other = get_qdq_config(cnn, Reader(images[:2]), tensor_quant_overrides={"x": [{}]})
    with pytest.raises(qdq.UnsupportedError, match="TensorQuantOverrides"):
        quantize(cnn, tmp_path / "q.onnx", other)


def test_what_is_no_configuration_says_so(cnn, tmp_path):
    from qdq.compat import quantize

    class WeightOnlyQuantConfig:
        pass

    with pytest.raises(qdq.UnsupportedError, match="weights alone are qdq.quantize"):
        quantize(cnn, tmp_path / "q.onnx", WeightOnlyQuantConfig())
    with pytest.raises(TypeError, match="quant_config: found dict, expected StaticQuantConfig"):
        quantize(cnn, tmp_path / "q.onnx", {})
