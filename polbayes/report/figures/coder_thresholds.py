"""Macro F1 and the share kept by confidence threshold, per coder."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from polbayes.report.figures import style

PANELS = {"macro_f1": "Macro F1 of the answers kept", "share_kept": "Share of the answers kept"}


def plot_coder_thresholds(thresholds: pd.DataFrame) -> Figure:
    """Draw the effect of dropping unsure answers (Faulborn et al. 2025, Figure 3).

    There is one panel for each of `PANELS`, and one line per coder, shaded by its intervals.
    """
    coders = list(dict.fromkeys(thresholds["coder"].astype(str)))
    with style.drawing(style.WIDTH, 3.6) as figure:
        grid = figure.subplots(1, len(PANELS), sharex=True)
        for axes, (measure, title) in zip(grid, PANELS.items(), strict=True):
            for k, (coder, name) in enumerate(zip(coders, style.labels(coders), strict=True)):
                at = (thresholds["coder"] == coder) & (thresholds["measure"] == measure)
                rows = thresholds[at].sort_values("threshold")
                x, y, low, high = (
                    rows[c].to_numpy(dtype=float)
                    for c in ("threshold", "estimate", "lower", "upper")
                )
                colour, marker = style.series_look(k).values()
                axes.plot(x, y, color=colour, marker=marker, markersize=3.5, label=name, zorder=3)
                axes.fill_between(
                    x, low, high, where=np.isfinite(low), color=colour, alpha=0.15, linewidth=0
                )
            axes.set(title=title, xlim=(-0.02, 1.02), ylim=(-0.02, 1.04))
            axes.set_xlabel("least confidence of an answer that is kept")
            style.faint_grid(axes)
        style.legend_above(figure, 4)
    return figure
