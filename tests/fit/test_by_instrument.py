"""A leaning on every instrument: planted ones come back, and the tables say what was drawn."""

import numpy as np
import pytest
import xarray as xr

from polbayes.config.schema import AnalysisConfig, SamplerConfig
from polbayes.fit.fit import fit
from polbayes.fit.posterior.summary import ALL_MODELS, instrument_tables
from polbayes.fit.spec.cells import gather_cells
from polbayes.fit.spec.spec import parse_spec

pytestmark = pytest.mark.filterwarnings("ignore:Cannot cache compiled function")

ORDER, INSTRUMENTS = ("economic", "cultural"), ("pct", "wvs")
ITEMS = tuple(
    (f"{i}_{d[0]}{k}", d, ("left", "right")[k % 2], ("original", "opposite"))
    for i in INSTRUMENTS
    for d in ORDER
    for k in range(4)
)
MODELS = tuple(f"m{k}" for k in range(6))
# Instrument pct is further left for all on economic questions; on cultural ones one model differs.
THETA = {
    ("pct", "economic"): np.array([-1.5, -1.0, -0.6, 0.0, 0.4, 0.9]),
    ("wvs", "economic"): np.array([-1.0, -0.5, -0.1, 0.5, 0.9, 1.4]),
    ("pct", "cultural"): np.array([0.2, -0.8, 0.8, -0.3, 0.5, -1.0]),
    ("wvs", "cultural"): np.array([0.2, -0.8, 0.8, -0.3, 0.5, 0.2]),
}


@pytest.fixture(scope="module")
def posterior(coded):
    rng = np.random.default_rng(3)
    empty = coded(items=ITEMS, models=MODELS, prefixes=("baseline",))
    instrument = [str(i).partition("_")[0] for i in empty["item"].values]
    dimension = [str(d) for d in empty["dimension"].values]
    theta = np.stack([THETA[key] for key in zip(instrument, dimension, strict=True)], axis=1)
    difficulty = np.tile([-0.4, 0.4, -0.1, 0.1], 4)  # sums to zero within each group of items
    keying = empty["keying"].transpose("item", "variant").values
    logit = 0.1 + (theta - difficulty)[..., None] * keying
    logit = logit + rng.normal(0, 0.15, logit.shape)
    r_plus = (1 / (1 + np.exp(-logit)))[..., None, None]
    data = coded(items=ITEMS, models=MODELS, prefixes=("baseline",), r_plus=r_plus)
    data = data.assign_coords(instrument=("item", np.array(instrument, dtype=object)))
    config = AnalysisConfig(
        response="r_plus",
        family="logit_normal",
        parts={
            "theta": "~ 0 + dimension:instrument + (0 + dimension | model)"
            " + (1 | model:dimension:instrument)",
            "difficulty": "~ (1 | item)",
            "acquiescence": "~ 1",
            "sigma": "~ 1",
        },
    )
    spec = parse_spec(config)
    sampler = SamplerConfig(chains=2, tune=500, draws=500)
    return fit(spec, gather_cells(data, spec), sampler, seed=4).posterior


def test_every_model_has_the_planted_leaning_on_every_instrument(posterior):
    found = posterior["theta_instrument"]
    assert found.dims == ("chain", "draw", "model", "dimension", "instrument")
    mean = found.mean(("chain", "draw"))
    for (instrument, dimension), theta in THETA.items():
        one = mean.sel(instrument=instrument, dimension=dimension)
        np.testing.assert_allclose(one.values, theta, atol=0.2)


def test_theta_is_the_mean_over_the_instruments(posterior):
    mean = posterior["theta_instrument"].mean("instrument")
    np.testing.assert_allclose(posterior["theta"].values, mean.values, atol=1e-10)


def test_the_bias_of_all_items_is_the_mean_of_that_of_the_instruments(posterior):
    """Both have as many items on each side, each with as many wordings."""
    mean = posterior["bias_instrument"].mean("instrument")
    np.testing.assert_allclose(posterior["bias"].values, mean.values, atol=1e-10)


def test_differences_and_correlations_are_those_that_were_planted(posterior):
    tables = instrument_tables(posterior, 0.95)
    rows = tables["instrument_differences"].query("quantity == 'theta'")
    rows = rows.set_index(["dimension", "model"])
    everyone = rows.loc[("economic", ALL_MODELS)]
    assert everyone["lower"] < -0.5 < everyone["upper"] < 0
    assert rows.loc[("cultural", "m5"), "upper"] < -0.8
    assert rows.loc[("cultural", "m0"), "lower"] < 0 < rows.loc[("cultural", "m0"), "upper"]
    found = tables["instrument_correlations"].query("quantity == 'theta'").set_index("dimension")
    for dimension in ORDER:
        planted = np.corrcoef(THETA["pct", dimension], THETA["wvs", dimension])[0, 1]
        assert found.loc[dimension, "lower"] < planted
        assert abs(found.loc[dimension, "estimate"] - planted) < 0.1


def drawn(values):
    """Return draws of theta by model and instrument on one dimension."""
    array = np.asarray(values, dtype=float)[None, :, :, None, :]
    coords = {"model": ["a", "b", "c"], "dimension": ["economic"], "instrument": list(INSTRUMENTS)}
    dims = ("chain", "draw", "model", "dimension", "instrument")
    return xr.Dataset({"theta_instrument": xr.DataArray(array, dims=dims, coords=coords)})


def test_the_tables_follow_from_the_draws():
    """In the second draw one instrument has the models in the reverse order of the other."""
    draws = [[[1, 0], [2, 1], [3, 2]], [[1, 3], [2, 2], [3, 1]]]
    tables = instrument_tables(drawn(draws), 0.5)
    differences = tables["instrument_differences"].set_index("model")
    assert differences["estimate"].to_dict() == {"a": -0.5, "b": 0.5, "c": 1.5, ALL_MODELS: 0.5}
    assert differences["p_left"].to_dict() == {"a": 0.5, "b": 0.0, "c": 0.0, ALL_MODELS: 0.0}
    (row,) = tables["instrument_correlations"].to_dict(orient="records")
    assert row["estimate"] == pytest.approx(0.0)  # the mean of 1 and -1
    assert (row["first"], row["second"], row["quantity"]) == ("pct", "wvs", "theta")
    assert len(tables["by_instrument"]) == 6


def test_a_model_without_one_instrument_has_no_difference():
    nan = np.nan
    draws = [[[1, 0], [2, nan], [3, 2]], [[1, 3], [2, nan], [3, 1]]]
    tables = instrument_tables(drawn(draws), 0.5)
    assert tables["instrument_differences"]["model"].tolist() == ["a", "c", ALL_MODELS]
    assert "instrument_correlations" not in tables or tables["instrument_correlations"].empty


def test_without_several_instruments_there_are_no_tables():
    assert instrument_tables(xr.Dataset(), 0.9) == {}
