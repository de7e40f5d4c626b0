"""Sources of the differences between answers."""

from collections.abc import Mapping

import pandas as pd

from polbayes.report import show
from polbayes.report.blocks import Block, Fold, Paragraph, Picture, Section, grid
from polbayes.report.figures.variance import plot_variance
from polbayes.report.numbers import share
from polbayes.report.prose import Noun
from polbayes.report.results import Results
from polbayes.report.section import SectionMaker

SOURCES: Mapping[str, str] = {
    "theta: model": "Leaning of the {who}",
    "difficulty: item": "Statement",
    "discrimination: item": "Statement, how sharply it divides",
    "quirk: model:item": "Statement, for this {who}",
    "acquiescence: model": "Agreeing with anything",
    "acquiescence: model:prefix": "Prefix, effect on agreeing",
    "steer: model:prefix": "Prefix, effect on leaning",
    "wording: item:variant": "Wording",
    "wording: model:item:variant": "Wording, for this {who}",
    "wording: model:item:variant:prefix": "Single prompt, for this {who}",
    "theta: model:dimension:instrument": "Instrument, for this {who}",
    "theta: model:language:dimension": "Language, effect on leaning",
    "acquiescence: model:language": "Language, effect on agreeing",
    "dif: item:language": "Statement, in this language",
    "acquiescence: model:administration": "Administration, effect on agreeing",
    "steer: model:administration": "Administration, effect on leaning",
    "acquiescence: mode": "Mode, effect on agreeing",
    "discrimination: mode": "Mode, how sharply statements divide",
    "steer: mode:dimension": "Mode, effect on leaning",
    "steer: model:mode:dimension": "Mode, effect on leaning of this {who}",
    "repetition": "Asked again, or unexplained",
}


def variance(results: Results) -> Section | None:
    """Show the shares of variance, over all models and within each."""
    table = results.table("variance_shares")
    if table is None:
        return None
    poles, who = results.poles, results.who
    reading = (
        f"Two answers differ because two {who.many} lean differently, because one statement is "
        f"easier to agree with for {poles.positive.noun} than another, because of the wording or "
        "the prefix, or for no reason that was varied: the same question, asked again, gets "
        "another answer. The bars divide the variance of single answers, on the latent scale and "
        f"turned so that negative is {poles.negative.towards}, among these sources; they sum to "
        "100%.",
        f"What a source does to one answer is not what it does to {who.a}'s leaning, which is "
        "estimated from many: agreeing with anything cancels between statements of both sides, and "
        "wordings average out. The next section is about that.",
    )
    every = table[table["model"].isna()]
    own = table[table["model"].notna()]
    blocks: list[Block] = []
    if len(every):
        blocks.append(
            Picture(
                name="variance_shares",
                caption="Shares of the variance of single answers, with "
                f"{results.level:.0%} intervals.",
                alt="Bars of the shares by source; the numbers are in the table below.",
                figure=plot_variance(every, names_of(who), poles),
            )
        )
        if results.verdict != "bad":
            blocks.append(Paragraph(_in_words(every, names_of(who))))
        blocks.append(Fold("Shares of variance as a table", (_numbers(every, results),)))
    if len(own):
        title = f"Within the answers of each {who}"
        blocks.append(Fold(title, (_numbers(own, results, by=True),)))
    return Section("variance", "Where the differences come from", reading, tuple(blocks))


def names_of(who: Noun) -> Mapping[str, str]:
    """Return the names of the sources, in the order of the figure; other specs have others."""
    return {source: name.format(who=who) for source, name in SOURCES.items()}


def _in_words(every: pd.DataFrame, names: Mapping[str, str]) -> str:
    """Name the largest sources on the broadest measure."""
    total = (every["dimension"] == "total").any()
    rows = every[every["dimension"] == ("total" if total else every["dimension"].iloc[0])]
    largest = rows.sort_values("estimate", ascending=False, kind="stable").head(3)
    parts = [
        f"{names.get(r.component, r.component).lower()} ({share(r.estimate)})"
        for r in largest.itertuples()
    ]
    return f"The largest sources are: {', '.join(parts)}."


def _numbers(table: pd.DataFrame, results: Results, *, by: bool = False) -> Block:
    columns, who = [show.text("model")] if by else [], results.who
    columns += [
        show.text("dimension"),
        show.named("component", "Source", names_of(who)),
        *show.estimate("Share of the variance", results.level),
        show.number("variance", "Variance"),
    ]
    caption = (
        f"Shares of the variance of the answers of each {who}." if by else "Shares of variance."
    )
    return grid(table, columns, caption=caption, csv="variance_shares")


SECTION = SectionMaker("Where the differences come from", variance, analysis="ideology")
