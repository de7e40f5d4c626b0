"""Where each wording's answers put a model on the Political Compass."""

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from polbayes.report.figures.style import (
    FAINT,
    INK,
    PALE,
    SERIES,
    WIDTH,
    label,
    neutral_style,
    new_figure,
)

MOST_ACROSS = 4
# Kind of answers: name, colour, marker, hollow.
ANSWERS = {
    "original": ("original", INK, "o", False),
    "opposite answers": ("opposite answers to the original", INK, "o", True),
    "negation": ("negation", SERIES[1], "s", False),
    "opposite": ("political opposites", SERIES[3], "v", False),
    "paraphrase": ("paraphrases", SERIES[0], "^", False),
}


def plot_compass(positions: pd.DataFrame) -> Figure:
    """Draw one small compass for each model, in the order of the table."""
    models = list(dict.fromkeys(positions["model"].astype(str)))
    across = min(len(models), MOST_ACROSS)
    down = -(-len(models) // across)
    side = WIDTH / max(across, 3)
    with neutral_style():
        figure = new_figure(max(across * side, 0.62 * WIDTH), down * (side + 0.25) + 0.9)
        grid = figure.subplots(down, across, squeeze=False, sharex=True, sharey=True)
        for axes, model in zip(grid.flat, models, strict=False):
            _draw(axes, positions[positions["model"].astype(str) == model])
            axes.set_title(label(model, 24))
        for axes in grid.flat[len(models) :]:
            figure.delaxes(axes)
        for row in grid:
            row[0].set_ylabel("← libertarian    authoritarian →")
        for axes in grid.flat[len(models) - across : len(models)]:
            axes.set_xlabel("← left    right →")
            axes.tick_params(axis="x", labelbottom=True)
        handles, names = _legend(figure)
        figure.legend(handles, names, loc="outside upper left", ncols=3, frameon=False)
    return figure


def _draw(axes: Axes, rows: pd.DataFrame) -> None:
    axes.axvline(0, color=FAINT, linewidth=0.8, zorder=1)
    axes.axhline(0, color=FAINT, linewidth=0.8, zorder=1)
    axes.grid(color=PALE, linewidth=0.5)
    axes.set(xlim=(-10.4, 10.4), ylim=(-10.4, 10.4), aspect="equal")
    axes.set_xticks([-10, -5, 0, 5, 10], ["−10", "−5", "0", "5", "10"])
    axes.set_yticks([-10, -5, 0, 5, 10], ["−10", "−5", "0", "5", "10"])
    for group, (name, colour, marker, hollow) in ANSWERS.items():
        chosen = rows[rows["group"] == group]
        x, y = (chosen[axis].to_numpy(dtype=float) for axis in ("economic", "social"))
        if group in ("original", "opposite answers"):
            bounds = [
                chosen[f"{axis}_{end}"].to_numpy(dtype=float)
                for axis in ("economic", "social")
                for end in ("lower", "upper")
            ]
            axes.hlines(y, bounds[0], bounds[1], color=colour, linewidth=0.9, alpha=0.6, zorder=2)
            axes.vlines(x, bounds[2], bounds[3], color=colour, linewidth=0.9, alpha=0.6, zorder=2)
        if np.isfinite(x * y).any():
            axes.plot(
                x,
                y,
                linestyle="none",
                marker=marker,
                markersize=5.5,
                color=colour,
                markerfacecolor="white" if hollow else colour,
                label=name,
                zorder=4 if group == "original" else 3,
            )


def _legend(figure: Figure) -> tuple[list[Artist], list[str]]:
    found: dict[str, Artist] = {}
    for axes in figure.axes:
        for handle, name in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(name, handle)
    order = [name for name, *_ in ANSWERS.values() if name in found]
    return [found[name] for name in order], order
