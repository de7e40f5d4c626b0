"""How decided each model is."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from polbayes.report.figures.forest import Panel, descending, plot_forest
from polbayes.report.figures.style import SERIES

MEASURES = {"decisiveness": "Decisiveness", "repetition": "Probability of the same answer again"}


def plot_decisiveness(table: pd.DataFrame, *, measure: str) -> Figure:
    """Draw a measure of decisiveness, the most decided model at the top."""
    rows = descending(table[table["measure"] == measure])
    panel = Panel(MEASURES[measure], rows, SERIES[0], "o")
    return plot_forest(
        [panel], centre=None, dress=_probability if measure == "repetition" else _logarithmic
    )


def _probability(axes: Axes) -> None:
    axes.set(xlim=(0, 1), xlabel="probability")


def _logarithmic(axes: Axes) -> None:
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("decisiveness (logarithmic scale)")
