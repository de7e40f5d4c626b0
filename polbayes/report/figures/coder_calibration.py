"""Reliability diagrams: the accuracy of coders by their confidence."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from polbayes.report.figures.style import FAINT, SERIES, abreast, drawing, faint_grid, label

_ACROSS = 3


def plot_coder_calibration(curve: pd.DataFrame) -> Figure:
    """Draw a calibration curve per coder."""
    coders = list(dict.fromkeys(curve["coder"].astype(str)))
    across = min(len(coders), _ACROSS)
    down = -(-len(coders) // across)
    with drawing(max(4.4, 3.1 * across), 0.6 + 3.1 * down) as figure:
        every = abreast(figure, len(coders), across=across, sharex=True, sharey=True)
        for axes, coder in zip(every, coders, strict=True):
            _draw(axes, curve[curve["coder"] == coder])
            axes.set_title(label(coder))
        figure.supxlabel("confidence", fontsize=9.5)
        figure.supylabel("share right", fontsize=9.5)
    return figure


def _draw(axes: Axes, rows: pd.DataFrame) -> None:
    x, y, low, high, n = (
        rows[c].to_numpy(dtype=float) for c in ("confidence", "estimate", "lower", "upper", "n")
    )
    axes.plot([0, 1], [0, 1], color=FAINT, linewidth=0.9, linestyle="--", zorder=1)
    axes.vlines(x, low, high, color=SERIES[0], linewidth=1.4, zorder=2)
    axes.scatter(x, y, s=18 + 90 * n / max(n.max(), 1), color=SERIES[0], zorder=3)
    axes.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03))
    axes.set_xticks(np.linspace(0, 1, 6))
    faint_grid(axes)
