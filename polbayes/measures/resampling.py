"""Intervals: the bootstrap on counts instead of rows, and Wilson's for proportions.

Resampling the rows of a group with replacement and counting them is equivalent to drawing the
counts from a multinomial distribution; resampling its items, to drawing the number of times each
item occurs and adding up the items' counts. Both have exactly the distribution of the
naive bootstrap at a small fraction of its cost.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from polbayes.data.provenance import text_digest
from polbayes.errors import UserError


@dataclass(frozen=True)
class Bootstrap:
    """Settings of intervals: resamples, coverage in (0, 1), and seed."""

    draws: int
    level: float
    seed: int

    def __post_init__(self) -> None:
        if self.draws < 1:
            raise UserError(f"measures.bootstrap: must be at least 1 draw, not {self.draws}.")
        if not 0 < self.level < 1:
            raise UserError(f"measures.level: must lie between 0 and 1, not {self.level}.")
        if self.seed < 0:
            raise UserError(f"seed: must not be negative, not {self.seed}.")

    @property
    def quantiles(self) -> tuple[float, float]:
        """The two quantiles that bound the interval."""
        return (1 - self.level) / 2, (1 + self.level) / 2


def generator(seed: int, *labels: object) -> np.random.Generator:
    """Return the random generator for a seed and a name.

    The draws of a group then depend only on its own labels.
    """
    digest = text_digest("\x1f".join(map(str, labels)))
    return np.random.default_rng([seed, int(digest, 16)])


def resample_answers(counts: np.ndarray, draws: int, rng: np.random.Generator) -> np.ndarray:
    """Resample the answers of one group, counted by kind in any shape, with replacement.

    Returns the counts over ``draw`` and the dimensions of `counts`.
    """
    n = int(counts.sum())
    if n == 0:
        return np.zeros((draws, *counts.shape))
    drawn = rng.multinomial(n, counts.reshape(-1) / n, size=draws)
    return drawn.reshape(draws, *counts.shape).astype(np.float64)


def item_weights(items: Sequence[str], draws: int, seed: int) -> np.ndarray:
    """Return how often each of the items, sorted by id, is drawn, over ``draw, item``.

    Groups with the same items get the same resamples, so that differences
    between their draws are those of a paired bootstrap.
    """
    size = len(items)
    picked = generator(seed, "items", *items).integers(size, size=(draws, size))
    picked += size * np.arange(draws)[:, None]
    counted = np.bincount(picked.reshape(-1), minlength=draws * size)
    return counted.reshape(draws, size).astype(np.float64)


def by_item_set(present: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Collect the groups with the same items."""
    sets, which = np.unique(present, axis=0, return_inverse=True)
    for number, row in enumerate(sets):
        yield np.flatnonzero(which.reshape(-1) == number), np.flatnonzero(row)


def percentile_interval(draws: np.ndarray, level: float) -> tuple[float, float, int]:
    """Return the bounds, NaN if no draw is defined, and the number of undefined (NaN) draws.

    Redrawing until all are defined would give the same interval, and hide their number.
    """
    defined = draws[~np.isnan(draws)]
    undefined = draws.size - defined.size
    if not defined.size:
        return np.nan, np.nan, undefined
    lower, upper = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
    return float(lower), float(upper), undefined


def wilson(count: float, n: float, level: float) -> tuple[float, float]:
    """Compute Wilson's score interval of a proportion of independent trials; NaN without any.

    References
    ----------
    Wilson, E. B. (1927). Probable inference, the law of succession, and statistical
    inference. Journal of the American Statistical Association 22, 209-212.
    """
    if n == 0:
        return np.nan, np.nan
    # SciPy has this interval only in `binomtest`, which first computes an exact p value; tables
    # have thousands of proportions and do not need one.
    z2 = NormalDist().inv_cdf((1 + level) / 2) ** 2
    share = count / n
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = np.sqrt(z2 * (share * (1 - share) / n + z2 / (4 * n * n))) / (1 + z2 / n)
    # At 0 and n the bound is the proportion itself; rounding must not exceed it.
    lower = 0.0 if count == 0 else float(centre - half)
    return lower, 1.0 if count == n else float(centre + half)


def mean_by_item(
    totals: np.ndarray, counts: np.ndarray, items: Sequence[str], bootstrap: Bootstrap
) -> np.ndarray:
    """Average a quantity over cells, with the interval from resampling items.

    Parameters
    ----------
    totals, counts
        Over ``group, item``: sum of the quantity, and number of cells in the sum.
    items
        Ids of the items, sorted.

    Returns
    -------
    numpy.ndarray
        Over ``group`` and estimate, lower, upper. The estimate is NaN without cells,
        the bounds with fewer than two items.
    """
    out = np.full((len(totals), 3), np.nan)
    for members, present in by_item_set(counts > 0):
        if not present.size:
            continue
        total, count = totals[np.ix_(members, present)], counts[np.ix_(members, present)]
        out[members, 0] = total.sum(axis=1) / count.sum(axis=1)
        if present.size < 2:
            continue
        weights = item_weights([items[k] for k in present], bootstrap.draws, bootstrap.seed)
        drawn = (weights @ total.T) / (weights @ count.T)
        bounds = np.quantile(drawn, bootstrap.quantiles, axis=0)
        out[members, 1:] = bounds.T
    return out


def share(count: int, n: int, level: float) -> dict[str, float]:
    """Return a proportion with Wilson's interval as the columns of a table; NaN without trials."""
    lower, upper = wilson(count, n, level)
    estimate = count / n if n else np.nan
    ends = {"lower": lower, "upper": upper}
    return {"estimate": estimate, **ends, "count": count, "n": n, "level": level}
