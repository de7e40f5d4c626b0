"""The lean of every model and the margin of practical equivalence, with the verdicts."""

from collections.abc import Collection, Sequence
from functools import partial

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from polbayes.fit.posterior.verdicts import Verdict, at_centre
from polbayes.instrument.poles import POLITICAL, Poles
from polbayes.report.figures import style
from polbayes.report.figures.forest import Panel, plot_forest

Row = tuple[str, str, Verdict]


def plot_verdicts(
    found: Sequence[Row], poles: Poles = POLITICAL, *, hollow: Collection[str] = ()
) -> Figure:
    """Draw model, dimension and verdict of each lean, the most negative at the top.

    The markers of some models are hollow.
    """
    by_dimension: dict[str, list[Row]] = {}
    for row in sorted(found, key=lambda row: (row[2].estimate != row[2].estimate, row[2].estimate)):
        by_dimension.setdefault(row[1], []).append(row)
    dimensions = style.dimensions_of(list(dict.fromkeys(row[1] for row in found)))
    panels = [_panel(name, by_dimension[name], poles.on(name), hollow) for name in dimensions]
    rope = max(row[2].rope for row in found)
    figure = plot_forest(panels, centre=0.0, dress=partial(_dress, rope=rope))
    # A verdict would stand close to the next panel's names.
    if isinstance(engine := figure.get_layout_engine(), ConstrainedLayoutEngine):
        engine.set(wspace=0.08)
    for axes, name in zip(figure.axes, dimensions, strict=True):
        _write_verdicts(axes, [row[2] for row in by_dimension[name]], poles.on(name))
    return figure


def _panel(dimension: str, rows: list[Row], poles: Poles, hollow: Collection[str]) -> Panel:
    table = pd.DataFrame(
        [(model, v.estimate, v.lower, v.upper) for model, _, v in rows],
        columns=["model", "estimate", "lower", "upper"],
    )
    colour, marker = style.COLOUR.get(dimension, style.INK), style.MARKER.get(dimension, "o")
    return Panel(style.heading(dimension, poles), table, colour, marker, poles, hollow)


def _dress(axes: Axes, *, rope: float) -> None:
    axes.axvspan(-rope, rope, color=style.PALE, zorder=0)
    axes.set_xlim(-1.03, 1.03)


def _write_verdicts(axes: Axes, verdicts: Sequence[Verdict], poles: Poles) -> None:
    """Write every verdict at the right end of its row."""
    for y, verdict in enumerate(verdicts):
        axes.text(
            1.02,
            y,
            style.label(at_centre(verdict.decision, poles)),
            transform=axes.get_yaxis_transform(),
            fontsize=8.5,
            va="center",
        )
