"""Agreement with statements keyed to the left and to the right, per model."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from polbayes.instrument.poles import POLITICAL, Poles
from polbayes.report.figures import style
from polbayes.report.figures.forest import draw_intervals


def plot_agreement(agreement: pd.DataFrame, poles: Poles = POLITICAL) -> Figure:
    """Draw the share of agreeing answers by keying, models in the order of the table."""
    models = list(dict.fromkeys(agreement["model"].astype(str)))
    series = (
        (
            "agree_left",
            f"statements that are {poles.negative.leaning}",
            style.SERIES[3],
            "<",
            -0.13,
        ),
        (
            "agree_right",
            f"statements that are {poles.positive.leaning}",
            style.SERIES[2],
            ">",
            0.13,
        ),
    )
    with style.drawing(style.NARROW, 1.4 + 0.33 * max(len(models), 2)) as figure:
        axes = figure.subplots()
        style.rule(axes, 0.5)
        for measure, name, colour, marker, shift in series:
            rows = agreement[agreement["measure"] == measure]
            rows = rows.drop_duplicates("model").set_index("model").reindex(models)
            at = np.arange(len(models)) + shift
            draw_intervals(axes, rows, at, colour=colour, marker=marker, name=name)
        axes.set(xlim=(-0.02, 1.02), xlabel="share of valid answers that agree")
        style.percent_ticks(axes.xaxis)
        style.faint_grid(axes, "y")
        style.row_names(axes, models)
        style.legend_above(figure, 2)
    return figure
