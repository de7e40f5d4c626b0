"""How unstable the answers to each item are under paraphrasing, over all models."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from polbayes.report.figures.forest import Panel, descending, plot_forest


def plot_instability(instability: pd.DataFrame) -> Figure:
    """Draw the normalised standard deviation of each item, the least stable at the top."""
    rows = descending(instability).rename(columns={"item": "model"})
    panel = Panel("Standard deviation of R⁺, 0 to 1 within each model", rows)
    return plot_forest([panel], centre=None, dress=_dress)


def _dress(axes: Axes) -> None:
    axes.set(xlim=(-0.03, 1.03), xlabel="← most stable item    least stable item →")
