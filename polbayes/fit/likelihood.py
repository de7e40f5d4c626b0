"""Observation models: what the predictor says about the answers.

The ordinal family is cumulative logit, P(y <= k) = logistic(c_k - eta), for counts of
answers at each point. With t_k = softplus(c_k - eta) the log-probability of point k is

    log P(y = k) = (c_k - eta) - t_k - t_{k-1} + log(1 - exp(c_{k-1} - c_k)),

without the first two terms at the highest point and without the last two at the lowest,
so that one softplus per cutpoint and cell is all that has to be computed.
"""

from itertools import pairwise
from typing import Any

import numpy as np

from polbayes.fit.cells import Cells


def cutpoints(gaps: Any, width: Any, xp: Any) -> list[Any]:
    """Return the cutpoints, which average to zero because the predictor has the intercept.

    Parameters
    ----------
    gaps
        Distances between neighbouring cutpoints, a list of K - 2 positive numbers or arrays.
    width
        ``[cell]`` factor by which the distances differ between cells, or 1.
    xp
        ``numpy`` or ``pytensor.tensor``.

    Returns
    -------
    list
        K - 1 cutpoints, lowest first.
    """
    raw: list[Any] = [0.0]
    for gap in gaps:
        raw.append(raw[-1] + gap)
    middle = sum(raw) / len(raw)
    return [(c - middle) * width for c in raw]


def ordinal_logp(eta: Any, cuts: list[Any], counts: np.ndarray, xp: Any) -> Any:
    """Log-likelihood of counts at ordered points.

    Parameters
    ----------
    eta
        ``[cell]`` predictor (further leading axes allowed with numpy).
    cuts
        K - 1 cutpoints.
    counts
        ``[cell, point]`` answers.
    xp
        Module with `log1p`, `exp` and either `softplus` or `logaddexp`.

    Returns
    -------
    array
        ``[cell]`` log-likelihood, without the multinomial coefficient.
    """
    total: Any = 0.0
    for k, cut in enumerate(cuts):
        distance = cut - eta
        # Nothing is computed for a cutpoint that no answer is next to.
        below, above = counts[:, k], counts[:, k + 1]
        total = total + below * distance - (below + above) * softplus(distance, xp)
        if k > 0:
            total = total + below * log1mexp(cuts[k - 1] - cut, xp)
    return total


def ordinal_probabilities(eta: np.ndarray, cuts: list[Any]) -> np.ndarray:
    """Return ``[..., point]`` the probability of every point, lowest first."""
    from scipy.special import expit

    below = [expit(cut - eta) for cut in cuts]
    edges = [np.zeros_like(eta), *below, np.ones_like(eta)]
    return np.stack([high - low for low, high in pairwise(edges)], axis=-1)


def softplus(x: Any, xp: Any) -> Any:
    """Return log(1 + exp(x)) without overflow."""
    return np.logaddexp(0.0, x) if xp is np else xp.softplus(x)


def log1mexp(x: Any, xp: Any) -> Any:
    """Return log(1 - exp(x)) for negative x."""
    return xp.log(-xp.expm1(x))


def logit_normal_logp(eta: Any, log_sigma: Any, value: np.ndarray, xp: Any) -> Any:
    """Log-density of logit(value) under a normal distribution, ``[cell]``.

    Parameters
    ----------
    eta, log_sigma
        ``[cell]`` mean on the logit scale and log standard deviation.
    value
        ``[cell]`` answers in (0, 1).
    """
    z = np.log(value) - np.log1p(-value)
    return -0.5 * ((z - eta) / xp.exp(log_sigma)) ** 2 - log_sigma - 0.5 * np.log(2 * np.pi)


def beta_logp(eta: Any, log_phi: Any, value: np.ndarray, xp: Any, gammaln: Any) -> Any:
    """Log-density of a beta distribution with mean logistic(eta) and precision phi, ``[cell]``."""
    phi = xp.exp(log_phi)
    # Each share is computed by itself: 1 - mean would be 0 where the mean is nearly 1.
    a, b = phi / (1 + xp.exp(-eta)), phi / (1 + xp.exp(eta))
    density = (a - 1) * np.log(value) + (b - 1) * np.log1p(-value)
    return density + gammaln(phi) - gammaln(a) - gammaln(b)


def observation_logp(
    family: str, eta: Any, own: Any, gaps: Any, cells: Cells, xp: Any, gammaln: Any
) -> Any:
    """Log-likelihood of the answers of every cell under a family.

    Parameters
    ----------
    family
        A key of `polbayes.fit.spec.FAMILIES`.
    eta
        ``[cell]`` predictor.
    own
        ``[cell]`` log threshold width, log sigma or log phi; 0 where the spec does not say.
    gaps
        Distances of the cutpoints (ordinal families with three points or more).
    cells
        The answers.
    xp, gammaln
        Array module and its log-gamma function.

    Returns
    -------
    array
        ``[cell]`` log-likelihood.
    """
    if family in ("cumulative", "bernoulli"):
        return ordinal_logp(eta, cutpoints(gaps, xp.exp(own), xp), cells.counts, xp)
    if family == "logit_normal":
        return logit_normal_logp(eta, own, cells.value, xp)
    return beta_logp(eta, own, cells.value, xp, gammaln)
