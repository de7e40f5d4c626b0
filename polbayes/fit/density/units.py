"""The units in which effects are sampled: those of the noise in each model's answers.

Effects are in units of statement spread, but the answers determine them in units of noise. On the
scale of statements the noise of a model with decisiveness k has the variance pi² / (3 k²) of a
logistic distribution, plus the variance t² of what is integrated out. The model's effects are
therefore sampled multiplied by

    g = 1 / sqrt(1 / k² + 3 t² / pi²),

relative to its value at the mode, so that what the answers say of them does not change with k and
t. Without this, each step of a k would change the volume of a hundred coordinates. What models
share, such as scales and cutpoints, is multiplied by the weighted geometric mean of their g.

Where views of single statements are sampled and answers are points of a scale, g has that meaning
only for what differs between prompts. A model's leaning and agreement are known from its answers to
many statements, which differ by its views as well, with a variance of 1; and of a view answers
without noise show only on which side of a cutpoint it is. These effects are multiplied by

    g' = 1 / sqrt(1 + pi² / (3 k²) + t²).

The scales t and what k depends on have no unit themselves.
"""

import math

import numpy as np

from polbayes.fit.compilation import compiled
from polbayes.fit.density.layout import Layout
from polbayes.fit.spec.cells import Cells, levels

# The arguments of `evaluate` after the first two: see
# `polbayes.fit.density.coordinates.units_of`.
ARGUMENTS = ("slopes", "at", "spread", "noise", "share")

_LOGISTIC = math.pi**2 / 3.0


@compiled
def noise_of(log_decisiveness: float, spread: float) -> float:
    """Return the variance of the noise, as a multiple of that of a logistic distribution."""
    return math.exp(-2.0 * log_decisiveness) + spread * spread / _LOGISTIC


@compiled
def number(at: np.ndarray) -> int:
    """Return the number of units, for ``[model]`` numbers."""
    return 2 * at.shape[0] + 3


@compiled
def _of_model(model: int, by: np.ndarray, values: np.ndarray, start: float) -> float:
    for k in range(by.shape[1]):
        start += by[model, k] * values[k]
    return start


@compiled
def evaluate(
    moved: np.ndarray,
    scales: np.ndarray,
    slopes: np.ndarray,
    at: np.ndarray,
    spread: np.ndarray,
    noise: np.ndarray,
    share: np.ndarray,
) -> np.ndarray:
    """Compute ``[unit]`` log g and then log g' of every model, and log g of all of them.

    These are the mean for widths that sum to zero, that for what models share otherwise, and 0 for
    what has no unit.

    `moved` are the distances of coefficients and effects of decisiveness from the mode, and
    `scales` those of what is integrated out. The ``[model]`` log decisiveness, `at` at the mode,
    has the `slopes` ``[model, moved]``; the standard deviation of what is integrated out has the
    slopes `spread` ``[model, scale]``; `noise` is the variance at the mode (`noise_of`), and
    `share` the weight of a model in the common unit.
    """
    models = at.shape[0]
    found = np.zeros(number(at))
    for model in range(models):
        own = _of_model(model, slopes, moved, at[model])
        here = noise_of(own, _of_model(model, spread, scales, 0.0))
        found[model] = 0.5 * math.log(noise[model] / here)
        found[models + model] = 0.5 * math.log(_with_views(noise[model]) / _with_views(here))
        found[2 * models] += found[model] / models
        found[2 * models + 1] += share[model] * found[model]
    return found


@compiled
def stretch(logs: np.ndarray, stretched: np.ndarray, effect: int) -> float:
    """Return by how much the mode of a logarithm falls as units grow, 0 for most effects.

    `stretched` ``[effect, 2]`` is a unit, -1 for none, and the one relative to which it grows.
    """
    own = stretched[effect, 0]
    return logs[own] - logs[stretched[effect, 1]] if own >= 0 else 0.0


@compiled
def _with_views(noise: float) -> float:
    """Return the variance of a model's answers to different statements."""
    return 1.0 + _LOGISTIC * noise


@compiled
def pull_back(
    moved: np.ndarray,
    scales: np.ndarray,
    slopes: np.ndarray,
    at: np.ndarray,
    spread: np.ndarray,
    noise: np.ndarray,
    share: np.ndarray,
    of_units: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Turn slopes by log g into those by `moved` and `scales`."""
    models = at.shape[0]
    of_moved, of_scales = np.zeros(moved.shape[0]), np.zeros(scales.shape[0])
    for model in range(models):
        own = _of_model(model, slopes, moved, at[model])
        wide = _of_model(model, spread, scales, 0.0)
        here = noise_of(own, wide)
        slope = of_units[model] + of_units[2 * models] / models
        slope = (slope + share[model] * of_units[2 * models + 1]) / here
        slope += of_units[models + model] * _LOGISTIC / _with_views(here)
        for k in range(moved.shape[0]):
            of_moved[k] += slope * math.exp(-2.0 * own) * slopes[model, k]
        for k in range(scales.shape[0]):
            of_scales[k] -= slope * wide / _LOGISTIC * spread[model, k]
    return of_moved, of_scales


def entering(layout: Layout, cells: Cells, role: int) -> np.ndarray:
    """Return ``[model, effect]`` the mean weight with which effects enter a model's cells."""
    model, table = levels(cells.frame, ["model"])
    at, found = layout.answers, np.zeros((len(table), layout.size))
    part = slice(at.roles[role], at.roles[role + 1])
    index = at.index[:, part]
    weight = np.broadcast_to(at.weight[:, part], index.shape)
    number = np.bincount(model)[model]
    np.add.at(found, (model[:, None], index), weight / number[:, None])
    return found
