"""Estimates of a run beside published ones, one row per model."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from polbayes.report.figures import style
from polbayes.report.figures.forest import draw_intervals, draw_lines, say_missing

HERE, THERE = "this run", "published"


@dataclass(frozen=True)
class Beside:
    """One panel: columns ``model``, ``estimate``, ``lower``, ``upper``, ``published``.

    Published intervals, if any, are in ``published_lower`` and ``published_upper``.
    """

    title: str
    rows: pd.DataFrame


def plot_beside(
    panels: Sequence[Beside],
    *,
    label: str,
    centre: float | None = 0.0,
    limits: tuple[float, float] | None = None,
) -> Figure:
    """Draw estimates with intervals, and published ones as open diamonds.

    A centre of None draws no vertical line, and limits of None are what the numbers need.
    """
    most = max(len(panel.rows) for panel in panels)
    across = min(len(panels), 2)
    down = -(-len(panels) // across)
    width = style.WIDTH if across > 1 else style.NARROW
    with style.drawing(width, 0.6 + down * (1.0 + 0.3 * max(most, 2))) as figure:
        every = style.abreast(figure, len(panels), across=across, sharex=True)
        for axes, panel in zip(every, panels, strict=True):
            if centre is not None:
                style.rule(axes, centre)
            _draw(axes, panel.rows)
            axes.set(title=panel.title, xlabel=label)
            if limits is not None:
                axes.set_xlim(*limits)
            axes.tick_params(axis="x", labelbottom=True)
        style.legend_above(figure, 2)
    return figure


def _draw(axes: Axes, rows: pd.DataFrame) -> None:
    at = np.arange(len(rows), dtype=float)
    own = np.isfinite(rows["estimate"].to_numpy(dtype=float))
    known = np.isfinite(rows["published"].to_numpy(dtype=float))
    apart = 0.13 * (own & known)
    draw_intervals(axes, rows, at - apart, colour=style.SERIES[0], marker="o", name=HERE)
    if "published_lower" in rows:
        bounds = ("published_lower", "published_upper")
        draw_lines(axes, rows, at + apart, colour=style.SERIES[1], bounds=bounds, width=1.2)
    look: style.Look = {"colour": style.SERIES[1], "hollow": True, "marker": "D", "markersize": 5.5}
    style.marks(axes, rows["published"], at + apart, **look, label=THERE)
    for y in np.flatnonzero(~(own | known)):
        say_missing(axes, float(y))
    style.faint_grid(axes, "y")
    axes.set_axisbelow(True)
    style.row_names(axes, rows["model"].astype(str).tolist())
