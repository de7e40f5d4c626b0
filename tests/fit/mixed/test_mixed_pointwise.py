"""Likelihoods of rows against PyMC's own, and leaving rows out against fits without them."""

import arviz as az
import numpy as np
import pymc as pm
import pytest
import xarray as xr
from scipy import stats

from polbayes.config.schema import SamplerConfig
from polbayes.data.groups import group_of
from polbayes.fit.mixed.fit import fit_mixed, reduced
from polbayes.fit.mixed.model import build
from polbayes.fit.mixed.pointwise import leave_out_rows, pointwise
from polbayes.fit.mixed.readout import name_posterior

pytestmark = pytest.mark.filterwarnings("ignore:Cannot cache compiled function")

FORMULA = "~ keying + prefix + (keying | item)"
RESPONSE = {"gaussian": "r_plus", "beta": "r_plus", "cumulative": "stance"}
SHAPE = (2, 4, 2, 3, 2)


def answers(coded, family, seed=0):
    """Make answers of every kind to four items, by numpy alone."""
    rng = np.random.default_rng(seed)
    if family in ("gaussian", "beta"):
        return coded(1, r_plus=rng.uniform(0.02, 0.98, SHAPE), **DESIGN)
    return coded(rng.choice([-1, 0, 1] if family == "cumulative" else [-1, 1], SHAPE), **DESIGN)


ITEMS = tuple((f"i{k}", "economic", "left", ("original", "opposite")) for k in range(4))
DESIGN = {"items": ITEMS, "prefixes": ("a", "b", "c"), "runs": 2}


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("family", ["gaussian", "beta", "bernoulli", "binomial", "cumulative"])
def test_likelihoods_are_pymcs(coded, mixed, family):
    formula = FORMULA.replace("(keying | item)", "(0 + keying | item) + (1 | model)")
    spec = mixed(formula, family=family, response=RESPONSE.get(family, "agree"))
    _, ((_, rows),), _ = reduced(answers(coded, family), spec)
    model = build(rows, spec)
    free = [v.name for v in model.model.free_RVs]
    wanted = [*free, *(v.name for v in model.model.deterministics)]
    with model.model:
        drawn = pm.sample_prior_predictive(draws=5, var_names=wanted, random_seed=1)
        prior = group_of(drawn, "prior")
        # PyMC 6 takes a DataTree.
        convert = getattr(az, "convert_to_datatree", None) or az.convert_to_inference_data
        reference = pm.compute_log_likelihood(
            convert(prior[free]), extend_inferencedata=False, progressbar=False
        ).to_array()
    found = pointwise(rows, spec, name_posterior(model, prior))
    logp = found.log_likelihood(slice(None))
    assert logp.shape == (len(rows.frame), 5)
    expected = reference.values.reshape(5, -1).T
    np.testing.assert_allclose(logp, expected, rtol=1e-8, atol=1e-8)
    some = np.array([3, 0])
    np.testing.assert_array_equal(found.log_likelihood(some), logp[some])


def test_leaving_a_row_out_is_fitting_without_it(coded, mixed):
    """Refit without a few of the rows, exactly, and predict them."""
    data = answers(coded, "gaussian", seed=3)
    spec = mixed("~ keying + (1 | item)")
    sampler = SamplerConfig(backend="exact", chains=4, draws=1000)
    found = leave_out_rows(data, spec, fit_mixed(data, spec, sampler, seed=1).posterior)
    assert len(found.cells) == np.prod(SHAPE)
    assert found.unreliable == 0
    _, ((_, rows),), _ = reduced(data, spec)
    for number in (0, 17, 95):
        row = found.cells.iloc[number]
        cell = {name: row[name] for name in ("model", "item", "variant", "prefix")}
        at = data["r_plus"].coords.to_dataset().reset_coords(drop=True)
        gone = xr.ones_like(data["r_plus"], dtype=bool)
        gone.loc[{**cell, "run": at["run"].values[number % 2]}] = False
        without = data.assign(r_plus=data["r_plus"].where(gone))
        left = fit_mixed(without, spec, sampler, seed=2).posterior
        logp = pointwise(rows, spec, left).log_likelihood(np.array([number]))[0]
        assert row["elpd"] == pytest.approx(np.log(np.exp(logp).mean()), abs=0.02)


def test_every_stratum_has_its_own_posterior(coded, mixed):
    data = answers(coded, "gaussian", seed=5)
    sampler = SamplerConfig(backend="exact", chains=4, draws=500)
    whole = mixed("~ keying + (1 | item)", by="model")
    found = leave_out_rows(data, whole, fit_mixed(data, whole, sampler, seed=1).posterior)
    alone = mixed("~ keying + (1 | item)")
    for number, name in enumerate(data["model"].values):
        own = data.sel(model=[name])
        fitted = fit_mixed(own, alone, sampler, seed=1 + number)
        expected = leave_out_rows(own, alone, fitted.posterior).cells
        cells = found.cells[found.cells["model"] == name]
        np.testing.assert_allclose(cells["elpd"], expected["elpd"])


def test_probabilities_of_points_in_either_tail(coded, mixed):
    """Where differences of probabilities cancel, too."""
    data = answers(coded, "cumulative", seed=2)
    spec = mixed("~ keying", family="cumulative", response="stance")
    _, ((_, rows),), _ = reduced(data, spec)
    coords = {"chain": [0], "draw": [0], "term": ["keying"]}
    coords["threshold_name"] = ["disagree|neutral", "neutral|agree"]
    for cuts in ((-0.4, 1.1), (-41.0, -40.5), (39.5, 41.0)):
        posterior = xr.Dataset(
            {
                "coefficient": (("chain", "draw", "term"), [[[0.7]]]),
                "threshold": (("chain", "draw", "threshold_name"), [[list(cuts)]]),
            },
            coords,
        )
        found = pointwise(rows, spec, posterior)
        logp = found.log_likelihood(slice(None))[:, 0]
        eta = 0.7 * rows.frame["keying"].to_numpy()
        lower = np.array([-np.inf, *cuts])[found.answers.astype(int)] - eta
        upper = np.array([*cuts, np.inf])[found.answers.astype(int)] - eta
        # In the upper tail the difference is taken of survival functions.
        exact = np.where(
            lower > 0,
            stats.logistic.sf(lower) - stats.logistic.sf(upper),
            stats.logistic.cdf(upper) - stats.logistic.cdf(lower),
        )
        np.testing.assert_allclose(logp, np.log(exact), rtol=1e-6, atol=1e-12)
