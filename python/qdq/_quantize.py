"""quantize(): a call of the library's qdq_ptq()."""

from __future__ import annotations

import contextlib
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from . import _core, errors
from ._arguments import check_types
from ._core import Job, Options, Path, Progress, Shapes, read
from ._data import Labels, SampleSource, stopped
from ._engines import Engine, open_engine, split
from ._metric import MetricRun
from ._model import Model, ModelSource, open_model
from ._plan import Plan, Target, reject_external
from ._qdq import ffi, lib
from ._quantize_options import (
    check_options,
    goal_options,
    names_format,
    open_target,
    plan_options,
    set_shards,
)
from ._quantize_result import QuantizeResult, Speed
from ._samples import Samples
from ._statistics import Statistics, as_cache

# What the library finds and what helps: Python's words for it.
NEXT_STEP = {
    "goal-missed": "; next: more samples, compare(per_layer=True) and exclude, or min_sqnr",
    "goal-float": "; next: more samples, compare(per_layer=True) and exclude, or min_sqnr",
    "goal-slower": "; next: autotune() measures which layers are faster quantized",
    "slower-fixed": "; set_shape fixes them in the result",
    "slower-optimized": "; autotune() measures which layers are faster quantized",
    "slower": "; autotune() measures which layers are faster quantized",
    "not-faster": "; autotune() measures which layers are faster quantized",
}


class Quantizing:
    """One call of quantize()."""

    def __init__(self, source: Any, o: dict[str, Any]) -> None:
        self.o = o
        self.began = time.monotonic()
        self.job = Job(o["progress"])
        self.result = QuantizeResult()
        self.result.source, self.result.output = source, o["output"]
        self.model = open_model(source, o["set_shape"])
        self.samples: Samples
        self.engine: Engine
        self.reference: Engine | None = None

    def open(self, stack: contextlib.ExitStack) -> None:
        o = self.o
        spec = o["engine"]
        o["cache"] = as_cache(o["cache"], stack)
        self.result.target = open_target(o["target"], split(spec), o)
        self.samples = stack.enter_context(contextlib.closing(Samples(self.model, self.job, o)))
        self.engine = stack.enter_context(open_engine(spec, self.job, o))
        if not self.engine.runs_as_written and not self.samples.data.is_random:
            try:
                self.reference = stack.enter_context(Engine("ort", job=self.job))
            except errors.EngineError:
                pass  # the engine check says what it rests on

    def options(self) -> Options:
        o = self.o
        times = {"times": Plan(o["times"]), "times_name": "times"} if o["times"] is not None else {}
        goal = goal_options(o, self.job, one_format=o["one_format"] or names_format(o), **times)
        options = Options(
            "qdq_ptq_opts",
            self.job,
            quantize=plan_options(o, self.job, o["samples"], o["threads"]),
            goal=goal,
            eval=self.samples.eval,
            reference=self.reference,
            no_sqnr=not o["sqnr"],
            no_speed=not o["bench"],
            must_compare=o["labels"] is not None,
            best_effort=o["best_effort"],
            spent_s=time.monotonic() - self.began,
        )
        if o["output"] is not None or o["metadata"]:
            options.c.ctx = options.hold(ffi.new_handle(self))
            options.c.ready = lib.qdq_ptq_opts_ready_python
        return options

    def run(self) -> None:
        out = ffi.new("qdq_ptq_result **")
        parts = (self.model.c, self.result.target.c, self.engine.c, self.samples.data.c)
        options = self.options()
        status, err = self.job.status(lib.qdq_ptq, *parts, options.c, out)
        if out[0] == ffi.NULL:
            _core.raise_for(status, err)
        try:
            self.take(out[0])
        finally:
            lib.qdq_ptq_result_free(out[0])
        if status == lib.QDQ_E_GOAL:
            raise errors.GoalNotReached(
                f"{_core.text(err.text)} (best_effort=True returns what came nearest)", self.result
            )
        _core.raise_for(status, err)

    def take(self, c: Any) -> None:
        """Plan, model and all that was measured."""
        to, found = self.result, read(c)
        if c.plan != ffi.NULL:
            to.plan = Plan._of(c.plan)
            c.plan = ffi.NULL
        if c.model != ffi.NULL:
            to.quantized = Model._of(c.model, self.model)
            c.model = ffi.NULL
        to.goal, to.compared, to.engine_check = found.goal, found.compared, found.engine_check
        to.verdict, to.split, to.metric = found.verdict, found.split, found.metric_after
        to.warnings, to.report = found.warnings, found
        timed = found.speed
        if timed is not None and timed.measured:
            fixed = timed.fixed_after if timed.fixed_too else None
            to.speed = Speed(timed.before, timed.after, fixed)
        elif timed is not None:
            _core.logger.info("speed not measured: %s", timed.why_not)

    def finish(self, plan: Any, c: Any) -> bool:
        """Completes and writes the model before its speed is measured."""
        if self.o["metadata"]:
            _core.call(lib.qdq_plan_annotate, plan, self.model.c, ffi.NULL, c)
        if self.o["output"] is not None:
            made = Model.__new__(Model)
            made._keep, made._c = (), c
            made.save(self.o["output"], external=self.o["external_data"] or "auto")
        return True


