"""Correlations of text features of wordings, as a heat map."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from polbayes.report.figures.heat import CELL_HEIGHT, draw_heat, width_for
from polbayes.report.figures.style import drawing
from polbayes.report.numbers import number

# Different from the colours of left and right and of agreeing.
_TOGETHER = "PRGn"


def plot_feature_correlations(correlations: pd.DataFrame) -> Figure:
    """Draw correlations; bold if the interval over items excludes 0.

    The table has the columns ``first, second, estimate, lower_item, upper_item``, one row per pair.
    """
    names = list(dict.fromkeys([*correlations["first"], *correlations["second"]]))
    values = pd.DataFrame(np.nan, index=names, columns=names)
    strong = pd.DataFrame(False, index=names, columns=names)
    for row in correlations.to_dict(orient="records"):
        for at in ((row["first"], row["second"]), (row["second"], row["first"])):
            values.loc[at] = row["estimate"]
            strong.loc[at] = bool(row["lower_item"] > 0 or row["upper_item"] < 0)
    values.index = values.index.str.replace("_", " ")
    values.columns = values.columns.str.replace("_", " ")
    with drawing(width_for(values, cell=0.7), 2.0 + CELL_HEIGHT * max(len(values), 2)) as figure:
        axes = figure.subplots()
        draw_heat(axes, values, palette=_TOGETHER, limits=(-1, 1), write=number, strong=strong)
        axes.set_title("Correlation of text features")
    return figure
