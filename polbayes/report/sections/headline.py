"""Where the models stand."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from polbayes.fit.posterior.verdicts import at_centre, from_centre
from polbayes.fit.spec.spec import POPULATION
from polbayes.instrument.dimensions import Dimension
from polbayes.instrument.poles import Poles
from polbayes.report import show
from polbayes.report.blocks import Block, Column, Fold, Paragraph, Picture, Section, grid
from polbayes.report.charts.leaning import leaning_chart
from polbayes.report.charts.parts import LIKE_THESE, THESE
from polbayes.report.figures.leaning_map import placed, plot_leaning_map
from polbayes.report.numbers import interval, number
from polbayes.report.prose import listed, reading_of_verdicts
from polbayes.report.results import Results
from polbayes.report.section import SectionMaker
from polbayes.report.sections.contrasts import correlation_blocks

_TITLE = "Where the {who.many} stand"


def headline(results: Results) -> Section | None:
    """Show the models on the two dimensions, with a sentence for each."""
    theta = results.table("theta")
    if theta is None and results.mixed:
        return None
    title = _TITLE.format(who=results.who)
    if results.unlinked:
        return None  # runs whose scales are not linked have no common map
    if theta is None:
        absent = "The ideology model was not fitted in this run, so there are no latent leanings."
        return Section("leaning", title, (absent,), ())
    level = f"{results.level:.0%}"
    reading = (
        f"Each {results.who} has a latent leaning on {_questions(theta, results.dimensions)} "
        "questions, estimated from all its answers after setting apart how it was asked and its "
        f"tendency to agree. {_unit(results)}{_each(results.dimensions, results.poles)}",
        f"Every number comes with its {level} interval: given the model and the answers, the "
        f"true value lies inside with a probability of {level}.",
        *_of_verdicts(results),
    )
    blocks = (
        *_maps(results, theta),
        *correlation_blocks(results),
        Fold("Leanings and leans, as a table", (_numbers(results, theta),)),
        *_files(results),
    )
    return Section("leaning", title, reading, blocks)


def _questions(theta: pd.DataFrame, dimensions: Sequence[Dimension]) -> str:
    there = set(theta["dimension"])
    return " and on ".join(d.label.lower() for d in dimensions if d.dimension in there)


def _each(dimensions: Sequence[Dimension], poles: Poles) -> str:
    """Name the poles of each dimension where they are not those of all."""
    named = [
        f"{poles.on(d.dimension).negative.word} and {poles.on(d.dimension).positive.word} on "
        f"{d.label.lower()} questions"
        for d in dimensions
        if poles.on(d.dimension) != poles
    ]
    return f" The negative and the positive pole are {listed(named, most=20)}." if named else ""


def _unit(results: Results) -> str:
    """Explain 0 and the unit."""
    theta, poles, who = results.table("theta"), results.poles, results.who
    low, high = poles.negative, poles.positive
    sides = f"Negative is {low.towards}, positive is {high.towards}"
    if theta is not None and "scale" in theta and (theta["scale"] == POPULATION).all():
        return (
            f"{sides}, and both 0 and the unit are those of the population: 0 is the mean of its "
            "persons' positions and 1 their standard deviation, so that about a sixth of them are "
            f"further {low.of} than {who.a} at −1. How uncertain both are is in the intervals. The "
            f"lean is still the expected answer to a new statement, {poles.scale}."
        )
    if theta is not None and "scale" in theta:
        return (
            f"{sides}, and both 0 and the unit are those of the "
            "reference, the respondents that readers know: 0 is the mean of their positions and 1 "
            f"their standard deviation, so that {who.a} at −1 is as far {low.of} their mean as "
            "they "
            "differ from each other. How uncertain both are is in the intervals. The lean is still "
            f"the expected answer to a new statement, {poles.scale}."
        )
    if results.table("decisiveness") is None:
        return (
            f"{sides}, and 0 is the midpoint of the statements asked: "
            f"{who.a} there is as likely to take the {low.word} as the {high.word} side of an "
            "average "
            "statement. It is not the midpoint of any electorate. The unit is the noise from run "
            f"to run, so that {who.a} that repeats itself more often is further from 0."
        )
    return (
        f"{sides}. The estimate is for statements like these: those "
        "asked are taken as a sample, and another sample would give another number, which the "
        "interval allows for. 0 is the midpoint of such statements, not of any electorate, and how "
        "uncertain that midpoint is, is in the interval too. The unit is the spread of what "
        f"{who.a} thinks of single statements: at −1, it is {low.of} the midpoint on about five of "
        "six equally difficult statements. The table also has the position on the statements asked "
        "and on no others, which is known more precisely, and the lean: the expected answer to a "
        f"new statement, {poles.scale}."
    )


def _of_verdicts(results: Results) -> tuple[str, ...]:
    contrasts = results.table("contrasts")
    if contrasts is None:
        return ()
    rope = float(contrasts["rope"].max())
    return (reading_of_verdicts(results.level, rope, results.poles, results.who),)


def _maps(results: Results, theta: pd.DataFrame) -> tuple[Block, ...]:
    """Show a map of every requested pair of dimensions, by default the first two."""
    known = {d.dimension: d for d in results.dimensions}
    there = [name for name in known if name in set(theta["dimension"])]
    if len(known) < 2:
        return ()
    wanted = results.maps or [there[:2] if len(there) > 1 else list(known)[:2]]
    blocks: list[Block] = []
    for n, (x, y) in enumerate(wanted):
        name = f"leaning_map_{n + 1}" if n else "leaning_map"
        blocks += _map(results, theta, (known[x], known[y]), name)
    return tuple(blocks)


def _map(
    results: Results, theta: pd.DataFrame, pair: tuple[Dimension, Dimension], name: str
) -> tuple[Block, ...]:
    shown, who, asked = placed(theta, pair), results.who, results.table("theta_asked")
    across, up = (" to ".join(one.poles) for one in pair)
    x, y = (one.label.lower() for one in pair)
    absent = [str(m) for m in theta["model"].unique() if m not in shown.index]
    note = f" Not on the map for want of an estimate: {listed(absent)}." if absent else ""
    if shown.empty:
        text = f"There is no map, because no {who} has an estimate on both dimensions."
        return (Paragraph(text),)
    picture = Picture(
        name=name,
        caption=(
            f"The {who.many} on the two dimensions: across the page from {across}, upwards from "
            f"{up}. The lines through each point are its {results.level:.0%} intervals.{note}"
        ),
        alt=(
            f"Map of {len(shown)} {who.many}, {x} leaning across and {y} leaning up, "
            "each a point with a cross of intervals. The numbers are in the table below."
        ),
        figure=plot_leaning_map(theta, pair),
        csv=("theta",),
        chart=leaning_chart(
            {LIKE_THESE: theta, **({} if asked is None else {THESE: asked})}, pair, who
        ),
    )
    return (picture,)


def _numbers(results: Results, theta: pd.DataFrame) -> Block:
    spread = [show.number("sd", "Standard deviation")] if "sd" in theta else []
    beside, shown, poles = [], theta, results.poles
    for name, header in (("theta_asked", "On the statements asked"), ("lean", "Lean, −1 to 1")):
        table = results.table(name)
        if table is None:
            continue
        numbers = ["estimate", "lower", "upper"]
        named = table.rename(columns={number: f"{name}_{number}" for number in numbers})
        columns = ["model", "dimension", *(f"{name}_{number}" for number in numbers)]
        shown = shown.merge(named[columns], on=["model", "dimension"], how="left")
        beside.append(_with_interval(name, header))
    contrasts = results.table("contrasts")
    if contrasts is not None:
        verdicts = {
            (model, on): at_centre(v.decision, poles.on(on)) or "–"
            for model, on, v in from_centre(contrasts)
        }
        beside.append(
            Column(
                "Verdict",
                lambda row: verdicts.get((row["model"], row["dimension"]), "–"),
                numeric=False,
            )
        )
    return grid(
        shown,
        [
            *show.texts("model", "dimension"),
            *show.estimate(poles.header("Leaning"), results.level),
            *spread,
            show.chance("p_left", f"Probability {poles.negative.of} the centre, however little"),
            *beside,
        ],
        caption=f"Latent leaning by {results.who} and dimension.",
        csv="theta",
    )


def _files(results: Results) -> tuple[Block, ...]:
    """Link the tables whose estimates are beside those of θ."""
    named = (("theta_asked", "The leaning on the statements asked:"), ("lean", "The lean:"))
    return tuple(Paragraph(text, csv=name) for name, text in named if name in results.tables)


def _with_interval(name: str, header: str) -> Column:
    """Show an estimate with its interval in one column."""

    def text(row: Any) -> str:
        low, high = row[f"{name}_lower"], row[f"{name}_upper"]
        return f"{number(row[f'{name}_estimate'])} {interval(low, high)}"

    return Column(header, text)


SECTION = SectionMaker(_TITLE, headline, analysis="ideology")
