import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import stats

from polbayes.measures.resampling import Bootstrap
from polbayes.roleplay.measures.location import over_scenarios, t_test


def test_published_tests_rest_on_twenty_scenarios(shared_data):
    """The table of PoliticsBench: t and p from its means and standard deviations with n = 20."""
    rows = pd.read_csv(shared_data / "politicsbench" / "main_results.csv")
    for row in rows.itertuples():
        found = t_test(row.mean_score, row.sd, 20)
        assert found["t"] == pytest.approx(row.t_if_n20, abs=5e-4)
        assert found["p"] == pytest.approx(row.p_if_n20, rel=1e-6)
    grok = rows.set_index("model").loc["Grok"]
    assert t_test(grok["mean_score"], grok["sd"], 20)["p"] == pytest.approx(0.27, abs=0.005)


def test_against_scipy_and_the_definition_of_the_interval():
    values = np.array([3.0, -1.0, 4.0, 1.5, -0.5, 2.0])
    found = t_test(values.mean(), values.std(ddof=1), 6, 0.9)
    other = stats.ttest_1samp(values, 0)
    assert (found["t"], found["p"]) == pytest.approx((other.statistic, other.pvalue))
    assert found["effect_size"] == pytest.approx(values.mean() / values.std(ddof=1))
    for name, tail in (("effect_lower", 0.95), ("effect_upper", 0.05)):
        noncentral = found[name] * np.sqrt(6)
        assert stats.nct.cdf(found["t"], 5, noncentral) == pytest.approx(tail, abs=1e-6)


def test_a_published_interval_of_an_effect_size():
    """R's MBESS::ci.sm(sm = 2.0, N = 20) and the like rest on the noncentral t: t = d sqrt(n).

    d = 0.5, n = 25: the 95 % limits are the noncentralities of t = 2.5 with 24 df over 5,
    found here on a grid.
    """
    found = t_test(0.5, 1.0, 25)
    grid = np.linspace(-1, 6, 70_001)
    cdf = stats.nct.cdf(2.5, 24, grid)
    assert found["effect_lower"] == pytest.approx(grid[np.abs(cdf - 0.975).argmin()] / 5, abs=1e-3)
    assert found["effect_upper"] == pytest.approx(grid[np.abs(cdf - 0.025).argmin()] / 5, abs=1e-3)


def test_a_huge_effect_has_finite_bounds():
    found = t_test(90.0, 0.5, 20)
    assert np.isfinite(list(found.values())).all()
    assert found["effect_lower"] < 180 < found["effect_upper"]


def test_rows_say_what_is_missing():
    values = xr.DataArray(
        [[1.0, 3.0, np.nan], [np.nan, 5.0, np.nan], [2.0, 2.0, 2.0], [np.nan] * 3],
        dims=("model", "scenario"),
        coords={"model": list("abcd"), "scenario": ["z", "x", "y"]},
    )
    a, b, c, d = over_scenarios(values, Bootstrap(500, 0.95, 1))
    # Resamples of two: 1, 2 and 3 with shares 1/4, 1/2, 1/4.
    assert (a["estimate"], a["lower"], a["upper"], a["n"], a["n_excluded"]) == (2, 1, 3, 2, 1)
    assert a["sd"] == pytest.approx(np.sqrt(2))
    assert (b["estimate"], b["n"], b["note"]) == (5, 1, "only one scenario: no interval")
    assert np.isnan([b["sd"], b["lower"], b["p"]]).all()
    assert (c["sd"], c["note"]) == (0, "all scenarios have the same value: no test")
    assert np.isnan(c["p"])
    assert (d["n"], d["note"]) == (0, "no scenario has a value")
    assert np.isnan(d["estimate"])
