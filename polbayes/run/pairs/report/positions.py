"""Positions and tilts of the same models in one figure, with their correlation."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pandas as pd

from polbayes.report import show
from polbayes.report.blocks import WIDEST, Block, Bullets, Fold, Picture, Section, grid
from polbayes.report.figures import style
from polbayes.report.numbers import interval, number
from polbayes.report.prose import plural
from polbayes.run.pairs.report.results import SIGN, PairsResults

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ALL = "all"
# Of the figure, by the number of panels beside each other, in inches.
_WIDTHS = {1: 0.72 * style.WIDTH, 2: style.WIDTH, 3: WIDEST}
# By what the checks said of the run that the positions are of.
_WARNINGS: Mapping[str, tuple[str, ...]] = {
    "bad": (
        "Do not use the positions: the draws of the run that they are of failed the checks of the "
        "sampler.",
    ),
    "caution": (
        "Use the positions with caution: the draws of the run that they are of passed most checks, "
        "but not all.",
    ),
    "preview": (
        "The positions are a quick approximation (sampler=laplace) and are not to be quoted.",
    ),
}


def beliefs(results: PairsResults) -> Section | None:
    """Show what models say they believe beside how they treat either side."""
    table = results.table("positions")
    if table is None:
        return None
    reading = (
        "Across: the position that a model's own answers to a questionnaire express (θ). Up: its "
        f"tilt in paired requests. {SIGN} A model at the right of the horizontal axis that lies on "
        "the line at height 0 says that it is on the right, and helps both sides equally.",
        *_WARNINGS.get(results.positions_verdict, ()),
    )
    columns = [
        *show.texts("model", "dimension"),
        *show.estimate("Position θ", results.level, prefix="theta"),
        *show.estimate("Tilt, in logits", results.level, prefix="tilt"),
    ]
    caption = "Position and tilt."
    numbers = grid(table, columns, caption=caption, csv="positions", posterior=True)
    blocks: list[Block] = [
        Picture(
            name="positions",
            caption=f"Position and tilt with {results.level:.0%} intervals, and their correlation "
            "r "
            "over models.",
            alt="Points with intervals, one per model; the numbers are in the table below.",
            figure=_plot(table, _correlated(results)),
            posterior=True,
        ),
        Bullets(tuple(_correlations(results))),
        Fold("As a table", (numbers,)),
    ]
    return Section("beliefs", "What models say, and how they treat others", reading, tuple(blocks))


def _correlations(results: PairsResults) -> list[tuple[str, str]]:
    if "bad" in (results.verdict, results.positions_verdict):
        return [("", "There is no correlation, because the checks of the sampler failed.")]
    table = results.table("position_correlation")
    if table is None:
        return [("", "Correlations take at least three models.")]
    return [
        (
            "All dimensions:" if row["dimension"] == _ALL else f"{row['dimension']}:",
            f"correlation {number(row['estimate'])}, {results.level:.0%} interval "
            f"{interval(row['lower'], row['upper'])}, of {plural(row['n_models'], 'model')}.",
        )
        for row in table.to_dict(orient="records")
    ]


def _correlated(results: PairsResults) -> dict[str, str]:
    """Return the correlation with its interval by dimension, as the end of a heading."""
    table = results.table("position_correlation")
    if table is None or "bad" in (results.verdict, results.positions_verdict):
        return {}
    return {
        str(row["dimension"]): f": r = {number(row['estimate'])} "
        f"{interval(row['lower'], row['upper'])}"
        for row in table.to_dict(orient="records")
    }


def _plot(table: pd.DataFrame, correlated: Mapping[str, str]) -> "Figure":
    groups = [(str(name), rows) for name, rows in table.groupby("dimension", sort=False)]
    across = min(len(groups), 3)
    down = -(-len(groups) // across)
    with style.drawing(_WIDTHS[across], 3.9 * down) as figure:
        every = style.abreast(figure, len(groups), across=across)
        for axes, (name, rows) in zip(every, groups, strict=True):
            colour = style.COLOUR.get(name, style.INK)
            style.rule(axes, 0.0)
            axes.axhline(0.0, color=style.INK, linewidth=0.9, zorder=1)
            x, y = rows["theta"].to_numpy(), rows["tilt"].to_numpy()
            axes.hlines(y, rows["theta_lower"], rows["theta_upper"], color=colour, alpha=0.7)
            axes.vlines(x, rows["tilt_lower"], rows["tilt_upper"], color=colour, alpha=0.7)
            style.marks(axes, x, y, colour=colour, marker="o", markersize=6)
            for at, text in zip(
                zip(x, y, strict=True), style.labels(list(rows["model"])), strict=True
            ):
                axes.annotate(text, at, xytext=(5, 5), textcoords="offset points", fontsize=8.5)
            heading = "All topics" if name == _ALL else style.in_full(name)
            axes.set_title(f"{heading}{correlated.get(name, '')}")
            axes.set_xlabel("position θ (right positive)")
            axes.set_ylabel("tilt (right positive)")
            style.faint_grid(axes)
            axes.margins(0.15)
    return figure
