"""How surely models are put in order, by numbers of judges and scenarios."""

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from polbayes.report.figures.style import (
    FAINT,
    INK,
    MARKERS,
    PALE,
    SERIES,
    WIDTH,
    neutral_style,
    new_figure,
)


def plot_judge_d_study(designs: pd.DataFrame) -> Figure:
    """Draw the probability of the right order of two models, one line a number of judges."""
    with neutral_style():
        figure = new_figure(0.75 * WIDTH, 3.6)
        axes = figure.subplots()
        axes.axhline(float(designs["wanted"].iloc[0]), color=INK, linewidth=0.9, linestyle="--")
        for k, (judges, rows) in enumerate(designs.groupby("judges")):
            ordered = rows.sort_values("scenarios")
            axes.plot(
                ordered["scenarios"].to_numpy(dtype=float),
                ordered["p_pair"].to_numpy(dtype=float),
                color=SERIES[k % len(SERIES)],
                marker=MARKERS[k % len(MARKERS)],
                markersize=5,
                label=f"{judges} {'judge' if judges == 1 else 'judges'}",
            )
        own = designs[designs["own"]]
        axes.plot(
            own["scenarios"].to_numpy(dtype=float),
            own["p_pair"].to_numpy(dtype=float),
            linestyle="none",
            marker="o",
            markersize=11,
            color=FAINT,
            markerfacecolor="none",
            markeredgewidth=1.6,
            label="this run",
        )
        axes.set_xscale("log")
        ticks = sorted(set(designs["scenarios"]))
        axes.set_xticks(ticks, [str(tick) for tick in ticks])
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_xlabel("scenarios")
        axes.set_ylabel("two models in the right order")
        axes.grid(color=PALE, linewidth=0.6)
        axes.set_axisbelow(True)
        axes.legend(frameon=False, fontsize=8.5)
    return figure
