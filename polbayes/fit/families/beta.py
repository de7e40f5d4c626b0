"""Answer probabilities with a beta distribution."""

from typing import ClassVar

import numpy as np
from scipy.special import expit, polygamma

from polbayes.fit.families import kinds
from polbayes.fit.families.base import Moments, Numbers


class Beta(Numbers):
    """y ~ Beta(mean logistic(eta), precision phi)."""

    name = "beta"
    responses = ("r_plus",)
    parts = ("phi", "validity", "validity_phi")
    spread = "validity_phi"
    kind = kinds.BETA
    widened = False
    link = "{response} ~ Beta(mean = logistic(η), precision = φ)"
    sharp_link = "{response} ~ Beta(mean = logistic(κ · η), precision = φ)"
    validity = "p_agree + p_disagree ~ Beta(mean = logistic(validity), precision = κ)"
    texts: ClassVar = {"phi": "φ = exp(phi)", "validity_phi": "κ = exp(validity_phi)"}

    def constant(self, answers: np.ndarray) -> np.ndarray:
        """Return ``[cell]`` 0."""
        return np.zeros(len(answers))

    def net(self, eta: np.ndarray, own: np.ndarray, gaps: np.ndarray) -> np.ndarray:
        """Return ``[cell]`` the expected 2 y - 1."""
        return np.tanh(eta / 2)

    def moments(self, eta: np.ndarray, own: np.ndarray, gaps: np.ndarray) -> Moments:
        """Return the moments of 2 y - 1.

        The logit of a beta variable with mean mu and precision phi has variance
        trigamma(mu phi) + trigamma((1 - mu) phi).
        """
        net, phi = np.tanh(eta / 2), np.exp(own)
        share = (1 + net) / 2
        noise = polygamma(1, share * phi) + polygamma(1, (1 - share) * phi)
        variance = (1 - net**2) / (1 + phi)
        return Moments(net, (1 - net**2) / 2, variance, noise, (1 + net**2 + variance) / 2)

    def mean_net(
        self, eta: np.ndarray, variance: np.ndarray, own: np.ndarray, gaps: np.ndarray
    ) -> np.ndarray:
        """Return ``[draw]`` the expected 2 y - 1, averaged over normal predictors."""
        from polbayes.fit.families.averages import mean_logistic

        return 2.0 * mean_logistic(eta, variance) - 1.0

    def simulate(
        self, eta: np.ndarray, own: np.ndarray, gaps: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        """Draw ``[cell]`` answers."""
        phi = np.exp(own)
        return rng.beta(np.maximum(phi * expit(eta), 1e-9), np.maximum(phi * expit(-eta), 1e-9))


BETA = Beta()
