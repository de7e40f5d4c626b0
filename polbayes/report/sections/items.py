"""The statements as measuring instruments."""

import pandas as pd

from polbayes.report import show
from polbayes.report.asked import first_wordings
from polbayes.report.blocks import Column, Fold, Picture, Section, grid
from polbayes.report.figures.items import plot_items, signed
from polbayes.report.results import Results
from polbayes.report.section import SectionMaker

_MOST_DRAWN = 80


def items(results: Results) -> Section | None:
    """Show the location of each statement and how well it distinguishes models."""
    table = results.table("items")
    if table is None:
        return None
    statements = first_wordings(results.responses)
    low, high, who = results.poles.negative, results.poles.positive, results.who
    reading: tuple[str, ...] = (
        f"The location (difficulty) of a statement is the leaning at which {who.a} is as likely "
        f"to answer it {low.to} as {high.to}. A negative location means that even {who.many} "
        f"{low.of} the centre are drawn to the {high.word} side of it, a positive one that even "
        f"{who.many} {high.of} the centre answer it {low.to}. Locations are centred within a "
        "dimension: "
        "their mean is 0. The pointers ◀ and ▶ say which side agreeing is on.",
        f"The discrimination says how sharply a statement tells {low.word} from {high.word}: 1 is "
        "average, "
        "below 1 weaker, above 1 stronger; it is shown on a multiplicative scale. The lines "
        f"are {results.level:.0%} intervals.",
    )
    if signed(table):
        sign = "the other way round than the statement is keyed where it is negative"
        pointers = " The pointers ◀ and ▶ say which side agreeing is keyed on."
        leans = f"leans {low.to}"
        if "direction" in table and not table["direction"].astype(float).any():
            sign = f"agreeing is {high.to} where it is positive, and {low.to} where negative"
            pointers, leans = "", "is inclined to disagree"
        reading = (
            f"The discrimination says how much {who.a}'s position matters for its answer to a "
            f"statement: not at all where it is 0, and {sign}. The difficulty (location) is what "
            f"is taken off that: {who.a} in the middle {leans} on a statement with a positive "
            f"one.{pointers} The lines are {results.level:.0%} intervals.",
        )
    drawn, which = _most_telling(table)
    picture = Picture(
        name="items",
        caption=(
            f"Location and discrimination of the statements{which}, sorted by location within each "
            "dimension. Long statements are shortened here; the table has them whole."
        ),
        alt="Forest plot of the statements by location; the numbers are in the table below.",
        figure=plot_items(drawn, statements=statements, poles=results.poles),
    )
    return Section("items", "The statements", reading, (picture, _numbers(table, results)))


def _most_telling(table: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Return the statements to draw, and which of them these are."""
    if len(table) <= _MOST_DRAWN:
        return table, ""
    estimated = "discrimination" in table and table["discrimination"].notna().any()
    by = "discrimination" if estimated else "difficulty"
    first = table[by].abs().sort_values(ascending=False, kind="stable").index[:_MOST_DRAWN]
    return table.loc[first.sort_values()], f" (the {_MOST_DRAWN} of {len(table)} with most {by})"


def _numbers(table: pd.DataFrame, results: Results) -> Fold:
    statements = first_wordings(results.responses)
    columns = [
        show.text("item"),
        Column("Statement", lambda row: statements.get(str(row["item"]), "–"), numeric=False),
        show.text("dimension"),
        *show.estimate("Location", results.level, prefix="difficulty"),
    ]
    if {"discrimination", "discrimination_lower", "discrimination_upper"} <= set(table.columns):
        columns += show.estimate("Discrimination", results.level, prefix="discrimination")
    if signed(table):
        columns.append(show.chance("discrimination_p_positive", "Probability positive"))
    layout = grid(table, columns, caption="Item parameters.", csv="items", searchable=True)
    return Fold("Statements and their parameters, as a table", (layout,))


SECTION = SectionMaker("The statements", items, analysis="ideology")
