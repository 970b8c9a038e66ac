"""What a user of NVIDIA Model-Optimizer runs: int8 with max calibration, the rest left in float32.

peer_modelopt.py MODEL OUT SAMPLES.npz [METHOD]"""
import os
import shutil
import sys
import tempfile

import onnx
import modelopt.onnx.quantization as modelopt

import peer_samples


def private_copy(model, folder):
    """It writes inferred shapes into the very file that it is given, so it is given one of its
    own."""
    copy = os.path.join(folder, os.path.basename(model))
    shutil.copyfile(model, copy)
    graph = onnx.load(model, load_external_data=False).graph
    places = {e.value for t in graph.initializer for e in t.external_data if e.key == "location"}
    for place in places:
        shutil.copyfile(os.path.join(os.path.dirname(model), place), os.path.join(folder, place))
    initializers = {i.name for i in graph.initializer}
    return copy, next(i.name for i in graph.input if i.name not in initializers)


def main(model, out, samples, method="max"):
    _, rows = peer_samples.load(samples)
    with tempfile.TemporaryDirectory(dir=os.path.dirname(os.path.abspath(out))) as folder:
        copy, name = private_copy(os.path.abspath(model), folder)
        modelopt.quantize(onnx_path=copy, output_path=os.path.abspath(out), quantize_mode="int8",
                          calibration_method=method, calibration_data={name: rows},
                          calibration_eps=["cpu"],
                          high_precision_dtype="fp32")


if __name__ == "__main__":
    main(*sys.argv[1:])
