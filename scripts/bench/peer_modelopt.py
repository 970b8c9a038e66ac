"""What a user of NVIDIA Model-Optimizer runs: int8 with max calibration, the rest left in float32.

peer_modelopt.py MODEL OUT SAMPLES.npz [METHOD]"""
import sys

import modelopt.onnx.quantization as modelopt

import peer_samples


def main(model, out, samples, method="max"):
    _, rows = peer_samples.load(samples)
    import onnx

    graph = onnx.load(model, load_external_data=False).graph
    initializers = {i.name for i in graph.initializer}
    name = next(i.name for i in graph.input if i.name not in initializers)
    modelopt.quantize(onnx_path=model, output_path=out, quantize_mode="int8", calibration_method=method,
                      calibration_data={name: rows}, calibration_eps=["cpu"], high_precision_dtype="fp32")


if __name__ == "__main__":
    main(*sys.argv[1:])
