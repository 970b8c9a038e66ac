"""autotune(): finds the fastest placement by timing it on the engine."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from . import _core, _engines, errors
from ._arguments import check_types
from ._core import Job, Options, Path, Progress, Shapes, read
from ._data import Labels, SampleSource
from ._engines import Engine
from ._engines import split as name_of
from ._metric import MetricRun
from ._model import Model, ModelSource, open_model
from ._plan import Plan, Target, hand_over
from ._qdq import ffi, lib
from ._quantize_options import (
    check_options,
    goal_options,
    names_goal,
    open_target,
    plan_options,
    set_shards,
)
from ._ranges import take_ranges
from ._records import TuneProgress, TuneReport
from ._samples import Samples
from ._show import axes, html_table, plot_bars, svg_bars, svg_steps

# Members of qdq_region_opts by option.
REGIONS = {name: name for name in ("max_region_size", "min_refine_size")}
REGIONS["region_builder"] = "builder"
# Members of qdq_tune_details that are no option of `details`.
NO_DETAIL = {"size", "regions", "set_shapes", "n_set_shapes"}


class TuneResult:
    """What `autotune` found.

    Attributes
    ----------
    model
        The fastest model, as the kind of object that was given.
    plan : Plan or None
        Its placement; None: the input is the fastest.
    report : TuneReport
        All numbers: ``report.speedup``, ``report.verdict``, ...
    history : tuple of TuneProgress
        The states of the run at which a trial ended or the best latency changed; empty if the
        folder had a finished run.
    folder : str
        Where the run left all that it made (docs/autotune.md); a temporary one ends with the
        result.
    """

    def __init__(self, source: Any, output: Path | None, folder: str, keep: Any) -> None:
        self.source, self.output, self.folder, self._folder = source, output, folder, keep
        self.report: TuneReport
        self.history: tuple[TuneProgress, ...] = ()
        self._model: Any = None

    def write(self) -> None:
        made = Model(os.path.join(self.folder, "model.onnx"))
        made._keep = (*made._keep, self._folder)
        self._model = hand_over(made, self.source, self.output)

    @property
    def model(self) -> Any:
        if self._model is None:
            self.write()
        return self._model

    @property
    def plan(self) -> Plan | None:
        path = os.path.join(self.folder, "plan.json")
        return Plan(path) if os.path.exists(path) else None

    @property
    def speedup(self) -> float:
        """Latency of the input model / latency of the result, measured again at the end."""
        return self.report.speedup

    @property
    def sqnr_db(self) -> float:
        """SQNR in dB of the result; NAN: it is float."""
        return self.report.sqnr_db

    def __repr__(self) -> str:
        r = self.report
        return (
            f"<qdq.TuneResult: {r.verdict}, {r.speedup:.2f} times as fast, {r.builds} builds, "
            f"{r.seconds:.0f} s>"
        )

    def _repr_html_(self) -> str:
        r = self.report
        return html_table(
            [
                ("verdict", r.verdict),
                ("input", f"{r.baseline_ms:.3f} ms"),
                ("rules", f"{r.rules_ms:.3f} ms"),
                ("result", f"{r.final_ms:.3f} ms"),
                ("speedup", f"{r.speedup:.2f} ({r.ci_low:.2f} to {r.ci_high:.2f})"),
                ("SQNR", f"{r.sqnr_db:.2f} dB"),
            ]
        ) + self._picture()

    def _times(self) -> dict[str, float]:
        r = self.report
        return {"input": r.baseline_ms, "rules": r.rules_ms, "result": r.final_ms}

    def _picture(self) -> str:
        best = [(s.elapsed_s, s.incumbent_ms) for s in self.history if s.incumbent_ms > 0]
        return svg_steps(best, self._times()) if best else svg_bars(self._times(), "ms")

    def plot(self, ax: Any = None) -> Any:
        """Draws with matplotlib the best latency over the time of the search, next to those of
        input, rules and result; without `history` these three alone."""
        times = self._times()
        best = [s for s in self.history if s.incumbent_ms > 0]
        if not best:
            return plot_bars(times, "ms", ax)
        ax = axes(ax)
        ax.step(
            [s.elapsed_s for s in best],
            [s.incumbent_ms for s in best],
            where="post",
            label="best so far",
        )
        for color, (name, ms) in enumerate(times.items(), 1):
            if math.isfinite(ms):
                ax.axhline(ms, linestyle="--", color=f"C{color}", label=name)
        ax.set_xlabel("s")
        ax.set_ylabel("ms")
        ax.legend()
        return ax


class TuneJob(Job):
    """A job that also reports the state of the run."""

    def __init__(self, progress: Progress, live: Callable[[TuneProgress], object] | None) -> None:
        super().__init__(progress)
        self.live = live
        self.history: list[TuneProgress] = []
        started = getattr(live, "started", None)
        if started is not None:
            started(self)

    def remember(self, state: TuneProgress) -> None:
        last = self.history[-1] if self.history else None
        now = (state.trials, state.incumbent_ms)
        if last is None or (last.trials, last.incumbent_ms) != now:
            self.history.append(state)


@ffi.def_extern()  # type: ignore[untyped-decorator]
def qdq_tune_opts_live_python(ctx: Any, now: Any) -> None:
    job: TuneJob = ffi.from_handle(ctx)
    state, live = read(now), job.live
    job.remember(state)
    if live is not None:
        job.ask(lambda: live(state))


def autotune(
    model: ModelSource,
    folder: Path | None = None,
    *,
    output: Path | None = None,
    calib: SampleSource | None = None,
    target: Target | Path | Mapping[str, Any] | None = None,
    # how it searches
    mode: str | None = None,
    strategy: str | None = None,
    preset: str | None = None,
    time: float | None = None,
    trials: int | None = None,
    max_builds: int | None = None,
    min_gain: float | None = None,
    seed: int | None = None,
    restart: bool = False,
    pattern_caches: Sequence[str] | None = None,
    baselines: Sequence[ModelSource] = (),
    details: Mapping[str, Any] | None = None,
    live: Callable[[TuneProgress], object] | None = None,
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
    cache: Path | None = None,
    memory: int | None = None,
    calib_threads: int = 0,
    # accuracy
    sqnr: bool = True,
    min_sqnr: float | None = None,
    min_agreement: float | None = None,
    max_drop: float | None = None,
    metric: Callable[[MetricRun], float] | None = None,
    min_metric: float | None = None,
    client: Any = None,
    shards: Sequence[Any] | None = None,
    labels: Labels | None = None,
    eval: SampleSource | None = None,
    # data
    image_size: tuple[int, int] | None = None,
    mean: float | Sequence[float] | None = None,
    std: float | Sequence[float] | None = None,
    layout: str = "auto",
    channel_order: str = "auto",
    shape: Shapes | None = None,
    min_shape: Shapes | None = None,
    opt_shape: Shapes | None = None,
    max_shape: Shapes | None = None,
    set_shape: Shapes | None = None,
    state: Mapping[str, str] | None = None,
    steps: int = 0,
    mask: Sequence[str] | None = None,
    groups: str | None = None,
    external_data: str | None = None,
    # engine
    engine: str | Engine = "ort",
    threads: int = 1,
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
) -> TuneResult:
    """Times placements of Q/DQ on the engine and keeps the fastest (docs/autotune.md).

    Options are those of ``qdq autotune``, with ``_`` for ``-``.

    Parameters
    ----------
    model
        See `Model`. It is not changed; the result is of the same kind.
    folder
        Where the run leaves its results, and resumes: Ctrl-C keeps what was measured. None: a
        temporary folder that ends with the result.
    output : path
        Write the model there, too.
    calib, eval, labels, sqnr, min_sqnr, min_agreement, max_drop, metric, min_metric, client, shards
        As of `quantize`. Without `calib` the scales mean nothing.
    target, exclude, include, op_types, exclude_op_types, optimize, passes, no_fold, fold_only, \
