"""What respondents are called: models, unless they are parties, persons or something else."""

import re
from dataclasses import fields, is_dataclass

import pytest
import xarray as xr

from polbayes.report.answer import answer
from polbayes.report.asked import respondents_of
from polbayes.report.page import sections
from polbayes.report.prose import MODEL, Noun, plural

# What is said of the statistical model.
STATISTICAL = (
    *("fitted model", "ideology model", "the model and the answers", "mixed model"),
    *("part of the model", "in the same model", "The model allows", "analysis models them"),
    *("as the model estimates", "The model behind the numbers", "(1 | model:item"),
)
# Sections about the statistical model alone.
ABOUT_IT = {"fit", "model", "diagnostics"}


def texts_of(part):
    """List the texts of a section, with what its charts label, but without its figures."""
    if isinstance(part, str):
        return [part]
    if isinstance(part, dict):
        labels = [part.get("title"), part["name"] if "input" in part else None]
        lists = [one if isinstance(one, list) else [one] for one in part.values()]
        inner = [one for many in lists for one in many if isinstance(one, dict)]
        return [*(text for text in labels if isinstance(text, str)), *texts_of(inner)]
    if isinstance(part, tuple | list):
        return [text for one in part for text in texts_of(one)]
    if is_dataclass(part):
        kept = [f.name for f in fields(part) if f.name not in ("name", "csv", "id", "filters")]
        return [text for name in kept for text in texts_of(getattr(part, name))]
    return []


def with_who(data: xr.Dataset, *who: str) -> xr.Dataset:
    return data.assign_coords(who=("model", list(who)))


def respondents(*who: str) -> Noun:
    data = xr.Dataset(coords={"model": [f"r{k}" for k in range(len(who))]})
    return respondents_of(with_who(data, *who))


def test_a_report_of_parties_calls_them_parties(make_results):
    plain = make_results()
    results = make_results(responses=with_who(plain.responses, "party", "party", "party"))
    assert results.kicker == "Political leaning of parties"
    assert results.facts["parties"] == plain.facts["models"] == "3"
    present, absent = sections(results)
    assert present[0].title == "Where the parties stand"
    said = [
        text
        for part in (*(one for one in present if one.id not in ABOUT_IT), *answer(results))
        for text in texts_of(part)
    ]
    told = [re.sub("|".join(map(re.escape, STATISTICAL)), "", text) for text in (*said, *absent)]
    assert [text for text in told if re.search(r"\b[Mm]odels?\b", text)] == []
    assert any("a party" in text for text in said)


def test_their_tables_are_headed_by_what_they_are(make_results):
    plain = make_results()
    results = make_results(responses=with_who(plain.responses, "party", "party", "party"))
    heads = {text for one in sections(results)[0] for text in texts_of(one.blocks)}
    assert {"Party", "Party A", "Party B"} <= heads
    assert {"Model", "Model A"} & heads == set()


@pytest.mark.parametrize(
    ("who", "expected"),
    [
        (["party", "party"], Noun("party", "parties")),
        (["person"], Noun("person", "persons")),
        (["model", "model"], MODEL),
        (["", ""], MODEL),
        (["party", "model"], Noun("respondent", "respondents")),
        (["party", ""], Noun("respondent", "respondents")),
        (["<b>party"], Noun("respondent", "respondents")),
        (["Partei"], Noun("respondent", "respondents")),
    ],
)
def test_those_of_several_kinds_are_respondents(who, expected):
    assert respondents(*who) == expected


def test_they_are_models_if_nothing_else_is_said(make_results):
    results = make_results()
    assert results.who == MODEL
    assert results.kicker == "Political leaning of language models"
    assert sections(results)[0][0].title == "Where the models stand"


def test_words_are_counted_as_english_does():
    counted = [plural(2, name) for name in ("party", "survey", "prefix", "model")]
    assert counted == ["2 parties", "2 surveys", "2 prefixes", "2 models"]
    assert plural(1, "party") == "1 party"
    assert (Noun("agency", "agencies").a, MODEL.a) == ("an agency", "a model")
