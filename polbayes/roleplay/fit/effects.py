"""From coordinates to effects, and the reverse for slopes.

An effect is u = s z with a scale s and a standard normal z. If ratings determine it well, u is the
better coordinate, otherwise z. If each judge j observed u = y_j with precision q_j, u would have
mean m s^2 / r^2 and standard deviation s / r, with m the sum of q_j y_j and r^2 = 1 + s^2 times the
sum of q_j. The coordinate w is the distance from that mean in these standard deviations,

    z = m s / r^2 + w / r,

and varies by about 1 around 0 whatever the scale and the q_j (Papaspiliopoulos, Roberts and Sköld
2007). The q_j follow the judges' noise, which is also a coordinate: if they were fixed, the
location and spread of thousands of coordinates would depend on the noise, which a chain would
explore slowly. The approximations y and q affect the speed of exploration, not the posterior.
Scales may have either sign; only their absolute value matters. If an effect has a known variance
besides that of its term, s is the root of their sum.

Effects that sum to zero, n in a group, have n - 1 free ones x with sum S, from which u_j = x_j - S
/ (n + sqrt(n)) and the last u_n = -S / sqrt(n): an isometry onto the vectors that sum to zero
(`polbayes.fit.density.expansion`). If effects sum to zero in two ways, e.g. over models and over
scenarios, the transformations are applied in turn.
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
    either sign), ``[judge]`` the number of ratings that inform it and y, and a known extra
    variance; ``[judge]`` q is `worth` times that number.
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
    """Add the slopes with respect to coordinates and scales, including those of the density."""
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
    """Multiply effects at ``[column, effect]`` places by a matrix, in place."""
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
    """Turn free effects into effects that sum to zero, in place; entries that are not free are 0.

    ``[constraint, 5]`` `constraints` are the start of the term, its number of levels, the numbers
    per level, the start of its stretch of `groups` and `share`, and its number of groups. `groups`
    are the group of each level, and `share` the share of the group's sum subtracted from it.
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
    """Turn slopes with respect to centred effects into slopes with respect to free ones."""
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
