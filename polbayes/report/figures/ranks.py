"""The probability of every rank, a heat map per dimension."""

from collections.abc import Mapping, Sequence

import pandas as pd
from matplotlib.figure import Figure

from polbayes.report.figures.matrices import plot_matrices
from polbayes.report.figures.style import CHANCE, dimensions_of


def plot_ranks(ranks: pd.DataFrame, *, order: Mapping[str, Sequence[str]]) -> Figure:
    """Draw the probability that a model has a rank, rank 1 being furthest left."""
    matrices = {}
    for dimension in dimensions_of(ranks["dimension"].tolist()):
        rows = ranks[ranks["dimension"] == dimension]
        matrix = rows.pivot(index="model", columns="rank", values="probability")
        matrices[dimension] = matrix.loc[complete(order.get(dimension, ()), matrix.index)]
    return plot_matrices(
        matrices,
        palette=CHANCE,
        limits=(0, 1),
        write=percent,
        dress=lambda axes: axes.set_xlabel("rank (1 = furthest left), probability in %"),
    )


def complete(order: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return `names` in the given order, those that it does not name at the end."""
    present = set(names)
    first = [name for name in order if name in present]
    return first + [name for name in names if name not in set(first)]


def percent(probability: float) -> str:
    """Write a probability into a small cell, never as certain."""
    if probability < 0.01:
        return "<1"
    return ">99" if probability > 0.99 else f"{100 * probability:.0f}"
