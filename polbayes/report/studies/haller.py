"""The figures and tables of Haller et al. (2024)."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from polbayes.data.out_of_core import by_model
from polbayes.features import FEATURES
from polbayes.measures.paraphrases import r_plus_by_wording
from polbayes.report import show
from polbayes.report.blocks import Column, Section, level_of
from polbayes.report.figures.beside import Beside, plot_beside
from polbayes.report.figures.features import plot_feature_correlations
from polbayes.report.figures.study_haller import plot_item_bars, plot_item_boxes
from polbayes.report.numbers import ABSENT, number, p_value
from polbayes.report.prose import listed
from polbayes.report.results import Results
from polbayes.report.sections.sensitivity import MEASURES
from polbayes.report.studies.parts import (
    Part,
    beside,
    beside_columns,
    figure_part,
    missing_part,
    study_section,
    table_part,
)
from polbayes.report.studies.published import published_at

_READING = (
    "R⁺ is the share of agreeing in the mass of all usable answers, validity that mass itself. "
    "Stability is over the original wording of a statement and its paraphrases. A flip is a "
    "statement in which more than 5, 10 or 25% of the wordings that there are go against the "
    "majority.",
)
_MODEL = show.text("model")
_FEATURE = Column("Feature", lambda row: str(row["term"]).replace("_", " "), numeric=False)
_SHOWN = ("validity", "range", "sd", "flip_5", "flip_10", "flip_25")
_FLAGS = ("always_agree", "always_disagree")
_NAMES = {**MEASURES, "validity": "validity: mass of usable answers"}
_MEASURE = show.named("measure", "Measure", _NAMES)
_MOST_ITEMS = 200
# The study's coefficients are in percentage points of R+; 38 is no possible effect on a share.
_POINTS = 100.0


def haller(results: Results) -> Section:
    """Show Tables 1 to 4 and 7 and Figures 2 to 6 of Haller et al. (2024)."""
    parts = [
        _table_1(results),
        _figure_2(results),
        _table_2(results),
        _figure_3(results),
        *_table_3(results),
        _table_4(results),
        _table_7(results),
        _figure_6(results),
    ]
    return study_section("haller", _READING, parts)


def _kind(results: Results) -> str:
    """Return which models of the study those of this run resemble: masked or generative ones."""
    masked = str(results.responses.attrs.get("elicitation", "")) == "fill_mask"
    return "MLM" if masked else "GLM"


def _published(results: Results, at: str) -> pd.DataFrame:
    table = published_at("haller", at)
    return table[table["kind"] == _kind(results)].drop(columns="kind")


def _items(results: Results) -> list[str]:
    return [str(item) for item in results.responses["item"].values]


def _own_stability(results: Results) -> pd.DataFrame | None:
    """Append the mass of usable answers to the measures of stability."""
    stability, validity = results.table("stability"), results.table("validity")
    if stability is None or "measure" not in stability:
        return None
    parts = [stability]
    if validity is not None and "measure" in validity:
        mass = validity[validity["measure"] == "mass"]
        parts.insert(0, mass.assign(measure="validity"))
    return pd.concat(parts, ignore_index=True)


def _table_1(results: Results) -> Part:
    own = _own_stability(results)
    if own is None:
        return missing_part("Table 1", "needs answers with probabilities.")
    own = own[own["measure"].isin((*_SHOWN, *_FLAGS))]
    theirs = _published(results, "table_1")
    table = beside(own, theirs, ["model", "measure"])
    panels = [Beside(_NAMES[m], table[table["measure"] == m]) for m in ("validity", "range", "sd")]
    panels += [
        Beside(f"more than {m[5:]}% of wordings flipped", table[table["measure"] == m])
        for m in _SHOWN[3:]
    ]
    spread = [show.number("sd_items", "SD over items")] if "sd_items" in table else []
    return figure_part(
        "haller_table_1",
        "Table 1: validity and stability under paraphrasing, as a figure; the table below also "
        "says which models agree or disagree with every statement. Lines: "
        f"{level_of(own):.0%} intervals from resampling statements.",
        plot_beside(panels, label="", centre=None, limits=(-0.03, 1.03)),
        table,
        columns=[
            _MODEL,
            _MEASURE,
            *beside_columns("Estimate", level_of(own)),
            *spread,
            show.number("published_spread", "Published ±"),
        ],
    )


def _figure_2(results: Results) -> Part:
    table = results.table("distributions")
    if table is None:
        return missing_part("Figures 2, 4 and 5", "need answers with probabilities.")
    items = _items(results)
    if len(items) > _MOST_ITEMS:
        return missing_part(
            "Figures 2, 4 and 5", f"are drawn for at most {_MOST_ITEMS} items, not {len(items)}."
        )
    wide = table.pivot(index=["model", "item"], columns="measure", values="estimate")
    beyond = {}
    for data in by_model(results.responses, ("status", "r_plus")):
        model, (r_plus,) = str(data["model"].item()), r_plus_by_wording(data)[0]
        for i, item in enumerate(items):
            if (model, item) in wide.index:
                row, values = wide.loc[(model, item)], r_plus[i]
                out = (values < row["whisker_low"]) | (values > row["whisker_high"])
                beyond[model, item] = values[out]
    return figure_part(
        "haller_figure_2",
        "Figures 2, 4 and 5: R⁺ over the wordings of every item. Boxes: quartiles; whiskers: to "
        "the last value within 1.5 interquartile ranges; dots: beyond. Published as drawings only.",
        plot_item_boxes(table.astype({"model": str, "item": str}), items=items, beyond=beyond),
        table,
    )


def _table_2(results: Results) -> Part:
    pairs = results.table("divergent_pairs")
    if pairs is None or "statement_low" not in pairs:
        return missing_part("Table 2", "needs answers with probabilities to several wordings.")
    first = pairs.drop_duplicates("model")
    return table_part(
        "haller_table_2",
        "Table 2: of every model, the two wordings of one meaning that it answers most "
        "differently. All items are in divergent_pairs.csv.",
        first,
        [
            _MODEL,
            show.text("statement_low", "Least agreed with"),
            show.number("r_plus_low", "R⁺"),
            show.text("statement_high", "Most agreed with"),
            show.number("r_plus_high", "R⁺"),
        ],
    )


def _figure_3(results: Results) -> Part:
    table = results.table("item_instability")
    if table is None or "se" not in table:
        return missing_part("Figure 3", "needs answers with probabilities.")
    items = _items(results)[:_MOST_ITEMS]
    return figure_part(
        "haller_figure_3",
        "Figure 3: standard deviation of R⁺ over the wordings of an item, from 0 (the model's most "
        "stable item) to 1 (its least stable), averaged over the models of this run; lines: "
        "standard errors. Published as a drawing only, over all eighteen models.",
        plot_item_bars(table.astype({"item": str}), items=items),
        table,
        columns=[
            show.text("item"),
            *show.estimate("Normalised SD", level_of(table)),
            show.number("se", "Standard error"),
            show.number("n_models", "Models", 0),
        ],
    )


def _table_3(results: Results) -> list[Part]:
    theirs = _published(results, "table_3").rename(columns={"measure": "term"})
    own = results.table("classical")
    own = None if own is None else own[own["term"] != "Intercept"]
    if own is None or own.empty or "model" not in own:
        columns = [
            _MODEL,
            _FEATURE,
            show.number("estimate", "Published"),
            show.number("spread", "±"),
            show.text("significant"),
        ]
        caption = "Table 3: effects of text features, as published. For this run: "
        caption += "analysis=text_features sampler=exact."
        return [table_part("haller_table_3", caption, theirs, columns, fold=True)]
    numbers = ["estimate", "lower", "upper", "se"]
    own = own.assign(**{n: own[n] * _POINTS for n in numbers if n in own})
    table = beside(own, theirs, ["model", "term"])
    posterior = results.table("coefficients")
    if posterior is not None and "model" in posterior:
        table = table.merge(_bayes(posterior), on=["model", "term"], how="left")
    known = theirs[["model", "term", "significant"]]
    table = table.merge(known, on=["model", "term"], how="left")
    columns = [
        _MODEL,
        _FEATURE,
        *show.estimate("REML, this run", float(own["coverage"].iloc[0])),
        Column("p, Bonferroni", lambda row: p_value(row["p_bonferroni"])),
    ]
    if "bayes" in table:
        columns += show.estimate("Posterior mean", results.level, prefix="bayes")
    columns.append(Column("Published", _published_effect))
    caption = (
        "Table 3: effects of text features on R⁺, in percentage points, for each model by itself: "
        "by restricted maximum likelihood with Bonferroni's correction, and from the posterior. "
        "The published numbers (with ± as printed, † for not significant) are taken to be in "
        "percentage points; the paper does not say."
    )
    absent = [feature.replace("_", " ") for feature in FEATURES if feature not in set(own["term"])]
    if absent:
        caption += f" Not in the model of this run: {listed(absent)}."
    return [table_part("haller_table_3", caption, table, columns)]


def _bayes(posterior: pd.DataFrame) -> pd.DataFrame:
    names = {"estimate": "bayes", "lower": "bayes_lower", "upper": "bayes_upper"}
    table = posterior[["model", "term", *names]].astype({"model": str}).rename(columns=names)
    return table.assign(**{name: table[name] * _POINTS for name in names.values()})


def _published_effect(row: Mapping[str, Any]) -> str:
    """Format an effect as the paper prints it."""
    effect = number(row["published"])
    if effect == ABSENT:
        return ABSENT
    dagger = " †" if row["significant"] == "no" else ""
    return f"{effect} ± {number(row['published_spread'])}{dagger}"


def _table_4(results: Results) -> Part:
    theirs = published_at("haller", "table_4").drop(columns="measure")
    own = results.table("match_proportion")
    if own is None:
        return table_part(
            "haller_table_4",
            "Table 4: share of paraphrases with the meaning of the statement, as published. For "
            "paraphrases of one's own, task=paraphrase with paraphrase.human.per_item=15 hands "
            "out sheets; what comes back is shown here where its wordings are asked.",
            theirs,
            [show.text("item"), show.number("estimate", "Published")],
            fold=True,
        )
    table = beside(own, theirs, ["item"])
    return table_part(
        "haller_table_4",
        "Table 4: share of checked paraphrases with the meaning of the statement.",
        table,
        [
            *([show.text("set")] if "set" in table else []),
            show.text("item"),
            *beside_columns("Match proportion", level_of(own)),
        ],
        fold=True,
    )


def _table_7(results: Results) -> Part:
    own = results.table("paraphrase_sets")
    theirs = _published(results, "table_7")
    if own is None:
        columns = [
            _MODEL,
            show.text("set"),
            _MEASURE,
            show.number("estimate", "Published"),
            show.number("spread", "±"),
        ]
        caption = (
            "Table 7: two sets of paraphrases, as published. For two sets of this run's wordings "
            "give measures.paraphrase_sets."
        )
        return table_part("haller_table_7", caption, theirs, columns, fold=True)
    own = own.assign(measure=own["measure"].replace("mass", "validity"))
    own = own[own["measure"].isin(_SHOWN)]
    table = beside(own, theirs, ["model", "set", "measure"])
    columns = [
        _MODEL,
        show.text("set"),
        _MEASURE,
        *beside_columns("Estimate", level_of(own)),
        show.number("published_spread", "Published ±"),
    ]
    caption = "Table 7: validity and stability with two sets of paraphrases, and their difference."
    return table_part("haller_table_7", caption, table, columns, fold=len(table) > 60)


def _figure_6(results: Results) -> Part:
    table = results.table("feature_correlations")
    if table is None:
        return missing_part("Figure 6", "needs text features of the wordings; see features.names.")
    level = level_of(table)
    return figure_part(
        "haller_figure_6",
        "Figure 6: correlations of the text features over the wordings asked; bold where the "
        f"{level:.0%} interval from resampling statements leaves out 0. Published as a drawing.",
        plot_feature_correlations(table),
        table,
        columns=[
            show.text("first", "Feature"),
            show.text("second", "Feature"),
            *show.estimate("Correlation", level),
        ],
    )
