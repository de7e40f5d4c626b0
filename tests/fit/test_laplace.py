"""The first answer is Laplace's where that will do, that of a few draws elsewhere, and says so."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from polbayes.config.schema import AnalysisConfig, SamplerConfig
from polbayes.errors import UserError
from polbayes.fit.analysis import parse_analysis
from polbayes.fit.density.density import Density
from polbayes.fit.density.model import build
from polbayes.fit.fit import fit
from polbayes.fit.posterior.naming import name_posterior
from polbayes.fit.sampling import laplace as sampling
from polbayes.fit.sampling import nuts
from polbayes.fit.sampling.diagnose import diagnose, settled
from polbayes.fit.sampling.gaussian import at_mode
from polbayes.fit.sampling.imputation import with_integrated
from polbayes.fit.sampling.laplace import QUICK, laplace, resampled

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
    at = density.values(found.mean)["b"][:3]
    np.testing.assert_allclose(at, mean, atol=1e-5)
    # Coefficients are a linear function of the coordinates.
    moved = [density.values(found.mean + column)["b"][:3] - at for column in found.root.T]
    np.testing.assert_allclose(np.transpose(moved) @ moved, covariance, rtol=1e-4, atol=1e-7)


def test_a_normal_posterior_needs_no_sampler(continuous):
    spec, cells, _ = continuous
    found = fit(spec, cells, QUICK, seed=1)
    assert int(found.sample_stats["transitions"]) == 0
    assert float(found.sample_stats["pareto_k"]) < 0.5
    mean, covariance = by_hand(cells)
    draws = QUICK.chains * QUICK.draws
    drawn = found.drawn["b"].to_numpy().reshape(draws, -1)[:, :3]
    np.testing.assert_allclose(drawn.mean(axis=0), mean, atol=4 * np.sqrt(covariance.max() / draws))
    np.testing.assert_allclose(drawn.var(axis=0), np.diag(covariance), rtol=0.25)
    said = diagnose(found.posterior, found.sample_stats)
    assert said.verdict == "preview"
    assert "first answer" in said.sentences[0]
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
    found, k, effective = resampled(Skewed(), start, 5_000, np.random.default_rng(1))
    assert k < 0.7
    assert 1_000 < effective < 100_000
    assert (abs(found.mean(axis=0) - MEANS) < [0.12, 0.03, 0.03]).all()


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
    answers = coded(models=models, runs=2)
    keying = answers["keying"].to_numpy()[None, :, :, None, None]
    latent = keying * leaning + 0.4 + rng.logistic(size=answers["status"].shape)
    stance = np.where(latent > 0.6, 1, np.where(latent < -0.6, -1, 0))
    return bound(PARTS, coded(stance, models=models, runs=2))


@pytest.fixture(scope="module")
def first_answer(ordinal):
    """A fit to few answers, of which Laplace's approximation will not do."""
    spec, cells, _ = ordinal
    return fit(spec, cells, QUICK, seed=1)


def test_a_short_run_says_what_it_is(first_answer):
    stats = first_answer.sample_stats
    assert float(stats["pareto_k"]) > float(stats["pareto_limit"])
    made = int(stats["transitions"])
    assert made == QUICK.tune + QUICK.draws
    said = diagnose(first_answer.posterior, stats)
    assert said.verdict == "preview"
    assert f"4 short chains of NUTS, {made} transitions each" in said.sentences[1]
    assert "theta[a, economic]" in set(said.table["quantity"])


def test_a_longer_run_goes_on_where_positions_have_not_settled(ordinal, monkeypatch):
    spec, cells, parts = ordinal
    built = build(spec, cells, parts)
    judged, starts, runs = [], [], []
    run = sampling.draw_with_nutpie

    def drawing(compiled, config, seed, **more):
        found = run(compiled, config, seed, **more)
        starts.append(found[0].get("coordinates"))
        runs.append(found[0])
        return found

    def once(positions):
        judged.append(positions)
        return False

    monkeypatch.setattr(sampling, "settled", once)
    monkeypatch.setattr(sampling, "draw_with_nutpie", drawing)
    monkeypatch.setattr(
        sampling,
        "compiled_for_nutpie",
        lambda moved: starts.append(moved) or nuts.compiled_for_nutpie(moved),
    )
    drawn, stats = laplace(built, QUICK, seed=1)
    _, first, second, last = starts
    ends = first.to_numpy()[:, -1]
    np.testing.assert_array_equal(second.places, ends)
    assert any((second.start(3) == end).all() for end in ends)
    assert last is None  # nothing goes on from the second
    assert drawn.sizes["draw"] == 4 * QUICK.draws
    assert int(stats["transitions"]) == 2 * QUICK.tune + 4 * QUICK.draws
    assert len(judged) == 1
    named = name_posterior(built, with_integrated(built, runs[0], seed=1))
    for name in ("theta", "theta_asked", "lean"):  # what the verdict is about
        np.testing.assert_array_equal(judged[0][name], named[name])


