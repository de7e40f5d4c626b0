"""Tables of estimates with intervals."""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr


def interval_table(values: "xr.DataArray", level: float, *, left: bool = False) -> "pd.DataFrame":
    """Summarise one variable: mean, standard deviation and equal-tailed interval.

    Parameters
    ----------
    values
        ``[chain, draw, ...]``.
    level
        Probability of the interval.
    left
        Whether to add ``p_left``, the share of draws below 0.

    Returns
    -------
    pandas.DataFrame
        One row for each combination of the other dimensions.
    """
    import pandas as pd

    low, high = (1 - level) / 2, (1 + level) / 2
    draws = values.to_numpy().reshape(-1, int(np.prod(values.shape[2:])))
    there = ~np.isnan(draws).all(axis=0)
    columns = {name: np.full(draws.shape[1], np.nan) for name in ("estimate", "sd")}
    columns |= {name: np.full(draws.shape[1], np.nan) for name in ("lower", "upper")}
    columns["estimate"][there] = draws[:, there].mean(axis=0)
    columns["sd"][there] = draws[:, there].std(axis=0, ddof=1)
    columns["lower"][there], columns["upper"][there] = np.quantile(
        draws[:, there], (low, high), axis=0
    )
    if left:
        columns["p_left"] = np.where(there, (draws < 0).mean(axis=0), np.nan)
    dims = [str(dim) for dim in values.dims[2:]]
    index = pd.MultiIndex.from_product([values[dim].values for dim in dims], names=dims)
    return pd.DataFrame(columns, index=index).reset_index().assign(level=level)
