"""Models of every kind: they are never changed, and the result is of the same kind."""

from __future__ import annotations

import errno
import functools
import gc
import pathlib
import pickle
import sys

import numpy as np
import pytest

import qdq
from conftest import ROOT, hash_of
from qdq import compat

BIG = """<ir_version: 8, opset_import: ["" : 17]>
g (float[1,64] x) => (float[1,64] y) <float[64,64] w = {%s}, float[64] b = {%s}> {
  m = MatMul (x, w)
  i = Identity (m)
  y = Add (i, b)
}
""" % (",".join("0.5" for _ in range(4096)), ",".join("1" for _ in range(64)))


def big() -> bytes:
    return qdq.Model.from_text(BIG).to_bytes()


def of_kind(kind, data, folder):
    """A model as an object of a kind, and what it holds now."""
    if kind == "path":
        path = folder / "given.onnx"
        path.write_bytes(data)
        return str(path), path.read_bytes
    if kind == "bytearray":
        array = bytearray(data)
        return array, lambda: bytes(array)
    if kind == "model":
        model = qdq.Model(data)
        return model, model.to_bytes
    onnx = pytest.importorskip("onnx")
    proto = onnx.ModelProto.FromString(data)
    if kind == "proto":
        return proto, lambda: proto.SerializeToString(deterministic=True)
    ir = pytest.importorskip("onnx_ir")
    model = ir.from_proto(proto)
    return model, lambda: ir.to_proto(model).SerializeToString(deterministic=True)


@functools.cache
def in_eight_bits():
    return qdq.quantize(big(), bench=False, sqnr=False)


SAMPLES = {"x": np.random.default_rng(0).normal(size=(3, 64)).astype(np.float32)}
TUNE = {
    "preset": "quick",
    "target": "ort-cpu",
    "engine": f"sim:{ROOT}/tests/data/sim_basic.json",
    "min_sqnr": 0,
    "details": {"max_attempts": 2},
}
CALLS = {
    "quantize": lambda m, ort, to: qdq.quantize(
        m, calib=SAMPLES, engine=ort, min_sqnr=0, bench=False, output=to
    ),
    "autotune": lambda m, ort, to: qdq.autotune(m, output=to, calib=SAMPLES, **TUNE),
    "optimize": lambda m, ort, to: qdq.optimize(
        m, check=SAMPLES, engine=ort, output=to, set_shape={"x": (1, 64)}
    ),
    "compare": lambda m, ort, to: qdq.compare(m, m, data=SAMPLES, per_layer=True, engine=ort),
    "bench": lambda m, ort, to: qdq.bench(m, m, rounds=2, engine=ort),
    "check": lambda m, ort, to: qdq.check(m, target="ort-cpu", engine=ort),
    "inspect": lambda m, ort, to: qdq.inspect(m),
    "import_plan": lambda m, ort, to: qdq.import_plan(m),
    "strip": lambda m, ort, to: qdq.strip(m, output=to),
    "apply": lambda m, ort, to: in_eight_bits().plan.apply(m, force=True, output=to),
    "set_opset": lambda m, ort, to: qdq.Model(m).set_opset(26).save(to),
    "quantize_static": lambda m, ort, to: compat.quantize_static(
        m, to, [{"x": SAMPLES["x"][:1]}]
    ),
    "quantize_dynamic": lambda m, ort, to: compat.quantize_dynamic(m, to),
    "quant_pre_process": lambda m, ort, to: compat.quant_pre_process(m, to),
    "simplify": lambda m, ort, to: compat.simplify(m, overwrite_input_shapes={"x": (1, 64)}),
}


@pytest.mark.parametrize("kind", ["path", "bytearray", "model", "proto", "ir"])
@pytest.mark.parametrize("name", CALLS)
def test_no_function_changes_the_model_that_it_is_given(name, kind, ort, tmp_path):
    is_float = name in ("apply", "quantize", "autotune", "quantize_static", "quantize_dynamic")
    model, holds = of_kind(kind, big() if is_float else in_eight_bits().model, tmp_path)
    before = hash_of(holds())
    if name == "simplify":
        pytest.importorskip("onnx")
    CALLS[name](model, ort, tmp_path / "made.onnx")
    assert hash_of(holds()) == before


