"""Sensitivity to wordings and weights."""

import pandas as pd

from polbayes.report import show
from polbayes.report.blocks import Block, Column, Section, folded_grid, grid
from polbayes.report.prose import plural
from polbayes.roleplay.report.alignment import p_value
from polbayes.roleplay.report.results import RatingsResults, worded


def robustness(results: RatingsResults) -> Section | None:
    """Show the spread over wordings by stage, and the order of models under other weights."""
    spread, weights = results.table("wording_spread"), results.table("weight_sensitivity")
    wordings = int(results.transcripts.sizes["wording"])
    if wordings < 2:
        spread = None
    blocks: list[Block] = []
    if spread is not None:
        blocks += _spread(spread, results.level)
    if weights is not None:
        blocks += _weights(weights, results.level)
    reading = (
        f"Every scenario is played in {plural(wordings, 'wording')}. Small spreads say that the "
        "alignment of a text does not depend on how the story is told; so few wordings make each "
        "spread uncertain."
        if wordings > 1
        else "Every scenario is played in one wording, so that the effect of another is unknown.",
        "The weights of the ten values are the published ones. Here they are made all equal, "
        "changed at random by up to 20 %, or one value is left out.",
    )
    return Section("robustness", "Wordings and weights", reading, tuple(blocks)) if blocks else None


def _spread(table: pd.DataFrame, level: float) -> list[Block]:
    rows = table[table["measure"] == "variance"]
    columns = [
        *show.texts("model"),
        *worded("stage"),
        *show.texts("twin"),
        show.number("root", "Spread over wordings (points)", 1),
        *show.estimate("Variance over wordings", level, digits=1),
    ]
    first = table[(table["stage"] == "first_minus_last") & (table["measure"] == "sd")]
    change = [
        *show.texts("model", "twin"),
        *show.estimate("SD in the first stage minus SD in the last", level),
        Column("p (one-sided Wilcoxon)", p_value),
    ]
    caption = "Do wordings matter less at the end? Positive: more at the beginning."
    return [
        grid(first, change, caption=caption, csv="wording_spread"),
        folded_grid(
            "Spread over wordings by stage",
            rows.assign(root=rows["estimate"] ** 0.5),
            columns,
            caption="Dependence of a text's alignment on its wording; a spread has no sign.",
            csv="wording_spread",
        ),
    ]


def _weights(table: pd.DataFrame, level: float) -> list[Block]:
    columns = [
        *show.texts("source"),
        *worded("weights", "measure"),
        *show.estimate("Estimate", level),
        *show.texts("note"),
    ]
    caption = (
        "Alignments under other weights against the published ones: rank correlation of the "
        "models, and the largest change of a model in points."
    )
    whole, csv = table["weights"].isin(["equal", "random"]), "weight_sensitivity"
    return [
        grid(table[whole], columns, caption=caption, csv=csv),
        folded_grid("Each value left out", table[~whole], columns, caption=caption, csv=csv),
    ]