fold_input_bytes, fold_output_bytes, growth_budget
        What is quantized, as of `quantize`.
    format, activation_type, weight_type, symmetric, weight_asymmetric, per_channel, \
reduce_range, pow2, block_size, weight_method, weights, accuracy_level, tables, bias, rest, \
rest_keep, direct_io, cpu, set
        Formats, as of `quantize`.
    samples, method, percentile, equalize, bias_correction, cache, memory
        Calibration, as of `quantize`.
    calib_threads : int
        Of the engine while it calibrates; 0: all.
    image_size, mean, std, layout, channel_order, shape, set_shape, state, steps, \
mask, groups
        Data, as of `quantize`.
    min_shape, opt_shape, max_shape : dict
        Shapes of open inputs for which trtexec builds: the smallest, the timed and the largest one;
        None: as `opt_shape`, which is the shape on other engines.
    mode : str
        ``"region"`` or ``"subgraph"``.
    strategy : str
        Of the mode ``"subgraph"``: ``"auto"``, or a name of ``qdq autotune --strategy``.
    preset : str
        ``"default"``, ``"quick"`` or ``"extensive"``.
    time : float, s
        Limit of the search.
    trials, max_builds : int
        Limits of comparisons, and of builds of the engine; None: the preset's.
    min_gain : float, share
        Candidates that save less of the time are rejected; None: 0.003.
    seed : int
        Of random choices.
    restart : bool
        Ignore earlier measurements in `folder`.
    pattern_caches : list of path
        Files of patterns whose schemes are tried first.
    baselines : list of models
        The same network with Q/DQ by others: each is measured, and the result is no slower.
    details : dict
        Rare options by name: members of ``qdq_tune_details`` in qdq/tune.h, and
        ``region_builder``, ``max_region_size`` and ``min_refine_size`` of the mode ``"region"``.
    live : function
        Called with the state of the run.
    external_data : str
        ``"auto"``, ``"always"``, ``"never"``: initializers of 1 KiB and more in a file of their
        own.
    engine : str or Engine
        As of `quantize`. Of an open one, its name and options are taken.
    threads : int
        Of the engine while it is timed; 0: all.
    ort_library, openvino_library, providers, plugin_libraries, engine_timeout, host, \
