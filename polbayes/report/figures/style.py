"""Common parts of all figures: palette, labels that are safe to draw, and neutral settings."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, Literal

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.font_manager import findfont, get_font

from polbayes.instrument.poles import Poles
from polbayes.report.blocks import SMALL
from polbayes.report.visible import visible

# Okabe and Ito's palette, distinguishable with every common colour blindness.
INK = "#222222"
FAINT = "#8c8c8c"
PALE = "#e4e4e4"
COLOUR = {"economic": "#0072B2", "cultural": "#D55E00", "total": "#444444"}
MARKER = {"economic": "o", "cultural": "s", "total": "D"}
SERIES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p")
# Purple is left and orange right in every heat map, at whichever end left is.
LEFT_LOW, LEFT_HIGH = "PuOr_r", "PuOr"
DISAGREE_AGREE = "BrBG"
CHANCE = "Blues"
WIDTH = 9.2
NARROW = SMALL  # of one panel
_NAME_WIDTH = 34
# Keywords of what is drawn.
Look = dict[str, Any]

_SETTINGS = {
    "font.family": ["DejaVu Sans"],
    "font.size": 9.5,
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": INK,
    "ytick.color": INK,
    "text.color": INK,
    "svg.fonttype": "path",
    "svg.hashsalt": "polbayes",
    "hatch.linewidth": 0.7,
}
# Settings of the session, not of the look of a figure.
_SESSION = ("backend", "backend_fallback", "interactive", "toolbar", "timezone", "webagg")


@contextmanager
def neutral_style() -> Iterator[None]:
    """Draw with the report's settings, whatever the user's matplotlib config."""
    defaults = {
        key: value for key, value in mpl.rcParamsDefault.items() if not key.startswith(_SESSION)
    }
    with mpl.rc_context({**defaults, **_SETTINGS}):
        yield


@contextmanager
def drawing(width: float, height: float) -> Iterator[Figure]:
    """Draw a figure of a size in inches, in neutral style and outside global state."""
    with neutral_style():
        yield Figure(figsize=(width, height), layout="constrained", facecolor="white")


def abreast(figure: Figure, number: int, *, across: int, **how: Any) -> list[Axes]:
    """Add axes in rows of `across`; the last row may have fewer."""
    grid = figure.subplots(-(-number // across), across, squeeze=False, **how)
    for axes in grid.flat[number:]:
        figure.delaxes(axes)
    return list(grid.flat[:number])


def legend_above(figure: Figure, columns: int, **how: Any) -> None:
    """Draw one legend of the series above all axes, in fewer columns if it would not fit."""
    found: dict[str, Artist] = {}
    for axes in figure.axes:
        for handle, name in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(name, handle)
    own = {"loc": "outside upper left", "frameon": False, **how}
    for number in range(columns, 0, -1):
        legend = figure.legend(list(found.values()), list(found), ncols=number, **own)
        if number == 1 or legend.get_window_extent().width <= figure.bbox.width:
            return
        legend.remove()


def marks(axes: Axes, x: Any, y: Any, *, colour: str, hollow: bool = False, **how: Any) -> None:
    """Draw markers without a line, filled or hollow."""
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    face = "white" if hollow else colour
    axes.plot(x, y, linestyle="none", color=colour, markerfacecolor=face, **{"zorder": 3, **how})


def line_with_intervals(
    axes: Axes,
    at: np.ndarray,
    rows: pd.DataFrame,
    *,
    colour: str,
    marker: str,
    joined: np.ndarray | None = None,
) -> None:
    """Draw ``lower, estimate, upper`` at places, with a line through those that are `joined`.

    By default the line goes through all places with an estimate.
    """
    low, mean, high = (rows[name].to_numpy(dtype=float) for name in ("lower", "estimate", "upper"))
    joined = np.isfinite(mean) if joined is None else joined
    axes.vlines(at, low, high, color=colour, linewidth=1.7, alpha=0.75, zorder=2)
    axes.plot(at[joined], mean[joined], color=colour, linewidth=1.1, marker=None, zorder=2)
    marks(axes, at, mean, colour=colour, marker=marker, markersize=5)


def series_look(k: int) -> Look:
    """Return the colour and the marker of the k-th series."""
    return {"colour": SERIES[k % len(SERIES)], "marker": MARKERS[k % len(MARKERS)]}


def percent_ticks(axis: Axis) -> None:
    """Write shares as percentages."""
    axis.set_ticks([0, 0.25, 0.5, 0.75, 1], labels=["0%", "25%", "50%", "75%", "100%"])


def faint_grid(axes: Axes, axis: Literal["both", "x", "y"] = "both") -> None:
    """Draw pale lines behind the data."""
    axes.grid(axis=axis, color=PALE, linewidth=0.6)


def plane(axes: Axes, reach: float) -> None:
    """Make square axes of two dimensions with lines at the centre."""
    axes.axvline(0, color=FAINT, linewidth=0.8, zorder=1)
    axes.axhline(0, color=FAINT, linewidth=0.8, zorder=1)
    axes.grid(color=PALE, linewidth=0.5)
    axes.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")


def label(text: str, width: int = _NAME_WIDTH) -> str:
    """Make untrusted text safe to draw.

    It becomes one line without formula markup, with control characters visible and a box for every
    character that the font lacks. The middle of a long text is cut, since names of models differ at
    either end.
    """
    line = " ".join(visible(text).split())
    if len(line) > width:
        head = (width - 1) * 3 // 5
        line = f"{line[:head]}…{line[len(line) - (width - 1 - head) :]}"
    return _drawable(line)


def wrapped(text: str, *, width: int, lines: int) -> str:
    """Break a statement into at most `lines` lines, and shorten it at its end if too long."""
    from textwrap import wrap

    # `max_lines` drops whole words; a single overlong word is broken instead.
    parts = wrap(" ".join(visible(text).split()), width, max_lines=lines, placeholder=" …")
    return _drawable("\n".join(parts))


def item_label(item: str, statement: str, *, width: int, lines: int) -> str:
    """Label an item by its id and statement, which may be the same, or unknown."""
    known = statement and statement != item
    return wrapped(f"{item}: {statement}" if known else item, width=width, lines=lines)


def labels(names: Sequence[str], width: int = _NAME_WIDTH) -> list[str]:
    """Label several names so that no two that differ look the same."""
    drawn: dict[str, str] = {}
    taken: set[str] = set()
    for name in dict.fromkeys(names):
        text, number = label(name, width), 1
        while text in taken:
            number += 1
            text = f"{label(name, width - 3)} #{number}"
        taken.add(text)
        drawn[name] = text
    return [drawn[name] for name in names]


def _drawable(text: str) -> str:
    known = _glyphs()
    boxed = "".join(c if c == "\n" or ord(c) in known else "□" for c in text)
    # An escaped dollar is drawn as such and never starts a formula.
    return boxed.replace("$", r"\$")


@cache
def _glyphs() -> frozenset[int]:
    return frozenset(get_font(findfont("DejaVu Sans")).get_charmap())


def rule(axes: Axes, at: float) -> None:
    """Draw the vertical line at the centre, behind everything."""
    axes.axvline(at, color=INK, linewidth=0.9, zorder=1)


def row_names(axes: Axes, names: Sequence[str], *, width: int = _NAME_WIDTH) -> None:
    """Name the rows from top to bottom and set the vertical limits to fit them."""
    axes.set_yticks(range(len(names)), labels(names, width))
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)


def sides(axes: Axes, low: str, high: str) -> None:
    """Label the two ends of the axis."""
    low, high = labels([low, high])
    axes.set_xlabel(f"← {low}", loc="left")
    axes.annotate(
        f"{high} →", (1, 0), xycoords=("axes fraction", axes.xaxis.label), ha="right", va="bottom"
    )


def left_first(axes: Axes) -> None:
    """Turn the axis of an alignment, whose positive end is liberal, so that left is on the left."""
    axes.xaxis.set_inverted(True)
    sides(axes, "liberal (left)", "conservative (right)")


def poles(axes: Axes, of: Poles) -> None:
    """Label the two ends of the axis by what they stand for."""
    sides(axes, of.negative.word, of.positive.word)


def in_full(dimension: str) -> str:
    """Return a name as a heading."""
    known = {"": "Not scored", "total": "All dimensions together"}
    text = known.get(dimension, label(dimension.replace("_", " "), 40))
    return f"{text[:1].upper()}{text[1:]}"


def heading(dimension: str, of: Poles) -> str:
    """Return the heading of a dimension, its label where it has one."""
    return in_full(of.on(dimension).label or dimension)


def dimensions_of(values: Sequence[str]) -> list[str]:
    """Return the dimensions there are, in the report's order."""
    known = [d for d in COLOUR if d in set(values)]
    return known + [d for d in dict.fromkeys(values) if d not in known]


def stamp(figure: Figure, text: str) -> None:
    """Write a warning across a figure, so that it travels with the file."""
    figure.text(
        0.5,
        0.5,
        text,
        color="#B00020",
        fontsize=min(26.0, 2.6 * figure.get_figwidth()),
        fontweight="bold",
        alpha=0.45,
        rotation=18,
        ha="center",
        va="center",
        zorder=1000,
    ).set_in_layout(False)
