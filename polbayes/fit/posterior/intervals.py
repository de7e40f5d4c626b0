"""Summaries of draws, and tables of them: estimates with equal-tailed intervals."""

import numpy as np
import pandas as pd
import xarray as xr


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
    there = ~np.isnan(draws).all(axis=0)
    names = ("estimate", "sd", "lower", "upper")
    columns = {name: np.full(draws.shape[1], np.nan) for name in names}
    columns["estimate"][there] = draws[:, there].mean(axis=0)
    columns["sd"][there] = draws[:, there].std(axis=0, ddof=1)
    bounds = np.quantile(draws[:, there], tails(level), axis=0)
    columns["lower"][there], columns["upper"][there] = bounds
    if left:
        columns["p_left"] = np.where(there, (draws < 0).mean(axis=0), np.nan)
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
