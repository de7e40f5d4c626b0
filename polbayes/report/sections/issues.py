"""On which issues: how each model leans on each statement."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import xarray as xr

from polbayes.data.out_of_core import by_model
from polbayes.instrument.questionnaires import agreeing_is_right
from polbayes.measures.sided import AGREE, DISAGREE, count_answers
from polbayes.report import show
from polbayes.report.asked import first_wordings
from polbayes.report.blocks import Block, Column, Fold, Paragraph, Picture, Section, grid
from polbayes.report.charts.heat import MOST_VALUES, statement_chart
from polbayes.report.figures.items import signed
from polbayes.report.figures.statement_map import plot_statement_map
from polbayes.report.numbers import number
from polbayes.report.prose import Noun, listed, plural
from polbayes.report.results import Results
from polbayes.report.section import SectionMaker

ESTIMATED, OBSERVED = "all prompts, as the model estimates", "all prompts, as answered"
_MOST_NAMED = 3


def issues(results: Results) -> Section | None:
    """Show a map of models and statements, with the answers behind it."""
    slices, prefixes = slices_of(results)
    if not slices:
        return None
    about, poles, who = _about(results), results.poles, results.who
    low, high = poles.negative, poles.positive
    first = next(iter(slices.values()))
    fitted = ESTIMATED in slices
    what = "as the fitted model expects them" if fitted else "counted as they came"
    picture = Picture(
        name="issues",
        caption=f"How each {who} leans on each statement: its answers, {what}, from −1 (always on "
        f"the {low.word} side, purple) to 1 (always on the {high.word} side, orange). Statements "
        f"are sorted from {low.word} to {high.word} by the mean of the {who.many}.",
        alt=f"Heat map of {plural(len(about), 'statement')} by "
        f"{plural(first['model'].nunique(), str(who))}; the numbers are in the table below.",
        figure=plot_statement_map(first, about),
        csv=("bias_by_item", "issues") if fitted else ("issues",),
        chart=statement_chart(slices, about, drill=prefixes, poles=poles, who=who),
    )
    sides = (
        f"Agreeing with a statement of {high.noun} and disagreeing with one of {low.noun} count as "
        f"{high.word}"
    )
    table = results.table("items")
    if table is not None and signed(table):
        sides = (
            "The side of a statement is the sign of its discrimination, as the answers tell it; "
            "where that is uncertain, the colour is pale"
        )
    reading = (
        f"Each row is a statement, each column {who.a}, and the colour is the side that the {who} "
        f"takes: purple {low.word}, orange {high.word}, white neither. {sides}; wordings of one "
        "statement count the same.",
        "This is about the very statements asked. What it says of other statements like these is "
        "the leaning above.",
        *(
            [f"The intervals (on hovering, and in the table) are {results.level:.0%} intervals."]
            if fitted
            else []
        ),
    )
    observed = slices[OBSERVED]
    blocks = (*_sentences(first, about, who), picture, _numbers(first, about, fitted, results))
    return Section("issues", "On which issues?", reading, blocks, {"issues": observed})


def slices_of(results: Results) -> tuple[dict[str, pd.DataFrame], dict[str, str]]:
    """Return tables ``model, item, estimate`` by what they are about, and the prefixes of some."""
    sides = _sides(results)
    data = results.responses
    if not {"stance", "keying", "dimension", "statement"} <= set(data.variables):
        return {}, {}
    if sides is not None:
        data = agreeing_is_right(data)
    observed = _sided(leanings(data), sides)
    if observed.empty:
        return {}, {}
    out, prefixes = {OBSERVED: observed}, dict[str, str]()
    estimated = results.table("bias_by_item")
    if estimated is not None:
        out = {ESTIMATED: estimated, **out}
    left = MOST_VALUES - sum(map(len, out.values()))
    for name, words in (("kind", "wording: {}"), ("prefix", "prefix: {}")):
        if name not in data.coords or len(np.unique(data[name].values.astype(str))) < 2:
            continue
        # As many rows again for each level, at most.
        if len(observed) * len(np.unique(data[name].values.astype(str))) > left:
            continue
        for level, rows in _sided(leanings(data, name), sides).groupby(name, sort=False):
            if str(level):
                out[words.format(level)] = rows
                prefixes |= {words.format(level): str(level)} if name == "prefix" else {}
        left = MOST_VALUES - sum(map(len, out.values()))
    return out, prefixes


def _sides(results: Results) -> pd.Series | None:
    """Return the expected sign of each item's discrimination, if it may be either."""
    table = results.table("items")
    if table is None or not signed(table):
        return None
    chance: pd.Series = table.set_index("item")["discrimination_p_positive"]
    return 2 * chance - 1


