"""How far prefixes move the bias of each model."""

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from polbayes.report.figures.forest import Panel, descending, plot_forest
from polbayes.report.figures.style import SERIES, label


def plot_prefix_shift(shifts: pd.DataFrame, *, prefixes: Sequence[str]) -> Figure:
    """Draw the mean absolute shift, and how far the other prefixes are from some."""
    mean = shifts[shifts["measure"] == "mean_absolute_shift"]
    panels = []
    if len(mean):
        panels.append(Panel("Mean absolute shift from the baseline", descending(mean), SERIES[0]))
    order = panels[0].rows["model"].tolist() if panels else None
    others = shifts[shifts["measure"] == "others_minus_this"]
    for k, prefix in enumerate(prefixes):
        rows = others[others["prefix"] == prefix]
        if len(rows):
            if order is not None:
                rows = rows.set_index("model").reindex(order).reset_index()
            title = f"Others minus {label(prefix, 24)}"
            panels.append(Panel(title, rows, SERIES[1 + k % 6], "sD^"[k % 3]))
    return plot_forest(panels, centre=0.0, dress=_dress)


def _dress(axes: Axes) -> None:
    axes.set_xlabel("bias (scale from −1 to 1)")
