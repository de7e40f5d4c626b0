"""The models in order of their leaning, one panel per dimension."""

import pandas as pd
from matplotlib.figure import Figure

from polbayes.report.figures.forest import Panel, ascending, plot_forest
from polbayes.report.figures.style import COLOUR, INK, MARKER, dimensions_of, in_full, sides


def plot_leaning_forest(theta: pd.DataFrame) -> Figure:
    """Draw the latent leanings with intervals, the furthest left at the top of each panel."""
    panels = [
        Panel(
            in_full(dimension),
            ascending(theta[theta["dimension"] == dimension]),
            COLOUR.get(dimension, INK),
            MARKER.get(dimension, "o"),
        )
        for dimension in dimensions_of(theta["dimension"].tolist())
    ]
    return plot_forest(panels, centre=0.0, dress=sides)
