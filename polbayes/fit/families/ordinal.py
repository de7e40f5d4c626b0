"""Counts at ordered points: cumulative logit, and its special case of two points."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit, gammaln

from polbayes.fit.families import kinds
from polbayes.fit.families.base import Family, Moments


def cutpoints(gaps: Sequence[Any] | np.ndarray, width: Any) -> list[Any]:
    """Return the cutpoints from the K - 2 distances between neighbours, multiplied by a factor.

    Their middle is 0, because the predictor has the intercept: with an even number of points
    agreeing and disagreeing are equally likely at ``eta = 0``; with an odd number the cutpoints
    around the neutral point are at the same distance from 0. The width does not change this.
    """
    raw = np.concatenate([[0.0], np.cumsum(gaps)])
    middle = (raw[(len(raw) - 1) // 2] + raw[len(raw) // 2]) / 2
    return [(c - middle) * width for c in raw]


def ordinal_probabilities(eta: np.ndarray, cuts: list[Any]) -> np.ndarray:
    """Return ``[..., point]`` the probability of every point, lowest first."""
    below = [expit(cut - eta) for cut in cuts]
    edges = [np.zeros_like(eta), *below, np.ones_like(eta)]
    return np.stack([high - low for low, high in pairwise(edges)], axis=-1)


class Cumulative(Family):
    """Cumulative logit: a latent logistic variable, whose variance is pi^2 / 3, and cutpoints."""

    name = "cumulative"
    responses: ClassVar[tuple[str, ...]] = ("stance", "rating")
    parts: ClassVar[tuple[str, ...]] = ("threshold", "validity")
    kind = kinds.ORDINAL
    counts = True
    link = "P({response} ≤ k) = logistic(c[k] − η), k = 1 … K − 1, the middle of c is 0"
    sharp_link = "P({response} ≤ k) = logistic(κ · (c[k] − η)), k = 1 … K − 1, the middle of c is 0"
    texts: ClassVar = {"threshold": "log width: c[k] is multiplied with exp(threshold)"}

    def gaps(self, points: int) -> int:
        """Return the number of distances between cutpoints, of which there are ``points - 1``."""
        return max(points - 2, 0)

    def answers(self, counts: np.ndarray, value: np.ndarray) -> np.ndarray:
        """Return ``[cell, point]`` the counts."""
        return np.ascontiguousarray(counts, dtype=float)

    def constant(self, answers: np.ndarray) -> np.ndarray:
        """Return ``[cell]`` the logarithms of the multinomial coefficients."""
        return multinomial(answers)

    def net(self, eta: np.ndarray, own: np.ndarray, gaps: np.ndarray) -> np.ndarray:
        """Return ``[cell]`` P(agree) - P(disagree)."""
        agree, disagree = _shares(eta, own, gaps)
        return agree - disagree

    def moments(self, eta: np.ndarray, own: np.ndarray, gaps: np.ndarray) -> Moments:
        """Return the moments of the side of an answer."""
        agree, disagree = _shares(eta, own, gaps)
        net = agree - disagree
        slope = agree * (1 - agree) + disagree * (1 - disagree)
        points = ordinal_probabilities(eta, cutpoints(gaps, np.exp(own)))
        same = (points**2).sum(axis=-1)
        noise = np.full_like(net, np.pi**2 / 3)
        return Moments(net, slope, agree + disagree - net**2, noise, same)

    def mean_net(
        self, eta: np.ndarray, variance: np.ndarray, own: np.ndarray, gaps: np.ndarray
    ) -> np.ndarray:
        """Return ``[draw]`` P(agree) - P(disagree), averaged over normal predictors."""
        from polbayes.fit.families.averages import mean_logistic

        below, above = _middle_cuts(gaps)
        width = np.exp(own)
        agree = mean_logistic(eta - above * width, variance)
        return np.asarray(agree - mean_logistic(below * width - eta, variance))

    def simulate(
        self, eta: np.ndarray, own: np.ndarray, gaps: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        """Return ``[cell, point]`` the probabilities of the points."""
        return ordinal_probabilities(eta, cutpoints(gaps, np.exp(own)))


class Bernoulli(Cumulative):
    """Two points: agreeing and disagreeing."""

    name = "bernoulli"
    responses = ("agree",)
    parts = ("validity",)
    link = "P(agree) = logistic(η)"
    sharp_link = "P(agree) = logistic(κ · η)"
    texts: ClassVar = {}

    def gaps(self, points: int) -> int:
        """Return 0: the one cutpoint is the middle."""
        return 0


def multinomial(counts: np.ndarray) -> np.ndarray:
    """Return ``[cell]`` the logarithms of the multinomial coefficients of counts."""
    found: np.ndarray = gammaln(counts.sum(axis=1) + 1) - gammaln(counts + 1).sum(axis=1)
    return found


def _shares(eta: np.ndarray, own: np.ndarray, gaps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return ``[cell]`` the probabilities of agreeing and of disagreeing."""
    cuts = cutpoints(gaps, np.exp(own))
    return expit(eta - cuts[len(cuts) // 2]), expit(cuts[(len(cuts) - 1) // 2] - eta)


def _middle_cuts(gaps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return ``[draw]`` the cutpoints next to the middle, at width 1."""
    raw = np.concatenate([np.zeros((len(gaps), 1)), np.cumsum(gaps, axis=1)], axis=1)
    low, high = raw[:, (raw.shape[1] - 1) // 2], raw[:, raw.shape[1] // 2]
    return (low - high) / 2.0, (high - low) / 2.0


CUMULATIVE, BERNOULLI = Cumulative(), Bernoulli()
