"""Positions over time, a panel for each of those who were asked at several times."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
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
                at = np.arange(len(times)) + (k - (len(dimensions) - 1) / 2) * 0.16
                colour = style.COLOUR.get(dimension, style.INK)
                marker = style.MARKER.get(dimension, "o")
                style.line_with_intervals(axes, at, own, colour=colour, marker=marker)
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