def test_no_longer_run_of_too_many_coordinates(ordinal, monkeypatch):
    spec, cells, parts = ordinal
    built = build(spec, cells, parts)
    monkeypatch.setattr(sampling, "_MOST", Density(built).size - 1)
    monkeypatch.setattr(sampling, "settled", lambda positions: False)
    drawn, stats = laplace(built, QUICK, seed=1)
    assert drawn.sizes["draw"] == QUICK.draws
    assert int(stats["transitions"]) == QUICK.tune + QUICK.draws


def test_settled_chains_are_told_from_others():
    draws = np.random.default_rng(8).normal(size=(4, 60, 2))

    def of(lean):
        dims = ("chain", "draw", "model")
        return xr.Dataset({"theta": (dims, draws), "lean": (dims, lean)})

    assert settled(of(draws))
    assert not settled(of(draws + np.arange(4)[:, None, None] * [0.0, 1.0]))
    assert not settled(of(np.repeat(draws[:, :6], 10, axis=1)))


def test_a_metric_changes_coordinates_and_nothing_else(continuous):
    spec, cells, parts = continuous
    density = Density(build(spec, cells, parts))
    around = at_mode(density, density.start(1))
    moved = sampling._Moved(density, around)
    z = np.random.default_rng(2).standard_normal(moved.size)
    value, slope = moved(z)
    assert value == density(around.at(z))[0]
    # Around the mode of a normal density, its logarithm falls with half the square of z.
    np.testing.assert_allclose(value - density(around.mean)[0], -(z**2).sum() / 2, rtol=1e-3)
    np.testing.assert_allclose(slope, -z, atol=1e-2)
    np.testing.assert_array_equal(moved.values(z)["b"], density.values(around.at(z))["b"])
    assert abs(moved.start(1)).max() < 1


class Narrowing:
    """A valley that grows narrower, and higher without end."""

    def __call__(self, x):
        with np.errstate(over="ignore"):
            steep = np.exp(np.minimum(x[0], 300.0))
        value = x[0] - steep * (x[1:] ** 2).sum() / 2
        slope = np.concatenate([[1 - steep * (x[1:] ** 2).sum() / 2], -steep * x[1:]])
        return float(value), slope


def test_a_density_without_a_mode_has_no_approximation():
    assert at_mode(Narrowing(), np.ones(5)) is None


def test_without_a_mode_there_is_no_approximation(ordinal, monkeypatch):
    spec, cells, parts = ordinal
    monkeypatch.setattr(sampling, "at_mode", lambda *_: None)
    _, stats = laplace(build(spec, cells, parts), QUICK, seed=1)
    assert np.isinf(stats["pareto_k"])
    dims = ("chain", "draw")
    said = diagnose(xr.Dataset({"lean": (dims, np.zeros((4, 60)))}), stats).sentences[1]
    assert said.startswith("The posterior is too far from normal for a Laplace approximation, and")
    assert "inf" not in said


@pytest.mark.slow
def test_positions_from_numbers_far_from_normal_settle(bound, coded):
    """Their units are found by pilots."""
    rng = np.random.default_rng(7)
    models = ("a", "b", "c")
    shape = coded(models=models)["status"].shape
    leaning = np.array([-1.5, 0.0, 1.5])[:, None, None, None, None]
    keying = coded(models=models)["keying"].to_numpy()[None, :, :, None, None]
    noise = rng.standard_t(3, size=shape) * np.array([0.1, 0.5, 2.0])[:, None, None, None, None]
    data = coded(r_plus=1 / (1 + np.exp(-keying * leaning - noise)), models=models)
    parts = {**PARTS, "decisiveness": "~ 1 + (1 | model)", "sigma": "~ 1 + (1 | model)"}
    parts.pop("wording")
    spec, cells, _ = bound(parts, data, response="r_plus", family="logit_normal")
    quick = fit(spec, cells, QUICK, seed=2)
    assert float(quick.sample_stats["pareto_k"]) > 1
    assert compare(spec, cells, quick.posterior)["apart"].loc[["theta", "lean"]].max() < 0.4


def test_chains_apart_will_not_do(first_answer):
    off = first_answer.posterior.copy(deep=True)
    off["theta"][2:] += 3 * off["theta"].std(("chain", "draw"))
    said = diagnose(off, first_answer.sample_stats)
    assert "Positions have not settled, and the first answer will not do" in said.sentences[2]


