"""Comparison of instruments: whether a model leans alike on each."""

from itertools import combinations

import numpy as np
import pandas as pd
import xarray as xr

from polbayes.fit.posterior.intervals import interval_table

ALL_MODELS = "mean of the models"
# With fewer models a correlation is near 1 or -1 by chance.
LEAST_MODELS = 3
_QUANTITIES = ("theta", "bias")


def instrument_tables(posterior: xr.Dataset, level: float) -> dict[str, pd.DataFrame]:
    """Summarise the models' leanings by instrument, if theta differs by instrument."""
    levels, differences, correlations = list[pd.DataFrame](), [], []
    for quantity in _QUANTITIES:
        name = f"{quantity}_instrument"
        if name not in posterior:
            continue
        values = posterior[name]
        table = interval_table(values, level, left=True).assign(quantity=quantity)
        levels.append(table.dropna(subset="estimate"))
        for first, second in combinations(values["instrument"].values, 2):
            one, other = (values.sel(instrument=i, drop=True) for i in (first, second))
            about = {"first": first, "second": second, "quantity": quantity}
            table = interval_table(_with_mean(one - other), level, left=True)
            differences.append(table.dropna(subset="estimate").assign(**about))
            if values.sizes["model"] >= LEAST_MODELS:
                table = interval_table(_correlation(one, other), level)
                correlations.append(table.dropna(subset="estimate").assign(**about))
    if not levels:
        return {}
    pairs = ["dimension", "first", "second", "quantity"]
    tables = {
        "by_instrument": _ordered(levels, ["model", "dimension", "instrument", "quantity"]),
        "instrument_differences": _ordered(differences, ["model", *pairs]),
    }
    if correlations:
        tables["instrument_correlations"] = _ordered(correlations, pairs)
    return tables


def _with_mean(values: xr.DataArray) -> xr.DataArray:
    """Append the mean over the models."""
    mean = values.mean("model").expand_dims(model=[ALL_MODELS], axis=2)
    return xr.concat([values, mean], dim="model")


def _correlation(one: xr.DataArray, other: xr.DataArray) -> xr.DataArray:
    """Return Pearson's correlation over the models that have both, in every draw."""
    both = one.notnull() & other.notnull()
    a, b = (x.where(both) - x.where(both).mean("model") for x in (one, other))
    found = (a * b).sum("model") / np.sqrt((a**2).sum("model") * (b**2).sum("model"))
    return found.where(both.sum("model") >= LEAST_MODELS)


def _ordered(tables: list[pd.DataFrame], first: list[str]) -> pd.DataFrame:
    whole = pd.concat(tables, ignore_index=True)
    return whole[[*first, *(c for c in whole.columns if c not in first)]]
