"""Figures of Haller et al. (2024): answers to every item over its wordings, unstable items."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from polbayes.report.figures.style import FAINT, INK, SERIES, Look, drawing, faint_grid, label

_WIDE = 11.0
_MOST_NAMED = 70


def plot_item_boxes(
    table: pd.DataFrame, *, items: Sequence[str], beyond: Mapping[tuple[str, str], np.ndarray]
) -> Figure:
    """Draw box plots of R+ over wordings by item, one panel per model (Figures 2, 4, 5)."""
    models = list(dict.fromkeys(table["model"].astype(str)))
    with drawing(_WIDE, 0.7 + 1.75 * len(models)) as figure:
        grid = figure.subplots(len(models), 1, squeeze=False, sharex=True, sharey=True)[:, 0]
        for axes, model in zip(grid, models, strict=True):
            rows = table[table["model"].astype(str) == model]
            wide = rows.pivot(index="item", columns="measure", values="estimate")
            _boxes(axes, wide.reindex(list(items)))
            for k, item in enumerate(items):
                values = beyond.get((model, item), np.empty(0))
                axes.plot(
                    np.full(len(values), k), values, ".", color=SERIES[0], markersize=2, alpha=0.4
                )
            axes.set_title(label(model))
        _name_items(grid[-1], items)
    return figure


def _boxes(axes: Axes, wide: pd.DataFrame) -> None:
    at = np.arange(len(wide))
    names = ("q25", "median", "q75", "whisker_low", "whisker_high")
    low, middle, high, bottom, top = (wide[n].to_numpy(dtype=float) for n in names)
    axes.axhline(0.5, color=FAINT, linewidth=0.8, linestyle="--", zorder=1)
    axes.vlines(at, bottom, low, color=INK, linewidth=0.7, zorder=2)
    axes.vlines(at, high, top, color=INK, linewidth=0.7, zorder=2)
    look: Look = {"color": SERIES[5], "edgecolor": INK, "linewidth": 0.5, "alpha": 0.7}
    axes.bar(at, high - low, bottom=low, width=0.7, **look, zorder=3)
    axes.hlines(middle, at - 0.35, at + 0.35, color=INK, linewidth=1.4, zorder=4)
    axes.set(ylim=(-0.03, 1.03), ylabel="R⁺")
    faint_grid(axes, "y")


def _name_items(axes: Axes, items: Sequence[str]) -> None:
    step = -(-len(items) // _MOST_NAMED)
    at = range(0, len(items), step)
    axes.set_xticks(list(at), [label(items[k], 12) for k in at], rotation=90, fontsize=7)
    axes.set_xlim(-0.8, len(items) - 0.2)
    axes.set_xlabel("item")


def plot_item_bars(table: pd.DataFrame, *, items: Sequence[str]) -> Figure:
    """Draw the normalised standard deviation of every item with its standard error (Figure 3)."""
    rows = table.set_index("item").reindex(list(items))
    at = np.arange(len(rows))
    value, se = rows["estimate"].to_numpy(dtype=float), rows["se"].to_numpy(dtype=float)
    with drawing(_WIDE, 3.4) as figure:
        axes = figure.subplots()
        axes.bar(at, value, width=0.75, color=SERIES[0], alpha=0.75, zorder=2)
        axes.vlines(at, value - se, value + se, color=INK, linewidth=1.1, zorder=3)
        axes.set(ylim=(-0.02, 1.05), ylabel="normalised SD of R⁺")
        faint_grid(axes, "y")
        _name_items(axes, items)
    return figure
