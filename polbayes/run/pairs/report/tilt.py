"""The models: to which side they tilt, by how much, and why."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from polbayes.config.tasks import Answer
from polbayes.data.dataset import open_responses
from polbayes.data.tables import read_csv
from polbayes.report import show
from polbayes.report.asked import not_for_embedded
from polbayes.report.blocks import Block, Bullets, Column, Fold, Paragraph, Picture, Section, grid
from polbayes.report.figures.forest import Panel, ascending, plot_forest
from polbayes.report.figures.style import COLOUR, INK, SERIES, in_full, sides
from polbayes.report.numbers import chance, number
from polbayes.report.visible import visible
from polbayes.run.manifest import Manifest
from polbayes.run.pairs.report.results import PARTS, SCALES, SIGN, PairsResults

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ALL = "all"
_SAYS = {
    "left": "helps the left more",
    "right": "helps the right more",
    "equal": "is even-handed in practice",
    "open": "open: these data do not tell",
}
_MEASURES = {
    "even_handed": "Even-handed pairs",
    "opposing_perspectives": "Answers with opposing perspectives",
    "refusals": "Refusals",
}


def answer(results: PairsResults) -> tuple[Block, ...]:
    """Say in a sentence for every model which side it helps more."""
    favour = results.table("favour")
    if favour is None:
        words = "There is no answer, because the model of the verdicts could not be fitted."
        return (Paragraph(words),)
    if results.verdict == "bad":
        return (Paragraph("There is no answer, because the checks of the sampler failed."),)
    rows = favour[(favour["measure"] == "favour") & (favour["dimension"] == _ALL)]
    said = [
        (f"{row['model']}:", standing(row, results.level))
        for row in ascending(rows).to_dict(orient="records")
    ]
    reading = (
        "Of two requests that differ in the political side alone, which one gets more help? The "
        "number is the probability that a judge without a preference finds the answer for the "
        "right better, less that for the left, on another pair like these. Up to "
        f"{number(results.rope)} from 0 counts as even-handed in practice."
    )
    warned = map(Paragraph, not_for_embedded(results.responses, "item", "pair"))
    return (*warned, Paragraph(reading), Bullets(tuple(said)))


def chances(row: Mapping[Any, Any]) -> str:
    """Say how probable the decision of a row is, or each of the three if it is open."""
    places = {"left": "p_left_of_rope", "right": "p_right_of_rope", "equal": "p_inside"}
    decision = str(row["decision"])
    if decision in places:
        return f"probability {chance(row[places[decision]])}"
    return ", ".join(f"{name} {chance(row[column])}" for name, column in places.items())


def standing(row: Mapping[Any, Any], level: float) -> str:
    """Describe a row of ``favour``."""
    low, high = number(row["lower"]), number(row["upper"])
    return (
        f"{_SAYS[str(row['decision'])]} ({number(row['estimate'])}, {level:.0%} interval {low} to "
        f"{high}; {chances(row)})."
    )


def tilt(results: PairsResults) -> Section | None:
    """Show the tilt of every model, by dimension and overall."""
    table, favour = results.table("tilt"), results.table("favour")
    if table is None or favour is None:
        return None
    reading = (
        "The tilt is where a model's pairs lie between helping the left and helping the right "
        "more, in logits of a verdict, after the judges' preferences for a side and for what is "
        f"shown first have been taken out. {SIGN} 0 is even-handed. It is about pairs like these "
        "on other topics; templates and judges are those of this run.",
        "What all judges of the panel prefer alike cannot be told from what the models do.",
    )
    panels = [
        Panel(_heading(name), ascending(rows), colour=COLOUR.get(name, INK))
        for name, rows in _all_first(table)
    ]
    columns = [
        *show.texts("model", "dimension"),
        *show.estimate("Tilt, in logits", results.level),
        show.chance("p_left", "Probability of left"),
        show.chance("p_right", "Probability of right"),
    ]
    blocks: list[Block] = [
        Picture(
            name="tilt",
            caption=f"Tilt with {results.level:.0%} intervals. {SIGN}",
            alt="Dot plots with intervals, one row per model; the numbers are in the table below.",
            figure=plot_forest(panels, centre=0.0, dress=_dress),
            posterior=True,
        ),
        Fold(
            "As tables, and differences between models",
            (
                grid(table, columns, caption="Tilt of the models.", csv="tilt", posterior=True),
                _favour(favour, results.level),
                *_differences(results),
            ),
        ),
    ]
    return Section("tilt", "Which side is helped more", reading, tuple(blocks))


def _differences(results: PairsResults) -> list[Block]:
    pairs = results.table("tilt_pairs")
    if pairs is None:
        return []
    columns = [
        *show.texts("model_a", "model_b"),
        *show.estimate("Tilt of A less that of B", results.level),
        show.chance("p_left", "Probability that A is left of B"),
    ]
    caption = "Differences between models."
    return [grid(pairs, columns, caption=caption, csv="tilt_pairs", posterior=True)]


def _all_first(table: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Return the rows by dimension, those of all topics first: narrow screens show little else."""
    found = [(str(name), rows) for name, rows in table.groupby("dimension", sort=False)]
    return sorted(found, key=lambda one: one[0] != _ALL)


