"""Populations: answers of many persons, of whom only the shares are known, as a distribution.

A population is one respondent, whose theta is the mean of its persons. Their answers to a statement
differ because persons differ, which its decisiveness measures: if their positions are normal with
standard deviation t, their views of single statements with 1 (the unit) and each answers with
decisiveness k, the answers of all follow a logistic curve with decisiveness g, approximately, where

    1 / g² = 1 / k² + c² (a² t² + 1),    c = 16 sqrt(3) / (15 pi)

(Johnson, Kotz and Balakrishnan 1995, section 23.2), and a is the discrimination, 1 on average.
"""

import numpy as np
import pandas as pd
import xarray as xr
from scipy.stats import norm

from polbayes.fit.posterior.intervals import flat, summary

_C2 = (16 * np.sqrt(3) / (15 * np.pi)) ** 2


def spreads(posterior: xr.Dataset, models: list[str], *, held: float) -> np.ndarray:
    """Return ``[draw, population]`` standard deviations of persons; 0 where there is none.

    Persons are taken to be as decisive as the other respondents are on average, on a logarithmic
    scale; if all of these were asked once, as decisive as is assumed of them (`held`).
    """
    log = np.log(flat(posterior["decisiveness"]))
    names = [str(name) for name in posterior["model"].values]
    inside = np.isin(names, models)
    others = log[:, ~inside]
    known = np.isfinite(others).all(axis=0)
    person = others[:, known].mean(axis=1) if known.any() else np.full(len(log), np.log(held))
    own = log[:, [names.index(model) for model in models]]
    square = (np.exp(-2 * own) - np.exp(-2 * person)[:, None]) / _C2 - 1.0
    return np.sqrt(np.maximum(square, 0.0))


def population_tables(
    posterior: xr.Dataset, shown: xr.Dataset, models: list[str], *, level: float, held: float
) -> dict[str, pd.DataFrame]:
    """Summarise populations, and find where in them the other respondents stand.

    Parameters
    ----------
    posterior
        With ``theta[model, dimension]`` and ``decisiveness[model]``.
    shown
        The same on the scale that is reported (`polbayes.fit.posterior.scale`).
    models
        The populations.
    level
        Probability of the intervals, in (0, 1).
    held
        Decisiveness of respondents whose answers do not tell it.

    Returns
    -------
    dict
        ``populations``: mean and spread of persons' positions, by population and dimension.
        ``population_shares``: by respondent, population and dimension the share of persons who are
        left of it.
    """
    theta, reported = flat(posterior["theta"]), flat(shown["theta"])
    names = [str(name) for name in posterior["model"].values]
    persons = spreads(posterior, models, held=held)
    about, shares = [], []
    for k, population in enumerate(models):
        at = names.index(population)
        for d, dimension in enumerate(map(str, posterior["dimension"].values)):
            if np.isnan(theta[:, at, d]).any():
                continue
            place = {"population": population, "dimension": dimension}
            unit = _unit(theta[:, :, d], reported[:, :, d])
            for quantity, values in (
                ("mean", reported[:, at, d]),
                ("spread", persons[:, k] * unit),
            ):
                about.append(place | {"quantity": quantity} | summary(values, level))
            for m, model in enumerate(names):
                if model in models or np.isnan(theta[:, m, d]).any():
                    continue
                apart = theta[:, m, d] - theta[:, at, d]
                spread = np.maximum(persons[:, k], 1e-9)
                found = summary(norm.cdf(apart / spread), level)
                shares.append({"model": model} | place | found)
    return {
        "populations": pd.DataFrame(about).assign(level=level),
        "population_shares": pd.DataFrame(shares).assign(level=level),
    }


def _unit(theta: np.ndarray, shown: np.ndarray) -> np.ndarray:
    """Return ``[draw]`` how many of the reported units are one of theta's."""
    first, last = np.nanargmin(theta[0]), np.nanargmax(theta[0])
    return (shown[:, last] - shown[:, first]) / (theta[:, last] - theta[:, first])
