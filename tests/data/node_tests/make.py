#!/usr/bin/env python3
"""make.py OUT [BYTES] - ONNX's own node tests as one model for each opset.

Needs the package onnx 1.21.0, whose wheel has the data (backend/test/data/node). Takes every test
of one node in the default domain with at most BYTES of data (default 6000). Leaves out what no
optimizer may compute ahead: random, training and quantizing operators, control flow, strings,
sequences and optionals.

In OUT/opset_<N>.onnx a node is named after its test; its inputs are the initializers
<test>/<input>, and what it must give is in <test>/<output>/want.
"""
import os
import sys

import onnx
from onnx import helper, numpy_helper

LEFT_OUT = {
    "Bernoulli", "NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss",
    "QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear", "ConvInteger", "MatMulInteger",
    "QLinearConv", "QLinearMatMul", "If", "Loop", "Scan", "ImageDecoder", "OptionalGetElement",
    "OptionalHasElement",
}  # fmt: skip
FOLDER = os.path.join(os.path.dirname(onnx.__file__), "backend", "test", "data", "node")


def read_tensors(folder, kind, names):
    """The tensors of a test by name; None if something in it is not a tensor of numbers."""
    tensors = {}
    for i, name in enumerate(names):
        tensor = onnx.TensorProto()
        try:
            with open(os.path.join(folder, f"{kind}_{i}.pb"), "rb") as file:
                tensor.ParseFromString(file.read())
        except Exception:
            return None
        if tensor.data_type in (0, onnx.TensorProto.STRING) or tensor.name != name:
            return None
        tensors[name] = tensor
    return tensors


def rename(tensor, name):
    tensor.name = name
    if not tensor.HasField("raw_data") and tensor.data_type == onnx.TensorProto.FLOAT:
        tensor = numpy_helper.from_array(numpy_helper.to_array(tensor), name)
    return tensor


def add_test(graphs, test, limit):
    folder = os.path.join(FOLDER, test)
    model = onnx.load(os.path.join(folder, "model.onnx"))
    graph, node = model.graph, model.graph.node[0]
    if len(graph.node) != 1 or node.domain or node.op_type in LEFT_OUT:
        return
    data = os.path.join(folder, "test_data_set_0")
    if sum(os.path.getsize(os.path.join(data, f)) for f in os.listdir(data)) > limit:
        return
    inputs = read_tensors(data, "input", [v.name for v in graph.input])
    outputs = read_tensors(data, "output", [v.name for v in graph.output])
    if inputs is None or outputs is None:
        return
    opset = next(o.version for o in model.opset_import if o.domain in ("", "ai.onnx"))
    nodes, tensors = graphs.setdefault(opset, ([], []))
    name = test[len("test_"):]
    node.name = name
    node.doc_string = ""
    for i, value in enumerate(node.input):
        node.input[i] = f"{name}/{value}" if value else ""
    for i, value in enumerate(node.output):
        node.output[i] = f"{name}/{value}" if value in outputs else ""
    nodes.append(node)
    tensors += [rename(t, f"{name}/{v}") for v, t in inputs.items()]
    tensors += [rename(t, f"{name}/{v}/want") for v, t in outputs.items()]


def main(out, limit=6000):
    graphs = {}
    for test in sorted(os.listdir(FOLDER)):
        if test.startswith("test_") and not test.endswith("_expanded"):
            add_test(graphs, test, int(limit))
    for opset, (nodes, tensors) in sorted(graphs.items()):
        graph = helper.make_graph(nodes, "node_tests", [], [], tensors)
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", opset)],
            ir_version=10 if opset < 25 else 13,
        )
        onnx.save(model, os.path.join(out, f"opset_{opset}.onnx"))
    print(sum(len(n) for n, _ in graphs.values()), "tests")


if __name__ == "__main__":
    main(*sys.argv[1:])
