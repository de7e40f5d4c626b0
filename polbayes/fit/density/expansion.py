"""From the sampled coordinates to the effects, and the reverse for slopes.

As PyTensor operations these would be a hundred small functions, which numba takes most of a
minute to compile, and as much again with their gradients; here they are two loops.

The effects of a term with its own scale s are sampled one by one, in coordinates w that use the
information in the answers. A standardised deviate z has a funnel if the answers determine the
effect u = s z well, and the effect itself has one if they do not. Near the mode the answers are
equivalent to an observation of the effect with precision q and with product h of precision and
value. Given the scale, z is then normal with mean s h / (1 + q s²) and variance 1 / (1 + q s²), and
the standardised

    w = z r - s h / r with r = sqrt(1 + q s²),

is independent of the scale, for any q. If an effect follows leading effects, so does
its observation: h moves with them. The approximation by an observation affects the speed of the
sampler, not the posterior: the prior of w is the one under which z is standard normal.

A group of n effects that sum to zero has n - 1 free coordinates x with sum S, from which
u_j = x_j - S / (n + sqrt(n)) and the last u_n = -S / sqrt(n): an isometry onto the vectors that
sum to zero, so that independent normal coordinates give independent normal effects conditioned on
summing to zero.

If effects have a t distribution, z has one with the same degrees of freedom, and w is the same
linear function of it as for normal effects.
"""

import math

import numpy as np

from polbayes.fit.compilation import compiled, compiled_with
from polbayes.fit.density import scores
from polbayes.fit.density.scores import digamma

# The arguments of `expand` after the coordinates: first the information in the answers, which
# differs between data sets of one design, then positions (`polbayes.fit.density.coordinates`).
KNOWN = ("coefficients_mode", "mode", "others_mode", "total", "precision", "lead", "weight")
PLACES = ("matrix", "scale", "place", "others", "group", "share", "copied", "tail")


@compiled
def _moved(
    effect: int,
    b: np.ndarray,
    drawn: np.ndarray,
    others: np.ndarray,
    mode_of_b: np.ndarray,
    mode: np.ndarray,
    mode_of_others: np.ndarray,
    lead: np.ndarray,
    weight: np.ndarray,
) -> float:
    """Return the mode of an effect, moved with its leading effects."""
    expected = mode[effect]
    for k in range(lead.shape[1]):
        at = lead[effect, k]
        if at < b.shape[0]:
            expected += weight[effect, k] * (b[at] - mode_of_b[at])
        elif at < b.shape[0] + drawn.shape[0]:
            at -= b.shape[0]
            expected += weight[effect, k] * (drawn[at] - mode[at])
        else:
            at -= b.shape[0] + drawn.shape[0]
            expected += weight[effect, k] * (others[at] - mode_of_others[at])
    return expected


