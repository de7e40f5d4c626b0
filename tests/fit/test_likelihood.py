import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from polbayes.fit.density.kernel import pointwise
from polbayes.fit.density.observed import validity_answers
from polbayes.fit.density.scores import digamma
from polbayes.fit.families import FAMILIES
from polbayes.fit.families.kinds import BETA, LOGIT_NORMAL, ORDINAL
from polbayes.fit.families.ordinal import cutpoints, ordinal_probabilities
from polbayes.fit.spec.cells import Cells

ETA = np.array([-3.1, -0.4, 0.0, 0.7, 2.9])
GAPS = {2: [], 3: [1.2], 4: [0.7, 1.9], 5: [0.4, 1.1, 2.3]}


def direct(eta, cuts):
    """P(y = k) as differences of P(y <= k) = logistic(c_k - eta)."""
    below = np.stack([1 / (1 + np.exp(-(c - eta))) for c in cuts], axis=-1)
    return np.diff(np.pad(below, ((0, 0), (1, 1)), constant_values=((0, 0), (0, 1))), axis=-1)


def precise(eta, cuts):
    """The same logarithms where differences of logistics lose every digit.

    For the middle points logistic(b) - logistic(a) = logistic(b) logistic(-a) (1 - exp(a - b)).
    """
    below = [special.log_expit(c - eta) for c in cuts]
    above = [special.log_expit(eta - c) for c in cuts]
    middle = [
        below[k] + above[k - 1] + np.log1p(-np.exp(cuts[k - 1] - cuts[k]))
        for k in range(1, len(cuts))
    ]
    return np.stack([below[0], *middle, above[-1]], axis=-1)


def ordinal_logp(eta, gaps, counts, own=None):
    own = np.zeros(len(eta)) if own is None else own
    return pointwise(eta, own, np.array(gaps, dtype=float), np.empty(0), ORDINAL, counts)


CUTPOINTS = {2: [0.0], 3: [-0.6, 0.6], 4: [-0.7, 0.0, 1.9], 5: [-0.95, -0.55, 0.55, 2.85]}


@pytest.mark.parametrize("points", GAPS)
def test_the_middle_of_the_cutpoints_is_zero_at_every_width(points):
    width = np.array([0.5, 1.0, 3.0])
    cuts = np.stack([np.broadcast_to(c, 3) for c in cutpoints(GAPS[points], width)])
    np.testing.assert_allclose(cuts, np.outer(CUTPOINTS[points], width), atol=1e-15)


@pytest.mark.parametrize("points", GAPS)
def test_ordinal_log_likelihood_of_counts(points):
    counts = np.random.default_rng(points).integers(0, 5, (len(ETA), points)).astype(float)
    expected = (counts * np.log(direct(ETA, cutpoints(GAPS[points], 1.0)))).sum(axis=1)
    np.testing.assert_allclose(ordinal_logp(ETA, GAPS[points], counts), expected, rtol=1e-10)


@pytest.mark.parametrize("points", GAPS)
@pytest.mark.parametrize("eta", [-750.0, -40.0, 40.0, 750.0])
def test_extreme_predictors_neither_overflow_nor_lose_digits(points, eta):
    etas = np.full(points, eta)
    found = ordinal_logp(etas, GAPS[points], np.eye(points))
    assert np.isfinite(found).all()
    expected = np.diagonal(precise(etas, cutpoints(GAPS[points], 1.0)))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)


def test_the_multinomial_of_scipy_agrees():
    """Up to the multinomial coefficient, which does not depend on the parameters."""
    counts = np.array([[3.0, 0.0, 4.0]])
    (p,) = direct(np.array([0.7]), cutpoints([1.2], 1.0))
    coefficient = special.gammaln(8) - special.gammaln(4) - special.gammaln(5)
    expected = stats.multinomial(7, p).logpmf(counts[0]) - coefficient
    assert ordinal_logp(np.array([0.7]), [1.2], counts) == pytest.approx([expected])


def test_two_points_are_a_logistic_regression():
    counts = np.array([[2.0, 3.0]] * len(ETA))
    expected = 3 * np.log(special.expit(ETA)) + 2 * np.log(special.expit(-ETA))
    np.testing.assert_allclose(ordinal_logp(ETA, [], counts), expected)


@pytest.mark.parametrize("points", GAPS)
def test_probabilities(points):
    cuts = cutpoints(GAPS[points], 1.0)
    found = ordinal_probabilities(ETA, cuts)
    np.testing.assert_allclose(found, direct(ETA, cuts), rtol=1e-10)
    np.testing.assert_allclose(found.sum(axis=-1), 1)


