"""Sensitivity of the answers to how the model is asked."""

import pandas as pd
from pandas.api.types import is_float_dtype, is_numeric_dtype

from polbayes.report import show
from polbayes.report.blocks import (
    Block,
    Column,
    Fold,
    Grid,
    Paragraph,
    Picture,
    Section,
    grid,
    level_of,
)
from polbayes.report.charts.forest import forest_chart
from polbayes.report.figures.forests import EFFECTS, plot_instability, plot_sensitivity
from polbayes.report.numbers import number
from polbayes.report.results import Results
from polbayes.report.section import SectionMaker
from polbayes.report.sections.wordings import feature_blocks

MEASURES = {
    "range": "largest minus smallest R⁺",
    "sd": "standard deviation of R⁺",
    "inconsistent": "share of wordings against the majority",
    "flip_5": "share of statements with more than 5% of wordings against the majority",
    "flip_10": "share of statements with more than 10% of wordings against the majority",
    "flip_25": "share of statements with more than 25% of wordings against the majority",
    "mean": "mean R⁺",
    "always_agree": "agrees with every statement (1 = yes)",
    "always_disagree": "disagrees with every statement (1 = yes)",
}


def sensitivity(results: Results) -> Section | None:
    """Show each model's prompt sensitivity, and the stability of its raw answers."""
    scales, stability = results.table("sensitivity"), results.table("stability")
    who, reading, blocks = results.who, [], list[Block]()
    if scales is not None:
        reading = [
            f"{who.a.capitalize()} is prompt-sensitive if its answers change with the wording of "
            "a statement or with the prefix although the meaning stays. For each source the "
            "number is a standard deviation on the latent scale: how far a typical change of "
            f"wording or prefix moves this {who}. It cannot be negative; 0 would mean that it "
            "makes no difference, and it has no direction.",
            f"The lines are {results.level:.0%} intervals; the most sensitive {who} is at the top "
            f"of each panel. Compare them with the distances between {who.many} above: {who.a} "
            f"that moves further than the {who.many} lie apart cannot be ranked on one prompt.",
        ]
        blocks = _scales(scales, results)
    if stability is not None:
        blocks.append(_stability(results))
    blocks += _items(results)
    blocks += feature_blocks(results)
    if not blocks:
        return None
    if scales is None:
        reading = ["Stability says how often raw answers stay the same when the asking changes."]
    return Section(
        "sensitivity", "How much it depends on the asking", tuple(reading), tuple(blocks)
    )


def _scales(scales: pd.DataFrame, results: Results) -> list[Block]:
    picture = Picture(
        name="sensitivity",
        caption=f"Prompt sensitivity by {results.who} and source.",
        alt=f"Forest plots of the sensitivity, the most sensitive {results.who} first.",
        figure=plot_sensitivity(scales),
        chart=forest_chart(
            {"sensitivity": scales},
            who=results.who,
            axis="standard deviation",
            series="effect",
            words=EFFECTS,
            centre=None,
            descending=True,
        ),
    )
    numbers = grid(
        scales,
        [
            show.text("model"),
            show.named("effect", "Source", EFFECTS),
            *show.estimate("Standard deviation", results.level),
        ],
        caption="Prompt sensitivity.",
        csv="sensitivity",
    )
    return [picture, Fold("Prompt sensitivity, as a table", (numbers,))]


def _stability(results: Results) -> Fold:
    """Show the classical stability; other tables with their own columns."""
    table = results.tables["stability"]
    title = "Stability of the raw answers over wordings of one meaning"
    if not {"measure", "estimate", "lower", "upper"} <= set(table.columns):
        return Fold(title, (plain("stability", "Stability.", results),))
    about = Paragraph(
        "R⁺ is the share of the probability on agreeing, from 0 to 1. These numbers are "
        "computed straight from the answers, over the original wording of a statement and "
        "its paraphrases; intervals come from resampling statements. They have no direction."
    )
    layout = grid(
        table,
        [
            show.text("model"),
            show.named("measure", "Measure", MEASURES),
            *show.estimate("Estimate", level_of(table)),
        ],
        caption="Stability over wordings.",
        csv="stability",
    )
    return Fold(title, (about, layout))


def _items(results: Results) -> list[Block]:
    """Show which items are unstable, and the most different wordings."""
    blocks, who = list[Block](), results.who
    instability, pairs = results.table("item_instability"), results.table("divergent_pairs")
    if instability is not None:
        picture = Picture(
            name="item_instability",
            caption="How much the answers to each item vary over its wordings, on a scale from "
            f"0 (the most stable item of {who.a}) to 1 (its least stable), averaged over "
            f"{who.many}. Lines: {level_of(instability):.0%} intervals from resampling {who.many}, "
            "too narrow "
            "where these are few.",
            alt="Forest plot of the items, the least stable first.",
            figure=plot_instability(instability),
        )
        blocks.append(Fold("Which statements are unstable", (picture,)))
    if pairs is not None and {"r_plus_low", "statement_low"} <= set(pairs.columns):
        layout = grid(
            pairs,
            [
                show.text("model"),
                show.number("difference", "Difference"),
                show.number("r_plus_low", "R⁺"),
                show.text("statement_low", "Least agreed with"),
                show.number("r_plus_high", "R⁺"),
                show.text("statement_high", "Most agreed with"),
            ],
            caption=f"For each {who} and item the two wordings of one meaning that are answered "
            "most differently. A description of these wordings, without intervals.",
            csv="divergent_pairs",
        )
        blocks.append(Fold("The same meaning, answered differently", (layout,)))
    return blocks


def plain(name: str, caption: str, results: Results) -> Grid:
    """Show a classical table with its own columns."""
    table = results.tables[name]
    columns = []
    for column in map(str, table.columns):
        if is_numeric_dtype(table[column]):
            digits = 2 if is_float_dtype(table[column]) else 0
            columns.append(
                Column(column, lambda row, c=column, d=digits: number(row[c], d))  # type: ignore[misc]
            )
        else:
            columns.append(show.text(column, column))
    return grid(table, columns, caption=caption, csv=name)


SECTION = SectionMaker("Prompt sensitivity", sensitivity, joint=True)
