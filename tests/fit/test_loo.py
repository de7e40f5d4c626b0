"""Leaving cells out, against closed forms and against fits without the cell."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import stats

from polbayes.config.schema import SamplerConfig
from polbayes.fit.density.model import build
from polbayes.fit.fit import save_posterior
from polbayes.fit.posterior.arviz_groups import arviz_groups
from polbayes.fit.posterior.loo import AT_ONCE, Loo, from_table, leave_one_out, loo_tables, psis_loo
from polbayes.fit.posterior.pointwise import draws_of, likelihoods, log_likelihood
from polbayes.fit.posterior.power_scaling import log_likelihood_of

pytestmark = pytest.mark.filterwarnings("ignore:Cannot cache compiled function")

ITEMS = (
    ("e1", "economic", "left", ("original", "opposite")),
    ("e2", "economic", "right", ("original", "opposite")),
    ("c1", "cultural", "right", ("original", "opposite")),
    ("c2", "cultural", "left", ("original", "opposite")),
)
PARTS = {
    "theta": "~ 0 + dimension",
    "acquiescence": "~ 1",
    "wording": "~ (1 | gr(model:item:variant, by = model))",
}


def test_normal_observations_have_their_exact_leave_one_out_densities():
    """y ~ N(mu, 1), mu ~ N(0, 4): without y_i, y_i is normal with the posterior's mean."""
    rng = np.random.default_rng(0)
    y = rng.normal(0.7, 1, 30)
    variance = 1 / (30 + 1 / 4)
    mu = rng.normal(variance * y.sum(), np.sqrt(variance), 20_000)
    logp = stats.norm(mu[None], 1).logpdf(y[:, None])
    elpd, p_loo, k = psis_loo(logp)
    without = 1 / (29 + 1 / 4)
    expected = stats.norm(without * (y.sum() - y), np.sqrt(1 + without)).logpdf(y)
    np.testing.assert_allclose(elpd, expected, atol=2e-3)
    whole = stats.norm(variance * y.sum(), np.sqrt(1 + variance)).logpdf(y)
    np.testing.assert_allclose(p_loo, whole - expected, atol=3e-3)
    assert (k < 0.5).all()


def test_a_cell_that_the_draws_say_nothing_about():
    elpd, p_loo, k = psis_loo(np.full((2, 200), np.log(0.25)))
    np.testing.assert_allclose(elpd, np.log(0.25))
    assert (p_loo == 0).all()
    assert (k == 0).all()


def test_an_influential_observation_is_flagged():
    """An outlier of eight standard deviations makes the weights' tail heavy."""
    rng = np.random.default_rng(0)
    y = np.array([0.0, 0.1, -0.2, 8.0])
    mu = rng.normal(y.sum() / 4.01, 1 / np.sqrt(4.01), 4000)
    *_, k = psis_loo(stats.norm(mu[None], 1).logpdf(y[:, None]))
    assert k[3] > 0.7 > k[0]


@pytest.fixture(scope="module")
def small(coded, bound):
    """Make up draws of a model with 32 cells, two of them never answered."""
    rng = np.random.default_rng(4)
    stance = rng.integers(-1, 2, (2, 4, 2, 2, 2))
    stance[0, 0, 0] = 3
    data = coded(stance, items=ITEMS, runs=2)
    parts = {**PARTS, "validity": "~ 1"}
    built = build(*bound(parts, data))
    size, scales = built.layout.blocks[-1].stop, len(built.layout.scales)
    vectors = {
        "effects": rng.normal(0, 0.4, (2, 300, size)),
        "sd": rng.uniform(0.2, 0.6, (2, 300, scales)),
        "gap": rng.uniform(0.8, 1.2, (2, 300, 1)),
    }
    return built, xr.Dataset({k: (("chain", "draw", k), v) for k, v in vectors.items()})


def test_the_size_of_the_chunks_changes_nothing(small):
    whole = leave_one_out(*small)
    for at_once in (1, 600 * 7):
        chunked = leave_one_out(*small, at_once=at_once)
        for one, other in zip(whole, chunked, strict=True):
            pd.testing.assert_frame_equal(one.cells, other.cells)


