"""The order of models, one heat map per dimension."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from polbayes.instrument.poles import POLITICAL, Poles
from polbayes.report.figures.heat import CELL_HEIGHT, draw_heat, width_for
from polbayes.report.figures.style import (
    CHANCE,
    LEFT_HIGH,
    WIDTH,
    dimensions_of,
    drawing,
    heading,
    labels,
)

# More cells than this, of forty models, have numbers that nobody can read, in the table alone.
_MOST_WRITTEN = 1600


def _plot_matrices(
    matrices: Mapping[str, pd.DataFrame],
    *,
    palette: str,
    limits: tuple[float, float],
    write: Callable[[float], str],
    dress: Callable[[Axes, str], object],
) -> Figure:
    """Draw one matrix per dimension, side by side if they fit.

    For palette, limits and number format see `polbayes.report.figures.heat.draw_heat`; `dress` sets
    what is specific to the axes of a dimension.
    """
    rows = max(len(m) for m in matrices.values())
    each = max(width_for(matrix, cell=0.46) for matrix in matrices.values())
    across = len(matrices) if each * len(matrices) <= 1.05 * WIDTH else 1
    down = len(matrices) // across
    with drawing(each * across, down * (1.9 + CELL_HEIGHT * rows)) as figure:
        grid = figure.subplots(down, across, squeeze=False)
        for axes, (dimension, matrix) in zip(grid.flat, matrices.items(), strict=True):
            written = write if matrix.size <= _MOST_WRITTEN else None
            draw_heat(axes, matrix, palette=palette, limits=limits, write=written)
            dress(axes, dimension)
    return figure


def plot_ranks(
    ranks: pd.DataFrame, *, order: Mapping[str, Sequence[str]], poles: Poles = POLITICAL
) -> Figure:
    """Draw the probability that a model has a rank, rank 1 being the most negative."""
    matrices = {}
    for dimension in dimensions_of(ranks["dimension"].tolist()):
        rows = ranks[ranks["dimension"] == dimension]
        matrix = rows.pivot(index="model", columns="rank", values="probability")
        matrices[dimension] = matrix.loc[complete(order.get(dimension, ()), matrix.index)]
    return _plot_matrices(
        matrices,
        palette=CHANCE,
        limits=(0, 1),
        write=percent,
        dress=partial(_name_ranks, poles=poles),
    )


def _name_ranks(axes: Axes, dimension: str, *, poles: Poles) -> None:
    axes.set_title(heading(dimension, poles))
    first = labels([poles.on(dimension).negative.towards])[0]
    axes.set_xlabel(f"rank (1 = furthest {first}), probability in %")


def complete(order: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return `names` in the given order, with the rest at the end."""
    present = set(names)
    first = [name for name in order if name in present]
    return first + [name for name in names if name not in set(first)]


def percent(probability: float) -> str:
    """Format a probability for a small cell, never as certain."""
    if probability < 0.01:
        return "<1"
    return ">99" if probability > 0.99 else f"{100 * probability:.0f}"


def plot_pairwise(
    pairwise: pd.DataFrame,
    *,
    order: Mapping[str, Sequence[str]],
    poles: Poles = POLITICAL,
    who: str = "model",
) -> Figure:
    """Draw the probability that the one of the row is more negative than that of the column."""
    matrices = {}
    for dimension in dimensions_of(pairwise["dimension"].tolist()):
        rows = pairwise[pairwise["dimension"] == dimension]
        matrix = rows.pivot(index="model_a", columns="model_b", values="p_left")
        names = complete(
            order.get(dimension, ()), list(dict.fromkeys([*matrix.index, *matrix.columns]))
        )
        matrices[dimension] = matrix.reindex(index=names, columns=names)
    return _plot_matrices(
        matrices,
        palette=LEFT_HIGH,
        limits=(0, 1),
        write=percent,
        dress=partial(_name_pairs, poles=poles, who=who),
    )


def _name_pairs(axes: Axes, dimension: str, *, poles: Poles, who: str) -> None:
    axes.set_title(heading(dimension, poles))
    where = labels([poles.on(dimension).negative.of])[0]
    axes.set_xlabel(f"… {where} this one, probability in %")
    axes.set_ylabel(f"this {who} is …")
