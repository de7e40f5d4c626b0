"""The coefficients of a mixed model."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from polbayes.report.figures.forest import Panel, plot_forest
from polbayes.report.figures.style import SERIES, label


def plot_coefficients(coefficients: pd.DataFrame, *, by: str | None) -> Figure:
    """Draw coefficients with their intervals on one scale.

    With `by`, the variable for each of whose levels the model was fitted, there is one axes per
    coefficient and a row per level; otherwise one axes with a row per coefficient.
    """
    if by is None:
        rows = coefficients.assign(model=coefficients["term"])
        return plot_forest([Panel("Coefficients", rows)], centre=0.0, dress=_named)
    panels = [
        Panel(
            label(str(term), 40), rows.assign(model=rows[by]), SERIES[k % len(SERIES)], "osD"[k % 3]
        )
        for k, (term, rows) in enumerate(coefficients.groupby("term", sort=False))
    ]
    return plot_forest(panels, centre=0.0, dress=_named)


def _named(axes: Axes) -> None:
    axes.set_xlabel("coefficient (0 = no effect)")
