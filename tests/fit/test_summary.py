import numpy as np
import pandas as pd
import pytest
import xarray as xr

from polbayes.fit.posterior.intervals import interval_table
from polbayes.fit.posterior.summary import pairwise, positions, ranks, summarise

MODELS, DIMENSIONS = ["a", "b", "c"], ["economic", "cultural"]


def array(values, *dims, **coords):
    return xr.DataArray(np.asarray(values, float), dims=("chain", "draw", *dims), coords=coords)


@pytest.fixture
def theta():
    """Four draws (two chains of two) of three models.

    Economic: a is always left of b; c is left of a in one draw and right of b in the others.
    Cultural: all equal shifts, so that a < b < c throughout.
    """
    economic = np.array([[-1, 0, 1], [-1, 0.5, 2], [-2, 1, 3], [-0.5, 0.5, -1.0]])
    cultural = np.array([[-3, 0, 3]] * 4) + np.arange(4)[:, None]
    values = np.stack([economic, cultural], axis=-1).reshape(2, 2, 3, 2)
    return array(values, "model", "dimension", model=MODELS, dimension=DIMENSIONS)


@pytest.fixture
def posterior(theta):
    bias = theta / 10
    return xr.Dataset(
        {
            "theta": theta,
            "theta_asked": theta / 2,
            "lean": theta / 20,
            "bias": bias,
            "bias_total": bias.mean("dimension"),
        }
    )


def cell(table, column, **where):
    for name, value in where.items():
        table = table[table[name] == value]
    assert len(table) == 1
    return table[column].iloc[0]


def test_an_interval_by_hand():
    """0 to 100 in steps of 1: mean 50, the 5 % and 95 % points, and 40 % below 40."""
    values = array(np.arange(101.0)[None, :, None] - 40, "model", model=["a"])
    table = interval_table(values, 0.9, left=True)
    assert list(table.columns) == ["model", "estimate", "sd", "lower", "upper", "p_left", "level"]
    (row,) = table.itertuples(index=False)
    assert row.estimate == pytest.approx(10)
    assert row.sd == pytest.approx(np.sqrt(101 * 102 / 12))  # of the whole numbers from 1 to n
    assert (row.lower, row.upper) == (pytest.approx(-35), pytest.approx(55))
    assert row.p_left == pytest.approx(40 / 101)
    assert row.level == 0.9


def test_chains_are_pooled():
    values = array(np.array([[0.0, 1, 2], [10, 11, 12]])[..., None], "model", model=["a"])
    (row,) = interval_table(values, 0.5).itertuples(index=False)
    assert row.estimate == pytest.approx(6)
    assert row.lower == pytest.approx(1.25)
    assert row.upper == pytest.approx(10.75)


def test_what_does_not_occur_stays_empty():
    values = array([[[0.0, np.nan], [2.0, np.nan]]], "item", item=["x", "y"])
    table = interval_table(values, 0.9, left=True).set_index("item")
    assert table.loc["x", "estimate"] == 1
    assert table.loc["y", ["estimate", "lower", "upper", "p_left"]].isna().all()


def test_theta_and_bias_say_how_likely_left_is(posterior):
    tables = summarise(posterior, level=0.9)
    assert cell(tables["theta"], "p_left", model="a", dimension="economic") == 1
    assert cell(tables["theta"], "p_left", model="c", dimension="economic") == 0.25
    assert cell(tables["theta"], "p_left", model="b", dimension="economic") == 0  # 0 is not left
    assert cell(tables["theta"], "estimate", model="b", dimension="cultural") == 1.5
    bias = tables["bias_posterior"]
    assert set(bias["dimension"]) == {"economic", "cultural", "total"}
    assert cell(bias, "estimate", model="b", dimension="cultural") == pytest.approx(0.15)
    # Model c, total: half of (1 + 3, 2 + 4, 3 + 5, -1 + 6) / 10.
    assert cell(bias, "estimate", model="c", dimension="total") == pytest.approx(
        np.mean([4, 6, 8, 5]) / 20
    )


def test_the_total_position_is_the_mean_of_the_dimensions(theta, posterior):
    total = positions(posterior).sel(dimension="total")
    np.testing.assert_allclose(
        total, (theta.sel(dimension="economic") + theta.sel(dimension="cultural")) / 2
    )
    assert list(positions(posterior)["dimension"].values) == [*DIMENSIONS, "total"]


def test_pairs(posterior):
    table = pairwise(posterior)
    assert len(table) == 3 * 2 * 3
    assert cell(table, "p_left", model_a="a", model_b="b", dimension="economic") == 1
    assert cell(table, "p_left", model_a="b", model_b="a", dimension="economic") == 0
    assert cell(table, "p_left", model_a="c", model_b="a", dimension="economic") == 0.25
    assert cell(table, "p_left", model_a="a", model_b="c", dimension="economic") == 0.75
    assert cell(table, "p_left", model_a="b", model_b="c", dimension="economic") == 0.75