def test_cells_have_what_arviz_makes_of_their_log_likelihoods(small):
    import arviz_stats as az

    built, drawn = small
    part = likelihoods(built)["answers"]
    logp = log_likelihood(part, draws_of(drawn), slice(None))
    by_chain = logp.T.reshape(2, 300, len(part.at))
    logp_of_y = xr.Dataset({"y": (("chain", "draw", "cell"), by_chain)})
    data = xr.DataTree.from_dict({"log_likelihood": logp_of_y})
    # Draws made up independently are worth about as much as they are many.
    efficiency = np.mean(
        [az.ess(np.exp(by_chain[:, :, c]), method="mean") / 600 for c in range(len(part.at))]
    )
    assert efficiency == pytest.approx(1, abs=0.1)
    with pytest.warns(UserWarning, match="Estimated shape parameter"):  # of some made-up cells
        expected = az.loo(data, pointwise=True, reff=efficiency)
    (found, _) = leave_one_out(built, drawn)
    np.testing.assert_allclose(found.cells["elpd"], expected.elpd_i, rtol=1e-9)
    np.testing.assert_allclose(found.cells["pareto_k"], expected.pareto_k, rtol=1e-7)
    assert found.row()["p_loo"] == pytest.approx(expected.p)
    assert found.se == pytest.approx(np.sqrt(30) * np.std(expected.elpd_i, ddof=1))


def test_cells_and_summaries(small):
    answers, validity = leave_one_out(*small)
    assert (answers.part, validity.part) == ("answers", "validity")
    assert len(answers.cells) == 30
    assert len(validity.cells) == 32
    assert set(answers.cells["n"]) == {2}
    assert set(validity.cells["observed"]) == {"0 2", "2 0"}
    row = answers.row()
    assert row["elpd_loo"] == pytest.approx(answers.cells["elpd"].sum())
    assert row["se"] == pytest.approx(np.sqrt(30) * np.std(answers.cells["elpd"], ddof=1))
    assert sum(row[band] for band in ("k_good", "k_ok", "k_bad", "k_very_bad")) == 30
    assert row["answers"] == 60


def test_probabilities_of_an_answer_by_hand():
    """Two cells: 2 agree and 1 disagrees (3 ways), and 4 agree (1 way)."""
    elpd = [np.log(3 * 0.6**2 * 0.4), np.log(0.8**4)]
    cells = pd.DataFrame({"model": ["a", "b"], "observed": ["1 2", "0 4"], "n": [3, 4]})
    cells = cells.assign(elpd=elpd, p_loo=0.1, pareto_k=0.2, integrated=False)
    row = Loo("answers", cells).row()
    assert row["probability"] == pytest.approx((0.6**2 * 0.4 * 0.8**4) ** (1 / 7))
    assert row["guess"] == pytest.approx(((2 / 3) ** 2 / 3) ** (1 / 7))
    numbers = Loo("answers", cells.assign(observed=["0.25", "0.5"])).row()
    assert np.isnan(numbers["probability"])
    assert np.isnan(numbers["guess"])


def test_bands_of_k():
    k = [-0.2, 0.5, 0.51, 0.7, 0.71, 1.0, 1.2, np.inf]
    loo = Loo("answers", pd.DataFrame({"pareto_k": k}))
    assert loo.bands == {"k_good": 2, "k_ok": 2, "k_bad": 2, "k_very_bad": 2}
    assert loo.unreliable == 4


def test_tables_can_be_read_back(small, tmp_path):
    found = leave_one_out(*small)
    loo_tables(found)["loo_cells"].to_csv(tmp_path / "cells.csv", index=False)
    for one, other in zip(found, from_table(pd.read_csv(tmp_path / "cells.csv")), strict=True):
        assert one.part == other.part
        assert one.row() == pytest.approx(other.row())


