"""A comparison: the runs, what they share, and how models have moved between them."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from polbayes.fit.posterior.verdicts import verdict_of
from polbayes.report import show
from polbayes.report.blocks import Block, Bullets, Fold, Picture, Section, grid
from polbayes.report.figures.forests import plot_drift
from polbayes.report.prose import standing
from polbayes.report.results import Results
from polbayes.report.section import SectionMaker
from polbayes.report.sections.contrasts import decision_column


def comparison(results: Results) -> Section | None:
    """Show what was compared; None for the report of one run."""
    runs, table = results.table("compared_runs"), results.table("comparison")
    if runs is None or table is None:
        return None
    linked, drift = "joint_estimate" in table, results.table("drift")
    reading = [_READING_LINKED if linked else _READING_APART]
    blocks: list[Block] = [_runs(runs)]
    if drift is not None:
        reading.append(_READING_DRIFT.format(to=results.poles.negative.to, who=results.who))
        blocks += _drift(drift, results)
    estimates = _estimates(table, results, linked=linked)
    blocks.append(
        Fold("The estimates of each run and of all together, as a table", (estimates,))
        if linked
        else estimates
    )
    return Section("comparison", "What was compared", tuple(reading), tuple(blocks))


_READING_LINKED = (
    "This report is about several runs that were finished before. Their answers were put together "
    "and analysed as one, which what they share makes possible: a statement asked in two runs is "
    "as difficult in both, a respondent asked in two runs is the same. All estimates below are of "
    "that joint analysis."
)
_READING_APART = (
    "This report compares several finished runs. They share too "
    "little for one scale, so every number is of its own run, and positions of different runs "
    "must not be compared as if 0 were the same place in all of them."
)
_READING_DRIFT = (
    "Drift is how far {who.a} has moved between two snapshots of it: the later minus the earlier "
    "position, negative {to}. The sentences are about the lean, the expected answer to a "
    "new statement, and a move of up to the margin counts as none. Of its acquiescence, negative "
    "means that it agrees less with whatever is said."
)


def _runs(runs: pd.DataFrame) -> Block:
    columns = [
        *show.texts("run", "title", "instruments"),
        show.number("models", "Models", 0),
        show.number("items", "Statements", 0),
        show.number("answers", "Answers", 0),
        show.minute("asked", "Asked until"),
        show.text("verdict", "Verdict on its own fit"),
    ]
    return grid(runs, columns, caption="The runs, the earlier first.", csv="compared_runs")


def _drift(drift: pd.DataFrame, results: Results) -> list[Block]:
    lean, shown = (drift[drift["quantity"] == name] for name in ("lean", "theta"))
    low, high = results.poles.negative, results.poles.positive
    blocks: list[Block] = []
    if results.verdict != "bad":
        entries = [
            (
                f"{before} to {after}:",
                "; ".join(_moved(row, results) for row in rows.to_dict("records")) + ".",
            )
            for (before, after), rows in lean.groupby(["before", "after"], sort=False)
        ]
        blocks.append(Bullets(tuple(entries)))
    picture = Picture(
        name="drift",
        caption=f"How far {results.who.many} have moved between two snapshots, on the scale of "
        "the leaning.",
        alt="Forest plot of the differences; the numbers are in the table below.",
        figure=plot_drift(shown, results.poles),
    )
    columns = [
        *show.texts("before", "after", "quantity", "dimension"),
        *show.estimate("After minus before", results.level),
        show.chance("p_left", f"Probability {low.towards} (or less)"),
        show.chance("p_right", f"Probability {high.towards} (or more)"),
        decision_column("Verdict", results.poles),
    ]
    table = grid(drift, columns, caption="Drift.", csv="drift")
    return [*blocks, picture, Fold("Drift, as a table", (table,))]


def _moved(row: Mapping[str, Any], results: Results) -> str:
    """Describe how a model has moved on one dimension."""
    name = str(row["dimension"])
    moved = standing(verdict_of(row), results.level, "before", results.poles.on(name))
    return f"on {results.about(name)} questions {moved}"


def _estimates(table: pd.DataFrame, results: Results, *, linked: bool) -> Block:
    columns = [
        *show.texts("respondent", "run", "quantity", "dimension"),
        *show.estimate("In its own run", results.level),
    ]
    if linked:
        table = table.rename(columns={"joint_estimate": "joint"})
        columns += show.estimate("All together", results.level, prefix="joint")
    caption = "Estimates of each run by itself" + (", and of all together." if linked else ".")
    return grid(table, columns, caption=caption, csv="comparison", searchable=True)


SECTION = SectionMaker("What was compared", comparison, optional=True)
