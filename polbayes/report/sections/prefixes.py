"""Effects of the prefixes."""

import pandas as pd

from polbayes.report import show
from polbayes.report.blocks import (
    Block,
    Fold,
    Paragraph,
    Picture,
    Section,
    estimated,
    folded_grid,
    grid,
    level_of,
    overall,
)
from polbayes.report.charts.heat import prefix_chart
from polbayes.report.charts.parts import DISAGREE_AGREE as BROWN_GREEN
from polbayes.report.charts.parts import LEFT_RIGHT
from polbayes.report.figures.forests import plot_prefix_shift
from polbayes.report.figures.prefix_effects import plot_prefix_effects
from polbayes.report.figures.style import DISAGREE_AGREE, LEFT_LOW
from polbayes.report.prose import Noun
from polbayes.report.results import Results
from polbayes.report.section import SectionMaker
from polbayes.report.sections.contrasts import prefix_blocks

EFFECTS = {
    "steer": (
        "prefix_steer",
        "Effect of the prefix on leaning",
        "Purple and negative: the prefix moves the {who}'s answers {low.to}; orange and "
        "positive: {high.to}.",
        LEFT_LOW,
        LEFT_RIGHT,
    ),
    "acquiescence": (
        "prefix_acquiescence",
        "Effect of the prefix on agreeing",
        "Brown and negative: with this prefix the {who} agrees less, whatever the statement; "
        "green and positive: it agrees more.",
        DISAGREE_AGREE,
        BROWN_GREEN,
    ),
}


SHIFTS = {
    "shift": "minus the baseline's",
    "absolute_shift": "distance from the baseline's",
    "mean_absolute_shift": "mean distance from the baseline's",
    "others_minus_this": "mean of the others' minus this one's",
    "pooled_others_minus_this": "of all the others' answers minus this one's",
}


def prefixes(results: Results) -> Section | None:
    """Show the effect of each prefix on leaning and agreeing, and the bias under each."""
    effects = results.table("prefix_effects")
    by_prefix = estimated(overall(results.table("bias_by_prefix")))
    if effects is None and by_prefix is None:
        return None
    who = results.who
    reading = [
        f"A prefix is what is said to {who.a} before the statement, from nothing at all "
        "(baseline) to a request with a scale. The texts are in the section on the prompts."
    ]
    blocks: list[Block] = []
    if effects is not None:
        reading.append(
            "The analysis tells two effects apart: a prefix may move answers to either side "
            f"(leaning), and it may make {who.a} agree more or less with anything (agreeing). "
            f"Both are on the latent scale of the leanings, as differences from the {who}'s own "
            f"average; bold numbers are those whose {results.level:.0%} interval leaves out 0."
        )
        blocks += _effects(effects, results)
        blocks += prefix_blocks(results)
    if by_prefix is not None:
        blocks.append(Fold("The bias under each prefix", tuple(_by_prefix(by_prefix, results))))
    shifts = results.table("prefix_shift")
    if shifts is not None:
        blocks.append(Fold("How far prefixes move the bias", tuple(_shifts(shifts, who))))
    return Section("prefixes", "What the prefixes do", tuple(reading), tuple(blocks))


def _order(results: Results, name: str) -> list[str]:
    coordinates = results.responses.coords
    return [str(x) for x in coordinates[name].values] if name in coordinates else []


def _effects(effects: pd.DataFrame, results: Results) -> list[Block]:
    low, high, who = results.poles.negative, results.poles.positive, results.who
    blocks: list[Block] = []
    for effect, (name, title, caption, palette, colours) in EFFECTS.items():
        rows = effects[effects["effect"] == effect]
        if rows.empty:
            continue
        blocks.append(
            Picture(
                name=name,
                caption=f"{title}. {caption.format(low=low, high=high, who=who)}",
                alt=f"{title}: heat map of {who.many} by prefixes, numbers in the table below.",
                figure=plot_prefix_effects(
                    rows,
                    models=_order(results, "model"),
                    prefixes=_order(results, "prefix"),
                    palette=palette,
                    title=title,
                ),
                csv=("prefix_effects",),
                chart=prefix_chart(rows, colours=colours, who=who),
            )
        )
    columns = [
        *show.texts("model", "prefix"),
        show.text("effect", "Effect on (steer = leaning)"),
        *show.estimate("Effect", results.level),
    ]
    title, caption = "Prefix effects with intervals", "Effects of the prefixes with intervals."
    table = grid(effects, columns, caption=caption, csv="prefix_effects")
    return [*blocks, Fold(f"{title}, as a table", (table,))]