@pytest.mark.slow
@pytest.mark.long
def test_leaving_out_a_cell_is_fitting_without_it(coded, bound):
    """Each cell has a wording effect of its own, which the fit without it knows nothing of.

    A model's effects sum to zero, so that they are integrated out approximately; what a cell adds
    to its own prediction in the whole fit (`p_loo`) is several times the tolerance.
    """
    from polbayes.fit.fit import fit

    rng = np.random.default_rng(2)
    stance = np.sign(rng.logistic(0.6, 1.3, (2, 4, 2, 1, 6)).round())
    data = coded(stance.astype(int), items=ITEMS, prefixes=["baseline"], runs=6)
    spec, cells, _ = bound({**PARTS, "acquiescence": "~ 1 + (1 | model)"}, data)
    sampler = SamplerConfig(chains=2, tune=500, draws=10_000)  # two sides of Monte Carlo error
    result = fit(spec, cells, sampler, seed=1)
    (loo,) = leave_one_out(result.built, result.drawn)
    assert loo.cells["integrated"].all()
    assert loo.unreliable <= 2  # the shape of a tail is itself estimated from few draws
    part = likelihoods(result.built, integrate=False)["answers"]
    for cell in (0, 5):
        counts = cells.counts.copy()
        counts[cell] = 0
        without = fit(spec, replace(cells, counts=counts), sampler, seed=2)
        # The effect of the cell that was left out is drawn from its distribution in that fit.
        logp = log_likelihood(part, draws_of(without.drawn), np.array([cell]))
        expected = np.log(np.exp(logp).mean())
        assert loo.cells["elpd"][cell] == pytest.approx(expected, abs=0.1)


@pytest.mark.filterwarnings("ignore:Estimated shape parameter")
def test_arviz_finds_its_groups_and_leaves_out_as_we_do(small, tmp_path):
    """The same elpd from az.loo on the file, and replicates that az.plot_ppc can pair."""
    import arviz as az

    built, drawn = small
    posterior = drawn[["gap"]].rename(gap="middle_gap")
    stats_ = xr.Dataset({"diverging": (("chain", "draw"), np.zeros((2, 300), dtype=bool))})
    (ours,) = [loo for loo in leave_one_out(built, drawn) if loo.part == "answers"]
    groups = arviz_groups(built, drawn, ours, seed=1)
    save_posterior(posterior, stats_, tmp_path / "posterior.nc", groups)
    found = az.from_netcdf(tmp_path / "posterior.nc")
    theirs = az.loo(found, reff=1.0)
    assert theirs.n_data_points == len(ours.cells)
    # The name of the sum changed in ArviZ 1.
    elpd = theirs.elpd if hasattr(theirs, "elpd") else theirs.elpd_loo
    assert elpd == pytest.approx(ours.elpd, abs=0.05)
    drawn_again, observed = (
        found.posterior_predictive["agreement"],
        found.observed_data["agreement"],
    )
    assert drawn_again.sizes == {"chain": 2, "draw": 300, "cell": len(ours.cells)}
    assert observed.sizes == {"cell": len(ours.cells)}
    given = built.cells.counts[built.cells.answered > 0]
    net = (given[:, -1] - given[:, 0]) / given.sum(axis=1)
    np.testing.assert_allclose(observed.values, net)
    assert float(abs(drawn_again).max()) <= 1
    assert observed["item"].values.tolist() == ours.cells["item"].astype(str).tolist()
    found.close()


def test_more_cells_than_fit_take_fewer_draws_or_none(small):
    cells = 30
    answers, validity = leave_one_out(*small, kept=200 * cells)
    groups = arviz_groups(*small, answers, seed=1)
    assert groups["log_likelihood"].sizes["draw"] == 100
    logp = log_likelihood(likelihoods(small[0])["answers"], draws_of(small[1]), slice(None))
    np.testing.assert_allclose(
        groups["log_likelihood"]["answers"], logp.T.reshape(2, 300, cells)[:, ::3], rtol=1e-6
    )
    assert not validity.thinned.size
    few, _ = leave_one_out(*small, kept=50 * cells)
    assert arviz_groups(*small, few, seed=1) == {}


def test_the_sums_over_cells_are_those_of_the_prior_sensitivity(small):
    for at_once in (AT_ONCE, 600 * 7):
        for loo in leave_one_out(*small, at_once=at_once):
            expected = log_likelihood_of(*small, loo.part)
            np.testing.assert_allclose(loo.total, expected, rtol=1e-12)
