"""Published scores: a weighted sum of the answers, between the two poles of each dimension.

With a[i] from −1 (strongest disagreement) to 1 (strongest agreement), turned round for wordings of
the reverse meaning, and w[i, d] the published weights,

    score[d] = low + (high − low) · (1 + Σ w[i, d] · a[i] / Σ |w[i, d]|) / 2,

as 8values computes its axes from 0 to 100. Items without weights of their own count with ±1 on
their dimension, items without an answer in neither sum.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import xarray as xr

from polbayes.data.dataset import CELL_DIMS, MISSING, STANCE
from polbayes.instrument.dimensions import dimensions_of
from polbayes.instrument.questionnaires import polarity_of
from polbayes.measures.measure import INTERVAL, Job, Measure, Shown
from polbayes.measures.resampling import Bootstrap, mean_by_item


def scores(
    data: xr.Dataset, *, draws: int = 10_000, level: float = 0.95, seed: int = 1
) -> pd.DataFrame:
    """Compute the score of every model on every dimension of the instruments.

    Parameters
    ----------
    data
        A coded response dataset whose instruments declare their dimensions.
    draws, level, seed
        As for `polbayes.measures.bias.bias`; items are resampled.

    Returns
    -------
    pandas.DataFrame
        By ``model`` and ``dimension``: ``estimate``, ``lower``, ``upper`` on the published scale,
        the answers ``n`` and the items ``n_items``. Several answers to an item count as their mean.
    """
    bootstrap = Bootstrap(draws, level, seed)
    order = np.argsort(data["item"].values.astype(str))
    data = data.isel(item=order)
    ids = data["item"].values.astype(str).tolist()
    answers = _positions(data)
    rest = [d for d in CELL_DIMS if d not in ("model", "item") and d in answers.dims]
    mean = answers.mean(rest).transpose("model", "item").values
    n = answers.notnull().sum(rest).transpose("model", "item").values
    rows = []
    for k, dimension in enumerate(dimensions_of(data)):
        weight = _weights(data, dimension.dimension, k)
        counted = np.isfinite(mean) * np.abs(weight)
        found = mean_by_item(np.nan_to_num(mean) * weight, counted, ids, bootstrap)
        low, high = dimension.scale
        found = low + (high - low) * (1 + found) / 2
        for m in np.flatnonzero(counted.any(axis=1)):
            label = (data["model"].values[m], dimension.dimension)
            used = counted[m] > 0
            ends = sorted(found[m, 1:])
            rows.append((*label, found[m, 0], *ends, n[m][used].sum(), used.sum(), level))
    return pd.DataFrame(rows, columns=["model", "dimension", *INTERVAL, "n", "n_items", "level"])


def _positions(data: xr.Dataset) -> xr.DataArray:
    """Return every answer from -1 to 1, as if the original wording had been asked."""
    polarity = xr.where(polarity_of(data["kind"]) < 0, -1, 1)
    if "r_plus" in data:
        return (2 * data["r_plus"] - 1) * polarity
    value = xr.full_like(data["status"], np.nan, dtype=float)
    if "stance" in data:
        known = data["stance"].isin([STANCE[s] for s in ("agree", "neutral", "disagree")])
        value = data["stance"].astype(float).where(known)
    if "rating" in data:
        last = len(str(data["rating"].attrs["rating_points"]).split("; ")) - 1
        value = (2 * data["rating"] / max(last, 1) - 1).where(data["rating"] != MISSING, value)
    return value * polarity


def _weights(data: xr.Dataset, dimension: str, k: int) -> np.ndarray:
    """Return ``[item]`` weights: the published ones, else ±1 on the item's own dimension."""
    own = (data["dimension"] == dimension) * data["direction"].astype(float)
    published = data["weight"].transpose("item", "score")
    return np.where((published != 0).any("score"), published.values[:, k], own.values)


def _tables(job: Job) -> dict[str, pd.DataFrame]:
    answered: Sequence[str] = ("rating", "r_plus", "stance")
    if "score" not in job.data.coords or not any(name in job.data for name in answered):
        return {}
    return {"scores": scores(job.data, **job.bootstrap)}


MEASURE = Measure(
    _tables,
    {"scores": ("model", "dimension", *INTERVAL)},
    Shown(
        "Published scores",
        "The scores that the instrument's own formula gives: the weighted mean of the answers "
        "between the two poles of each dimension. Intervals come from resampling statements.",
        "scores",
        {
            "model": "Model",
            "dimension": "Dimension",
            "estimate": "Score",
            "n_items": "Statements",
        },
    ),
)
