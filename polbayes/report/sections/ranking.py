"""The order of the models."""

from collections.abc import Mapping

import pandas as pd

from polbayes.fit.posterior.verdicts import from_centre
from polbayes.report import show
from polbayes.report.blocks import Block, Fold, Paragraph, Picture, Section, folded_grid
from polbayes.report.charts.forest import forest_chart
from polbayes.report.charts.parts import LIKE_THESE, THESE, sides
from polbayes.report.figures.forest import ascending
from polbayes.report.figures.forests import plot_leaning_forest
from polbayes.report.figures.matrices import plot_pairwise, plot_ranks
from polbayes.report.labels import labels_of
from polbayes.report.numbers import chance
from polbayes.report.prose import listed
from polbayes.report.results import Results
from polbayes.report.section import SectionMaker
from polbayes.report.sections.consistency import order_agreement
from polbayes.report.sections.contrasts import contrast_blocks

# The order of more models is only in the table.
_IN_WORDS = 12


def ranking(results: Results) -> Section | None:
    """Show the models in order, and the certainty of the order; of one, how far it is out."""
    poles, who = results.poles, results.who
    low, high = poles.negative, poles.positive
    theta, ranks, pairwise = (results.table(n) for n in ("theta", "ranks", "pairwise"))
    if theta is None and ranks is None and pairwise is None:
        return None
    order = {**by_estimate(theta), "total": on_both(theta)}
    blocks: list[Block] = []
    if theta is not None:
        blocks.append(_forest(theta, results))
    blocks += _neighbours(results)
    alone = theta is not None and theta["model"].nunique() == 1
    if ranks is not None and not alone:
        blocks.append(Fold("How sure each rank is", tuple(_ranks(ranks, order, results))))
    if pairwise is not None:
        blocks.append(Fold("How sure each pair is", tuple(_pairs(pairwise, order, results))))
    blocks += contrast_blocks(results)
    blocks += order_agreement(results)
    if alone:
        lines = f"The lines are {results.level:.0%} intervals."
        return Section("ranking", "How far from the centre", (lines,), tuple(blocks))
    reading = (
        f"The first figure sorts the {who.many} from {low.word} (top) to {high.word} (bottom), on "
        f"each dimension by itself; the lines are {results.level:.0%} intervals. Where intervals "
        f"overlap widely, the order of two {who.many} is open.",
        f"How open is what the probabilities say: of {who.a} having a certain rank (1 is "
        f"furthest {low.towards}), and of one {who} being {low.of} another. 50% is a toss-up.",
        *_orders(results),
    )
    return Section("ranking", f"Who is {low.of} whom", reading, tuple(blocks))


def by_estimate(theta: pd.DataFrame | None) -> Mapping[str, list[str]]:
    """Return the models by dimension in the order of their estimates."""
    if theta is None:
        return {}
    return {
        str(dimension): ascending(rows)["model"].tolist()
        for dimension, rows in theta.dropna(subset="estimate").groupby("dimension", sort=False)
    }


def differently_ordered(
    results: Results, first: pd.DataFrame | None, second: pd.DataFrame | None
) -> list[str]:
    """Return the labels of dimensions on which two tables have the same models in other orders."""
    if first is None or second is None:
        return []
    found = []
    tables = [table.dropna(subset="estimate") for table in (first, second)]
    for name in dict.fromkeys(tables[0]["dimension"]):
        rows = [table[table["dimension"] == name] for table in tables]
        shared = set(rows[0]["model"]) & set(rows[1]["model"])
        orders = [ascending(one[one["model"].isin(shared)])["model"].tolist() for one in rows]
        if orders[0] != orders[1]:
            found.append(results.about(str(name)))
    return found


def _orders(results: Results) -> list[str]:
    """Explain an order that differs from that of the leans, on the first screen."""
    contrasts = results.table("contrasts")
    found = [] if contrasts is None else list(from_centre(contrasts))
    rows = [(model, on, verdict.estimate) for model, on, verdict in found]
    leans = pd.DataFrame(rows, columns=["model", "dimension", "estimate"])
    other = differently_ordered(results, results.table("theta"), leans)
    if not other:
        return []
    who = results.who
    return [
        f"On {listed(other)} questions this order, by leaning, is not that of the leans at the top "
        f"of the page. The leaning is what {who.a} thinks of statements like these, apart from its "
        "tendency to agree and from how decided it is; the lean is the answer to expect from it, "
        "which is closer to 0 the more its answers vary with the statement and the prompt. "
        f"{who.many.capitalize()} whose intervals overlap may change places between the two by "
        "chance."
    ]


def on_both(theta: pd.DataFrame | None) -> list[str]:
    """Return the models in order of the mean of their dimensions' estimates."""
    if theta is None:
        return []
    means = theta.groupby("model", sort=False)["estimate"].mean()
    return [str(model) for model in means.sort_values(kind="stable").index]


