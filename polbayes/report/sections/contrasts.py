"""Differences between models, and from the centre, that matter in practice."""

from collections.abc import Callable
from typing import Any

import pandas as pd

from polbayes.fit.posterior.verdicts import EQUAL, LEFT, OPEN, RIGHT, at_centre, in_short
from polbayes.instrument.poles import Poles
from polbayes.report import show
from polbayes.report.blocks import Block, Column, Fold, Paragraph, grid
from polbayes.report.numbers import interval, number
from polbayes.report.prose import Noun
from polbayes.report.results import Results


def contrast_blocks(results: Results) -> list[Block]:
    """Show the contrasts of lean, and how many are decided."""
    table = results.table("contrasts")
    if table is None:
        return []
    lean = table[table["measure"] == "lean"]
    pairs, centre = (lean[lean["against"] == against] for against in ("model", "centre"))
    rope = number(float(lean["rope"].max()))
    about = (
        f"Does a difference matter? Here two {results.who.many} count as the same in practice "
        "where their lean, the expected answer to a new statement, "
        f"differs by at most {rope} on the scale from −1 to 1, which is what changing sides in "
        f"{100 * float(lean['rope'].max()) / 2:.3g} of 100 answers does. A difference is decided "
        f"where its whole {results.level:.0%} interval lies on one side of that margin or inside "
        "it (Kruschke 2018), and otherwise open."
    )
    blocks: list[Block] = [Paragraph(about)] if len(pairs) else []
    if results.verdict != "bad" and len(pairs):
        blocks.append(Paragraph(_counted(pairs, results.who)))
    if len(pairs):
        title = f"Differences between {results.who.many}, as a table"
        blocks.append(Fold(title, (_pairs(pairs, results),)))
    blocks.append(Fold("Distances from the centre, as a table", (_centre(centre, results),)))
    return blocks


def _counted(pairs: pd.DataFrame, who: Noun) -> str:
    """Say how many pairs are decided, on the broadest measure."""
    total = (pairs["dimension"] == "total").any()
    rows = pairs[pairs["dimension"] == "total"] if total else pairs
    known = rows[rows["estimate"].notna()]
    decided = known["decision"].isin([LEFT, RIGHT]).sum()
    equal, undecided = ((known["decision"] == word).sum() for word in (EQUAL, OPEN))
    where = " on all questions together" if total else ""
    return (
        f"Pairs of {who.many}{where}: {decided} different in practice, {equal} the same in "
        f"practice, {undecided} open."
    )


def decision_column(
    header: str, poles: Poles, *, words: Callable[[str, Poles], str] = in_short
) -> Column:
    """Show the verdict in words, by dimension where the rows have one."""

    def said(row: Any) -> str:
        return words(str(row["decision"]), poles.on(str(row.get("dimension", "")))) or "–"

    return Column(header, said, numeric=False)


def _pairs(pairs: pd.DataFrame, results: Results) -> Block:
    low, high = results.poles.negative, results.poles.positive
    return grid(
        pairs,
        [
            *show.texts("model_a", "model_b", "dimension"),
            *show.estimate("Lean of A minus that of B", results.level),
            show.chance("p_left_of_rope", f"Probability that A is {low.of} B by more"),
            show.chance("p_inside", "… the same in practice"),
            show.chance("p_right_of_rope", f"… that A is {high.of} B by more"),
            decision_column("Verdict on A", results.poles),
        ],
        caption=f"Differences of lean; negative: A is {low.of} B. The file has those of the bias "
        "on "
        "the statements asked, too.",
        csv="contrasts",
    )


def _centre(centre: pd.DataFrame, results: Results) -> Block:
    poles = results.poles
    return grid(
        centre,
        [
            show.text("model_a", "Model"),
            show.text("dimension"),
            *show.estimate(poles.header("Lean"), results.level),
            show.chance(
                "p_left_of_rope", f"Probability of {poles.negative.word} by more than the margin"
            ),
            show.chance("p_inside", "… of the centre, in practice"),
            show.chance("p_right_of_rope", f"… of {poles.positive.word} by more"),
            decision_column("Verdict", poles, words=at_centre),
        ],
        caption="Lean against a centre that is as wide as the margin.",
        csv="contrasts",
    )


def prefix_blocks(results: Results) -> list[Block]:
    """Show whether a prefix moves the leaning by a distance that matters."""
    table = results.table("prefix_contrasts")
    if table is None:
        return []
    effect = f"Effect on the bias (negative = {results.poles.negative.to})"
    layout = grid(
        table,
        [
            *show.texts("model", "prefix"),
            *show.estimate(effect, results.level),
            show.chance("p_inside", "Probability that it does not matter in practice"),
            decision_column("Verdict on the shift", results.poles),
        ],
        caption="Effects of the prefixes on leaning, on the scale of the bias, as differences from "
        f"the {results.who}'s own average; up to {number(float(table['rope'].max()))} counts as "
        "none.",
        csv="prefix_contrasts",
    )
    return [Fold("Does a prefix move the leaning in practice?", (layout,))]


def correlation_blocks(results: Results) -> list[Block]:
    """Describe the correlation of leanings between dimensions."""
    table = results.table("correlation")
    if table is None or results.verdict == "bad":
        return []
    text = " ".join(_correlated(row, results) for row in table.to_dict(orient="records"))
    return [Paragraph(text, csv="correlation")]


def _correlated(row: dict[Any, Any], results: Results) -> str:
    where = f"{results.about(row['first'])} and {results.about(row['second'])} leaning"
    within = f"{results.level:.0%} interval {_span(row['lower'], row['upper'])}"
    found, who = f"{number(row['estimate'])} ({within})", results.who
    if row["of"] == "models":
        return (
            f"Among the {row['n_models']} {who.many} themselves, the correlation of {where} is "
            f"{found}."
        )
    before = _span(row["prior_lower"], row["prior_upper"])
    share = (row["upper"] - row["lower"]) / (row["prior_upper"] - row["prior_lower"])
    little = f", so that the answers of these {who.many} say little about it" if share > 0.7 else ""
    return (
        f"In the population that the {who.many} stand for, the correlation of {where} is "
        f"estimated at {found}; before any answer the interval was {before}{little}."
    )


def _span(lower: float, upper: float) -> str:
    return interval(lower, upper).strip("[]").replace(", ", " to ")