def _sided(table: pd.DataFrame, sides: pd.Series | None) -> pd.DataFrame:
    """Count agreeing with an item by the side that the answers say it is on."""
    if sides is None:
        return table
    rows = table[table["item"].isin(sides.index)]
    return rows.assign(estimate=rows["estimate"] * rows["item"].map(sides))


def leanings(data: xr.Dataset, *by: str) -> pd.DataFrame:
    """Return how each model leans on each item: agreeing less disagreeing, right positive.

    The columns are ``model``, those of `by`, ``item, estimate, n, n_excluded``.
    """
    rows = [_of_model(one, by) for one in by_model(data, ("status", "stance"))]
    there = [table for table in rows if len(table)] or rows[:1]
    order = {str(name): k for k, name in enumerate(data["item"].values)}
    return pd.concat(there).sort_values(
        "item", key=lambda i: i.map(order), kind="stable", ignore_index=True
    )


def _of_model(data: xr.Dataset, by: Sequence[str]) -> pd.DataFrame:
    counts = count_answers(data, ["model", *by], side_of="item")
    side = np.array([-1.0, 1.0])[:, None]
    net = ((counts.valid[..., AGREE] - counts.valid[..., DISAGREE]) * side.T).sum(axis=-1)
    n, excluded = counts.valid.sum(axis=(-1, -2)), counts.excluded.sum(axis=-1)
    group, item = np.nonzero(n)
    rows = pd.DataFrame([counts.groups.labels[g] for g in group], columns=["model", *by])
    rows["item"] = np.array(counts.groups.items)[item]
    rows["estimate"] = net[group, item] / n[group, item]
    rows["n"], rows["n_excluded"] = n[group, item].astype(int), excluded[group, item].astype(int)
    return rows


def _about(results: Results) -> pd.DataFrame:
    """Return ``item, dimension, statement``, by dimension in the order asked."""
    data = results.responses
    texts = first_wordings(data)
    known = {one.dimension: one.label for one in results.dimensions}
    dimension = data["dimension"].values.astype(str)
    table = pd.DataFrame({"item": data["item"].values.astype(str), "dimension": dimension})
    table = table[table["dimension"] != ""]
    table["statement"] = table["item"].map(texts).fillna("")
    table["dimension"] = table["dimension"].map(lambda d: known.get(d, d))
    return table.reset_index(drop=True)


def _sentences(table: pd.DataFrame, about: pd.DataFrame, who: Noun) -> list[Block]:
    """Name the statements on which the respondents differ most."""
    if table["model"].nunique() < 2:
        return []
    values = table.pivot(index="item", columns="model", values="estimate")
    spread = (values.max(axis=1) - values.min(axis=1)).sort_values(ascending=False, kind="stable")
    texts = about.set_index("item")["statement"]
    named = [
        f"“{texts.get(item, item)}” ({number(values.loc[item].min())} to "
        f"{number(values.loc[item].max())})"
        for item in spread.index[:_MOST_NAMED]
    ]
    return [Paragraph(f"The {who.many} are furthest apart on {listed(named)}.")]


def _numbers(table: pd.DataFrame, about: pd.DataFrame, fitted: bool, results: Results) -> Fold:
    texts: Mapping[str, str] = dict(zip(about["item"], about["statement"], strict=True))
    leaning = results.poles.header("Leaning")
    estimate = (
        show.estimate(leaning, results.level)
        if fitted
        else (show.number("estimate", leaning), show.count("n", "Answers"))
    )
    columns = [
        Column("Model", lambda row: str(row["model"]), numeric=False, filter="model"),
        Column("Item", lambda row: str(row["item"]), numeric=False, filter="item"),
        Column("Statement", lambda row: texts.get(str(row["item"]), "–"), numeric=False),
        *estimate,
    ]
    name = "bias_by_item" if fitted else "issues"
    caption = f"Leaning by {results.who} and statement."
    layout = grid(table, columns, caption=caption, csv=name, searchable=True)
    return Fold(f"{results.who.many.capitalize()} and statements, as a table", (layout,))


SECTION = SectionMaker("On which issues", issues, joint=True)
