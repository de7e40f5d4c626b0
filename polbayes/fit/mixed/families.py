"""Bambi's families of mixed models, and the differences between them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.special import betaln, expit, gammaln, log_expit

# Rows' responses, answers in them, predictors and the family's own parameter -> log-densities.
LogDensity = Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class MixedFamily:
    """A family of Bambi's."""

    link: str  # the equation, with {response}
    # (y, n, eta, own) -> [row, draw]: `y` and `n` are [row, 1], response and answers in the row;
    # `eta` is [row, draw]; `own` is [draw] sigma or phi, [draw, threshold] for an ordinal response,
    # and empty otherwise
    log_density: LogDensity
    responses: tuple[str, ...] | None = None  # its responses; None for any number
    # Name of the own parameter here and in Bambi; empty if there is none
    scale: str = ""
    bambi_scale: str = ""
    normal: bool = False  # linear and normal: least squares, and an exact posterior
    ordinal: bool = False  # a point of a scale, with thresholds instead of an intercept
    whole: bool = False  # whether the response is a whole number
    counted: bool = False  # whether answers with the same predictors are aggregated
    inside: bool = False  # whether the response must lie between 0 and 1, without the ends
    made_up: tuple[float, ...] = (0.0, 1.0)  # used in turn if only the design is known


def _gaussian(y: np.ndarray, n: np.ndarray, eta: np.ndarray, sigma: np.ndarray) -> np.ndarray:
    return np.asarray(-0.5 * ((y - eta) / sigma) ** 2 - np.log(sigma) - 0.5 * np.log(2 * np.pi))


def _beta(y: np.ndarray, n: np.ndarray, eta: np.ndarray, phi: np.ndarray) -> np.ndarray:
    a, b = expit(eta) * phi, expit(-eta) * phi
    return np.asarray((a - 1) * np.log(y) + (b - 1) * np.log1p(-y) - betaln(a, b))


def _binomial(y: np.ndarray, n: np.ndarray, eta: np.ndarray, own: np.ndarray) -> np.ndarray:
    ways = gammaln(n + 1) - gammaln(y + 1) - gammaln(n - y + 1)
    return np.asarray(ways + y * log_expit(eta) + (n - y) * log_expit(-eta))


def _cumulative(y: np.ndarray, n: np.ndarray, eta: np.ndarray, cuts: np.ndarray) -> np.ndarray:
    # There are cutpoints at infinity on both ends.
    ends = np.full((len(cuts), 1), np.inf)
    edges = np.concatenate([-ends, cuts, ends], axis=1)
    point = y[:, 0].astype(int)
    below, above = edges[:, point].T - eta, edges[:, point + 1].T - eta
    # log(F(above) - F(below)) without cancellation in either tail: for the logistic distribution
    # F(a) - F(b) = F(a) F(-b) (1 - exp(b - a)).
    with np.errstate(invalid="ignore"):
        gap = np.where(np.isfinite(below) & np.isfinite(above), below - above, -np.inf)
    return np.asarray(log_expit(above) + log_expit(-below) + np.log(-np.expm1(gap)))


_TWO = ("agree", "usable")

FAMILIES: Mapping[str, MixedFamily] = {
    "gaussian": MixedFamily(
        "{response} ~ Normal(η, σ)",
        _gaussian,
        scale="sigma",
        bambi_scale="sigma",
        normal=True,
        made_up=(-1.0, 1.0),
    ),
    "beta": MixedFamily(
        "{response} ~ Beta(mean = logistic(η), precision = φ)",
        _beta,
        scale="phi",
        bambi_scale="kappa",
        inside=True,
        made_up=(0.25, 0.75),
    ),
    "bernoulli": MixedFamily("P({response}) = logistic(η)", _binomial, _TWO, whole=True),
    "binomial": MixedFamily(
        "number with {response} ~ Binomial(n, logistic(η)), n answers with the same predictors",
        _binomial,
        _TWO,
        whole=True,
        counted=True,
    ),
    "cumulative": MixedFamily(
        "P({response} ≤ k) = logistic(c[k] − η), k = 1 … K − 1",
        _cumulative,
        ("stance", "rating"),
        ordinal=True,
        made_up=(-1.0, 0.0, 1.0),
    ),
}
