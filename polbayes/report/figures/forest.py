"""Forest plots: an estimate with its interval per row, in panels side by side."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from polbayes.instrument.poles import Poles
from polbayes.report.figures import style


@dataclass(frozen=True)
class Panel:
    """One panel of a forest plot.

    Its rows have the columns ``model, estimate, lower, upper`` and are drawn from top to bottom.
    """

    title: str
    rows: pd.DataFrame
    colour: str = style.INK
    marker: str = "o"
    poles: Poles | None = None  # what the ends of its axis are
    hollow: Collection[str] = ()  # models whose markers are hollow
    alignment: bool = False  # whether positive is liberal, which is drawn on the left


def ascending(rows: pd.DataFrame) -> pd.DataFrame:
    """Sort by estimate, the lowest (most negative) first and missing ones last."""
    return rows.sort_values("estimate", kind="stable", na_position="last")


def descending(rows: pd.DataFrame) -> pd.DataFrame:
    """Sort by estimate, the highest first and missing ones last."""
    return rows.sort_values("estimate", ascending=False, kind="stable", na_position="last")


def plot_forest(
    panels: Sequence[Panel],
    *,
    centre: float | None,
    dress: Callable[[Axes], object] | None = None,
) -> Figure:
    """Draw panels of estimates with intervals on one common scale, two per row.

    `centre` is the position of the vertical line, None for none; `dress` sets what is specific to
    the axes of this plot, such as the label.
    """
    across = min(len(panels), 2)
    down = -(-len(panels) // across)
    most = max(len(panel.rows) for panel in panels)
    with style.drawing(_width(panels, across), down * (1.15 + 0.29 * max(most, 2))) as figure:
        # Axes that share a scale can only be turned together.
        shared = len({panel.alignment for panel in panels}) == 1
        every = style.abreast(figure, len(panels), across=across, sharex=shared)
        for axes, panel in zip(every, panels, strict=True):
            if centre is not None:
                style.rule(axes, centre)
            draw_rows(axes, panel)
            if panel.poles is not None:
                style.poles(axes, panel.poles)
            if dress is not None:
                dress(axes)
            axes.tick_params(axis="x", labelbottom=True)
        if not shared:
            ends = [end for axes in every for end in axes.get_xlim()]
            low, high = min(ends), max(ends)
            for axes, panel in zip(every, panels, strict=True):
                axes.set_xlim((high, low) if panel.alignment else (low, high))
    return figure


def _width(panels: Sequence[Panel], across: int) -> float:
    """Return the width in inches that fits the longest name."""
    longest = max(
        (len(text) for panel in panels for text in style.labels(panel.rows["model"].tolist())),
        default=0,
    )
    return max(style.WIDTH if across > 1 else style.NARROW, across * (3.0 + 0.075 * longest))


def draw_rows(axes: Axes, panel: Panel) -> None:
    """Draw one panel's rows from top to bottom; a missing estimate is described in words."""
    rows = panel.rows
    at = np.arange(len(rows))
    look: style.Look = {"colour": panel.colour, "marker": panel.marker}
    hollow = rows["model"].isin(list(panel.hollow)).to_numpy()
    draw_intervals(axes, rows[~hollow], at[~hollow], **look)
    if hollow.any():
        draw_intervals(axes, rows[hollow], at[hollow], **look, hollow=True)
    for y, known in enumerate(np.isfinite(rows["estimate"].to_numpy(dtype=float))):
        if not known:
            say_missing(axes, y)
    axes.set_title(panel.title)
    if panel.alignment:
        style.left_first(axes)
    style.faint_grid(axes, "y")
    axes.set_axisbelow(True)
    style.row_names(axes, rows["model"].astype(str).tolist())


def say_missing(axes: Axes, y: float) -> None:
    """Write that a row has no estimate."""
    axes.text(
        0.5,
        y,
        "no estimate",
        transform=axes.get_yaxis_transform(),
        color=style.FAINT,
        fontstyle="italic",
        fontsize=8.5,
        ha="center",
        va="center",
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5},
    )


def draw_intervals(
    axes: Axes,
    rows: pd.DataFrame,
    at: np.ndarray,
    *,
    colour: str,
    marker: str,
    name: str | None = None,
    hollow: bool = False,
) -> None:
    """Draw the estimates of `rows` at heights `at` with their intervals."""
    draw_lines(axes, rows, at, colour=colour)
    look: style.Look = {"marker": marker, "markersize": 6.5, "label": name}
    style.marks(axes, rows["estimate"], at, colour=colour, hollow=hollow, **look)


def draw_lines(
    axes: Axes,
    rows: pd.DataFrame,
    at: np.ndarray,
    *,
    colour: str,
    bounds: tuple[str, str] = ("lower", "upper"),
    width: float = 2.2,
) -> None:
    """Draw lines at heights `at` between the two columns of `bounds`."""
    low, high = (rows[bound].to_numpy(dtype=float) for bound in bounds)
    axes.hlines(at, low, high, color=colour, linewidth=width, alpha=0.75, zorder=2)
