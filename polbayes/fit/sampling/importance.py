"""Pareto-smoothed importance sampling (PSIS)."""

from contextlib import suppress

import numpy as np


def pareto_smoothed(
    log_ratios: np.ndarray, *, efficiency: float = 1.0
) -> tuple[np.ndarray, np.ndarray]:
    """Smooth the largest of some importance ratios (Vehtari et al. 2024), as ArviZ does.

    Parameters
    ----------
    log_ratios
        ``[row, draw]``.
    efficiency
        Effective draws divided by draws, which sets how much of the tail is smoothed.

    Returns
    -------
    log_weights : numpy.ndarray
        ``[row, draw]``, the weights of a row adding up to 1.
    k : numpy.ndarray
        ``[row]``, the shape of the tail. Where it has no shape, with fewer than 25 draws or equal
        ratios, it is infinite and the weights are not smoothed.
    """
    from arviz_stats.base.array import array_stats
    from scipy.special import logsumexp

    weights = log_ratios - logsumexp(log_ratios, axis=1, keepdims=True)
    k = np.full(len(weights), np.inf)
    for row, ratios in enumerate(log_ratios):
        # ArviZ takes log-likelihoods, whose inverses are the ratios.
        with suppress(ValueError), np.errstate(all="ignore"):
            found, shape = array_stats.psislw(-ratios, r_eff=efficiency)
            if np.isfinite(shape) and np.isfinite(found).all():
                weights[row], k[row] = found, shape
    return weights, k
