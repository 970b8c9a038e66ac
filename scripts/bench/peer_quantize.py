"""What a user of ONNX Runtime's own tool runs: preprocessing, then static quantization with
calibration.

peer_quantize.py MODEL OUT SAMPLES.npz [METHOD]: uint8 activations, int8 weights per channel, in one
process. METHOD: MinMax (the default), Entropy or Percentile."""
import os
import sys
import tempfile

from onnxruntime.quantization import (CalibrationDataReader, CalibrationMethod, QuantFormat,
                                      QuantType,
                                      quantize_static)
from onnxruntime.quantization.shape_inference import quant_pre_process

import peer_samples


class Samples(CalibrationDataReader):
    def __init__(self, path):
        name, rows = peer_samples.load(path)
        self.rows = iter([{name: row[None]} for row in rows])

    def get_next(self):
        return next(self.rows, None)


def main(model, out, samples, method="MinMax"):
    with tempfile.TemporaryDirectory(dir=os.path.dirname(os.path.abspath(out))) as folder:
        clean = os.path.join(folder, "clean.onnx")
        quant_pre_process(model, clean)
        quantize_static(clean, out, Samples(samples), quant_format=QuantFormat.QDQ,
                        per_channel=True,
                        activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8,
                        calibrate_method=CalibrationMethod[method])


if __name__ == "__main__":
    main(*sys.argv[1:])
