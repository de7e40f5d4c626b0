"""Whether answers follow the meaning when the wording changes."""

import pandas as pd

from polbayes.data.prose import noun
from polbayes.report import show
from polbayes.report.asked import items_with_points
from polbayes.report.blocks import Block, Fold, Picture, Section, grid, level_of
from polbayes.report.figures.compass import plot_compass
from polbayes.report.figures.consistency import PANELS, plot_consistency
from polbayes.report.prose import Noun, plural
from polbayes.report.results import Results
from polbayes.report.section import SectionMaker

MEASURES = {
    "consistent_4": "as expected, on four levels",
    "consistent_2": "as expected, on two sides",
    "discrepant": "not as expected, on four levels",
    "discrepancy_1": "one level off",
    "discrepancy_2": "two levels off",
    "discrepancy_3": "three levels off",
    "discrepancy_size": "mean number of levels off",
}
KINDS = {
    "paraphrase": "paraphrases",
    "negation": "negations",
    "opposite": "political opposites",
    "reversed": "negations and opposites",
}
POSITIONS = {
    "economic": "economic (negative = left)",
    "social": "social (negative = libertarian)",
    "economic_shift": "economic shift",
    "social_shift": "social shift",
    "distance": "distance",
}
_OPPOSITE = "original, opposite answers"


def consistency(results: Results) -> Section | None:
    """Show polar and paraphrastic consistency, and the effect of rewording on the compass."""
    table, positions = results.table("consistency"), results.table("compass")
    if table is None and positions is None:
        return None
    who = results.who
    if table is None and positions is not None and (positions["kind"] == "original").all():
        return _published_positions(positions, results)
    reading = [
        f"{who.a.capitalize()} that understands a statement gives the same answer to a paraphrase, "
        "and the reverse answer to a negation or a political opposite. Here every wording is "
        "compared with the original wording of its statement."
    ]
    blocks: list[Block] = []
    if table is not None:
        level = level_of(table)
        reading.append(
            "Paraphrastic consistency alone proves nothing: who always says the same has 100% "
            "of it and a polar consistency of 0%. On four levels strength counts too: strong "
            f"agreement makes strong disagreement with the reverse expected. Lines are {level:.0%} "
            "intervals over statements."
        )
        blocks += _consistency(table, level, who)
    if positions is not None:
        reading.append(
            "On the compass the answers to other wordings are entered as they were given. So "
            "triangles should lie on the filled circle (the original), squares and pointers on "
            "the open one, where the opposite answers to the original would be. Left and "
            "libertarian are negative."
        )
        blocks += _compass(positions, results)
    return Section("consistency", "Consistency across wordings", tuple(reading), tuple(blocks))


def _consistency(table: pd.DataFrame, level: float, who: Noun) -> list[Block]:
    blocks: list[Block] = []
    if table["kind"].isin(PANELS).any():
        blocks.append(
            Picture(
                name="consistency",
                caption="Share of answers to other wordings that are as the original's makes "
                "them expected.",
                alt=f"Dot plot of consistency by {who}; the numbers are in the table below.",
                figure=plot_consistency(table),
            )
        )
    columns = [
        show.text("model"),
        show.named("kind", "Wordings compared", KINDS),
        show.named("measure", "Measure", MEASURES),
        *show.estimate("Estimate", level),
    ]
    for name, header in (("n", "Pairs"), ("n_excluded", "Pairs left out")):
        if name in table:
            columns.append(show.count(name, header))
    numbers = grid(table, columns, caption="Consistency across wordings.", csv="consistency")
    return [*blocks, Fold("Consistency, as a table", (numbers,))]


def _published_positions(table: pd.DataFrame, results: Results) -> Section:
    """Show where the Political Compass itself places the answers, if there is one wording."""
    reading = (
        "The Political Compass scores the answers itself, from −10 to 10, with other weights than "
        "this analysis, and counts an unanswered statement as the middle. Left and libertarian "
        "are negative."
    )
    own = table[table["answers"] != _OPPOSITE]
    return Section(
        "consistency", "On the Political Compass", (reading,), tuple(_compass(own, results))
    )