@ffi.def_extern(error=lib.QDQ_E_INTERRUPTED)  # type: ignore[untyped-decorator]
def qdq_ptq_opts_ready_python(ctx: Any, result: Any, err: Any) -> int:
    q: Quantizing = ffi.from_handle(ctx)
    is_done = q.job.ask(lambda: q.finish(result.plan, result.model))
    return int(lib.QDQ_OK) if is_done else stopped(err)


def warn(result: QuantizeResult) -> None:
    """What the library warns of, as warnings of Python; what was logged is known."""
    for w in result.warnings:
        said = w.text + NEXT_STEP.get(w.fact, "")
        if w.logged:
            continue
        if w.fact.startswith(("slower", "not-faster")):
            warnings.warn(said, errors.SpeedWarning, stacklevel=3)
        elif w.fact.startswith(("goal", "plan")):
            warnings.warn(said, errors.AccuracyWarning, stacklevel=3)
        else:
            _core.logger.warning("%s", said)


def quantize(
    model: ModelSource,
    *,
    output: Path | None = None,
    external_data: str | None = None,
    metadata: bool = False,
    calib: SampleSource | None = None,
    target: Target | Path | Mapping[str, Any] | None = None,
    # what is quantized
    exclude: Sequence[str] | None = None,
    include: Sequence[str] | None = None,
    op_types: Sequence[str] | None = None,
    exclude_op_types: Sequence[str] | None = None,
    optimize: bool = True,
    passes: str | None = None,
    no_fold: Sequence[str] | None = None,
    fold_only: Sequence[str] | None = None,
    fold_input_bytes: int | None = None,
    fold_output_bytes: int | None = None,
    growth_budget: int | None = None,
    # formats
    format: str | None = None,
    activation_type: str | None = None,
    weight_type: str | None = None,
    symmetric: bool | None = None,
    weight_asymmetric: bool | None = None,
    per_channel: bool | None = None,
    reduce_range: bool | None = None,
    pow2: bool | None = None,
    block_size: int | None = None,
    weight_method: str | None = None,
    weights: str | None = None,
    accuracy_level: int | None = None,
    tables: bool | None = None,
    bias: str | None = None,
    rest: str | None = None,
    rest_keep: Sequence[str] | None = None,
    direct_io: bool | None = None,
    cpu: str | None = None,
    set: Mapping[str, Any] | None = None,
    # calibration
    samples: int = 0,
    method: str | None = None,
    percentile: float | None = None,
    equalize: bool = False,
    bias_correction: str | bool | None = None,
    float_channels: str | bool | None = None,
    smooth: str | bool | None = None,
    cache: Path | Statistics | None = None,
    memory: int | None = None,
    threads: int = 0,
    # accuracy
    sqnr: bool = True,
    min_sqnr: float | None = None,
    min_agreement: float | None = None,
    max_drop: float | None = None,
    metric: Callable[[MetricRun], float] | None = None,
    min_metric: float | None = None,
    labels: Labels | None = None,
    eval: SampleSource | None = None,
    client: Any = None,
    shards: Sequence[Any] | None = None,
    times: Plan | Path | None = None,
    best_effort: bool = False,
    one_format: bool = False,
    bench: bool = True,
    # data
    image_size: tuple[int, int] | None = None,
    mean: float | Sequence[float] | None = None,
    std: float | Sequence[float] | None = None,
    layout: str = "auto",
    channel_order: str = "auto",
    shape: Shapes | None = None,
    set_shape: Shapes | None = None,
    state: Mapping[str, str] | None = None,
    steps: int = 0,
    mask: Sequence[str] | None = None,
    groups: str | None = None,
    # engine
    engine: str | Engine = "ort",
    ort_library: Path | None = None,
    openvino_library: Path | None = None,
    providers: Sequence[str] | None = None,
    plugin_libraries: Sequence[str] | None = None,
    engine_timeout: float | None = None,
    host: str | None = None,
    host_timeout: float | None = None,
    trtexec: Path | None = None,
    trtexec_args: str | None = None,
    timing_cache: Path | None = None,
    progress: Progress = False,
) -> QuantizeResult:
    """Calibrates a model, places Q/DQ by the target's rules, and returns the model.

    Options are those of ``qdq quantize`` (docs/cli.md), with ``_`` for ``-``; their defaults and
    their effects are the same. The same options give the same bytes.

    Parameters
    ----------
    model
        A path, bytes, an ``onnx.ModelProto``, an ``onnx_ir.Model`` or a `Model`. It is not changed;
        the result is of the same kind.
    output : path
        Write the model there.
    external_data : str
        With `output`: ``"auto"``, ``"always"``, ``"never"``: initializers of 1 KiB and more in a
        file of their own. None: as the model had them.
    metadata : bool
        Note formats and rules in the metadata of nodes, for Netron.
    calib
        Samples: a path (``.npz``, ``.npy``, a folder of these or of images), ``"random:SEED"``, a
        dict of arrays whose first axis counts samples, an iterable or generator of dicts (one
        sample each), ``(iterable, transform)``, or a ``CalibrationDataReader`` of ONNX Runtime.
        Arrays are of numpy, or have ``__array__`` or ``__dlpack__``. None: random input, whose
        scales mean nothing.
    target : str, path, dict or Target
        The rules; None: those of the engine.
    exclude, include : list of str
        Names of nodes to leave float, or to quantize alone: regular expressions or ``"=NAME"``.
    op_types, exclude_op_types : list of str
        Operators to quantize alone, or to leave float: ``["Conv", "Gemm"]``.
    optimize : bool
        Clean, fold and fuse before placement.
    passes : str
        Run these passes instead, separated by commas (docs/passes.md).
    no_fold, fold_only : list of str
        Operators that are not computed ahead, or alone.
    fold_input_bytes, fold_output_bytes : int, bytes
        Larger inputs and results of constants are not computed ahead; None: 1 MiB.
    growth_budget : int, bytes
        Constants of the cleaned model may grow by this much; None: 1 MiB.
    format : str
        Types of all: ``"int8"``, ``"uint8"``, ``"int16"``, ``"fp8"``; ``"int4"``, ``"uint4"``:
        weights alone; ``"dynamic"``: data are quantized at run time. None: the target's.
    activation_type, weight_type : str
        ``"int8"``, ``"uint8"``, ``"int16"``, ``"uint16"``, ``"float8e4m3fn"``; activations also
        ``"float"`` (weights alone), weights ``"int4"`` and ``"uint4"``. None: the target's, as of
        all that follow.
    symmetric : bool
        Activations around zero, or over their range as it is.
    weight_asymmetric : bool
        Weights over their range as it is, or around zero.
    per_channel : bool
        A scale for each output channel of a weight, or one for all.
    reduce_range : bool
        One bit less for weights, where sums in 8 bits saturate.
    pow2 : bool
        Scales are powers of two.
    block_size : int, input channels
        So many share a scale of a weight; 0: no blocks.
    weight_method : str
        How weights are rounded: ``"absmax"``, ``"mse"``, ``"awq-lite"``, ``"awq-clip"``,
        ``"awq-full"``, ``"gptq"``, ``"gptq-mse"``, ``"gptq-refine"``.
    weights : str
        How weights are stored: ``"codes"``, ``"float"`` (Q/DQ stay), ``"nbits"``, ``"dynamic"``.
    accuracy_level : int
        Of MatMulNBits: 1 computes in float, 4 in 8 bits, 0 leaves it to the engine.
    tables : bool
        Quantize embedding tables, too, where only weights are quantized.
    bias : str
        ``"int32"`` or ``"float"``.
    rest : str
        The type of nodes that are not quantized: ``"fp32"``, ``"fp16"``, ``"bf16"``.
    rest_keep : list of str
        Operators or nodes that stay float32 with `rest`.
    direct_io : bool
        Inputs and outputs of the graph get the type of `rest`, too.
    cpu : str
        The processor that will run the model: ``"avx2"``, ``"avx512"``, ``"vnni"``, ``"arm"``;
        None: this one.
    set : dict
        Keys of the target: ``{"activation.type": "int8"}``.
    samples : int
        So many calibrate; 0: all that are not held out.
    method : str
        How ranges come from values: ``"max"``, ``"entropy"``, ``"entropy-compat"``,
        ``"percentile"``, ``"mse"``, ``"moving-average"``, ``"auto"``.
    percentile : float, percent
        So much of the values is inside, with ``method="percentile"``; None: 99.999.
    equalize : bool
        Equalize channels between two Conv where it helps.
    bias_correction, float_channels, smooth : str or bool
        ``"auto"``, ``"on"``, ``"off"``: correct biases for rounded weights; compute channels with
        far larger data in float; divide channels of data and multiply weights (SmoothQuant).
    cache : path or Statistics
        Take ranges from a cache (TensorRT's or JSON) and calibrate the others; or statistics, in
        place of samples that calibrate.
    memory : int, bytes
        Limit of observed activations; None: 256 MiB.
    threads : int
        Of the engine; 0: all. The number affects last digits of scales.
    sqnr : bool
        Hold out samples, and measure the outputs on them.
    min_sqnr : float, dB
        Layers return to float until every output has it. 0: no goal. None: 20 dB with real samples.
    min_agreement : float, share
        Layers return to float until as many rows of the first output, and of others whose rows are
        scores, have the argmax along the last axis that they have in float: 0.99.
    max_drop : float, share
        Layers return to float until the accuracy drops by no more: 0.005 is half a point. Needs
        `labels`. With `metric`, in its unit.
    metric : function
        It returns a number for a model, of which more is better. It gets a `MetricRun`, which runs
        the model on a dict of arrays.
    min_metric : float
        Layers return to float until the metric is at least that.
    one_format
        Layers have the target's format or are float. Else a goal may also quantize their data at
        run time, or give their weights more bits or smaller blocks, where the target has that.
    client, shards : distributed.Client, list
        A client of Dask, on whose workers the metric is evaluated in shards: it gets a run and a
        shard (`qdq.cluster.evaluate`).
    labels
        Key of an array in `calib`: its ``.npz``, dict, or dicts; or a file; or an array where
        `calib` is a dict of arrays.
    eval
        Samples to evaluate on, in a form of `calib`.
    times : Plan or path
        Take the times of a goal search from this plan instead of a clock.
    best_effort : bool
        Return what came nearest where a goal that was given is missed.
    bench : bool
        Time the result against the model.
    image_size : (int, int)
        Height and width to which images are scaled; None: the model's.
    mean, std : float or list of float, 0 to 255
        Subtracted from pixels, and then their divisor, for all channels or each; None: 0 and 1.
    layout : str
        Axes of the input: ``"auto"``, ``"nchw"``, ``"nhwc"``.
    channel_order : str
        Of images: ``"auto"``, ``"rgb"``, ``"bgr"``, ``"gray"``.
    shape : dict
        Shapes of inputs while the model runs: ``{"x": (1, 3, 224, 224)}``; open dims are 1.
    set_shape : dict
        Shapes that inputs have in the result.
    state : dict
        Outputs that are fed back: ``{"hn": "h0"}`` makes the output ``hn`` the input ``h0`` of the
        next step. Each sample is then a sequence (docs/data.md).
    steps : int, samples
        With `state`: as many consecutive samples are the steps of a sequence; 0: arrays have a time
        axis, [sequences, steps, ...].
    mask : list of str
        With `state`: inputs whose last dim is as long as the cache and the new items together, as
        attention masks. They may be absent from the data.
    groups : str
        Key of integers in `calib`, one for each sample: samples with one number belong together, as
        crops of one picture, and are never on both sides of a fold.
    engine : str or Engine
        ``"ort"``, ``"openvino"``, ``"trtexec"``, a plugin's ``"FILE.so"``, or an open one, whose
        options are its own.
    ort_library, openvino_library : path
        The library of an engine.
    providers : list of str
        Execution providers of ONNX Runtime to try first: ``["CUDA:device_id=0"]``.
    plugin_libraries : list of path
        Operators or plugins for the engine.
    engine_timeout : float, s
        An engine that builds or runs longer is ended; None: 600.
    host : str
        Run the engine on another machine: ``"ssh://board"``, ``"exec:COMMAND"`` (docs/host.md).
    host_timeout : float, s
        A host that is silent for longer is given up; None: 60.
    trtexec, trtexec_args, timing_cache : path, str, path
        The program of the engine ``"trtexec"``, its options, and where its timings are kept.
    progress : bool or function
        True: a bar of tqdm. A function gets (stage, done, total); total 0: unknown.

    Returns
    -------
    QuantizeResult

    Raises
    ------
    GoalNotReached
        `min_sqnr` or `max_drop` is missed, without `best_effort`. Its `nearest` is the result.
    FormatError, UnsupportedError, EngineError, UsageError, OutOfMemory, Cancelled
        See `qdq.errors`.

    Warns
    -----
    AccuracyWarning
        The default goal is missed.
    SpeedWarning
        The result is not faster.

    Examples
    --------
    >>> result = qdq.quantize("model.onnx", calib={"x": images}, output="model.qdq.onnx")
    >>> result.sqnr_db, result.speedup
    """
    o = check_types(locals(), quantize.__kwdefaults__)
    reject_external(o)
    check_options(o)
    set_shards(o)
    q = Quantizing(model, o)
    with contextlib.ExitStack() as stack:
        q.open(stack)
        q.run()
    warn(q.result)
    if output is not None:
        q.result.written()
    return q.result
