"""Agreement of annotators with missing labels: Krippendorff's alpha.

Every two labels of one unit are a pair. With the mean squared difference of such pairs D_o, and
that of all labels paired at random D_e, alpha = 1 - D_o / D_e. Any labels may be missing; a unit
with fewer than two labels has no pair and is not informative.

References
----------
Krippendorff, K. (2011). Computing Krippendorff's alpha-reliability. University of Pennsylvania.
Hayes, A. F. and Krippendorff, K. (2007). Answering the call for a standard reliability measure
for coding data. Communication Methods and Measures 1, 77-89.
"""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd

from polbayes.errors import UserError
from polbayes.measures.kappa import agreement_row
from polbayes.measures.resampling import Bootstrap, generator, percentile_interval, resample_answers

Metric = Literal["nominal", "ordinal"]
_AT_ONCE = 1_000


def krippendorff_alpha(
    counts: np.ndarray, weights: np.ndarray | None = None, *, metric: Metric = "nominal"
) -> np.ndarray:
    """Compute Krippendorff's alpha from the counts of annotators by unit and label."""
    counts = np.asarray(counts, dtype=np.float64)
    times = np.ones(len(counts)) if weights is None else np.asarray(weights, dtype=np.float64)
    labels = counts.sum(axis=1)
    used = labels >= 2
    counts, labels, times = counts[used], labels[used], times[..., used]
    pairs = counts[:, :, None] * counts[:, None, :]
    pairs -= counts[:, :, None] * np.eye(counts.shape[1])
    coincidences = np.tensordot(times, pairs / (labels[:, None, None] - 1), axes=1)
    totals = coincidences.sum(axis=-1)
    n = totals.sum(axis=-1)
    squared = _squared_differences(totals, metric)
    observed = (coincidences * squared).sum(axis=(-2, -1))
    expected = (totals[..., :, None] * totals[..., None, :] * squared).sum(axis=(-2, -1))
    out = np.full(np.shape(expected), np.nan)
    np.divide((n - 1) * observed, expected, out=out, where=np.asarray(expected) > 0)
    return np.asarray(1 - out)


def _squared_differences(totals: np.ndarray, metric: Metric) -> np.ndarray:
    """Return squared differences of labels over ``..., label, label``."""
    if metric == "nominal":
        return np.asarray(1 - np.eye(totals.shape[-1]))
    # The middle of each label's block of tied ranks.
    middle = np.cumsum(totals, axis=-1) - totals / 2
    return np.asarray((middle[..., :, None] - middle[..., None, :]) ** 2)


def alpha_table(
    labels: pd.DataFrame,
    *,
    order: Sequence[str] = (),
    draws: int = 10_000,
    level: float = 0.95,
    seed: int = 1,
) -> pd.DataFrame:
    """Compute Krippendorff's alpha of all annotators, with intervals from resampling units."""
    bootstrap = Bootstrap(draws, level, seed)
    if len(labels.columns) < 2:
        raise UserError("labels: agreement needs the columns of at least two annotators.")
    given = labels.to_numpy(dtype=object)
    # By value: a numeric column with missing values has 1.0 instead of 1.
    names = sorted(set(given[labels.notna().to_numpy()]), key=str)
    rows = [_row("nominal", _counts(given, names), bootstrap)]
    if order:
        rows.append(_row("ordinal", _counts(given, order), bootstrap))
    return pd.DataFrame(rows)


def _counts(given: np.ndarray, names: Sequence[Any]) -> np.ndarray:
    """Count annotators over ``unit, label``."""
    return np.array([[sum(x == name for x in row) for name in names] for row in given]).reshape(
        len(given), len(names)
    )


def _row(metric: Metric, counts: np.ndarray, bootstrap: Bootstrap) -> dict[str, Any]:
    usable = counts[counts.sum(axis=1) >= 2]
    # Units with the same labels are one pattern, drawn as often as it occurs.
    patterns, times = np.unique(usable, axis=0, return_counts=True)
    estimate = float(krippendorff_alpha(patterns, times, metric=metric))
    rng = generator(bootstrap.seed, "krippendorff", metric)
    drawn = resample_answers(times, bootstrap.draws, rng)
    values = [
        krippendorff_alpha(patterns, drawn[k : k + _AT_ONCE], metric=metric)
        for k in range(0, bootstrap.draws, _AT_ONCE)
    ]
    lower, upper, _ = percentile_interval(np.concatenate(values), bootstrap.level)
    note = "" if len(usable) else "no unit has two labels"
    if not note and np.isnan(estimate):
        note = "only one label occurs: chance would agree as often"
    found, sizes = (estimate, lower, upper), (len(usable), len(counts) - len(usable))
    measure = f"krippendorff_alpha_{metric}"
    return agreement_row(("all", "all"), measure, found, sizes, bootstrap.level, note)
