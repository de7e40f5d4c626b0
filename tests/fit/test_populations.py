"""Populations as distributions: recovered from shares of answers, and tables by hand."""

import numpy as np
import pytest
import xarray as xr

from polbayes.config.schema import SamplerConfig
from polbayes.errors import UserError
from polbayes.fit.analysis import fit_analysis
from polbayes.fit.posterior.populations import population_tables, spreads
from polbayes.fit.spec.cells import gather_cells
from polbayes.fit.spec.terms import bind

ITEMS = tuple((f"i{k:02}", "economic", ("left", "right")[k % 2], ("original",)) for k in range(30))
PARTS = {
    "theta": "~ 1 + (1 | model)",
    "decisiveness": "~ 1 + (1 | model)",
    "difficulty": "~ (1 | item)",
    "quirk": "~ (1 | model:item)",
}
WHO = {"populations": {"who": "population"}}
PARTIES, PERSONS, KAPPA, MEAN, SPREAD = 12, 400, 3.0, 0.5, 1.5


@pytest.fixture(scope="module")
def answered(coded):
    """Parties answer four times; of the population every answer is that of another person."""
    rng = np.random.default_rng(4)
    keying = np.array([1 if k % 2 else -1 for k in range(30)])
    middle = rng.normal(0, 0.7, 30)
    theta = rng.normal(0, 1, PARTIES)
    party = theta[:, None] - middle + rng.normal(0, 1, (PARTIES, 30))
    persons = rng.normal(MEAN, SPREAD, (30, PERSONS)) - middle[:, None]
    persons = persons + rng.normal(0, 1, (30, PERSONS))
    belief = np.repeat(party[:, :, None], PERSONS, axis=2)
    belief = np.concatenate([belief, persons[None]])
    latent = keying[:, None] * belief + rng.logistic(size=belief.shape) / KAPPA
    stance = (np.sign(latent) * (np.abs(latent) > 0.4)).astype(int)
    stance[:-1, :, 4:] = -128
    names = [*(f"p{k}" for k in range(PARTIES)), "voters"]
    data = coded(
        stance[:, :, None, None], items=ITEMS, models=names, prefixes=("baseline",), runs=PERSONS
    )
    return data.assign_coords(who=("model", ["party"] * PARTIES + ["population"]))


@pytest.mark.slow
@pytest.mark.long
def test_mean_and_spread_of_a_population_are_recovered(answered, spec_of):
    spec = spec_of(PARTS, **WHO)
    sampler = SamplerConfig(chains=2, tune=300, draws=300)
    tables = fit_analysis(spec, answered, sampler, level=0.95, seed=1).tables
    about = tables["populations"].set_index("quantity")
    assert about.loc["mean", "lower"] < MEAN < about.loc["mean", "upper"]
    assert about.loc["spread", "lower"] < SPREAD < about.loc["spread", "upper"]
    assert about.loc["spread", "upper"] < 3
    assert len(tables["population_shares"]) == PARTIES


@pytest.mark.slow
@pytest.mark.long
def test_positions_on_the_scale_of_the_population(answered, spec_of):
    """The persons have mean 0 and standard deviation 1, and parties are where they are in truth."""
    spec = spec_of(PARTS, **WHO, scale="population")
    sampler = SamplerConfig(chains=2, tune=200, draws=200)
    tables = fit_analysis(spec, answered, sampler, level=0.9, seed=1).tables
    about = tables["populations"].set_index("quantity")[["lower", "upper"]]
    np.testing.assert_allclose(about.loc["mean"], 0, atol=1e-12)
    np.testing.assert_allclose(about.loc["spread"], 1)
    theta = tables["theta"].set_index("model")
    assert theta["scale"].unique().tolist() == ["population"]
    assert theta.loc["voters", "estimate"] == 0
    rng = np.random.default_rng(4)
    rng.normal(0, 0.7, 30)
    planted = (rng.normal(0, 1, PARTIES) - MEAN) / SPREAD
    own = theta.loc[[f"p{k}" for k in range(PARTIES)]]
    inside = (own["lower"].to_numpy() < planted) & (planted < own["upper"].to_numpy())
    assert inside.mean() >= 0.75
    assert np.corrcoef(own["estimate"], planted)[0, 1] > 0.9


def test_the_scale_is_that_of_one_population(answered, spec_of):
    kinds = ["party"] * (PARTIES - 1) + ["population"] * 2
    spec = spec_of(PARTS, **WHO, scale="population")
    data = answered.assign_coords(who=("model", kinds))
    with pytest.raises(UserError, match=r"2 of the models have who population; the scale of"):
        bind(spec, gather_cells(data, spec))


def test_tables_by_hand():
    """Two draws: c² = 0.34585; 1/g² = 1/k² + c² (t² + 1) with k = 1 and t = 2 or 0."""
    c2 = 256 * 3 / (225 * np.pi**2)
    own = [1 / np.sqrt(1 + 5 * c2), 1.0]
    coords = {"model": ["m", "voters"], "dimension": ["economic"]}
    posterior = xr.Dataset(
        {
            "theta": (("chain", "draw", "model", "dimension"), [[[[3.0], [1.0]], [[3.0], [1.0]]]]),
            "decisiveness": (("chain", "draw", "model"), [[[1.0, own[0]], [1.0, own[1]]]]),
        },
        coords,
    )
    assert spreads(posterior, ["voters"], held=9.0)[:, 0].tolist() == pytest.approx([2.0, 0.0])
    unknown = posterior["decisiveness"].where(posterior["model"] == "voters")
    once = posterior.assign(decisiveness=unknown)
    assert spreads(once, ["voters"], held=1.0)[:, 0].tolist() == pytest.approx([2.0, 0.0])
    shown = posterior.assign(theta=(posterior["theta"] - 1) / 4)
    tables = population_tables(posterior, shown, ["voters"], level=0.9, held=9.0)
    about = tables["populations"].set_index("quantity")["estimate"]
    assert (about["mean"], about["spread"]) == (0.0, pytest.approx(0.25))
    # One standard deviation right of the mean, and right of everybody.
    assert tables["population_shares"]["estimate"].item() == pytest.approx((0.8413447 + 1) / 2)


def test_populations_that_are_none_are_refused(answered, spec_of):
    with pytest.raises(UserError, match="the spread of persons is read off the decisiveness"):
        spec_of({"theta": "~ 1 + (1 | model)"}, **WHO)
    spec = spec_of(PARTS, populations={"who": "person"})
    with pytest.raises(UserError, match="none of the models have who person"):
        bind(spec, gather_cells(answered, spec))
