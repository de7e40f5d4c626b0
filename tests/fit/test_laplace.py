"""Laplace's approximation is exact where it can be, corrected elsewhere, and says which."""

import numpy as np
import pytest

from polbayes.config.schema import AnalysisConfig, SamplerConfig
from polbayes.errors import UserError
from polbayes.fit.analysis import parse_analysis
from polbayes.fit.density.density import Density
from polbayes.fit.density.model import build
from polbayes.fit.fit import fit
from polbayes.fit.sampling.diagnose import diagnose
from polbayes.fit.sampling.gaussian import Gaussian, at_mode, corrected
from polbayes.fit.sampling.laplace import laplace, resampled
from polbayes.fit.sampling.short_chains import moved

LAPLACE = SamplerConfig(backend="laplace")

KNOWN = {
    "theta.dimension": "Normal(0, 1)",
    "acquiescence.Intercept": "Normal(0, 2)",
    "acquiescence.model.sd": "Constant(0.7)",
    "sigma.Intercept": "Normal(0.5, 0.001)",
}


@pytest.fixture(scope="module")
def continuous(bound, coded):
    """Answer probabilities with known variances: the posterior is normal."""
    models = ("a", "b", "c")
    r_plus = np.random.default_rng(3).uniform(0.1, 0.9, coded(models=models)["status"].shape)
    parts = {"theta": "~ 0 + dimension", "acquiescence": "~ 1 + (1 | model)", "sigma": "~ 1"}
    data = coded(r_plus=r_plus, models=models)
    return bound(parts, data, response="r_plus", family="logit_normal", priors=KNOWN)


def by_hand(cells):
    """Return mean and covariance of both thetas and mean acquiescence by normal equations."""
    single = cells.single or cells
    frame, z = single.frame, single.value
    z = np.log(z / (1 - z)) if ((z > 0) & (z < 1)).all() else z
    s = frame["keying"].to_numpy(dtype=float)
    columns = [s * (frame["dimension"] == d) for d in ("cultural", "economic")]
    design = np.column_stack([*columns, np.ones(len(s))])
    own = np.stack([frame["model"] == m for m in ("a", "b", "c")], axis=1).astype(float)
    # Effects of three models with standard deviation 0.7, given that they sum to zero.
    centring = np.eye(3) - 1 / 3
    covariance = np.exp(1.0) * np.eye(len(s)) + 0.7**2 * own @ centring @ own.T
    precision = np.linalg.inv(covariance)
    posterior = np.linalg.inv(design.T @ precision @ design + np.diag([1.0, 1.0, 0.25]))
    return posterior @ design.T @ precision @ z, posterior


def test_a_normal_posterior_is_met_exactly(continuous):
    spec, cells, parts = continuous
    density = Density(build(spec, cells, parts))
    found = at_mode(density, density.start(1))
    mean, covariance = by_hand(cells)
    np.testing.assert_allclose(found.mean[:3], mean, atol=1e-5)
    whole = found.root @ found.root.T
    np.testing.assert_allclose(whole[:3, :3], covariance, rtol=1e-4, atol=1e-7)


def test_a_normal_posterior_needs_no_correction(continuous):
    spec, cells, _ = continuous
    found = fit(spec, cells, LAPLACE, seed=1)
    assert int(found.sample_stats["transitions"]) == 0
    assert float(found.sample_stats["pareto_k"]) < 0.5
    mean, covariance = by_hand(cells)
    drawn = found.drawn["b"].to_numpy().reshape(400, -1)[:, :3]
    np.testing.assert_allclose(drawn.mean(axis=0), mean, atol=4 * np.sqrt(covariance.max() / 400))
    np.testing.assert_allclose(drawn.var(axis=0), np.diag(covariance), rtol=0.25)
    said = diagnose(found.posterior, found.sample_stats)
    assert said.verdict == "preview"
    assert "Laplace approximation" in said.sentences[0]
    assert "sampler=nutpie" in said.sentences[0]
    assert "it will do" in said.sentences[1]


class Skewed:
    """Independent log-gamma coordinates, the first with shape 1; mean digamma of the shape."""

    shapes = np.array([1.0, 4.0, 30.0])

    def __call__(self, x):
        with np.errstate(over="ignore"):
            grown = np.exp(x)
        return float(self.shapes @ x - grown.sum()), self.shapes - grown


MEANS = np.array([-0.57721566, 1.25611767, 3.38443732])  # digamma of 1, 4 and 30


def test_importance_resampling_corrects_the_mode():
    start = at_mode(Skewed(), np.zeros(3))
    np.testing.assert_allclose(start.mean, np.log(Skewed.shapes), atol=1e-6)
    np.testing.assert_allclose(start.spread, Skewed.shapes**-0.5, rtol=1e-3)
    found, k = resampled(Skewed(), start, 20_000, np.random.default_rng(1))
    assert k < 0.7
    assert (abs(found.mean(axis=0) - MEANS) < [0.12, 0.03, 0.03]).all()


def test_the_correction_is_that_of_the_smallest_divergence():
    """Over N(m, s²) the mean slope of a log-gamma density is 0 at m = log a - s²/2, s² = 1 / a."""

    def density(x):
        return float(4.0 * x.sum() - np.exp(x).sum()), 4.0 - np.exp(x)

    first = at_mode(density, np.zeros(100))
    better = corrected(density, first, seed=1)
    np.testing.assert_allclose(first.mean.mean(), np.log(4), atol=1e-6)
    np.testing.assert_allclose(better.mean.mean(), np.log(4) - 1 / 8, atol=0.02)
    np.testing.assert_allclose(better.spread.mean(), 0.5, atol=0.03)


