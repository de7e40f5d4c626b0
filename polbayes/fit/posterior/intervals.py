"""Summaries of draws, and tables of them: estimates with equal-tailed intervals."""

import numpy as np
import pandas as pd
import xarray as xr

# Draws summarised at a time: their copies take some 100 MB.
_AT_ONCE = 2_000_000


def tails(level: float) -> tuple[float, float]:
    """Return the tail probabilities of an equal-tailed interval."""
    return (1 - level) / 2, (1 + level) / 2


def two_intervals(level: float) -> dict[str, float]:
    """Return the probabilities of the median, an interval and the 50 % interval, by column."""
    low, high = tails(level)
    return {"estimate": 0.5, "lower": low, "upper": high, "lower_50": 0.25, "upper_50": 0.75}


def flat(values: xr.DataArray) -> np.ndarray:
    """Return ``[chain, draw, ...]`` values as ``[chain and draw, ...]``."""
    array = values.to_numpy()
    return array.reshape(-1, *array.shape[2:])


def summary(draws: np.ndarray, level: float) -> dict[str, float]:
    """Return mean, standard deviation and equal-tailed interval of ``[draw]`` values."""
    lower, upper = np.quantile(draws, tails(level))
    return {
        "estimate": float(draws.mean()),
        "sd": float(draws.std(ddof=1)),
        "lower": float(lower),
        "upper": float(upper),
    }


def interval_table(values: xr.DataArray, level: float, *, left: bool = False) -> pd.DataFrame:
    """Summarise one variable: mean, standard deviation and equal-tailed interval.

    Parameters
    ----------
    values
        ``[chain, draw, ...]``.
    level
        Probability of the interval.
    left
        Whether to add ``p_left``, the proportion of draws below 0.

    Returns
    -------
    pandas.DataFrame
        One row for each combination of the other dimensions; without any, one row.
    """
    draws = values.to_numpy().reshape(-1, int(np.prod(values.shape[2:])))
    names = ("estimate", "sd", "lower", "upper", *(("p_left",) if left else ()))
    columns = {name: np.full(draws.shape[1], np.nan) for name in names}
    step = max(_AT_ONCE // max(len(draws), 1), 2)
    for first in range(0, draws.shape[1], step):
        some = draws[:, first : first + step]
        at = first + np.flatnonzero(~np.isnan(some).all(axis=0))
        some = draws[:, at]
        columns["estimate"][at], columns["sd"][at] = some.mean(axis=0), some.std(axis=0, ddof=1)
        columns["lower"][at], columns["upper"][at] = np.quantile(some, tails(level), axis=0)
        if left:
            columns["p_left"][at] = (some < 0).mean(axis=0)
    dims = [str(dim) for dim in values.dims[2:]]
    labels = [values[dim].values for dim in dims]
    index = pd.MultiIndex.from_product(labels, names=dims) if dims else None
    return pd.DataFrame(columns, index=index).reset_index(drop=not dims).assign(level=level)


def coverage_table(values: xr.DataArray, level: float) -> pd.DataFrame:
    """Summarise as `interval_table` does, with ``p_positive`` and the level as ``coverage``."""
    plain = values.drop_vars([c for c in values.coords if c not in values.dims])
    table = interval_table(plain, level, left=True).rename(columns={"level": "coverage"})
    table["p_positive"] = 1 - table.pop("p_left")
    return table
