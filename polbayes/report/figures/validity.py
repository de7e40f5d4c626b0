"""Outcomes of the answers asked for: shares per model."""

from collections.abc import Collection, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from polbayes.report.figures import style

_USABLE = ("agree", "neutral", "disagree")
# Beside models whose outcomes say less than they seem to.
MARK = "†"
# Outcome: colour and hatching. Unusable outcomes are hatched, so not only colour differs.
OUTCOMES: dict[str, tuple[str, str]] = {
    "agree": ("#009E73", ""),
    "neutral": ("#DDDDDD", ""),
    "disagree": ("#56B4E9", ""),
    "unrelated": ("#F0E442", "///"),
    "refused": ("#E69F00", "..."),
    "invalid": ("#CC79A7", "xxx"),
    "truncated": ("#CC79A7", "||"),
    "empty": ("#CC79A7", "OO"),
    "error": ("#D55E00", "\\\\\\"),
    "uncoded": ("#8c8c8c", "++"),
    "pending": ("#FFFFFF", "--"),
}


def plot_validity(
    validity: pd.DataFrame, *, outcomes: Sequence[str], marked: Collection[str] = ()
) -> Figure:
    """Draw stacked bars of outcomes, models in the order of the table, some with a mark."""
    models = validity["model"].astype(str).tolist()
    counts = validity[list(outcomes)].to_numpy(dtype=float)
    counts = np.where(np.isfinite(counts), counts, 0.0)
    total = counts.sum(axis=1, keepdims=True)
    shares = np.divide(counts, total, out=np.zeros_like(counts), where=total > 0)
    with style.drawing(style.WIDTH, 1.7 + 0.32 * max(len(models), 2)) as figure:
        axes = figure.subplots()
        _stack(axes, shares, outcomes)
        usable = shares[:, [o in _USABLE for o in outcomes]].sum(axis=1)
        mass = validity["mass"] if "mass" in validity else np.full(len(models), np.nan)
        for y, asked in enumerate(total[:, 0] > 0):
            text = _in_words(usable[y], float(mass[y])) if asked else "nothing asked"
            text += f" {MARK}" if models[y] in marked else ""
            axes.text(1.01, y, text, va="center", fontsize=8.5)
        axes.set(xlim=(0, 1), xlabel="share of the answers asked for")
        style.percent_ticks(axes.xaxis)
        style.row_names(axes, models)
        style.legend_above(figure, 9, handlelength=1.4, columnspacing=1.2)
    return figure


def _in_words(usable: float, mass: float) -> str:
    """Describe what was usable: the share of answers, or the mass on the options."""
    return f"{100 * mass:.1f}% of mass" if np.isfinite(mass) else f"{100 * usable:.0f}% usable"


def _stack(axes: Axes, shares: np.ndarray, outcomes: Sequence[str]) -> None:
    left = np.zeros(len(shares))
    for width, outcome in zip(shares.T, outcomes, strict=True):
        colour, hatch = OUTCOMES[outcome]
        look: style.Look = {
            "color": colour,
            "hatch": hatch,
            "edgecolor": "#444444",
            "linewidth": 0.4,
        }
        at = np.arange(len(shares))
        axes.barh(at, width, left=left, height=0.72, label=outcome, **look)
        left = left + width
