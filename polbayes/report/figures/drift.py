"""How far models have moved between two snapshots."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from polbayes.report.figures.forest import Panel, plot_forest
from polbayes.report.figures.style import SERIES


def plot_drift(drift: pd.DataFrame) -> Figure:
    """Draw the differences of theta between snapshots with their intervals."""
    panels = [
        Panel(
            f"Drift on {dimension} questions",
            rows.assign(model=rows["before"] + " → " + rows["after"]),
            SERIES[k % len(SERIES)],
        )
        for k, (dimension, rows) in enumerate(drift.groupby("dimension", sort=False))
    ]
    return plot_forest(panels, centre=0.0, dress=_named)


def _named(axes: Axes) -> None:
    axes.set_xlabel("moved left (negative) or right")
