"""Measures by stage, one line per model."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from polbayes.report.figures import style


def plot_stage_curves(
    panels: Mapping[str, pd.DataFrame],
    *,
    stages: Sequence[str],
    names: Sequence[str],
    joined: Sequence[str],
) -> Figure:
    """Draw estimates with intervals over the stages."""
    models = list(dict.fromkeys(m for table in panels.values() for m in table["model"]))
    with style.drawing(style.WIDTH, 0.6 + 2.6 * len(panels)) as figure:
        every = figure.subplots(len(panels), 1, squeeze=False, sharex=True)[:, 0]
        for axes, (title, table) in zip(every, panels.items(), strict=True):
            for k, model in enumerate(models):
                rows = table[table["model"] == model].set_index("stage").reindex(stages)
                # Offset, so that intervals can be told apart.
                shift = (k - (len(models) - 1) / 2) * min(0.09, 0.6 / len(models))
                at, through = np.arange(len(stages)) + shift, np.isin(stages, joined)
                look = style.series_look(k)
                style.line_with_intervals(axes, at, rows, joined=through, **look)
            if (table["lower"] < 0).any():
                axes.axhline(0.0, color=style.FAINT, linewidth=0.9, zorder=1)
            axes.set_title(title)
            style.faint_grid(axes, "y")
            axes.set_axisbelow(True)
            axes.set_xticks(range(len(stages)), list(names))
            axes.tick_params(axis="x", length=0, labelbottom=True)
            axes.set_xlim(-0.5, len(stages) - 0.5)
        handles = [line for line in every[0].get_lines() if line.get_marker() != "None"]
        place = {"loc": "outside upper left", "ncols": min(len(models), 5)}
        figure.legend(handles, style.labels(models), **place, frameon=False)
    return figure
