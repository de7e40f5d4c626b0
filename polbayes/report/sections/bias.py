"""The published bias measure: classical and posterior."""

from typing import Any

import pandas as pd

from polbayes.instrument.poles import Pole, Poles
from polbayes.report import show
from polbayes.report.blocks import (
    Block,
    Column,
    Fold,
    Paragraph,
    Picture,
    Section,
    estimated,
    folded_grid,
    grid,
    level_of,
    overall,
)
from polbayes.report.charts.forest import forest_chart
from polbayes.report.charts.parts import sides
from polbayes.report.figures.bias import plot_bias
from polbayes.report.labels import labels_of
from polbayes.report.numbers import interval
from polbayes.report.prose import Noun, listed
from polbayes.report.results import Results
from polbayes.report.section import SectionMaker
from polbayes.report.sections.adaptive import warning
from polbayes.report.sections.ranking import differently_ordered

_TITLE = "Bias on a scale from −1 to 1"
_ONE_SIDE = (
    "There is none: the measure compares the answers to statements of two sides, and no {who} has "
    "usable answers to both."
)


def bias(results: Results) -> Section | None:
    """Show the bias on [-1, 1]: posterior and classical estimate side by side."""
    tables = results.table("bias_posterior"), overall(results.table("bias"))
    if all(table is None for table in tables):
        return None
    posterior, classical = map(estimated, tables)
    if posterior is None and classical is None:
        return Section("bias", _TITLE, (), (Paragraph(_ONE_SIDE.format(who=results.who)),))
    level, poles, who = level_of(classical), results.poles, results.who
    low, high = poles.negative, poles.positive
    reading = (
        f"The bias measure compares how often {who.a} takes the {low.word} side with how often it "
        f"takes the {high.word} side. It runs from −1 (always {low.towards}) to +1 (always "
        f"{high.towards}); 0 means as often {low.towards} as {high.towards}. Statements of both "
        "sides count equally, so that agreeing with "
        "everything gives 0.",
        *_how(posterior, classical, (results.level, level), low, who),
        *_orders(results),
        *warning(results),
    )
    given = {"bias_posterior": posterior, "bias": classical}
    there = {name: table for name, table in given.items() if table is not None}
    words = {"bias_posterior": "posterior", "bias": "classical"}
    blocks: list[Block] = [
        Picture(
            name="bias",
            caption=f"Bias by {who}, the furthest {low.towards} at the top. "
            f"Negative is {low.towards}.",
            alt="Dot plot of the bias on the scale from −1 to 1, with intervals. The numbers "
            "are in the tables below.",
            figure=plot_bias(posterior, classical, poles),
            csv=tuple(there),
            chart=forest_chart(
                {words[n]: table for n, table in there.items()},
                who=results.who,
                axis=sides(low.word, high.word),
                words=labels_of(results.dimensions),
            ),
        )
    ]
    if posterior is not None:
        blocks.append(Fold("Posterior bias, as a table", (_posterior(posterior, results),)))
    if classical is not None:
        blocks.append(Fold("Classical bias, as a table", (_classical(classical, level, poles),)))
    differences = results.table("bias_difference_by_instrument")
    if differences is not None:
        blocks.append(_between_instruments(differences, low))
    return Section("bias", _TITLE, reading, tuple(blocks))


def _how(
    posterior: pd.DataFrame | None,
    classical: pd.DataFrame | None,
    levels: tuple[float, float],
    low: Pole,
    who: Noun,
) -> list[str]:
    out, (level, classical_level) = [], levels
    if posterior is not None:
        out.append(
            "Filled circles: the bias that the fitted ideology model implies on a balanced "
            f"questionnaire, with {level:.0%} posterior intervals."
        )
    if classical is not None:
        out.append(
            "Open squares: the published measure, computed straight from the coded answers; the "
            f"thick line is its {classical_level:.0%} bootstrap interval over answers, the "
            "thin line the one over statements, which also covers that other statements "
            "might have been asked."
        )
    if posterior is not None and classical is not None:
        out.append(
            "The two differ where answers are not all or nothing. The classical measure takes "
            f"only the side of each answer: one that leans ever so slightly {low.to} counts as "
            f"{low.word} as a firm one does. The posterior is of the expected answer, in which "
            f"probabilities and neutral answers count by how much. {who.a.capitalize()} that "
            f"always leans a little {low.to} may have −1 by the first and −0.3 by the second."
        )
    return out


def _orders(results: Results) -> list[str]:
    """Explain an order that differs from that of the leanings."""
    other = differently_ordered(results, results.table("theta"), results.table("bias_posterior"))
    if not other:
        return []
    return [
        f"On {listed(other)} questions the order by bias is not that by leaning. The leaning is "
        "about statements like these, and sets apart the tendency to agree; the bias is about the "
        "very statements asked, and grows with how decided the answers are. "
        f"{results.who.many.capitalize()} whose intervals overlap may change places between the "
        "two by chance."
    ]


def _posterior(table: pd.DataFrame, results: Results) -> Block:
    poles = results.poles
    return grid(
        table,
        [
            *show.texts("model", "dimension"),
            *show.estimate(poles.header("Bias"), results.level),
            show.chance("p_left", f"Probability of a {poles.negative.word} bias"),
        ],
        caption="Bias, posterior.",
        csv="bias_posterior",
    )


def _classical(table: pd.DataFrame, level: float, poles: Poles) -> Block:
    columns = [*show.texts("model", "dimension"), *show.estimate(poles.header("Bias"), level)]
    if {"lower_item", "upper_item"} <= set(table.columns):
        columns.append(Column(f"{level:.0%} interval over statements", _by_item))
    for name, header in (("n", "Answers used"), ("n_excluded", "Answers left out")):
        if name in table:
            columns.append(show.count(name, header))
    if "note" in table and table["note"].replace("", None).notna().any():
        columns.append(show.text("note"))
    return grid(table, columns, caption="Bias, classical, with bootstrap intervals.", csv="bias")


def _between_instruments(table: pd.DataFrame, low: Pole) -> Block:
    level = level_of(table)
    columns = [
        *show.texts("model", "dimension"),
        Column("Instruments", lambda row: f"{row['first']} − {row['second']}", numeric=False),
        *show.estimate("Difference of bias", level),
    ]
    if {"lower_item", "upper_item"} <= set(table.columns):
        columns.append(Column(f"{level:.0%} interval over statements", _by_item))
    caption = (
        "Bias by one instrument minus bias by the other; negative: the first is further "
        f"{low.towards}."
    )
    csv = "bias_difference_by_instrument"
    return folded_grid("Does the instrument matter?", table, columns, caption=caption, csv=csv)


def _by_item(row: Any) -> str:
    return interval(row["lower_item"], row["upper_item"])


SECTION = SectionMaker("Bias", bias)
