"""Positions on the scale of the reference."""

import numpy as np
import pytest
import xarray as xr

from polbayes.config.schema import SamplerConfig
from polbayes.errors import UserError
from polbayes.fit.analysis import fit_analysis
from polbayes.fit.posterior.scale import on_population, on_reference

DIMENSION_OF = {"e1": "economic", "c1": "cultural", "e2": "economic"}


def made(sign):
    rng = np.random.default_rng(3)
    coords = {"model": list("abcd"), "dimension": ["economic", "cultural"], "item": [*DIMENSION_OF]}
    draws = ("chain", "draw")
    theta = rng.normal(1.0, 2.0, (2, 5, 4, 2))
    disc = rng.normal(size=(2, 5, 3)) if sign == "either" else np.exp(rng.normal(size=(2, 5, 3)))
    out = xr.Dataset(
        {
            "theta": ((*draws, "model", "dimension"), theta),
            "theta_asked": ((*draws, "model", "dimension"), theta + 0.3),
            "difficulty": ((*draws, "item"), rng.normal(size=(2, 5, 3))),
            "discrimination": ((*draws, "item"), disc),
        },
        coords,
    )
    out["discrimination"].attrs["sign"] = sign
    return out


def predictor(posterior, sign):
    of_item = xr.DataArray(list(DIMENSION_OF.values()), dims="item")
    theta = posterior["theta"].sel(dimension=of_item)
    a, b = posterior["discrimination"], posterior["difficulty"]
    return (a * theta - b) if sign == "either" else a * (theta - b)


@pytest.mark.parametrize("sign", ["+", "either"])
def test_the_scale_changes_and_the_predictor_does_not(sign):
    before = made(sign)
    after = on_reference(before, ["a", "c", "d"], DIMENSION_OF)
    known = after["theta"].sel(model=["a", "c", "d"])
    np.testing.assert_allclose(known.mean("model"), 0, atol=1e-12)
    np.testing.assert_allclose(known.std("model", ddof=1), 1)
    np.testing.assert_allclose(after["theta_asked"], after["theta"])
    one, other = (predictor(each, sign) for each in (before, after))
    np.testing.assert_allclose(*xr.align(one.transpose(*other.dims), other))
    assert after["discrimination"].attrs["sign"] == sign
    assert after["theta"].dims == before["theta"].dims


@pytest.mark.parametrize("sign", ["+", "either"])
def test_the_scale_of_a_population_is_its_mean_and_the_spread_of_its_persons(sign):
    """With decisiveness 1 and 1/g² = 1 + 5 c², the persons' standard deviation is 2."""
    before = made(sign)
    sharp = np.ones((2, 5, 4))
    sharp[..., 1] = 1 / np.sqrt(1 + 5 * 256 * 3 / (225 * np.pi**2))
    before["decisiveness"] = (("chain", "draw", "model"), sharp)
    after = on_population(before, "b", DIMENSION_OF, held=4.5)
    expected = (before["theta"] - before["theta"].sel(model="b")) / 2
    np.testing.assert_allclose(after["theta"], expected)
    np.testing.assert_allclose(after["theta_asked"], expected)
    one, other = (predictor(each, sign) for each in (before, after))
    np.testing.assert_allclose(*xr.align(one.transpose(*other.dims), other))
    sharp[0, :2, 1] = 1.0
    with pytest.raises(UserError, match=r"in 20\.0% of the draws the persons of b do not differ"):
        on_population(before, "b", DIMENSION_OF, held=4.5)


def test_a_fit_reports_the_scale_of_the_reference(coded, spec_of):
    rng = np.random.default_rng(1)
    items = tuple((f"q{k}", "economic", ("left", "right")[k % 2], ("original",)) for k in range(12))
    theta = np.array([2.0, -1.0, 0.0, 1.0])[:, None]
    keying = np.array([1 if k % 2 else -1 for k in range(12)])
    latent = keying * (theta + rng.normal(size=12)) + rng.logistic(size=(4, 12))
    data = coded(
        (np.sign(latent) * (abs(latent) > 0.4)).astype(int)[..., None, None, None],
        items=items,
        models=("bot", "red", "gold", "blue"),
        prefixes=("baseline",),
    ).assign_coords(who=("model", ["model", "party", "party", "party"]))
    parts = {"theta": "~ 1 + (1 | model)", "difficulty": "~ (1 | item)"}
    spec = spec_of(parts, reference={"who": "party"}, scale="reference")
    sampler = SamplerConfig(chains=2, tune=200, draws=200)
    fitted = fit_analysis(spec, data, sampler, level=0.9, seed=1)
    table = fitted.tables["theta"].set_index("model")
    known = fitted.tables["reference_scale"].set_index("model")
    assert table["scale"].unique().tolist() == ["reference"]
    np.testing.assert_allclose(table["estimate"], known.loc[table.index, "estimate"])
    np.testing.assert_allclose(table["lower"], known.loc[table.index, "lower"])
    assert table.drop("bot")["estimate"].sum() == pytest.approx(0, abs=1e-12)
    rows = fitted.tables["contrasts"].query("measure == 'theta' and dimension == 'economic'")
    first = rows[(rows["model_a"] == "bot") & (rows["model_b"] == "red")].iloc[0]
    apart = table.loc["bot", "estimate"] - table.loc["red", "estimate"]
    assert first["estimate"] == pytest.approx(apart)


def test_there_is_no_such_scale_without_a_reference(spec_of):
    with pytest.raises(UserError, match="scale: positions on the scale of the reference"):
        spec_of({"theta": "~ 1 + (1 | model)"}, scale="reference")
    with pytest.raises(UserError, match="parties"):
        spec_of({"theta": "~ 1 + (1 | model)"}, scale="parties")
    with pytest.raises(UserError, match="scale: positions on the scale of a population need one"):
        spec_of({"theta": "~ 1 + (1 | model)"}, scale="population")
