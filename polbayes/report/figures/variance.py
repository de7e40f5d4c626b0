"""Sources of the differences between answers: bars of shares."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from polbayes.instrument.poles import POLITICAL, Poles
from polbayes.report.figures import style
from polbayes.report.figures.forest import draw_lines


def plot_variance(
    shares: pd.DataFrame, names: Mapping[str, str], poles: Poles = POLITICAL
) -> Figure:
    """Draw the shares of variance with intervals, one panel per dimension."""
    dimensions = style.dimensions_of(shares["dimension"].tolist())
    present = list(dict.fromkeys(shares["component"]))
    order = [n for n in names if n in present] + [n for n in present if n not in names]
    with style.drawing(
        max(style.WIDTH, 2.4 + 2.6 * len(dimensions)), 1.2 + 0.3 * len(order)
    ) as figure:
        grid = figure.subplots(1, len(dimensions), squeeze=False, sharex=True, sharey=True)
        for axes, dimension in zip(grid.flat, dimensions, strict=True):
            rows = shares[shares["dimension"] == dimension].set_index("component").reindex(order)
            _draw(axes, rows, style.COLOUR.get(dimension, style.INK))
            axes.set_title(style.heading(dimension, poles))
        style.row_names(grid.flat[0], [names.get(name, name) for name in order])
    return figure


def _draw(axes: Axes, rows: pd.DataFrame, colour: str) -> None:
    at = np.arange(len(rows))
    axes.barh(at, rows["estimate"].to_numpy(dtype=float), color=colour, alpha=0.45, height=0.62)
    draw_lines(axes, rows, at, colour=style.INK, width=1.6)
    style.faint_grid(axes, "x")
    axes.set_axisbelow(True)
    axes.set_xlim(0, None)
    axes.xaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f}%")
    axes.set_xlabel("share of the variance")
