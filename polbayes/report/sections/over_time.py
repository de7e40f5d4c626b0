"""How positions changed over time."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from polbayes.data.prose import form
from polbayes.fit.posterior.over_time import NEXT, WHOLE
from polbayes.fit.posterior.verdicts import EQUAL, LEFT, RIGHT, Against, in_words, verdict_of
from polbayes.report import show
from polbayes.report.asked import asked_items
from polbayes.report.blocks import Block, Bullets, Column, Paragraph, Picture, Section, folded_grid
from polbayes.report.figures.over_time import plot_over_time
from polbayes.report.numbers import chance
from polbayes.report.prose import plural
from polbayes.report.results import Results
from polbayes.report.section import SectionMaker
from polbayes.report.sections.contrasts import decision_column

# Panels of a figure, of those with most times, and changes in words; the tables have the others.
_DRAWN, _SAID = 12, 8
_ENDS = ("before", "after")


def over_time(results: Results) -> Section | None:
    """Show positions of who was asked at several times, and what changed."""
    table, changes = results.table("over_time"), results.table("changes")
    if table is None or changes is None:
        return None
    asked = table.groupby("who", sort=False)["time"].nunique()
    several = asked[asked > 1].sort_values(ascending=False, kind="stable")
    who = [str(name) for name in several.index[:_DRAWN]]
    more = len(several) > _DRAWN
    which = f", for the {_DRAWN} of {len(several)} with most times" if more else ""
    poles = results.poles
    picture = Picture(
        name="over_time",
        caption=f"Latent leaning at each time with {results.level:.0%} intervals{which}.",
        alt="Positions over time; the numbers are in the table below.",
        figure=plot_over_time(table, who, poles),
    )
    unlike = _unlike(table, changes, results)
    blocks: list[Block] = [*_said(changes, unlike, results), picture]
    about = [
        *show.texts("who", "dimension"),
        Column("Between", lambda row: f"{row['before']} and {row['after']}", numeric=False),
    ]
    columns = [
        *about,
        *show.estimate("Change of lean", results.level),
        show.chance("p_left", f"Probability {poles.negative.towards}"),
        decision_column("Verdict", poles),
    ]
    caption = "The later lean minus the earlier, from each time to the next, and over the whole."
    blocks.append(
        folded_grid("Changes, as a table", changes, columns, caption=caption, csv="changes")
    )
    columns = [
        *show.texts("who", "time", "dimension"),
        *show.estimate("Position", results.level),
    ]
    caption = "Latent leaning at each time."
    blocks.append(
        folded_grid("Positions, as a table", table, columns, caption=caption, csv="over_time")
    )
    return Section("over_time", "How positions changed", _READING, tuple(blocks))


_READING = (
    "Positions follow a random walk: each is expected near the one before, as far as the steps of "
    "all show, so that a time with few answers borrows from those around it and one deviating "
    "answer makes no change.",
    "A change counts where the whole interval of the difference of leans, the expected answers to "
    "a new statement, lies beyond the margin of practical equivalence (Kruschke 2018); it is none "
    "in practice where all of it lies inside. Otherwise these data do not tell.",
)


def _unlike(table: pd.DataFrame, changes: pd.DataFrame, results: Results) -> pd.Series:
    """Return of which changes other statements were asked before than after."""
    asked = asked_items(results.responses)
    items = {
        (row["who"], row["time"]): asked.get(str(row["model"]), frozenset())
        for row in table.to_dict("records")
    }
    ends = (changes[["who", end]].itertuples(index=False, name=None) for end in _ENDS)
    unlike = [items.get(one) != items.get(other) for one, other in zip(*ends, strict=True)]
    return pd.Series(unlike, index=changes.index, dtype=bool)


def _said(changes: pd.DataFrame, unlike: pd.Series, results: Results) -> list[Block]:
    """Say which changes are decided, and how many are not."""
    if results.verdict == "bad":
        return []
    blocks: list[Block] = []
    steps = changes[changes["span"] == NEXT]
    moved = changes[changes["decision"].isin([LEFT, RIGHT])]
    # The whole and a step of it are told once, by the larger.
    size = moved["estimate"].abs().sort_values(ascending=False, kind="stable").index
    first = moved.assign(unlike=unlike).loc[size].drop_duplicates(["who", "dimension"])
    if len(first):
        entries = tuple(
            (f"{row['who']} ", _sentence(row, results))
            for row in first.head(_SAID).to_dict("records")
        )
        more = len(first) - _SAID
        tail = ((f"{more} more ", "changed; they are in the table."),) if more > 0 else ()
        blocks.append(Bullets((*entries, *tail)))
    counts = steps["decision"].value_counts()
    told = counts.get(LEFT, 0) + counts.get(RIGHT, 0)
    equal = counts.get(EQUAL, 0)
    text = (
        f"Of {plural(len(steps), 'change')} from one time to the next, {told} "
        f"{'counts' if told == 1 else 'count'}, {equal} {'is' if equal == 1 else 'are'} none in "
        f"practice, and of {len(steps) - told - equal} these data do not tell."
    )
    return [
        *blocks,
        Paragraph(text + _of_statements(int(unlike[steps.index].sum())), csv="changes"),
    ]


def _of_statements(unlike: int) -> str:
    """Say of how many changes the statements were not the same at both times."""
    if not unlike:
        return ""
    many = plural(unlike, "change")
    return (
        f" In {many} the statements asked at the two times were not the same: part of "
        f"{form(unlike, 'it', 'them')} may come from the statements, and the sentences say how the "
        "answers differ, not that somebody moved."
    )


def _sentence(row: Mapping[str, Any], results: Results) -> str:
    """Say who moved where, and how certain that is."""
    verdict = verdict_of(row)
    against: Against = "again" if row["unlike"] else "before"
    words = in_words(verdict.decision, against, results.poles.on(str(row["dimension"])))
    when = f"from {row['before']} to {row['after']}"
    several = len(results.dimensions) > 1
    about = f" on {results.about(str(row['dimension']))} questions" if several else ""
    whole = "over the whole time, " if row["span"] == WHOLE else ""
    return f"{words}{about} {whole}{when} ({chance(verdict.probability)})."


SECTION = SectionMaker("How positions changed", over_time, analysis="ideology", optional=True)
