"""Precision by the numbers of questions, and of judges and scenarios."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator

from polbayes.report.figures import style
from polbayes.report.numbers import count
from polbayes.report.prose import plural

NUMBERS = ("items", "wordings", "prefixes", "runs")


def plot_d_study(
    designs: pd.DataFrame, *, title: str, who: str = "model", own: str = "this run"
) -> Figure:
    """Draw precision against the number of questions, one line per way to ask more.

    The design of the run is called `own`.
    """
    with style.drawing(style.NARROW, 3.6) as figure:
        axes = figure.subplots()
        _draw(axes, designs, own)
        axes.set_xscale("log")
        axes.set_xlabel(f"questions of each {who}")
        axes.set_ylabel(title)
        axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.xaxis.set_major_formatter(lambda value, _: count(value))
        _finish(axes)
        style.legend_above(figure, 3)
    return figure


def one_at_a_time(designs: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return the designs that differ from the run's in at most one number, in its order."""
    (own,) = designs[designs["own"]][list(NUMBERS)].to_dict(orient="records")
    same = [designs[other] == own[other] for other in NUMBERS if other != name]
    rows = designs[same[0] & same[1] & same[2]]
    return rows.sort_values(name, kind="stable")


def _draw(axes: Axes, designs: pd.DataFrame, called: str) -> None:
    measure, wanted = str(designs["measure"].iloc[0]), float(designs["wanted"].iloc[0])
    axes.axhline(wanted, color=style.INK, linewidth=0.9, linestyle="--", label="wanted")
    for k, name in enumerate(NUMBERS):
        rows = one_at_a_time(designs, name)
        if len(rows) < 2:
            continue
        x = rows["questions"].to_numpy(dtype=float)
        y, low, high = (
            rows[f"{measure}{end}"].to_numpy(dtype=float) for end in ("", "_lower", "_upper")
        )
        colour, marker = style.series_look(k).values()
        axes.fill_between(x, low, high, color=colour, alpha=0.1, linewidth=0)
        axes.plot(x, y, color=colour, marker=marker, markersize=5, label=f"other {name}")
    own = designs[designs["own"]]
    _mark_own(axes, own["questions"], own[measure], called)


def _finish(axes: Axes) -> None:
    axes.xaxis.set_minor_locator(NullLocator())
    style.faint_grid(axes)
    axes.set_axisbelow(True)


def _mark_own(axes: Axes, x: pd.Series, y: pd.Series, called: str = "this run") -> None:
    """Draw a ring around the design of this run."""
    ring: style.Look = {"markerfacecolor": "none", "markeredgewidth": 1.6, "label": called}
    axes.plot(x, y, "o", markersize=11, color=style.FAINT, **ring)


def plot_judge_d_study(designs: pd.DataFrame) -> Figure:
    """Draw the probability of the right order of two models, one line per number of judges."""
    with style.drawing(style.NARROW, 3.6) as figure:
        axes = figure.subplots()
        axes.axhline(
            float(designs["wanted"].iloc[0]), color=style.INK, linewidth=0.9, linestyle="--"
        )
        for k, (judges, rows) in enumerate(designs.groupby("judges")):
            ordered = rows.sort_values("scenarios")
            colour, marker = style.series_look(k).values()
            name = plural(judges, "judge")
            look: style.Look = {"color": colour, "marker": marker, "markersize": 5}
            axes.plot(ordered["scenarios"], ordered["p_pair"], **look, label=name)
        own = designs[designs["own"]]
        _mark_own(axes, own["scenarios"], own["p_pair"])
        axes.set_xscale("log")
        ticks = sorted(set(designs["scenarios"]))
        axes.set_xticks(ticks, [str(tick) for tick in ticks])
        axes.set_xlabel("scenarios")
        axes.set_ylabel("two models in the right order")
        _finish(axes)
        style.legend_above(figure, 3)
    return figure
