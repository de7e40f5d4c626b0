"""Draws of the posterior in the form of ``draws_df`` of R's package posterior."""

from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

from polbayes.config.schema import RunConfig
from polbayes.data.files import replacing
from polbayes.errors import check_known
from polbayes.fit.fit import load_posterior


def draws_frame(posterior: xr.Dataset) -> pd.DataFrame:
    """Return a row for each draw and a column for each number, such as ``theta[left,economic]``.

    ``.chain``, ``.iteration`` and ``.draw`` count from 1, the last over all chains.
    """
    chains, draws = posterior.sizes["chain"], posterior.sizes["draw"]
    columns: dict[str, np.ndarray] = {
        ".chain": np.repeat(np.arange(1, chains + 1), draws),
        ".iteration": np.tile(np.arange(1, draws + 1), chains),
        ".draw": np.arange(1, chains * draws + 1),
    }
    for name, variable in posterior.data_vars.items():
        dims = [dim for dim in variable.dims if dim not in ("chain", "draw")]
        values = variable.transpose("chain", "draw", *dims).values.reshape(chains * draws, -1)
        places = product(*(posterior[dim].values for dim in dims))
        for place, column in zip(places, values.T, strict=True):
            label = f"[{','.join(map(str, place))}]" if dims else ""
            columns[f"{name}{label}"] = column
    return pd.DataFrame(columns)


def _chosen(config: RunConfig, run: Path) -> pd.DataFrame:
    posterior = load_posterior(run / "posterior.nc")
    wanted = config.export.variables
    if wanted is not None:
        known = [str(name) for name in posterior.data_vars]
        check_known("variable", *wanted, known=known, where="export.variables")
        posterior = posterior[wanted]
    return draws_frame(posterior)


def write_draws(config: RunConfig, run: Path, folder: Path) -> list[Path]:
    """Write ``draws.csv``."""
    path = folder / "draws.csv"
    with replacing(path) as temporary:
        _chosen(config, run).to_csv(temporary, index=False)
    return [path]


def write_draws_parquet(config: RunConfig, run: Path, folder: Path) -> list[Path]:
    """Write ``draws.parquet``."""
    path = folder / "draws.parquet"
    with replacing(path) as temporary:
        _chosen(config, run).to_parquet(temporary, index=False)
    return [path]
