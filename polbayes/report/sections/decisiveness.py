"""How decided each model is, regardless of where it stands."""

import pandas as pd

from polbayes.report import show
from polbayes.report.blocks import Beside, Block, Column, Paragraph, Picture, Section, folded_grid
from polbayes.report.figures.forests import DECISIVENESS, plot_decisiveness
from polbayes.report.numbers import interval, number
from polbayes.report.results import Results
from polbayes.report.section import SectionMaker

_TITLE = "How decided the {who.many} are"
_OWN = "decisiveness"
_READING = (
    "Decisiveness says how sharply {who.a}'s answers follow what it thinks, and nothing about "
    "where it stands: {who.a} can be firmly in the middle, or waver far out. It multiplies the "
    "distance between a statement and the point where the {who} would change its answer. At 1, "
    "a statement one unit away from that point gets the likelier answer about three times in "
    "four; at 5, practically always.",
    "The second figure says the same in terms of answers: the probability that {who.a} gives "
    "the same answer when it is asked the same question again. Leaning is measured in units "
    "of the spread of what {who.a} thinks of single statements, so that {who.many} that repeat "
    "themselves more often are not taken for more extreme.",
)


def decisiveness(results: Results) -> Section | None:
    """Show how sharply the models answer, and how often they would repeat themselves."""
    table = results.table("decisiveness")
    if table is None:
        return None
    who, one = results.who, _common(table)
    pictures = tuple(
        Picture(
            name=measure,
            caption=f"{title}, the most decided {who} at the top. It has no direction. "
            f"Lines: {results.level:.0%} intervals.",
            alt=f"Forest plot. {title}; the numbers are in the table below.",
            figure=plot_decisiveness(table, measure=measure),
            csv=("decisiveness",),
        )
        for measure, title in DECISIVENESS.items()
        if table.loc[table["measure"] == measure, "estimate"].notna().any()
        and (one is None or measure != _OWN)
    )
    blocks: list[Block] = [Beside(pictures)] if pictures else []
    if one is not None:
        text = f"This analysis gives all {who.many} one decisiveness: {number(one['estimate'])} "
        within = interval(one["lower"], one["upper"])
        blocks.append(Paragraph(f"{text}{within} ({results.level:.0%} interval)."))
    blocks.append(
        folded_grid(
            "Decisiveness and repetition, as a table",
            table,
            [
                show.text("model"),
                Column("Measure", lambda row: DECISIVENESS[row["measure"]], numeric=False),
                *show.estimate("Estimate", results.level),
            ],
            caption="Decisiveness, and the probability of the same answer again.",
            csv="decisiveness",
        )
    )
    copies = _copies(table)
    if copies:
        blocks.append(
            Paragraph(
                f"{', '.join(copies)} answered every statement once, or the same in all runs (as "
                "at temperature 0, with beams or a cache). That counts as one opinion, so there is "
                "no estimate of how sharply they answer and how often an answer would come again."
            )
        )
    reading = tuple(text.format(who=who) for text in _READING)
    return Section("decisiveness", _TITLE.format(who=who), reading, tuple(blocks))


def _common(table: pd.DataFrame) -> pd.Series | None:
    """Return the decisiveness that all models share, if they do."""
    rows = table[table["measure"] == _OWN]
    alike = rows[["estimate", "lower", "upper"]].drop_duplicates()
    return (
        alike.iloc[0]
        if len(rows) > 1 and len(alike) == 1 and alike.notna().all(axis=None)
        else None
    )


def _copies(table: pd.DataFrame) -> list[str]:
    again = table[table["measure"] == "repetition"]
    return [str(model) for model in again.loc[again["estimate"].isna(), "model"]]


SECTION = SectionMaker(_TITLE, decisiveness)