host_timeout, trtexec, trtexec_args, timing_cache
        Of the engine, as of `quantize`.
    progress : bool or function
        As of `quantize`.

    Returns
    -------
    TuneResult

    Raises
    ------
    GoalNotReached
        A goal that was given is missed. Its `nearest` is the result.
    FormatError, UnsupportedError, EngineError, UsageError, OutOfMemory
        See `qdq.errors`.
    Cancelled
        Ctrl-C. The same call with the same `folder` resumes.

    Examples
    --------
    >>> result = qdq.autotune("model.onnx", "tuned", calib="calib.npz", time=600)
    >>> result.speedup
    """
    given = check_types(locals(), autotune.__kwdefaults__)
    set_shards(given)
    check_options({**given, "best_effort": False})
    usual = take_ranges(engine, given)
    keep = None
    if folder is None:
        import tempfile

        keep = tempfile.TemporaryDirectory(prefix="qdq-tuned-")
        folder = keep.name
    job = TuneJob(progress, live)
    _engines.options_in(engine, given)
    own = open_model(model, given["set_shape"])
    rules = open_target(target, name_of(engine), given)
    result = TuneResult(model, output, os.fspath(folder), keep)
    samples_of = Samples(own, job, {**given, "shape": usual or None})
    found = ffi.new("qdq_tune_result **")
    try:
        options = options_of(given, job, samples_of, rules)
        others = [open_model(b) for b in baselines]
        if others:
            options.keep += others
            options.c.qdq_baselines = options.hold(
                ffi.new("qdq_model *[]", [*(m.c for m in others), ffi.NULL])
            )
        status, err = job.status(
            lib.qdq_autotune,
            own.c,
            rules.c,
            samples_of.data.c,
            _core.encode(folder),
            options.c,
            found,
        )
        result.history = tuple(job.history)
        if found[0] != ffi.NULL:
            result.report = read(found[0])
        if status == lib.QDQ_E_GOAL:
            raise errors.GoalNotReached(_core.text(err.text), result)
        _core.raise_for(status, err)
    finally:
        lib.qdq_free(found[0])
        samples_of.close()
    if result.report.reason:
        warnings.warn(result.report.reason, errors.AccuracyWarning, stacklevel=2)
    if output is not None:
        result.write()
    return result


def options_of(
    given: Mapping[str, Any], job: TuneJob, samples: Samples, target: Target
) -> Options:
    """All options of the run."""
    own = given["engine"]
    spec, engine_given = (own.spec, own.options) if isinstance(own, Engine) else (own, given)
    has_goal = any(given[n] for n in ("min_sqnr", "min_agreement")) or given["max_drop"] is not None
    split = samples.split(
        has_goal or given["metric"] is not None or not names_goal(given),
        bool(lib.qdq_rounds_by_samples(target.c)),
    )
    part = {"folds": split.folds, "first": split.first, "count": split.evaluate}
    return Options(
        "qdq_tune_opts",
        job,
        given,
        live=lib.qdq_tune_opts_live_python,
        details=details_of(given["details"] or {}, given["set_shape"]),
        quantize=plan_options(given, job, split.calibrate, given["calib_threads"]),
        engine=spec,
        engine_opts=_engines.options_of(spec, engine_given, job),
        goal=goal_options(given, job, eval=samples.eval, **part),
    )


def details_of(details: Mapping[str, Any], set_shape: Shapes | None) -> Options:
    regions = Options("qdq_region_opts")
    for name in REGIONS.keys() & details.keys():
        regions.set(REGIONS[name], details[name], name)
    options = Options("qdq_tune_details", given=details, set_shapes=set_shape, regions=regions)
    known = (options.fields.keys() - NO_DETAIL) | REGIONS.keys()
    for name in details:
        if name not in known:
            expected = ", ".join(map(repr, sorted(known)))
            raise TypeError(f"details: found '{name}', expected one of {expected}")
    return options
