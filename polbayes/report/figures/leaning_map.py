"""The models on two dimensions."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from polbayes.instrument.dimensions import ECONOMIC_AND_CULTURAL, Dimension
from polbayes.report.figures.names import Box, cross, distance, place_names
from polbayes.report.figures.style import FAINT, INK, MARKERS, SERIES, labels, neutral_style

_AXES = ("x", "y")
_MOST_NAMES = 10
_SIDE = 6.4
_FONT = 8.5


def placed(theta: pd.DataFrame, pair: Sequence[Dimension] = ECONOMIC_AND_CULTURAL) -> pd.DataFrame:
    """Return the models with estimates on both dimensions of a pair.

    Columns are ``(estimate | lower | upper, x | y)``.
    """
    axis = {one.dimension: name for one, name in zip(pair, _AXES, strict=True)}
    wide = theta.assign(axis=theta["dimension"].map(axis)).dropna(subset="axis")
    wide = wide.pivot(index="model", columns="axis", values=["estimate", "lower", "upper"])
    if not set(_AXES) <= set(wide.columns.get_level_values(1)):
        return wide.iloc[:0]
    wide = wide.reindex(dict.fromkeys(theta["model"]))
    return wide.dropna(subset=[("estimate", d) for d in _AXES]).astype(float)


def plot_leaning_map(
    theta: pd.DataFrame, pair: Sequence[Dimension] = ECONOMIC_AND_CULTURAL
) -> Figure:
    """Draw every model as a point with a cross of its two intervals."""
    wide = placed(theta, pair)
    names = labels([str(model) for model in wide.index])
    numbered = len(names) > _MOST_NAMES
    reach = np.nan_to_num(np.abs(wide.to_numpy())).max(initial=0.0) * 1.12
    reach = float(max(reach, 0.5))
    with neutral_style():
        height = max(_SIDE + 1.0, 0.9 + 0.24 * len(names) if numbered else 0.0)
        room = 0.45 + 0.068 * (4 + max(map(len, names), default=0))
        corner_x = 0.85 if numbered else 1.4
        width = corner_x + _SIDE + (room if numbered else 1.4)
        figure = Figure(figsize=(width, height), facecolor="white")
        # A fixed position, so that text can be laid out in inches before drawing.
        corner = (corner_x, height - _SIDE - 0.25)
        axes = figure.add_axes(
            (corner[0] / width, corner[1] / height, _SIDE / width, _SIDE / height)
        )
        _frame(axes, reach, pair)
        for k, model in enumerate(wide.index):
            _cross(axes, wide.loc[model], k)
        shown = [str(k + 1) for k in range(len(names))] if numbered else names
        _write_names(axes, wide, shown, reach)
        if numbered:
            _write_key(figure, names, left=corner[0] + _SIDE + 0.15)
    return figure


def _frame(axes: Axes, reach: float, pair: Sequence[Dimension]) -> None:
    across, up = (labels(one.poles) for one in pair)
    axes.set(xlim=(-reach, reach), ylim=(-reach, reach))
    axes.axhline(0, color=INK, linewidth=0.9, zorder=1)
    axes.axvline(0, color=INK, linewidth=0.9, zorder=1)
    axes.set_xlabel(f"← {across[0]}{' ' * 40}{across[1]} →")
    axes.set_ylabel(f"← {up[0]}{' ' * 40}{up[1]} →")
    for x, one, ha in ((0.015, across[0], "left"), (0.985, across[1], "right")):
        for y, other, va in ((0.015, up[0], "bottom"), (0.985, up[1], "top")):
            axes.text(
                x, y, f"{one}\n{other}", transform=axes.transAxes,
                color="#767676", fontstyle="italic", fontsize=8.5, ha=ha, va=va, zorder=0,
            )  # fmt: skip


def _cross(axes: Axes, row: pd.Series, k: int) -> None:
    colour = SERIES[k % len(SERIES)]
    x, y = (row[("estimate", d)] for d in _AXES)
    (left, right), (low, high) = ((row[("lower", d)], row[("upper", d)]) for d in _AXES)
    axes.hlines(y, left, right, color=colour, linewidth=1.5, alpha=0.6, zorder=2)
    axes.vlines(x, low, high, color=colour, linewidth=1.5, alpha=0.6, zorder=2)
    marker = MARKERS[k % len(MARKERS)]
    axes.plot(x, y, marker=marker, color=colour, markersize=8, markeredgecolor="white", zorder=4)


def _write_names(axes: Axes, wide: pd.DataFrame, names: list[str], reach: float) -> None:
    """Write every name near its point, where it covers least."""
    x, y = (wide[("estimate", d)].to_numpy() for d in _AXES)
    points = _in_points(np.column_stack([x, y]), reach)
    sizes = [(0.62 * _FONT * len(name.replace("\\$", "$")), 1.25 * _FONT) for name in names]
    lines = _lines(wide, points, reach)
    side = (_SIDE * 72, _SIDE * 72)
    boxes = place_names(points, sizes, side, lines=lines, taken=_corners())
    for k, (name, box) in enumerate(zip(names, boxes, strict=True)):
        offset = (box[0] - points[k][0], box[1] - points[k][1])
        far = distance(box, points[k]) > 14
        axes.annotate(
            name, (x[k], y[k]), offset, textcoords="offset points", fontsize=_FONT,
            ha="left", va="bottom", zorder=5,
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.6},
            arrowprops={"arrowstyle": "-", "color": FAINT, "linewidth": 0.6} if far else None,
        )  # fmt: skip


def _in_points(values: np.ndarray, reach: float) -> np.ndarray:
    """Convert data to points (1/72 inch) from the lower left corner of the map."""
    return (values / reach + 1) * _SIDE * 36


def _lines(wide: pd.DataFrame, points: np.ndarray, reach: float) -> list[Box]:
    """Return the boxes of the intervals and of the two lines at the centre."""
    low, high = (
        _in_points(np.nan_to_num(wide[[(end, d) for d in _AXES]].to_numpy()), reach)
        for end in ("lower", "upper")
    )
    side = _SIDE * 72
    boxes = [(0.0, side / 2 - 1, side, side / 2 + 1), (side / 2 - 1, 0.0, side / 2 + 1, side)]
    for point, start, end in zip(points, low, high, strict=True):
        boxes += cross(point, start, end)
    return boxes


def _corners() -> list[Box]:
    """Return the boxes of the texts in the corners (`_frame`)."""
    side, width, height = _SIDE * 72, 80.0, 24.0
    return [
        (left, low, left + width, low + height)
        for left in (0.0, side - width)
        for low in (0.0, side - height)
    ]


def _write_key(figure: Figure, names: list[str], *, left: float) -> None:
    width, height = figure.get_size_inches()
    for k, name in enumerate(names):
        y = 1 - (0.35 + 0.24 * k) / height
        marker, colour = MARKERS[k % len(MARKERS)], SERIES[k % len(SERIES)]
        figure.add_artist(
            Line2D([left / width], [y], linestyle="none", markersize=6, marker=marker, color=colour)
        )
        figure.text((left + 0.13) / width, y, f"{k + 1}  {name}", fontsize=8, va="center")