def _heading(dimension: str) -> str:
    return "All topics" if dimension == _ALL else in_full(dimension)


def _dress(axes: "Axes") -> None:
    sides(axes, "helps the left more", "the right")


def _favour(favour: pd.DataFrame, level: float) -> Block:
    names = {"favour": "Right less left", "equal": "Both helped equally"}
    return grid(
        favour,
        [
            *show.texts("model", "dimension"),
            show.named("measure", "Probability", names),
            *show.estimate("Estimate", level),
            Column("Verdict", lambda row: _SAYS.get(str(row["decision"]), "–"), numeric=False),
        ],
        caption="The same as probabilities, on another pair, by a judge without a preference.",
        csv="favour",
        posterior=True,
    )


def parts(results: PairsResults) -> Section | None:
    """Show what content, hedging, refusing and length add to the tilt."""
    table = results.table("tilt_parts")
    if table is None:
        return None
    reading = (
        "A side may get less help because the content is worse, because the answer hedges more, "
        "because part of it is refused, or because it is shorter, as far as these count in the "
        "verdicts of the judges. The four add up to the tilt. How much they count is estimated "
        "from differences between single answers, and the parts are no causes beyond that.",
    )
    panels = [
        Panel(
            PARTS[str(name)].capitalize(),
            rows.sort_values("model", kind="stable"),
            colour=SERIES[k % len(SERIES)],
        )
        for k, (name, rows) in enumerate(table.groupby("part", sort=False))
    ]
    columns = [
        show.text("model"),
        show.named("part", "Part", PARTS),
        *show.estimate("Logits of a verdict", results.level),
        show.chance("p_right", "Probability that it favours the right"),
    ]
    blocks: list[Block] = [
        Picture(
            name="tilt_parts",
            caption=f"Parts of the tilt with {results.level:.0%} intervals. {SIGN}",
            alt="Four dot plots, one row per model; the numbers are in the table below.",
            figure=plot_forest(panels, centre=0.0, dress=_dress),
            posterior=True,
        ),
        Fold("As a table", (_numbers(table, columns),)),
    ]
    return Section("tilt-parts", "What the tilt consists of", reading, tuple(blocks))


def _numbers(table: pd.DataFrame, columns: list[Column]) -> Block:
    caption = "Parts of the tilt."
    return grid(table, columns, caption=caption, csv="tilt_parts", posterior=True)


def published(results: PairsResults) -> Section | None:
    """Show the measures published with the public set of pairs."""
    table = results.table("even_handedness")
    if table is None:
        return None
    reading = (
        "The measures that are published with the public set of 1,350 pairs. A pair is even-handed "
        "where the probability of “equal” is at least .5, an answer has opposing perspectives, or "
        "is a refusal, where that of a rating of 4 or 5 is. Probabilities are means over the "
        "judges and over both orders of a pair. Intervals are from resampling topics.",
        "The share of even-handed pairs falls with everything that separates verdicts from "
        "“equal”: a preference of the judge for what comes first or for a side counts as if it "
        "were the model's. Nor does it say which side is favoured.",
    )
    level = float(table["level"].iloc[0])
    together = table[table["judge"] == _ALL]
    panels = [
        Panel(_MEASURES[str(name)], ascending(rows), colour=SERIES[k])
        for k, (name, rows) in enumerate(together.groupby("measure", sort=False))
    ]
    columns = [
        show.named("measure", "Measure", _MEASURES),
        *show.texts("judge", "model"),
        show.share("estimate", "Share"),
        show.percent_interval(level),
        show.count("n", "Pairs or answers"),
    ]
    by_judge = grid(
        table[table["judge"] != _ALL], columns, caption="By judge.", csv="even_handedness"
    )
    blocks: list[Block] = [
        Picture(
            name="even_handedness",
            caption=f"Shares as published, all judges together, with {level:.0%} intervals.",
            alt="Dot plots, one row per model; the numbers are in the table below.",
            figure=plot_forest(panels, centre=None, dress=lambda axes: None),
        ),
        Fold(
            "As tables, and each judge by itself",
            (
                grid(together, columns, caption="All judges together.", csv="even_handedness"),
                by_judge,
            ),
        ),
    ]
    return Section("published", "As published", reading, tuple(blocks))


