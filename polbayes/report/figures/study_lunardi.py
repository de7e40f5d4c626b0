"""Figures of Lunardi et al. (2024): consistency, and positions of other wordings' answers."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from polbayes.report.figures import style
from polbayes.report.figures.compass import compass_axes, crosses
from polbayes.report.figures.forest import draw_lines, say_missing

_FOUR = {
    "consistent_4": ("as expected", style.SERIES[2]),
    "discrepancy_1": ("one level off", "#c9c9c9"),
    "discrepancy_2": ("two levels off", style.SERIES[4]),
    "discrepancy_3": ("three levels off", style.SERIES[1]),
}
_TWO = {"consistent_2": ("as expected", style.SERIES[2])}
COLUMNS = {"reversed": "Polar", "paraphrase": "Paraphrastic"}
_ROWS = (("four levels", _FOUR, "consistent_4"), ("two sides", _TWO, "consistent_2"))
# Kind of answers: name, colour, marker, hollow; by row of Figure 2.
_POLAR = {
    "original": ("original", style.SERIES[2], "o", False),
    "negation": ("negated", style.SERIES[1], "s", False),
    "opposite answers": ("opposite answers to the original", style.SERIES[3], "o", True),
}
_PARAPHRASTIC = {
    "original": ("original", style.SERIES[2], "o", False),
    "paraphrase": ("paraphrases", style.SERIES[0], "^", False),
}
_ACROSS = 4


def plot_consistency_levels(table: pd.DataFrame, published: pd.DataFrame) -> Figure:
    """Draw shares of discrepancies on four levels and on two sides (Figure 1)."""
    kinds = [kind for kind in COLUMNS if (table["kind"] == kind).any()]
    models = list(dict.fromkeys([*table["model"].astype(str), *published["model"].astype(str)]))
    width = style.WIDTH if len(kinds) > 1 else 0.62 * style.WIDTH
    with style.drawing(width, 1.3 + 2 * (0.8 + 0.3 * max(len(models), 2))) as figure:
        grid = figure.subplots(2, len(kinds), squeeze=False, sharex=True, sharey=True)
        for line, (name, measures, expected) in zip(grid, _ROWS, strict=True):
            for axes, kind in zip(line, kinds, strict=True):
                rows = table[table["kind"] == kind]
                _bars(axes, rows, measures, models)
                _expected(axes, rows, expected, models)
                of = published[(published["kind"] == kind) & (published["measure"] == expected)]
                _diamonds(axes, of, models)
                axes.set(title=f"{COLUMNS[kind]}, {name}", xlim=(0, 1))
                style.percent_ticks(axes.xaxis)
                axes.tick_params(axis="x", labelbottom=True)
        style.row_names(grid[0, 0], models, width=24)
        style.legend_above(figure, 5)
    return figure


def _bars(
    axes: Axes, rows: pd.DataFrame, measures: dict[str, tuple[str, str]], models: list[str]
) -> None:
    left = np.zeros(len(models))
    for measure, (name, colour) in measures.items():
        width = _of(rows, measure, models)["estimate"].to_numpy(dtype=float)
        if measure == next(iter(measures)):
            # Models that were not asked are shown with their published figures.
            asked = np.isin(models, rows["model"].astype(str))
            for y in np.flatnonzero(~np.isfinite(width) & asked):
                say_missing(axes, float(y))
        width = np.where(np.isfinite(width), width, 0.0)
        at = np.arange(len(models))
        look: style.Look = {"color": colour, "label": name}
        axes.barh(at, width, left=left, height=0.66, **look, zorder=2)
        left = left + width


def _expected(axes: Axes, rows: pd.DataFrame, measure: str, models: list[str]) -> None:
    at = np.arange(len(models), dtype=float)
    draw_lines(axes, _of(rows, measure, models), at, colour=style.INK, width=1.4)


def _diamonds(axes: Axes, rows: pd.DataFrame, models: list[str]) -> None:
    if rows.empty:
        return
    at = [models.index(str(model)) for model in rows["model"]]
    look: style.Look = {"colour": style.INK, "hollow": True, "marker": "D", "markersize": 5.5}
    style.marks(axes, rows["estimate"], at, **look, label="published", zorder=5)


def _of(rows: pd.DataFrame, measure: str, models: Sequence[str]) -> pd.DataFrame:
    own = rows[rows["measure"] == measure].astype({"model": str})
    return own.drop_duplicates("model").set_index("model").reindex(list(models))


def plot_compass_rows(positions: pd.DataFrame) -> Figure:
    """Draw positions by negated wordings above, by paraphrases below, by model (Figure 2)."""
    models = list(dict.fromkeys(positions["model"].astype(str)))
    across = min(len(models), _ACROSS)
    bands = -(-len(models) // across)
    side = style.WIDTH / _ACROSS
    with style.drawing(
        max(across * side, 0.62 * style.WIDTH), bands * 2 * (side + 0.2) + 0.9
    ) as figure:
        grid = figure.subplots(2 * bands, across, squeeze=False, sharex=True, sharey=True)
        for n, model in enumerate(models):
            rows = positions[positions["model"].astype(str) == model]
            band, column = divmod(n, across)
            for k, groups in enumerate((_POLAR, _PARAPHRASTIC)):
                axes = grid[2 * band + k, column]
                _points(axes, rows, groups)
                axes.set_title(style.label(model, 20) if k == 0 else "")
        for n in range(len(models), bands * across):
            for k in (0, 1):
                figure.delaxes(grid[2 * (n // across) + k, n % across])
        style.legend_above(figure, 4 if across > 2 else 2)
        figure.supxlabel("← left    right →", fontsize=9.5)
        figure.supylabel("← libertarian    authoritarian →", fontsize=9.5)
    return figure


def _points(axes: Axes, rows: pd.DataFrame, groups: dict[str, tuple[str, str, str, bool]]) -> None:
    compass_axes(axes)
    for group, (name, colour, marker, hollow) in groups.items():
        own = rows[rows["group"] == group]
        look: style.Look = {"colour": colour, "hollow": hollow, "marker": marker, "markersize": 6}
        crosses(axes, own, colour)
        front = 4 if group == "original" else 3
        style.marks(axes, own["economic"], own["social"], **look, label=name, zorder=front)
