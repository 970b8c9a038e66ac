"""Makes the files of this folder with Model-Optimizer: make.py write FOLDER; reads ours with it:
make.py read FILE."""
import random
import sys

import numpy as np
import onnx
import yaml
from modelopt.onnx.quantization.autotune.autotuner import QDQAutotuner
from modelopt.onnx.quantization.autotune.common import Config, PatternCache
from onnx import TensorProto, helper, numpy_helper


def network():
    rng = np.random.default_rng(7)
    nodes, weights = [], []

    def node(op, inputs, name, **attributes):
        nodes.append(helper.make_node(op, inputs, [name], name=name, **attributes))
        return name

    def conv(x, name):
        w = rng.standard_normal((8, 8, 3, 3)).astype(np.float32)
        weights.append(numpy_helper.from_array(w, name + "_w"))
        return node("Conv", [x, name + "_w"], name, kernel_shape=[3, 3], pads=[1, 1, 1, 1])

    x = node("Relu", [conv("x", "c0")], "r0")
    for i in range(1, 7):
        q = node("Relu", [conv(x, f"c{i}a")], f"q{i}")
        x = node("Relu", [node("Add", [conv(q, f"c{i}b"), x], f"s{i}")], f"r{i}")
    for i in range(12):
        x = node("Relu", [conv(x, f"d{i}")], f"e{i}")
    name = "a quite long name of a constant: with # and spaces"
    node("Constant", [], "k", value=numpy_helper.from_array(np.arange(8, dtype=np.float32), name))
    node("Add", [x, "k"], "y")
    shape = [1, 8, 8, 8]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT,
                                                                         shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
                              weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
    return onnx.shape_inference.infer_shapes(model)


def points(scheme):
    return len(scheme.node_inputs) + len(scheme.child_region_inputs) + len(scheme.region_outputs)


def write(folder):
    random.seed(7)
    tuner = QDQAutotuner(network())
    tuner.initialize(Config())
    tuner.submit(10.0, True)
    for region in tuner.regions:
        tuner.set_profile_region(region)
        if tuner.current_profile_pattern_schemes is None:
            continue
        for i in range(6):
            k = tuner.generate()
            if k < 0:
                break
            n = points(tuner.current_profile_pattern_schemes.schemes[k])
            failed = i == 4
            tuner.submit(float("inf") if failed else round(10.0 - 0.137 * n + random.random() * 0.5,
                                                           6), not failed)
    tuner.set_profile_region(None, commit=True)
    tuner.save_state(folder + "/autotuner_state.yaml")


def read(path):
    cache = PatternCache.load(path)
    with open(path) as f:
        given = [s for p in yaml.safe_load(f)["pattern_schemes"] for s in p["schemes"]]
    schemes = [s for p in cache.pattern_schemes for s in p.schemes]
    for p in cache.pattern_schemes:
        print(p.pattern.size, p.pattern.signature)
    for s, g in zip(schemes, given, strict=True):
        assert isinstance(s.latency_ms, float) and s.hash == g["hash"], (s, g)
        print(s.latency_ms, s.profile_timestamp, points(s), s.hash)
    cache.save(path + ".modelopt.yaml")


{"write": write, "read": read}[sys.argv[1]](sys.argv[2])
