"""A pilot moves the coordinates, and nothing else."""

import numpy as np
import pytest

from polbayes.config.schema import SamplerConfig
from polbayes.fit.density.density import Density
from polbayes.fit.density.model import build
from polbayes.fit.sampling.gaussian import at_mode
from polbayes.fit.sampling.pilot import length, restarted

PRIORS = {
    "theta.dimension": "Normal(0, 1)",
    "acquiescence.Intercept": "Normal(0, 2)",
    "acquiescence.model.sd": "Constant(0.7)",
    "sigma.Intercept": "Normal(0.5, 0.001)",
}


@pytest.fixture(scope="module")
def built(bound, coded):
    models = ("a", "b", "c")
    r_plus = np.random.default_rng(3).uniform(0.1, 0.9, coded(models=models)["status"].shape)
    parts = {"theta": "~ 0 + dimension", "acquiescence": "~ 1 + (1 | model)", "sigma": "~ 1"}
    data = coded(r_plus=r_plus, models=models)
    spec, cells, bound_parts = bound(
        parts, data, response="r_plus", family="logit_normal", priors=PRIORS
    )
    return build(spec, cells, bound_parts)


def test_a_pilot_is_part_of_the_length_of_the_warm_up():
    found = length(SamplerConfig(tune=500, draws=1000, chains=4))
    assert (found.chains, found.tune, found.draws) == (1, 150, 50)
    assert length(SamplerConfig(tune=2000)) == length(SamplerConfig(tune=500))
    assert length(SamplerConfig(tune=150)) is None


def test_coordinates_are_around_the_mean_of_the_draws_and_the_posterior_is_the_same(built):
    density, rng = Density(built), np.random.default_rng(1)
    points = [density.start(k) + rng.normal(0, 0.5, density.size) for k in range(20)]
    values = [density.values(x) for x in points]
    drawn = {name: np.array([v[name] for v in values]) for name in ("b", "sd", "effects")}
    other = restarted(built, drawn)
    np.testing.assert_allclose(other.start.coefficients, drawn["b"].mean(axis=0))
    np.testing.assert_allclose(other.start.scales, 0.7)
    moved = Density(other)
    found = []
    for here in (density, moved):
        posterior = at_mode(here, here.start(0))
        z = rng.standard_normal((2000, posterior.size))
        draws = [here.values(x) for x in posterior.at(z)]
        found.append(np.array([np.concatenate([d["b"], d["effects"]]) for d in draws]))
    # Everything is normal with known scales, so that the approximation is the posterior.
    error = found[0].std(axis=0).max() / np.sqrt(1000)
    np.testing.assert_allclose(found[0].mean(axis=0), found[1].mean(axis=0), atol=4 * error)
    np.testing.assert_allclose(found[0].std(axis=0), found[1].std(axis=0), rtol=0.1, atol=1e-3)
