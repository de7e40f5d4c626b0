"""From coordinates to effects, and for slopes the way back.

An effect is u = s z with a scale s and a standard normal z. Where ratings know it well, u is the
better coordinate, and z is where they do not. If each judge j said that u = y_j with a precision
q_j, u would have the mean m s^2 / r^2 and the standard deviation s / r, with m the sum of q_j y_j
and r^2 = 1 + s^2 times the sum of q_j. The coordinate w is the distance from that mean in these
standard deviations,

    z = m s / r^2 + w / r,

and varies by about 1 around 0 whatever the scale and the q_j are (Papaspiliopoulos, Roberts and
Sköld 2007). These follow the noise of the judges, which is a coordinate as well: were they fixed,
thousands of coordinates would hang on the noise, as to where they are and how far they vary, and a
chain would take long to change it. That y and q are approximations changes how fast the posterior
is explored, not the posterior. The scale may be of either sign: its absolute value is what counts.
Where an effect has a known variance beside that of its term, s is the root of their sum.

Effects that sum to zero, n in a group, have n - 1 free ones x with the sum S, from which
u_j = x_j - S / (n + sqrt(n)) and the last u_n = -S / sqrt(n): an isometry onto what sums to zero
(`polbayes.fit.density.expansion`). Where effects sum to zero in two ways, over models and over
scenarios say, one is done after the other.
"""

import math

import numpy as np

from polbayes.fit.compilation import compiled


@compiled
def _whole(scale: float, extra: float) -> float:
    return scale if extra == 0.0 else math.sqrt(scale * scale + extra)


@compiled
def _told(count: np.ndarray, seen: np.ndarray, worth: np.ndarray) -> tuple[float, float]:
    """Sum q and q y over the judges."""
    q, m = 0.0, 0.0
    for judge in range(worth.shape[0]):
        own = count[judge] * worth[judge]
        q += own
        m += own * seen[judge]
    return q, m


@compiled
def expand(
    w: np.ndarray, scales: np.ndarray, drawn: tuple, worth: np.ndarray, size: int
) -> tuple[np.ndarray, float]:
    """Compute effects, not yet centred, and the log-density of the coordinates.

    Each ``[drawn]`` coordinate has a place in the vector of effects (of length `size`), a scale (of
    either sign), ``[judge]`` a count of ratings that tell of it and y, and a known extra variance;
    ``[judge]`` q is `worth` times the count.
    """
    place, scale, count, extra, seen = drawn
    effects, logp = np.zeros(size), 0.0
    for k in range(w.shape[0]):
        s = _whole(scales[scale[k]], extra[k])
        q, m = _told(count[k], seen[k], worth)
        square = 1.0 + q * s * s
        z = m * s / square + w[k] / math.sqrt(square)
        effects[place[k]] = s * z
        logp -= 0.5 * z * z + 0.5 * math.log(square)
    return effects, logp


@compiled
def pull_back(
    w: np.ndarray,
    scales: np.ndarray,
    drawn: tuple,
    worth: np.ndarray,
    of_effects: np.ndarray,
    of_w: np.ndarray,
    of_scales: np.ndarray,
) -> np.ndarray:
    """Add the slopes with respect to coordinates and scales, those of the density among them."""
    place, scale, count, extra, seen = drawn
    of_worth = np.zeros(worth.shape[0])
    for k in range(w.shape[0]):
        s = _whole(scales[scale[k]], extra[k])
        q, m = _told(count[k], seen[k], worth)
        square = 1.0 + q * s * s
        root = math.sqrt(square)
        middle, away = m / (square * square), w[k] / (square * root)
        z = square * (middle * s + away)
        of_effect = of_effects[place[k]]
        of_z = of_effect * s - z
        of_w[k] += of_z / root
        of_q = -s * s * (of_z * (middle * s + 0.5 * away) + 0.5 / square)
        for judge in range(worth.shape[0]):
            of_worth[judge] += count[k, judge] * (of_q + of_z * s / square * seen[k, judge])
        of_whole = of_effect * z + of_z * (middle * (1.0 - q * s * s) - q * s * away)
        of_whole -= q * s / square
        if extra[k] > 0.0:
            of_whole *= scales[scale[k]] / s
        of_scales[scale[k]] += of_whole
    return of_worth


@compiled
def turn(effects: np.ndarray, places: np.ndarray, matrix: np.ndarray) -> None:
    """Multiply effects, at ``[column, effect]`` places, with a matrix, in place."""
    for column in range(places.shape[0]):
        before = effects[places[column]]
        for row in range(matrix.shape[0]):
            total = 0.0
            for k in range(matrix.shape[1]):
                total += matrix[row, k] * before[k]
            effects[places[column, row]] = total


@compiled
def centre(
    effects: np.ndarray, constraints: np.ndarray, groups: np.ndarray, share: np.ndarray
) -> None:
    """Turn free effects into effects that sum to zero, in place; one that is not free is 0.

    ``[constraint, 5]`` `constraints` say where the term begins, its number of levels, how many
    numbers a level has, where its stretch of `groups` and `share` begins, and how many groups it
    has. These are the group of each level, and the share of the group's sum that is taken from it.
    """
    for at in range(constraints.shape[0]):
        start, levels, width, first, count = constraints[at]
        sums = np.zeros((count, width))
        for level in range(levels):
            row, group = start + level * width, groups[first + level]
            for d in range(width):
                sums[group, d] += effects[row + d]
        for level in range(levels):
            row, group = start + level * width, groups[first + level]
            for d in range(width):
                effects[row + d] -= sums[group, d] * share[first + level]


@compiled
def centre_back(
    of_effects: np.ndarray, constraints: np.ndarray, groups: np.ndarray, share: np.ndarray
) -> None:
    """Turn slopes with respect to what `centre` makes into those with respect to free effects."""
    for at in range(constraints.shape[0] - 1, -1, -1):
        start, levels, width, first, count = constraints[at]
        sums = np.zeros((count, width))
        for level in range(levels):
            row, group = start + level * width, groups[first + level]
            for d in range(width):
                sums[group, d] += of_effects[row + d] * share[first + level]
        for level in range(levels):
            row, group = start + level * width, groups[first + level]
            for d in range(width):
                of_effects[row + d] -= sums[group, d]
