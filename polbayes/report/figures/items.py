"""Location and discrimination of the statements."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullFormatter, NullLocator, ScalarFormatter

from polbayes.instrument.poles import POLITICAL, Poles
from polbayes.report.figures import style

_DIRECTION = {"left": "<", "-1": "<", "right": ">", "1": ">", "+1": ">"}


def plot_items(
    items: pd.DataFrame, *, statements: Mapping[str, str], poles: Poles = POLITICAL
) -> Figure:
    """Draw difficulty, and discrimination if estimated, with the statements."""
    groups = {
        dimension: items[items["dimension"] == dimension].sort_values(
            "difficulty", kind="stable", na_position="last"
        )
        for dimension in style.dimensions_of(items["dimension"].tolist())
    }
    quantities = ["difficulty"]
    if "discrimination" in items and items["discrimination"].notna().any():
        quantities.append("discrimination")
    factors = () if signed(items) else ("discrimination",)
    reach = {quantity: _reach(items, quantity) for quantity in quantities}
    heights = [max(len(rows), 2) + 2.0 for rows in groups.values()]
    with style.drawing(style.WIDTH, 0.5 + 0.36 * sum(heights)) as figure:
        grid = figure.subplots(
            len(groups),
            len(quantities),
            squeeze=False,
            sharex="col",
            gridspec_kw={"height_ratios": heights, "width_ratios": [3, 2][: len(quantities)]},
        )
        for line, (dimension, rows) in zip(grid, groups.items(), strict=True):
            for axes, quantity in zip(line, quantities, strict=True):
                axes.set_xlim(*reach[quantity])
                _draw(
                    axes,
                    rows,
                    quantity,
                    style.COLOUR.get(dimension, style.INK),
                    factor=quantity in factors,
                )
            _name_ends(line[0], poles.on(dimension))
            _name_items(line[0], rows, statements)
            line[0].set_title(f"{style.heading(dimension, poles)}: location")
            if len(quantities) > 1:
                line[1].set_title("Discrimination")
                line[1].set_yticks(range(len(rows)), [""] * len(rows))
    return figure


def signed(items: pd.DataFrame) -> bool:
    """Return whether discriminations may have either sign; they then have a probability."""
    return "discrimination_p_positive" in items


def _reach(items: pd.DataFrame, quantity: str) -> tuple[float, float]:
    """Return limits that include all intervals; for discrimination on a log scale."""
    ends = items[[quantity, f"{quantity}_lower", f"{quantity}_upper"]].to_numpy(dtype=float)
    known = ends[np.isfinite(ends)]
    if quantity == "discrimination" and not signed(items):
        return known.min(initial=0.7) / 1.1, known.max(initial=1.4) * 1.1
    return known.min(initial=-0.5) - 0.2, known.max(initial=0.5) + 0.2


def _draw(axes: Axes, rows: pd.DataFrame, quantity: str, colour: str, *, factor: bool) -> None:
    if factor:
        _log_scale(axes)
    at = np.arange(len(rows))
    value, low, high = (
        rows[f"{quantity}{end}"].to_numpy(dtype=float) for end in ("", "_lower", "_upper")
    )
    style.rule(axes, 1.0 if factor else 0.0)
    axes.hlines(at, low, high, color=colour, linewidth=1.8, alpha=0.7, zorder=2)
    sign = rows["direction"].map(_marker) if "direction" in rows else ["o"] * len(rows)
    for y, x, marker in zip(at, value, sign, strict=True):
        style.marks(axes, x, y, marker=marker, colour=colour, markersize=6)
    style.faint_grid(axes, "y")
    axes.tick_params(axis="x", labelbottom=True)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(rows) - 0.4, -0.6)


def _name_ends(axes: Axes, poles: Poles) -> None:
    """Say what the ends of the locations are: a statement far on one side draws to the other."""
    style.sides(axes, f"drawn {poles.positive.to}", f"drawn {poles.negative.to}")


def _log_scale(axes: Axes) -> None:
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(FixedLocator([0.1, 0.2, 0.5, 1, 2, 5, 10]))
    axes.xaxis.set_major_formatter(ScalarFormatter())
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_minor_formatter(NullFormatter())
    style.sides(axes, "weak", "strong")


def _marker(direction: object) -> str:
    return _DIRECTION.get(str(direction).removesuffix(".0"), "o")


def _name_items(axes: Axes, rows: pd.DataFrame, statements: Mapping[str, str]) -> None:
    names = [
        style.item_label(item, statements.get(item, ""), width=56, lines=2)
        for item in rows["item"].astype(str)
    ]
    axes.set_yticks(range(len(names)), names, fontsize=8)
