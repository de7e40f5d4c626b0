"""How much each model agrees whatever is said."""

import pandas as pd
from matplotlib.figure import Figure

from polbayes.report.figures.forest import Panel, descending, plot_forest
from polbayes.report.figures.style import SERIES, sides


def plot_acquiescence(acquiescence: pd.DataFrame) -> Figure:
    """Draw the acquiescence of each model, the one that agrees most at the top."""
    panel = Panel("Acquiescence", descending(acquiescence), SERIES[2])
    return plot_forest([panel], centre=0.0, dress=lambda axes: sides(axes, "says no", "says yes"))
