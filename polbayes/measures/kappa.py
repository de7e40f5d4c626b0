"""Agreement of annotators beyond chance: Cohen's and Fleiss' kappa.

With the observed proportion of agreement P and the one expected by chance P_e,
kappa = (P - P_e) / (1 - P_e). Cohen (1960) computes P_e from each of two annotators' own
proportions of labels, Fleiss (1971) from those of all annotators together.

References
----------
Cohen, J. (1960). A coefficient of agreement for nominal scales. Educational and Psychological
Measurement 20, 37-46.
Cohen, J. (1968). Weighted kappa: nominal scale agreement with provision for scaled disagreement
or partial credit. Psychological Bulletin 70, 213-220.
Fleiss, J. L. (1971). Measuring nominal scale agreement among many raters. Psychological
Bulletin 76, 378-382.
"""

from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from polbayes.errors import UserError
from polbayes.measures.measure import INTERVAL
from polbayes.measures.resampling import Bootstrap, generator, percentile_interval, resample_answers

_COLUMNS = ("first", "second", "measure", *INTERVAL, "n", "n_excluded", "level", "note")


def annotator_agreement(
    labels: pd.DataFrame, *, draws: int = 10_000, level: float = 0.95, seed: int = 1
) -> pd.DataFrame:
    """Compute kappa of every two annotators and of all together (Cohen 1960; Fleiss 1971).

    Parameters
    ----------
    labels
        One row per unit, one column per annotator; missing labels are allowed.
    draws, level, seed
        As for `polbayes.measures.bias.bias`, resampling units.

    Returns
    -------
    pandas.DataFrame
        ``first``, ``second`` (annotators, or ``all``); ``measure``: ``agreement`` (proportion of
        equal labels) and ``cohen_kappa`` of two, ``fleiss_kappa`` of all; ``n`` units labelled by
        all of them, ``n_excluded`` other units.
    """
    bootstrap = Bootstrap(draws, level, seed)
    names = [str(c) for c in labels.columns]
    if len(names) < 2:
        raise UserError("labels: agreement needs the columns of at least two annotators.")
    codes = _codes(labels)
    rows = []
    for a, b in combinations(range(len(names)), 2):
        both = codes[:, [a, b]]
        rows += _rows((names[a], names[b]), both, ("agreement", "cohen_kappa"), bootstrap)
    rows += _rows(("all", "all"), codes, ("fleiss_kappa",), bootstrap)
    return pd.DataFrame(rows, columns=list(_COLUMNS))


def cohen_kappa(table: np.ndarray) -> np.ndarray:
    """Compute Cohen's kappa from cross tables."""
    n = table.sum(axis=(-2, -1))
    observed = np.trace(table, axis1=-2, axis2=-1)
    expected = (table.sum(axis=-1) * table.sum(axis=-2)).sum(axis=-1)
    # Multiplied by n squared, so that chance agreement of 1 is exact.
    return _ratio(n * observed - expected, n * n - expected)


def quadratic_kappa(table: np.ndarray) -> np.ndarray:
    """Compute Cohen's kappa with quadratic weights from cross tables of ordered labels.

    Disagreements have squared distances as weights,
    kappa = 1 - sum_ij (i - j)^2 O_ij / sum_ij (i - j)^2 E_ij (Cohen, 1968).
    """
    k = np.arange(table.shape[-1], dtype=np.float64)
    squared = (k[:, None] - k) ** 2
    observed = (table * squared).sum(axis=(-2, -1))
    first, second = table.sum(axis=-1), table.sum(axis=-2)
    expected = (first[..., :, None] * second[..., None, :] * squared).sum(axis=(-2, -1))
    n = table.sum(axis=(-2, -1))
    return _ratio(expected - n * observed, expected)


def fleiss_kappa(counts: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """Compute Fleiss' kappa from the counts of annotators by label."""
    counts = np.asarray(counts, dtype=np.float64)
    times = np.ones(len(counts)) if weights is None else np.asarray(weights, dtype=np.float64)
    raters = counts[0].sum()
    n = times.sum(axis=-1)
    pairs = (counts * (counts - 1)).sum(axis=1)
    observed = times @ pairs / (raters * (raters - 1))
    labels = times @ counts
    expected = (labels**2).sum(axis=-1) / raters**2
    return _ratio(n * observed - expected, n * n - expected)


def _ratio(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    out = np.full(np.shape(below), np.nan)
    return np.divide(above, below, out=out, where=np.asarray(below) > 0)


def _codes(labels: pd.DataFrame) -> np.ndarray:
    """Replace labels by their numbers, -1 if missing."""
    flat = labels.to_numpy(dtype=object)
    missing = labels.isna().to_numpy()
    # By value: a numeric column with missing values has 1.0 instead of 1.
    names = sorted(set(flat[~missing]), key=str)
    number = {name: k for k, name in enumerate(names)}
    coded = [
        [-1 if gone else number[x] for x, gone in zip(row, none, strict=True)]
        for row, none in zip(flat, missing, strict=True)
    ]
    return np.array(coded, dtype=np.int64).reshape(len(labels), len(labels.columns))


def _rows(
    names: tuple[str, str], codes: np.ndarray, measures: tuple[str, ...], bootstrap: Bootstrap
) -> list[dict[str, Any]]:
    complete = codes[(codes >= 0).all(axis=1)]
    n_labels = int(codes.max(initial=0)) + 1
    # Units with the same labels are one pattern, drawn as often as it occurs.
    patterns, times = np.unique(complete, axis=0, return_counts=True)
    rng = generator(bootstrap.seed, "kappa", *names)
    drawn = np.vstack([times[None], resample_answers(times, bootstrap.draws, rng)])
    rows = []
    for measure in measures:
        values = _value(measure, patterns, drawn, n_labels)
        lower, upper, _ = percentile_interval(values[1:], bootstrap.level)
        note = "nothing was labelled by all of them" if not len(complete) else ""
        if not note and np.isnan(values[0]):
            note = "only one label occurs: chance would agree as often"
        found = (float(values[0]), lower, upper)
        sizes = (len(complete), len(codes) - len(complete))
        rows.append(agreement_row(names, measure, found, sizes, bootstrap.level, note))
    return rows


def agreement_row(
    names: tuple[str, str],
    measure: str,
    found: tuple[float, float, float],
    sizes: tuple[int, int],
    level: float,
    note: str,
) -> dict[str, Any]:
    """Return a row of a table of agreement; one with a note has no interval."""
    estimate, lower, upper = found
    bounds = (np.nan, np.nan) if note else (lower, upper)
    return dict(
        zip(_COLUMNS, (*names, measure, estimate, *bounds, *sizes, level, note), strict=True)
    )


def _value(measure: str, patterns: np.ndarray, drawn: np.ndarray, n_labels: int) -> np.ndarray:
    if not len(patterns):
        return np.full(len(drawn), np.nan)
    if measure == "fleiss_kappa":
        counts = (patterns[:, :, None] == np.arange(n_labels)).sum(axis=1)
        return fleiss_kappa(counts, drawn)
    if measure == "agreement":
        equal = patterns[:, 0] == patterns[:, 1]
        return np.asarray(drawn[:, equal].sum(axis=1) / drawn.sum(axis=1))
    cells = np.zeros((len(drawn), n_labels * n_labels))
    cells[:, patterns[:, 0] * n_labels + patterns[:, 1]] = drawn
    return cohen_kappa(cells.reshape(-1, n_labels, n_labels))