def test_a_missing_package_is_named(cnn, monkeypatch):
    for name in ("onnx", "onnx_ir"):
        monkeypatch.setitem(sys.modules, name, None)
    model = qdq.Model(cnn)
    for call, text in (
        (model.to_proto, "an onnx.ModelProto needs onnx: pip install onnx$"),
        (model.to_ir, "an onnx_ir.Model needs onnx_ir: pip install onnx_ir$"),
        (lambda: compat.simplify(cnn, check_n=0), "needs onnx: pip install onnx$"),
    ):
        with pytest.raises(ImportError, match=text):
            call()


def test_a_model_says_what_it_has(cnn):
    model = qdq.Model(cnn)
    assert [io.name for io in model.inputs] == ["x"]
    assert model.inputs[0].shape == ("N", 1, 16, 16)
    assert model.outputs[0].type == "float"
    assert model.opset == 17
    assert model.is_open
    assert repr(model) == "<qdq.Model (x) -> (logits), opset 17>"


def test_a_path_is_written_where_the_caller_says(cnn, tmp_path):
    before = hash_of(pathlib.Path(cnn).read_bytes())
    out = tmp_path / "out.onnx"
    assert qdq.optimize(cnn, output=out).model == str(out)
    assert qdq.Model(out).opset == 17
    assert isinstance(qdq.optimize(cnn).model, qdq.Model)
    assert hash_of(pathlib.Path(cnn).read_bytes()) == before


def test_bytes_become_bytes_and_stay_as_they_are():
    data = big()
    before = hash_of(data)
    result = qdq.optimize(data)
    assert isinstance(result.model, bytes)
    assert result.report.nodes_after < result.report.nodes_before
    assert hash_of(data) == before


def test_a_bytearray_may_change_after_the_model_is_made():
    data = bytearray(big())
    model = qdq.Model(data)
    want = model.to_bytes()
    data[:] = bytes(len(data))
    assert model.to_bytes() == want


def test_weights_in_bytes_are_kept_alive_by_the_models_that_use_them():
    model = qdq.Model(big())
    want = model.to_bytes()
    clone = qdq.Model(model)
    model.close()
    del model
    gc.collect()
    junk = [bytes(20000) for _ in range(50)]
    assert clone.to_bytes() == want
    del junk


def test_a_proto_becomes_a_proto_and_stays_as_it_is():
    onnx = pytest.importorskip("onnx")
    proto = onnx.ModelProto.FromString(big())
    before = proto.SerializeToString(deterministic=True)
    result = qdq.optimize(proto)
    assert isinstance(result.model, onnx.ModelProto)
    assert [n.op_type for n in result.model.graph.node] != [n.op_type for n in proto.graph.node]
    assert proto.SerializeToString(deterministic=True) == before


def test_an_ir_model_becomes_one_and_stays_as_it_is():
    pytest.importorskip("onnx")
    ir = pytest.importorskip("onnx_ir")
    model = ir.from_proto(pytest.importorskip("onnx").ModelProto.FromString(big()))
    tensors = {k: v.const_value for k, v in model.graph.initializers.items()}
    before = ir.to_proto(model).SerializeToString(deterministic=True)
    result = qdq.optimize(model)
    assert isinstance(result.model, ir.Model)
    assert result.model.graph.num_nodes() < model.graph.num_nodes()
    assert ir.to_proto(model).SerializeToString(deterministic=True) == before
    assert all(model.graph.initializers[k].const_value is t for k, t in tensors.items())
    gc.collect()
    weights = [v.const_value.numpy() for v in result.model.graph.initializers.values()]
    assert any(w.shape == (64, 64) and (w == 0.5).all() for w in weights)


def test_large_weights_of_an_ir_model_are_not_copied():
    pytest.importorskip("onnx")
    ir = pytest.importorskip("onnx_ir")
    weight = np.random.default_rng(0).normal(size=(256, 256)).astype(np.float32)
    value = ir.Value(name="w", const_value=ir.Tensor(weight, name="w"))
    x = ir.Value(name="x", shape=ir.Shape([1, 256]), type=ir.TensorType(ir.DataType.FLOAT))
    node = ir.Node("", "MatMul", [x, value])
    node.outputs[0].name = "y"
    node.outputs[0].type = ir.TensorType(ir.DataType.FLOAT)
    graph = ir.Graph(
        [x], [node.outputs[0]], nodes=[node], initializers=[value], opset_imports={"": 17}, name="g"
    )
    model = qdq.Model(ir.Model(graph, ir_version=8))
    assert np.may_share_memory(model._keep[1]["block-0"], weight)
    back = model.to_ir().graph.initializers["w"].const_value.numpy()
    assert np.may_share_memory(back, weight)
    assert (back == weight).all()
    del model
    gc.collect()
    assert (back == weight).all()


