"""optimize(), and whether two models compute the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any

from . import _core, errors
from ._arguments import check_types, reject_alone
from ._core import Job, Options, Path, Progress, Shapes
from ._data import IMAGES, SampleSource, open_data
from ._engines import OPTIONS as ENGINE
from ._engines import Engine, open_engine
from ._model import Model, ModelSource, open_model
from ._plan import Target, hand_over, reject_external
from ._qdq import lib
from ._records import OptimizeReport
from ._show import html_table, svg_bars


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
