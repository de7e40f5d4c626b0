"""What models say they believe, beside how they treat those who believe otherwise.

The positions (theta) of a run with questionnaires and the tilts of a run on paired requests, of the
models that are in both. The two posteriors are independent, so that draws of either can be paired
at random; each pair of draws has one correlation over models.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

from polbayes.errors import UserError
from polbayes.run.pairs.tables import ALL, interval

# Correlations of fewer models say nothing.
_LEAST = 3


def positions(
    tilt: xr.DataArray, theta: xr.DataArray, *, level: float, seed: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Relate positions and tilts of the same models.

    Parameters
    ----------
    tilt, theta
        Draws over ``chain, draw, model, dimension``; both positive to the right.
    level
        Of the intervals.
    seed
        Fixes how draws are paired.

    Returns
    -------
    positions : pandas.DataFrame
        Estimate and interval of both, by model and dimension; ``all`` is the mean of the dimensions
        that both have.
    correlation : pandas.DataFrame
        By dimension, for at least three models.

    Raises
    ------
    UserError
        If the two have no model or no dimension in common.
    """
    models = [m for m in tilt["model"].values.tolist() if m in theta["model"].values]
    if not models:
        raise UserError("no model of this run has a position there; name respondents alike.")
    both = [d for d in tilt["dimension"].values.tolist() if d in theta["dimension"].values]
    if not both:
        raise UserError("the two runs have no dimension in common.")
    t, p = (_flat(one, models, both) for one in (tilt, theta))
    size, rng = min(t.shape[0], p.shape[0]), np.random.default_rng(seed)
    t, p = (rng.permutation(one)[:size] for one in (t, p))
    if len(both) > 1:
        t, p = (np.concatenate([one, one.mean(-1, keepdims=True)], -1) for one in (t, p))
        both = [*both, ALL]
    rows, found = [], []
    for k, dimension in enumerate(both):
        for m, model in enumerate(models):
            row: dict[str, object] = {"model": model, "dimension": dimension}
            for name, draws in (("theta", p), ("tilt", t)):
                for end, value in interval(draws[:, m, k], level).items():
                    row[name if end == "estimate" else f"{name}_{end}"] = value
            rows.append(row)
        if len(models) >= _LEAST:
            r = _correlation(t[..., k], p[..., k])
            found.append({"dimension": dimension, "n_models": len(models), **interval(r, level)})
    correlation = pd.DataFrame(found)
    return pd.DataFrame(rows).assign(level=level), correlation.assign(level=level)


def _flat(values: xr.DataArray, models: list[str], dimensions: list[str]) -> np.ndarray:
    """Return ``[sample, model, dimension]`` draws."""
    chosen = values.sel(model=models, dimension=dimensions).stack(sample=("chain", "draw"))
    return chosen.transpose("sample", "model", "dimension").values


def _correlation(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return ``[sample]`` the correlation over models."""
    a, b = (one - one.mean(axis=1, keepdims=True) for one in (a, b))
    return np.asarray((a * b).sum(1) / np.sqrt((a**2).sum(1) * (b**2).sum(1)))


def positions_of_run(folder: Path) -> xr.DataArray:
    """Return the draws of the positions of a finished run with questionnaires."""
    from polbayes.fit.fit import load_posterior

    path = folder / "posterior.nc"
    if not path.is_file():
        raise UserError(f"report.positions: {folder} holds no finished run with a posterior.")
    posterior = load_posterior(path)
    if "theta" not in posterior:
        raise UserError(
            f"report.positions: {path} has no positions; name a run with questionnaires that was "
            "fitted with an ideology model."
        )
    return posterior["theta"]
