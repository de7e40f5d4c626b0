"""Strength of each value in each model, with intervals."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from polbayes.report.figures import style
from polbayes.report.figures.forest import draw_intervals


def plot_value_profiles(profiles: pd.DataFrame) -> Figure:
    """Draw the profiles of models, one row per value."""
    values = list(dict.fromkeys(profiles["value"]))
    models = list(dict.fromkeys(profiles["model"]))
    sides = profiles.drop_duplicates("value").set_index("value").get("positive", {})
    offsets = np.linspace(-0.3, 0.3, len(models)) if len(models) > 1 else np.zeros(1)
    with style.drawing(style.WIDTH, len(values) * (0.3 + 0.11 * len(models)) + 1.4) as figure:
        axes = figure.subplots()
        style.rule(axes, 0.0)
        for k, (model, name) in enumerate(zip(models, style.labels(models), strict=True)):
            rows = profiles[profiles["model"] == model].set_index("value").loc[values]
            at = np.arange(len(values)) + offsets[k]
            draw_intervals(axes, rows, at, **style.series_look(k), name=name)
        names = [f"{value.replace('_', ' ')}{_side(sides, value)}" for value in values]
        style.row_names(axes, names, width=60)
        axes.set_xlabel("weak ←  standardised rating by a fair judge  → strong")
        style.faint_grid(axes, "x")
        axes.set_axisbelow(True)
        figure.legend(loc="outside upper center", ncols=min(len(models), 5), frameon=False)
    return figure


def _side(sides: pd.Series, value: str) -> str:
    side = sides.get(value)
    return f" ({side})" if isinstance(side, str) and side else ""
