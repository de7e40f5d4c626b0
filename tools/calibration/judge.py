"""Tests of the uniformity of ranks, and coverage of intervals."""

import re
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from tools.calibration.results import ABOUT

if TYPE_CHECKING:
    import pandas as pd

LEVELS = (50, 80, 90)
_ERROR_RATE = 0.05
_RESAMPLES = 4000
# Range in which pooled ECDFs are compared: nearer to the ends few ranks decide.
_INNER = (0.04, 0.96)


def group_of(quantity: str) -> str:
    """Return the name of a quantity's kind.

    ``theta`` for ``theta[m0, economic]``; the scales of each term are a separate kind.
    """
    if quantity.startswith("scale["):
        return re.sub(r" \[.*\]\]$", "]", quantity)
    return quantity.split("[")[0]


def ecdf_difference(ranks: np.ndarray, kept: int) -> np.ndarray:
    """Return the ECDF of ranks minus that of a uniform distribution.

    Parameters
    ----------
    ranks
        ``[simulation]`` numbers from 0 to `kept`.
    kept
        Draws that were ranked among.

    Returns
    -------
    numpy.ndarray
        ``[kept]``, at the points (k + 1) / (kept + 1), k = 0 ... kept - 1.
    """
    counts = np.bincount(ranks, minlength=kept + 1)[:-1]
    return counts.cumsum() / len(ranks) - np.arange(1, kept + 1) / (kept + 1)


