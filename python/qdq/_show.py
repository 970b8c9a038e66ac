"""How results are shown: tables in notebooks, and plots with matplotlib."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from typing import Any

from ._core import package
from ._records import PlanSummary


def html_table(rows: Sequence[tuple[str, str]]) -> str:
    cells = "".join(f"<tr><td>{html.escape(a)}</td><td>{html.escape(b)}</td></tr>" for a, b in rows)
    return f"<table>{cells}</table>"


def rows_of(summary: PlanSummary) -> list[tuple[str, str]]:
    """What a plan quantizes, and leaves float."""
    rows = [("target", summary.target)]
    rows += [(c.what, f"{c.n} in 8 bits") for c in summary.quantized]
    return rows + [(c.what, f"{c.n} float") for c in summary.left_float]


WIDTH, ROW, LABEL = 640, 20, 220  # of pictures in notebooks, in pixels
TEXT = 'font-family="sans-serif" font-size="12" fill="currentColor"'


def svg(height: int, label: str, inside: Sequence[str]) -> str:
    return (
        f'<svg role="img" aria-label="{html.escape(label)}" width="{WIDTH}" height="{height}" '
        f'viewBox="0 0 {WIDTH} {height}" xmlns="http://www.w3.org/2000/svg">{"".join(inside)}</svg>'
    )


def svg_text(x: float, y: float, text: str, anchor: str = "start") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {TEXT}>{html.escape(text)}</text>'
    )


def svg_bars(values: Mapping[str, float], label: str) -> str:
    """What `plot_bars` draws, for a notebook."""
    shown = {name: value for name, value in values.items() if math.isfinite(value)}
    if not shown:
        return ""
    low, high = min(0.0, *shown.values()), max(0.0, *shown.values())
    scale = (WIDTH - LABEL - 70) / (high - low or 1)
    parts = []
    for i, (name, value) in enumerate(shown.items()):
        y = i * ROW
        cut = name if len(name) <= 32 else name[:15] + "..." + name[-14:]
        left, right = (LABEL + (v - low) * scale for v in sorted((0.0, value)))
        parts.append(f"<g><title>{html.escape(name)}: {value:.4g} {html.escape(label)}</title>")
        parts.append(svg_text(LABEL - 6, y + 14, cut, "end"))
        parts.append(
            f'<rect x="{left:.1f}" y="{y + 3}" width="{right - left:.1f}" height="{ROW - 6}" '
            'fill="#4878a8"/>'
        )
        parts.append(svg_text(right + 5, y + 14, f"{value:.4g}") + "</g>")
    parts.append(svg_text(LABEL, len(shown) * ROW + 14, label))
    return svg((len(shown) + 1) * ROW, label, parts)


def svg_steps(points: Sequence[tuple[float, float]], lines: Mapping[str, float]) -> str:
    """A latency in ms that falls with the seconds, and others that stay, for a notebook."""
    levels = {name: ms for name, ms in lines.items() if math.isfinite(ms)}
    top = max(ms for ms in (*levels.values(), *(ms for _, ms in points))) or 1
    end = max(s for s, _ in points) or 1
    width, height = WIDTH - LABEL, 8 * ROW

    def at(s: float, ms: float) -> tuple[float, float]:
        return LABEL + s / end * width, height - ms / top * (height - ROW)

    path = "M{:.1f} {:.1f}".format(*at(*points[0]))
    for s, ms in points[1:]:
        x, y = at(s, ms)
        path += f"H{x:.1f}V{y:.1f}"
    parts = [f'<path d="{path}H{WIDTH}" fill="none" stroke="#4878a8" stroke-width="2"/>']
    for name, ms in levels.items():
        y = at(0, ms)[1]
        parts.append(f'<path d="M{LABEL} {y:.1f}H{WIDTH}" stroke="gray" stroke-dasharray="4"/>')
        parts.append(svg_text(LABEL - 6, y + 4, f"{name} {ms:.4g} ms", "end"))
    parts.append(svg_text(LABEL, height + 14, f"best latency, over {end:.0f} s"))
    return svg(height + ROW, "best latency, ms", parts)


def axes(ax: Any) -> Any:
    """`ax`, or those of a new figure."""
    if ax is not None:
        return ax
    return package("matplotlib.pyplot", "plot()").subplots(layout="constrained")[1]


def plot_bars(values: Mapping[str, float], label: str, ax: Any) -> Any:
    """A bar for each value, from the top down; those that are not finite are left out."""
    ax = axes(ax)
    shown = {name: value for name, value in values.items() if math.isfinite(value)}
    ax.barh(list(shown), list(shown.values()))
    ax.set_xlabel(label)
    ax.invert_yaxis()
    return ax


def decibels(error: float) -> float:
    """SQNR in dB of an error: its energy by that of the signal."""
    return -10 * math.log10(error) if error > 0 else math.inf
