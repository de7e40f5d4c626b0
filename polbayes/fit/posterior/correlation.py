"""The correlation of the dimensions over models."""

from itertools import combinations

import numpy as np
import pandas as pd
import xarray as xr
from scipy.stats import beta

from polbayes.fit.posterior.intervals import flat, summary, tails

POPULATION, MODELS = "population", "models"
_NAME = "cor_theta_model"


def correlations(
    posterior: xr.Dataset, *, level: float, concentration: float | None = None
) -> pd.DataFrame:
    """Summarise the correlation of leanings on two dimensions.

    `concentration` is the parameter of the LKJ prior of the correlation, if there is one.
    """
    theta = flat(posterior["theta"].transpose("chain", "draw", "model", "dimension"))
    names = [str(d) for d in posterior["dimension"].values]
    rows = []
    for one, two in combinations(range(len(names)), 2):
        known = ~np.isnan(theta[:, :, [one, two]]).any(axis=(0, 2))
        about = {"first": names[one], "second": names[two], "n_models": int(known.sum())}
        if concentration is not None and _NAME in posterior:
            prior = _prior(concentration, level)
            population = posterior[_NAME].to_numpy().ravel()
            rows.append(about | {"of": POPULATION} | _summary(population, level) | prior)
        if known.sum() >= 3:
            found = _pearson(theta[:, known, one], theta[:, known, two])
            rows.append(about | {"of": MODELS} | _summary(found, level))
    columns = ["first", "second", "of", "n_models", "estimate", "sd", "lower", "upper", "level"]
    columns += ["p_positive", "prior_lower", "prior_upper"]
    return pd.DataFrame(rows, columns=columns)


def _pearson(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the correlation over the last axis, draw by draw."""
    x, y = x - x.mean(axis=1, keepdims=True), y - y.mean(axis=1, keepdims=True)
    return (x * y).sum(axis=1) / np.sqrt((x**2).sum(axis=1) * (y**2).sum(axis=1))


def _summary(draws: np.ndarray, level: float) -> dict[str, float]:
    above = float((draws > 0).mean())
    return {**summary(draws, level), "level": level, "p_positive": above}


def _prior(concentration: float, level: float) -> dict[str, float]:
    """Return the interval of a correlation under LKJ(eta): on (-1, 1), Beta(eta, eta)."""
    lower, upper = 2 * beta.ppf(tails(level), concentration, concentration) - 1
    return {"prior_lower": float(lower), "prior_upper": float(upper)}
