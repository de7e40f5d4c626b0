"""The classical fit against lme4 and lmerTest.

The reference numbers are those that `reference/lmertest.R` prints.
"""

import numpy as np
import pytest
from scipy import stats

from polbayes.fit.mixed.classical import classical_table, has_classical, reml

SMALL = {
    "estimate": [0.455077615104141, 0.253919022202631, -0.126524229863952, 0.0801774769984185],
    "se": [0.0734029825701014, 0.0275847520625554, 0.054288113286324, 0.0925194528256501],
    "df": [13.4672258465926, 113.747862889866, 113.07941452127, 9.99107784927431],
    "t": [6.19971558607353, 9.20505000830913, -2.33060650305977, 0.866601288158398],
    "p": [2.75244914924651e-05, 2.00555932397389e-15, 0.0215471154374735, 0.406490970682123],
}
SMALL_SD = (0.226141761653, 0.21552984828)
NO_INTERCEPT = {
    "estimate": [0.255191339095656, -0.0944070649481414],
    "se": [0.0276579027136159, 0.0533886404844805],
    "df": [112.556075956163, 119.738424937917],
    "p": [1.93680870009922e-15, 0.0795576821164286],
}
SINGULAR = {
    "estimate": [0.0103380728666773, 0.244325965185531, -0.0239790849779907],
    "se": [0.032120304163581, 0.0260231266308943, 0.0522251518824186],
    "df": [124.0] * 3,
    "p": [0.748104667442229, 3.80776824563471e-16, 0.64693160688353],
}
NO_GROUPS = {
    "estimate": [0.454674634217407, 0.243562529017267, -0.118727454862942],
    "se": [0.0467788313330123, 0.0378991258994512, 0.0760587931797542],
    "t": [9.71966638030434, 6.4266001718207, -1.56099577575924],
    "p": [6.04787213291911e-17, 2.53945896682826e-09, 0.121073362059457],
}


@pytest.fixture(scope="module")
def data(small_data):
    moved = 0.25 * small_data.x1 + 0.3 * small_data.noise
    flat = moved - moved.groupby(small_data["item"]).transform("mean")
    return small_data.assign(between=np.cos(2 * small_data["item"]), flat=flat)


def fitted(data, mixed, rows_from, formula, response="y", **settings):
    spec = mixed(formula, **settings)
    return classical_table(rows_from(data, spec, response), spec, level=0.9)


@pytest.mark.parametrize(
    ("formula", "response", "expected"),
    [
        ("~ x1 + x2 + between + (1 | item)", "y", SMALL),
        ("~ 0 + x1 + x2 + (1 | item)", "y", NO_INTERCEPT),
        ("~ x1 + x2 + (1 | item)", "flat", SINGULAR),
        ("~ x1 + x2", "y", NO_GROUPS),
    ],
)
def test_it_is_what_lmertest_and_lm_find(data, mixed, rows_from, formula, response, expected):
    table = fitted(data, mixed, rows_from, formula, response)
    for name, values in expected.items():
        np.testing.assert_allclose(table[name], values, rtol=1e-5, atol=1e-12, err_msg=name)


def test_standard_deviations(data):
    x = np.column_stack([np.ones(len(data)), data[["x1", "x2", "between"]]])
    fit = reml(x, data["y"].to_numpy(), data["item"].to_numpy(), intercept=True)
    np.testing.assert_allclose((fit.tau, fit.sigma), SMALL_SD, rtol=1e-7)


def test_intervals_and_correction_by_hand(data, mixed, rows_from):
    table = fitted(data, mixed, rows_from, "~ x1 + x2 + between + (1 | item)")
    half = [stats.t.ppf(0.95, df) * se for df, se in zip(SMALL["df"], SMALL["se"], strict=True)]
    np.testing.assert_allclose(table["upper"] - table["estimate"], half, rtol=1e-5)
    np.testing.assert_allclose(table["estimate"] - table["lower"], half, rtol=1e-5)
    # Three coefficients are tested, the intercept is not; no probability is above 1.
    corrected = [np.nan, 3 * SMALL["p"][1], 3 * SMALL["p"][2], 1.0]
    np.testing.assert_allclose(table["p_bonferroni"], corrected, rtol=1e-5)
    assert set(table["tests"]) == {3}
    assert (set(table["n"]), set(table["n_groups"]), set(table["coverage"])) == (
        {len(data)},
        {12},
        {0.9},
    )
    assert set(table["note"]) == {""}


