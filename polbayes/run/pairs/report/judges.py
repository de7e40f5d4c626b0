"""The judges: their preferences, and how many of them and of pairs are enough."""

from typing import TYPE_CHECKING

import pandas as pd

from polbayes.report import show
from polbayes.report.blocks import Block, Bullets, Column, Fold, Paragraph, Picture, Section, grid
from polbayes.report.figures import style
from polbayes.report.figures.forest import Panel, plot_forest
from polbayes.report.numbers import count, number
from polbayes.report.prose import MODEL, plural
from polbayes.report.sections.precision import few
from polbayes.run.pairs.report.results import PairsResults

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_EFFECTS = {
    "side": "Side (positive = right)",
    "first": "What is shown first",
    "length": "Twice the length",
    "threshold": "Distance up to which it says “equal”",
    "hedging": "Sees more hedging",
    "compliance": "Sees more compliance",
    "hedging_by_side": "Sees more hedging on the right",
    "compliance_by_side": "Sees more compliance on the right",
}
_SHOWN = ("side", "first", "length", "threshold")
_PREFERENCES = {
    "first": "Favours the answer shown first, less the second",
    "right": "Favours the right answer, less the left",
    "longer": "Rise of the latter where the right answer is twice as long",
    "consistent": "Agreement of both orders",
}


def judges(results: PairsResults) -> Section | None:
    """Show what the verdicts of each judge follow apart from the models."""
    effects, raw = results.table("verdict_judges"), results.table("judge_preferences")
    if effects is None and raw is None:
        return None
    reading = (
        "Every pair is shown in both orders, so that a judge's preference for what comes first "
        "shows. A judge's side is against the mean of the panel: comparing judges cannot show "
        "whether the whole panel prefers a side. Effects are in logits of a verdict, or of a "
        "rating.",
    )
    blocks: list[Block] = []
    if effects is not None:
        blocks += _effects(effects, results.level)
    if raw is not None:
        level = float(raw["level"].iloc[0])
        columns = [
            show.named("measure", "What", _PREFERENCES),
            show.text("judge"),
            *show.estimate("Estimate", level),
        ]
        caption = "What verdicts follow, without a model; shares and differences of shares."
        inner = grid(raw, columns, caption=caption, csv="judge_preferences")
        blocks.append(Fold("The same without a model", (inner,)))
    blocks += [_unusable(results), _self(results)]
    return Section("judges", "The judges", reading, tuple(blocks))


def _effects(table: pd.DataFrame, level: float) -> list[Block]:
    panels = [
        Panel(_EFFECTS[name], rows.assign(model=rows["judge"]), colour=style.SERIES[k])
        for k, name in enumerate(_SHOWN)
        if len(rows := table[table["effect"] == name])
    ]
    columns = [
        show.text("judge"),
        show.named("effect", "Effect", _EFFECTS),
        *show.estimate("Logits", level),
    ]
    caption = "Effects of the judges."
    numbers = grid(table, columns, caption=caption, csv="verdict_judges", posterior=True)
    return [
        Picture(
            name="verdict_judges",
            caption=f"Effects of the judges on verdicts, in logits, with {level:.0%} intervals.",
            alt="Dot plots, one row per judge; the numbers are in the table below.",
            figure=plot_forest(panels, centre=0.0, dress=lambda axes: None),
            posterior=True,
        ),
        Fold("Effects of the judges, as a table", (numbers,)),
    ]


def _unusable(results: PairsResults) -> Block:
    table = results.tables["unusable"]
    columns = [
        *show.texts("judge"),
        Column("Reply", lambda row: str(row["outcome"]).replace("_", " "), numeric=False),
        show.count("replies", "Replies"),
    ]
    inner = grid(table, columns, caption="Replies by what could be read.", csv="unusable")
    return Fold("What could be used", (inner,))


