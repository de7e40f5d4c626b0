"""Predictors: coefficients of attributes of models and of prompts, and effects of groups."""

import re

import pandas as pd

from polbayes.instrument.covariates import OWN_KEYS, asking_attributes, model_attributes
from polbayes.report import show
from polbayes.report.blocks import Block, Fold, Picture, Section, grid
from polbayes.report.figures.forests import plot_coefficients
from polbayes.report.results import Results
from polbayes.report.section import SectionMaker

_READING = (
    "The analysis lets a part of the model depend on what kind of {who} it is. A coefficient of "
    "theta says how much further {high} (positive) or {low} (negative) {who.many} lean that are "
    "higher by 1 on a predictor: for a predictor that is yes or no, how the two kinds differ. What "
    "follows a colon is the dimension, or another predictor, that it is for. The scale is that "
    "of the latent leaning; coefficients of acquiescence are about agreeing with everything.",
    "The {who.many} asked stand for more {who.many} of their kind, so the intervals are wide "
    "where there are few of them: they say what is known of such {who.many} in general, not of "
    "these alone. A difference between kinds of {who.many} is no proof that the kind is its "
    "cause.",
)
_TITLE = "What does the way to ask change?"
_OF_ASKING = (
    "A coefficient of steer or theta says how much further {high} (positive) or {low} (negative) "
    "{who.many} answer, and one of acquiescence how much more they agree, where a question is "
    "higher by 1 on an attribute of its prefix or wording, or of the order of its options, on the "
    "scale of the latent leaning. It is an average over {who.many}. Where every statement is "
    "asked in all of these ways, it is the effect of the way and of nothing else.",
)


def predictors(results: Results) -> Section | None:
    """Show how kinds and groups of models differ, and ways to ask, if the spec has such terms."""
    table, groups = results.table("coefficients"), results.table("group_effects")
    if results.mixed or table is None:
        return None
    data, who = results.responses, results.who
    shown = table[_with(table, {*model_attributes(data), *OWN_KEYS})]
    asked = table[_with(table, {*asking_attributes(data)})].drop(shown.index, errors="ignore")
    of_models = not shown.empty or groups is not None
    if not of_models and asked.empty:
        return None
    blocks: list[Block] = []
    if not shown.empty:
        blocks += _drawn(shown, results, "predictors", f"kinds of {who.many}", f"the {who.many}")
    if groups is not None:
        blocks.append(_groups(groups, results))
    if not asked.empty:
        of = "prefixes, wordings and orders of options"
        blocks += _drawn(asked, results, "asking", "ways to ask", of)
    if len(shown) + len(asked) < len(table):
        rest = _numbers(table, results, "All coefficients of common terms.")
        blocks.append(Fold("All coefficients of common terms, as a table", (rest,)))
    low, high = results.poles.negative.towards, results.poles.positive.towards
    texts = (_READING if of_models else ()) + (() if asked.empty else _OF_ASKING)
    reading = tuple(text.format(low=low, high=high, who=who) for text in texts)
    title = f"Do kinds of {who.many} lean differently?" if of_models else _TITLE
    return Section("predictors", title, reading, tuple(blocks))


def _with(table: pd.DataFrame, names: set[str]) -> pd.Series:
    """Return which terms contain one of some variables."""
    return table["term"].map(lambda term: bool(names & set(re.findall(r"[A-Za-z_]\w*", term))))


def _drawn(
    table: pd.DataFrame, results: Results, name: str, which: str, of: str
) -> tuple[Block, ...]:
    """Draw and list coefficients of attributes `of` something, and say `which` things differ."""
    picture = Picture(
        name=name,
        caption=f"How {which} differ: coefficients with intervals.",
        alt="Forest plot of the coefficients; the numbers are in the table below.",
        figure=plot_coefficients(table.assign(term=table["part"] + ": " + table["term"]), by=None),
        csv=("coefficients",),
    )
    return (picture, _numbers(table, results, f"Coefficients of attributes of {of}."))


def _numbers(table: pd.DataFrame, results: Results, caption: str) -> Block:
    columns = [
        *show.texts("part", "term"),
        *show.estimate("Coefficient", results.level),
        show.chance("p_positive", "Probability above 0"),
    ]
    return grid(table, columns, caption=caption, csv="coefficients")


def _groups(table: pd.DataFrame, results: Results) -> Block:
    columns = [
        *show.texts("part", "group", "varying", "level"),
        *show.estimate("Effect", results.level),
        show.chance("p_positive", "Probability above 0"),
    ]
    caption = f"Effects of groups of {results.who.many}, as deviations from the mean of the groups."
    return grid(table, columns, caption=caption, csv="group_effects")


SECTION = SectionMaker("Kinds of {who.many}", predictors, optional=True)
