"""Densities of single numbers against PyMC's, whose transformed variables have the same density."""

import numpy as np
import pytest

from polbayes.fit.density.prior_densities import evaluate, scalars
from polbayes.fit.spec.priors import draw_vector, parse_prior

PRIORS = [
    "Normal(0.3, 1.5)",
    "StudentT(4, 0.2, 0.7)",
    "Cauchy(0.1, 0.6)",
    "Laplace(-0.2, 0.8)",
    "HalfNormal(0.4)",
    "HalfStudentT(3, 0.5)",
    "HalfCauchy(0.5)",
    "Exponential(2)",
    "Gamma(2.5, 3)",
    "LogNormal(0.2, 0.7)",
]
POINTS = np.array([-2.3, -0.4, 0.05, 0.9, 1.7])


def ours(prior, x):
    values, slopes, of_density, logp = evaluate(np.array([x]), *scalars([prior]).arrays)
    return values[0], slopes[0], of_density[0], logp


def assert_slopes(prior):
    """Both slopes are those of finite differences."""
    for x in POINTS:
        _, slope, of_density, _ = ours(prior, x)
        (above, *_, ahead), (below, *_, behind) = ours(prior, x + 1e-6), ours(prior, x - 1e-6)
        assert slope == pytest.approx((above - below) / 2e-6, rel=1e-6)
        assert of_density == pytest.approx((ahead - behind) / 2e-6, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("text", PRIORS)
def test_densities_are_those_of_pymc(text):
    import pymc as pm

    prior = parse_prior(text, where="here")
    with pm.Model() as model:
        draw_vector([prior], "v")
    logp = model.compile_logp(mode="FAST_COMPILE")
    name = model.value_vars[0].name
    theirs = np.array([logp({name: np.array([x])}) for x in POINTS])
    found = np.array([ours(prior, x)[3] for x in POINTS])
    np.testing.assert_allclose(found - found[0], theirs - theirs[0], rtol=1e-10, atol=1e-12)
    expected = np.exp(POINTS) if prior.positive else POINTS
    np.testing.assert_allclose([ours(prior, x)[0] for x in POINTS], expected)
    assert_slopes(prior)


def test_a_correlation_has_the_density_of_lkj():
    """LKJ(eta) of two has density (1 - r²)^(eta - 1), here with the Jacobian of r = tanh(x / 2)."""
    prior = parse_prior("LKJ(2.5)", where="here")
    r = np.tanh(POINTS / 2)
    expected = 1.5 * np.log(1 - r**2) + np.log((1 - r**2) / 2)
    found = [ours(prior, x) for x in POINTS]
    np.testing.assert_allclose([f[0] for f in found], r)
    logp = np.array([f[3] for f in found])
    np.testing.assert_allclose(logp - logp[0], expected - expected[0])
    assert_slopes(prior)


def test_what_is_known_has_no_coordinate():
    known, free = parse_prior("Constant(0.7)", where="here", constant=True), "HalfNormal(1)"
    table = scalars([known, parse_prior(free, where="here"), known])
    assert table.sampled == 1
    assert table.at.tolist() == [-1, 0, -1]
    values, slopes, of_density, logp = evaluate(np.zeros(1), *table.arrays)
    np.testing.assert_allclose(values, [0.7, 1.0, 0.7])
    np.testing.assert_allclose(slopes, [0, 1, 0])
    np.testing.assert_allclose(of_density, [0, 0, 0])  # -v² + 1 at v = 1
    assert logp == pytest.approx(-0.5)