@cache
def band(simulations: int, kept: int, level: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the band that contains the whole ECDF difference with probability `level`.

    Säilynoja, Bürkner and Vehtari (2022): the same probability at every point.

    Parameters
    ----------
    simulations, kept
        Number of ranks, and of draws in the ranking.
    level
        In (0, 1).

    Returns
    -------
    lower, upper : numpy.ndarray
        ``[kept]``, at the points of `ecdf_difference`.
    """
    from scipy import optimize, stats

    at = np.arange(1, kept + 1) / (kept + 1)

    def distance(pointwise: float) -> float:
        low, high = stats.binom.interval(pointwise, simulations, at)
        return abs(_within(low, high, simulations) - level)

    found = optimize.minimize_scalar(distance, bounds=(level, 1), method="bounded").x
    lower, upper = stats.binom.interval(found, simulations, at)
    return lower / simulations - at, upper / simulations - at


def _within(lower: np.ndarray, upper: np.ndarray, simulations: int) -> float:
    """Return the probability that all counts of ranks up to a point are between two counts."""
    from scipy.stats import binom

    before, probability = np.zeros(1), np.ones(1)
    for k, (low, high) in enumerate(zip(lower, upper, strict=True)):
        # Each of the ranks not yet counted is at this point with the same probability.
        count, left = np.arange(low, high + 1), simulations - before[:, None]
        step = binom.pmf(count - before[:, None], left, 1 / (len(lower) + 1 - k))
        before, probability = count, probability @ step
    return float(probability.sum())


def by_quantity(table: "pd.DataFrame", kept: int) -> "pd.DataFrame":
    """Judge each quantity by itself.

    Parameters
    ----------
    table
        Ranks, as `tools.calibration.results.load` gives them.
    kept
        Draws that were ranked among.

    Returns
    -------
    pandas.DataFrame
        ``group, quantity, simulations, outside`` (of the 95 % band), ``far_outside`` (of the band
        that any of all quantities leaves with a probability of at most 5 %) and
        ``coverage_50, coverage_80, coverage_90`` of the central intervals.
    """
    import pandas as pd

    names = [c for c in table.columns if c not in ABOUT]
    n = len(table)
    usual, strict = (
        band(n, kept, 1 - rate) for rate in (_ERROR_RATE, _ERROR_RATE / max(len(names), 1))
    )
    rows = []
    for name in names:
        ranks = table[name].to_numpy(dtype=int)
        difference = ecdf_difference(ranks, kept)
        inside = coverage(ranks[:, None], kept)
        rows.append(
            {
                "group": group_of(name),
                "quantity": name,
                "simulations": n,
                "outside": _leaves(difference, usual),
                "far_outside": _leaves(difference, strict),
                **{f"coverage_{k}": float(v.mean()) for k, v in inside.items()},
            }
        )
    return pd.DataFrame(rows)


def _leaves(difference: np.ndarray, limits: tuple[np.ndarray, np.ndarray]) -> bool:
    tolerance = 1e-12
    return bool(((difference < limits[0] - tolerance) | (difference > limits[1] + tolerance)).any())


def coverage(ranks: np.ndarray, kept: int) -> dict[int, np.ndarray]:
    """Return the coverage of central intervals by level.

    Parameters
    ----------
    ranks
        ``[simulation, quantity]``.
    kept
        Draws that were ranked among.

    Returns
    -------
    dict
        By level in percent ``[simulation, quantity]`` in [0, 1]: a rank represents an interval of
        length 1 / (kept + 1), which may be partly inside.
    """
    low, high = ranks / (kept + 1), (ranks + 1) / (kept + 1)
    out = {}
    for level in LEVELS:
        first, last = 0.5 - level / 200, 0.5 + level / 200
        inside = np.clip(np.minimum(high, last) - np.maximum(low, first), 0, None)
        out[level] = inside * (kept + 1)
    return out


def by_group(table: "pd.DataFrame", kept: int, *, seed: int = 0) -> "pd.DataFrame":
    """Judge quantities of one kind together.

    Quantities of one data set depend on one another, so data sets are counted, not
    ranks: standard errors are those of means over data sets.

    Parameters
    ----------
    table, kept
        See `by_quantity`.
    seed
        Of the simulated distribution of the test statistic.

    Returns
    -------
    pandas.DataFrame
        ``group, quantities, coverage_50, error_50`` (standard error), the same for 80 and 90, and
        ``p``, the p value of the largest distance of the pooled ECDF from uniformity in its
        standard errors.
    """
    import pandas as pd

    rng = np.random.default_rng(seed)
    names = pd.Series([c for c in table.columns if c not in ABOUT])
    rows = []
    for group, members in names.groupby(names.map(group_of), sort=False):
        ranks = table[list(members)].to_numpy(dtype=int)
        row: dict[str, object] = {"group": group, "quantities": len(members)}
        for level, inside in coverage(ranks, kept).items():
            each = inside.mean(axis=1)
            row[f"coverage_{level}"] = float(each.mean())
            row[f"error_{level}"] = float(each.std(ddof=1) / np.sqrt(len(each)))
        rows.append({**row, "p": _pooled_p(ranks, kept, rng)})
    return pd.DataFrame(rows)


def _pooled_p(ranks: np.ndarray, kept: int, rng: np.random.Generator) -> float:
    """Test uniformity of the pooled ranks ``[simulation, quantity]``, data sets independent.

    The largest distance of the ECDF from uniformity, in standard errors, is compared with that
    of an effective number of independent ranks: their number divided by the design effect
    (Kish 1965), the variance of means over data sets relative to that without dependence.
    """
    at = np.arange(1, kept + 1) / (kept + 1)
    points = np.flatnonzero((at >= _INNER[0]) & (at <= _INNER[1]))
    at = at[points]
    below = (ranks[:, :, None] <= points).mean(axis=1)
    effect = float((below.var(axis=0, ddof=1) * ranks.shape[1] / (at * (1 - at))).mean())
    worth = max(round(ranks.size / max(effect, 1e-12)), 1)
    observed = (np.abs(below.mean(axis=0) - at) / np.sqrt(at * (1 - at))).max()
    cells = np.diff([0.0, *at, 1.0])
    shares = rng.multinomial(worth, cells, size=_RESAMPLES)[:, :-1].cumsum(axis=1) / worth
    largest = (np.abs(shares - at) / np.sqrt(at * (1 - at))).max(axis=1)
    return float((1 + (largest >= observed - 1e-12).sum()) / (1 + _RESAMPLES))


def flagged(quantities: "pd.DataFrame", groups: "pd.DataFrame") -> list[str]:
    """Name the flagged quantities, at an error rate of 5 % for each of the two tests of a case.

    Parameters
    ----------
    quantities, groups
        From `by_quantity` and `by_group`.
    """
    single = list(quantities.loc[quantities["far_outside"], "quantity"])
    order = groups.sort_values("p")
    # Holm (1979)
    limits = _ERROR_RATE / np.arange(len(order), 0, -1)
    rejected = np.logical_and.accumulate(order["p"].to_numpy() <= limits)
    return single + [f"{g} (pooled)" for g in order.loc[rejected, "group"]]
