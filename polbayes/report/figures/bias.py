"""The bias measure of each model: posterior and classical estimate side by side."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from polbayes.instrument.poles import POLITICAL, Poles
from polbayes.report.figures import style
from polbayes.report.figures.forest import ascending, draw_intervals, draw_lines, say_missing
from polbayes.report.figures.matrices import complete


def plot_bias(
    posterior: pd.DataFrame | None, classical: pd.DataFrame | None, poles: Poles = POLITICAL
) -> Figure:
    """Draw the bias on [-1, 1] by dimension, models in one order in all panels."""
    given = [table for table in (posterior, classical) if table is not None]
    dimensions = style.dimensions_of([d for table in given for d in table["dimension"]])
    models = _order(given, dimensions)
    with style.drawing(style.WIDTH, 1.6 + 0.4 * max(len(models), 2)) as figure:
        grid = figure.subplots(1, len(dimensions), squeeze=False, sharey=True, sharex=True)[0]
        for axes, dimension in zip(grid, dimensions, strict=True):
            style.rule(axes, 0.0)
            _draw(axes, posterior, classical, dimension, models)
            axes.set(
                title=style.heading(dimension, poles).replace(" together", ""), xlim=(-1.03, 1.03)
            )
            style.faint_grid(axes, "y")
            axes.tick_params(axis="y", length=0)
            style.poles(axes, poles.on(dimension))
        style.row_names(grid[0], models)
        style.legend_above(figure, 2)
    return figure


def _order(tables: list[pd.DataFrame], dimensions: list[str]) -> list[str]:
    first = tables[0]
    rows = ascending(first[first["dimension"] == dimensions[-1]])
    every = [str(m) for table in tables for m in table["model"]]
    return complete(rows["model"].tolist(), list(dict.fromkeys(every)))


def _draw(
    axes: Axes,
    posterior: pd.DataFrame | None,
    classical: pd.DataFrame | None,
    dimension: str,
    models: list[str],
) -> None:
    at = np.arange(len(models), dtype=float)
    both = posterior is not None and classical is not None
    known = np.zeros(len(models), dtype=bool)
    if posterior is not None:
        rows = _rows(posterior, dimension, models)
        known |= np.isfinite(rows["estimate"].to_numpy(dtype=float))
        draw_intervals(
            axes, rows, at - 0.17 * both, colour=style.SERIES[0], marker="o", name="posterior"
        )
    if classical is not None:
        rows, below = _rows(classical, dimension, models), at + 0.17 * both
        known |= np.isfinite(rows["estimate"].to_numpy(dtype=float))
        look: style.Look = {
            "colour": style.SERIES[1],
            "marker": "s",
            "name": "classical, bootstrap",
        }
        draw_intervals(axes, rows, below, **look, hollow=True)
        if {"lower_item", "upper_item"} <= set(rows.columns):
            bounds = ("lower_item", "upper_item")
            draw_lines(axes, rows, below, colour=style.SERIES[1], bounds=bounds, width=1.0)
    for y in np.flatnonzero(~known):
        say_missing(axes, float(y))


def _rows(table: pd.DataFrame, dimension: str, models: list[str]) -> pd.DataFrame:
    rows = table[table["dimension"] == dimension]
    return rows.drop_duplicates("model").set_index("model").reindex(models)
