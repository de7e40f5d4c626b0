"""Consistency and position by how a design is answered and read."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from polbayes.report.figures import style
from polbayes.report.figures.forest import draw_intervals, say_missing

_ACROSS = 2


def plot_settings(table: pd.DataFrame) -> Figure:
    """Draw a share for every decoding and list of coders, one panel per model."""
    rows = table[table["measure"] == "consistent_4"]
    decodings, coders, models = (_levels(rows, name) for name in ("decoding", "coder", "model"))
    across = min(len(models), _ACROSS)
    down = -(-len(models) // across)
    width = style.WIDTH if across > 1 else style.NARROW
    height = down * (0.8 + (0.16 + 0.13 * len(coders)) * max(len(decodings), 2)) + 0.7
    with style.drawing(width, height) as figure:
        every = style.abreast(figure, len(models), across=across, sharey=True, sharex=True)
        for axes, model in zip(every, models, strict=True):
            of_model = rows[rows["model"].astype(str) == model]
            _draw(axes, of_model, decodings, coders)
            axes.set_title(style.label(model))
            axes.tick_params(axis="x", labelbottom=True)
        style.row_names(every[0], decodings, width=22)
        style.legend_above(figure, 3)
        figure.supxlabel("share of answers as expected", fontsize=9.5)
    return figure


def _draw(axes: Axes, rows: pd.DataFrame, decodings: Sequence[str], coders: Sequence[str]) -> None:
    known = np.zeros(len(decodings), dtype=bool)
    for k, coder in enumerate(coders):
        own = rows[rows["coder"] == coder].set_index("decoding").reindex(list(decodings))
        known |= np.isfinite(own["estimate"].to_numpy(dtype=float))
        at = np.arange(len(decodings)) + 0.16 * (k - (len(coders) - 1) / 2)
        draw_intervals(axes, own, at, **style.series_look(k), name=style.label(coder, 30))
    for y in np.flatnonzero(~known):
        say_missing(axes, float(y))
    axes.set(xlim=(-0.02, 1.02))
    style.percent_ticks(axes.xaxis)
    style.faint_grid(axes, "y")
    axes.tick_params(axis="y", length=0)


def plot_positions(table: pd.DataFrame) -> Figure:
    """Draw the positions by original wordings, by decoding (colour) and coder (marker)."""
    own = table[(table["kind"] == "original") & table["measure"].isin(("economic", "social"))]
    keys = ["decoding", "coder", "model"]
    wide = own.pivot(index=keys, columns="measure", values=["estimate", "lower", "upper"])
    wide.columns = [axis if of == "estimate" else f"{axis}_{of}" for of, axis in wide.columns]
    wide = wide.reset_index()
    decodings, coders, models = (_levels(own, name) for name in keys)
    across = min(len(models), 3)
    down = -(-len(models) // across)
    with style.drawing(
        max(across * style.WIDTH / 3, 0.62 * style.WIDTH), down * (style.WIDTH / 3 + 0.2) + 0.9
    ) as figure:
        every = style.abreast(figure, len(models), across=across, sharex=True, sharey=True)
        for axes, model in zip(every, models, strict=True):
            _compass(axes, wide[wide["model"].astype(str) == model], decodings, coders)
            axes.set_title(style.label(model, 24))
        style.legend_above(figure, 3)
        figure.supxlabel("← left    right →", fontsize=9.5)
        figure.supylabel("← libertarian    authoritarian →", fontsize=9.5)
    return figure


def _compass(
    axes: Axes, rows: pd.DataFrame, decodings: Sequence[str], coders: Sequence[str]
) -> None:
    style.plane(axes, 10.4)
    for d, decoding in enumerate(decodings):
        for c, coder in enumerate(coders):
            point = rows[(rows["decoding"] == decoding) & (rows["coder"] == coder)]
            name = f"{style.label(decoding, 18)}, {style.label(coder, 24)}"
            look: style.Look = {
                "colour": style.SERIES[d % len(style.SERIES)],
                "marker": style.MARKERS[c % len(style.MARKERS)],
            }
            x, y = point["economic"], point["social"]
            line: style.Look = {"color": look["colour"], "linewidth": 0.9, "alpha": 0.5}
            axes.hlines(y, point["economic_lower"], point["economic_upper"], **line)
            axes.vlines(x, point["social_lower"], point["social_upper"], **line)
            style.marks(axes, x, y, **look, markersize=6, alpha=0.8, label=name)


def plot_lexicon_sizes(table: pd.DataFrame, *, panels: Sequence[tuple[str, str]]) -> Figure:
    """Draw shares against the number of options per stance, one line per model."""
    models = _levels(table, "model")
    with style.drawing(style.WIDTH if len(panels) > 1 else 0.62 * style.WIDTH, 3.9) as figure:
        grid = figure.subplots(1, len(panels), squeeze=False, sharey=True)[0]
        for axes, (kind, title) in zip(grid, panels, strict=True):
            chosen = table[(table["kind"] == kind) & (table["measure"] == "consistent_4")]
            for k, model in enumerate(models):
                rows = chosen[chosen["model"].astype(str) == model].sort_values("size")
                _line(axes, rows, model, k)
            axes.set(title=title, ylim=(-0.03, 1.03), xlabel="options of a stance")
            style.percent_ticks(axes.yaxis)
            style.faint_grid(axes)
        grid[0].set_ylabel("share of answers as expected")
        style.legend_above(figure, 3)
    return figure


def _line(axes: Axes, rows: pd.DataFrame, model: str, k: int) -> None:
    colour = style.SERIES[k % len(style.SERIES)]
    first = rows[rows["composition"] == 0]
    x, y, low, high = (
        first[name].to_numpy(dtype=float) for name in ("size", "estimate", "lower", "upper")
    )
    axes.fill_between(x, low, high, color=colour, alpha=0.15, linewidth=0)
    marker = style.MARKERS[k % len(style.MARKERS)]
    axes.plot(
        x, y, color=colour, marker=marker, markersize=5.5, label=style.label(model, 24), zorder=3
    )
    others = rows[rows["composition"] > 0]
    x, y = others["size"], others["estimate"]
    style.marks(axes, x, y, colour=colour, marker=".", alpha=0.6, zorder=2)


def _levels(table: pd.DataFrame, name: str) -> list[str]:
    return list(dict.fromkeys(table[name].astype(str)))
