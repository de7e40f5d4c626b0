"""The figures and tables of Faulborn et al. (2025)."""

import numpy as np
import pandas as pd

from polbayes.report import show
from polbayes.report.blocks import Column, Section, level_of, overall
from polbayes.report.figures.beside import Beside, plot_beside
from polbayes.report.figures.coder_thresholds import plot_coder_thresholds
from polbayes.report.figures.study_faulborn import (
    BASE,
    INSTRUCT,
    plot_plane,
    plot_prefix_by_instrument,
    plot_prefix_dots,
)
from polbayes.report.numbers import interval
from polbayes.report.results import Results
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
    "Bias is Eq. 3: −1 is always left, +1 always right. Its intervals are the paper's, from "
    "resampling single answers; those from resampling statements, which are wider, are in the "
    "section on bias. The config declares models as instruction-tuned or base.",
)
_MODEL = show.text("model")
_PUBLISHED_INTERVAL = Column(
    "Published interval", lambda row: interval(row["published_lower"], row["published_upper"])
)
_ORDER_OF_KINDS = {"opposite": "political opposites", "paraphrase": "reformulations"}


def faulborn(results: Results) -> Section:
    """Show Figures 1 to 6 and Tables 5 and 6 of Faulborn et al. (2025)."""
    parts = [
        _figure_1(results),
        _figure_2a(results),
        _figure_2b(results),
        _agreement_of_orders(results),
        _figure_3(results),
        _table_5(results),
        _annotators(results),
        _figure_4(results),
        _figure_5(results),
        _figure_6(results),
        _table_6(results),
    ]
    return study_section("faulborn", _READING, parts)


def _tuned(results: Results) -> dict[str, str]:
    """Return whether each model is instruction-tuned, as text; empty if unknown."""
    data = results.responses
    if "instruct" not in data.coords:
        return dict.fromkeys(map(str, data["model"].values), "")
    said = zip(data["model"].values, data["instruct"].values, strict=True)
    return {str(model): INSTRUCT if bool(value) else BASE for model, value in said}