def test_a_quadratic_is_left_alone_by_the_correction():
    bend = np.array([[2.0, 0.6], [0.6, 1.5]])

    def density(x):
        off = x - np.array([0.4, -1.0])
        return float(-off @ bend @ off / 2), -bend @ off

    first = at_mode(density, np.zeros(2))
    better = corrected(density, first, seed=3)
    for found in (first, better):
        np.testing.assert_allclose(found.mean, [0.4, -1.0], atol=1e-5)
        np.testing.assert_allclose(found.root @ found.root.T, np.linalg.inv(bend), rtol=1e-4)


def test_short_chains_reach_a_density_far_from_where_they_start():
    around = Gaussian(np.full(3, 0.5), np.full(3, 0.4))
    z = np.random.default_rng(2).standard_normal((2000, 3))
    found = moved(Skewed(), around, z, transitions=60, kept=[30, 60], seed=3)
    assert found.shape == (2, 2000, 3)
    np.testing.assert_allclose(found[-1].mean(axis=0), MEANS, atol=0.12)
    # Variances are trigamma of the shapes.
    np.testing.assert_allclose(found[-1].var(axis=0), [1.6449, 0.2838, 0.0339], rtol=0.15)


PARTS = {
    "theta": "~ 0 + dimension + (0 + dimension | model)",
    "difficulty": "~ (1 | item)",
    "acquiescence": "~ 1 + (1 | model)",
    "quirk": "~ (1 | model:item)",
    "wording": "~ (1 | item:variant) + (1 | gr(model:item:variant, by = model))",
}


@pytest.fixture(scope="module")
def ordinal(bound, coded):
    rng = np.random.default_rng(4)
    models = ("a", "b", "c", "d")
    leaning = np.array([-1.0, -0.3, 0.4, 1.1])[:, None, None, None, None]
    answers = coded(models=models, runs=4)
    keying = answers["keying"].to_numpy()[None, :, :, None, None]
    latent = keying * leaning + 0.4 + rng.logistic(size=answers["status"].shape)
    stance = np.where(latent > 0.6, 1, np.where(latent < -0.6, -1, 0))
    return bound(PARTS, coded(stance, models=models, runs=4))


@pytest.fixture(scope="module")
def first_answer(ordinal):
    """A fit in which no tail of ratios is light enough, so that draws are moved."""
    spec, cells, _ = ordinal
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("polbayes.fit.sampling.laplace.pareto_limit", lambda _: -9.0)
        return fit(spec, cells, LAPLACE, seed=1)


def test_moved_draws_say_what_they_are(first_answer):
    k = float(first_answer.sample_stats["pareto_k"])
    assert int(first_answer.sample_stats["transitions"]) == 30
    said = diagnose(first_answer.posterior, first_answer.sample_stats)
    assert said.verdict == "preview"
    assert f"k = {k:.2f}" in said.sentences[1]
    assert "settled" in said.sentences[2]
    assert said.table.empty


def test_draws_that_still_move_will_not_do(first_answer):
    off = first_answer.posterior.copy(deep=True)
    off["theta"][2:] += 3 * off["theta"].std(("chain", "draw"))
    said = diagnose(off, first_answer.sample_stats)
    assert "will not do: theta moved" in said.sentences[2]


def test_chains_from_too_far_will_not_do(first_answer):
    far = first_answer.sample_stats.assign(pareto_k=6.0)
    assert "will not do" in diagnose(first_answer.posterior, far).sentences[2]


def test_the_same_seed_gives_the_same_draws(ordinal, first_answer, monkeypatch):
    monkeypatch.setattr("polbayes.fit.sampling.laplace.pareto_limit", lambda _: -9.0)
    spec, cells, parts = ordinal
    again, _ = laplace(build(spec, cells, parts), LAPLACE, seed=1)
    np.testing.assert_array_equal(again["effects"], first_answer.drawn["effects"])


@pytest.mark.slow
def test_positions_are_those_of_the_sampler(ordinal, first_answer):
    """Means differ by less than a fourth of the standard deviation, standard deviations by 20 %."""
    spec, cells, _ = ordinal
    exact = fit(spec, cells, SamplerConfig(draws=1000, tune=500), seed=1).posterior
    for name in ("theta", "lean", "acquiescence", "difficulty"):
        one, other = exact[name], first_answer.posterior[name]
        dims = ("chain", "draw")
        assert (abs(one.mean(dims) - other.mean(dims)) < one.std(dims) / 4).all()
        np.testing.assert_allclose(other.std(dims), one.std(dims), rtol=0.2)


def test_three_correlated_coefficients_are_refused(bound, coded):
    parts = {"theta": "~ 1 + (1 + instruct + dimension | model)"}
    models = ("a", "b", "c", "d", "e", "f")
    data = coded(models=models, instruct=[True, False] * 3)
    spec, cells, made = bound(parts, data)
    with pytest.raises(UserError, match="more than two correlated"):
        laplace(build(spec, cells, made), LAPLACE, seed=1)


def test_mixed_models_are_refused():
    config = AnalysisConfig(response="r_plus", family="gaussian", parts={"mu": "~ 1 + (1 | item)"})
    with pytest.raises(UserError, match="'laplace' is for the ideology model"):
        parse_analysis(config, LAPLACE)
