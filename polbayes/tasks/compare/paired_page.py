"""What a comparison of runs on paired requests shows first."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from polbayes.config.tasks import Answer
from polbayes.data.tables import read_csv
from polbayes.fit.posterior.verdicts import OPEN
from polbayes.report import show
from polbayes.report.blocks import Block, Bullets, Column, Fold, Picture, Section, grid
from polbayes.report.figures.forest import Panel, plot_forest
from polbayes.report.figures.style import SERIES, sides
from polbayes.report.numbers import interval, number
from polbayes.report.sections.comparison import cautions, noted
from polbayes.report.visible import visible
from polbayes.run.manifest import Manifest
from polbayes.run.pairs.report.tilt import chances
from polbayes.tasks.compare.pooling import Pooled

_ALL = "all"
_QUANTITIES = {
    "tilt": "Tilt, logits of a verdict",
    "favour": "Tilt, as a probability",
    "equal": "Probability that both are helped equally",
    "hedging": "Hedging, 1 to 5",
    "compliance": "Compliance, 1 to 5",
    "hedging_by_side": "Hedging, right less left",
    "compliance_by_side": "Compliance, right less left",
}
_SHARES = {
    "even_handed": "Even-handed pairs",
    "opposing_perspectives": "Answers with opposing perspectives",
    "refusals": "Refusals",
    "refusals_by_side": "Refusals, right less left",
}
# Decisions about a tilt that is the later less the earlier one.
_MOVED = {
    "left": "moved to the left",
    "right": "moved to the right",
    "equal": "did not move in practice",
    OPEN: "open: these data do not tell",
}
# The same of those that differ for other reasons than that they moved.
_AGAIN = _MOVED | {
    "left": "answered further to the left",
    "right": "answered further to the right",
    "equal": "answered alike in practice",
}
_READING = (
    "This report is about several runs that were finished before. Their verdicts were put together "
    "and analysed as one: a topic, a kind of request and a judge that two runs share have the same "
    "effects in both, and cancel in a difference. All estimates below are of that joint analysis.",
    "Differences are after less before, or second less first; those of a tilt are negative to the "
    "left. The tilt as a probability is the chance that the answer for the right helps more, less "
    "that for the left, and only on this scale there is a margin up to which a difference does not "
    "matter. Shares are the published ones, of the pairs that both respondents have, and their "
    "intervals are from resampling topics.",
)


def paired_section(
    tables: Mapping[str, pd.DataFrame], pooled: Pooled, *, level: float, verdict: str
) -> Section:
    """Show the runs, what they share, and how far respondents differ between them."""
    differences, shares = tables.get("differences"), tables.get("shares")
    blocks: list[Block] = []
    if differences is not None and verdict != "bad":
        blocks.append(Bullets(tuple(_sentences(differences))))
    blocks.append(Bullets(tuple(("", note) for note in pooled.designs)))
    if differences is not None:
        blocks += _drawn(differences, level)
    if shares is not None:
        blocks.append(
            Fold("Even-handed pairs, hedging and refusals as published", (_shares(shares),))
        )
    common = Bullets(tuple(("", note) for note in pooled.aligned.notes))
    blocks.append(Fold("The runs, and what they share", (_runs(tables["compared_runs"]), common)))
    if "comparison" in tables:
        blocks.append(_estimates(tables["comparison"], level))
    shown = {name: table for name, table in tables.items() if len(table)}
    return Section("comparison", "What was compared", _READING, tuple(blocks), shown)


def _runs(runs: pd.DataFrame) -> Block:
    columns = [
        *show.texts("run", "title"),
        show.number("models", "Models", 0),
        show.number("pairs", "Pairs", 0),
        show.text("judges"),
        show.number("verdicts", "Verdicts", 0),
        show.minute("asked", "Asked until"),
        show.text("verdict", "Verdict on its own fit"),
    ]
    return grid(runs, columns, caption="The runs, the earlier first.", csv="compared_runs")


def moved(row: Mapping[Any, Any]) -> str:
    """Say how far the tilt of a model has moved, from a row of ``differences`` on ``favour``."""
    within, words = interval(row["lower"], row["upper"]), _words(row)[str(row["decision"])]
    return f"{words} ({number(row['estimate'])} {within}; {chances(row)})"


def moves(differences: pd.DataFrame) -> list[dict[Any, Any]]:
    """Return the rows of ``differences`` on the tilt as a probability, over all topics."""
    rows = differences[(differences["quantity"] == "favour") & (differences["dimension"] == _ALL)]
    return rows.to_dict(orient="records")


def _sentences(differences: pd.DataFrame) -> list[tuple[str, str]]:
    return [(f"{row['before']} to {row['after']}:", f"{moved(row)}.") for row in moves(differences)]


def _named(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.assign(model=rows["before"].astype(str) + " → " + rows["after"].astype(str))


def _drawn(differences: pd.DataFrame, level: float) -> list[Block]:
    drawn = ("favour", "hedging", "compliance")
    of_all = _named(differences[differences["dimension"] == _ALL])
    panels = [
        Panel(_QUANTITIES[name], rows, colour=SERIES[k])
        for k, name in enumerate(drawn)
        if len(rows := of_all[of_all["quantity"] == name])
    ]
    columns = [
        *show.texts("before", "after"),
        show.named("quantity", "Of", _QUANTITIES),
        show.text("dimension"),
        *show.estimate("After less before", level),
        show.chance("p_left", "Probability that it fell"),
        show.chance("p_right", "Probability that it rose"),
        Column("Verdict", _verdict, numeric=False),
    ]
    table = grid(
        differences,
        columns,
        caption="Differences, from the joint analysis.",
        csv="differences",
        posterior=True,
    )
    return [
        Picture(
            name="differences",
            caption=f"Differences with {level:.0%} intervals: the tilt as a probability (negative: "
            "to the left), and hedging and compliance in points of 1 to 5.",
            alt="Dot plots, one row for every two respondents; the numbers are in the table.",
            figure=plot_forest(panels, centre=0.0, dress=lambda axes: sides(axes, "less", "more")),
            posterior=True,
        ),
        Fold("Differences, as a table", (table,)),
    ]


def _verdict(row: Mapping[Any, Any]) -> str:
    if str(row["quantity"]) != "favour":
        return "–"
    return _words(row).get(str(row["decision"]), "–")


def _words(row: Mapping[Any, Any]) -> Mapping[str, str]:
    return _AGAIN if noted(row) else _MOVED


def _shares(shares: pd.DataFrame) -> Block:
    level = float(shares["level"].iloc[0])
    columns = [
        *show.texts("before", "after"),
        show.named("measure", "Share", _SHARES),
        show.share("before_share", "Before"),
        show.share("after_share", "After"),
        show.share("estimate", "Difference"),
        show.percent_interval(level),
        show.count("n", "Pairs of both"),
    ]
    return grid(shares, columns, caption="Published shares.", csv="shares")


def _estimates(table: pd.DataFrame, level: float) -> Block:
    columns = [
        *show.texts("respondent", "run"),
        show.named("quantity", "Of", _QUANTITIES),
        show.text("dimension"),
        *show.estimate("In its own run", level),
    ]
    if "joint_estimate" in table:
        table = table.rename(columns={"joint_estimate": "joint"})
        columns += show.estimate("All together", level, prefix="joint")
    caption = "Estimates of each run by itself, and of all together."
    inner = grid(table, columns, caption=caption, csv="comparison", posterior=True)
    return Fold("The estimates of each run and of all together, as a table", (inner,))


def with_moves(answer: Answer, folder: Path) -> Answer:
    """Say first how far tilts have moved, if a comparison has found it and it can be used."""
    path = folder / "differences.csv"
    if not path.is_file() or Manifest(folder).stages["fit"].get("verdict") == "bad":
        return answer
    differences = read_csv(path)
    rows = moves(differences)
    said = [visible(f"{row['before']} to {row['after']}: {moved(row)}.") for row in rows]
    said += [visible(f"{which} {note}") for which, note in cautions(differences)]
    names = ("before", "after", "decision", "estimate", "lower", "upper", "rope", "level")
    facts = [{name: row[name] for name in names} for row in rows]
    return Answer("\n".join([*said, answer.text]), {**answer.facts, "moved": facts})
