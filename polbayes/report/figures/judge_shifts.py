"""What each judge adds to each value, as a heat map."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from polbayes.instrument.values import VALUES, WEIGHTS
from polbayes.report.figures.heat import CELL_HEIGHT, draw_heat
from polbayes.report.figures.style import DISAGREE_AGREE, drawing
from polbayes.report.numbers import number


def plot_judge_shifts(table: pd.DataFrame) -> Figure:
    """Draw shifts by value and judge."""
    order = sorted(VALUES, key=lambda value: WEIGHTS[value] < 0)
    wide = table.pivot(index="value", columns="judge", values="estimate")
    judges = list(dict.fromkeys(table["judge"]))
    wide = wide.reindex(index=order, columns=judges)
    wide.index = [f"{'L' if WEIGHTS[v] > 0 else 'C'}  {v.replace('_', ' ')}" for v in order]
    most = float(np.nanmax(np.abs(wide.to_numpy(dtype=float)), initial=0.5))
    with drawing(3.2 + 1.15 * len(judges), 1.2 + CELL_HEIGHT * len(order)) as figure:
        axes = figure.subplots()
        draw_heat(
            axes,
            wide,
            palette=DISAGREE_AGREE,
            limits=(-most, most),
            write=lambda value: number(value, 1),
        )
    return figure
