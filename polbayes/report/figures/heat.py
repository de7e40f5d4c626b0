"""Heat maps with numbers in their cells."""

from collections.abc import Callable

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.patches import PathPatch
from matplotlib.path import Path

from polbayes.report.figures.style import FAINT, INK, Look, labels

CELL_HEIGHT = 0.3


def draw_heat(
    axes: Axes,
    values: pd.DataFrame,
    *,
    palette: str,
    limits: tuple[float, float],
    write: Callable[[float], str] | None,
    strong: pd.DataFrame | None = None,
) -> None:
    """Draw a matrix with its numbers; cells without one are hatched.

    `palette` and `limits` are a matplotlib colour map and the values at its ends, `write` formats a
    number (none is written when None), and `strong` marks the cells to set in bold.
    """
    array = values.to_numpy(dtype=float)
    low, high = limits
    colours = colormaps[palette]
    axes.set_facecolor("#f3f3f3")
    axes.imshow(
        np.ma.masked_invalid(array), cmap=palette, vmin=low, vmax=high, aspect="auto", zorder=2
    )
    known = np.isfinite(array)
    _hatch(axes, np.argwhere(~known))
    if write is not None:
        for row, column in np.argwhere(known):
            value = array[row, column]
            shade = colours(float(np.clip((value - low) / (high - low), 0, 1)))
            bold = strong is not None and bool(strong.iat[row, column])
            axes.text(
                column,
                row,
                write(value),
                color=_contrast(shade),
                fontsize=8,
                fontweight="bold" if bold else "normal",
                ha="center",
                va="center",
                zorder=4,
            ).set_in_layout(False)
    _name_cells(axes, values)


def _hatch(axes: Axes, cells: np.ndarray) -> None:
    """Hatch ``[cell, (row, column)]``, all as one shape: thousands are slow to draw."""
    if not len(cells):
        return
    look: Look = {"facecolor": "#f3f3f3", "edgecolor": FAINT, "hatch": "///", "linewidth": 0}
    corners = np.array([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5], [-0.5, -0.5]])
    codes = [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY]
    outline = (cells[:, None, ::-1] + corners).reshape(-1, 2)
    axes.add_patch(PathPatch(Path(outline, np.tile(codes, len(cells))), **look, zorder=3))


def _contrast(shade: tuple[float, float, float, float]) -> str:
    red, green, blue, _ = shade
    return INK if 0.299 * red + 0.587 * green + 0.114 * blue > 0.55 else "white"


def _name_cells(axes: Axes, values: pd.DataFrame) -> None:
    rows, columns = ([str(name) for name in names] for names in (values.index, values.columns))
    axes.set_yticks(range(len(rows)), labels(rows))
    drawn = labels(columns)
    slanted = max(map(len, drawn)) > 4
    axes.set_xticks(range(len(columns)), drawn)
    if slanted:
        for tick in axes.get_xticklabels():
            tick.set(rotation=40, ha="right", rotation_mode="anchor")
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    right, low = len(columns) - 0.5, len(rows) - 0.5
    axes.vlines(np.arange(0.5, right), -0.5, low, color="white", linewidth=1.2, zorder=3)
    axes.hlines(np.arange(0.5, low), -0.5, right, color="white", linewidth=1.2, zorder=3)
    axes.set(xlim=(-0.5, right), ylim=(low, -0.5))


def width_for(values: pd.DataFrame, cell: float) -> float:
    """Return the width in inches of a heat map with room for its names and numbers."""
    longest = max(map(len, labels([str(name) for name in values.index])))
    return max(4.0, float(0.7 + 0.075 * longest + cell * values.shape[1]))
