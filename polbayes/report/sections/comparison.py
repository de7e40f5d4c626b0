"""A comparison: the runs, what they share, and how models have moved between them."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from polbayes.fit.posterior.verdicts import Against, verdict_of
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
    "Drift is the position of {who.a} in a later snapshot of it minus that in an earlier one, "
    "negative {to}. The sentences are about the lean, the expected answer to a "
    "new statement, and a move of up to the margin counts as none. Of snapshots that were not "
    "asked alike, or are one checkpoint, they say how the answers differ, and not that it moved. "
    "Of its acquiescence, negative means that it agrees less with whatever is said."
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
    shown = drift[drift["quantity"] == "theta"]
    low, high = results.poles.negative, results.poles.positive
    blocks: list[Block] = []
    if results.verdict != "bad":
        blocks.append(Bullets(tuple(moves(results))))
    picture = Picture(
        name="drift",
        caption="Position in the later of two snapshots minus that in the earlier, on the scale of "
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


def moves(results: Results) -> list[tuple[str, str]]:
    """Say of every two snapshots how the later differs, and then what else may make them differ."""
    drift = results.table("drift")
    if drift is None:
        return []
    lean = drift[drift["quantity"] == "lean"]
    entries = [
        (
            f"{before} to {after}:",
            "; ".join(_moved(row, results) for row in rows.to_dict("records")) + ".",
        )
        for (before, after), rows in lean.groupby(["before", "after"], sort=False)
    ]
    return [*entries, *cautions(lean)]


def cautions(differences: pd.DataFrame) -> list[tuple[str, str]]:
    """Return what else may make two snapshots differ, with those of whom it holds."""
    holds: dict[str, list[str]] = {}
    for row in differences.drop_duplicates(["before", "after"]).to_dict("records"):
        if note := noted(row):
            holds.setdefault(note, []).append(f"{row['before']} and {row['after']}")
    return [(f"{'; '.join(pairs)}:", note) for note, pairs in holds.items()]


def noted(row: Mapping[Any, Any]) -> str:
    """Return what else may make two snapshots differ; tables read from files lack empty texts."""
    note = row.get("note")
    return note if isinstance(note, str) else ""


def _moved(row: Mapping[str, Any], results: Results) -> str:
    """Describe how a model has moved on one dimension."""
    name = str(row["dimension"])
    against: Against = "again" if noted(row) else "before"
    moved = standing(verdict_of(row), results.level, against, results.poles.on(name))
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
