"""The section on respondents that readers know."""

import pandas as pd
import pytest

from polbayes.report.sections.reference import reference

MODELS = ("bot", "red", "blue", "gold", "grey")


def tables(known):
    scale = [
        {"model": m, "dimension": "economic", "reference": m in known, "estimate": k}
        | {"lower": k - 1, "upper": k + 1, "level": 0.9}
        for k, m in enumerate(MODELS)
    ]
    nearest = [
        {"model": m, "reference": r, "p_nearest": p / 10, "estimate": 1.0, "lower": 0.5}
        | {"upper": 1.5, "agreement": 0.6, "n_items": 30, "level": 0.9}
        for m in MODELS
        for p, r in enumerate(known)
        if r != m
    ]
    return {"reference_scale": pd.DataFrame(scale), "nearest": pd.DataFrame(nearest)}


@pytest.fixture
def section_of(make_results):
    def made(known):
        return reference(make_results(tables={**make_results().tables, **tables(known)}))

    return made


def test_the_likeliest_neighbours_of_models_are_listed_first(section_of):
    near, fold = section_of(MODELS[1:]).blocks
    assert [row[:2] for row in near.rows] == [("bot", "grey"), ("bot", "gold"), ("bot", "blue")]
    assert [row[2] for row in near.rows] == ["30%", "20%", "10%"]
    assert near.rows[0][5] == "60.0%"
    assert [row[0] for row in fold.blocks[0].rows] == ["bot"]


def test_a_reference_alone_is_compared_with_itself(section_of):
    near, fold = section_of(MODELS).blocks
    assert [row[0] for row in near.rows] == [m for m in MODELS for _ in range(3)]
    assert all(row[0] != row[1] for row in near.rows)
    assert [row[0] for row in fold.blocks[0].rows] == list(MODELS)


def test_without_a_reference_there_is_no_section(make_results):
    assert reference(make_results()) is None


def test_the_headline_names_the_scale_of_the_reference(make_results):
    from polbayes.report.sections.headline import headline

    plain = make_results()
    theta = plain.tables["theta"].assign(scale="reference")
    referred = make_results(tables={**plain.tables, "theta": theta})
    said = "0 is the mean of their positions and 1 their standard deviation"
    assert said in " ".join(headline(referred).reading)
    many = make_results(tables={**plain.tables, "theta": theta.assign(scale="population")})
    assert "the mean of its persons' positions" in " ".join(headline(many).reading)
    assert said not in " ".join(headline(plain).reading)