def _by_prefix(table: pd.DataFrame, results: Results) -> list[Block]:
    level, poles = level_of(table), results.poles
    rows, note = table, ""
    if "dimension" in table:
        dimension = "total" if (table["dimension"] == "total").any() else table["dimension"].iloc[0]
        rows = table[table["dimension"] == dimension]
        note = "" if dimension == "total" else f" ({results.about(str(dimension))} questions)"
    named = [show.text("dimension")] if "dimension" in table else []
    columns = [
        *show.texts("model", "prefix"),
        *named,
        *show.estimate(poles.header("Bias"), level),
    ]
    return [
        Paragraph(
            f"Below is the classical bias measure{note} computed for each prefix alone, from −1 "
            f"({poles.negative.word}) to +1 ({poles.positive.word}); bold where its bootstrap "
            "interval over answers "
            f"({level:.0%}) leaves out 0. If {results.who.a} changes its colour along a row, its "
            "leaning depends on how it is asked."
        ),
        _bias_picture(rows, note, results),
        folded_grid(
            "Bias by prefix with intervals, as a table",
            table,
            columns,
            caption="Bias under each prefix.",
            csv="bias_by_prefix",
        ),
    ]


def _shifts(table: pd.DataFrame, who: Noun) -> list[Block]:
    """Show the mean absolute shift, and the comparisons with the other prefixes."""
    level = level_of(table)
    rows = table
    if "dimension" in table and (table["dimension"] == "total").any():
        rows = table[table["dimension"] == "total"]
    there = set(rows["prefix"])
    shown = [name for name in ("baseline", "likert") if name in there]
    blocks: list[Block] = []
    if shown or (rows["measure"] == "mean_absolute_shift").any():
        blocks.append(
            Picture(
                name="prefix_shift",
                caption="How far prefixes move the bias. First: the mean distance from the bias "
                "without a prefix (it cannot be negative). Others: the mean bias under all other "
                f"prefixes minus the one named. Lines: {level:.0%} bootstrap intervals over "
                "answers.",
                alt=f"Forest plots of shifts by {who}; the numbers are in the table below.",
                figure=plot_prefix_shift(rows, prefixes=shown),
            )
        )
    named = [show.text("dimension")] if "dimension" in table else []
    columns = [
        show.text("model"),
        *named,
        show.text("prefix"),
        show.named("measure", "Measure", SHIFTS),
        *show.estimate("Bias", level),
    ]
    title, caption = "Shifts by prefix with intervals, as a table", "Shifts of the bias by prefix."
    return [*blocks, folded_grid(title, table, columns, caption=caption, csv="prefix_shift")]


def _bias_picture(rows: pd.DataFrame, note: str, results: Results) -> Picture:
    low, high, who = results.poles.negative, results.poles.positive, results.who
    return Picture(
        name="bias_by_prefix",
        caption=f"Bias under each prefix. Purple, negative: {low.towards}; orange, positive: "
        f"{high.towards}.",
        alt=f"Bias by prefix: heat map of {who.many} by prefixes, numbers in the table below.",
        figure=plot_prefix_effects(
            rows,
            models=_order(results, "model"),
            prefixes=_order(results, "prefix"),
            palette=LEFT_LOW,
            title=f"Bias under each prefix{note}",
            bound=1.0,
        ),
        chart=prefix_chart(rows, bound=1.0, who=who),
    )


SECTION = SectionMaker("Prefix effects", prefixes, analysis="ideology")
