"""Alignment of the models: as published, and over the stages."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from polbayes.report import show
from polbayes.report.blocks import Block, Column, Picture, Section, folded_grid, grid
from polbayes.report.figures.forest import Panel, descending, plot_forest
from polbayes.report.figures.style import SERIES, sides
from polbayes.report.numbers import number
from polbayes.roleplay.report.results import SIGN, RatingsResults, one_twin, worded

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def alignment(results: RatingsResults) -> Section | None:
    """Show the alignment of every model, from the reflection and from the stages."""
    table = results.table("alignment")
    if table is None:
        return None
    shown = one_twin(table)
    reading = (
        "The alignment weighs the ten values with the published weights and runs from −100 to "
        f"+100; a flat profile has 0. {SIGN}",
        "The published score is that of the reflection, in which the model speaks for itself after "
        "the story. The mean over the four stages is what it did in the story. Both twins of a "
        "scenario count equally, so that compliance with the person who asks cancels.",
        f"Intervals ({results.level:.0%}) come from resampling scenarios. They are "
        "for the raw means over judges, and hold for these judges.",
    )
    panels = []
    order = descending(shown[shown["source"] == "reflection"])["model"].tolist()
    for k, source in enumerate(("reflection", "stages")):
        rows = shown[shown["source"] == source].set_index("model").reindex(order).reset_index()
        panels.append(Panel(_title(source), rows, colour=SERIES[k]))
    of, caption = columns(results.level), f"Alignment. {SIGN}"
    blocks: list[Block] = [
        Picture(
            name="alignment",
            caption=f"Alignment by model, left on the left. {SIGN}",
            alt="Dot plot of the alignment with intervals; the numbers are in the table below.",
            figure=plot_forest(panels, centre=0.0, dress=_dress),
        ),
        grid(shown, of, caption=caption, csv="alignment"),
    ]
    without = results.table("alignment_without_self")
    if without is not None:
        caption = f"Alignment without the ratings that judges gave themselves. {SIGN}"
        blocks.append(grid(one_twin(without), of, caption=caption, csv="alignment_without_self"))
    single = table[~table.index.isin(shown.index)]
    if len(single):
        caption = f"Alignment by twin. {SIGN}"
        blocks.append(
            folded_grid("Each twin by itself", single, of, caption=caption, csv="alignment")
        )
    return Section("alignment", "Where the models stand", reading, tuple(blocks))


def _title(source: str) -> str:
    return "Reflection (as published)" if source == "reflection" else "Mean of the four stages"


def _dress(axes: "Axes") -> None:
    # Left is on the left in every report, though positive is liberal in PoliticsBench.
    axes.xaxis.set_inverted(True)
    sides(axes, "liberal (left)", "conservative (right)")


def p_value(row: Mapping[str, Any]) -> str:
    """Format a p value, never as zero."""
    p = row["p"]
    return "<\u00a00.0001" if p < 1e-4 else number(p, 4)


def columns(level: float) -> list[Column]:
    """Return the columns of a table of alignments."""
    return [
        *show.texts("model"),
        *worded("source", "twin"),
        *show.estimate("Alignment (positive = liberal)", level, digits=1),
        show.number("effect_size", "Effect size d"),
        Column("p (t test against 0)", p_value),
        show.count("n", "Scenarios"),
        show.count("n_excluded", "Texts left out"),
    ]
