"""What a user of onnxscript's optimizer runs: peer_optimize.py MODEL OUT. The other peers have
commands."""
import sys

import onnx_ir
from onnxscript import optimizer


def main(model, out):
    graph = onnx_ir.load(model)
    optimizer.optimize_ir(graph)
    onnx_ir.save(graph, out)


if __name__ == "__main__":
    main(*sys.argv[1:3])
