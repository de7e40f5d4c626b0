import numpy as np
import pytest
from scipy import integrate, special, stats

from polbayes.fit.families import FAMILIES
from polbayes.fit.families.ordinal import cutpoints, ordinal_probabilities

ETA = np.array([-2.0, -0.3, 0.0, 0.7, 3.0])


@pytest.mark.parametrize(
    ("family", "own", "gaps"),
    [
        ("cumulative", 0.2, [1.3]),
        ("cumulative", -0.1, [0.8, 1.1]),
        ("cumulative", 0.0, [0.8, 1.1, 0.4]),
        ("bernoulli", 0.0, []),
        ("logit_normal", -0.5, []),
        ("beta", 1.5, []),
    ],
)
def test_expectation_and_slope(family, own, gaps):
    """The expected answer is that of the bias measure, the slope its difference quotient."""
    gaps, width = np.array(gaps), np.full(len(ETA), own)
    found = FAMILIES[family].moments(ETA, width, gaps)
    np.testing.assert_allclose(found.net, FAMILIES[family].net(ETA, width, gaps), atol=1e-12)
    if family in ("cumulative", "bernoulli"):
        points = ordinal_probabilities(ETA, cutpoints(gaps, np.exp(width)))
        sides = np.sign(np.arange(points.shape[1]) - (points.shape[1] - 1) / 2)
        np.testing.assert_allclose(found.net, points @ sides, atol=1e-12)
    up, down = (FAMILIES[family].net(ETA + h, width, gaps) for h in (1e-5, -1e-5))
    np.testing.assert_allclose(found.slope, (up - down) / 2e-5, rtol=1e-6)


def test_two_answers_by_hand():
    """At an even chance an answer is +1 or -1, and the logistic density is a quarter."""
    found = FAMILIES["bernoulli"].moments(np.zeros(1), np.zeros(1), np.empty(0))
    assert (found.net[0], found.variance[0], found.slope[0]) == pytest.approx((0, 1, 0.5))
    assert found.noise[0] == pytest.approx(stats.logistic.var())


def test_three_answers_by_hand():
    """Cutpoints at -1 and 1: neutral answers are 0 and add no variance."""
    found = FAMILIES["cumulative"].moments(np.zeros(1), np.zeros(1), np.array([2.0]))
    side = special.expit(-1)
    assert found.variance[0] == pytest.approx(2 * side)
    assert found.slope[0] == pytest.approx(2 * side * (1 - side))


@pytest.mark.parametrize("sigma", [0.6, 3.0])
def test_answers_of_logit_normal_probabilities(sigma):
    eta = 0.7
    found = FAMILIES["logit_normal"].moments(np.array([eta]), np.log([sigma]), np.empty(0))
    density = stats.norm(eta, sigma)
    moment = [density.expect(lambda x, k=k: (2 * special.expit(x) - 1) ** k) for k in (1, 2)]
    assert found.net[0] == pytest.approx(moment[0], abs=2e-7)
    assert found.variance[0] == pytest.approx(moment[1] - moment[0] ** 2, rel=1e-6)
    assert found.noise[0] == pytest.approx(sigma**2)


def test_answers_of_beta_probabilities():
    mu, phi = special.expit(0.7), 4.0
    found = FAMILIES["beta"].moments(np.array([0.7]), np.log([phi]), np.empty(0))
    density = stats.beta(mu * phi, (1 - mu) * phi)
    assert found.variance[0] == pytest.approx(4 * density.var())
    mean, square = (
        integrate.quad(lambda y, k=k: special.logit(y) ** k * density.pdf(y), 0, 1)[0]
        for k in (1, 2)
    )
    assert found.noise[0] == pytest.approx(square - mean**2, rel=1e-6)
