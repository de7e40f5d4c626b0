"""Observed shares of agreement against those predicted by the fitted model."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from polbayes.report.figures import style

PANELS: Mapping[str, str] = {
    "agreement_by_keying": "{who} and side\nof the statement",
    "agreement_by_prefix": "{who} and prefix",
    "agreement_by_item": "Statement and\nits side",
}
INSIDE, OUTSIDE = style.SERIES[0], style.SERIES[1]
_FEW = 40


def plot_predictive(predictive: pd.DataFrame, *, what: str, who: str = "model") -> Figure:
    """Draw observed against predicted agreement, a panel for each way of grouping answers."""
    present = [name for name in PANELS if (predictive["statistic"] == name).any()]
    with style.drawing(max(style.WIDTH * len(present) / 3, 0.5 * style.WIDTH), 4.3) as figure:
        grid = figure.subplots(1, len(present), squeeze=False, sharex=True, sharey=True)
        for axes, name in zip(grid.flat, present, strict=True):
            _panel(axes, predictive[predictive["statistic"] == name])
            axes.set_title(PANELS[name].format(who=who.capitalize()))
            axes.set_xlabel(f"{what}, as the model predicts")
        grid.flat[0].set_ylabel(f"{what}, as observed")
        _legend(figure)
    return figure


def _panel(axes: Axes, rows: pd.DataFrame) -> None:
    axes.plot([0, 1], [0, 1], color=style.FAINT, linewidth=0.9, zorder=1)
    inside = rows["observed"].between(rows["lower"], rows["upper"])
    small = len(rows) > _FEW
    for part, colour, marker in ((rows[inside], INSIDE, "o"), (rows[~inside], OUTSIDE, "X")):
        observed = part["observed"].to_numpy(dtype=float)
        low, high = (part[end].to_numpy(dtype=float) for end in ("lower", "upper"))
        axes.hlines(
            observed, low, high, color=colour, linewidth=1.0 if small else 1.8, alpha=0.5, zorder=2
        )
        look: style.Look = {
            "markersize": 3.5 if small else 5.5,
            "zorder": 3 if marker == "o" else 4,
        }
        edge: style.Look = {"markeredgecolor": "white", "markeredgewidth": 0.3}
        style.marks(axes, part["estimate"], observed, colour=colour, marker=marker, **look, **edge)
    axes.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03), aspect="equal")
    style.percent_ticks(axes.xaxis)
    style.percent_ticks(axes.yaxis)
    style.faint_grid(axes)
    axes.set_axisbelow(True)


def _legend(figure: Figure) -> None:
    handles = [
        Line2D([], [], color=colour, marker=marker, label=name)
        for colour, marker, name in (
            (INSIDE, "o", "observed within the interval"),
            (OUTSIDE, "X", "outside of it"),
        )
    ]
    figure.legend(handles=handles, loc="outside upper left", ncols=2, frameon=False)
