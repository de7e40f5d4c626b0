"""Tables of positions over time: of snapshots, and of what changed between them."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from polbayes.fit.posterior.over_time import over_time_tables, snapshots
from polbayes.fit.spec.cells import gather_cells
from tests.fit.test_walk import PARTS, SIGNED, dated

# In another order than that of the times; c was asked once.
SNAPSHOTS = (("b", 2009), ("a", 2013), ("a", 2002), ("b", 2005), ("c", 2013), ("a", 2009))
MODELS = tuple(f"{party}{year}" for party, year in SNAPSHOTS)
LEAN = {"a2002": -0.5, "a2009": -0.5, "a2013": 0.4, "b2005": 0.3, "b2009": 0.28, "c2013": 0.0}


@pytest.fixture
def data(coded):
    return dated(coded, models=MODELS, snapshots=SNAPSHOTS)


@pytest.fixture
def posterior():
    """Draws with standard deviation 0.02 around the leans, and theta three times as large."""
    rng = np.random.default_rng(1)
    names = [*MODELS]
    lean = np.array([LEAN[name] for name in names]) + rng.normal(0, 0.02, (2, 500, 6))
    coords = {"model": names, "dimension": ["economic"]}
    dims = ("chain", "draw", "model", "dimension")
    return xr.Dataset(
        {"lean": (dims, lean[..., None]), "theta": (dims, 3 * lean[..., None])}, coords=coords
    )


def test_snapshots_are_in_the_order_of_times(data, spec_of):
    spec = spec_of(PARTS, **SIGNED)
    found = snapshots(spec, gather_cells(data, spec))
    assert list(found.itertuples(index=False, name=None)) == [
        ("a", "2002", "a2002"),
        ("a", "2009", "a2009"),
        ("a", "2013", "a2013"),
        ("b", "2005", "b2005"),
        ("b", "2009", "b2009"),
        ("c", "2013", "c2013"),
    ]


def test_positions_and_changes_are_those_of_the_posterior(data, spec_of, posterior):
    spec = spec_of(PARTS, **SIGNED)
    tables = over_time_tables(posterior, spec, gather_cells(data, spec), level=0.9, rope=0.1)
    places = tables["over_time"].set_index(["who", "time"])["estimate"]
    assert places["a", "2013"] == pytest.approx(1.2, abs=0.01)
    assert len(places) == 6
    rows = tables["changes"].set_index(["who", "span", "before", "after"])
    assert list(rows.index) == [
        ("a", "next", "2002", "2009"),
        ("a", "next", "2009", "2013"),
        ("a", "first to last", "2002", "2013"),
        ("b", "next", "2005", "2009"),
    ]
    np.testing.assert_allclose(rows["estimate"], [0.0, 0.9, 0.9, -0.02], atol=0.005)
    assert rows["decision"].tolist() == ["equal", "right", "right", "equal"]
    # A difference of two draws with standard deviation 0.02: 1.645 times sqrt(2) times that.
    np.testing.assert_allclose(rows["upper"] - rows["estimate"], 0.0465, atol=0.008)


def test_there_are_none_without_a_random_walk(data, spec_of, posterior):
    spec = spec_of({**PARTS, "theta": "~ (0 + dimension | model)"}, **SIGNED)
    cells = gather_cells(data, spec)
    assert over_time_tables(posterior, spec, cells, level=0.9, rope=0.1) == {}


def test_there_are_none_of_models_that_are_asked_at_several_times(data, spec_of, posterior):
    spec = spec_of(PARTS, **SIGNED)
    cells = gather_cells(data, spec)
    twice = replace(cells, frame=pd.concat([cells.frame, cells.frame.assign(year=2020)]))
    assert over_time_tables(posterior, spec, twice, level=0.9, rope=0.1) == {}
