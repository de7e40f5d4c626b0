"""Positions over time, a panel for each of those who were asked at several times."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from polbayes.instrument.poles import POLITICAL, Poles
from polbayes.report.figures import style

_ACROSS = 3


def plot_over_time(table: pd.DataFrame, who: Sequence[str], poles: Poles = POLITICAL) -> Figure:
    """Draw theta with intervals over the times, all panels on the same scale.

    The columns of `table` are ``who, time, dimension, estimate, lower, upper``.
    """
    times = sorted(table["time"].unique())
    dimensions = style.dimensions_of(list(dict.fromkeys(table["dimension"])))
    across = min(len(who), _ACROSS)
    down = -(-len(who) // across)
    width = style.WIDTH if across > 1 else style.NARROW
    with style.drawing(width, 0.5 + 2.0 * down) as figure:
        every = style.abreast(figure, len(who), across=across, sharex=True, sharey=True)
        for axes, name in zip(every, who, strict=True):
            rows = table[table["who"] == name]
            for k, dimension in enumerate(dimensions):
                own = rows[rows["dimension"] == dimension].set_index("time").reindex(times)
                _draw(axes, own, dimension, (k - (len(dimensions) - 1) / 2) * 0.16)
            axes.axhline(0.0, color=style.FAINT, linewidth=0.9, zorder=1)
            axes.set_title(style.label(name))
            style.faint_grid(axes, "y")
            axes.set_axisbelow(True)
            axes.set_xlim(-0.5, len(times) - 0.5)
            labels = [style.label(str(time)) for time in times]
            axes.set_xticks(range(len(times)), labels, rotation=45, ha="right")
            axes.tick_params(axis="x", length=0, labelbottom=True)
            axes.tick_params(axis="y", labelleft=True)
        for axes in every[::across]:
            axes.set_ylabel(f"← {poles.negative.word}   {poles.positive.word} →")
        if len(dimensions) > 1:
            handles = [line for line in every[0].get_lines() if line.get_marker() != "None"]
            headings = [style.heading(name, poles) for name in dimensions]
            place = {"loc": "outside upper left", "ncols": len(dimensions)}
            figure.legend(handles, headings, **place, frameon=False)
    return figure


def _draw(axes: Axes, rows: pd.DataFrame, dimension: str, shift: float) -> None:
    """Draw one dimension; times without an answer are skipped by the line."""
    at = np.arange(len(rows)) + shift
    colour, marker = style.COLOUR.get(dimension, style.INK), style.MARKER.get(dimension, "o")
    low, mean, high = (rows[name].to_numpy(dtype=float) for name in ("lower", "estimate", "upper"))
    known = np.isfinite(mean)
    axes.plot(at[known], mean[known], color=colour, linewidth=1.1, marker=None, zorder=2)
    axes.vlines(at[known], low[known], high[known], color=colour, linewidth=1.8, alpha=0.75)
    style.marks(axes, at, mean, colour=colour, marker=marker, markersize=5)
