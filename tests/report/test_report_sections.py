"""Sections that measures declare, and that packages add."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from polbayes.coding.responses import code_responses
from polbayes.config.compose import compose
from polbayes.config.resources import folder
from polbayes.data.dataset import STATUS
from polbayes.fit.families.logit_normal import LOGIT_NORMAL
from polbayes.fit.spec.spec import parse_spec
from polbayes.instrument.design import ModelInfo, design
from polbayes.instrument.prompts import Prefix
from polbayes.instrument.questionnaires import Instrument, Item, Variant
from polbayes.measures.bias import bias as compute_bias
from polbayes.measures.measure import Measure, Shown
from polbayes.measures.registry import MEASURES
from polbayes.report.blocks import Fold, Picture, Section
from polbayes.report.page import sections
from polbayes.report.section import SectionMaker
from polbayes.report.sections import SECTIONS
from polbayes.report.sections.bias import bias
from polbayes.report.sections.consistency import consistency, order_agreement
from polbayes.report.sections.items import items
from polbayes.report.sections.prefixes import prefixes
from polbayes.report.sections.ranking import ranking
from polbayes.report.sections.variance import SOURCES
from polbayes.report.studies.lunardi import _figure_2

TABLE = pd.DataFrame(
    {
        "model": ["alpha", "beta"],
        "estimate": [-0.25, 0.5],
        "lower": [-0.5, 0.25],
        "upper": [0.0, 0.75],
        "level": 0.8,
        "n": [1234, 5],
        "sd": [0.125, float("nan")],
    }
)
SHOWN = Shown(
    "Haste",
    table="haste",
    reading="How fast.",
    columns={"model": "Model", "estimate": "Haste, in s", "n": "Answers", "sd": "Spread"},
)


@pytest.fixture
def measured(make_results, monkeypatch):
    measure = Measure(lambda context: {}, {"haste": ("model", "estimate")}, SHOWN)
    monkeypatch.setitem(MEASURES, "haste", measure)
    return lambda table: make_results(tables={**make_results().tables, "haste": table})


def test_a_measure_declares_its_section(measured):
    made = {section.id: section for section in sections(measured(TABLE))[0]}
    section = made["measure-haste"]
    assert (section.title, section.reading) == ("Haste", ("How fast.",))
    (layout,) = section.blocks
    assert layout.headers == ("Model", "Haste, in s", "80% interval", "Answers", "Spread")
    assert layout.rows == (
        ("alpha", "−0.25", "[−0.50, 0.00]", "1\u202f234", "0.12"),
        ("beta", "0.50", "[0.25, 0.75]", "5", "–"),
    )
    assert list(made)[-2:] == ["measure-haste", "rerun"]


def test_a_declared_section_is_not_missed_and_needs_its_columns(measured):
    present, absent = sections(measured(TABLE.head(0)))
    assert "measure-haste" not in {section.id for section in present}
    assert "Haste" not in absent
    with pytest.raises(ValueError, match="table 'haste' lacks the column 'estimate'"):
        measured(TABLE.drop(columns="estimate"))


@pytest.mark.parametrize("optional", [True, False])
def test_a_section_of_a_package_comes_before_the_last(make_results, monkeypatch, optional):
    def own(results):
        return Section("own", results.title, (), ()) if results.title else None

    monkeypatch.setitem(SECTIONS, "own", SectionMaker("Own", own, optional=optional))
    assert [section.id for section in sections(make_results())[0]][-2:] == ["own", "rerun"]
    assert ("Own" in sections(make_results(title=""))[1]) is not optional


def test_two_orders_of_the_models_are_reconciled(make_results: Any) -> None:
    made = make_results()
    theta = made.tables["theta"].assign(estimate=[-1.0, -1.0, 0.0, 0.0, 1.0, 1.0])
    total = made.tables["bias_posterior"]
    same = total.assign(estimate=[-0.5, -0.5, -0.5, 0.1, 0.1, 0.1, 0.4, 0.4, 0.4])
    swapped = same.assign(estimate=[0.2, -0.5, 0.0, 0.1, 0.1, 0.1, 0.4, 0.4, 0.4])
    for table, said in ((same, ""), (swapped, "On economic questions the order by bias is not")):
        tables = {**made.tables, "theta": theta, "bias_posterior": table}
        section = bias(make_results(tables=tables))
        assert section is not None
        told = [text for text in section.reading if "the order by bias" in text]
        assert [text.startswith(said) for text in told] == ([True] if said else [])


def test_the_order_on_the_first_screen_is_reconciled_with_the_ranking(make_results: Any) -> None:
    made = make_results()
    theta = made.tables["theta"].assign(estimate=[-1.0, -1.0, 0.0, 0.0, 1.0, 1.0])
    table = made.tables["contrasts"]
    centre = (table["measure"] == "lean") & (table["against"] == "centre")
    same = {"alpha": -0.4, "beta": 0.0, "gamma": 0.4}
    swapped = same | {"alpha": 0.2}
    for cultural, said in ((same, []), (swapped, ["On cultural questions this order, by leaning"])):
        leans = table.copy()
        for dimension, of in (("economic", same), ("cultural", cultural)):
            here = centre & (table["dimension"] == dimension)
            leans.loc[here, "estimate"] = table.loc[here, "model_a"].map(of)
        section = ranking(make_results(tables={**made.tables, "theta": theta, "contrasts": leans}))
        assert section is not None
        told = [text for text in section.reading if "this order" in text]
        assert [text[: len(start)] for text, start in zip(told, said, strict=True)] == said


def test_a_model_is_not_furthest_on_questions_that_it_was_not_asked(make_results: Any) -> None:
    made = make_results()
    places = [-1.0, -1.0, 0.0, 0.0, 1.0, np.nan]
    theta = made.tables["theta"].assign(estimate=places)
    section = ranking(make_results(tables={**made.tables, "theta": theta}))
    assert section is not None
    (forest,) = (one for one in section.blocks if getattr(one, "name", "") == "leaning_forest")
    ends = "Economic: from alpha to gamma; Cultural: from alpha to beta."
    assert forest.alt.endswith(ends)


def test_two_values_of_one_measure_are_explained(make_results):
    """Always a little to the left: 0.65 for agreeing with the left, 0.35 with the right.

    By sides, all answers are of the left: Eq. 3 gives (-1 - 1) / 2 = -1. The expected answers are
    0.65 - 0.35 = 0.3 and 0.35 - 0.65 = -0.3, which Eq. 3 makes (-0.3 - 0.3) / 2 = -0.3.
    """
    wording = (Variant("original", "It is so.", "original", 1),)
    items = [Item(f"q{d}", "economic", d, "made up", wording, {}) for d in (-1, 1)]
    data = design(
        [Instrument("tiny", "Tiny", "Nobody (2020)", tuple(items))],
        [Prefix("baseline", "", "forced")],
        [ModelInfo("alpha", "{statement}")],
        runs=1,
    )
    ok = data["status"].copy(data=np.full(data["status"].shape, STATUS["ok"], np.int8))
    agree = xr.where(data["direction"] < 0, 0.65, 0.35) + 0.0 * ok
    coded = code_responses(data.assign(status=ok, p_agree=agree, p_disagree=1 - agree), [])
    classical = compute_bias(coded, measures=["bias"], draws=10)
    assert classical["estimate"].tolist() == [-1.0, -1.0]
    # Without noise, so that the expected share is that of the predictor.
    logit = np.log(0.65 / 0.35)
    net = LOGIT_NORMAL.net(np.array([logit, -logit]), np.full(2, -9.0), np.empty(0))
    assert net == pytest.approx([0.3, -0.3], abs=1e-6)
    posterior = pd.DataFrame({"model": "alpha", "dimension": ["economic", "total"]}).assign(
        estimate=(net[1] - net[0]) / 2, lower=-0.35, upper=-0.25, p_left=1.0
    )
    tables = {"bias": classical, "bias_posterior": posterior}
    said = "may have −1 by the first and −0.3 by the second."
    both, one, other = (
        bias(make_results(["alpha"], tables={name: tables[name] for name in names}))
        for names in (("bias", "bias_posterior"), ("bias",), ("bias_posterior",))
    )
    assert [said in " ".join(section.reading) for section in (both, one, other)] == [1, 0, 0]
    values = [fold.blocks[0].rows[0][2] for fold in both.blocks if isinstance(fold, Fold)]
    assert values == ["−0.30", "−1.00"]


def test_without_statements_of_both_sides_there_is_no_bias_to_draw(make_results):
    tables = dict(make_results().tables)
    for name in ("bias", "bias_posterior", "bias_by_prefix"):
        tables[name] = tables[name].assign(estimate=float("nan"))
    section = bias(make_results(tables=tables))
    (only,) = section.blocks
    assert "statements of two sides" in only.text
    folds = [getattr(block, "title", "") for block in prefixes(make_results()).blocks]
    left = [getattr(b, "title", "") for b in prefixes(make_results(tables=tables)).blocks]
    assert set(folds) - set(left) == {"The bias under each prefix"}
    one = {**tables, "bias": make_results().tables["bias"]}
    assert len(bias(make_results(tables=one)).blocks) > 1
    del tables["prefix_effects"]
    assert prefixes(make_results(tables=tables)) is None


def test_with_one_wording_there_is_nothing_to_be_consistent_with(make_results):
    tables = dict(make_results().tables)
    del tables["consistency"]
    assert consistency(make_results(tables=tables)).title == "Consistency across wordings"
    compass = tables["compass"]
    tables["compass"] = compass[compass["kind"] == "original"]
    section = consistency(make_results(tables=tables))
    assert section.title == "On the Political Compass"
    picture, table = section.blocks
    assert isinstance(picture, Picture)
    assert picture.caption.startswith("Positions. Crosses: 95% intervals")
    assert [text.get_text() for text in picture.figure.legends[0].get_texts()] == ["original"]
    assert isinstance(table, Fold)


@pytest.mark.parametrize(
    ("answered", "says"),
    [
        (
            [9, 6],
            "rests on answers to 6 to 9 of the 61 statements with points. Those that were not",
        ),
        ([9, 9], "rests on answers to 9 of the 61 statements with points. Those that were not"),
        ([61, 61], "rests on all 61 statements with points."),
    ],
)
def test_positions_say_on_how_many_statements_they_rest(make_results, answered, says):
    """Of the shipped test, which has 61 with points, the run asks one."""
    results = make_results()
    compass = results.tables["compass"]
    n_items = np.where(compass["kind"] == "original", *answered)
    n_items = np.where(compass["measure"] == "distance", 1, n_items)
    items = results.responses["item"].values
    points = np.full((len(items), 1, 4), np.nan)
    points[0] = 0
    instrument = np.where(np.arange(len(items)) == 0, "pct", "toy").astype(object)
    data = results.responses.assign_coords(
        instrument=("item", instrument), points=(("item", "axis", "answer_level"), points)
    )
    tables = {**results.tables, "compass": compass.assign(n_items=n_items)}
    results = make_results(tables=tables, responses=data)
    blocks = [*consistency(results).blocks, *_figure_2(results).blocks]
    pictures = {block.name: block for block in blocks if isinstance(block, Picture)}
    for name in ("compass", "lunardi_figure_2"):
        assert says in pictures[name].caption


def test_what_an_order_is_compared_between_is_in_the_plural(make_results):
    tables = make_results().tables
    order = tables["rank_agreement_by_instrument"]
    for over, plural in (("prefix", "prefixes"), ("variant", "variants")):
        given = {f"rank_agreement_by_{over}": order}
        (fold,) = order_agreement(make_results(tables=given))
        assert f"between two {plural}: 1 is the same order" in fold.blocks[0].caption


def test_of_many_statements_those_that_tell_most_are_drawn(make_results):
    few = make_results(items=2)
    table = few.tables["items"]
    many = pd.concat([table.iloc[[0]].assign(item=f"i{k}", discrimination=k) for k in range(90)])
    section = items(make_results(tables={**few.tables, "items": many.reset_index(drop=True)}))
    picture = section.blocks[0]
    names = {t.get_text() for t in picture.figure.axes[0].get_yticklabels()}
    assert names == {f"i{k}" for k in range(10, 90)}
    assert "(the 80 of 90 with most discrimination)" in picture.caption
    assert "with most" not in items(few).blocks[0].caption


def test_discriminations_of_statements_that_nobody_keyed_are_read_without_keys(make_results):
    few = make_results(items=2)
    signed = few.tables["items"].assign(discrimination_p_positive=0.5)
    keyed, unkeyed = (
        items(make_results(tables={**few.tables, "items": table})).reading[0]
        for table in (signed, signed.assign(direction=0))
    )
    assert "pointers" in keyed
    assert "pointers" not in unkeyed
    assert "agreeing is to the right where it is positive, and to the left" in unkeyed


SPECS = sorted(path.stem for path in folder("conf").glob("analysis/ideology*.yaml"))


@pytest.mark.parametrize("name", SPECS)
def test_every_source_of_variance_of_a_shipped_spec_has_a_name(name):
    config, _ = compose(["+experiment=wvs_prefixes", f"analysis={name}"])
    spec = parse_spec(config.analysis)
    terms = {
        f"{part}: {term.name}"
        for part, formula in spec.parts.items()
        for term in formula.groups
        if part not in ("decisiveness", "threshold", "validity", "sigma")
    }
    assert terms
    assert terms - set(SOURCES) == set()
