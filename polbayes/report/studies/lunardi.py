"""The figures of Lunardi et al. (2024)."""

from polbayes.report import show
from polbayes.report.blocks import Column, Section, level_of
from polbayes.report.figures.study_lunardi import (
    COLUMNS,
    plot_compass_rows,
    plot_consistency_levels,
)
from polbayes.report.results import Results
from polbayes.report.sections.ablation import ablation
from polbayes.report.sections.consistency import KINDS, MEASURES, crosses_in_words, wide_positions
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
    "Polar consistency: the answer to a negation or a political opposite should be on the other "
    "side and, on four levels, as strong as the answer to the original. Paraphrastic consistency: "
    "the answer to a paraphrase should be the same. Numbers that the paper prints are shares of "
    "248 pairs, 62 items times a negation and three opposites, so these are taken together here; "
    "the section on consistency has each kind by itself.",
)
_MODEL = show.text("model")
_KIND = show.named("kind", "Wordings", KINDS)
_MEASURE = show.named("measure", "Measure", MEASURES)


def lunardi(results: Results) -> Section:
    """Show Figures 1 and 2 and the ablations of Lunardi et al. (2024)."""
    parts = [_figure_1(results), _claims(), _figure_2(results), *_ablations(results)]
    return study_section("lunardi", _READING, parts)


def _figure_1(results: Results) -> Part:
    own = results.table("consistency")
    if own is None or not own["kind"].isin(COLUMNS).any():
        return missing_part("Figure 1", "needs original and other wordings.")
    own = own[own["kind"].isin(COLUMNS)]
    theirs = published_at("lunardi", "figure_1")
    named = theirs[theirs["model"].notna()]
    table = beside(own, named, ["model", "kind", "measure"])
    return figure_part(
        "lunardi_figure_1",
        "Figure 1: polar (left; negations and opposites) and paraphrastic (right) consistency on "
        f"four levels (above) and on two sides (below). Lines: {level_of(own):.0%} intervals of "
        "the share as expected, from resampling statements. Published for the one model that the "
        "text gives a number for.",
        plot_consistency_levels(own, named),
        table,
        columns=[
            _MODEL,
            _KIND,
            _MEASURE,
            *beside_columns("Share", level_of(own)),
            show.count("n", "Pairs"),
            show.count("n_excluded", "Pairs left out"),
        ],
    )


def _claims() -> Part:
    theirs = published_at("lunardi", "figure_1")
    return table_part(
        "lunardi_claims",
        "What the text says of Figure 1: consistency, and of which model.",
        theirs,
        [_MODEL, _KIND, _MEASURE, show.number("estimate", "Published", 4), show.text("what", "Of")],
    )


def _figure_2(results: Results) -> Part:
    own = results.table("compass")
    if own is None:
        return missing_part("Figure 2", "needs items with points on the Political Compass.")
    positions = wide_positions(own)
    level, crosses = level_of(own), crosses_in_words(own, results)
    shown = own[own["measure"].isin(("economic", "social"))]
    return figure_part(
        "lunardi_figure_2",
        "Figure 2: positions by the answers to the original wordings, to their negations and by "
        "the opposite answers (first row), and to paraphrases (second row). Published as a "
        f"drawing only. {crosses}",
        plot_compass_rows(positions),
        shown,
        columns=[
            _MODEL,
            show.text("answers", "Answers to"),
            show.text("measure", "Axis"),
            *show.estimate("Points", level),
        ],
    )


def _ablations(results: Results) -> list[Part]:
    theirs = published_at("lunardi", "ablation")
    published = table_part(
        "lunardi_ablations",
        "Section 4.3: polar consistency under other decodings and coders, as published. Of three "
        "ranges the mean is as printed, though one lies below the lowest value.",
        theirs,
        [
            show.text("what", "Setting"),
            Column("Model", lambda row: _said(row["model"]), numeric=False),
            _MEASURE,
            show.number("estimate", "Published", 4),
        ],
    )
    table = results.table("ablation")
    if table is None:
        how = "are made by task=ablate in this run's folder; the report, made again, has them."
        return [missing_part("The ablations of section 4.3", how), published]
    section = ablation(table, results.table("ablation_differences"))
    return [Part(section.blocks), published]


def _said(model: object) -> str:
    return str(model) if isinstance(model, str) else "several"
