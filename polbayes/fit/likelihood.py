"""Observation models at values of the predictor, for what is computed from a posterior.

The log-likelihood that is sampled is in `polbayes.fit.kernel`.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np


def cutpoints(gaps: Sequence[Any] | np.ndarray, width: Any) -> list[Any]:
    """Return the cutpoints. Their middle is 0, because the predictor has the intercept.

    With an even number of points the cutpoint in the middle is 0, so that agreeing and
    disagreeing are equally likely at ``eta = 0``; with an odd number the two cutpoints
    around the neutral point are equally far from 0. The width moves none of that.

    Parameters
    ----------
    gaps
        Distances between neighbouring cutpoints, K - 2 positive numbers.
    width
        ``[cell]`` factor by which the distances differ between cells, or 1.

    Returns
    -------
    list
        K - 1 cutpoints, lowest first.
    """
    raw = np.concatenate([[0.0], np.cumsum(gaps)])
    middle = (raw[(len(raw) - 1) // 2] + raw[len(raw) // 2]) / 2
    return [(c - middle) * width for c in raw]


def ordinal_probabilities(eta: np.ndarray, cuts: list[Any]) -> np.ndarray:
    """Return ``[..., point]`` the probability of every point, lowest first."""
    from scipy.special import expit

    below = [expit(cut - eta) for cut in cuts]
    edges = [np.zeros_like(eta), *below, np.ones_like(eta)]
    return np.stack([high - low for low, high in pairwise(edges)], axis=-1)
