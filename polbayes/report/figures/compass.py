"""Positions on the Political Compass by wording."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from polbayes.report.figures import style

MOST_ACROSS = 4
# Kind of answers: name, colour, marker, hollow.
ANSWERS = {
    "original": ("original", style.INK, "o", False),
    "opposite answers": ("opposite answers to the original", style.INK, "o", True),
    "negation": ("negation", style.SERIES[1], "s", False),
    "opposite": ("political opposites", style.SERIES[3], "v", False),
    "paraphrase": ("paraphrases", style.SERIES[0], "^", False),
}


def plot_compass(positions: pd.DataFrame) -> Figure:
    """Draw one small compass for each model, in the order of the table."""
    models = list(dict.fromkeys(positions["model"].astype(str)))
    across = min(len(models), MOST_ACROSS)
    down = -(-len(models) // across)
    side = style.WIDTH / max(across, 3)
    with style.drawing(
        max(across * side, 0.62 * style.WIDTH), down * (side + 0.25) + 0.9
    ) as figure:
        every = style.abreast(figure, len(models), across=across, sharex=True, sharey=True)
        for axes, model in zip(every, models, strict=True):
            _draw(axes, positions[positions["model"].astype(str) == model])
            axes.set_title(style.label(model, 24))
        for axes in every[::across]:
            axes.set_ylabel("← libertarian    authoritarian →")
        for axes in every[-across:]:
            axes.set_xlabel("← left    right →")
            axes.tick_params(axis="x", labelbottom=True)
        style.legend_above(figure, 3)
    return figure


def _draw(axes: Axes, rows: pd.DataFrame) -> None:
    compass_axes(axes)
    for group, (name, colour, marker, hollow) in ANSWERS.items():
        chosen = rows[rows["group"] == group]
        x, y = (chosen[axis].to_numpy(dtype=float) for axis in ("economic", "social"))
        crosses(axes, chosen, colour)
        if np.isfinite(x * y).any():
            look: style.Look = {
                "colour": colour,
                "hollow": hollow,
                "marker": marker,
                "markersize": 5.5,
            }
            style.marks(axes, x, y, **look, label=name, zorder=4 if group == "original" else 3)


def crosses(axes: Axes, rows: pd.DataFrame, colour: str) -> None:
    """Draw the intervals of both coordinates, where the table has them."""
    if "economic_lower" not in rows:
        return
    x, y = (rows[axis].to_numpy(dtype=float) for axis in ("economic", "social"))
    west, east, south, north = (
        rows[f"{axis}_{end}"].to_numpy(dtype=float)
        for axis in ("economic", "social")
        for end in ("lower", "upper")
    )
    look: style.Look = {"color": colour, "linewidth": 0.9, "alpha": 0.6, "zorder": 2}
    axes.hlines(y, west, east, **look)
    axes.vlines(x, south, north, **look)


def compass_axes(axes: Axes) -> None:
    """Make the axes of the Political Compass."""
    style.plane(axes, 10.4)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_ticks([-10, -5, 0, 5, 10], labels=["−10", "−5", "0", "5", "10"])
