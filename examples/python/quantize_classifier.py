"""Quantize a classifier, and see what that costs and brings.

    quantize_classifier.py [FOLDER]     FOLDER: tests/models/digits, the default

Cells begin with "# %%": notebooks and editors run them one by one.
"""

# %% The model, samples that calibrate, and others that test
import pathlib
import sys

import numpy as np

import qdq

folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "tests/models/digits")
model = folder / "digits_cnn.onnx"
calib = np.load(folder / "digits_calib.npz")["x"]
test = folder / "digits_test.npz"

# %% Quantize; samples may be any arrays
result = qdq.quantize(model, calib={"x": calib})
print(result)

# %% What is in 8 bits, and why the rest is not
for count in result.plan.summary.quantized:
    print(f"{count.n:3} x {count.what}")
for count in result.plan.summary.left_float:
    print(f"{count.n:3} x {count.what}")

# %% Accuracy on samples that took no part
compared = qdq.compare(model, result.model, data=test, labels="label")
report = compared.report
print(f"SQNR {compared.sqnr_db:.1f} dB")
print(f"accuracy {report.accuracy_a:.4f} (float), {report.accuracy_b:.4f} (quantized)")
