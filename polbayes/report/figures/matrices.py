"""One heat map per dimension, abreast where they fit and one below the other elsewhere."""

from collections.abc import Callable, Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from polbayes.report.figures.heat import CELL_HEIGHT, draw_heat, width_for
from polbayes.report.figures.style import WIDTH, in_full, neutral_style, new_figure


def plot_matrices(
    matrices: Mapping[str, pd.DataFrame],
    *,
    palette: str,
    limits: tuple[float, float],
    write: Callable[[float], str],
    dress: Callable[[Axes], object],
) -> Figure:
    """Draw one matrix per dimension.

    Parameters
    ----------
    matrices
        Matrices by dimension, at least one.
    palette, limits, write
        As in `polbayes.report.figures.heat.draw_heat`.
    dress
        Sets what is particular to the axes of this plot, such as labels.

    Returns
    -------
    matplotlib.figure.Figure
        One axes per dimension, in the order of `matrices`.
    """
    rows = max(len(m) for m in matrices.values())
    each = max(width_for(matrix, cell=0.46) for matrix in matrices.values())
    across = len(matrices) if each * len(matrices) <= 1.05 * WIDTH else 1
    down = len(matrices) // across
    with neutral_style():
        figure = new_figure(each * across, down * (1.9 + CELL_HEIGHT * rows))
        grid = figure.subplots(down, across, squeeze=False)
        for axes, (dimension, matrix) in zip(grid.flat, matrices.items(), strict=True):
            draw_heat(axes, matrix, palette=palette, limits=limits, write=write)
            axes.set_title(in_full(dimension))
            dress(axes)
    return figure
