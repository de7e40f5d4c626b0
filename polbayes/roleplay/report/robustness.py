"""What hangs on the wordings and on the weights."""

from polbayes.report.blocks import (
    Block,
    Column,
    Fold,
    Section,
    estimate_columns,
    grid,
    number_column,
)
from polbayes.report.blocks import text_column as text
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
        rows = spread[spread["measure"] == "variance"]
        rows = rows.assign(root=rows["estimate"] ** 0.5)
        columns = [
            text("model", "Model"),
            worded("stage", "Stage"),
            text("twin", "Twin"),
            number_column("root", "Spread over wordings (points)", 1),
            *estimate_columns("Variance over wordings", results.level, digits=1),
        ]
        caption = "How far the alignment of a text hangs on its wording; a spread has no sign."
        first = spread[(spread["stage"] == "first_minus_last") & (spread["measure"] == "sd")]
        change = [
            text("model", "Model"),
            text("twin", "Twin"),
            *estimate_columns("SD in the first stage minus SD in the last", results.level),
            Column("p (one-sided Wilcoxon)", p_value),
        ]
        blocks += [
            grid(
                first,
                change,
                caption="Do wordings matter less at the end? Positive: more at the beginning.",
                csv="wording_spread",
            ),
            Fold(
                "Spread over wordings by stage",
                (grid(rows, columns, caption=caption, csv="wording_spread"),),
            ),
        ]
    if weights is not None:
        columns = [
            text("source", "Source"),
            worded("weights", "Weights"),
            worded("measure", "Measure"),
            *estimate_columns("Estimate", results.level),
            text("note", "Note"),
        ]
        caption = (
            "Alignments under other weights against the published ones: rank correlation of the "
            "models, and the largest change of a model in points."
        )
        whole = weights["weights"].isin(["equal", "random"])
        blocks += [
            grid(weights[whole], columns, caption=caption, csv="weight_sensitivity"),
            Fold(
                "Each value left out",
                (grid(weights[~whole], columns, caption=caption, csv="weight_sensitivity"),),
            ),
        ]
    if not blocks:
        return None
    reading = (
        f"Every scenario is played in {plural(wordings, 'wording')}. Small spreads say that the "
        "alignment of a text does not depend on how the story is told; so few wordings make each "
        "spread uncertain."
        if wordings > 1
        else "Every scenario is played in one wording, so that nothing is known of what another "
        "would do.",
        "The weights of the ten values are the published ones. Here they are made all equal, "
        "changed at random by up to 20 %, or one value is left out.",
    )
    return Section("robustness", "Wordings and weights", reading, tuple(blocks))
