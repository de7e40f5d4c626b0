"""The confusion matrices of a coder as functions of gamma variables, and their slopes.

Proportions with a Dirichlet(a) distribution are independent Gamma(a_k, 1) variables divided by
their sum, so each variable is positive and has its own prior. The probability that an
answer with latent point k is coded as class c with a confidence in bin b is

    C[k, (c, b)] = P[k, c] Q[k, c, b],

with the coder's confusion matrix P, whose last row is for answers without a point and whose last
column is for answers not coded as one, and the distribution Q of the confidence for each point and
class, which is omitted if there is only one bin.
"""

import numpy as np

from polbayes.fit.compilation import compiled


@compiled
def _normalise(numbers: np.ndarray, first: int, size: int, shares: np.ndarray) -> None:
    total = 0.0
    for k in range(first, first + size):
        total += numbers[k]
    for k in range(first, first + size):
        shares[k] = numbers[k] / total


@compiled
def _pull(numbers: np.ndarray, first: int, size: int, of: np.ndarray) -> None:
    """Turn slopes by proportions into slopes by the gamma variables, in place."""
    total, mean = 0.0, 0.0
    for k in range(first, first + size):
        total += numbers[k]
        mean += numbers[k] * of[k]
    mean /= total
    for k in range(first, first + size):
        of[k] = (of[k] - mean) / total


@compiled
def shares(numbers: np.ndarray, tables: int, points: int, bins: int) -> np.ndarray:
    """Return P and Q, one after the other, from their gamma variables.

    The variables are ``[table, point, class]`` and, with several bins,
    ``[point, class, bin]`` without the last class, as one vector.
    """
    out = np.empty(numbers.shape[0])
    for row in range(tables * (points + 1)):
        _normalise(numbers, row * (points + 1), points + 1, out)
    rest = tables * (points + 1) ** 2
    for row in range((points + 1) * points if bins > 1 else 0):
        _normalise(numbers, rest + row * bins, bins, out)
    return out


@compiled
def expand(numbers: np.ndarray, tables: int, points: int, bins: int) -> np.ndarray:
    """Return ``[table, point, reading]``, flat; the last table is for a coder without errors."""
    if tables == 0:
        return np.empty(0)
    p = shares(numbers, tables, points, bins)
    readings, rest = points * bins, tables * (points + 1) ** 2
    out = np.zeros((tables + 1) * (points + 1) * readings)
    for table in range(tables):
        for k in range(points + 1):
            row = table * (points + 1) + k
            for c in range(points):
                for b in range(bins):
                    q = p[rest + (k * points + c) * bins + b] if bins > 1 else 1.0
                    out[row * readings + c * bins + b] = p[row * (points + 1) + c] * q
    for k in range(points):
        out[(tables * (points + 1) + k) * readings + k * bins] = 1.0
    return out


@compiled
def pull_back(
    numbers: np.ndarray, tables: int, points: int, bins: int, of: np.ndarray
) -> np.ndarray:
    """Return the slopes by the gamma variables from those by the result of `expand`."""
    out = np.zeros(numbers.shape[0])
    if tables == 0:
        return out
    p = shares(numbers, tables, points, bins)
    readings, rest = points * bins, tables * (points + 1) ** 2
    for table in range(tables):
        for k in range(points + 1):
            row = table * (points + 1) + k
            for c in range(points):
                for b in range(bins):
                    slope = of[row * readings + c * bins + b]
                    if bins == 1:
                        out[row * (points + 1) + c] += slope
                        continue
                    at = rest + (k * points + c) * bins + b
                    out[row * (points + 1) + c] += slope * p[at]
                    out[at] += slope * p[row * (points + 1) + c]
    for row in range(tables * (points + 1)):
        _pull(numbers, row * (points + 1), points + 1, out)
    for row in range((points + 1) * points if bins > 1 else 0):
        _pull(numbers, rest + row * bins, bins, out)
    return out
