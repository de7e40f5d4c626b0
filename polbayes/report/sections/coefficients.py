"""The coefficients of a mixed model."""

import pandas as pd

from polbayes.fit.mixed.spec import PART
from polbayes.report import show
from polbayes.report.blocks import Block, Column, Fold, Paragraph, Picture, Section, grid
from polbayes.report.figures.forests import plot_coefficients
from polbayes.report.numbers import p_value
from polbayes.report.results import COLUMNS, Results
from polbayes.report.section import SectionMaker

_DIGITS = 3
_LEFT_OUT = f"analysis.parts.{PART} is without "
_NUMBERS = {"sd", "p_positive", "coverage", "level", "verdict"}


def coefficients(results: Results) -> Section | None:
    """Show the coefficients and the standard deviations of groups of a mixed model."""
    if not results.mixed:
        return None
    table, scales = results.table("coefficients"), results.table("group_sds")
    level = f"{results.level:.0%}"
    reading = (
        "A coefficient says how much the linear predictor η of the equation below changes when a "
        "predictor is higher by 1, the others being the same; a name in brackets is a level, "
        "compared to the level that is not listed. Where the equation has a logistic function, "
        "changes are on the scale of the logarithm of odds; otherwise they are on the scale of "
        "the response.",
        "The standard deviation of a group says how far its levels (items, for one) typically "
        f"lie apart beyond what the predictors explain. Every number comes with its {level} "
        f"interval: given the model and the answers, the true value lies inside with a "
        f"probability of {level}.",
    )
    blocks: list[Block] = []
    if table is not None:
        blocks += _coefficients(table, results)
    classical = results.table("classical")
    if classical is not None and table is not None and classical["tests"].any():
        blocks.append(_beside(classical, table, results))
    if scales is not None:
        blocks.append(_scales(scales, results))
    effects = results.table("group_effects")
    if effects is not None:
        blocks.append(_effects(effects, results))
    return Section("coefficients", "What the answers depend on", reading, tuple(blocks))


def _by(table: pd.DataFrame, name: str) -> str | None:
    """Return the variable with a fit for each level."""
    known = {*COLUMNS[name], *_NUMBERS}
    first = str(table.columns[0])
    return None if first in known else first


def _first(table: pd.DataFrame, name: str) -> list[Column]:
    by = _by(table, name)
    return [] if by is None else [show.text(by, by.capitalize())]


def predictors(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of coefficients that belong to predictors, with a ``name`` of each."""
    by = _by(table, "coefficients")
    known = ~table["term"].isin(["Intercept", "phi"]) & ~table["term"].str.startswith("threshold ")
    rows = table[known]
    of = "" if by is None else " (" + rows[by].astype(str) + ")"
    return rows.assign(name=rows["term"] + of)


def _coefficients(table: pd.DataFrame, results: Results) -> list[Block]:
    drawn, blocks = predictors(table), list[Block]()
    if len(drawn):
        blocks.append(
            Picture(
                name="coefficients",
                caption="Coefficients with intervals; intercepts are in the table only.",
                alt="Forest plot of the coefficients; the numbers are in the table below.",
                figure=plot_coefficients(drawn, by=_by(table, "coefficients")),
            )
        )
    else:
        left_out = [note for note in results.exclusions if note.startswith(_LEFT_OUT)]
        blocks.append(Paragraph(" ".join(["The model has no predictor.", *left_out])))
    columns = [
        *_first(table, "coefficients"),
        show.text("term"),
        *show.estimate("Estimate", results.level, digits=_DIGITS),
        show.number("sd", "Standard deviation", _DIGITS),
        show.chance("p_positive", "Probability above 0"),
    ]
    numbers = grid(table, columns, caption="Coefficients.", csv="coefficients")
    return [*blocks, numbers]


def _beside(classical: pd.DataFrame, table: pd.DataFrame, results: Results) -> Fold:
    """Put the classical fit and the posterior into one table."""
    by = _by(table, "coefficients")
    keys = ["term"] if by is None else [by, "term"]
    both = classical.astype(dict.fromkeys(keys, str)).merge(
        table[[*keys, "estimate", "lower", "upper"]].astype(dict.fromkeys(keys, str)),
        on=keys,
        how="left",
        suffixes=("", "_bayes"),
    )
    both = both.rename(columns={f"{n}_bayes": f"bayes_{n}" for n in ("lower", "upper")})
    both = both.rename(columns={"estimate_bayes": "bayes"})
    level = float(classical["coverage"].iloc[0])
    columns = [
        *([] if by is None else [show.text(by, by.capitalize())]),
        show.text("term"),
        *show.estimate("REML", level, digits=_DIGITS),
        Column("p", lambda row: p_value(row["p"])),
        Column("p, Bonferroni", lambda row: p_value(row["p_bonferroni"])),
        *show.estimate("Posterior mean", results.level, prefix="bayes", digits=_DIGITS),
    ]
    tests = int(classical["tests"].max())
    about = Paragraph(
        "The same model by restricted maximum likelihood, as lme4 fits it, with t tests whose "
        "degrees of freedom are Satterthwaite's. The corrected p value is for "
        f"{tests} tests together: it is below 0.05 in at most 5 of 100 such sets where no "
        "predictor has an effect. It does not say how large an effect is, nor how likely."
    )
    layout = grid(both, columns, caption="The classical fit and the posterior.", csv="classical")
    return Fold("Beside it: the classical fit, with p values", (about, layout))


def _scales(table: pd.DataFrame, results: Results) -> Block:
    columns = [
        *_first(table, "group_sds"),
        *show.texts("group", "varying"),
        *show.estimate("Standard deviation", results.level, digits=_DIGITS),
    ]
    return grid(table, columns, caption="Standard deviations of groups.", csv="group_sds")


def _effects(table: pd.DataFrame, results: Results) -> Fold:
    columns = [
        *_first(table, "group_effects"),
        *show.texts("group", "varying", "level"),
        *show.estimate("Effect", results.level, digits=_DIGITS),
    ]
    layout = grid(
        table,
        columns,
        caption="Effects of the levels of groups.",
        csv="group_effects",
        searchable=len(table) <= 2000,
    )
    return Fold("Effects of the levels of groups, as a table", (layout,))


SECTION = SectionMaker("Coefficients", coefficients, analysis="mixed")
