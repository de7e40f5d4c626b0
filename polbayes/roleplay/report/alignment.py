"""Alignment of the models: as published, and over the stages."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from polbayes.config.tasks import Answer
from polbayes.data.tables import read_csv
from polbayes.fit.posterior.verdicts import at_centre, decide
from polbayes.report import show
from polbayes.report.asked import not_for_embedded
from polbayes.report.blocks import (
    Block,
    Bullets,
    Column,
    Paragraph,
    Picture,
    Section,
    folded_grid,
    grid,
)
from polbayes.report.figures.forest import Panel, descending, plot_forest
from polbayes.report.figures.style import SERIES
from polbayes.report.numbers import interval, number
from polbayes.report.visible import visible
from polbayes.roleplay.report.results import SIGN, RatingsResults, one_twin, worded
from polbayes.roleplay.transcripts import FILE, open_transcripts


def answer(results: RatingsResults) -> tuple[Block, ...]:
    """Say in a sentence for every model where it stands."""
    table = results.table("alignment")
    if table is None or not (rows := _standings(table)):
        return (Paragraph("There is no answer, because no text has ratings that can be used."),)
    margin = number(_SCALE * results.rope, 0)
    reading = (
        "The alignment runs from −100 (conservative, right) to 100 (liberal, left), as published, "
        f"with {results.level:.0%} intervals over scenarios; it holds for these judges. A model is "
        f"left or right where its whole interval lies beyond {margin}, at the centre in practice "
        f"where all of it lies within {margin} of 0, and otherwise these data do not tell (open). "
        "Ratings of all ten values that are one point of 20 nearer to a side move it by 10."
    )
    warned = map(Paragraph, not_for_embedded(results.transcripts, "scenario", "scenario"))
    said = Bullets(tuple((f"{row['model']}:", says(row, results.rope)) for row in rows))
    return (*warned, Paragraph(reading), said)


def answer_of_roleplay(folder: Path, page: Path, *, rope: float) -> Answer:
    """Return where the models of a finished roleplay stand, in a few lines.

    `rope` is half the region of practical equivalence, as a share of half the scale.
    """
    path = folder / "measures" / "alignment.csv"
    rows = _standings(read_csv(path)) if path.is_file() else []
    head = ["Alignment, from −100 (conservative, right) to 100 (liberal, left)"] if rows else []
    said = [f"{visible(row['model'])}: {says(row, rope)}" for row in rows]
    facts = [
        {name: None if pd.isna(row[name]) else row[name] for name in _FACTS}
        | {"decision": side(row, rope) or None}
        for row in rows
    ]
    data = open_transcripts(folder) if rows and (folder / FILE).is_file() else None
    warned = [] if data is None else not_for_embedded(data, "scenario", "scenario")
    text = "\n".join([*head, *said, *warned, f"Report: {page}"])
    return Answer(text, {"alignment": facts, "report": str(page)})


# Alignment at the end of the scale.
_SCALE = 100.0
_FACTS = ("model", "estimate", "lower", "upper", "level", "in_story")


def _standings(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of the reflection, from left to right, with the mean of the stages."""
    shown = one_twin(table)
    stages = shown[shown["source"] == "stages"].set_index("model")["estimate"]
    found = descending(shown[shown["source"] == "reflection"])
    told = found.assign(in_story=found["model"].map(stages)).dropna(subset="estimate")
    return [{str(name): row[name] for name in told} for _, row in told.iterrows()]


def side(row: Mapping[str, Any], rope: float) -> str:
    """Decide on which side a model stands, by the rule for all verdicts; empty without interval.

    The lean on [-1, 1], negative to the left, is the alignment turned round.
    """
    if pd.isna(row["lower"]):
        return ""
    return decide(-row["upper"] / _SCALE, -row["lower"] / _SCALE, rope)


def says(row: Mapping[str, Any], rope: float) -> str:
    """Say where a model stands, by the interval of its alignment."""
    which = "from one scenario, without an interval"
    if decision := side(row, rope):
        which = f"{interval(row['lower'], row['upper'], 1)}, {at_centre(decision)}"
    story = row["in_story"]
    inner = f"; in the story {number(story, 1)}" if pd.notna(story) else ""
    return f"{number(row['estimate'], 1)} {which}{inner}"


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
        panels.append(Panel(_title(source), rows, colour=SERIES[k], alignment=True))
    of, caption = columns(results.level), f"Alignment. {SIGN}"
    blocks: list[Block] = [
        Picture(
            name="alignment",
            caption=f"Alignment by model, left on the left. {SIGN}",
            alt="Dot plot of the alignment with intervals; the numbers are in the table below.",
            figure=plot_forest(panels, centre=0.0),
        ),
        folded_grid("Alignment, as a table", shown, of, caption=caption, csv="alignment"),
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
