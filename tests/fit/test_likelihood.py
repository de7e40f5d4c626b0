import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from polbayes.fit.cells import Cells
from polbayes.fit.likelihood import (
    beta_logp,
    cutpoints,
    log1mexp,
    logit_normal_logp,
    observation_logp,
    ordinal_logp,
    ordinal_probabilities,
    softplus,
)

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


@pytest.mark.parametrize("gaps", GAPS.values())
def test_cutpoints_average_zero_and_keep_their_distances(gaps):
    width = np.array([0.5, 1.0, 3.0])
    cuts = np.stack([np.broadcast_to(c, 3) for c in cutpoints(gaps, width, np)])
    assert len(cuts) == len(gaps) + 1
    np.testing.assert_allclose(cuts.mean(axis=0), 0, atol=1e-15)
    np.testing.assert_allclose(np.diff(cuts, axis=0), np.outer(gaps, width))


@pytest.mark.parametrize("points", GAPS)
def test_ordinal_log_likelihood_of_counts(points):
    cuts = cutpoints(GAPS[points], 1.0, np)
    counts = np.random.default_rng(points).integers(0, 5, (len(ETA), points)).astype(float)
    expected = (counts * np.log(direct(ETA, cuts))).sum(axis=1)
    np.testing.assert_allclose(ordinal_logp(ETA, cuts, counts, np), expected, rtol=1e-10)


@pytest.mark.parametrize("points", GAPS)
@pytest.mark.parametrize("eta", [-750.0, -40.0, 40.0, 750.0])
def test_extreme_predictors_neither_overflow_nor_lose_digits(points, eta):
    cuts = cutpoints(GAPS[points], 1.0, np)
    etas = np.full(points, eta)
    found = ordinal_logp(etas, cuts, np.eye(points), np)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found, np.diagonal(precise(etas, cuts)), rtol=1e-12, atol=1e-15)


def test_the_multinomial_of_scipy_agrees():
    """Up to the multinomial coefficient, which does not depend on the parameters."""
    cuts = cutpoints([1.2], 1.0, np)
    counts = np.array([[3.0, 0.0, 4.0]])
    (p,) = direct(np.array([0.7]), cuts)
    coefficient = special.gammaln(8) - special.gammaln(4) - special.gammaln(5)
    expected = stats.multinomial(7, p).logpmf(counts[0]) - coefficient
    assert ordinal_logp(np.array([0.7]), cuts, counts, np) == pytest.approx([expected])


def test_two_points_are_a_logistic_regression():
    counts = np.array([[2.0, 3.0]] * len(ETA))
    expected = 3 * np.log(special.expit(ETA)) + 2 * np.log(special.expit(-ETA))
    np.testing.assert_allclose(ordinal_logp(ETA, cutpoints([], 1.0, np), counts, np), expected)


@pytest.mark.parametrize("points", GAPS)
def test_probabilities(points):
    cuts = cutpoints(GAPS[points], 1.0, np)
    found = ordinal_probabilities(ETA, cuts)
    np.testing.assert_allclose(found, direct(ETA, cuts), rtol=1e-10)
    np.testing.assert_allclose(found.sum(axis=-1), 1)


@given(
    st.lists(st.floats(0.05, 4), min_size=0, max_size=4),
    st.floats(-8, 8),
    st.floats(0.2, 3),
)
def test_likelihood_and_probabilities_say_the_same(gaps, eta, width):
    cuts = cutpoints(gaps, width, np)
    points = len(gaps) + 2
    etas = np.full(points, eta)
    logp = ordinal_logp(etas, cuts, np.eye(points), np)
    assert np.exp(logp).sum() == pytest.approx(1)
    np.testing.assert_allclose(
        np.exp(logp), ordinal_probabilities(np.array([eta]), cuts)[0], atol=1e-9
    )


@given(st.floats(-700, 700))
def test_softplus(x):
    assert softplus(x, np) == pytest.approx(-special.log_expit(-x), rel=1e-12)


@given(st.floats(-700, -1e-9))
def test_log1mexp(x):
    expected = np.log(-np.expm1(x)) if x > -0.7 else np.log1p(-np.exp(x))
    assert log1mexp(x, np) == pytest.approx(expected, rel=1e-12)


def test_logit_normal_is_scipys_normal_of_the_logit():
    value, log_sigma = np.array([0.02, 0.5, 0.9]), np.array([-1.2, 0.0, 0.6])
    eta = np.array([-2.0, 0.3, 1.0])
    expected = stats.norm(eta, np.exp(log_sigma)).logpdf(special.logit(value))
    np.testing.assert_allclose(logit_normal_logp(eta, log_sigma, value, np), expected)


def test_beta_is_scipys_beta():
    value, log_phi = np.array([0.02, 0.5, 0.9]), np.array([0.4, 2.0, 4.0])
    eta = np.array([-2.0, 0.3, 1.0])
    mean, phi = special.expit(eta), np.exp(log_phi)
    expected = stats.beta(mean * phi, (1 - mean) * phi).logpdf(value)
    found = beta_logp(eta, log_phi, value, np, special.gammaln)
    np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize("eta", [-60.0, 60.0])
def test_a_beta_distribution_at_the_edge_is_finite(eta):
    """A sampler's first steps may go there; a NaN would end the chain."""
    found = beta_logp(np.array([eta]), np.array([2.0]), np.array([0.3]), np, special.gammaln)
    assert np.isfinite(found).all()


def cells_of(counts=None, value=None):
    import pandas as pd

    size = len(value) if counts is None else len(counts)
    return Cells(
        frame=pd.DataFrame(index=range(size)),
        counts=np.empty((0, 0)) if counts is None else counts,
        value=np.empty(0) if value is None else value,
        asked=np.ones(size),
        points=(),
        notes=(),
        order={},
    )


def test_the_own_parameter_of_a_family_is_a_logarithm():
    eta, own = np.array([0.4, -0.9]), np.array([0.3, -0.2])
    counts, value = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 4.0]]), np.array([0.2, 0.7])

    def found(family, gaps, cells):
        return observation_logp(family, eta, own, gaps, cells, np, special.gammaln)

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
