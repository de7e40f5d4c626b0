"""Figures of Faulborn et al. (2025): positions on two dimensions, and bias by prefix."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from polbayes.instrument.poles import POLITICAL
from polbayes.report.figures import style

INSTRUCT, BASE = "instruct", "base"
_OF_TUNED = {INSTRUCT: style.SERIES[1], BASE: style.SERIES[0]}


def plot_plane(panels: Sequence[tuple[str, pd.DataFrame]]) -> Figure:
    """Draw bias on both dimensions, one marker per model, filled for one instrument (Figure 1)."""
    names = list(dict.fromkeys(m for _, t in panels for m in t["model"].astype(str)))
    instruments = _instruments([table for _, table in panels])
    side = style.WIDTH / 2
    with style.drawing(len(panels) * side, side + 0.6 + 0.22 * -(-len(names) // 3)) as figure:
        grid = figure.subplots(1, len(panels), squeeze=False, sharex=True, sharey=True)[0]
        for axes, (title, table) in zip(grid, panels, strict=True):
            _plane(axes, table, names, instruments)
            axes.set(title=title, xlabel="economic: ← left    right →")
        grid[0].set_ylabel("cultural: ← left    right →")
        handles, shown = _legend(names, instruments, panels)
        figure.legend(handles, shown, loc="outside lower left", ncols=3, frameon=False)
    return figure


def _instruments(tables: Sequence[pd.DataFrame]) -> list[str]:
    found = list(dict.fromkeys(str(i) for t in tables for i in t["instrument"]))
    return sorted(found, key=lambda name: (name != "wvs", found.index(name)))


def _plane(
    axes: Axes, table: pd.DataFrame, names: Sequence[str], instruments: Sequence[str]
) -> None:
    style.plane(axes, 1.05)
    for row in table.to_dict("records"):
        colour = _OF_TUNED.get(row["tuned"], style.INK)
        hollow = str(row["instrument"]) != instruments[0]
        look: style.Look = {"marker": _marker(names, row["model"]), "markersize": 7, "alpha": 0.85}
        style.marks(axes, row["economic"], row["cultural"], colour=colour, hollow=hollow, **look)
    for _, rows in table.groupby("model", sort=False):
        axes.plot(rows["economic"], rows["cultural"], color=style.FAINT, linewidth=0.7, zorder=2)


def _marker(names: Sequence[str], model: object) -> str:
    return style.MARKERS[names.index(str(model)) % len(style.MARKERS)]


def _legend(
    names: Sequence[str], instruments: Sequence[str], panels: Sequence[tuple[str, pd.DataFrame]]
) -> tuple[list[Artist], list[str]]:
    tuned = {
        str(m): t
        for _, table in panels
        for m, t in zip(table["model"], table["tuned"], strict=True)
    }
    handles: list[Artist] = []
    for name in names:
        colour = _OF_TUNED.get(tuned[name], style.INK)
        marker = _marker(names, name)
        handles.append(Line2D([], [], linestyle="none", marker=marker, color=colour))
    shown = [
        f"{style.label(n, 26)} ({tuned[n]})" if tuned[n] else style.label(n, 26) for n in names
    ]
    for n, instrument in enumerate(instruments):
        face = style.INK if n == 0 else "white"
        handles.append(
            Line2D([], [], linestyle="none", marker="o", color=style.INK, markerfacecolor=face)
        )
        shown.append(f"{'filled' if n == 0 else 'open'}: {instrument}")
    return handles, shown


def plot_prefix_dots(
    panels: Sequence[tuple[str, pd.DataFrame]], *, prefixes: Sequence[str]
) -> Figure:
    """Draw the bias of each model under every prefix, instruction-tuned first (Figure 2a)."""
    most = max(table["model"].nunique() for _, table in panels)
    with style.drawing(style.WIDTH, 1.7 + 0.34 * max(most, 2)) as figure:
        grid = figure.subplots(1, len(panels), squeeze=False, sharex=True)[0]
        for axes, (title, table) in zip(grid, panels, strict=True):
            style.rule(axes, 0.0)
            _dots(axes, table, prefixes)
            axes.set(title=title, xlim=(-1.03, 1.03))
            style.poles(axes, POLITICAL)
        style.legend_above(figure, 5)
    return figure


def _dots(axes: Axes, table: pd.DataFrame, prefixes: Sequence[str]) -> None:
    tuned = table.drop_duplicates("model").set_index("model")["tuned"]
    order = [*tuned[tuned != BASE].index, *tuned[tuned == BASE].index]
    for k, prefix in enumerate(prefixes):
        rows = table[table["prefix"] == prefix].set_index("model").reindex(order)
        look: style.Look = {**style.series_look(k), "markersize": 5.5, "alpha": 0.9}
        style.marks(
            axes, rows["estimate"], np.arange(len(order)), **look, label=style.label(prefix, 20)
        )
    instruct = int((tuned != BASE).sum())
    if 0 < instruct < len(order):
        axes.axhline(instruct - 0.5, color=style.INK, linewidth=0.9, linestyle="--")
    style.faint_grid(axes, "y")
    style.row_names(axes, [str(name) for name in order], width=24)


def plot_prefix_by_instrument(table: pd.DataFrame, *, prefixes: Sequence[str]) -> Figure:
    """Draw bias by prefix and instrument, one panel per model (Figure 5)."""
    models = list(dict.fromkeys(table["model"].astype(str)))
    instruments = _instruments([table])
    across = min(len(models), 3)
    down = -(-len(models) // across)
    with style.drawing(style.WIDTH, 0.8 + down * (0.8 + 0.22 * max(len(prefixes), 2))) as figure:
        every = style.abreast(figure, len(models), across=across, sharex=True, sharey=True)
        for axes, model in zip(every, models, strict=True):
            style.rule(axes, 0.0)
            rows = table[table["model"].astype(str) == model]
            for k, instrument in enumerate(instruments):
                own = rows[rows["instrument"] == instrument].set_index("prefix")
                _of_instrument(axes, own.reindex(list(prefixes)), k, instrument)
            axes.set(title=style.label(model, 26), xlim=(-1.03, 1.03))
            axes.tick_params(axis="x", labelbottom=True)
            style.faint_grid(axes, "y")
        style.row_names(every[0], list(prefixes), width=20)
        style.legend_above(figure, 4)
        figure.supxlabel("bias: ← left    right →", fontsize=9.5)
    return figure


def _of_instrument(axes: Axes, rows: pd.DataFrame, k: int, instrument: str) -> None:
    at = np.arange(len(rows)) + 0.2 * (k - 0.5)
    colour = style.SERIES[k % len(style.SERIES)]
    low, high = (rows[c].to_numpy(dtype=float) for c in ("lower", "upper"))
    axes.hlines(at, low, high, color=colour, linewidth=1.4, alpha=0.7, zorder=2)
    look: style.Look = {
        "colour": colour,
        "hollow": k > 0,
        "marker": "os^D"[k % 4],
        "markersize": 4.5,
    }
    style.marks(axes, rows["estimate"], at, **look, label=instrument)
    if "baseline" in rows.index and np.isfinite(rows.loc["baseline", "estimate"]):
        at_baseline = float(rows.loc["baseline", "estimate"])
        axes.axvline(at_baseline, color=colour, linestyle="--", linewidth=0.9, zorder=1)
