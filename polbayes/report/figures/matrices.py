"""One heat map per dimension, abreast where they fit and one below the other elsewhere."""

from collections.abc import Callable, Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from polbayes.report.figures.heat import CELL_HEIGHT, draw_heat, width_for
from polbayes.report.figures.style import WIDTH, drawing, in_full


def plot_matrices(
    matrices: Mapping[str, pd.DataFrame],
    *,
    palette: str,
    limits: tuple[float, float],
    write: Callable[[float], str],
    dress: Callable[[Axes], object],
) -> Figure:
    """Draw one matrix per dimension.

    For the palette, its limits and how a number is written see
    `polbayes.report.figures.heat.draw_heat`; `dress` sets what is particular to the axes.
    """
    rows = max(len(m) for m in matrices.values())
    each = max(width_for(matrix, cell=0.46) for matrix in matrices.values())
    across = len(matrices) if each * len(matrices) <= 1.05 * WIDTH else 1
    down = len(matrices) // across
    with drawing(each * across, down * (1.9 + CELL_HEIGHT * rows)) as figure:
        grid = figure.subplots(down, across, squeeze=False)
        for axes, (dimension, matrix) in zip(grid.flat, matrices.items(), strict=True):
            draw_heat(axes, matrix, palette=palette, limits=limits, write=write)
            axes.set_title(in_full(dimension))
            dress(axes)
    return figure