@given(
    st.lists(st.floats(0.05, 4), min_size=0, max_size=4),
    st.floats(-8, 8),
    st.floats(0.2, 3),
)
def test_likelihood_and_probabilities_say_the_same(gaps, eta, width):
    points = len(gaps) + 2
    etas = np.full(points, eta)
    logp = ordinal_logp(etas, gaps, np.eye(points), np.full(points, np.log(width)))
    assert np.exp(logp).sum() == pytest.approx(1)
    expected = ordinal_probabilities(np.array([eta]), cutpoints(gaps, width))[0]
    np.testing.assert_allclose(np.exp(logp), expected, atol=1e-9)


def single(value):
    """One answer a cell: how many, the mean of their logits, and the squares around it."""
    return np.column_stack([np.ones(len(value)), special.logit(value), np.zeros(len(value))])


def logs_of(value):
    return np.stack([np.log(value), np.log1p(-value)], axis=1)


def test_logit_normal_is_scipys_normal_of_the_logit():
    value, log_sigma = np.array([0.02, 0.5, 0.9]), np.array([-1.2, 0.0, 0.6])
    eta = np.array([-2.0, 0.3, 1.0])
    expected = stats.norm(eta, np.exp(log_sigma)).logpdf(special.logit(value))
    found = pointwise(eta, log_sigma, np.empty(0), np.empty(0), LOGIT_NORMAL, single(value))
    np.testing.assert_allclose(found, expected)


def test_beta_is_scipys_beta():
    value, log_phi = np.array([0.02, 0.5, 0.9]), np.array([0.4, 2.0, 4.0])
    eta = np.array([-2.0, 0.3, 1.0])
    mean, phi = special.expit(eta), np.exp(log_phi)
    expected = stats.beta(mean * phi, (1 - mean) * phi).logpdf(value)
    found = pointwise(eta, log_phi, np.empty(0), np.empty(0), BETA, logs_of(value))
    np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize("eta", [-760.0, -60.0, 60.0, 760.0])
def test_a_beta_distribution_at_the_edge_is_finite(eta):
    """A sampler's first steps may go there; a NaN would end the chain."""
    logs = logs_of(np.array([0.3]))
    found = pointwise(np.array([eta]), np.array([2.0]), np.empty(0), np.empty(0), BETA, logs)
    assert np.isfinite(found).all()


@given(st.floats(1e-12, 1e6))
def test_digamma_is_scipys(x):
    assert digamma(x) == pytest.approx(special.digamma(x), rel=1e-12, abs=1e-12)


def cells_of(counts=None, value=None, asked=None):
    import pandas as pd

    size = len(value) if counts is None else len(counts)
    return Cells(
        frame=pd.DataFrame(index=range(size)),
        counts=np.empty((0, 0)) if counts is None else counts,
        value=np.empty(0) if value is None else value,
        asked=np.ones(size) if asked is None else asked,
        points=(),
        notes=(),
        order={},
    )


def test_the_own_parameter_of_a_family_is_a_logarithm():
    eta, own = np.array([0.4, -0.9]), np.array([0.3, -0.2])
    counts, value = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 4.0]]), np.array([0.2, 0.7])

    def found(family, gaps, cells):
        answers = FAMILIES[family].answers(cells.counts, cells.value)
        return pointwise(
            eta, own, np.array(gaps, dtype=float), np.empty(0), FAMILIES[family].kind, answers
        )

    cuts = [-0.75 * np.exp(own), 0.75 * np.exp(own)]
    below = [special.expit(c - eta) for c in cuts]
    p = np.stack([below[0], below[1] - below[0], 1 - below[1]], axis=1)
    np.testing.assert_allclose(
        found("cumulative", [1.5], cells_of(counts)), (counts * np.log(p)).sum(axis=1)
    )
    np.testing.assert_allclose(
        found("logit_normal", [], cells_of(value=value)),
        stats.norm(eta, np.exp(own)).logpdf(special.logit(value)),
    )
    mean, phi = special.expit(eta), np.exp(own)
    np.testing.assert_allclose(
        found("beta", [], cells_of(value=value)),
        stats.beta(mean * phi, (1 - mean) * phi).logpdf(value),
    )
    agree = special.expit(eta)
    two = np.array([[1.0, 2.0], [0.0, 4.0]])
    np.testing.assert_allclose(
        found("bernoulli", [], cells_of(two)),
        two[:, 0] * np.log(1 - agree) + two[:, 1] * np.log(agree),
    )


def test_usable_answers_are_the_successes_of_validity():
    cells = cells_of(np.array([[1.0, 2.0, 0.0], [0.0, 0.0, 4.0]]), asked=np.array([5.0, 4.0]))
    np.testing.assert_array_equal(validity_answers(None, cells), [[2.0, 3.0], [0.0, 4.0]])