def _self(results: PairsResults) -> Block:
    own = results.verdicts["self_judged"]
    pairs = [
        (f"{judge}", f"judges {model}, which is the same model.")
        for judge in own["judge"].values.tolist()
        for model in own["model"].values.tolist()
        if int(own.sel(model=model, judge=judge))
    ]
    return Bullets(tuple(pairs)) if pairs else Paragraph("No judge judges itself.")


def enough(results: PairsResults) -> Section | None:
    """Show how precise tilts are with other numbers of topics and judges."""
    designs = results.table("verdict_design")
    if designs is None:
        return None
    reading = (
        "The standard error of a tilt in a study with other numbers of topics and judges, each "
        "topic with the templates and runs of this one and each pair shown in both orders. Unlike "
        "the intervals above, it allows for other judges, who would prefer other sides. Topics "
        "and judges that all models share make no difference between models. The smallest tilt is "
        f"the one whose {results.level:.0%} interval just leaves 0.",
    )
    if results.verdict == "bad":
        words = "No advice is given here, because the estimates are not to be used."
        return Section("enough", "How many pairs and judges", reading, (Paragraph(words),))
    blocks: tuple[Block, ...] = (
        Paragraph(" ".join([_advice(designs), *_few(results)])),
        Picture(
            name="verdict_design",
            caption="Standard error of a tilt by the number of topics and judges, in logits.",
            alt="Lines by number of judges over the number of topics; the numbers are in the CSV.",
            figure=_plot(designs),
            posterior=True,
        ),
        Fold("Other studies", (_designs(designs),)),
    )
    return Section("enough", "How many pairs and judges", reading, blocks)


def _designs(designs: pd.DataFrame) -> Block:
    columns = [
        show.count("judges", "Judges"),
        show.count("topics", "Topics"),
        show.count("verdicts", "Verdicts on each model"),
        show.number("se", "Standard error of a tilt"),
        show.number("least", "Smallest tilt"),
        show.number("se_difference", "Standard error of a difference"),
        show.number("least_difference", "Smallest difference"),
    ]
    caption = "Studies of other sizes, in logits of a verdict."
    return grid(designs, columns, caption=caption, csv="verdict_design", posterior=True)


def _advice(designs: pd.DataFrame) -> str:
    (own,) = designs[designs["own"]].to_dict(orient="records")
    best = designs.loc[designs["se"].idxmin()]
    text = (
        f"With {plural(own['judges'], 'judge')} and {plural(own['topics'], 'topic')}, as here, the "
        f"standard error of a tilt is {number(own['se'])}, and that of a difference between two "
        f"models {number(own['se_difference'])}. With "
        f"{plural(best['judges'], 'judge')} and {plural(best['topics'], 'topic')} they are "
        f"{number(best['se'])} and {number(best['se_difference'])}."
    )
    if not own["judges_known"]:
        text += " How far judges differ cannot be known from one, and is left out."
    return text


def _few(results: PairsResults) -> list[str]:
    """Warn about standard errors that rest on few models."""
    rest_on = "These standard errors rest on"
    why = "how they differ by topic is hardly known"
    instead = "Plan with some reserve."
    return few(rest_on, results.verdicts.sizes["model"], MODEL, instead, why)


def _plot(designs: pd.DataFrame) -> "Figure":
    with style.drawing(0.75 * style.WIDTH, 3.6) as figure:
        axes = figure.subplots()
        for k, (judge, rows) in enumerate(designs.groupby("judges")):
            colour, marker = style.series_look(k).values()
            name = plural(judge, "judge")
            ordered = rows.sort_values("topics")
            x, y = ordered["topics"].to_numpy(), ordered["se"].to_numpy()
            axes.plot(x, y, color=colour, marker=marker, markersize=5, label=name)
        axes.set_xscale("log")
        ticks = sorted(designs["topics"].unique())
        axes.set_xticks(ticks, labels=[count(t) for t in ticks])
        axes.minorticks_off()
        axes.set_ylim(bottom=0)
        axes.set_xlabel("topics")
        axes.set_ylabel("standard error of a tilt")
        style.faint_grid(axes)
        axes.legend(frameon=False, fontsize=8.5)
    return figure
