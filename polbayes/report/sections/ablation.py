"""Consistency and position by how a design is answered and read."""

import pandas as pd

from polbayes.report import show
from polbayes.report.blocks import Block, Column, Fold, Picture, Section, grid, level_of
from polbayes.report.figures.ablation import plot_lexicon_sizes, plot_positions, plot_settings
from polbayes.report.prose import plural
from polbayes.report.sections.consistency import KINDS, MEASURES, POSITIONS

PANELS = {"reversed": "Polar: negations and opposites", "paraphrase": "Paraphrastic: same meaning"}
_NAMES = {"reversed": "ablation_polar", "paraphrase": "ablation_paraphrastic"}
_KIND = show.named("kind", "Wordings", KINDS)
_MEASURE = Column(
    "Measure",
    lambda row: {**MEASURES, **POSITIONS}.get(row["measure"], row["measure"]),
    numeric=False,
)


def ablation(table: pd.DataFrame, apart: pd.DataFrame | None) -> Section:
    """Show every setting of ``task=ablate``, and its difference from the run's own."""
    of_lexicon = "size" in table
    level = level_of(table)
    what = (
        "how many words of the lexicon are read: first its first so many of every stance (the "
        "line, with its interval), then random selections of as many (the dots)"
        if of_lexicon
        else "how answers are decoded and what reads them; a name with a number after it says how "
        "many sequences of a beam there are"
    )
    reading = (
        f"The same questions to the same models. What changes is {what}. Polar consistency is the "
        "share of answers to negations and opposites that are the reverse of the answer to the "
        "original, on four levels; paraphrastic consistency the share of answers to paraphrases "
        f"that are the same. Intervals ({level:.0%}) come from resampling statements.",
        "A model that understands is consistent in both, whatever the setting. Where polar "
        "consistency depends on the setting, so does every position that rests on the answers.",
    )
    blocks = _lexicons(table) if of_lexicon else _settings(table)
    if apart is not None and len(apart):
        blocks.append(_differences(apart, of_lexicon))
    numbers = grid(
        table,
        [*_labels(of_lexicon), *_columns("Estimate", level), show.count("n", "n")],
        caption="All measures under every setting.",
        csv="ablation",
        searchable=len(table) <= 2000,
    )
    blocks.append(Fold("Every setting, as a table", (numbers,)))
    return Section("ablation", "The same questions, asked and read otherwise", reading, (*blocks,))


def _labels(of_lexicon: bool) -> list[Column]:
    if of_lexicon:
        return [
            show.number("size", "Options of a stance", 0),
            Column("Which", lambda row: which(row["composition"]), numeric=False),
        ]
    return [show.text("decoding"), show.text("coder", "Read by")]


def which(composition: object) -> str:
    """Name a selection of the words of a lexicon."""
    return "the first" if int(str(composition)) == 0 else f"random, no. {composition}"


def _columns(header: str, level: float) -> list[Column]:
    return [show.text("model"), _KIND, _MEASURE, *show.estimate(header, level)]


def _settings(table: pd.DataFrame) -> list[Block]:
    blocks: list[Block] = []
    for kind, title in PANELS.items():
        rows = table[table["kind"] == kind]
        if len(rows):
            picture = Picture(
                name=_NAMES[kind],
                caption=f"{title}: share as expected on four levels, by decoding and coder.",
                alt=f"{title}: dot plots by model; the numbers are in the table below.",
                figure=plot_settings(rows),
                csv=("ablation",),
            )
            blocks.append(picture)
    if (table["measure"] == "economic").any():
        picture = Picture(
            name="ablation_compass",
            caption=_of_compass(table),
            alt="Small compasses by model; the numbers are in the table below.",
            figure=plot_positions(table),
            csv=("ablation",),
        )
        blocks.append(picture)
    return blocks


def _of_compass(table: pd.DataFrame) -> str:
    """Say how many items the positions rest on, which limits their precision."""
    own = table[(table["kind"] == "original") & table["measure"].isin(["economic", "social"])]
    least, most = (int(n) for n in (own["n_items"].min(), own["n_items"].max()))
    items = plural(most, "item") if least == most else f"{least} to {most} items"
    return (
        "Positions on the Political Compass by the answers to the original wordings, with "
        f"{level_of(own):.0%} intervals from resampling items. Each position rests on {items}; the "
        "test itself has 62, and a position by a few of them is a rough one."
    )


def _lexicons(table: pd.DataFrame) -> list[Block]:
    there = [(kind, title) for kind, title in PANELS.items() if (table["kind"] == kind).any()]
    if not there:
        return []
    return [
        Picture(
            name="ablation_lexicon",
            caption="Share as expected on four levels, by how many words of each stance are read.",
            alt="Lines by model; the numbers are in the table below.",
            figure=plot_lexicon_sizes(table, panels=there),
            csv=("ablation",),
        )
    ]


def _differences(table: pd.DataFrame, of_lexicon: bool) -> Block:
    level = level_of(table)
    columns = [*_labels(of_lexicon), *_columns("Difference", level)]
    numbers = grid(
        table,
        columns,
        caption="Each setting minus the run's own, over the same statements, resampled together.",
        csv="ablation_differences",
        searchable=len(table) <= 2000,
    )
    return Fold("How far each setting is from the run's own", (numbers,))
