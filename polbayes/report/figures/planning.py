"""Precision against cost, for the designs of a planned study."""

import pandas as pd
from matplotlib.figure import Figure

from polbayes.config.schema import PlanConfig
from polbayes.report.figures import style
from polbayes.report.numbers import count

_LABELS = {
    "width": "width of a position's interval",
    "difference": "width of the interval of a difference",
    "order": "two models in the right order",
    "power": "effect of a prefix found",
}


def plot_plan(found: pd.DataFrame, wanted: PlanConfig) -> Figure:
    """Draw what designs reach against what they cost, the best for every price as a line.

    `found` is the table of `polbayes.tasks.planning.designs.designs`.
    """
    measures = [name for name in _LABELS if getattr(wanted, name) is not None]
    x = "cost" if found["cost"].notna().all() else "questions"
    with style.drawing(style.NARROW, 3.2 * len(measures)) as figure:
        every = figure.subplots(len(measures), squeeze=False)[:, 0]
        for axes, name in zip(every, measures, strict=True):
            upwards = name in ("order", "power")
            ordered = found.sort_values(x, kind="stable")
            best = ordered[name].cummax() if upwards else ordered[name].cummin()
            axes.plot(ordered[x], ordered[name], ".", color=style.FAINT, markersize=3)
            colour = style.SERIES[0]
            axes.step(ordered[x], best, where="post", color=colour, label="best for its price")
            some = ordered[ordered["studies"] > 0]
            if len(some):
                axes.errorbar(
                    some[x],
                    some[name],
                    yerr=2 * some[f"{name}_error"],
                    fmt="o",
                    markersize=4,
                    color=style.SERIES[1],
                    label="simulated, ± 2 Monte Carlo errors",
                )
            axes.axhline(getattr(wanted, name), color=style.INK, linewidth=0.9, linestyle="--")
            good = ordered[ordered["reached"] & ordered["affordable"]]
            if len(good):
                axes.plot(
                    good[x].iloc[:1], good[name].iloc[:1], "o", color=colour, label="the cheapest"
                )
            axes.set_xscale("log")
            axes.set_xlabel("cost" if x == "cost" else "questions in all")
            axes.xaxis.set_major_formatter(
                lambda value, _: count(value) if value >= 1 else f"{value:g}"
            )
            axes.set_ylabel(_LABELS[name])
            axes.set_ylim(bottom=None if upwards else 0, top=1 if upwards else None)
            style.faint_grid(axes)
        style.legend_above(figure, 3)
    return figure
