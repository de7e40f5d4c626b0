"""Location of values over scenarios: means with bootstrap intervals, t tests and effect sizes.

The scenario is the unit of sampling. Wordings, stages and judges of one scenario are not
independent and are averaged before any test.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import xarray as xr

from polbayes.measures.measure import INTERVAL
from polbayes.measures.resampling import Bootstrap, mean_by_item

_NODES = 400
COLUMNS = (
    *INTERVAL,
    *("sd", "n", "n_excluded"),
    *("t", "df", "p", "effect_size", "effect_lower", "effect_upper", "level", "note"),
)


def t_test(mean: float, sd: float, n: int, level: float = 0.95) -> dict[str, float]:
    """Test a mean against 0, and give its size in standard deviations.

    Interval of the size: Cumming, G. and Finch, S. (2001). A primer on the understanding, use, and
    calculation of confidence intervals that are based on central and noncentral distributions.
    Educational and Psychological Measurement 61, 532-574.
    """
    from scipy import stats

    names = ("t", "df", "p", "effect_size", "effect_lower", "effect_upper")
    if n < 2 or not sd > 0:
        return dict.fromkeys(names, np.nan)
    t, df = mean / sd * np.sqrt(n), n - 1
    tails = ((1 + level) / 2, (1 - level) / 2)
    lower, upper = (_noncentrality(t, df, tail) / np.sqrt(n) for tail in tails)
    p = float(2 * stats.t.sf(abs(t), df))
    return dict(zip(names, (float(t), df, p, mean / sd, lower, upper), strict=True))


@cache
def _root_chi_square(df: int) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes and weights of a mean over the root of a chi-square by its df."""
    from scipy import stats

    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    return np.sqrt(stats.chi2.ppf((1 + nodes) / 2, df) / df), weights / 2


def _noncentrality(t: float, df: int, tail: float) -> float:
    """Find the noncentrality under which t is this quantile.

    T is (Z + noncentrality) / S, so that P(T <= t) is the mean of Phi(t S - noncentrality) over
    S, the root of a chi-square over its degrees of freedom. The mean is taken by quadrature over
    the quantiles of S; SciPy's noncentral t gives NaN for some arguments.
    """
    from scipy import optimize, special

    root, weights = _root_chi_square(df)
    scaled = t * root
    found = optimize.brentq(
        lambda nc: float(weights @ special.ndtr(scaled - nc)) - tail,
        scaled.min() - 10,
        scaled.max() + 10,
        xtol=1e-9,
    )
    return float(found)


def over_scenarios(
    values: xr.DataArray, bootstrap: Bootstrap, excluded: xr.DataArray | None = None
) -> list[dict[str, Any]]:
    """Summarise values of scenarios for every combination of the other dimensions.

    Rows have labels and `COLUMNS`: mean, percentile interval from resampling scenarios, standard
    deviation over scenarios (n - 1), their number, and `t_test`; `excluded` is reported as
    ``n_excluded``, by default the scenarios without a value.
    """
    dims = [str(d) for d in values.dims if d != "scenario"]
    # The bootstrap needs the scenarios sorted by name.
    values = values.transpose(*dims, "scenario").sortby("scenario")
    flat = values.values.reshape(-1, values.sizes["scenario"])
    there = ~np.isnan(flat)
    items = [str(s) for s in values["scenario"].values]
    means = mean_by_item(np.where(there, flat, 0.0), there.astype(np.float64), items, bootstrap)
    left_out = (~there).sum(axis=1)
    if excluded is not None:
        left_out = excluded.transpose(*dims).values.reshape(-1)
    labels = product(*(values[d].values.tolist() for d in dims))
    rows = []
    for k, label in enumerate(labels):
        row = _row(flat[k][there[k]], means[k], bootstrap.level)
        named = dict(zip(dims, label, strict=True))
        rows.append({**named, **row, "n_excluded": int(left_out[k])})
    return rows


def _row(values: np.ndarray, mean: np.ndarray, level: float) -> dict[str, Any]:
    n = values.size
    # Equal values have no spread, whatever rounding leaves.
    sd = float(values.std(ddof=1)) if n > 1 and np.ptp(values) > 1e-12 else 0.0
    note = "" if n > 1 else "only one scenario: no interval" if n else "no scenario has a value"
    if n > 1 and not sd:
        note = "all scenarios have the same value: no test"
    return {
        "estimate": float(mean[0]),
        "lower": float(mean[1]),
        "upper": float(mean[2]),
        "sd": sd if n > 1 else np.nan,
        "n": n,
        **t_test(float(mean[0]), sd, n, level),
        "level": level,
        "note": note,
    }


def frame(rows: Sequence[Mapping[str, Any]], labels: Sequence[str]) -> Any:
    """Make the table of rows from `over_scenarios`, its labels first."""
    import pandas as pd

    return pd.DataFrame(rows, columns=[*labels, *COLUMNS])
