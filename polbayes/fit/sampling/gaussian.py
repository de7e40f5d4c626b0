"""Laplace's approximation of a log-density."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

# Up to this many coordinates the whole curvature is computed, beyond that its diagonal, from the
# differences along so many random directions.
_WHOLE, _DIRECTIONS = 2500, 64

# Step of differences of slopes.
_STEP = 1e-3

# Most iterations of the search for the mode, which a normal density needs far fewer of, the largest
# slope there, and the least curvature that counts as such.
_ITERATIONS, _LEVEL, _LEAST = 400, 0.1, 1e-6


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

    def slope(self, gradient: np.ndarray) -> np.ndarray:
        """Return the slope ``[direction]`` in z of a gradient ``[coordinate]``."""
        return gradient * self.root if self.root.ndim == 1 else gradient @ self.root

    def at(self, z: np.ndarray) -> np.ndarray:
        """Return ``[..., coordinate]`` the coordinates of ``[..., direction]``."""
        return self.mean + (z * self.root if self.root.ndim == 1 else z @ self.root.T)


def at_mode(density: LogDensity, start: np.ndarray) -> Gaussian | None:
    """Return Laplace's approximation: the mode, and the inverse of the curvature there.

    None if no mode is found soon: a density that is so far from normal has no such approximation.
    """
    mode = _highest(density, start)
    if mode is None:
        return None
    if len(mode) > _WHOLE:
        return Gaussian(mode, 1 / np.sqrt(np.maximum(_diagonal(density, mode), 1.0)))
    bend = _curvature(density, mode)
    values, vectors = np.linalg.eigh((bend + bend.T) / 2)
    return Gaussian(mode, vectors / np.sqrt(np.where(values > _LEAST, values, 1.0)))


def _highest(density: LogDensity, start: np.ndarray) -> np.ndarray | None:
    """Return the coordinates with the largest log-density near a start; None if it is not found."""
    from scipy.optimize import minimize

    def loss(x: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = density(x)
        return (-value, -gradient) if np.isfinite(value) else (1e100, np.zeros(len(x)))

    options = {"maxiter": _ITERATIONS, "maxfun": 2 * _ITERATIONS, "maxcor": 30, "ftol": 1e-13}
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options=options)
    level = found.status != 1 and abs(found.jac).max() < _LEVEL
    return np.asarray(found.x) if level else None


def _curvature(density: LogDensity, x: np.ndarray) -> np.ndarray:
    """Return minus the second derivatives, ``[coordinate, coordinate]``."""
    bend, here = np.empty((len(x), len(x))), density(x)[1]
    for k in range(len(x)):
        ahead = x.copy()
        ahead[k] += _STEP
        bend[k] = (here - density(ahead)[1]) / _STEP
    return bend


def _diagonal(density: LogDensity, x: np.ndarray) -> np.ndarray:
    """Estimate ``[coordinate]`` the diagonal of the curvature (Bekas et al. 2007)."""
    rng, total = np.random.default_rng(0), np.zeros(len(x))
    for _ in range(_DIRECTIONS):
        move = _STEP * rng.choice([-1.0, 1.0], len(x))
        total += (density(x - move)[1] - density(x + move)[1]) / (2 * move)
    return total / _DIRECTIONS
