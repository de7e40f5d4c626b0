"""What one answer is expected to be, how much it varies, and how it follows the predictor."""

from dataclasses import dataclass

import numpy as np

from polbayes.fit.likelihood import cutpoints, ordinal_probabilities

# Nodes and weights to average over the residual of the logit-normal family: the trapezoidal rule,
# which for wide residuals is far more exact than as many nodes of Gauss and Hermite (error below
# 1e-7 to a standard deviation of 3, 3e-5 at 5).
_NODES = np.linspace(-5.25, 5.25, 31)
_WEIGHTS = np.exp(-(_NODES**2) / 2) / np.exp(-(_NODES**2) / 2).sum()


@dataclass(frozen=True)
class Moments:
    """Moments of one answer on [-1, 1]: the side that it takes, or ``2 R - 1``.

    Parameters
    ----------
    net
        ``[cell]`` expected value, P(agree) - P(disagree) for ordinal answers.
    slope
        ``[cell]`` derivative of `net` by the predictor.
    variance
        ``[cell]`` variance of one answer.
    noise
        ``[cell]`` variance of one answer on the latent scale, around the predictor.
    same
        ``[cell]`` probability that two answers are the same; where answers are probabilities, that
        of two answers drawn with them.
    """

    net: np.ndarray
    slope: np.ndarray
    variance: np.ndarray
    noise: np.ndarray
    same: np.ndarray


def net_agreement(family: str, eta: np.ndarray, own: np.ndarray, gaps: np.ndarray) -> np.ndarray:
    """Return ``[cell]`` the expected P(agree) - P(disagree), in [-1, 1].

    Parameters
    ----------
    family, eta, own, gaps
        See `answer_moments`.
    """
    if family in ("cumulative", "bernoulli"):
        agree, disagree = _shares(eta, own, gaps)
        return agree - disagree
    if family == "logit_normal":
        return _sides(eta, own) @ _WEIGHTS
    return np.tanh(eta / 2)


def _shares(eta: np.ndarray, own: np.ndarray, gaps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return ``[cell]`` the probabilities of agreeing and of disagreeing, of ordinal answers."""
    from scipy.special import expit

    cuts = cutpoints(gaps, np.exp(own))
    return expit(eta - cuts[len(cuts) // 2]), expit(cuts[(len(cuts) - 1) // 2] - eta)


def _sides(eta: np.ndarray, own: np.ndarray) -> np.ndarray:
    """Return ``[cell, node]`` answers of the logit-normal family at the nodes of its residual."""
    return np.asarray(np.tanh((eta[..., None] + np.exp(own)[..., None] * _NODES) / 2))


def answer_moments(family: str, eta: np.ndarray, own: np.ndarray, gaps: np.ndarray) -> Moments:
    """Return the moments of one answer in every cell.

    Ordinal answers come from a latent logistic variable, whose variance is pi^2 / 3. The
    logit of a beta variable with mean mu and precision phi has variance
    trigamma(mu phi) + trigamma((1 - mu) phi).

    Parameters
    ----------
    family
        The observation model.
    eta, own
        ``[cell]`` predictor and the family's own parameter (log width, log sigma, log phi).
    gaps
        Distances of the cutpoints.
    """
    from scipy.special import polygamma

    if family in ("cumulative", "bernoulli"):
        agree, disagree = _shares(eta, own, gaps)
        net = agree - disagree
        slope = agree * (1 - agree) + disagree * (1 - disagree)
        points = ordinal_probabilities(eta, cutpoints(gaps, np.exp(own)))
        same = (points**2).sum(axis=-1)
        noise = np.full_like(net, np.pi**2 / 3)
        return Moments(net, slope, agree + disagree - net**2, noise, same)
    if family == "logit_normal":
        sides = _sides(eta, own)
        net, square = sides @ _WEIGHTS, sides**2 @ _WEIGHTS
        noise = np.exp(2 * own) * np.ones_like(net)
        return Moments(net, (1 - square) / 2, square - net**2, noise, (1 + square) / 2)
    net, phi = np.tanh(eta / 2), np.exp(own)
    share = (1 + net) / 2
    noise = polygamma(1, share * phi) + polygamma(1, (1 - share) * phi)
    variance = (1 - net**2) / (1 + phi)
    return Moments(net, (1 - net**2) / 2, variance, noise, (1 + net**2 + variance) / 2)
