"""Coefficients from given variance components, by hand; and what a design leaves of variances."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polbayes.fit.posterior.generalizability import (
    RUN,
    Plan,
    Scores,
    Source,
    coefficient,
    error,
    left_of,
)


def source(name, facets, variance, *, relative=True, **more):
    values = np.full((1, 1), float(variance))
    return Source(name, frozenset(facets), relative, values, values, values[:, None], **more)


def scores(universe, *sources, fixed_prefixes=False):
    return Scores(
        ("economic",),
        np.array([[float(universe)]]),
        sources,
        np.ones((1, 1)),
        np.full((1, 1, 1), 0.5),
        fixed_prefixes,
    )


def coefficients(measured, plan):
    """Return generalizability and dependability."""
    return tuple(
        coefficient(measured.universe, error(measured, "economic", [plan], relative=r)).item()
        for r in (True, False)
    )


# A two-facet crossed design, persons × items × raters, here models × items × prefixes:
# variances p 4.0, i 1.2, r 0.3, pi 2.0, pr 0.6, ir 0.1, pir with error 3.0.
CROSSED = scores(
    4.0,
    source("i", {"item"}, 1.2, relative=False),
    source("r", {"prefix"}, 0.3, relative=False),
    source("pi", {"item"}, 2.0),
    source("pr", {"prefix"}, 0.6),
    source("ir", {"item", "prefix"}, 0.1, relative=False),
    source("pir", {"item", "prefix"}, 3.0),
)


def test_a_crossed_design_by_hand():
    """Ten items, two prefixes.

    Relative error 2.0 / 10 + 0.6 / 2 + 3.0 / 20 = 0.65; absolute error adds
    1.2 / 10 + 0.3 / 2 + 0.1 / 20 = 0.275.
    """
    found = coefficients(CROSSED, Plan(items=10, prefixes=2))
    assert found == pytest.approx((4 / 4.65, 4 / 4.925))


def test_one_answer_by_hand():
    """Relative error 5.6, absolute 7.2."""
    assert coefficients(CROSSED, Plan(items=1)) == pytest.approx((4 / 9.6, 4 / 11.2))


def test_fixed_prefixes_are_no_error_of_their_own():
    """What is left: 2.0 / 10 + 3.0 / 20 = 0.35, and 1.2 / 10 + 0.1 / 20 = 0.125 more."""
    fixed = Scores(**{**vars(CROSSED), "fixed_prefixes": True})
    found = coefficients(fixed, Plan(items=10, prefixes=2))
    assert found == pytest.approx((4 / 4.35, 4 / 4.475))


def test_nested_wordings_are_divided_by_items_too():
    plan = Plan(items=5, wordings=3, prefixes=2, runs=4)
    assert left_of(source("w", {"item", "variant"}, 1), plan) == pytest.approx(1 / 15)
    everything = source("e", {"item", "variant", "prefix", RUN}, 1)
    assert left_of(everything, plan) == pytest.approx(1 / 120)
    assert plan.questions == 120


def test_what_only_adds_to_agreement_cancels():
    plan = Plan(items=4, prefixes=5)
    assert left_of(source("a", (), 1, asked=True), plan) == 0
    assert left_of(source("a", {"prefix"}, 1, asked=True), plan) == 0
    assert left_of(source("a", {"item"}, 1, asked=True), plan) == pytest.approx(1 / 4)


def test_what_cannot_be_planned_stays_as_it_was():
    stays = source("kind", {"item"}, 0.5, planned=False)
    found = error(scores(1.0, stays), "economic", [Plan(items=100), None], relative=True)
    np.testing.assert_allclose(found, [[0.5, 0.5]])


def test_no_variance_at_all_is_no_reliability():
    assert coefficient(np.zeros(1), np.zeros(1)) == 0


VARIANCES = st.floats(0, 10)
NUMBERS = st.integers(1, 50)


@given(
    st.lists(VARIANCES, min_size=8, max_size=8),
    st.tuples(NUMBERS, NUMBERS, NUMBERS, NUMBERS),
    st.integers(0, 3),
    st.booleans(),
)
def test_more_of_anything_never_measures_worse(variances, numbers, which, fixed):
    kinds = [{"item"}, {"prefix"}, {"item", "variant"}, {"item", "variant", "prefix", RUN}]
    universe, *rest = [v + 0.01 for v in variances]
    sources = [source("x", facets, v) for facets, v in zip(kinds, rest[:4], strict=True)]
    sources += [source("y", f, v, relative=False) for f, v in zip(kinds[:3], rest[4:], strict=True)]
    measured = scores(universe, *sources, fixed_prefixes=fixed)
    more = [n + (k == which) for k, n in enumerate(numbers)]
    before, after = (coefficients(measured, Plan(*n)) for n in (numbers, more))
    assert after[0] >= before[0] - 1e-12
    assert after[1] >= before[1] - 1e-12
    assert before[0] >= before[1] - 1e-12  # dependability counts more error
    assert 0 <= before[1] <= before[0] <= 1
