"""Sensitivity of the order of models to the weights of the values."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
import xarray as xr

from polbayes.errors import UserError, check_known
from polbayes.instrument.values import RATING_CENTRE, VALUES, WEIGHTS, alignment_score, standardise
from polbayes.measures.measure import INTERVAL
from polbayes.measures.resampling import generator
from polbayes.roleplay.measures.data import check_ratings, judge_means
from polbayes.roleplay.measures.units import by_scenario, mean_over, with_all_stages

_COLUMNS = ("weights", "measure", *INTERVAL, "n_models", "draws", "level", "note")


def _weight_sets() -> dict[str, Mapping[str, float]]:
    """Return the weights to compare with the published ones, by name.

    ``equal`` keeps each value's side with weight 1; ``without_NAME`` omits one value, after which
    weights no longer sum to 0 and a flat profile no longer scores 0.
    """
    equal = {name: float(np.sign(weight)) for name, weight in WEIGHTS.items()}
    left_out = {f"without_{name}": {**WEIGHTS, name: 0.0} for name in VALUES}
    return {"equal": equal, **left_out}


def _random_weights(draws: int, spread: float, seed: int) -> np.ndarray:
    """Multiply each published weight by a number that is uniform in [1 - spread, 1 + spread]."""
    factors = generator(seed, "weights").uniform(1 - spread, 1 + spread, (draws, len(WEIGHTS)))
    return np.array(list(WEIGHTS.values())) * factors


def weight_sensitivity(
    data: xr.Dataset,
    *,
    source: str = "reflection",
    spread: float = 0.2,
    draws: int = 1_000,
    level: float = 0.95,
    seed: int = 1,
) -> pd.DataFrame:
    """Compare models' alignments and their order under other weights with the published ones.

    Parameters
    ----------
    data
        A dataset of ratings.
    source
        A stage, ``reflection`` as published, or ``stages`` for the mean over the four.
    spread
        Of random weights, in (0, 1).
    draws, level, seed
        Random sets of weights, share of them between ``lower`` and ``upper`` in (0, 1), and seed.

    Returns
    -------
    pandas.DataFrame
        One row per ``weights`` (``equal``, ``without_NAME``, ``random``) and ``measure``:
        ``kendall`` (tau-b) and ``spearman``, rank correlations with the published alignments, and
        ``largest_change`` of a model's alignment, in points.
    """
    if not 0 < spread < 1 or not 0 < level < 1 or draws < 1:
        raise UserError("weight_sensitivity: spread and level lie in (0, 1), draws is at least 1.")
    check_ratings(data)
    profile = _profiles(data, source)
    published = alignment_score(profile)
    rows = []
    common = {"n_models": int(published.notnull().sum()), "level": level}
    for name, weights in _weight_sets().items():
        found = _compare(published.values, alignment_score(profile, weights).values)
        rows += [
            {"weights": name, "measure": m, "estimate": v, "draws": 1, **common}
            for m, v in found.items()
        ]
    drawn = pd.DataFrame(
        [
            _compare(published.values, scores)
            for scores in _alignments(profile, _random_weights(draws, spread, seed))
        ]
    )
    for measure in drawn:
        values = drawn[measure].dropna()
        bounds = values.quantile([(1 - level) / 2, (1 + level) / 2]).tolist()
        ends = dict(zip(("lower", "upper"), bounds, strict=True))
        estimate = values.mean() if len(values) else np.nan
        named = {"weights": "random", "measure": measure, "estimate": estimate, "draws": draws}
        rows.append({**named, **ends, **common})
    for row in rows:
        few = row["estimate"] != row["estimate"]
        row["note"] = "fewer than two models with different alignments" if few else ""
    return pd.DataFrame(rows, columns=list(_COLUMNS))


def _profiles(data: xr.Dataset, source: str) -> xr.DataArray:
    """Return ``[model, value]`` mean ratings: alignment is linear, and theirs is its mean."""
    units = with_all_stages(judge_means(data))
    stages = [str(s) for s in units["stage"].values]
    check_known("source", source, known=stages, where="weight_sensitivity")
    scenarios = by_scenario(units.sel(stage=source, drop=True))
    twin = "both" if "both" in scenarios["twin"].values else scenarios["twin"].values[0]
    return mean_over("scenario", scenarios.sel(twin=twin, drop=True))


def _alignments(profile: xr.DataArray, weights: np.ndarray) -> np.ndarray:
    """Return over ``draw, model`` the alignment under every set of weights."""
    standardised = standardise(profile.sel(value=list(WEIGHTS))).transpose("value", "model").values
    scale = RATING_CENTRE * np.abs(weights).sum(axis=1, keepdims=True)
    return np.asarray(100 * (weights @ standardised) / scale)


def _compare(published: np.ndarray, other: np.ndarray) -> dict[str, float]:
    from scipy import stats

    there = ~np.isnan(published) & ~np.isnan(other)
    x, y = published[there], other[there]
    change = float(np.abs(y - x).max()) if x.size else np.nan
    if x.size < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return {"kendall": np.nan, "spearman": np.nan, "largest_change": change}
    return {
        "kendall": float(stats.kendalltau(x, y).statistic),
        "spearman": float(stats.spearmanr(x, y).statistic),
        "largest_change": change,
    }
