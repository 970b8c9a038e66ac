"""A script of a user, for checkers of types: where it has an error, it says so."""

from __future__ import annotations

import pathlib

import numpy as np
import numpy.typing as npt

import qdq
from qdq.compat import CalibrationDataReader, QuantType, quantize_static, simplify

Images = npt.NDArray[np.float32]


def metric(run: qdq.MetricRun) -> float:
    return float(run({"x": np.zeros((1, 3), np.float32)})["y"].mean())


class Reader(CalibrationDataReader):
    def get_next(self) -> dict[str, Images] | None:
        return None


def script(images: Images, model: qdq.Model) -> None:
    result = qdq.quantize("m.onnx", calib={"x": images}, metric=metric, min_metric=0.5)
    text: str = result.verdict
    numbers: list[float] = [result.sqnr_db, result.speedup, result.metric]
    tensors: int = result.plan.summary.n_tensors
    print(text, numbers, tensors, result.report.to_dict(), result.report.verdict)
    for calib in ("random:0", pathlib.Path("a.npz"), images, Reader(), [{"x": images}]):
        qdq.quantize(b"", calib=calib, mean=[1.0, 2.0], engine=qdq.Engine("ort"))
    qdq.quantize(model, calib=(range(3), lambda i: {"x": images[i]}), progress=True)
    tuned = qdq.autotune(model, "folder", time=3, live=lambda state: print(state.phase))
    if tuned.plan is not None:
        print(tuned.plan.diff(result.plan), tuned.report.speedup)
    print(qdq.compare("a.onnx", model, data=images, state={"t": "s"}, steps=5).report.worst_db)
    print(qdq.bench(model, "b.onnx").median_ms[0], qdq.check(model).ok, qdq.inspect(model)["nodes"])
    print(qdq.bench(model, state={"t": "s"}, steps=5, opt_shape={"x": (1, 3)}).sequence_ms[0])
    print(qdq.optimize(model).report.changes, qdq.import_plan(model) == result.plan)
    quantize_static("a.onnx", "b.onnx", Reader(), weight_type=QuantType.QInt8)
    simple, same = simplify("a.onnx", overwrite_input_shapes={"x": [1, 3]})
    print(simple, "same" if same else "other")


def mistakes(images: Images) -> None:
    qdq.quantize(3)  # type: ignore[arg-type]
    qdq.quantize("m.onnx", calib=3)  # type: ignore[arg-type]
    qdq.quantize("m.onnx", min_sqnr="30")  # type: ignore[arg-type]
    qdq.quantize("m.onnx", colour=3)  # type: ignore[call-arg]
    qdq.bench(images)  # type: ignore[arg-type]
    qdq.bench("m.onnx", state=["t"])  # type: ignore[arg-type]
