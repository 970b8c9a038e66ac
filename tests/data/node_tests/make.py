#!/usr/bin/env python3
"""make.py OUT [BYTES] - ONNX's own node tests as one model for each opset.

Takes them from the package onnx that is installed, which makes the data when it is asked
(backend/test/case/node): every test of one node in the default domain, of opset 26 or below, with
at most BYTES of data (default 6000). Leaves out what no optimizer may compute ahead: random,
training and quantizing operators, control flow, strings, sequences and optionals.

Tests that OUT has already stay, but for those of the same name, which are replaced: so one release
of ONNX can follow another, which has moved tests to later opsets.

In OUT/opset_<N>.onnx a node is named after its test; its inputs are the initializers
<test>/<input>, and what it must give is in <test>/<output>/want.
"""
import os
import sys
import warnings

import numpy
import onnx
from onnx import helper, numpy_helper
from onnx.backend.test.case import node as cases

NEWEST = 26
LEFT_OUT = {
    "Bernoulli", "NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss",
    "QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear", "ConvInteger", "MatMulInteger",
    "QLinearConv", "QLinearMatMul", "If", "Loop", "Scan", "ImageDecoder", "OptionalGetElement",
    "OptionalHasElement",
}  # fmt: skip


def as_tensors(arrays, names):
    """The tensors of a test by name; None if something in it is not a tensor of numbers."""
    tensors = {}
    if len(arrays) != len(names):
        return None
    for array, name in zip(arrays, names):
        if isinstance(array, onnx.TensorProto):
            tensor = onnx.TensorProto()
            tensor.CopyFrom(array)
            tensor.name = name
        elif isinstance(array, (numpy.ndarray, numpy.generic)) and array.dtype.kind not in "OSU":
            tensor = numpy_helper.from_array(numpy.asarray(array), name)
        else:
            return None
        if tensor.data_type in (0, onnx.TensorProto.STRING):
            return None
        tensors[name] = tensor
    return tensors


def rename(tensor, name):
    tensor.name = name
    if not tensor.HasField("raw_data") and tensor.data_type == onnx.TensorProto.FLOAT:
        tensor = numpy_helper.from_array(numpy_helper.to_array(tensor), name)
    return tensor


def add_test(tests, case, limit):
    model = case.model
    graph, node = model.graph, model.graph.node[0]
    opset = next((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), 99)
    if len(graph.node) != 1 or node.domain or node.op_type in LEFT_OUT or opset > NEWEST:
        return
    inputs = as_tensors(case.data_sets[0][0], [v.name for v in graph.input])
    outputs = as_tensors(case.data_sets[0][1], [v.name for v in graph.output])
    if inputs is None or outputs is None:
        return
    if sum(t.ByteSize() for t in [*inputs.values(), *outputs.values()]) > limit:
        return
    name = case.name[len("test_"):]
    node.name = name
    node.doc_string = ""
    for i, value in enumerate(node.input):
        node.input[i] = f"{name}/{value}" if value else ""
    for i, value in enumerate(node.output):
        node.output[i] = f"{name}/{value}" if value in outputs else ""
    tensors = [rename(t, f"{name}/{v}") for v, t in inputs.items()]
    tensors += [rename(t, f"{name}/{v}/want") for v, t in outputs.items()]
    tests[name] = (opset, node, tensors)


def read_tests(out):
    tests = {}
    for file in sorted(os.listdir(out)):
        if not file.endswith(".onnx"):
            continue
        model = onnx.load(os.path.join(out, file))
        of_test = {}
        for tensor in model.graph.initializer:
            of_test.setdefault(tensor.name.split("/")[0], []).append(tensor)
        for node in model.graph.node:
            opset = model.opset_import[0].version
            tests[node.name] = (opset, node, of_test.get(node.name, []))
        os.remove(os.path.join(out, file))
    return tests


def main(out, limit=6000):
    tests = read_tests(out)
    warnings.simplefilter("ignore")
    for case in cases.collect_testcases(None):
        if case.model is not None and case.model.graph.node:
            add_test(tests, case, int(limit))
    for opset in sorted({t[0] for t in tests.values()}):
        of_opset = [tests[name] for name in sorted(tests) if tests[name][0] == opset]
        graph = helper.make_graph(
            [t[1] for t in of_opset], "node_tests", [], [], [x for t in of_opset for x in t[2]]
        )
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", opset)],
            ir_version=10 if opset < 25 else 13,
        )
        onnx.save(model, os.path.join(out, f"opset_{opset}.onnx"))
    print(len(tests), "tests")


if __name__ == "__main__":
    main(*sys.argv[1:])
