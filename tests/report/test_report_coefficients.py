"""The coefficients of a mixed model in the report."""

import pandas as pd
import pytest

from polbayes.report.blocks import Fold, Paragraph, Picture
from polbayes.report.sections.coefficients import coefficients
from polbayes.report.studies.haller import haller

LEFT_OUT = "analysis.parts.mu is without kind: there is only one kind, original."


@pytest.fixture
def fitted(make_results):
    """Return what makes the results of a fit with some terms to each model."""

    def make(*terms):
        made = make_results()
        of = pd.DataFrame({"model": ["alpha", "beta"]}).merge(
            pd.DataFrame({"term": ["Intercept", *terms]}), how="cross"
        )
        numbers = {"estimate": 0.5, "sd": 0.1, "lower": 0.3, "upper": 0.7, "p_positive": 0.99}
        tests = {"se": 0.1, "p": 0.01, "p_bonferroni": 0.01, "tests": len(terms)}
        table = of.assign(**numbers, coverage=0.9)
        tables = {"coefficients": table, "classical": table.assign(**tests)}
        return make_results(responses=made.responses, tables=tables, exclusions=["8%.", LEFT_OUT])

    return make


def test_a_model_whose_terms_were_all_left_out_says_so(fitted):
    results = fitted()
    assert results.mixed
    said, numbers = coefficients(results).blocks
    assert said == Paragraph(f"The model has no predictor. {LEFT_OUT}")
    assert [row[1] for row in numbers.rows] == ["Intercept", "Intercept"]


def test_a_model_with_a_predictor_is_drawn_and_tested(fitted):
    picture, numbers, beside = coefficients(fitted("keying")).blocks
    assert isinstance(picture, Picture)
    assert isinstance(beside, Fold)
    assert len(numbers.rows) == 4


@pytest.mark.parametrize(
    ("terms", "caption"), [((), "as published. For this run"), (("word_length",), "by restricted")]
)
def test_the_study_shows_what_there_is(fitted, terms, caption):
    shown = str(haller(fitted(*terms)))
    assert caption in shown
