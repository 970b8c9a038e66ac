"""Tune a placement on this machine, and draw what came of it (needs matplotlib).

tune_and_plot.py [FOLDER [PICTURE]]     FOLDER: tests/models/digits, the default
"""

# %% Time placements of Q/DQ for some seconds; Ctrl-C ends the run, and the next one resumes it
import pathlib
import sys
import tempfile

import matplotlib

import qdq

matplotlib.use("Agg")
folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "tests/models/digits")
picture = sys.argv[2] if len(sys.argv) > 2 else "tuned.png"
run = tempfile.mkdtemp(prefix="tuned-")
result = qdq.autotune(
    folder / "digits_cnn.onnx",
    run,
    calib=folder / "digits_calib.npz",
    preset="quick",
    time=5,
    live=lambda state: print(state.phase, state.builds, "builds", end="\r"),
)
print(result)

# %% The best latency over the time of the search, next to input, rules and result
axes = result.plot()
axes.figure.savefig(picture)
print(f"{picture}; everything else is in {run}")