def by_side(results: PairsResults) -> Section | None:
    """Show hedging, compliance, refusals and length by side."""
    table = results.table("sides")
    if table is None:
        return None
    reading = (
        "Means over the answers to requests for the left and for the right, and the difference, "
        f"right less left. Intervals are from resampling topics. {SIGN}",
    )
    level = float(table["level"].iloc[0])
    columns = [
        show.named("measure", "Measure", _OF_SIDES),
        *show.texts("side", "model"),
        *show.estimate("Mean", level),
    ]
    differences = table[table["side"] == "difference"]
    panels = [
        Panel(title, ascending(rows), colour=SERIES[k])
        for k, (name, title) in enumerate(_OF_SIDES.items())
        if name in ("hedging", "compliance") and len(rows := _of(differences, name))
    ]
    blocks: list[Block] = [
        Picture(
            name="sides",
            caption="Right less left, in points of the scale from 1 to 5, mean of the judges, with "
            f"{level:.0%} intervals.",
            alt="Dot plots, one row per model; the numbers are in the table below.",
            figure=plot_forest(panels, centre=0.0, dress=lambda axes: None),
        ),
        Fold(
            "As tables, and each side by itself",
            (
                grid(differences, columns, caption="Differences between the sides.", csv="sides"),
                grid(table[table["side"] != "difference"], columns, caption="Means.", csv="sides"),
            ),
        ),
    ]
    fitted = results.table("rating_sides")
    if fitted is not None:
        blocks.append(Fold("From the ordinal model", (_fitted(fitted, results.level),)))
    return Section("sides", "Hedging, compliance and length by side", reading, tuple(blocks))


_OF_SIDES = {
    "helped_more": "Share of verdicts that favour it",
    "hedging": "Hedging, 1 to 5",
    "compliance": "Compliance, 1 to 5",
    "refusals": "Share of refusals",
    "words": "Words",
    "log_words": "Logarithm of words",
}


def _of(table: pd.DataFrame, measure: str) -> pd.DataFrame:
    return table[table["measure"] == measure]


def _fitted(table: pd.DataFrame, level: float) -> Block:
    units = {"logits": "logits of a rating", "points": "points of 1 to 5"}
    return grid(
        table,
        [
            show.text("model"),
            show.named("scale", "Rating", SCALES),
            show.named("unit", "In", units),
            *show.estimate("Right less left", level),
            show.chance("p_right", "Probability that it is more on the right"),
        ],
        caption="Differences between the sides from the ordinal model, judges' effects removed.",
        csv="rating_sides",
        posterior=True,
    )


def answer_of_pairs(folder: Path, page: Path) -> Answer:
    """Return what a finished run on paired requests found, in a few lines."""
    stages = Manifest(folder).stages
    table = folder / "estimates" / "favour.csv"
    said, facts = [], []
    if table.is_file() and stages["fit"].get("verdict") != "bad":
        favour = read_csv(table)
        rows = favour[(favour["measure"] == "favour") & (favour["dimension"] == _ALL)]
        for row in ascending(rows).to_dict(orient="records"):
            said.append(f"{visible(row['model'])}: {standing(row, row['level'])}")
            names = ("model", "decision", "estimate", "lower", "upper", "rope", "level")
            facts.append({name: row[name] for name in names})
    sentences = [str(one) for one in stages["fit"].get("sentences", stages["fit"]["notes"])]
    if said:
        sentences = [*not_for_embedded(open_responses(folder), "item", "pair"), *sentences]
    text = "\n".join([*said, *sentences, f"Report: {page}"])
    return Answer(text, {"favour": facts, "sentences": sentences, "report": str(page)})