def _known(results: Results, table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(tuned=table["model"].astype(str).map(_tuned(results)))


def _total(table: pd.DataFrame | None) -> pd.DataFrame | None:
    """Return the rows of the bias over both dimensions."""
    rows = overall(table)
    if rows is None or "dimension" not in rows:
        return rows
    return rows[rows["dimension"] == "total"]


def _prefixes(results: Results) -> list[str]:
    return [str(prefix) for prefix in results.responses["prefix"].values]


def _wide(table: pd.DataFrame) -> pd.DataFrame:
    """Put economic and cultural bias side by side."""
    rows = table[table["dimension"].isin(("economic", "cultural"))]
    wide = rows.pivot(
        index=["model", "tuned", "instrument"], columns="dimension", values="estimate"
    ).reindex(rows.set_index(["model", "tuned", "instrument"]).index.unique())
    return wide.reindex(columns=["economic", "cultural"]).reset_index()


def _figure_1(results: Results) -> Part:
    published = published_at("faulborn", "figure_1")
    own = overall(results.table("bias_by_instrument"))
    if own is None:
        own = overall(results.table("bias"))
        names = sorted(set(results.responses["instrument"].values.tolist()))
        own = None if own is None else own.assign(instrument=names[0])
    if own is None:
        return missing_part("Figure 1", "needs a bias measure of this run.")
    own = _known(results, own)
    theirs = published[published["instrument"] != "all"]
    keys = ["model", "tuned", "instrument", "dimension"]
    level = level_of(own)
    return figure_part(
        "faulborn_figure_1",
        "Figure 1: bias on the economic and the cultural dimension, by instrument. Lines join the "
        "two instruments of a model.",
        plot_plane([("This run", _wide(own)), ("Published", _wide(theirs))]),
        beside(own, theirs, keys),
        columns=[
            *(show.text(key, key.capitalize()) for key in keys),
            *beside_columns("Bias", level),
        ],
    )


def _figure_2a(results: Results) -> Part:
    own = _total(results.table("bias_by_prefix"))
    if own is None:
        return missing_part("Figure 2", "needs answers under several prefixes.")
    own = _known(results, own)
    theirs = published_at("faulborn", "figure_2")
    order = list(dict.fromkeys([*_prefixes(results), *theirs["prefix"]]))
    return figure_part(
        "faulborn_figure_2a",
        "Figure 2a: bias under every prefix. The dashed line separates instruction-tuned models "
        "(above) from base models.",
        plot_prefix_dots([("This run", own), ("Published", theirs)], prefixes=order),
        beside(own, theirs, ["model", "tuned", "prefix"]),
        columns=[_MODEL, show.text("prefix"), *beside_columns("Bias", level_of(own))],
    )


def published_mean_shift() -> pd.DataFrame:
    """Compute the mean absolute difference from the baseline of the published prefix values."""
    table = published_at("faulborn", "figure_2")
    wide = table.pivot(index="model", columns="prefix", values="estimate")
    apart = wide.drop(columns="baseline").sub(wide["baseline"], axis="index").abs().mean(axis=1)
    named = table.drop_duplicates("model")[["model", "tuned"]]
    return named.assign(estimate=named["model"].map(apart))


def _figure_2b(results: Results) -> Part:
    shifts = _total_shifts(results)
    rows = None if shifts is None else shifts[shifts["measure"] == "mean_absolute_shift"]
    if rows is None or rows.empty:
        return missing_part(
            "Figure 2b", "needs answers under several prefixes, including the baseline."
        )
    table = beside(_known(results, rows), published_mean_shift(), ["model", "tuned"])
    return figure_part(
        "faulborn_figure_2b",
        "Figure 2b: average absolute difference of the bias from the one without a prefix "
        "(published: computed from the published values of Figure 2a).",
        plot_beside([Beside("Average absolute difference", table)], label="bias", centre=None),
        table,
        columns=[_MODEL, *beside_columns("Average absolute difference", level_of(rows))],
    )


def _total_shifts(results: Results) -> pd.DataFrame | None:
    shifts = results.table("prefix_shift")
    if shifts is None or "dimension" not in shifts:
        return shifts
    return shifts[shifts["dimension"] == "total"]


def _agreement_of_orders(results: Results) -> Part:
    own = results.table("rank_agreement_by_instrument")
    theirs = published_at("faulborn", "kendall")
    table = beside(own, theirs, ["dimension"])
    level = level_of(own)
    columns = [
        show.text("dimension"),
        *beside_columns("Kendall's τ", level),
        *([] if own is None else [show.number("p", "p, this run", 4)]),
    ]
    return table_part(
        "faulborn_kendall",
        "Section 4.1: Kendall's τ of the order of the models by one instrument and by the other. "
        "The interval takes the models as a sample. The published p values (< 0.005) are not "
        "those of these τ for eleven models, which are 0.010 and 0.002.",
        table,
        columns,
    )


def _figure_3(results: Results) -> Part:
    thresholds = results.table("coder_thresholds")
    if thresholds is None:
        return missing_part("Figure 3 and Table 5", f"{_VALIDATION}")
    return figure_part(
        "faulborn_figure_3",
        "Figure 3: macro F1 and share of answers kept, where answers below a confidence are "
        "dropped, for the coders of this run. Published: 0.93 at a confidence of 0.9.",
        plot_coder_thresholds(thresholds),
        thresholds,
    )


_VALIDATION = (
    "are about the coder that reads the answers. task=annotate hands out a sample of this run's "
    "answers, task=validate_coder compares the coders with the labels, and the report, made "
    "again, has them."
)


def _table_5(results: Results) -> Part:
    scores = results.table("coder_scores")
    theirs = published_at("faulborn", "table_5")
    theirs = theirs[theirs["measure"] != "support"]
    if scores is None:
        columns = [*show.texts("label", "measure"), show.number("estimate", "Published")]
        caption = "Table 5: the study's own stance classifier, as published."
        return table_part("faulborn_table_5", caption, theirs, columns, fold=True)
    named = scores[scores["label"].notna() & scores["measure"].isin(theirs["measure"])]
    keys = ["label", "measure"]
    named = named[named["answers"] == "all"] if "answers" in named else named
    table = named.merge(theirs.rename(columns={"estimate": "published"}), on=keys, how="left")
    return table_part(
        "faulborn_table_5",
        "Table 5: precision, recall and F1 of the coders of this run, beside those of the study's "
        "classifier.",
        table,
        [*show.texts("coder", "label", "measure"), *beside_columns("Estimate", level_of(scores))],
    )


def _annotators(results: Results) -> Part:
    theirs = published_at("faulborn", "kappa")
    own = results.table("annotators")
    table = theirs.rename(columns={"measure": "of", "estimate": "published"})
    columns = [show.text("of", "Agreement of"), show.number("published", "Published")]
    if own is not None:
        kappa = own[own["measure"] == "cohen_kappa"]
        first = theirs["measure"].iloc[0]
        rows = kappa.assign(of=first)[["of", "first", "second", "estimate", "lower", "upper"]]
        table = table.merge(rows, on="of", how="left")
        columns += [*show.estimate("Cohen's κ, this run", level_of(own))]
    caption = "Sections 3.1 and 3.4: Cohen's κ of annotators, and the classifier's macro F1."
    return table_part("faulborn_kappa", caption, table, columns)


def _figure_4(results: Results) -> Part:
    own = results.table("bias_difference_by_instrument")
    theirs = published_at("faulborn", "figure_4")
    if own is not None:
        own = _as_published(own[own["dimension"] == "total"] if "dimension" in own else own)
    table = beside(None if own is None else _known(results, own), theirs, ["model", "tuned"])
    return figure_part(
        "faulborn_figure_4",
        "Figure 4: bias by the World Values Survey minus bias by the Political Compass Test, with "
        f"{level_of(own):.0%} intervals over answers. Negative: further left by the survey.",
        plot_beside([Beside("WVS − PCT", table)], label="difference of bias"),
        table,
        columns=[_MODEL, *beside_columns("WVS − PCT", level_of(own)), _PUBLISHED_INTERVAL],
    )


def _as_published(table: pd.DataFrame) -> pd.DataFrame:
    """Reverse a difference that is PCT minus WVS."""
    turned = table["second"].to_numpy() == "wvs"
    sign = np.where(turned, -1.0, 1.0)
    low, high = (table[c].to_numpy(dtype=float) for c in ("lower", "upper"))
    return table.assign(
        first=np.where(turned, table["second"], table["first"]),
        second=np.where(turned, table["first"], table["second"]),
        estimate=sign * table["estimate"].to_numpy(dtype=float),
        lower=np.where(turned, -high, low),
        upper=np.where(turned, -low, high),
    )


def _figure_5(results: Results) -> Part:
    own = overall(results.table("bias_by_prefix_and_instrument"))
    if own is None:
        return missing_part("Figure 5", "needs several prefixes and both instruments.")
    columns: list[Column] = [
        _MODEL,
        *show.texts("instrument", "prefix"),
        *show.estimate("Bias", level_of(own)),
    ]
    return figure_part(
        "faulborn_figure_5",
        "Figure 5: bias by prefix and instrument. Dashed: without a prefix. Lines: "
        f"{level_of(own):.0%} intervals over answers. Published as a drawing only.",
        plot_prefix_by_instrument(own, prefixes=_prefixes(results)),
        own,
        columns=columns,
    )


def _figure_6(results: Results) -> Part:
    shifts = _total_shifts(results)
    theirs = published_at("faulborn", "figure_6")
    drawn = theirs[theirs["measure"] == "as drawn"].drop(columns="measure")
    recomputed = theirs[theirs["measure"] == "recomputed"].rename(
        columns={"estimate": "published_recomputed"}
    )
    own = None
    if shifts is not None:
        own = shifts[
            (shifts["measure"] == "others_minus_this")
            & shifts["prefix"].isin(("likert", "baseline"))
        ]
        own = _known(results, own)
    keys = ["prefix", "model", "tuned"]
    table = beside(own, drawn, keys)
    table = table.merge(recomputed[[*keys, "published_recomputed"]], on=keys, how="left")
    panels = [
        Beside(f"Others minus {name}", table[table["prefix"] == name])
        for name in ("likert", "baseline")
    ]
    level = level_of(shifts)
    return figure_part(
        "faulborn_figure_6",
        "Figure 6: mean bias under all other prefixes minus the bias under the prefix named "
        "(likert: only answers that are a single number). Positive: the prefix is left of the "
        "others. Published: read off the drawing; the table also has what the published values "
        "of Figure 2 give.",
        plot_beside(panels, label="difference of bias"),
        table,
        columns=[
            _MODEL,
            show.text("prefix"),
            *beside_columns("Others minus this", level),
            show.number("published_recomputed", "From published values"),
        ],
    )


def _table_6(results: Results) -> Part:
    own = results.table("reformulation_robustness")
    theirs = published_at("faulborn", "table_6").rename(columns={"measure": "kind"})
    if own is None:
        columns = [
            _MODEL,
            Column("Wordings", lambda row: _ORDER_OF_KINDS[row["kind"]], numeric=False),
            show.number("estimate", "Published", 4),
        ]
        caption = (
            "Table 6: difference of bias between two sets of reformulations, as published. For "
            "one of this run give two sets as measures.reformulation_sets."
        )
        return table_part("faulborn_table_6", caption, theirs, columns)
    table = beside(own, theirs.drop(columns="tuned"), ["model", "kind"])
    return table_part(
        "faulborn_table_6",
        "Table 6: bias under the first set of reformulations minus bias under the second (in the "
        "study GPT-4's and those of Llama 3.1).",
        table,
        [
            _MODEL,
            show.named("kind", "Wordings", _ORDER_OF_KINDS),
            *beside_columns("Difference of bias", level_of(own), digits=3),
        ],
    )
