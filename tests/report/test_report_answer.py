"""The first screen, and that no verdict of a report contradicts another."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from polbayes.coding.table_items import OF_TABLE
from polbayes.config.languages import load_language
from polbayes.fit.posterior.contrasts import contrasts
from polbayes.fit.posterior.verdicts import Verdict
from polbayes.fit.sampling.diagnose import _single
from polbayes.instrument.questionnaires import load_instrument
from polbayes.report import write_report
from polbayes.report.answer import _of_prefixes, answer, leanings, lines, rests_on
from polbayes.report.blocks import Block, Bullets, Fold, Paragraph, Picture
from polbayes.report.sections.contrasts import contrast_blocks
from polbayes.report.sections.headline import headline
from polbayes.report.sections.precision import FEW_MODELS
from polbayes.report.sections.validity import validity
from polbayes.report.terminal import answer_lines, as_values
from tests.report.test_report_conclusions import grids, texts

MODELS = ["alpha", "beta", "gamma", "delta"]
SAID = {
    "left": "leans left",
    "right": "leans right",
    "equal": "stands at the centre in practice",
    "open": "open: these data do not tell",
}
SHORT = {"left": "left", "right": "right", "equal": "centre in practice", "open": "open"}


def posterior(seed: int) -> xr.Dataset:
    """Leans that are sure or not, near the centre or far from it."""
    rng = np.random.default_rng(seed)
    middle = rng.uniform(-0.5, 0.5, (len(MODELS), 2))
    width = rng.choice([0.02, 0.1, 0.3], (len(MODELS), 2))
    draws = np.clip(rng.normal(middle, width, (2, 200, len(MODELS), 2)), -1, 1)
    coords = {"model": MODELS, "dimension": ["economic", "cultural"]}
    lean = xr.DataArray(draws, dims=("chain", "draw", "model", "dimension"), coords=coords)
    total = lean.mean("dimension")
    return xr.Dataset({"lean": lean, "theta": 3 * lean, "bias": lean, "bias_total": total})


@pytest.fixture(params=range(4))
def results(request: Any, make_results: Any) -> Any:
    made = make_results(MODELS)
    table = contrasts(posterior(request.param), level=0.9, rope=0.1)
    return make_results(MODELS, tables={**made.tables, "contrasts": table})


def from_centre(results: Any) -> dict[tuple[str, str], str]:
    table = results.tables["contrasts"]
    rows = table[(table["measure"] == "lean") & (table["against"] == "centre")]
    return {(r["model_a"], r["dimension"]): r["decision"] for r in rows.to_dict("records")}


def folded(blocks: tuple[Block, ...]) -> str:
    return texts([b for block in blocks if isinstance(block, Fold) for b in block.blocks])


def test_sentences_figure_tables_and_file_agree(results: Any, tmp_path: Path) -> None:
    decided = from_centre(results)
    blocks = answer(results)
    each = dict(line.split("  ", 1) for line in folded(blocks).splitlines())
    (picture,) = (b for b in blocks if isinstance(b, Picture))
    drawn = {}
    for axes, dimension in zip(picture.figure.axes, ("economic", "cultural"), strict=True):
        names = [label.get_text() for label in axes.get_yticklabels()]
        written = [t.get_text() for t in axes.texts if "→" not in t.get_text()]
        drawn |= {(n, dimension): text for n, text in zip(names, written, strict=True)}
    section = headline(results)
    assert section is not None
    shown = {row[:2]: row[-1] for grid in grids(section.blocks) for row in grid.rows}
    centre = {row[:2]: row[-1] for row in grids(contrast_blocks(results))[1].rows}
    first = texts(blocks)
    for (model, dimension), decision in decided.items():
        assert centre[model, dimension] == SHORT[decision]
        if dimension == "total":
            continue
        assert f"on {dimension} questions {SAID[decision]} (" in each[model]
        assert drawn[model, dimension] == SHORT[decision]
        assert shown[model, dimension] == SHORT[decision]
        assert f"{model}, {dimension.capitalize()}: {SHORT[decision]}" in picture.alt
        (sentence,) = re.findall(rf"On {dimension} questions (.*)\.$", first, re.MULTILINE)
        (part,) = (p for p in sentence.split("; ") if re.search(rf"\b{model}\b", p))
        tells = {"left": "left", "right": "right", "equal": "in practice", "open": "do not tell"}
        assert tells[decision] in part
    write_report(results, tmp_path / "report")
    saved = pd.read_csv(tmp_path / "report" / "tables" / "contrasts.csv")
    assert saved["decision"].fillna("").tolist() == (
        results.tables["contrasts"]["decision"].fillna("").tolist()
    )


def test_pairs_are_said_as_they_are_in_the_file(results: Any) -> None:
    table = results.tables["contrasts"]
    pairs = table[(table["measure"] == "lean") & (table["against"] == "model")]
    words = {"left": "left", "right": "right", "equal": "equal in practice", "open": "open"}
    shown = {row[:3]: row[-1] for row in grids(contrast_blocks(results))[0].rows}
    for row in pairs.to_dict("records"):
        assert shown[row["model_a"], row["model_b"], row["dimension"]] == words[row["decision"]]


def test_the_terminal_says_what_the_page_says(results: Any) -> None:
    first = [b.text for b in answer(results) if isinstance(b, Paragraph)]
    assert lines(results)[: len(first)] == first


def _entries(results: Any) -> dict[str, str]:
    return {k: v for b in answer(results) if isinstance(b, Bullets) for k, v in b.entries}


def test_the_answer_says_on_what_it_rests_and_whether_to_use_it(make_results: Any) -> None:
    said = _entries(make_results())
    assert said["It rests on "] == (
        "6 statements of toy, 2 wordings each, 3 ways of putting the question, 2 times each: "
        "216 answers of 3 models."
    )
    assert "standard error of" not in said["It would change with "]
    assert "its draws passed all checks" in said["Can it be used? "]
    assert "its dependability is 0.70" not in said["Can it be used? "]  # no more was wanted
    bare = _entries(make_results(["only"], items=1, prefixes=1))
    assert "only one prefix" in bare["Can it be used? "]


@pytest.mark.parametrize("measure", ["lean", "theta"])
def test_the_answer_hangs_on_priors_if_leans_do(make_results: Any, measure: str) -> None:
    made = make_results()
    prior = made.tables["prior_sensitivity"].assign(diagnosis="")
    prior.loc[(prior["measure"] == measure) & (prior["model"] == "beta"), "diagnosis"] = "conflict"
    said = _entries(make_results(tables={**made.tables, "prior_sensitivity": prior}))
    changes = said["It would change with "]
    assert ("other priors, for beta." in changes) == (measure == "lean")
    assert ("other priors" in changes) == (measure == "lean")


def test_low_dependability_is_said_with_what_was_wanted(make_results: Any) -> None:
    made = make_results()
    tables = {**made.tables, "d_study": made.tables["d_study"].assign(wanted=0.9)}
    made = make_results(tables=tables)
    for said in (_entries(made)["Can it be used? "], lines(made)[-1]):
        assert "Another study of this size may place the models otherwise" in said
        assert "its dependability is 0.70" in said
        assert "where 0.90 is wanted" in said


@pytest.mark.parametrize("count", [3, FEW_MODELS - 1, FEW_MODELS])
def test_few_models_are_said_on_page_and_terminal(make_results: Any, count: int) -> None:
    made = make_results([f"model-{k}" for k in range(count)])
    own = made.tables["reliability"].assign(n_models=count)
    made = replace(made, tables={**made.tables, "reliability": own})
    said = f"the differences between its few models ({count})."
    for text in (_entries(made)["Can it be used? "], lines(made)[-1]):
        assert (said in text) == (count < FEW_MODELS)
        assert ("few models" in text) == (count < FEW_MODELS)
    assert any(said in text for text in as_values(made)["cautions"]) == (count < FEW_MODELS)


def test_what_the_model_does_not_reproduce_is_said_at_once(make_results: Any) -> None:
    made = make_results()
    assert "does not reproduce" not in lines(made)[-1]
    coverage = made.tables["predictive_coverage"].copy()
    coverage.loc[coverage["statistic"] == "agreement_by_prefix", "inside"] = 0.5
    predictive = made.tables["predictive"].copy()
    one, other, *_ = predictive.index[predictive["statistic"] == "agreement_by_prefix"]
    predictive.loc[one, ["observed", "lower", "upper"]] = [0.30, 0.34, 0.40]
    predictive.loc[other, ["observed", "lower", "upper"]] = [0.57, 0.34, 0.50]
    tables = {**made.tables, "predictive": predictive, "predictive_coverage": coverage}
    made = make_results(tables=tables)
    for said in (_entries(made)["Can it be used? "], lines(made)[-1]):
        assert (
            "does not reproduce agreement by model and prefix (50.0% inside, none off by more "
            "than 7.0 points): too many of these lie outside the 90% intervals" in said
        )


def test_little_probability_on_the_options_is_said_on_page_and_terminal(make_results: Any) -> None:
    table = make_results().tables["validity"].assign(share_usable=1.0, mass=0.9)
    table.loc[table.index[0], "mass"] = 0.008
    tables = {**make_results().tables, "validity": table}
    made = make_results(tables=tables)
    said = "options, and the rest is in no number: alpha (0.8%)."
    for text in (_entries(made)["Can it be used? "], lines(made)[-1]):
        assert said in text
        assert "All answers could be used" not in text
    assert "in no number" not in lines(make_results())[-1]


def test_single_prefixes_with_little_probability_on_the_options_are_named(
    make_results: Any,
) -> None:
    made = make_results()
    whole = made.tables["validity"]
    models = whole["model"].tolist()
    wide = [
        {"model": m, "measure": name, "estimate": value, "count": 36, "n": 36, "level": 0.9}
        | {"lower": value, "upper": value}
        for m, mass in zip(models, (0.7, 0.7, 0.3), strict=True)
        for name, value in (("agree", 1.0), ("answered", 1.0), ("usable", 1.0), ("mass", mass))
    ]
    by_prefix = [
        {"model": m, "prefix": prefix, "measure": name, "estimate": value}
        for m in models
        for prefix, mass in (("baseline", 0.9), ("likert", 0.008), ("name", 0.5))
        for name, value in (("usable", 0.1), ("mass", mass if m != "beta" else 0.9))
    ]
    tables = {**made.tables, "validity": pd.DataFrame(wide)}
    tables["validity_by_prefix"] = pd.DataFrame(by_prefix)
    results = make_results(tables=tables)
    said = "with some prefixes, and the rest is in no number: likert (alpha 0.8%)."
    for text in (_entries(results)["Can it be used? "], lines(results)[-1]):
        assert said in text
        assert "All answers could be used" not in text
    # Where the outcomes are shown, which look well, they are marked.
    section = validity(results)
    assert section is not None
    (picture,) = [block for block in section.blocks if isinstance(block, Picture)]
    assert "† Less than half of the probability was on the options" in picture.caption
    assert "likert (alpha 0.8%)" in picture.caption
    beside = [t.get_text() for t in picture.figure.axes[0].texts if "mass" in t.get_text()]
    assert [text.endswith(" †") for text in beside] == [True, False, False]
    good = [row | {"estimate": 0.9} for row in by_prefix]
    results = make_results(tables={**tables, "validity_by_prefix": pd.DataFrame(good)})
    assert "with some prefixes" not in lines(results)[-1]
    section = validity(results)
    assert section is not None
    assert "†" not in "".join(b.caption for b in section.blocks if isinstance(b, Picture))


def _mixed(make_results: Any, **changes: Any) -> Any:
    """Results of a mixed model with a fit for each of two models."""
    rows = [
        ("left", "Intercept", 0.5, 0.4, 0.6),
        ("left", "keying", -0.3, -0.4, -0.2),
        ("left", "kind[opposite]", 0.01, -0.1, 0.12),
        ("right", "Intercept", 0.5, 0.4, 0.6),
        ("right", "keying", 0.3, 0.2, 0.4),
        ("right", "kind[opposite]", 0.02, -0.1, 0.14),
    ]
    table = pd.DataFrame(rows, columns=["model", "term", "estimate", "lower", "upper"])
    data = changes.pop("responses", make_results(["left", "right"], prefixes=1).responses)
    return make_results(responses=data, tables={"coefficients": table}, **changes)


def test_a_mixed_model_has_its_few_lines_too(make_results: Any) -> None:
    results = _mixed(make_results)
    said, whether = lines(results)
    assert said == (
        "The 90% intervals of the coefficients are above 0 for keying (right); below 0 for "
        "keying (left); around 0 for the other 2."
    )
    assert whether.startswith("Can it be used? Yes, as far as the sampler goes")
    assert "There was only one prefix" in whether
    first = [b.text for b in answer(results) if isinstance(b, Paragraph)]
    assert first == [said]
    assert whether == f"Can it be used? {_entries(results)['Can it be used? ']}"
    shown = answer_lines(results)
    assert shown[0] == "Coefficients, with 90% intervals"
    assert shown[1] == "keying (left)           −0.300 [−0.400, −0.200]"
    assert len(shown) == 1 + 4 + 1 + 2
    assert shown[-2:] == [said, whether]
    values = as_values(results)
    assert values["positions"] == []
    assert values["coefficients"][0] == {
        "term": "keying (left)",
        "estimate": -0.3,
        "lower": -0.4,
        "upper": -0.2,
    }


def test_warnings_of_a_mixed_model_are_in_the_terminal(make_results: Any) -> None:
    plain = make_results(["left", "right"]).responses
    where = np.array(["embedded:left", ""], dtype=object)
    results = _mixed(make_results, responses=plain.assign_coords(checkpoint=("model", where)))
    assert "No, not for left: these are embedded models" in lines(results)[-1]
    assert "No, not for left" in as_values(results)["usable"]
    bad = _mixed(make_results, verdict="bad")
    assert lines(bad) == ["No: the draws of the sampler failed the checks."]
    assert as_values(bad)["coefficients"] == []


def test_bad_draws_lead_to_no_leaning(make_results: Any) -> None:
    blocks = answer(make_results(verdict="bad"))
    assert not [b for b in blocks if isinstance(b, Picture | Fold | Paragraph)]
    assert "No: the draws of the sampler failed the checks." in texts(blocks)
    assert lines(make_results(verdict="bad")) == ["No: the draws of the sampler failed the checks."]


def test_embedded_models_asked_what_they_never_saw_give_no_leaning(make_results: Any) -> None:
    made = make_results()
    where = np.array(["embedded:left", "", "hub/model"], dtype=object)
    data = made.responses.assign_coords(checkpoint=("model", where))
    said = lines(make_results(responses=data))[-1]
    assert "No, not for alpha: these are embedded models" in said
    assert "Of the 12 wordings asked, 12 are none of these" in said
    assert "mean nothing" in texts(answer(make_results(responses=data)))
    shipped = load_instrument("wvs").items[0].variants[0].text
    texts_of = data["statement"].copy(data=np.full(data["statement"].shape, shipped, dtype=object))
    known = data.assign_coords(statement=texts_of)
    assert "mean nothing" not in texts(answer(make_results(responses=known)))
    # A wording of one's own of a shipped item is none of these, nor is a translation.
    own = texts_of.copy()
    own[0, 0] = "Rents should be lower."
    mixed = make_results(responses=data.assign_coords(statement=own))
    assert "Of the 12 wordings asked, 1 is none of these" in lines(mixed)[-1]
    german = load_language("de").sections["wordings"]["wvs"]["wvs-01"]["original"]
    own[0, 0] = german
    translated = make_results(responses=data.assign_coords(statement=own))
    assert "1 is none of these" in lines(translated)[-1]
    assert "mean nothing" not in texts(answer(made))


def test_one_of_a_kind_is_counted_in_the_singular(make_results: Any) -> None:
    facts = make_results(["only"], items=1, prefixes=1).facts
    assert facts["prefix"] == facts["model"] == facts["item"] == "1"
    assert make_results().facts["prefixes"] == "3"


def test_many_models_are_counted(make_results: Any) -> None:
    names = [f"model-{k}" for k in range(60)]
    made = make_results(names)
    (first, *_) = [b.text for b in answer(made) if isinstance(b, Paragraph)]
    assert first == (
        "On economic questions these data do not tell where any of the 60 models leans."
    )
    assert rests_on(made).endswith("of 60 models.")
    assert leanings([], made) == []


@pytest.mark.parametrize(("least", "says"), [(0.97, "97% or more each"), (0.995, "> 99% each")])
def test_many_models_that_lean_alike_are_counted(
    make_results: Any, least: float, says: str
) -> None:
    models = [f"model-{k}" for k in range(7)]
    made = make_results(models)
    rows = [("economic", "left")] * 7 + [("cultural", "open")] * 7
    chances = dict.fromkeys(models, 0.999) | {"model-3": least}
    found = [
        (model, on, Verdict(decision, -0.5, -0.7, -0.3, 0.1, {"left": chances[model]}))
        for model, (on, decision) in zip(models * 2, rows, strict=True)
    ]
    assert [text.replace("\u00a0", " ") for text in leanings(found, made)] == [
        f"On economic questions all 7 models lean left ({says}).",
        "On cultural questions these data do not tell where any of the 7 models leans.",
    ]
    six = [row for row in found if row[0] != "model-6"]
    assert "model-5 (> 99%) lean left" in leanings(six, made)[0].replace("\u00a0", " ")


def test_statements_of_a_table_are_named_by_its_file(make_results: Any) -> None:
    data = make_results().responses
    own = np.full(data.sizes["item"], OF_TABLE)
    data = data.assign_coords(instrument=("item", own)).assign_attrs(imported_from="in/votes.csv")
    assert rests_on(make_results(responses=data)).startswith("6 statements of votes.csv, ")
    del data.attrs["imported_from"]  # of compared runs
    assert rests_on(make_results(responses=data)).startswith("6 statements, 2 wordings each, ")


def test_only_coders_that_may_err_are_said_to_have_read(make_results: Any) -> None:
    made = make_results()
    data = made.responses
    numbers = {name: k for k, name in enumerate(("none", "declared_option", "nli"))}
    about = {"flag_values": list(numbers.values()), "flag_meanings": " ".join(numbers)}

    def by(name: str) -> Any:
        coder = xr.full_like(data["status"], numbers[name]).assign_attrs(about)
        text = coder.astype(str)
        return make_results(responses=data.assign(coder=coder, completion=text))

    exact, read = by("declared_option"), by("nli")
    assert rests_on(exact).endswith("of 3 models.")
    assert "Errors in reading" not in texts(answer(exact))
    assert rests_on(read).endswith("of 3 models, read by nli.")
    assert "Errors in reading" in texts(answer(read))


def test_that_all_answers_could_be_used_is_said_without_a_number(make_results: Any) -> None:
    made = make_results()
    table = made.tables["validity"].assign(share_usable=1.0)
    said = texts(answer(replace(made, tables={**made.tables, "validity": table})))
    assert "All answers could be used." in said
    table = table.assign(share_usable=[0.95, *[1.0] * (len(table) - 1)])
    said = texts(answer(replace(made, tables={**made.tables, "validity": table})))
    assert "At least 95.0% of each model's answers could be used." in said


def test_whose_answers_could_not_be_used_is_said_with_the_share_that_could(
    make_results: Any,
) -> None:
    made = make_results()
    table = made.tables["validity"]

    def said(*shares: float) -> str:
        given = table.assign(share_usable=list(shares))
        results = replace(made, tables={**made.tables, "validity": given})
        return str(_entries(results)["Can it be used? "])

    assert "No answer of gamma could be used, so that nothing is said of where it leans." in said(
        1.0, 1.0, 0.0
    )
    of_two = said(0.0, 1.0, 0.0)
    assert "No answer of alpha and gamma could be used, so" in of_two
    assert "said of where they lean." in of_two
    assert "Many answers" not in of_two
    some = said(0.25, 0.6, 1.0)
    assert (
        "Many answers could not be used: only 25.0% of alpha's and 60.0% of beta's could." in some
    )
    assert "No answer" not in some


@pytest.fixture
def drawn(make_results: Any, filled: dict[int, bool]) -> Any:
    """The names in the figure of 120 models from left to right, some of them a reference."""

    def made(reference: list[str]) -> tuple[list[str], str]:
        names = [f"model-{k:03}" for k in range(120)]
        plain = make_results(names)
        table = contrasts_of(names)
        tables = {**plain.tables, "contrasts": table}
        if reference:
            known = {name: name in reference for name in names}
            place = pd.DataFrame({"model": names, "dimension": "economic"})
            place = place.assign(estimate=0.0, lower=0.0, upper=0.0)
            tables["reference_scale"] = place.assign(reference=place["model"].map(known))
        blocks = answer(make_results(names, tables=tables))
        (picture,) = [b for b in blocks if isinstance(b, Picture)]
        axes = picture.figure.axes[0]
        filled.update(
            (int(y), line.get_markerfacecolor() != "white")
            for line in axes.get_lines()
            if line.get_linestyle() == "None"
            for y in line.get_ydata()
        )
        return [label.get_text() for label in axes.get_yticklabels()], picture.caption

    return made


@pytest.fixture
def filled() -> dict[int, bool]:
    """Whether the marker of a row of the figure is filled."""
    return {}


def contrasts_of(names: list[str]) -> pd.DataFrame:
    about = {"measure": "lean", "dimension": "economic", "against": "centre", "model_b": None}
    chances = {"p_left": 0.9, "p_left_of_rope": 0.5, "p_inside": 0.5, "p_right_of_rope": 0.0}
    table = pd.DataFrame({"model_a": names, "estimate": np.linspace(-0.9, 0.9, len(names))})
    table = table.assign(**about, **chances, sd=0.1, rope=0.1, decision="open", level=0.9)
    return table.assign(lower=table["estimate"] - 0.1, upper=table["estimate"] + 0.1)


def test_of_very_many_models_those_at_either_end_are_drawn(
    drawn: Any, filled: dict[int, bool]
) -> None:
    names, caption = drawn([])
    assert all(filled.values())
    assert "Hollow" not in caption
    assert names == [f"model-{k:03}" for k in (*range(50), *range(70, 120))]
    assert "the models at either end (the table has the others)" in caption


def test_models_beside_a_large_reference_are_drawn_in_any_case(
    drawn: Any, filled: dict[int, bool]
) -> None:
    asked = ["model-060", "model-061"]
    names, caption = drawn([f"model-{k:03}" for k in range(120) if k not in (60, 61)])
    assert names == [f"model-{k:03}" for k in (*range(49), 60, 61, *range(71, 120))]
    assert set(asked) < set(names)
    assert {names[y] for y, full in filled.items() if full} == set(asked)
    assert "Hollow markers are the reference." in caption
    assert "and of all that are not of the reference" in caption


def test_nothing_is_hollow_if_all_are_of_the_reference(drawn: Any, filled: dict[int, bool]) -> None:
    _, caption = drawn([f"model-{k:03}" for k in range(120)])
    assert all(filled.values())
    assert "Hollow" not in caption


@pytest.mark.parametrize(
    ("decision", "p_flip", "said"),
    [
        ("left", 0.4, "single ones move the leaning of alpha (with p1) beyond the margin"),
        ("open", 0.4, "would contradict 1 of 2 conclusions with a probability of 5% or more"),
        ("open", 0.01, "other prefixes, little: none is known to move a leaning"),
    ],
)
def test_other_prefixes_matter_little_only_if_they_do(
    decision: str, p_flip: float, said: str
) -> None:
    shifts = pd.DataFrame({"model": ["alpha"], "prefix": ["p1"], "decision": [decision]})
    change = {"change": ["prefix", "prefix", "prior"], "prompts": ["asked", "asked", "half"]}
    flips = pd.DataFrame({**change, "p_flip": [p_flip, 0.0, 0.9]})
    assert said in _of_prefixes(shifts, flips)
    assert ("little" in _of_prefixes(shifts, None)) == (decision == "open")


def test_single_statements_beyond_the_limits_are_no_passed_checks(make_results: Any) -> None:
    single = pd.DataFrame(
        [("difficulty[a]", 1.02, 900.0, 900.0)],
        columns=["quantity", "r_hat", "ess_bulk", "ess_tail"],
    )
    beyond = _single(single, 40)
    assert "passed all checks" in " ".join(lines(make_results()))
    found = " ".join(lines(make_results(verdict_sentences=[beyond])))
    assert "passed all checks" not in found
    assert "those of some single statements did not" in found
