"""Intraclass correlations of judges: the share of the rated in the variance of ratings.

Rows are what is rated, columns are judges. With the mean squares between rows MSR, within rows MSW,
between judges MSC and of the error MSE, n rows and k judges (names of Shrout and Fleiss, then of
McGraw and Wong):

    ICC(1,1) = ICC(1)   = (MSR - MSW) / (MSR + (k-1) MSW)
    ICC(2,1) = ICC(A,1) = (MSR - MSE) / (MSR + (k-1) MSE + k (MSC - MSE) / n)
    ICC(3,1) = ICC(C,1) = (MSR - MSE) / (MSR + (k-1) MSE)

the first for different judges in every row, the second for absolute agreement and the third for
consistency of the same judges; and for the mean of the k judges

    ICC(1,k) = (MSR - MSW) / MSR
    ICC(2,k) = (MSR - MSE) / (MSR + (MSC - MSE) / n)
    ICC(3,k) = (MSR - MSE) / MSR.

For scores taken at face value, with judges as a sample, ICC(2,1) is for a single judge and ICC(2,k)
for the reported mean; ICC(3,.) applies if severities cancel, as when models are only ranked.

References
----------
Shrout, P. E. and Fleiss, J. L. (1979). Intraclass correlations: uses in assessing rater
reliability. Psychological Bulletin 86, 420-428.
McGraw, K. O. and Wong, S. P. (1996). Forming inferences about some intraclass correlation
coefficients. Psychological Methods 1, 30-46.
"""

import numpy as np
import pandas as pd

from polbayes.errors import UserError
from polbayes.measures.measure import INTERVAL

_COLUMNS = ("form", *INTERVAL, "n", "n_excluded", "n_judges", "level", "note")
FORMS = ("ICC(1,1)", "ICC(2,1)", "ICC(3,1)", "ICC(1,k)", "ICC(2,k)", "ICC(3,k)")


def intraclass_correlations(ratings: np.ndarray, *, level: float = 0.95) -> pd.DataFrame:
    """Compute the six intraclass correlations of Shrout and Fleiss (1979).

    Parameters
    ----------
    ratings
        ``[thing, judge]``; things with a missing rating (NaN) are left out and counted.
    level
        Coverage of the intervals, in (0, 1). They rest on F distributions and take the things as
        independent and normal.

    Returns
    -------
    pandas.DataFrame
        One row a ``form``: ``estimate``, at most 1, ``lower``, ``upper``, ``n`` things,
        ``n_excluded``, ``n_judges``. NaN where nothing varies or fewer than two things have all
        ratings.
    """
    ratings = np.asarray(ratings, dtype=np.float64)
    if ratings.ndim != 2 or ratings.shape[1] < 2:
        raise UserError("ratings: an intraclass correlation needs at least two judges.")
    if not 0 < level < 1:
        raise UserError(f"level: must lie between 0 and 1, not {level}.")
    x = ratings[~np.isnan(ratings).any(axis=1)]
    n, k = x.shape
    found = np.full((len(FORMS), 3), np.nan)
    note = "fewer than two things were rated by all judges"
    if n > 1:
        note = "nothing varies" if np.ptp(x) <= 1e-12 * np.abs(x).max() else ""
        found = found if note else _forms(x, level)
        if not note and np.isnan(found).any():
            note = "a mean square is zero: some forms or bounds are not defined"
    rows = [
        {
            **dict(zip(("form", *INTERVAL), (form, *values), strict=True)),
            "n": n,
            "n_excluded": len(ratings) - n,
            "n_judges": k,
            "level": level,
            "note": note,
        }
        for form, values in zip(FORMS, found.tolist(), strict=True)
    ]
    return pd.DataFrame(rows, columns=list(_COLUMNS))


def _forms(x: np.ndarray, level: float) -> np.ndarray:
    """Return over the six forms estimate, lower and upper bound."""
    n, k = x.shape
    msr, msw, msc, mse = _mean_squares(x)
    with np.errstate(divide="ignore", invalid="ignore"):
        single = np.array(
            [
                (msr - msw) / (msr + (k - 1) * msw),
                (msr - mse) / (msr + (k - 1) * mse + k * (msc - mse) / n),
                (msr - mse) / (msr + (k - 1) * mse),
            ]
        )
        mean = np.array(
            [(msr - msw) / msr, (msr - mse) / (msr + (msc - mse) / n), (msr - mse) / msr]
        )
        one = _bounds(msr / msw, (n - 1, n * (k - 1)), level)
        three = _bounds(msr / mse, (n - 1, (n - 1) * (k - 1)), level)
        two = _agreement_bounds((msr, msc, mse), (n, k), single[1], level)
        # F is the ratio of mean squares: (F-1)/(F+k-1) for one judge, 1 - 1/F for k.
        of_one = [(one - 1) / (one + k - 1), two, (three - 1) / (three + k - 1)]
        # Stepped up after Spearman and Brown.
        of_mean = [1 - 1 / one, k * two / (1 + (k - 1) * two), 1 - 1 / three]
    estimates = np.concatenate([single, mean])
    bounds = np.array([*of_one, *of_mean])
    table = np.column_stack([estimates, bounds])
    return np.where(np.isfinite(table), table, np.nan)


def _mean_squares(x: np.ndarray) -> np.ndarray:
    """Return the mean squares between rows, within rows, between judges and of the error."""
    n, k = x.shape
    total = x.mean()
    rows, columns = x.mean(axis=1), x.mean(axis=0)
    error = x - rows[:, None] - columns + total
    sums = np.array(
        [
            k * ((rows - total) ** 2).sum() / (n - 1),
            ((x - rows[:, None]) ** 2).sum() / (n * (k - 1)),
            n * ((columns - total) ** 2).sum() / (k - 1),
            (error**2).sum() / ((n - 1) * (k - 1)),
        ]
    )
    # Zeros must not become variance by rounding.
    return np.where(sums > 1e-24 * (x**2).max(), sums, 0.0)


def _bounds(f: float, df: tuple[int, int], level: float) -> np.ndarray:
    """Return the two bounds of a ratio of expected mean squares, given the observed one."""
    from scipy import stats

    quantile = (1 + level) / 2
    return np.array([f / stats.f.ppf(quantile, *df), f * stats.f.ppf(quantile, df[1], df[0])])


def _agreement_bounds(
    squares: tuple[float, float, float], size: tuple[int, int], icc: float, level: float
) -> np.ndarray:
    """Return the bounds of ICC(2,1), with Satterthwaite's degrees of freedom (McGraw and Wong)."""
    from scipy import stats

    (msr, msc, mse), (n, k) = squares, size
    if not np.isfinite(icc) or icc >= 1 or mse <= 0:
        return np.full(2, np.nan)
    a = k * icc / (n * (1 - icc))
    b = 1 + k * icc * (n - 1) / (n * (1 - icc))
    df = (a * msc + b * mse) ** 2 / (
        (a * msc) ** 2 / (k - 1) + (b * mse) ** 2 / ((n - 1) * (k - 1))
    )
    quantile = (1 + level) / 2
    f_lower = stats.f.ppf(quantile, n - 1, df)
    f_upper = stats.f.ppf(quantile, df, n - 1)
    rest = k * msc + (k * n - k - n) * mse
    return np.array(
        [
            n * (msr - f_lower * mse) / (f_lower * rest + n * msr),
            n * (f_upper * msr - mse) / (rest + n * f_upper * msr),
        ]
    )
