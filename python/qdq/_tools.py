"""The other commands: optimize, check, inspect, import_plan, strip, compare, bench."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing, nullcontext
from typing import Any

from . import _core, errors
from ._arguments import check_types, reject_alone
from ._core import Job, Options, Path, Progress, Shapes, read
from ._data import IMAGES, Labels, SampleSource, check_states, open_data
from ._engines import OPTIONS as ENGINE
from ._engines import Engine, Session, open_engine
from ._model import Model, ModelSource, open_model
from ._plan import Plan, Target, hand_over, reject_external
from ._qdq import ffi, lib
from ._quantize import TARGET_OF_ENGINE
from ._ranges import take_ranges
from ._records import (
    CompareReport,
    EngineCheck,
    Finding,
    LayerReport,
    OptimizeReport,
    OutputDifference,
    Record,
    TargetCheck,
    Times,
)
from ._show import html_table, plot_bars, svg_bars


class OptimizeResult:
    """What `optimize` made.

    Attributes
    ----------
    model
        The optimized model, as the kind of object that was given.
    report : OptimizeReport
        Changes of each pass, and why it left candidates alone.
    """

    def __init__(self, model: Any, report: OptimizeReport) -> None:
        self.model, self.report = model, report

    def __repr__(self) -> str:
        r = self.report
        return (
            f"<qdq.OptimizeResult: {r.nodes_before} nodes -> {r.nodes_after}, {r.changes} changes>"
        )

    def _repr_html_(self) -> str:
        r = self.report
        rows = [("nodes", f"{r.nodes_before} -> {r.nodes_after}")]
        changes = {p.pass_: float(p.changes) for p in r.passes if p.changes}
        return html_table(rows) + svg_bars(changes, "changes")


def optimize(
    model: ModelSource,
    *,
    output: Path | None = None,
    external_data: str | None = None,
    target: Target | Path | Mapping[str, Any] | None = None,
    passes: str | None = None,
    freeze_inputs: bool = False,
    no_fold: Sequence[str] | None = None,
    fold_only: Sequence[str] | None = None,
    fold_input_bytes: int | None = None,
    fold_output_bytes: int | None = None,
    growth_budget: int | None = None,
    check: SampleSource | None = None,
    tolerance: float = 0,
    samples: int = 0,
    threads: int = 0,
    image_size: tuple[int, int] | None = None,
    mean: float | Sequence[float] | None = None,
    std: float | Sequence[float] | None = None,
    layout: str = "auto",
    channel_order: str = "auto",
    shape: Shapes | None = None,
    set_shape: Shapes | None = None,
    engine: str | Engine = "ort",
    ort_library: Path | None = None,
    openvino_library: Path | None = None,
    providers: Sequence[str] | None = None,
    plugin_libraries: Sequence[str] | None = None,
    engine_timeout: float | None = None,
    host: str | None = None,
    host_timeout: float | None = None,
    verify_each: bool = False,
    progress: Progress = False,
) -> OptimizeResult:
    """Cleans, folds and fuses; what the model computes and its Q/DQ stay.

    Parameters
    ----------
    model
        See `Model`. It is not changed; the result is of the same kind.
    output : path
        Write the model there.
    external_data : str
        As of `quantize`.
    target : str, path, dict or Target
        Adds the passes that this target asks for.
    passes : str
        Names of passes and groups, separated by commas (docs/passes.md); None: ``"default"``.
    freeze_inputs : bool
        Initializers that are inputs, too, become constants.
    no_fold, fold_only, fold_input_bytes, fold_output_bytes, growth_budget
        As of `quantize`.
    check
        Samples on which both models must agree, in a form of `quantize`'s `calib`.
    tolerance : float, share
        Allowed difference of an output's range; 0: by type.
    samples, threads, engine, shape
        With `check`: how many samples (0: all), threads of the engine (0: all), the engine, and
        shapes of inputs.
    image_size, mean, std, layout, channel_order
        With `check`: data, as of `quantize`.
    ort_library, openvino_library, providers, plugin_libraries, engine_timeout, host, host_timeout
        With `check`: of the engine, as of `quantize`.
    set_shape : dict
        Shapes that inputs have in the result.
    verify_each : bool
        Verify the model after each pass.
    progress : bool or function
        As of `quantize`.

    Returns
    -------
    OptimizeResult

    Raises
    ------
    UnsupportedError
        With `check`: the optimized model computes something else.
    FormatError, EngineError, UsageError, FileError, OutOfMemory, Cancelled
        See `qdq.errors`.

    Examples
    --------
    >>> qdq.optimize("model.onnx", output="model.opt.onnx").report.changes
    """
    given = check_types(locals(), optimize.__kwdefaults__)
    if check is None:
        reject_alone(given, ("samples", "tolerance", "shape", *IMAGES, *ENGINE), "check")
    reject_external(given)
    job = Job(progress)
    work = Model(open_model(model, given["set_shape"]))
    before = Model(work) if check is not None else None
    given["target"] = Target(target) if target is not None else None
    if freeze_inputs:
        given["passes"] = f"freeze-inputs,{passes or 'default'}"
    for name in ("fold_input_bytes", "fold_output_bytes"):
        if given[name] == 0:
            given[name] = 1  # in C, 0 stands for the default
    options = Options("qdq_optimize_opts", job, given)
    free = lib.qdq_optimize_report_free
    report = job.report(lib.qdq_model_optimize, work.c, options.c, free=free)
    if before is not None:
        same, why = compare_models(before, work, given, job)
        if not same:
            raise errors.UnsupportedError(f"the optimized model computes something else: {why}")
    return OptimizeResult(hand_over(work, model, output, given["external_data"]), report)


def compare_models(a: Model, b: Model, given: Mapping[str, Any], job: Job) -> tuple[bool, str]:
    """Do two models compute the same? And if not, what differs. `given`: options of optimize()."""
    samples = {"max_samples": given["samples"], "argument": "check"}
    with (
        open_engine(given["engine"], job, given) as own,
        closing(open_data(given["check"], a, job, given, **samples)) as data,
    ):
        options = Options("qdq_compare_opts", job, given)
        parts = own.c, a.c, b.c, data.c, options.c, given["tolerance"]
        found = job.make(lib.qdq_compare_same, *parts)
        try:
            return bool(found.same), _core.text(found.why)
        finally:
            lib.qdq_same_result_free(found)


# --- check ----------------------------------------------------------------------------------------


class CheckReport(Record):
    """All that `check` found."""

    findings: tuple[Finding, ...]
    target_check: TargetCheck | None
    engine_check: EngineCheck | None


class BenchReport(Record):
    """All latencies of `bench`."""

    models: tuple[Times, ...]
    steps: int


class CheckResult:
    """What `check` found.

    Attributes
    ----------
    findings : tuple of Finding
        What is wrong with the model, its quantization aside.
    target_check : TargetCheck or None
        Q/DQ that are wrong or do not fuse on the target.
    engine_check : EngineCheck or None
        Whether the engine computes what the model defines.
    """

    def __init__(
        self,
        findings: tuple[Finding, ...],
        target_check: TargetCheck | None,
        engine_check: EngineCheck | None,
    ) -> None:
        self.findings = findings
        self.target_check = target_check
        self.engine_check = engine_check

    @property
    def report(self) -> CheckReport:
        """All of it; ``report.to_dict()`` for JSON."""
        return CheckReport(
            findings=self.findings, target_check=self.target_check, engine_check=self.engine_check
        )

    @property
    def ok(self) -> bool:
        """No error was found. Costs and warnings are no errors."""
        return not (
            any(f.is_error for f in self.findings)
            or (self.target_check is not None and self.target_check.n_errors > 0)
            or (self.engine_check is not None and self.engine_check.verdict == "wrong")
        )

    def __bool__(self) -> bool:
        return self.ok

    def __repr__(self) -> str:
        n = len(self.findings) + (len(self.target_check.findings) if self.target_check else 0)
        return f"<qdq.CheckResult: {'ok' if self.ok else 'errors'}, {n} findings>"

    def _repr_html_(self) -> str:
        rows = [("error" if f.is_error else "warning", f.text) for f in self.findings]
        if self.target_check is not None:
            rows += [(f.kind, f"{f.op} {f.node}: {f.why}") for f in self.target_check.findings]
        return html_table(rows or [("ok", "nothing was found")])


def check(
    model: ModelSource,
    *,
    target: Target | Path | Mapping[str, Any] | None = None,
    set: Mapping[str, Any] | None = None,
    engine: str | Engine | None = None,
    data: SampleSource | None = None,
    threads: int = 0,
    cpu: str | None = None,
    image_size: tuple[int, int] | None = None,
    mean: float | Sequence[float] | None = None,
    std: float | Sequence[float] | None = None,
    layout: str = "auto",
    channel_order: str = "auto",
    shape: Shapes | None = None,
    ort_library: Path | None = None,
    openvino_library: Path | None = None,
    providers: Sequence[str] | None = None,
    plugin_libraries: Sequence[str] | None = None,
    engine_timeout: float | None = None,
    host: str | None = None,
    host_timeout: float | None = None,
    progress: Progress = False,
) -> CheckResult:
    """Verifies a model, and what an engine makes of its Q/DQ.

    Parameters
    ----------
    model
        See `Model`. It is not changed.
    target : str, path, dict or Target
        Find Q/DQ that are wrong or do not fuse by these rules.
    set : dict
        Keys of the target to change, as of `quantize`.
    engine : str or Engine
        Measure this on an engine, and ask whether it computes what the model defines.
    data
        Samples for `engine`, in a form of `quantize`'s `calib`; None: random.
    threads : int
        Of the engine; 0: all.
    cpu : str
        The processor that will run the model, as of `quantize`.
    image_size, mean, std, layout, channel_order, shape
        Data, as of `quantize`.
    ort_library, openvino_library, providers, plugin_libraries, engine_timeout, host, host_timeout
        Of the engine, as of `quantize`.
    progress : bool or function
        As of `quantize`.

    Returns
    -------
    CheckResult
        True where no error was found.

    Raises
    ------
    FormatError, UnsupportedError, EngineError, UsageError, FileError, OutOfMemory, Cancelled
        See `qdq.errors`.

    Examples
    --------
    >>> assert qdq.check("model.qdq.onnx", target="ort-cpu")
    """
    given = check_types(locals(), check.__kwdefaults__)
    if engine is None:
        reject_alone(given, ("data", *IMAGES, *ENGINE), "engine")
        if target is None:
            reject_alone(given, ("set", "cpu", "shape"), "target or engine")
    job = Job(progress)
    own = open_model(model)
    findings = own.check()
    if any(f.is_error for f in findings) or (target is None and engine is None):
        return CheckResult(findings, None, None)
    with open_engine(engine, job, given) if engine is not None else nullcontext() as runner:
        if target is None and runner is not None:
            target = TARGET_OF_ENGINE.get(runner.name, "ort-cpu")
        assert target is not None
        rules = Target(target)
        if given["set"]:
            rules._change(given["set"])
        options = Options("qdq_check_opts", job, given, engine=runner)
        checked = job.report(lib.qdq_model_check_target, own.c, rules.c, options.c)
        verified = verify(own, runner, given, job) if runner is not None and runner.runs else None
        return CheckResult(findings, checked, verified)


def verify(model: Model, engine: Engine, given: Mapping[str, Any], job: Job) -> EngineCheck:
    data = given["data"] if given["data"] is not None else "random:0"
    needs_reference = engine.name not in ("ort", "sim")
    with (
        closing(open_data(data, model, job, given, argument="data")) as samples,
        Engine("ort", job=job) if needs_reference else nullcontext() as reference,
    ):
        options = Options("qdq_verify_opts", job, given, reference=reference)
        parts = model.c, engine.c, samples.c, options.c
        checked: EngineCheck = job.report(lib.qdq_verify_engine, *parts)
        return checked


# --- inspect, import, strip -----------------------------------------------------------------------


def inspect(model: ModelSource) -> dict[str, Any]:
    """What a model holds (docs/cli.md, ``inspect``).

    Parameters
    ----------
    model
        See `Model`. It is not changed.

    Returns
    -------
    dict
        Counts, inputs, outputs, Q/DQ; sizes in bytes.

    Raises
    ------
    FormatError, FileError, OutOfMemory, Cancelled
        See `qdq.errors`.

    Examples
    --------
    >>> qdq.inspect("model.onnx")["nodes"]
    """
    own = open_model(model)
    text = _core.take_text(lib.qdq_model_inspect, own.c, lib.QDQ_VIEW_JSON)
    found: dict[str, Any] = json.loads(text)
    return found


def import_plan(
    model: ModelSource, *, encodings: Path | None = None, bounds: str | None = None
) -> Plan:
    """The quantization that a model has, as a plan for the model without it.

    Parameters
    ----------
    model
        See `Model`. It is not changed.
    encodings : path
        Take it from this file of AIMET for the float model instead.
    bounds : str
        Relu and Clip that a quantizer removed: ``"auto"``, ``"restore"``, ``"leave"``.

    Returns
    -------
    Plan

    Raises
    ------
    FormatError, UnsupportedError, FileError, OutOfMemory, Cancelled
        See `qdq.errors`.

    Examples
    --------
    >>> qdq.import_plan("model.qdq.onnx").apply("model.onnx")
    """
    given = check_types(locals(), import_plan.__kwdefaults__)
    own = open_model(model)
    job = Job()
    options = Options("qdq_import_opts", job, given)
    if encodings is not None:
        path = _core.encode(encodings)
        return Plan._of(job.make(lib.qdq_plan_load_encodings, path, own.c, options.c))
    out = ffi.new("qdq_plan **")
    job.run(lib.qdq_plan_import, own.c, options.c, out, ffi.NULL)
    return Plan._of(out[0])


def strip(
    model: ModelSource,
    *,
    output: Path | None = None,
    external_data: str | None = None,
    bounds: str | None = None,
) -> Any:
    """The model without Q/DQ. What had to stay is logged.

    Parameters
    ----------
    model
        See `Model`. It is not changed.
    output : path
        Write the result there.
    external_data : str
        As of `quantize`.
    bounds : str
        Relu and Clip that a quantizer removed: ``"auto"``, ``"restore"``, ``"leave"``.

    Returns
    -------
    model
        Of the same kind as `model`; the path of `output` where that was a path.

    Raises
    ------
    FormatError, UnsupportedError, FileError, OutOfMemory, Cancelled
        See `qdq.errors`.

    Examples
    --------
    >>> qdq.strip("model.qdq.onnx", output="model.float.onnx")
    """
    given = check_types(locals(), strip.__kwdefaults__)
    reject_external(given)
    own = open_model(model)
    job = Job()
    options = Options("qdq_import_opts", job, given)
    out, left = ffi.new("qdq_model **"), ffi.new("size_t *")
    job.run(lib.qdq_model_strip, own.c, options.c, out, left)
    return hand_over(Model._of(out[0], own), model, output, given["external_data"])


# --- compare and bench ----------------------------------------------------------------------------


class CompareResult:
    """How far the outputs of two models are apart.

    Attributes
    ----------
    report : CompareReport
        All outputs.
    layers : LayerReport or None
        The error that each layer introduces, with ``per_layer=True``.
    """

    def __init__(self, report: CompareReport, layers: LayerReport | None) -> None:
        self.report, self.layers = report, layers

    @property
    def outputs(self) -> tuple[OutputDifference, ...]:
        """Each output."""
        return self.report.outputs

    @property
    def sqnr_db(self) -> float:
        """SQNR in dB of the worst output; infinity where all are equal."""
        return self.report.worst_db

    def __repr__(self) -> str:
        return (
            f"<qdq.CompareResult: SQNR {self.sqnr_db:.2f} dB, {len(self.outputs)} outputs, "
            f"{self.report.samples} samples>"
        )

    def _repr_html_(self) -> str:
        rows = [(o.name, f"{o.sqnr_db:.2f} dB") for o in self.outputs]
        return html_table(rows) + svg_bars(*self._plotted(30))

    def _plotted(self, most: int) -> tuple[dict[str, float], str]:
        if self.layers is not None:
            worst = [e for e in self.layers.layers if e.quantized][:most]
            return {e.node: e.introduced.sqnr_db for e in worst}, "SQNR of the layer, dB"
        return {o.name: o.sqnr_db for o in self.outputs}, "SQNR, dB"

    def plot(self, ax: Any = None, *, most: int = 30) -> Any:
        """Draws SQNR with matplotlib: of the layers in 8 bits that lose most, or of the outputs."""
        return plot_bars(*self._plotted(most), ax)


def compare(
    a: ModelSource,
    b: ModelSource,
    *,
    data: SampleSource | None = None,
    per_layer: bool = False,
    labels: Labels | None = None,
    fake_quant: bool = False,
    samples: int = 0,
    threads: int = 0,
    image_size: tuple[int, int] | None = None,
    mean: float | Sequence[float] | None = None,
    std: float | Sequence[float] | None = None,
    layout: str = "auto",
    channel_order: str = "auto",
    shape: Shapes | None = None,
    state: Mapping[str, str] | None = None,
    steps: int = 0,
    mask: Sequence[str] | None = None,
    engine: str | Engine = "ort",
    ort_library: Path | None = None,
    openvino_library: Path | None = None,
    providers: Sequence[str] | None = None,
    plugin_libraries: Sequence[str] | None = None,
    engine_timeout: float | None = None,
    host: str | None = None,
    host_timeout: float | None = None,
    progress: Progress = False,
) -> CompareResult:
    """Runs two models on the same samples and measures how far their outputs are apart.

    Parameters
    ----------
    a, b
        Models; see `Model`. `a` is the reference.
    data
        Samples, in a form of `quantize`'s `calib`; None: random.
    per_layer : bool
        Also the error that each layer of `b` introduces.
    labels
        As of `quantize`: accuracy is measured, too.
    fake_quant : bool
        Compute Q/DQ in float: what the graph defines, not what the engine makes of it.
    samples : int
        The first ones alone; 0: all.
    threads : int
        Of the engine; 0: all.
    image_size, mean, std, layout, channel_order, shape, state, steps, mask
        Data, as of `quantize`. Each model runs on its own states.
    engine : str or Engine
        What runs both.
    ort_library, openvino_library, providers, plugin_libraries, engine_timeout, host, host_timeout
        Of the engine, as of `quantize`.
    progress : bool or function
        As of `quantize`.

    Returns
    -------
    CompareResult
        SQNR in dB of each output.

    Raises
    ------
    FormatError, UnsupportedError, EngineError, UsageError, FileError, OutOfMemory, Cancelled
        See `qdq.errors`.

    Examples
    --------
    >>> qdq.compare("model.onnx", "model.qdq.onnx", data="test.npz").sqnr_db
    """
    given = check_types(locals(), compare.__kwdefaults__)
    job = Job(progress)
    one, two = open_model(a), open_model(b)
    chosen = data if data is not None else "random:0"
    of_data = {"labels": labels, "max_samples": given["samples"], "argument": "data"}
    with (
        open_engine(engine, job, given) as runner,
        closing(open_data(chosen, one, job, given, **of_data)) as source,
    ):
        options = Options("qdq_compare_opts", job, given)
        parts = runner.c, one.c, two.c, source.c, options.c
        report = job.report(lib.qdq_compare, *parts)
        layers = job.report(lib.qdq_compare_layers, *parts) if per_layer else None
        return CompareResult(report, layers)


@dataclasses.dataclass(frozen=True)
class BenchResult:
    """Latencies of models that were timed in turns."""

    #: in the order of the arguments; `speedup` is against the first
    models: tuple[Times, ...]
    #: of the sequence that was timed; the times of models are those of one step
    steps: int = 1

    @property
    def median_ms(self) -> tuple[float, ...]:
        """Median latency of each model in ms; of a sequence, of one step."""
        return tuple(m.median_ms for m in self.models)

    @property
    def sequence_ms(self) -> tuple[float, ...]:
        """The same of all steps together."""
        return tuple(ms * self.steps for ms in self.median_ms)

    @property
    def speedup(self) -> float:
        """Latency of the first model / latency of the last one."""
        return self.models[-1].speedup

    @property
    def report(self) -> BenchReport:
        """All numbers; ``report.to_dict()`` for JSON."""
        return BenchReport(models=self.models, steps=self.steps)

    def __repr__(self) -> str:
        shown = ", ".join(f"{ms:.4g} ms" for ms in self.median_ms[:6])
        more = ", ..." if len(self.models) > 6 else ""
        return f"<qdq.BenchResult: {shown}{more}, {self.speedup:.2f} times as fast>"

    def _repr_html_(self) -> str:
        rows = [
            (f"model {i}", f"{m.median_ms:.4g} ms, {m.speedup:.2f} times as fast")
            for i, m in enumerate(self.models)
        ]
        return html_table(rows) + svg_bars(*self._plotted())

    def _plotted(self) -> tuple[dict[str, float], str]:
        return {f"model {i}": m.median_ms for i, m in enumerate(self.models)}, "ms"

    def plot(self, ax: Any = None) -> Any:
        """Draws the latencies with matplotlib."""
        return plot_bars(*self._plotted(), ax)


def bench(
    *models: ModelSource,
    data: SampleSource | None = None,
    rounds: int = 0,
    warmup: int = 0,
    threads: int = 1,
    seed: int = 0,
    max_ms: float = 0,
    shape: Shapes | None = None,
    min_shape: Shapes | None = None,
    opt_shape: Shapes | None = None,
    max_shape: Shapes | None = None,
    state: Mapping[str, str] | None = None,
    steps: int = 0,
    mask: Sequence[str] | None = None,
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
) -> BenchResult:
    """Times models in turns, so that drift of the machine hits all alike.

    Parameters
    ----------
    *models
        One or more; see `Model`.
    data
        The first sample, or with `state` the first sequence, is the input of all; None: random
        values.
    rounds : int
        0: as many as 2 s allow, at least 20. With `state` a round is a sequence.
    warmup : int
        Runs of each model before; 0: the default of the library.
    threads : int
        Of the engine; 0: all.
    seed : int
        Of random inputs.
    max_ms : float, ms
        End after this time; 0: no limit.
    shape : dict
        Shapes of inputs; open dims are 1.
    min_shape, opt_shape, max_shape : dict
        Shapes of open inputs for which trtexec builds: the smallest, the timed and the largest one;
        None: as `opt_shape`, which is the shape on other engines.
    state, steps, mask
        Time a sequence step by step, as of `quantize`: a step, and the whole. Each model runs on
        its own states. Without `data` the sequence is `steps` random inputs.
    engine : str or Engine
        What runs them.
    ort_library, openvino_library, providers, plugin_libraries, engine_timeout, host, \
