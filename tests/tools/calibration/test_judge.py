"""The verdict on ranks that are uniform, and on ranks that are not."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from tools.calibration.judge import (
    band,
    by_group,
    by_quantity,
    coverage,
    ecdf_difference,
    flagged,
    group_of,
)

KEPT = 99


def table_of(u):
    """Ranks from numbers in (0, 1), ``[simulation, quantity]``."""
    names = [f"theta[m{k}]" for k in range(u.shape[1])]
    ranks = pd.DataFrame(np.floor(u * (KEPT + 1)).astype(int), columns=names)
    about = {"simulation": range(len(u)), "r_hat": 1.0, "ess": 400, "repeated": 0}
    return pd.concat([pd.DataFrame(about), ranks], axis=1)


def judged(u):
    table = table_of(u)
    return flagged(by_quantity(table, KEPT), by_group(table, KEPT))


def test_kinds():
    assert group_of("theta[m0, economic]") == "theta"
    assert group_of("log_likelihood") == "log_likelihood"
    assert group_of("scale[wording: model:item:variant [m3]]") == (
        "scale[wording: model:item:variant]"
    )
    assert group_of("scale[difficulty: item]") == "scale[difficulty: item]"


def test_the_difference_by_hand():
    # Of five ranks among three draws one is 0, two are 1, none 2: ECDF 0.2, 0.6, 0.6.
    found = ecdf_difference(np.array([0, 1, 1, 3, 3]), 3)
    np.testing.assert_allclose(found, [0.2 - 0.25, 0.6 - 0.5, 0.6 - 0.75])


def test_the_band_holds_uniform_ranks_as_often_as_it_says():
    rng = np.random.default_rng(2)
    lower, upper = band(100, KEPT, 0.95)
    inside = 0
    for _ in range(1000):
        difference = ecdf_difference(rng.integers(0, KEPT + 1, 100), KEPT)
        inside += bool(((difference >= lower - 1e-12) & (difference <= upper + 1e-12)).all())
    assert inside / 1000 == pytest.approx(0.95, abs=0.03)


def test_coverage_by_hand():
    # Of 100 ranks 25 to 74 are in the middle half, 10 to 89 in the middle 80 %.
    ranks = np.arange(100)[:, None]
    found = coverage(ranks, 99)
    np.testing.assert_allclose(
        found[50][:, 0], [float(25 <= r < 75) for r in range(100)], atol=1e-12
    )
    np.testing.assert_allclose(
        found[80][:, 0], [float(10 <= r < 90) for r in range(100)], atol=1e-12
    )
    assert found[90].mean() == pytest.approx(0.9)


def test_uniform_ranks_are_let_pass_and_their_error_rate_is_kept():
    rng = np.random.default_rng(4)
    wrong = 0
    for _ in range(60):
        shared = np.sqrt(0.3) * rng.normal(size=(100, 1))
        z = shared + np.sqrt(0.7) * rng.normal(size=(100, 6))
        wrong += bool(judged(stats.norm.cdf(z)))
    # Two tests at 5 % each; more than 14 of 60 has a probability below 0.1 %.
    assert wrong <= 14


@pytest.mark.parametrize(
    "distort",
    [
        lambda z: z * 1.4,  # intervals too narrow by 30 %
        lambda z: z / 1.5,  # too wide
        lambda z: z + 0.5,  # shifted by half a posterior standard deviation
    ],
    ids=["narrow", "wide", "shifted"],
)
def test_ranks_that_are_not_uniform_are_flagged(distort):
    z = np.random.default_rng(6).normal(size=(150, 6))
    assert judged(stats.norm.cdf(distort(z)))


def test_standard_errors_count_data_sets_and_not_ranks():
    """Six copies of one quantity are worth one."""
    u = np.random.default_rng(8).random((200, 1))
    one, six = (by_group(table_of(np.repeat(u, k, axis=1)), KEPT).iloc[0] for k in (1, 6))
    assert six["error_80"] == pytest.approx(one["error_80"])
    assert six["p"] == pytest.approx(one["p"], abs=0.03)
