"""Keep an accuracy: layers return to float until it holds.

keep_accuracy.py [FOLDER]     FOLDER: tests/models/digits, the default
"""

# %% A model that 8 bits hurt more than others: a vision transformer
import pathlib
import sys

import qdq

folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "tests/models/digits")
model = folder / "digits_vit.onnx"
samples = folder / "digits_test.npz"

# %% At most half a point of accuracy may be lost
result = qdq.quantize(model, calib=samples, labels="label", max_drop=0.005, samples=200)
goal = result.goal
assert goal is not None
print("reached" if goal.reached else goal.why)
for step in goal.steps:
    print(f"{step.n_float:3} layers float: accuracy {step.accuracy:.4f}, holds: {step.holds}")

# %% A goal that cannot be reached is an exception, with what came nearest
try:
    qdq.quantize(model, calib=samples, min_sqnr=150)
except qdq.GoalNotReached as missed:
    print(missed)
    print(f"nearest: {missed.nearest.sqnr_db:.1f} dB")
