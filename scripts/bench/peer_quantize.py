"""What a user of ONNX Runtime's own tool runs: preprocessing, then static quantization with calibration.

peer_quantize.py MODEL OUT SAMPLES.npz: uint8 activations, int8 weights per channel, min-max, in one process."""
import os
import sys
import tempfile

import numpy
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process


class Samples(CalibrationDataReader):
    def __init__(self, path):
        arrays = numpy.load(path)
        name = arrays.files[0]
        self.rows = iter([{name: row[None]} for row in arrays[name]])

    def get_next(self):
        return next(self.rows, None)


def main(model, out, samples):
    with tempfile.TemporaryDirectory(dir=os.path.dirname(os.path.abspath(out))) as folder:
        clean = os.path.join(folder, "clean.onnx")
        quant_pre_process(model, clean)
        quantize_static(clean, out, Samples(samples), quant_format=QuantFormat.QDQ, per_channel=True,
                        activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)


if __name__ == "__main__":
    main(*sys.argv[1:4])
