"""What quantize() returns."""

from __future__ import annotations

import dataclasses
import math
import os
from typing import Any

from . import errors
from ._core import Path
from ._model import Model, kind_of
from ._plan import Plan, Target
from ._records import (
    CompareReport,
    EngineCheck,
    GoalReport,
    QuantizeReport,
    QuantizeWarning,
    Split,
    Times,
)
from ._show import decibels, html_table, plot_bars, rows_of, svg_bars


@dataclasses.dataclass(frozen=True)
class Speed:
    """How fast the quantized model is, timed in turns with the model that was given."""

    #: the model that was given
    before: Times
    #: the quantized one, with its speedup
    after: Times
    #: the same with the shapes of a sample fixed by the engine; None: shapes are fixed, or no time
    fixed: Times | None = None

    def __repr__(self) -> str:
        a, b = self.before.median_ms, self.after.median_ms
        return f"<qdq.Speed: {a:.4g} ms -> {b:.4g} ms, {self.after.speedup:.2f} times as fast>"


class QuantizeResult:
    """What `quantize` made.

    Attributes
    ----------
    model
        The quantized model, as the kind of object that was given; the path of `output` where
        that was a path, or a `Model` without `output`.
    plan : Plan
        What is quantized, with scales and reasons.
    target : Target
        The rules that placed it.
    compared : CompareReport or None
        Distance of the outputs on samples that did not calibrate.
    goal : GoalReport or None
        The accuracy goal and how it was reached; None: no goal.
    engine_check : EngineCheck or None
        Whether the engine computes what the model defines.
    speed : Speed or None
        Latency against the model that was given.
    verdict : str
        ``"reached"``, ``"missed"``, ``"float"`` (only the float model reaches the default goal) or
        ``"unknown"`` (no goal, or nothing was measured).
    split : Split
        Which samples calibrated, and which evaluated.
    metric : float
        Of `model`, where `metric=` was given; NAN: not measured.
    report : QuantizeReport
        All that was measured; ``report.to_dict()`` for JSON.
    """

    def __init__(self) -> None:
        self.source: Any = None
        self.output: Path | None = None
        self.quantized: Model
        self.plan: Plan
        self.target: Target
        self.compared: CompareReport | None = None
        self.goal: GoalReport | None = None
        self.engine_check: EngineCheck | None = None
        self.speed: Speed | None = None
        self.verdict: str
        self.split: Split
        self.metric = math.nan
        self.warnings: tuple[QuantizeWarning, ...] = ()
        self.report: QuantizeReport
        self._model: Any = None

    def written(self) -> None:
        """The model is at `output`, and no longer in memory."""
        if kind_of(self.source) == "path":
            self._model = os.fspath(self.output or "")
            self.quantized = Model(self._model)

    @property
    def model(self) -> Any:
        if self._model is None:
            self._model = self.quantized.to_kind(kind_of(self.source))
        return self._model

    @property
    def sqnr_db(self) -> float:
        """SQNR in dB of the worst output; NAN: not measured."""
        return self.compared.worst_db if self.compared is not None else math.nan

    @property
    def speedup(self) -> float:
        """Latency of the input model / latency of this one; NAN: not measured."""
        return self.speed.after.speedup if self.speed is not None else math.nan

    def __repr__(self) -> str:
        s = self.plan.summary
        parts = [f"{s.n_tensors} tensors and {s.n_weights} weights for {s.target}"]
        if self.compared is not None:
            parts.append(f"SQNR {self.sqnr_db:.2f} dB")
        if self.speed is not None:
            parts.append(f"{self.speedup:.2f} times as fast")
        return f"<qdq.QuantizeResult: {', '.join(parts)}>"

    def _repr_html_(self) -> str:
        rows = rows_of(self.plan.summary)
        rows.append(("verdict", self.verdict))
        if self.speed is not None:
            a = self.speed.after
            rows.append(("speedup", f"{a.speedup:.2f} ({a.ci_low:.2f} to {a.ci_high:.2f})"))
        plots = [svg_bars(*self._plotted(30))] if self.compared is not None else []
        if self.speed is not None:
            times = {"input": self.speed.before, "result": self.speed.after}
            plots.append(svg_bars({name: t.median_ms for name, t in times.items()}, "ms"))
        return html_table(rows) + "".join(plots)

    def plot(self, ax: Any = None, *, most: int = 30) -> Any:
        """Draws SQNR with matplotlib, and returns the axes.

        It is that of the layers that lose most, if layers went back to float for the goal; else
        that of each output. ``compare(per_layer=True)`` measures the layers of any model.
        """
        if self.compared is None:
            raise errors.UsageError("plot: nothing was measured, expected samples")
        return plot_bars(*self._plotted(most), ax)

    def _plotted(self, most: int) -> tuple[dict[str, float], str]:
        assert self.compared is not None
        if self.goal is not None and self.goal.layers:
            worst = sorted(self.goal.layers, key=lambda e: -e.error)[:most]
            layers = {e.node + (" (float)" if e.is_float else ""): decibels(e.error) for e in worst}
            return layers, "SQNR of the layer, dB"
        return {o.name: o.sqnr_db for o in self.compared.outputs}, "SQNR, dB"
