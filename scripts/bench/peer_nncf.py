"""What a user of NNCF runs: post-training quantization with its defaults, on all samples.

peer_nncf.py MODEL OUT SAMPLES.npz [BATCH]"""
import sys

import nncf
import onnx

import peer_samples


def main(model, out, samples, batch="1"):
    _, rows = peer_samples.load(samples)
    graph = onnx.load(model)
    initializers = {i.name for i in graph.graph.initializer}
    name = next(i.name for i in graph.graph.input if i.name not in initializers)
    batch = int(batch)
    groups = [rows[i:i + batch] for i in range(0, len(rows) - batch + 1, batch)]
    dataset = nncf.Dataset(groups, lambda x: {name: x})
    onnx.save(nncf.quantize(graph, dataset, subset_size=len(groups)), out)


if __name__ == "__main__":
    main(*sys.argv[1:])