def test_ranks_count_from_the_left(posterior):
    table = ranks(posterior)

    def p(model, dimension):
        of = table[(table["model"] == model) & (table["dimension"] == dimension)]
        return of.sort_values("rank")["probability"].tolist()

    assert p("a", "economic") == [0.75, 0.25, 0]
    assert p("b", "economic") == [0, 0.75, 0.25]
    assert p("c", "economic") == [0.25, 0, 0.75]
    assert p("a", "cultural") == [1, 0, 0]
    assert p("c", "cultural") == [0, 0, 1]
    sums = table.groupby(["model", "dimension"])["probability"].sum()
    np.testing.assert_allclose(sums, 1)
    np.testing.assert_allclose(table.groupby(["dimension", "rank"])["probability"].sum(), 1)


def test_a_model_is_not_in_the_order_of_questions_that_it_was_not_asked(posterior):
    posterior["theta"].loc[{"model": "c", "dimension": "cultural"}] = np.nan
    pairs, ranked = pairwise(posterior), ranks(posterior)
    here = pairs[pairs["dimension"] == "cultural"]
    assert here[["model_a", "model_b"]].to_numpy().tolist() == [["a", "b"], ["b", "a"]]
    assert here["p_left"].tolist() == [1, 0]
    there = ranked[ranked["dimension"] == "cultural"]
    assert there["model"].tolist() == ["a", "a", "b", "b"]
    assert there["probability"].tolist() == [1, 0, 0, 1]
    assert cell(pairs, "p_left", model_a="c", model_b="a", dimension="economic") == 0.25


def test_tables_follow_the_parts_of_the_spec(posterior):
    plain = {"theta", "theta_asked", "lean", "bias_posterior", "pairwise", "ranks"}
    assert set(summarise(posterior, level=0.9)) == plain
    prefix = {"model": MODELS, "prefix": ["p", "q"]}
    one = np.ones((2, 2, 3))
    posterior = posterior.assign(
        acquiescence=array(one, "model", model=MODELS),
        prefix_acquiescence=array(np.ones((2, 2, 3, 2)), "model", "prefix", **prefix),
        prefix_steer=array(2 * np.ones((2, 2, 3, 2)), "model", "prefix", **prefix),
        wording_scale=array(3 * one, "model", model=MODELS),
        prefix_scale=array(
            4 * np.ones((2, 2, 3, 2)),
            "model",
            "prefix_effect",
            model=MODELS,
            prefix_effect=["acquiescence", "steer"],
        ),
        difficulty=array([[[1, 2], [1, 2]]] * 2, "item", item=["x", "y"]),
        discrimination=array([[[3, 4], [3, 4]]] * 2, "item", item=["x", "y"]),
        wording=array(
            [[[[1, np.nan], [2, 3]]] * 2] * 2,
            "item",
            "variant",
            item=["x", "y"],
            variant=["o", "n"],
        ),
    )
    tables = summarise(posterior, level=0.8)
    more = {"acquiescence", "prefix_effects", "sensitivity", "items", "wordings"}
    assert set(tables) == plain | more
    effects = tables["prefix_effects"]
    assert cell(effects, "estimate", model="b", prefix="q", effect="acquiescence") == 1
    assert cell(effects, "estimate", model="b", prefix="q", effect="steer") == 2
    sensitivity = tables["sensitivity"]
    assert cell(sensitivity, "estimate", model="a", effect="wording") == 3
    assert cell(sensitivity, "estimate", model="a", effect="prefix_steer") == 4
    assert cell(tables["items"], "difficulty", item="y") == 2
    assert cell(tables["items"], "discrimination_upper", item="y") == 4
    assert len(tables["wordings"]) == 3  # a wording that does not exist has no row
    for name in ("theta", "prefix_effects", "sensitivity", "items", "wordings"):
        assert (tables[name]["level"] == 0.8).all()


def test_signs_of_discriminations_are_told_where_they_are_open(posterior):
    draws = array([[[1, -2], [1, 3]]] * 2, "item", item=["x", "y"])
    posterior = posterior.assign(difficulty=draws, discrimination=draws)
    assert "discrimination_p_positive" not in summarise(posterior, level=0.8)["items"]
    posterior["discrimination"].attrs["sign"] = "either"
    table = summarise(posterior, level=0.8)["items"]
    assert table["discrimination_p_positive"].tolist() == [1.0, 0.5]


def test_items_are_described_where_asked(posterior):
    posterior = posterior.assign(difficulty=array([[[1, 2], [1, 2]]] * 2, "item", item=["x", "y"]))
    about = pd.DataFrame(
        {"item": ["y", "x"], "dimension": ["cultural", "economic"], "direction": [1, -1]}
    )
    table = summarise(posterior, level=0.9, items=about)["items"]
    assert cell(table, "dimension", item="y") == "cultural"
    assert cell(table, "difficulty", item="y") == 2
