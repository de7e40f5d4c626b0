"""Confusion of a coder: shares of each label that were coded as each class."""

import pandas as pd
from matplotlib.figure import Figure

from polbayes.report.figures.heat import CELL_HEIGHT, draw_heat, width_for
from polbayes.report.figures.style import CHANCE, drawing, label
from polbayes.report.numbers import count


def plot_coder_confusion(counts: pd.DataFrame, *, coder: str) -> Figure:
    """Draw a confusion matrix, coloured by the shares of a row and with its counts."""
    totals = counts.sum(axis=1)
    shares = counts.div(totals.where(totals > 0), axis=0)
    written = {
        (row, column): count(value)
        for row, values in enumerate(counts.to_numpy())
        for column, value in enumerate(values)
    }
    cells = iter(cell for at, cell in written.items() if totals.iloc[at[0]] > 0)
    with drawing(width_for(counts, cell=0.85), 1.7 + 1.3 * CELL_HEIGHT * len(counts)) as figure:
        axes = figure.subplots()
        draw_heat(axes, shares, palette=CHANCE, limits=(0, 1), write=lambda _: next(cells))
        axes.set_title(label(coder))
        axes.set(xlabel="coded as", ylabel="label")
    return figure