host_timeout, trtexec, trtexec_args, timing_cache
        Of the engine, as of `quantize`.
    progress : bool or function
        As of `quantize`.

    Returns
    -------
    BenchResult
        Latencies in ms; with `state` those of a step, the mean over the sequence.

    Raises
    ------
    FormatError, UnsupportedError, EngineError, UsageError, FileError, OutOfMemory, Cancelled
        See `qdq.errors`.

    Examples
    --------
    >>> qdq.bench("model.onnx", "model.qdq.onnx").speedup
    """
    if not models:
        raise TypeError("bench: found no model, expected one or more")
    given = check_types(locals(), bench.__kwdefaults__)
    check_states(given)
    usual = take_ranges(engine, given)
    if data is None and given["state"]:
        if not given["steps"]:
            raise errors.UsageError("found state without data and steps, expected one of them")
        data = f"random:{given['seed']}"
    job = Job(progress)
    own = [open_model(m) for m in models]
    options = Options("qdq_bench_opts", job, given)
    with ExitStack() as stack:
        runner = stack.enter_context(open_engine(engine, job, given))
        source = None
        if data is not None:
            of_data = {**given, "shape": usual or None}
            opened = open_data(data, own[0], job, of_data, max_samples=1, argument="data")
            source = stack.enter_context(closing(opened))
        if source is not None and not given["state"]:
            inputs, n = ffi.new("qdq_named_array const **"), ffi.new("size_t *")
            job.run(lib.qdq_data_get, source.c, 0, inputs, n)
            options.c.inputs, options.c.n_inputs = inputs[0], n[0]
        sessions = [stack.enter_context(Session(runner, m, job, given)) for m in own]
        out = ffi.new("qdq_bench_model[]", len(own))
        steps_timed = 1
        if source is not None and given["state"]:
            parts = [(s.c, m.c, own[0].c) for s, m in zip(sessions, own)]
            ran = ffi.new("qdq_sequence_model[]", parts)
            job.run(lib.qdq_bench_sequence, ran, len(own), source.c, options.c, out)
            steps_timed = int(lib.qdq_data_steps(source.c))
        else:
            at = ffi.new("qdq_session *[]", [s.c for s in sessions])
            job.run(lib.qdq_bench, at, len(own), options.c, out)
        return BenchResult(tuple(read(out[i]) for i in range(len(own))), steps_timed)
