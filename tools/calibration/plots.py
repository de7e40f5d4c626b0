"""Figures of a calibration."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tools.calibration.judge import LEVELS, band, ecdf_difference, group_of
from tools.calibration.results import ABOUT

if TYPE_CHECKING:
    import pandas as pd

_ACROSS = 4


def plot_ranks(table: "pd.DataFrame", kept: int, path: Path) -> None:
    """Draw the ECDF differences of a case, one panel per kind of quantity, with the 95 % band.

    Parameters
    ----------
    table
        Ranks, one row per data set.
    kept
        Draws that were ranked among.
    path
        Where the PNG goes.
    """
    from polbayes.report.figures.style import FAINT, INK, PALE, drawing

    groups: dict[str, list[str]] = {}
    for name in table.columns:
        if name not in ABOUT:
            groups.setdefault(group_of(name), []).append(name)
    at = np.arange(1, kept + 1) / (kept + 1)
    lower, upper = band(len(table), kept, 0.95)
    down = -(-len(groups) // _ACROSS)
    with drawing(9.2, 0.5 + 1.5 * down) as figure:
        axes = figure.subplots(down, _ACROSS, sharex=True, sharey=True, squeeze=False)
        for axis, (group, members) in zip(axes.flat, groups.items(), strict=False):
            axis.fill_between(at, lower, upper, color=PALE, linewidth=0)
            axis.axhline(0, color=FAINT, linewidth=0.6)
            for member in members:
                difference = ecdf_difference(table[member].to_numpy(dtype=int), kept)
                out = bool(((difference < lower) | (difference > upper)).any())
                colour = "#D55E00" if out else INK
                axis.step(at, difference, color=colour, linewidth=0.6, alpha=0.7)
            axis.set_title(_short(group), fontsize=7.5)
            axis.tick_params(labelsize=7)
        for axis in axes.flat[len(groups) :]:
            axis.set_visible(False)
        figure.supxlabel("rank of the true value among the draws, as a share", fontsize=8.5)
        figure.supylabel("ECDF − uniform", fontsize=8.5)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=90)


def plot_coverage(groups: "pd.DataFrame", path: Path) -> None:
    """Draw the coverage of the intervals, for all kinds of quantities of all cases.

    Parameters
    ----------
    groups
        ``case`` and the columns of `tools.calibration.judge.by_group`.
    path
        Where the PNG goes.
    """
    from polbayes.report.figures.style import FAINT, SERIES, drawing

    cases = list(groups["case"].unique())
    with drawing(9.2, 0.6 + 0.42 * len(cases)) as figure:
        axes = figure.subplots(1, len(LEVELS), sharey=True)
        for axis, level, colour in zip(axes, LEVELS, SERIES, strict=False):
            axis.axvline(level, color=FAINT, linewidth=0.8)
            for row, case in enumerate(cases):
                some = groups[groups["case"] == case]
                place = row + np.linspace(-0.32, 0.32, len(some))
                axis.errorbar(
                    100 * some[f"coverage_{level}"],
                    place,
                    xerr=200 * some[f"error_{level}"],
                    fmt=".",
                    color=colour,
                    markersize=3,
                    linewidth=0.7,
                )
            axis.set_title(f"{level} % intervals", fontsize=9)
            axis.set_yticks(range(len(cases)), cases, fontsize=8)
            axis.tick_params(axis="x", labelsize=7.5)
        axes[0].invert_yaxis()
        figure.supxlabel("covered, in %, ± 2 standard errors", fontsize=8.5)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=90)


def _short(group: str) -> str:
    return group.removeprefix("scale[").removesuffix("]") + " (sd)" if "scale[" in group else group