def test_quantities_that_have_not_settled_are_named():
    rng = np.random.default_rng(8)
    draws = rng.normal(size=(4, 100))
    apart = draws + np.arange(4)[:, None]
    dims = ("chain", "draw")
    posterior = xr.Dataset({"lean": (dims, draws), "prefix_scale": (dims, apart)})
    stats = xr.Dataset(
        {"diverging": (dims, draws > 9), "pareto_k": 2.0, "pareto_limit": 0.65, "transitions": 200}
    )
    said = diagnose(posterior, stats).sentences[2]
    assert "Positions have settled" in said
    assert said.endswith("These have not, and will not do: prefix_scale.")


@pytest.mark.parametrize(
    ("k", "effective", "says"),
    [
        (0.8, 500.0, "k = 0.80. Above 0.70 it will not do, and the draws are from 4 short chains"),
        (0.5, 60.0, "k = 0.50. They leave 60 effective draws; with fewer than 100 it will not do"),
    ],
)
def test_why_an_approximation_will_not_do(k, effective, says):
    draws = np.random.default_rng(8).normal(size=(4, 100))
    dims = ("chain", "draw")
    about = {"pareto_k": k, "pareto_limit": 0.7, "effective": effective, "transitions": 200}
    stats = xr.Dataset({"diverging": (dims, draws > 9), **about})
    assert says in diagnose(xr.Dataset({"lean": (dims, draws)}), stats).sentences[1]


class Narrow(Skewed):
    """A normal approximation of two hundred slightly skewed coordinates is wrong in all of them."""

    shapes = np.full(200, 6.0)


def test_many_slight_errors_leave_few_effective_draws():
    start = at_mode(Narrow(), np.zeros(200))
    _, k, effective = resampled(Narrow(), start, 400, np.random.default_rng(1))
    assert effective < 100
    assert k < np.inf


def test_the_same_seed_gives_the_same_draws(ordinal, first_answer):
    spec, cells, parts = ordinal
    again, _ = laplace(build(spec, cells, parts), QUICK, seed=1)
    np.testing.assert_array_equal(again["effects"], first_answer.drawn["effects"])


def compare(spec, cells, quick):
    """Return differences of means in standard deviations, and ratios of widths, to the sampler."""
    exact = fit(spec, cells, SamplerConfig(draws=1000, tune=500), seed=1).posterior
    rows, dims = [], ("chain", "draw")
    for name in {"theta", "lean", "acquiescence", "decisiveness"} & set(exact):
        one, other = exact[name], quick[name]
        ends = [v.quantile([0.05, 0.95], dims) for v in (one, other)]
        wide = [np.ravel(v[1] - v[0]) for v in ends]
        apart = np.ravel((other.mean(dims) - one.mean(dims)) / one.std(dims))
        rows += [(name, abs(d), b / a) for d, a, b in zip(apart, *wide, strict=True)]
    return pd.DataFrame(rows, columns=["name", "apart", "ratio"]).groupby("name").mean()


@pytest.mark.slow
def test_intervals_are_as_wide_as_those_of_the_sampler(ordinal, first_answer):
    spec, cells, _ = ordinal
    found = compare(spec, cells, first_answer.posterior)
    assert (found["apart"] < 0.25).all()
    assert found["ratio"].loc[["theta", "lean"]].between(0.9, 1.1).all()
    assert found["ratio"].between(0.8, 1.25).all()


@pytest.mark.slow
def test_models_that_are_barely_decided_do_not_collapse(bound, coded):
    """With random answers the joint mode has a decisiveness far below its posterior."""
    rng = np.random.default_rng(11)
    models = ("a", "b", "c")
    data = coded(models=models, runs=2)
    stance = rng.integers(-1, 2, data["status"].shape)
    parts = {**PARTS, "decisiveness": "~ 1"}
    spec, cells, _ = bound(parts, coded(stance, models=models, runs=2))
    quick = fit(spec, cells, QUICK, seed=2)
    found = compare(spec, cells, quick.posterior)
    assert (found["apart"] < 0.3).all()
    assert found["ratio"].between(0.8, 1.25).all()


def test_three_correlated_coefficients_are_refused(bound, coded):
    parts = {"theta": "~ 1 + (1 + instruct + dimension | model)"}
    models = ("a", "b", "c", "d", "e", "f")
    data = coded(models=models, instruct=[True, False] * 3)
    spec, cells, made = bound(parts, data)
    with pytest.raises(UserError, match="more than two correlated"):
        laplace(build(spec, cells, made), QUICK, seed=1)


def test_mixed_models_are_refused():
    config = AnalysisConfig(response="r_plus", family="gaussian", parts={"mu": "~ 1 + (1 | item)"})
    with pytest.raises(UserError, match="'laplace' is for the ideology model"):
        parse_analysis(config, QUICK)
