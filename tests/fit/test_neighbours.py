"""The order from left to right, with the certainty of neighbouring pairs."""

import numpy as np
import pytest
import xarray as xr

from polbayes.fit.posterior.neighbours import neighbours

MODELS = ["b", "a", "odd", "c"]


def posterior_of(*dimensions):
    """Build theta from ``[draw, model]`` values by dimension, in two chains."""
    values = np.stack([np.asarray(d, float) for d in dimensions], axis=-1)
    values = values.reshape(2, -1, *values.shape[1:])
    coords = {"model": MODELS, "dimension": ["economic", "cultural"][: len(dimensions)]}
    return xr.Dataset({"theta": (("chain", "draw", "model", "dimension"), values)}, coords)


# Medians 1, -1, 5 and 2: in one draw of four b is left of a, in two of four b is right of c.
ECONOMIC = [[1, -1, 5, 2], [-1, -0.5, 5, 2], [3, -1, 5, 2], [1, -2, 5, 0]]


def test_neighbours_by_hand():
    table = neighbours(posterior_of(ECONOMIC), level=0.5)
    assert table[["place", "model", "next"]].to_numpy().tolist() == [
        *([1, "a", "b"], [2, "b", "c"], [3, "c", "odd"])
    ]
    assert table["p_left"].tolist() == [0.75, 0.5, 1.0]
    # The distances of a to b are 2, -0.5, 4 and 3.
    assert table["estimate"].iloc[0] == pytest.approx(8.5 / 4)
    assert table["lower"].iloc[0] == pytest.approx(2 - 0.25 * 2.5)
    assert set(table["dimension"]) == {"economic"}
    assert set(table["among"]) == {"all"}


def test_a_reference_is_also_ordered_alone():
    table = neighbours(posterior_of(ECONOMIC), level=0.9, reference=["b", "odd"])
    alone = table[table["among"] == "reference"]
    assert alone[["place", "model", "next", "p_left"]].to_numpy().tolist() == [[1, "b", "odd", 1]]
    assert (table["among"] == "all").sum() == 3


def test_the_mean_of_dimensions_has_an_order_of_its_own():
    cultural = np.array([[0, 9, np.nan, 1]] * 4, float)
    table = neighbours(posterior_of(ECONOMIC, cultural), level=0.9)
    by = {d: rows[["model", "next"]].to_numpy().tolist() for d, rows in table.groupby("dimension")}
    assert by["cultural"] == [["b", "c"], ["c", "a"]]
    # Means of the two dimensions, about 0.5, 1.5 and 4; odd has the one that it was asked on, 5.
    assert by["total"] == [["b", "c"], ["c", "a"], ["a", "odd"]]
    assert len(by["economic"]) == 3
