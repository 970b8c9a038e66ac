"""How results are shown: tables in notebooks, and plots with matplotlib."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from typing import Any


def html_table(rows: Sequence[tuple[str, str]]) -> str:
    cells = "".join(f"<tr><td>{html.escape(a)}</td><td>{html.escape(b)}</td></tr>" for a, b in rows)
    return f"<table>{cells}</table>"


def axes(ax: Any) -> Any:
    """`ax`, or those of a new figure."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot
    except ImportError:
        raise ImportError("plot() needs matplotlib: pip install matplotlib") from None
    return matplotlib.pyplot.subplots(layout="constrained")[1]


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