@compiled
def expand(
    b: np.ndarray,
    sd: np.ndarray,
    w: np.ndarray,
    others: np.ndarray,
    nu: np.ndarray,
    mode_of_b: np.ndarray,
    mode: np.ndarray,
    mode_of_others: np.ndarray,
    total: np.ndarray,
    precision: np.ndarray,
    lead: np.ndarray,
    weight: np.ndarray,
    matrix: np.ndarray,
    scale: np.ndarray,
    place: np.ndarray,
    where: np.ndarray,
    group: np.ndarray,
    share: np.ndarray,
    copied: np.ndarray,
    tail: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Compute the effects, and the logarithm of the density of w up to a constant.

    `b` are the coefficients of common terms, `sd` the scales, of either sign, `w` the coordinates
    of the effects sampled one by one, `others` those of clusters, or the free correlated ones, and
    `nu` degrees of freedom. `polbayes.fit.density.coordinates` describes the rest: `known_of` from
    `mode_of_b` to `weight`, and `places_of` from `matrix` to `tail`. The effects are followed by
    copies of scales; the density is an array without dimensions.
    """
    effects = np.zeros(group.shape[0] + copied.shape[0])
    for row in range(matrix.shape[0]):
        for column in range(matrix.shape[1]):
            effects[row] += matrix[row, column] * b[column]
    drawn, logp = np.zeros(w.shape[0]), 0.0
    for effect in range(w.shape[0]):
        s = sd[scale[effect]]
        spread = math.sqrt(1.0 + precision[effect] * s * s)
        expected = _moved(effect, b, drawn, others, mode_of_b, mode, mode_of_others, lead, weight)
        z = (w[effect] + s * expected * total[effect] / spread) / spread
        if tail[effect] < 0:
            logp -= 0.5 * z * z + math.log(spread)
        else:
            v = nu[tail[effect]]
            logp += math.lgamma(0.5 * v + 0.5) - math.lgamma(0.5 * v) - 0.5 * math.log(0.5 * v)
            logp -= (0.5 * v + 0.5) * math.log1p(z * z / v) + math.log(spread)
        drawn[effect] = s * z
        effects[place[effect]] = drawn[effect]
    for k in range(others.shape[0]):
        effects[where[k]] = others[k]
    sums = _by_group(effects, np.ones(group.shape[0]), group)
    for at in range(group.shape[0]):
        if group[at] >= 0:
            effects[at] -= sums[group[at]] * share[at]
    for k in range(copied.shape[0]):
        effects[group.shape[0] + k] = abs(sd[copied[k]])
    return effects, np.array(logp)


@compiled
def _by_group(values: np.ndarray, weight: np.ndarray, group: np.ndarray) -> np.ndarray:
    sums = np.zeros(group.shape[0])
    for at in range(group.shape[0]):
        if group[at] >= 0:
            sums[group[at]] += weight[at] * values[at]
    return sums


@compiled_with(scores)
def pull_back(
    b: np.ndarray,
    sd: np.ndarray,
    w: np.ndarray,
    others: np.ndarray,
    nu: np.ndarray,
    mode_of_b: np.ndarray,
    mode: np.ndarray,
    mode_of_others: np.ndarray,
    total: np.ndarray,
    precision: np.ndarray,
    lead: np.ndarray,
    weight: np.ndarray,
    matrix: np.ndarray,
    scale: np.ndarray,
    place: np.ndarray,
    where: np.ndarray,
    group: np.ndarray,
    share: np.ndarray,
    copied: np.ndarray,
    tail: np.ndarray,
    of_effects: np.ndarray,
    of_logp: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Turn slopes by the results of `expand` into slopes by b, sd, w, others and nu."""
    inside = of_effects.copy()
    sums = _by_group(of_effects, share, group)
    for at in range(group.shape[0]):
        if group[at] >= 0:
            inside[at] -= sums[group[at]]
    of_b, of_sd = np.zeros(b.shape[0]), np.zeros(sd.shape[0])
    of_w, of_others = np.zeros(w.shape[0]), np.zeros(others.shape[0])
    of_nu = np.zeros(nu.shape[0])
    for k in range(copied.shape[0]):
        sign = 1.0 if sd[copied[k]] >= 0.0 else -1.0
        of_sd[copied[k]] += sign * of_effects[group.shape[0] + k]
    for k in range(others.shape[0]):
        of_others[k] = inside[where[k]]
    for row in range(matrix.shape[0]):
        for column in range(matrix.shape[1]):
            of_b[column] += matrix[row, column] * inside[row]
    count, density = w.shape[0], of_logp.item()
    # Numbers of effects that come later are read with a weight of 0, so they must be finite.
    of_drawn, drawn = np.empty(count), np.zeros(count)
    for effect in range(count):
        of_drawn[effect] = inside[place[effect]]
    # Leading effects come first, and follow only those before them.
    leading = 0
    for effect in range(count):
        for k in range(lead.shape[1]):
            if lead[effect, k] < b.shape[0] + count:
                leading = max(leading, lead[effect, k] + 1 - b.shape[0])
    for effect in range(leading):
        s = sd[scale[effect]]
        spread = math.sqrt(1.0 + precision[effect] * s * s)
        expected = _moved(effect, b, drawn, others, mode_of_b, mode, mode_of_others, lead, weight)
        z = (w[effect] + s * expected * total[effect] / spread) / spread
        drawn[effect] = s * z
    for effect in range(count - 1, -1, -1):
        s = sd[scale[effect]]
        spread = math.sqrt(1.0 + precision[effect] * s * s)
        expected = _moved(effect, b, drawn, others, mode_of_b, mode, mode_of_others, lead, weight)
        middle = s * expected * total[effect] / spread
        z = (w[effect] + middle) / spread
        if tail[effect] < 0:
            steep = z
        else:
            v = nu[tail[effect]]
            steep = (v + 1.0) * z / (v + z * z)
            grown = digamma(0.5 * v + 0.5) - digamma(0.5 * v) - 1.0 / v - math.log1p(z * z / v)
            of_nu[tail[effect]] += density * 0.5 * (grown + steep * z / v)
        of_z = of_drawn[effect] * s - density * steep
        of_middle = of_z / spread
        of_w[effect] = of_middle
        of_spread = -(density + of_z * z + of_middle * middle) / spread
        of_expected = of_middle * s * total[effect] / spread
        of_sd[scale[effect]] += (
            of_drawn[effect] * z
            + of_middle * expected * total[effect] / spread
            + of_spread * precision[effect] * s / spread
        )
        for k in range(lead.shape[1]):
            at = lead[effect, k]
            if at < b.shape[0]:
                of_b[at] += weight[effect, k] * of_expected
            elif at >= b.shape[0] + count:
                of_others[at - b.shape[0] - count] += weight[effect, k] * of_expected
            else:
                of_drawn[at - b.shape[0]] += weight[effect, k] * of_expected
    return of_b, of_sd, of_w, of_others, of_nu
