"""Answer probabilities whose logits are normal around the predictor."""

from functools import cache
from typing import ClassVar

import numpy as np
from scipy.special import expit

from polbayes.fit.families import kinds
from polbayes.fit.families.base import Moments, Numbers, logs

# So many cells are averaged over the residual at a time, which a processor's cache holds.
_AT_ONCE = 4096
# How far the nodes for narrow residuals reach, and how far apart they are at most.
_REACH, _APART = 6.0, 0.75


class LogitNormal(Numbers):
    """logit(y) ~ Normal(eta, sigma)."""

    name = "logit_normal"
    responses = ("r_plus",)
    parts = ("sigma", "validity", "validity_sigma")
    spread = "validity_sigma"
    kind = kinds.LOGIT_NORMAL
    latent = True
    link = "logit({response}) ~ Normal(η, σ)"
    sharp_link = "logit({response}) ~ Normal(κ · η, κ · σ)"
    validity = "logit(p_agree + p_disagree) ~ Normal(validity, τ)"
    texts: ClassVar = {"sigma": "σ = exp(sigma)", "validity_sigma": "τ = exp(validity_sigma)"}
    # ``[node]`` to average over the residual, at scale 1, and its variance there.
    # The trapezoidal rule, which for wide residuals is far more accurate than Gauss-Hermite
    # quadrature with as many nodes (error below 1e-7 up to a standard deviation of 3, 3e-5 at 5).
    nodes = np.linspace(-5.25, 5.25, 31)
    weights = np.exp(-(nodes**2) / 2) / np.exp(-(nodes**2) / 2).sum()
    residual = 1.0

    @property
    def summed(self) -> bool:
        """Whether sums say all: of normal distributions, and not of families made from this one."""
        return self.kind == kinds.LOGIT_NORMAL

    def answers(self, counts: np.ndarray, value: np.ndarray) -> np.ndarray:
        """Return ``[cell, 3]`` the number of answers, the mean logit and the squares around it."""
        if not self.summed:
            return super().answers(counts, value)
        there, both = np.isfinite(value), logs(value)
        z = np.where(there, both[:, 0] - both[:, 1], 0.0)
        return np.column_stack([there, z, np.zeros(len(z))])

    def sums(self, answers: np.ndarray, cell: np.ndarray, size: int) -> np.ndarray:
        """Return ``[cell, 3]`` answers to several questions with the same predictor as one cell."""
        n, z = answers[:, 0], answers[:, 1]
        count = np.bincount(cell, n, size)
        mean = np.bincount(cell, n * z, size) / np.maximum(count, 1.0)
        return np.column_stack([count, mean, np.bincount(cell, n * (z - mean[cell]) ** 2, size)])

    def constant(self, answers: np.ndarray) -> np.ndarray:
        """Return ``[cell]`` the logarithm of the derivative of the logit of one answer.

        That is -log y - log(1 - y), with both in terms of the logit.
        """
        if not self.summed:
            return -answers.sum(axis=1)
        z = answers[:, 1]
        return answers[:, 0] * (np.logaddexp(0.0, z) + np.logaddexp(0.0, -z))

    def net(self, eta: np.ndarray, own: np.ndarray, gaps: np.ndarray) -> np.ndarray:
        """Return ``[cell]`` the expected 2 y - 1."""
        return self._means(eta, own)[0]

    def moments(self, eta: np.ndarray, own: np.ndarray, gaps: np.ndarray) -> Moments:
        """Return the moments of 2 y - 1."""
        net, square = self._means(eta, own)
        noise = self.residual * np.exp(2 * own) * np.ones_like(net)
        return Moments(net, (1 - square) / 2, square - net**2, noise, (1 + square) / 2)

    def mean_net(
        self, eta: np.ndarray, variance: np.ndarray, own: np.ndarray, gaps: np.ndarray
    ) -> np.ndarray:
        """Return ``[draw]`` the expected 2 y - 1, averaged over normal predictors."""
        from polbayes.fit.families.averages import mean_logistic

        return 2.0 * mean_logistic(eta, variance + np.exp(2.0 * own)) - 1.0

    def simulate(
        self, eta: np.ndarray, own: np.ndarray, gaps: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        """Draw ``[cell]`` answers."""
        return np.asarray(expit(rng.normal(eta, np.exp(own))))

    def _means(self, eta: np.ndarray, own: np.ndarray) -> np.ndarray:
        """Return ``[power - 1, cell]`` the means of 2 y - 1 and of its square."""
        eta, sd = np.broadcast_arrays(eta, np.exp(own))
        out = np.empty((2, eta.size))
        for first in range(0, eta.size, _AT_ONCE):
            here = slice(first, first + _AT_ONCE)
            wide = sd.ravel()[here, None]
            nodes, weights = self._rule(wide.max())
            sides = np.tanh((eta.ravel()[here, None] + wide * nodes) / 2)
            out[0, here], out[1, here] = sides @ weights, sides**2 @ weights
        return out.reshape(2, *eta.shape)

    def _rule(self, widest: float) -> tuple[np.ndarray, np.ndarray]:
        """Return nodes and weights for residuals of at most some standard deviation.

        The logistic function has poles at a distance of pi / sd from the real axis, so that the
        error of the trapezoidal rule falls fast as they move away: a narrower residual takes fewer
        nodes. The error is below 1e-7.
        """
        number = 1 + int(np.ceil(2 * _REACH / _APART * max(float(widest), 1.0)))
        if not self.summed or not number < len(self.nodes):
            return self.nodes, self.weights
        return _trapezoidal(number)


@cache
def _trapezoidal(number: int) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes and weights of the average over a standard normal distribution."""
    nodes = np.linspace(-_REACH, _REACH, number)
    density = np.exp(-(nodes**2) / 2)
    return nodes, density / density.sum()


LOGIT_NORMAL = LogitNormal()
