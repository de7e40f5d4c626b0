"""Agreement of the models' order under two ways of asking: Kendall's tau of their bias.

Faulborn et al. (2025), section 4.1, compare the order of models by bias under two instruments.
Here any two levels of a coordinate are compared, with the p value of the hypothesis that the
orders are independent, and two intervals: one treats the models as a sample, the other the items.
"""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from polbayes.data.prose import plural
from polbayes.errors import UserError
from polbayes.measures.grouping import check_by
from polbayes.measures.measure import INTERVAL, Job, Measure
from polbayes.measures.resampling import Bootstrap, percentile_interval
from polbayes.measures.sided import bias_of, count_answers, resample_items

_COLUMNS = (
    *("dimension", "first", "second", "measure", "estimate", "p", "lower", "upper"),
    *("lower_item", "upper_item", "n_models", "n_undefined_item", "level", "note"),
)
# Number of pairs of models to compare at a time, over draws and levels: some 16 MB.
_AT_ONCE = 4_000_000


def rank_agreement(
    data: xr.Dataset, *, over: str, draws: int = 10_000, level: float = 0.95, seed: int = 1
) -> pd.DataFrame:
    """Compare the order of models by bias between the levels of a coordinate.

    Parameters
    ----------
    data
        A coded response dataset of at least two models.
    over
        The coordinate to compare: ``"instrument"``, ``"prefix"``, ``"kind"``, ``"variant"``, ...
    draws, level, seed
        Bootstrap resamples of items, coverage in (0, 1), and seed.

    Returns
    -------
    pandas.DataFrame
        One row per ``dimension`` and two levels of `over`, ``first`` and ``second``: ``estimate``,
        Kendall's tau-b in [-1, 1], with its interval and two-sided ``p``; ``lower_item``,
        ``upper_item`` from resampling items, slightly biased towards 0. With more than two levels a
        row ``mean_tau`` (``first`` and ``second`` are ``all``) averages them.
    """
    if over in ("model", "dimension"):
        raise UserError(f"over: '{over}' is not a way of asking; name prefix, instrument, ...")
    check_by(data, [over])
    bootstrap = Bootstrap(draws, level, seed)
    counts = count_answers(data, ("model", over, "dimension"), side_of="item")
    labels = counts.groups.labels
    bias = np.full((1 + draws, len(labels)), np.nan)
    bias[0] = bias_of(counts.valid.sum(axis=1))
    for g, by_item in resample_items(counts, bootstrap):
        bias[1:, g] = bias_of(by_item)
    # Values equal up to rounding are ties.
    bias = np.round(bias, 12)
    rows: list[dict[str, Any]] = []
    for dimension in dict.fromkeys(label[2] for label in labels):
        place = {label[:2]: g for g, label in enumerate(labels) if label[2] == dimension}
        rows += [
            {"dimension": dimension, **row} for row in _of_dimension(bias, place, bootstrap.level)
        ]
    return pd.DataFrame(rows, columns=list(_COLUMNS))


def kendall(
    first: np.ndarray, second: np.ndarray, *, level: float = 0.95
) -> tuple[float, float, float, float]:
    """Compute Kendall's tau-b of two series, its p value and an interval."""
    from scipy.stats import kendalltau, norm

    n = len(first)
    if n < 2 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return np.nan, np.nan, np.nan, np.nan
    found = kendalltau(first, second)
    tau, p = float(found.statistic), float(found.pvalue)
    if n < 5 or abs(tau) > 1 - 1e-12:
        return tau, p, np.nan, np.nan
    half = norm.ppf((1 + level) / 2) * np.sqrt(0.437 / (n - 4))
    return tau, p, float(np.tanh(np.arctanh(tau) - half)), float(np.tanh(np.arctanh(tau) + half))


