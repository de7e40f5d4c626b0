"""The many-facet model's results on models and judges, and how many judges are enough."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from polbayes.report import show
from polbayes.report.blocks import Block, Column, Fold, Paragraph, Picture, Section, grid
from polbayes.report.figures.d_study import plot_judge_d_study
from polbayes.report.figures.judge_effects import TITLES, plot_judge_effects
from polbayes.report.figures.value_profiles import plot_value_profiles
from polbayes.report.numbers import chance, number
from polbayes.report.prose import MODEL, plural
from polbayes.report.results import Reported
from polbayes.report.sections.precision import few

SOURCES = {"reflection": "the reflection", "stages": "the mean of the four stages"}
SIGN = "Positive is liberal, negative conservative: the reverse of polbayes' other measures."


def freed_profiles(results: Reported) -> Section | None:
    """Show profiles and alignment of the models as rated by a fair judge."""
    profiles, scores = results.table("facet_profiles"), results.table("facet_alignment")
    if profiles is None or scores is None:
        return None
    reading = (
        "Judges are severe or mild, have leanings, and may rate themselves. Here ratings are "
        "adjusted for this: shown are the ratings expected from a judge who has the mean severity "
        "and leaning of this panel, uses the range as it does, and is none of the models. What all "
        "judges of the panel have in common cannot be separated from the models.",
        f"Alignment weighs the ten values, from −100 to 100. {SIGN}",
        f"Lines are {results.level:.0%} intervals for the scenarios that were played.",
    )
    blocks: list[Block] = [_alignment(scores, results.level)]
    for stage in ("reflection", *dict.fromkeys(profiles["stage"])):
        rows = profiles[profiles["stage"] == stage]
        if not rows.empty:
            blocks.insert(0, _profile_picture(rows, str(stage), results.level))
            break
    ranks = results.table("facet_ranks")
    if ranks is not None:
        blocks.append(_ranks(ranks))
    return Section(
        "freed-profiles", "Judge-adjusted profiles and alignment", reading, tuple(blocks)
    )


def _profile_picture(rows: pd.DataFrame, stage: str, level: float) -> Picture:
    what = stage.replace("_", " ")
    return Picture(
        name="facet_profiles",
        caption=f"Strength of each value in {what}, by a fair judge, with {level:.0%} intervals. "
        "In brackets: the side of the alignment on which a strong value counts.",
        alt="Dots with intervals, one row per value; the numbers are in facet_profiles.csv.",
        figure=plot_value_profiles(rows),
        csv=("facet_profiles",),
        posterior=True,
    )


def _alignment(scores: pd.DataFrame, level: float) -> Block:
    shown = scores[scores["source"].isin(SOURCES)]
    shown = scores if shown.empty else shown
    return grid(
        shown,
        [
            show.text("model"),
            show.named("source", "From", SOURCES),
            *show.estimate("Alignment (positive is liberal)", level, digits=1),
            show.chance("p_positive", "Probability that it is positive"),
        ],
        caption="Alignment by a fair judge, on [−100, 100].",
        csv="facet_alignment",
        posterior=True,
    )


def _ranks(ranks: pd.DataFrame) -> Block:
    shown = ranks[ranks["source"].isin(SOURCES)]
    table = grid(
        ranks if shown.empty else shown,
        [
            show.text("model"),
            show.named("source", "From", SOURCES),
            show.number("rank", "Rank (1 = most conservative)", 0),
            show.chance("probability", "Probability"),
        ],
        caption="Probability of each rank.",
        csv="facet_ranks",
        posterior=True,
    )
    return Fold("Ranks and their probabilities", (table,))


def judge_effects(results: Reported) -> Section | None:
    """Show the effects of the judges on the ratings."""
    effects = results.table("facet_judges")
    if effects is None:
        return None
    reading = (
        "A judge is compared with the mean of the panel. Severity is how many points lower it "
        "rates all values. Its leaning is what it does to the alignment: a positive one sees "
        "everything as more liberal than the others do. Consistency is below 1 for a judge that "
        "errs more than the panel, and use of the range below 1 for one that keeps to the middle.",
        "Where a judge is one of the models, the last panels are about how it rates itself beyond "
        "how it rates others.",
    )
    blocks: list[Block] = [
        Picture(
            name="facet_judges",
            caption=f"Effects of the judges with {results.level:.0%} intervals; the lines are "
            "where a judge would be like the panel. Leanings have left on the left.",
            alt="Forest plots, one panel per effect; the numbers are in the table below.",
            figure=plot_judge_effects(effects),
            csv=("facet_judges",),
            posterior=True,
        ),
        grid(
            effects,
            [
                show.text("judge"),
                show.named("effect", "Effect", TITLES),
                *show.estimate("Estimate", results.level),
                show.number("neutral", "As the panel", 0),
                show.chance("p_above", "Probability that it is above that"),
            ],
            caption="Effects of the judges.",
            csv="facet_judges",
            posterior=True,
        ),
    ]
    leaning = results.table("facet_leaning")
    if leaning is not None:
        blocks.append(Fold("Leaning by value", (_leaning(leaning, results.level),)))
    return Section("judge-effects", "Rater effects", reading, tuple(blocks))


def _leaning(leaning: pd.DataFrame, level: float) -> Block:
    return grid(
        leaning,
        [
            show.text("judge"),
            Column("Value", lambda row: str(row["value"]).replace("_", " "), False),
            *show.estimate("Points above the panel, beyond severity", level),
        ],
        caption="Leaning of every judge on every value.",
        csv="facet_leaning",
        posterior=True,
    )


def judge_precision(results: Reported) -> Section | None:
    """Show how many judges and scenarios put the models in a stable order."""
    designs = results.table("facet_d_study")
    if designs is None or designs.empty:
        return None
    reading = (
        "Would other judges and other scenarios like these put the models in the same order? The "
        "differences of judges and scenarios about the models determine how often a study with "
        "more or fewer of them, based on mean ratings, gets the order of two models right.",
        "This assumes that all models play the same scenarios and are rated by the same judges, "
        "who are none of the models.",
    )
    if results.verdict == "bad":
        words = "No advice is given here, because the estimates are not to be used."
        return Section(
            "judge-precision", "How many judges and scenarios", reading, (Paragraph(words),)
        )
    source = str(designs["source"].iloc[0])
    rows = designs[designs["source"] == source]
    blocks = (
        Paragraph(" ".join([_advice(rows, source), *_few(results)])),
        Picture(
            name="judge_d_study",
            caption="Probability that two models are put in the right order, on average over "
            f"pairs, from {SOURCES.get(source, source)}. The dashed line is what is wanted.",
            alt="Lines by number of judges over the number of scenarios; numbers in the table.",
            figure=plot_judge_d_study(rows),
            csv=("facet_d_study",),
            posterior=True,
        ),
        Fold("Other studies", (_designs(designs, results.level),)),
    )
    return Section("judge-precision", "How many judges and scenarios", reading, blocks)


def _advice(rows: pd.DataFrame, source: str) -> str:
    (own,) = rows[rows["own"]].to_dict(orient="records")
    text = (
        f"From {SOURCES.get(source, source)}, a study of this size ({_size(own)}) "
        "puts two models in the right order with a probability of "
        f"{chance(own['p_pair'])}, those that are hardest to tell apart with "
        f"{chance(own['p_least'])}, "
        f"and all with {chance(own['p_all'])}. "
    )
    best = rows[rows["cheapest"]]
    wanted = f"{own['wanted']:.0%}"
    if best.empty:
        top = rows.loc[rows["p_pair"].idxmax()]
        return text + (
            f"None of the {plural(len(rows), 'study')} compared reaches {wanted} for two models; "
            f"{_size(top)} come closest, with {chance(top['p_pair'])}."
        )
    row = best.iloc[0]
    return text + (
        f"The smallest of {plural(len(rows), 'study')} that reaches {wanted} for two models has "
        f"{_size(row)}: {plural(row['ratings'], 'rated unit')} of each model, with a standard "
        f"error of {number(row['se'], 1)} points of alignment."
    )


def _few(results: Reported) -> list[str]:
    """Warn about probabilities that rest on few models."""
    scores = results.table("facet_alignment")
    if scores is None:
        return []
    rest_on = "These probabilities are averages over pairs of"
    instead = "Plan a study of other models by the standard error."
    return few(rest_on, scores["model"].nunique(), MODEL, instead)


def _size(study: Mapping[Any, Any] | pd.Series) -> str:
    return " and ".join(plural(study[f"{name}s"], name) for name in ("judge", "scenario"))


def _designs(designs: pd.DataFrame, level: float) -> Block:
    return grid(
        designs,
        [
            show.named("source", "From", SOURCES),
            show.number("judges", "Judges", 0),
            show.number("scenarios", "Scenarios", 0),
            show.number("ratings", "Rated units of each model", 0),
            *show.estimate("Standard error of the alignment", level, prefix="se", digits=1),
            show.number("generalizability", "Generalizability"),
            show.chance("p_pair", "Two models in order"),
            show.chance("p_least", "The hardest two"),
            show.chance("p_all", "All models in order"),
        ],
        caption="Studies of other sizes.",
        csv="facet_d_study",
        posterior=True,
    )