def _forest(theta: pd.DataFrame, results: Results) -> Picture:
    words = labels_of(results.dimensions)
    given = (("theta", LIKE_THESE), ("theta_asked", THESE), ("lean", "lean, from −1 to 1"))
    tables = {of: results.table(name) for name, of in given}
    level, poles = results.level, results.poles
    low, high = poles.negative, poles.positive
    order = by_estimate(theta)
    ends = "; ".join(
        f"{words.get(d, d)}: from {names[0]} to {names[-1]}" for d, names in order.items()
    )
    return Picture(
        name="leaning_forest",
        caption=(
            f"Latent leaning with {level:.0%} intervals, sorted on each dimension by itself. "
            f"Negative is {low.towards}."
        ),
        alt=f"Forest plot of the leanings, furthest {low.towards} first. {ends}.",
        figure=plot_leaning_forest(theta, poles),
        csv=("theta",),
        chart=forest_chart(
            {of: table for of, table in tables.items() if table is not None},
            who=results.who,
            axis=sides(low.word, high.word),
            words=words,
        ),
    )


def _neighbours(results: Results) -> list[Block]:
    """Say how certain the order of neighbours is, of those of the reference if there is one."""
    table = results.table("neighbours")
    if table is None:
        return []
    known = "reference" if (table["among"] == "reference").any() else "all"
    poles, blocks = results.poles, list[Block]()
    for dimension in results.dimensions if results.verdict != "bad" else ():
        here = (table["among"] == known) & (table["dimension"] == dimension.dimension)
        if 0 < here.sum() < _IN_WORDS:
            known_ones = " of the reference" if known == "reference" else ""
            ends = poles.on(dimension.dimension)
            text = (
                f"The order{known_ones} from {ends.negative.word} to {ends.positive.word}, "
                f"{dimension.label.lower()}, with the probability that each is "
                f"{ends.positive.of} the one before: "
            )
            blocks.append(Paragraph(text + _in_words(table[here]), csv="neighbours"))
    columns = [
        *([show.text("among", "Order of")] if known == "reference" else []),
        *show.texts("dimension", "model"),
        show.text("next", f"Next {poles.positive.to}"),
        show.chance("p_left", f"Probability of being {poles.negative.of} it"),
        *show.estimate("Distance of θ", results.level),
    ]
    fold = folded_grid(
        "Neighbours, as a table",
        table,
        columns,
        caption="Neighbours in the order of the medians of θ.",
        csv="neighbours",
    )
    return [*blocks, fold]


def _in_words(pairs: pd.DataFrame) -> str:
    rest = (f"{row.next} ({chance(row.p_left)})" for row in pairs.itertuples())
    return f"{', '.join([str(pairs['model'].iloc[0]), *rest])}."


def _ranks(ranks: pd.DataFrame, order: Mapping[str, list[str]], results: Results) -> list[Block]:
    poles = results.poles
    return [
        Picture(
            name="ranks",
            caption=(
                "Probability of each rank in percent. One dark cell in a row means that the "
                "rank is well known, a pale row that it is not."
            ),
            alt=f"Heat map of {results.who.many} by rank; the numbers are in the folded table "
            "below.",
            figure=plot_ranks(ranks, order=order, poles=poles),
        ),
        folded_grid(
            "Rank probabilities as a table",
            ranks,
            [
                *show.texts("model", "dimension"),
                show.number("rank", f"Rank (1 = furthest {poles.negative.towards})", 0),
                show.chance("probability", "Probability"),
            ],
            caption="Probability of each rank.",
            csv="ranks",
        ),
    ]


def _pairs(pairwise: pd.DataFrame, order: Mapping[str, list[str]], results: Results) -> list[Block]:
    poles, who = results.poles, results.who
    low, high = poles.negative, poles.positive
    return [
        Picture(
            name="pairwise",
            caption=(
                f"Probability in percent that the {who} of the row is {low.of} the {who} of the "
                f"column. Purple: probably {low.of} it; orange: probably {high.of} it; hatched: "
                "no pair."
            ),
            alt=f"Matrix of {who.many} by {who.many}; the numbers are in the folded table below.",
            figure=plot_pairwise(pairwise, order=order, poles=poles, who=str(who)),
        ),
        folded_grid(
            "Pairs as a table",
            pairwise,
            [
                *show.texts("model_a", "model_b", "dimension"),
                show.chance("p_left", f"Probability that A is {low.of} B"),
            ],
            caption=f"Probability that one {who} is {low.of} another.",
            csv="pairwise",
        ),
    ]


SECTION = SectionMaker("The order of the {who.many}", ranking, analysis="ideology")
