"""Puts 8-bit quantization into ONNX models where it makes inference faster.

    import qdq

    result = qdq.quantize("model.onnx", calib={"x": images}, output="model.qdq.onnx")
    print(result.sqnr_db, result.speedup)

What takes a model takes a path, bytes, an ``onnx.ModelProto``, an ``onnx_ir.Model`` or a
`qdq.Model`, never changes it, and returns the same kind. Options are keywords, named as those of
the command line tool ``qdq``, which the package has, too.

============== =====================================================================
`quantize`     calibrate, place Q/DQ by the target's rules, reach an accuracy goal
`autotune`     find the fastest placement by timing it on the engine
`optimize`     clean, fold, fuse; safe for Q/DQ
`calibrate`    statistics of samples, in parts that merge
`compare`      SQNR of outputs and the errors of layers
`bench`        latency of models, timed in turns
`check`        what is wrong, what does not fuse, what the engine computes wrongly
`inspect`      what a model holds
`import_plan`  the quantization of a model as a plan
`strip`        the model without Q/DQ
`merge_stores` measurements of several tuning runs in one file
============== =====================================================================

`qdq.cluster` does the same on many machines. The library's messages go to the logger ``"qdq"``.
"""

from __future__ import annotations

from . import _core as _core
from ._bench import BenchResult, bench
from ._calibrate import calibrate
from ._check import CheckResult, check
from ._compare import CompareResult, compare
from ._engines import Engine
from ._inspect import import_plan, inspect, strip
from ._metric import MetricRun
from ._model import Io, Model
from ._optimize import OptimizeResult, optimize
from ._plan import Plan, Target
from ._qdq import lib as _lib
from ._quantize import quantize
from ._quantize_result import QuantizeResult, Speed
from ._statistics import Statistics
from ._stores import merge_stores
from ._tune import TuneResult, autotune
from .errors import (
    AccuracyWarning,
    Cancelled,
    EngineError,
    Error,
    FileError,
    FormatError,
    GoalNotReached,
    InternalError,
    OutOfMemory,
    SpeedWarning,
    UnsupportedError,
    UsageError,
)

__version__ = _core.text(_lib.qdq_version())

__all__ = [
    "AccuracyWarning",
    "BenchResult",
    "Cancelled",
    "CheckResult",
    "CompareResult",
    "Engine",
    "EngineError",
    "Error",
    "FileError",
    "FormatError",
    "GoalNotReached",
    "InternalError",
    "Io",
    "MetricRun",
    "Model",
    "OptimizeResult",
    "OutOfMemory",
    "Plan",
    "QuantizeResult",
    "Speed",
    "SpeedWarning",
    "Statistics",
    "Target",
    "TuneResult",
    "UnsupportedError",
    "UsageError",
    "autotune",
    "bench",
    "calibrate",
    "check",
    "compare",
    "import_plan",
    "inspect",
    "merge_stores",
    "optimize",
    "quantize",
    "strip",
]
