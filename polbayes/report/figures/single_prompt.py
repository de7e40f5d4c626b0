"""What studies with a single prompt would publish, beside the posterior of all prompts."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from polbayes.instrument.poles import POLITICAL, Poles
from polbayes.report.figures import style
from polbayes.report.figures.forest import draw_lines


def plot_single_prompt(
    studies: pd.DataFrame, posterior: pd.DataFrame, poles: Poles = POLITICAL
) -> Figure:
    """Draw equally likely studies as dots, and below them the interval of all prompts together.

    Parameters
    ----------
    studies
        ``model, dimension, estimate``, a row a study.
    posterior
        ``model, dimension, estimate, lower, upper`` of the bias on the same statements.
    poles
        Words for the ends of the axes.
    """
    dimensions = style.dimensions_of(list(dict.fromkeys(studies["dimension"])))
    most = int(studies.groupby("dimension")["model"].nunique().max())
    across = min(len(dimensions), 2)
    down = -(-len(dimensions) // across)
    width = style.WIDTH if across > 1 else style.NARROW
    with style.drawing(width, 0.6 + down * (1.0 + 0.38 * max(most, 2))) as figure:
        every = style.abreast(figure, len(dimensions), across=across, sharex=True)
        for axes, name in zip(every, dimensions, strict=True):
            style.rule(axes, 0.0)
            own, whole = (table[table["dimension"] == name] for table in (studies, posterior))
            _draw(axes, own, whole, style.COLOUR.get(name, style.INK))
            axes.set_title(style.heading(name, poles))
            axes.set_xlim(-1.03, 1.03)
            style.poles(axes, poles.on(name))
            axes.tick_params(axis="x", labelbottom=True)
        style.legend_above(figure, 2)
    return figure


def _draw(axes: Axes, studies: pd.DataFrame, posterior: pd.DataFrame, colour: str) -> None:
    models = studies.groupby("model", sort=False)["estimate"].median().sort_values().index.tolist()
    for y, model in enumerate(models):
        own = studies.loc[studies["model"] == model, "estimate"].to_numpy(dtype=float)
        height = np.full(len(own), y - 0.14)
        label = "one dot: one of twenty equally likely studies with a single prompt"
        look: style.Look = {"marker": "o", "markersize": 4.5, "alpha": 0.5}
        style.marks(axes, own, height, colour=colour, **look, label=label)
    whole = posterior.set_index("model").reindex(models).reset_index()
    draw_lines(axes, whole, np.arange(len(models)) + 0.16, colour=style.INK)
    style.marks(
        *(axes, whole["estimate"], np.arange(len(models)) + 0.16),
        colour=style.INK,
        marker="|",
        markersize=9,
        label="all prompts together, with interval",
    )
    style.faint_grid(axes, "y")
    axes.set_axisbelow(True)
    style.row_names(axes, [str(model) for model in models])
