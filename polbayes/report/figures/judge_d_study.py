"""How surely models are put in order, by numbers of judges and scenarios."""

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from polbayes.report.figures.d_study import mark_own
from polbayes.report.figures.style import INK, WIDTH, Look, drawing, faint_grid, series_look


def plot_judge_d_study(designs: pd.DataFrame) -> Figure:
    """Draw the probability of the right order of two models, one line a number of judges."""
    with drawing(0.75 * WIDTH, 3.6) as figure:
        axes = figure.subplots()
        axes.axhline(float(designs["wanted"].iloc[0]), color=INK, linewidth=0.9, linestyle="--")
        for k, (judges, rows) in enumerate(designs.groupby("judges")):
            ordered = rows.sort_values("scenarios")
            colour, marker = series_look(k).values()
            name = f"{judges} {'judge' if judges == 1 else 'judges'}"
            look: Look = {"color": colour, "marker": marker, "markersize": 5}
            axes.plot(ordered["scenarios"], ordered["p_pair"], **look, label=name)
        own = designs[designs["own"]]
        mark_own(axes, own["scenarios"], own["p_pair"])
        axes.set_xscale("log")
        ticks = sorted(set(designs["scenarios"]))
        axes.set_xticks(ticks, [str(tick) for tick in ticks])
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_xlabel("scenarios")
        axes.set_ylabel("two models in the right order")
        faint_grid(axes)
        axes.set_axisbelow(True)
        axes.legend(frameon=False, fontsize=8.5)
    return figure
