"""The tables of a mixed model's posterior, and how strata are put side by side."""

import numpy as np
import pytest
import xarray as xr

from polbayes.fit.mixed.readout import stack
from polbayes.fit.mixed.tables import summarise


def posterior(terms, groups=("item",), *, shift=0.0):
    draws = np.arange(100.0).reshape(2, 50)
    labels = [f"{g}: Intercept" for g in groups]
    levels = [f"{g}: Intercept [{k}]" for g in groups for k in "ab"]
    return xr.Dataset(
        {
            "coefficient": (
                ("chain", "draw", "term"),
                np.stack([draws + shift + 10 * k for k in range(len(terms))], axis=-1),
            ),
            "group_sd": (
                ("chain", "draw", "group_term"),
                np.stack([draws + 1] * len(groups), axis=-1),
            ),
            "group_effect": (
                ("chain", "draw", "group_level"),
                np.stack([draws - 50] * len(levels), axis=-1),
            ),
            "sigma": (("chain", "draw"), draws + 2),
        },
        {
            "chain": [0, 1],
            "draw": np.arange(50),
            "term": np.array(terms, dtype=object),
            "group_term": np.array(labels, dtype=object),
            "sd_group": ("group_term", np.array(groups, dtype=object)),
            "sd_varying": ("group_term", np.array(["Intercept"] * len(groups), dtype=object)),
            "group_level": np.array(levels, dtype=object),
            "group": ("group_level", np.array([g for g in groups for _ in "ab"], dtype=object)),
            "varying": ("group_level", np.array(["Intercept"] * len(levels), dtype=object)),
            "level": ("group_level", np.array(list("ab") * len(groups), dtype=object)),
        },
    )


def test_coefficients():
    # The draws are 0 … 99: mean 49.5, and of x 10 more.
    table = summarise(posterior(["Intercept", "x"]), level=0.9)["coefficients"]
    columns = ["term", "estimate", "sd", "lower", "upper", "p_positive", "coverage"]
    assert table.columns.tolist() == columns
    assert table["term"].tolist() == ["Intercept", "x"]
    assert table["estimate"].tolist() == [49.5, 59.5]
    np.testing.assert_allclose(table["lower"], [0.05 * 99, 10 + 0.05 * 99])
    np.testing.assert_allclose(table["upper"], [0.95 * 99, 10 + 0.95 * 99])
    assert table["coverage"].tolist() == [0.9, 0.9]


def test_the_residual_is_among_the_standard_deviations():
    table = summarise(posterior(["Intercept"]), level=0.9)["group_sds"]
    assert table[["group", "varying"]].to_numpy().tolist() == [
        ["item", "Intercept"],
        ["residual", ""],
    ]
    assert table["estimate"].tolist() == [50.5, 51.5]


def test_effects_of_levels():
    table = summarise(posterior(["Intercept"]), level=0.9)["group_effects"]
    assert table[["group", "level"]].to_numpy().tolist() == [["item", "a"], ["item", "b"]]
    # 0 - 50 … 99 - 50: 50 of the hundred are below 0.
    assert table["p_positive"].tolist() == [0.5, 0.5]


@pytest.fixture
def strata():
    return stack(
        {
            "zeta": posterior(["Intercept", "x"]),
            "alpha": posterior(["Intercept", "z"], ("item", "prefix"), shift=100),
        },
        "model",
    )


def test_strata_keep_their_order_and_what_they_have(strata):
    assert strata["coefficient"].dims == ("chain", "draw", "model", "term")
    assert strata["model"].values.tolist() == ["zeta", "alpha"]
    assert strata["term"].values.tolist() == ["Intercept", "x", "z"]
    assert np.isnan(strata["coefficient"].sel(model="alpha", term="x")).all()
    assert strata["sd_group"].values.tolist() == ["item", "prefix"]
    table = summarise(strata, level=0.9)["coefficients"]
    assert table[["model", "term"]].to_numpy().tolist() == [
        ["zeta", "Intercept"],
        ["zeta", "x"],
        ["alpha", "Intercept"],
        ["alpha", "z"],
    ]
    assert table["estimate"].tolist() == [49.5, 59.5, 149.5, 159.5]
    sds = summarise(strata, level=0.9)["group_sds"]
    assert sds["group"].tolist() == ["item", "residual", "item", "prefix", "residual"]


def test_strata_survive_a_file(strata, tmp_path):
    from polbayes.fit.fit import load_posterior, save_posterior

    stats = xr.Dataset({"diverging": (("chain", "draw"), np.zeros((2, 50), dtype=bool))})
    save_posterior(strata, stats, tmp_path / "posterior.nc")
    again = load_posterior(tmp_path / "posterior.nc")
    xr.testing.assert_equal(again, strata)