def test_something_else_is_no_model():
    with pytest.raises(TypeError, match="model: found int, expected a path, bytes"):
        qdq.optimize(3)


def test_a_broken_model_is_a_format_error_with_its_place():
    with pytest.raises(qdq.FormatError, match="model: "):
        qdq.Model(b"\x08\x08garbage")
    with pytest.raises(ValueError):
        qdq.Model(b"")


def test_a_missing_file_is_an_os_error():
    with pytest.raises(OSError, match="/no/such.onnx: cannot open"):
        qdq.Model("/no/such.onnx")
    with pytest.raises(qdq.UsageError, match="NUL"):
        qdq.Model("a\0b")


def test_an_error_of_a_file_has_its_name_and_the_reason_of_the_system(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        qdq.Model("/no/such.onnx")
    error = caught.value
    assert isinstance(error, qdq.FileError) and isinstance(error, qdq.Error)
    assert error.errno == errno.ENOENT and error.filename == "/no/such.onnx"
    assert str(error).startswith("/no/such.onnx: cannot open") and error.strerror in str(error)
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error) and str(again) == str(error)
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError):
        qdq.Model(tmp_path / "file" / "a.onnx")
    with pytest.raises(qdq.FileError) as caught:
        qdq.Model(tmp_path)
    assert caught.value.filename == str(tmp_path)
    with pytest.raises(qdq.FileError) as caught:
        qdq.Model(big()).save(tmp_path / "file", force=False)
    assert caught.value.errno is None


def test_a_closed_model_is_an_error_not_a_crash(cnn):
    model = qdq.Model(cnn)
    model.close()
    model.close()
    assert repr(model) == "<qdq.Model closed>"
    with pytest.raises(qdq.UsageError, match="closed"):
        model.inputs
    with pytest.raises(qdq.UsageError, match="closed"):
        qdq.optimize(model)


def test_shapes_and_opset_are_set_in_a_copy(cnn):
    model = qdq.Model(cnn)
    assert model.set_shapes({"x": (4, 1, 16, 16)}).inputs[0].shape == (4, 1, 16, 16)
    assert model.set_opset(19).opset == 19
    assert model.inputs[0].shape[0] == "N" and model.opset == 17
    with pytest.raises(qdq.UsageError, match="the input has 2 channels"):
        model.set_shapes({"x": (4, 2, 16, 16)})


def test_a_part_is_extracted(cnn):
    model = qdq.Model(cnn)
    name = qdq.Model(cnn).to_text().split(" = ")[-1]
    assert name
    part = model.extract(["x"], [model.outputs[0].name])
    assert part.outputs == model.outputs


def test_models_pickle_and_save(cnn, tmp_path):
    model = qdq.Model(cnn)
    assert pickle.loads(pickle.dumps(model)).to_bytes() == model.to_bytes()
    path = tmp_path / "m.onnx"
    model.save(path, external="always")
    assert len(list(tmp_path.iterdir())) == 2
    with pytest.raises(qdq.FileError, match="exists"):
        model.save(path, force=False)
    with pytest.raises(TypeError, match="external: found 'x', expected one of 'auto', 'always'"):
        model.save(path, external="x")


def test_inspect_and_strip(quantized, cnn):
    assert qdq.inspect(cnn)["opsets"]
    bare = qdq.strip(quantized)
    assert "QuantizeLinear" in qdq.Model(quantized).to_text()
    assert "QuantizeLinear" not in bare.to_text()


def test_check_finds_what_is_wrong(cnn):
    assert qdq.check(cnn)
    graph = (
        "g (float[1,4,2,2] x) => (float[1,1,4,4] y) {\n  y = DepthToSpace <blocksize = 0> (x)\n}"
    )
    text = '<ir_version: 8, opset_import: ["" : 17]>\n' + graph
    wrong = qdq.check(qdq.Model.from_text(text))
    assert not wrong
    assert wrong.findings[0].is_error and "blocksize" in wrong.findings[0].text
    assert "errors" in repr(wrong) and "error" in wrong._repr_html_()