def _of_dimension(
    bias: np.ndarray, place: dict[tuple[Any, ...], int], level: float
) -> list[dict[str, Any]]:
    levels = list(dict.fromkeys(key[1] for key in place))
    models = list(dict.fromkeys(key[0] for key in place))
    drawn = np.full((len(bias), len(levels), len(models)), np.nan)
    for k, one in enumerate(levels):
        there = [m for m, model in enumerate(models) if (model, one) in place]
        drawn[:, k, there] = bias[:, [place[models[m], one] for m in there]]
    known = ~np.isnan(drawn[0])
    series = _taus(drawn, known)
    rows = []
    for (a, b), taus in zip(combinations(range(len(levels)), 2), series, strict=True):
        both = known[a] & known[b]
        tau, p, lower, upper = kendall(drawn[0, a, both], drawn[0, b, both], level=level)
        low_item, up_item, undefined = percentile_interval(taus[1:], level)
        row = {"first": levels[a], "second": levels[b], "measure": "kendall_tau"}
        row |= {"estimate": tau, "p": p}
        bounds = {"lower": lower, "upper": upper, "lower_item": low_item, "upper_item": up_item}
        n_models = int(both.sum())
        row |= bounds if not np.isnan(tau) else dict.fromkeys(bounds, np.nan)
        row |= {"n_models": n_models, "n_undefined_item": undefined, "level": level}
        rows.append({**row, "note": _note(tau, lower, n_models)})
    if len(levels) > 2:
        rows.append(_mean(series, rows, level))
    return rows


def _taus(bias: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Compute tau-b for all pairs of levels in every draw, from ``draw, level, model``.

    `known` tells which models have a bias under a level; a pair is compared on those known under
    both. NaN if a series is constant, or if one of its models has no bias in a draw.
    """
    models = [np.asarray(side) for side in np.triu_indices(bias.shape[2], k=1)]
    first, second = np.triu_indices(bias.shape[1], k=1)
    pairs = (known[:, models[0]] & known[:, models[1]]).astype(np.float32)
    out = np.full((len(first), len(bias)), np.nan)
    at_once = max(1, _AT_ONCE // max(pairs.size, 1))
    for start in range(0, len(bias), at_once):
        part = bias[start : start + at_once]
        apart = np.take(part, models[0], axis=2) - np.take(part, models[1], axis=2)
        signs = np.nan_to_num(np.sign(apart)).astype(np.float32) * pairs
        # Sums of ones are exact in single precision.
        concordance = (signs @ signs.transpose(0, 2, 1))[:, first, second].astype(float)
        there = ((signs * signs) @ pairs.T).astype(float)
        untied = np.sqrt(there[:, first, second] * there[:, second, first])
        lost = (np.isnan(part) & known).astype(np.float32) @ known.T.astype(np.float32)
        untied[(lost[:, first, second] > 0) | (lost[:, second, first] > 0)] = 0
        where = untied.T > 0
        np.divide(concordance.T, untied.T, out=out[:, start : start + at_once], where=where)
    return out


def _mean(series: np.ndarray, rows: Sequence[dict[str, Any]], level: float) -> dict[str, Any]:
    """Average tau over all pairs of levels for which it is defined."""
    used = series[~np.isnan(series[:, 0])]
    mean = used.mean(axis=0) if len(used) else np.full(series.shape[1], np.nan)
    low_item, up_item, undefined = percentile_interval(mean[1:], level)
    left_out = len(series) - len(used)
    return {
        "first": "all",
        "second": "all",
        "measure": "mean_tau",
        "estimate": float(mean[0]),
        "p": np.nan,
        "lower": np.nan,
        "upper": np.nan,
        "lower_item": low_item,
        "upper_item": up_item,
        "n_models": max(row["n_models"] for row in rows),
        "n_undefined_item": undefined,
        "level": level,
        "note": f"{plural(left_out, 'pair')} without tau left out" if left_out else "",
    }


def _note(tau: float, lower: float, n_models: int) -> str:
    if np.isnan(tau):
        few = "fewer than two models have a bias under both"
        return few if n_models < 2 else "all models have the same bias: no order"
    if np.isnan(lower):
        why = "fewer than 5 models" if n_models < 5 else "the orders are equal or reversed"
        return f"{why}: no interval over models"
    return ""


# Largest number of wordings of which all pairs are compared.
_MANY_PAIRED = 12


def _tables(job: Job) -> dict[str, pd.DataFrame]:
    if job.data.sizes["model"] < 2:
        return {}
    over = [name for name in ("prefix", "instrument") if job.several(name)]
    variants = job.data.sizes["variant"]
    if variants > 1:
        over.append("variant" if variants <= _MANY_PAIRED else "kind")
    return {
        f"rank_agreement_by_{name}": rank_agreement(job.data, over=name, **job.bootstrap)
        for name in over
    }


MEASURE = Measure(
    _tables,
    {
        f"rank_agreement_by_{over}": ("dimension", "first", "second", "p", *INTERVAL)
        for over in ("instrument", "prefix", "variant", "kind")
    },
)
