"""A normal approximation of a log-density: Laplace's, with mean slopes and mean curvatures.

Laplace's approximation takes the curvature at one point, the mode. If a model always agrees, the
likelihood of what it thinks of a statement is a step, and flat at the mode: the normal
distribution reaches far beyond the step. The correction (Ormerod and Wand 2012; van Niekerk and
Rue 2024) is the normal distribution over which the mean slope is zero and whose precision is the
mean curvature: the one with the smallest Kullback-Leibler divergence from the density.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

# Antithetic pairs of points over which slopes are averaged, and of those with curvatures.
_PAIRS, _CURVATURE_PAIRS = 8, 2

# Up to this many coordinates the whole curvature is computed, beyond that its diagonal, from the
# differences along so many random directions.
_WHOLE, _DIRECTIONS = 2500, 64

# Step of differences of slopes, in standard deviations.
_STEP = 1e-3

# Most iterations of the search for the mode, and of that for the mean.
_ITERATIONS, _CORRECTIONS = 3000, 60


class LogDensity(Protocol):
    """A log-density of unconstrained coordinates."""

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the value and ``[coordinate]`` the gradient."""


@dataclass(frozen=True)
class Gaussian:
    """The distribution of ``mean + root z`` for standard normal z."""

    mean: np.ndarray  # ``[coordinate]``
    root: np.ndarray  # ``[coordinate, direction]``, or ``[coordinate]`` if it is diagonal

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return len(self.mean)

    @property
    def spread(self) -> np.ndarray:
        """``[coordinate]`` standard deviations."""
        return abs(self.root) if self.root.ndim == 1 else np.sqrt((self.root**2).sum(axis=1))

    def at(self, z: np.ndarray) -> np.ndarray:
        """Return ``[point, coordinate]`` the coordinates of ``[point, direction]``."""
        return self.mean + (z * self.root if self.root.ndim == 1 else z @ self.root.T)

    def pulled_back(self, gradient: np.ndarray) -> np.ndarray:
        """Turn slopes by coordinates, in the last dimension, into slopes by directions."""
        return gradient * self.root if self.root.ndim == 1 else gradient @ self.root


def at_mode(density: LogDensity, start: np.ndarray) -> Gaussian:
    """Return Laplace's approximation: the mode, and the inverse of the curvature there."""
    mode = _highest(density, start, _ITERATIONS)
    return Gaussian(mode, _root(density, mode[None], np.ones(len(mode)), least=1e-6))


def corrected(density: LogDensity, first: Gaussian, *, seed: int) -> Gaussian:
    """Correct Laplace's approximation by mean slopes and mean curvatures.

    The curvature is at least 1 along every direction: the coordinates of an effect have a standard
    deviation of about 1 before the answers. For a quadratic log-density that is at least so much
    curved nothing changes, because the points are antithetic.
    """
    half = np.random.default_rng(seed).standard_normal((_PAIRS, first.size))
    z = np.concatenate([half, -half])
    narrow = Gaussian(first.mean, _at_most_one(first.root))
    move = _highest(_averaged(density, narrow, z), np.zeros(first.size), _CORRECTIONS)
    mean = narrow.at(move)
    some = np.concatenate([half[:_CURVATURE_PAIRS], -half[:_CURVATURE_PAIRS]])
    points = Gaussian(mean, narrow.root).at(some)
    found = Gaussian(mean, _root(density, points, narrow.spread, least=1.0))
    move = _highest(_averaged(density, found, z), np.zeros(first.size), _CORRECTIONS)
    return Gaussian(found.at(move), found.root)


def _at_most_one(root: np.ndarray) -> np.ndarray:
    """Return a root with a standard deviation of at most 1 along every direction."""
    lengths = abs(root) if root.ndim == 1 else np.sqrt((root**2).sum(axis=0))
    return np.asarray(root / np.maximum(lengths, 1.0))


def _averaged(density: LogDensity, around: Gaussian, z: np.ndarray) -> LogDensity:
    """Return the mean log-density over points, as a function of a common move of all of them.

    Points outside the support are left out.
    """
    inside = z[[bool(np.isfinite(density(x)[0])) for x in around.at(z)]]

    def mean(x: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope = 0.0, np.zeros(around.size)
        for point in around.at(x + inside):
            here, gradient = density(point)
            value += here / len(inside)
            slope += gradient / len(inside)
        return value, around.pulled_back(slope)

    return mean


def _highest(density: LogDensity, start: np.ndarray, iterations: int) -> np.ndarray:
    """Return the coordinates with the largest log-density near a start."""
    from scipy.optimize import minimize

    def loss(x: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = density(x)
        return (-value, -gradient) if np.isfinite(value) else (1e100, np.zeros(len(x)))

    options = {"maxiter": iterations, "maxfun": 2 * iterations, "maxcor": 30, "ftol": 1e-13}
    return np.asarray(minimize(loss, start, jac=True, method="L-BFGS-B", options=options).x)


def _root(
    density: LogDensity, points: np.ndarray, spread: np.ndarray, *, least: float
) -> np.ndarray:
    """Return a root of the inverse of the mean curvature, at least `least`, over some points."""
    if points.shape[1] > _WHOLE:
        bend = np.mean([_diagonal(density, x, spread) for x in points], axis=0)
        return np.asarray(1 / np.sqrt(np.maximum(bend, max(least, 1.0))))
    bend = np.mean([_curvature(density, x, spread) for x in points], axis=0)
    values, vectors = np.linalg.eigh((bend + bend.T) / 2)
    return np.asarray(vectors / np.sqrt(np.where(values > least, values, max(least, 1.0))))


def _curvature(density: LogDensity, x: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """Return minus the second derivatives, ``[coordinate, coordinate]``."""
    bend, step, here = np.empty((len(x), len(x))), _STEP * spread, density(x)[1]
    for k in range(len(x)):
        ahead = x.copy()
        ahead[k] += step[k]
        bend[k] = (here - density(ahead)[1]) / step[k]
    return bend


def _diagonal(density: LogDensity, x: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """Estimate ``[coordinate]`` the diagonal of the curvature (Bekas et al. 2007)."""
    rng, total = np.random.default_rng(0), np.zeros(len(x))
    for _ in range(_DIRECTIONS):
        move = _STEP * spread * rng.choice([-1.0, 1.0], len(x))
        total += (density(x - move)[1] - density(x + move)[1]) / (2 * move)
    return total / _DIRECTIONS
