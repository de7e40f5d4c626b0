import numpy as np
import pandas as pd
import pytest

from polbayes.report.blocks import Fold, Grid, Picture
from polbayes.report.sections.coefficients import coefficients
from polbayes.report.sections.predictors import predictors

COMMON = (
    ("theta", "dimension[economic]"),
    ("theta", "instruct:dimension[economic]"),
    ("theta", "scale(size)"),
    ("acquiescence", "Intercept"),
)


def numbers(table):
    return table.assign(estimate=0.5, sd=0.1, lower=0.3, upper=0.7, p_positive=0.99, coverage=0.9)


@pytest.fixture
def fitted(make_results):
    made = make_results()
    size = ("model", np.arange(made.responses.sizes["model"], dtype=float))
    table = numbers(pd.DataFrame(COMMON, columns=["part", "term"]))
    return make_results(
        responses=made.responses.assign_coords(size=size),
        tables={**made.tables, "coefficients": table},
    )


def test_only_attributes_of_the_models_are_shown_up_front(fitted):
    section = predictors(fitted)
    picture, grid, fold = section.blocks
    assert isinstance(picture, Picture)
    assert isinstance(grid, Grid)
    assert [row[1] for row in grid.rows] == ["instruct:dimension[economic]", "scale(size)"]
    assert grid.posterior
    assert isinstance(fold, Fold)
    assert [row[1] for row in fold.blocks[0].rows] == [term for _, term in COMMON]


def test_it_is_not_taken_for_a_mixed_model(fitted):
    assert not fitted.mixed
    assert coefficients(fitted) is None


def test_groups_of_models_are_shown(fitted, make_results):
    groups = pd.DataFrame({"part": "theta", "group": "family", "varying": "", "level": ["a", "b"]})
    tables = {**fitted.tables, "group_effects": numbers(groups)}
    section = predictors(make_results(responses=fitted.responses, tables=tables))
    assert [row[3] for row in section.blocks[2].rows] == ["a", "b"]


def test_without_such_terms_there_is_no_section(fitted, make_results):
    assert predictors(make_results()) is None
    plain = fitted.tables["coefficients"].iloc[[0, 3]]
    assert predictors(make_results(tables={**fitted.tables, "coefficients": plain})) is None


@pytest.mark.parametrize("of_models", [True, False])
def test_attributes_of_prefixes_and_orders_are_shown(fitted, make_results, of_models):
    """What sycophancy and the order of options are asked for, with and without kinds of models."""
    data = fitted.responses
    first = np.zeros([data.sizes[d] for d in ("item", "variant", "prefix", "run")], dtype=np.int8)
    data = data.assign_coords(
        user_leaning=("prefix", np.arange(data.sizes["prefix"], dtype=float)),
        agree_first=(("item", "variant", "prefix", "run"), first),
    )
    asked = [("steer", "user_leaning"), ("acquiescence", "I(agree_first - 0.5)")]
    terms = [*(COMMON if of_models else COMMON[:1]), *asked]
    table = numbers(pd.DataFrame(terms, columns=["part", "term"]))
    section = predictors(
        make_results(responses=data, tables={**fitted.tables, "coefficients": table})
    )
    grids = [block for block in section.blocks if isinstance(block, Grid)]
    assert [tuple(row[:2]) for row in grids[-1].rows] == asked
    assert len(grids) == 1 + of_models
    assert ("way to ask" in section.title) != of_models
    assert "order of its options" in " ".join(section.reading)
