"""Consistency of the answers across wordings of one item, per model."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from polbayes.report.figures import style
from polbayes.report.figures.forest import draw_intervals, say_missing

PANELS = {"reversed": "Polar: negations and opposites", "paraphrase": "Paraphrastic: same meaning"}
# Measure: name, colour, marker, whether hollow, offset within the row.
_SERIES = {
    "consistent_4": ("same of four levels", style.SERIES[0], "o", False, -0.15),
    "consistent_2": ("same of two sides", style.SERIES[1], "s", True, 0.15),
}


def plot_consistency(consistency: pd.DataFrame) -> Figure:
    """Draw the shares of answers that are as expected, models in the order of the table."""
    models = list(dict.fromkeys(consistency["model"].astype(str)))
    kinds = [kind for kind in PANELS if (consistency["kind"] == kind).any()]
    width = style.WIDTH if len(kinds) > 1 else style.NARROW
    with style.drawing(width, 1.6 + 0.36 * max(len(models), 2)) as figure:
        grid = figure.subplots(1, len(kinds), squeeze=False, sharey=True)[0]
        for axes, kind in zip(grid, kinds, strict=True):
            _draw(axes, consistency[consistency["kind"] == kind], models)
            axes.set(title=PANELS[kind], xlim=(-0.02, 1.02), xlabel="share as expected")
            style.percent_ticks(axes.xaxis)
            style.faint_grid(axes, "y")
            axes.tick_params(axis="y", length=0)
        style.row_names(grid[0], models)
        style.legend_above(figure, 2)
    return figure


def _draw(axes: Axes, table: pd.DataFrame, models: list[str]) -> None:
    known = np.zeros(len(models), dtype=bool)
    for measure, (name, colour, marker, hollow, shift) in _SERIES.items():
        rows = table[table["measure"] == measure].astype({"model": str})
        rows = rows.drop_duplicates("model").set_index("model").reindex(models)
        known |= np.isfinite(rows["estimate"].to_numpy(dtype=float))
        at = np.arange(len(models)) + shift
        draw_intervals(axes, rows, at, colour=colour, marker=marker, name=name, hollow=hollow)
    for y in np.flatnonzero(~known):
        say_missing(axes, float(y))
