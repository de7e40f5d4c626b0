"""Calibration of a coder: the calibration curve and its error.

References
----------
Naeini, M. P., Cooper, G. and Hauskrecht, M. (2015). Obtaining well calibrated probabilities using
Bayesian binning. AAAI.
Bröcker, J. and Smith, L. A. (2007). Increasing the reliability of reliability diagrams. Weather
and Forecasting 22, 651-661.
"""

from typing import Any

import numpy as np
import pandas as pd

from polbayes.measures.measure import INTERVAL
from polbayes.measures.resampling import Bootstrap, generator, percentile_interval, share
from polbayes.tasks.validation.coded import Coded

_DRAWS = 2_000
_AT_ONCE = 500


def bin_of(confidence: np.ndarray, bins: int) -> np.ndarray:
    """Return the bin of each confidence; bins have equal widths and include their upper end."""
    # Rounded, so that 0.7 is not beyond the bin that ends at 7 / 10.
    return np.clip(np.ceil(np.round(confidence * bins, 9)).astype(np.int64) - 1, 0, bins - 1)


def calibration_error(confidence: np.ndarray, right: np.ndarray, bins: int) -> float:
    """Compute the expected calibration error."""
    if not len(confidence):
        return float("nan")
    gaps = np.bincount(bin_of(confidence, bins), weights=confidence - right, minlength=bins)
    return float(np.abs(gaps).sum() / len(confidence))


def curve_table(coded: Coded, bootstrap: Bootstrap, bins: int = 10) -> pd.DataFrame:
    """Compute the calibration curve."""
    sure, right = _sure_and_right(coded)
    at = bin_of(sure, bins)
    rows = []
    for k in np.unique(at):
        here = at == k
        about = {"low": k / bins, "high": (k + 1) / bins, "confidence": float(sure[here].mean())}
        found = share(int(right[here].sum()), int(here.sum()), bootstrap.level)
        rows.append({"coder": coded.coder, **about, **found})
    columns = ["coder", "low", "high", "confidence", *INTERVAL, "count", "n"]
    return pd.DataFrame(rows, columns=[*columns, "level"])


def _sure_and_right(coded: Coded) -> tuple[np.ndarray, np.ndarray]:
    there = coded.is_coded
    return coded.confidence[there], coded.is_right[there].astype(np.float64)


def calibration_rows(
    sure: np.ndarray, right: np.ndarray, bootstrap: Bootstrap, bins: int, *names: object
) -> list[dict[str, Any]]:
    """Compute the calibration error of a coder."""
    n = len(sure)
    rng = generator(bootstrap.seed, "calibration", *names)
    values, times = np.unique(sure, return_counts=True)
    at = bin_of(values, bins)
    hits = rng.binomial(times, np.clip(values, 0, 1), size=(_DRAWS, len(values)))
    gaps = np.zeros((_DRAWS, bins))
    for k in np.unique(at):
        here = at == k
        gaps[:, k] = (values[here] * times[here]).sum() - hits[:, here].sum(axis=1)
    chance = np.abs(gaps).sum(axis=1) / n if n else np.full(_DRAWS, np.nan)
    low, high, _ = percentile_interval(chance, bootstrap.level)
    gap, lower, upper = mean_interval(sure - right, bootstrap, rng)
    if one_sided(right):
        lower = upper = np.nan
    rows = [
        ("ece", calibration_error(sure, right, bins), np.nan, np.nan),
        ("ece_if_calibrated", float(chance.mean()), low, high),
        ("overconfidence", gap, lower, upper),
    ]
    return [
        {"measure": name, "estimate": x, "lower": a, "upper": b, "n": n} for name, x, a, b in rows
    ]


def calibration_table(coded: Coded, bootstrap: Bootstrap, bins: int = 10) -> pd.DataFrame:
    """Return `calibration_rows` of all coded answers, with the columns ``coder`` and ``level``."""
    rows = calibration_rows(*_sure_and_right(coded), bootstrap, bins, coded.coder)
    return pd.DataFrame(rows).assign(coder=coded.coder, level=bootstrap.level)[
        ["coder", "measure", *INTERVAL, "n", "level"]
    ]


def mean_interval(
    values: np.ndarray, bootstrap: Bootstrap, rng: np.random.Generator
) -> tuple[float, float, float]:
    """Return a mean with its bootstrap interval."""
    if not len(values):
        return np.nan, np.nan, np.nan
    kinds, times = np.unique(values, return_counts=True)
    means = [
        rng.multinomial(len(values), times / len(values), size=size) @ kinds / len(values)
        for size in np.diff([*range(0, bootstrap.draws, _AT_ONCE), bootstrap.draws])
    ]
    lower, upper, _ = percentile_interval(np.concatenate(means), bootstrap.level)
    return float(values.mean()), lower, upper


def one_sided(right: np.ndarray) -> bool:
    """Return whether all answers are right, or none, so that resamples do not vary."""
    return bool(len(right) and right.min() == right.max())
