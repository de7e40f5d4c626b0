"""The same models asked in several modes: posterior, tables by hand, and a recovery."""

import numpy as np
import pytest
import xarray as xr

from polbayes.config.compose import compose
from polbayes.config.schema import SamplerConfig
from polbayes.fit.analysis import fit_analysis
from polbayes.fit.posterior.modes import mode_tables
from polbayes.fit.spec.spec import parse_spec

ITEMS = tuple((f"i{k:02}", "economic", ("left", "right")[k % 2], ("original",)) for k in range(24))
MODES = ("choice", "choice", "open", "open")
MODELS = tuple(f"m{k}" for k in range(8))


@pytest.fixture(scope="module")
def fitted(coded):
    """In open answers all models are 1 further right, and half as far apart."""
    rng = np.random.default_rng(2)
    keying = np.array([1 if k % 2 else -1 for k in range(24)])
    theta = np.linspace(-2, 2, 8)
    slope, shift = np.array([1.4, 1.4, 0.7, 0.7]), np.array([0, 0, 1.0, 1.0])
    belief = theta[:, None, None] * slope + shift + rng.normal(0, 1, (8, 24))[..., None]
    latent = keying[:, None] * belief + rng.logistic(size=(8, 24, 4)) / 3
    stance = (np.sign(latent) * (abs(latent) > 0.4)).astype(int)[:, :, None, None]
    data = coded(stance, items=ITEMS, models=MODELS, prefixes=("baseline",), runs=4)
    data = data.assign_coords(mode=("run", np.array(MODES, dtype=object)))
    analysis = compose(["+experiment=wvs_prefixes", "analysis=ideology_modes"])[0].analysis
    sampler = SamplerConfig(chains=2, tune=400, draws=300)
    return fit_analysis(parse_spec(analysis), data, sampler, level=0.98, seed=1)


@pytest.mark.slow
@pytest.mark.long
def test_planted_effects_of_modes_are_found(fitted):
    modes = fitted.tables["modes"].set_index(["quantity", "mode"])
    for quantity, mode, planted in (
        ("leaning", "open", 0.5),
        ("leaning", "choice", -0.5),
        ("discrimination", "choice", np.sqrt(2)),
        ("discrimination", "open", np.sqrt(0.5)),
    ):
        row = modes.loc[(quantity, mode)]
        assert row["lower"] < planted < row["upper"], (quantity, mode)
    pairs = fitted.tables["mode_pairs"].set_index("quantity")
    assert pairs.loc["correlation", "estimate"] > 0.9
    assert pairs.loc["difference", "lower"] < -1 < pairs.loc["difference", "upper"]
    assert modes.loc[("adds", "open"), "estimate"] < 0.2
    assert len(fitted.tables["mode_positions"]) == 8 * 2


def test_tables_by_hand():
    """Positions by mode (1, 2, 4) and (0, 2, 1), one draw; correlation by Pearson's formula."""
    places = np.array([[1.0, 0.0], [2.0, 2.0], [4.0, 1.0]])
    dims = ("chain", "draw", "model", "dimension", "mode")
    coords = {"model": ["a", "b", "c"], "dimension": ["economic"], "mode": ["x", "y"]}
    values = np.stack([places, places])[None, :, :, None, :]
    tables = mode_tables(xr.Dataset({"theta_mode": (dims, values)}, coords), level=0.9)
    pairs = tables["mode_pairs"].set_index("quantity")["estimate"]
    a, b = np.array([-4, -1, 5]) / 3, np.array([-1, 1, 0])
    r = (a * b).sum() / np.sqrt((a**2).sum() * (b**2).sum())
    assert pairs["correlation"] == pytest.approx(r)
    assert pairs["difference"] == pytest.approx(7 / 3 - 1)
    modes = tables["modes"].set_index(["quantity", "mode"])["estimate"]
    assert modes["leaning", "x"] == pytest.approx(2 / 3)
    assert modes["adds", "x"] == modes["adds", "y"] == pytest.approx(1 - r**2)
    assert tables["mode_positions"]["estimate"].tolist() == [1, 0, 2, 2, 4, 1]


def test_a_single_mode_has_no_tables(coded, spec_of):
    assert mode_tables(xr.Dataset(), level=0.9) == {}