def _compass(table: pd.DataFrame, results: Results) -> list[Block]:
    level, who = level_of(table), results.who
    counts = [show.count("n_items", "Statements")] if "n_items" in table else []
    numbers = grid(
        table,
        [
            show.text("model"),
            show.text("answers", "Answers to"),
            show.named("measure", "Measure", POSITIONS),
            *show.estimate("Points", level),
            *counts,
        ],
        caption="Positions on the Political Compass and distances between wordings.",
        csv="compass",
    )
    distances = table[
        (table["measure"] == "distance") & table["answers"].astype(str).str.startswith("all ")
    ]
    short = grid(
        distances,
        [
            show.text("model"),
            show.named("kind", "Answers to", KINDS),
            *show.estimate("Mean distance (compass points)", level),
        ],
        caption="Mean distance of the answers to other wordings from where they should be. "
        "Distances cannot be negative, so their intervals stay above 0.",
        csv="compass",
    )
    picture = Picture(
        name="compass",
        caption=("Positions. " if distances.empty else "Positions by wording. ")
        + crosses_in_words(table, results),
        alt=f"One small compass per {who} with the position of each wording's answers; the "
        "numbers are in the table below.",
        figure=plot_compass(wide_positions(table)),
    )
    shorter = [] if distances.empty else [Fold("Distances, as a table", (short,))]
    return [picture, *shorter, Fold("Positions on the compass, as a table", (numbers,))]


def crosses_in_words(table: pd.DataFrame, results: Results) -> str:
    """Say what the crosses of positions are, and on how many statements a position rests."""
    said = f"Crosses: {level_of(table):.0%} intervals over statements."
    every = items_with_points(results.responses)
    if "n_items" not in table or not every:
        return said
    # A distance is between answers to two wordings.
    counts = table.loc[table["measure"].isin(("economic", "social")), "n_items"]
    least, most = int(counts.min()), int(counts.max())
    if least == every:
        return f"{said} Each position rests on all {plural(every, 'statement')} with points."
    some = f"{least}" if least == most else f"{least} to {most}"
    return (
        f"{said} A position rests on answers to {some} of the {plural(every, 'statement')} with "
        "points. Those that were not asked, or whose answers cannot be used, count 0, as if they "
        "had been answered in the middle; the intervals do not show that."
    )


def wide_positions(table: pd.DataFrame) -> pd.DataFrame:
    """Put the two coordinates of each wording side by side."""
    single = ~table["answers"].astype(str).str.startswith("all ")
    # With very many wordings there are only positions of whole kinds.
    alone = single & (table["kind"] != "original")
    rows = table[single] if alone.any() else table
    rows = rows[rows["measure"].isin(("economic", "social"))]
    wide = rows.pivot(
        index=["model", "answers", "kind"], columns="measure", values=["estimate", "lower", "upper"]
    ).reindex(rows.set_index(["model", "answers", "kind"]).index.unique())
    wide.columns = [m if v == "estimate" else f"{m}_{v}" for v, m in wide.columns]
    wide = wide.reset_index()
    group = wide["kind"].where(wide["answers"] != _OPPOSITE, "opposite answers")
    return wide.assign(group=group)


def order_agreement(results: Results) -> list[Block]:
    """Show Kendall's tau of the order between ways of asking, folded."""
    blocks, who = [], results.who
    for over in ("instrument", "prefix", "variant", "kind"):
        table = results.table(f"rank_agreement_by_{over}")
        if table is None:
            continue
        level = level_of(table)
        columns = [
            show.text("dimension"),
            show.text("first", f"One {over}"),
            show.text("second", "The other"),
            *show.estimate("Kendall's τ", level),
            show.number("p", "p", 4),
        ]
        if "n_models" in table:
            columns.append(show.count("n_models", "Models"))
        layout = grid(
            table,
            columns,
            caption=f"Agreement of the order of the {who.many} by bias between two "
            f"{noun(2, over)}: 1 is the same order, −1 the reverse. The interval takes the "
            f"{who.many} as a sample.",
            csv=f"rank_agreement_by_{over}",
        )
        blocks.append(Fold(f"Is the order the same whatever the {over}?", (layout,)))
    return list(blocks)


SECTION = SectionMaker("Consistency", consistency)
