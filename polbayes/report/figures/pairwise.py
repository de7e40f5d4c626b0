"""The probability that one model is left of another, a matrix per dimension."""

from collections.abc import Mapping, Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from polbayes.report.figures.matrices import plot_matrices
from polbayes.report.figures.ranks import complete, percent
from polbayes.report.figures.style import LEFT_HIGH, dimensions_of


def plot_pairwise(pairwise: pd.DataFrame, *, order: Mapping[str, Sequence[str]]) -> Figure:
    """Draw the probability that the model of the row is left of the model of the column."""
    matrices = {}
    for dimension in dimensions_of(pairwise["dimension"].tolist()):
        rows = pairwise[pairwise["dimension"] == dimension]
        matrix = rows.pivot(index="model_a", columns="model_b", values="p_left")
        names = complete(
            order.get(dimension, ()), list(dict.fromkeys([*matrix.index, *matrix.columns]))
        )
        matrices[dimension] = matrix.reindex(index=names, columns=names)
    return plot_matrices(matrices, palette=LEFT_HIGH, limits=(0, 1), write=percent, dress=_dress)


def _dress(axes: Axes) -> None:
    axes.set_xlabel("… left of this one, probability in %")
    axes.set_ylabel("this model is …")