def test_a_singular_fit_is_noted(data, mixed, rows_from):
    table = fitted(data, mixed, rows_from, "~ x1 + x2 + (1 | item)", "flat")
    assert table["note"].str.startswith("singular").all()


def test_units_and_the_order_of_rows_change_nothing(data, mixed, rows_from):
    formula = "~ x1 + x2 + (1 | item)"
    plain = fitted(data, mixed, rows_from, formula)
    shuffled = data.sample(frac=1, random_state=1)
    other = shuffled.assign(x1=1000 * shuffled["x1"] + 5000, y=3 * shuffled["y"] - 1e6)
    moved = fitted(other, mixed, rows_from, formula)
    for name in ("df", "t", "p", "p_bonferroni"):
        np.testing.assert_allclose(moved[name][1:], plain[name][1:], rtol=1e-5)
    np.testing.assert_allclose(moved["estimate"][1], 3 / 1000 * plain["estimate"][1], rtol=1e-7)
    np.testing.assert_allclose(moved["estimate"][2], 3 * plain["estimate"][2], rtol=1e-7)


def test_a_fit_without_a_residual_has_no_tests(data, mixed, rows_from):
    exact = data.assign(y=1 + 2 * data["x1"])
    table = fitted(exact, mixed, rows_from, "~ x1 + x2 + (1 | item)")
    np.testing.assert_allclose(table["estimate"], [1, 2, 0], atol=1e-8)
    assert table[["se", "p", "lower"]].isna().all(axis=None)
    assert table["note"].str.contains("nothing to test").all()


@pytest.mark.parametrize(
    ("formula", "family", "has"),
    [
        ("~ x1 + (1 | item)", "gaussian", True),
        ("~ x1", "gaussian", True),
        ("~ 0 + (1 | item)", "gaussian", False),
        ("~ x1 + (1 | item) + (1 | prefix)", "gaussian", False),
        ("~ x1 + (0 + x1 | item)", "gaussian", False),
        ("~ x1 + (1 | item)", "beta", False),
    ],
)
def test_which_models_have_one(mixed, formula, family, has):
    assert has_classical(mixed(formula, family=family)) == has


def test_p_values_are_uniform_where_nothing_is_there():
    """At 5 % about 5 % of the tests of a predictor without an effect, within and between."""
    rng = np.random.default_rng(5)
    group = np.repeat(np.arange(10), 6)
    p = []
    for _ in range(400):
        x = np.column_stack([np.ones(60), rng.normal(size=60), rng.normal(size=10)[group]])
        y = rng.normal(size=10)[group] + rng.normal(size=60)
        fit = reml(x, y, group, intercept=True)
        p.append(2 * stats.t.sf(np.abs(fit.beta / fit.se), fit.df)[1:])
    share = np.mean(np.array(p) < 0.05, axis=0)
    # Four standard errors of a share of 400.
    np.testing.assert_allclose(share, 0.05, atol=4 * np.sqrt(0.05 * 0.95 / 400))


def test_the_published_daggers_are_of_eight_tests(shared_data):
    """Estimates and standard errors are rounded; z could be anything that rounds to these."""
    import pandas as pd

    table = pd.read_csv(shared_data / "haller" / "table3_effects.csv")
    size, se = table["estimate"].abs(), table["sd"]
    lowest = (size - 0.005).clip(lower=0) / (se + 0.005)
    highest = (size + 0.005) / (se - 0.005).clip(lower=1e-9)
    dagger = table["not_significant"].astype(bool)

    def contradicted(tests):
        bound = stats.norm.isf(0.05 / tests / 2)
        return int((dagger & (lowest > bound)).sum() + (~dagger & (highest < bound)).sum())

    assert len(table) == 144
    assert contradicted(8) == 0
    assert contradicted(1) > 0
    assert contradicted(144) > 0
