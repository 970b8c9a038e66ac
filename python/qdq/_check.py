"""check(): what is wrong with a model, and what an engine makes of its Q/DQ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing, nullcontext
from typing import Any

from ._arguments import check_types, reject_alone
from ._core import Job, Options, Path, Progress, Shapes
from ._data import IMAGES, SampleSource, open_data
from ._engines import OPTIONS as ENGINE
from ._engines import Engine, open_engine
from ._model import Model, ModelSource, open_model
from ._plan import Target
from ._qdq import lib
from ._quantize_options import target_of
from ._records import EngineCheck, Finding, Record, TargetCheck
from ._show import html_table


class CheckReport(Record):
    """All that `check` found."""

    findings: tuple[Finding, ...]
    target_check: TargetCheck | None
    engine_check: EngineCheck | None


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
            target = target_of(runner.name)
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
    with (
        closing(open_data(data, model, job, given, argument="data")) as samples,
        nullcontext() if engine.runs_as_written else Engine("ort", job=job) as reference,
    ):
        options = Options("qdq_verify_opts", job, given, reference=reference)
        parts = model.c, engine.c, samples.c, options.c
        checked: EngineCheck = job.report(lib.qdq_verify_engine, *parts)
        return checked
