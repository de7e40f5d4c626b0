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

The observation is one of the effect in its unit, u g (`polbayes.fit.density.units`): s is g times
the scale, and leads that have a unit are multiplied by the same g. The effects of decisiveness,
which determine the units, come first.

A group of n effects that sum to zero has n - 1 free coordinates x with sum S, from which
u_j = x_j - S / (n + sqrt(n)) and the last u_n = -S / sqrt(n): an isometry onto the vectors that
sum to zero, so that independent normal coordinates give independent normal effects conditioned on
summing to zero.

If effects have a t distribution, z has one with the same degrees of freedom, and w is the same
linear function of it as for normal effects.
"""

import math

import numba
import numpy as np

from polbayes.fit.compilation import compiled_with
from polbayes.fit.density import scores, units
from polbayes.fit.density.scores import digamma

# The arguments of `expand` after the coordinates (`polbayes.fit.density.coordinates`): the
# information in the answers, positions, and the units. They are handed over, so that data sets of
# one design share a compiled function.
KNOWN = ("mode", "base", "total", "precision", "lead", "weight", "stop")
PLACES = ("matrix", "scale", "place", "others", "group", "share", "copied", "tail")
UNITS = (*units.ARGUMENTS, "decided", "unit", "stretched")

_compiled = compiled_with(units)
# Handing over so many arrays for each effect would take longer than what is done with them.
_inlined = numba.njit(inline="always")


@_inlined
def _deviate(
    effect: int,
    w: float,
    s: float,
    grown: float,
    expected: float,
    ahead: np.ndarray,
    total: np.ndarray,
    precision: np.ndarray,
    lead: np.ndarray,
    weight: np.ndarray,
    stop: np.ndarray,
) -> tuple[float, float, float]:
    """Return the deviate, sqrt(1 + q s²), and the mode that moved with leads.

    `s`, `grown` and `expected` are the scale in the effect's unit, its g, and its mode without
    leads.
    """
    moved = 0.0
    for k in range(stop[effect, 0]):
        moved += weight[effect, k] * ahead[lead[effect, k]]
    expected += moved * grown
    for k in range(stop[effect, 0], stop[effect, 1]):
        expected += weight[effect, k] * ahead[lead[effect, k]]
    spread = math.sqrt(1.0 + precision[effect] * s * s)
    return (w + s * expected * total[effect] / spread) / spread, spread, expected


@_inlined
def _stretch(logs: np.ndarray, unit: int) -> float:
    """Return by how much the mode of an effect on widths is lower, 0 for other effects."""
    return logs[unit] - logs[logs.shape[0] - 2] if unit >= 0 else 0.0


@_compiled
def _draw(
    start: int,
    stop: int,
    sd: np.ndarray,
    w: np.ndarray,
    nu: np.ndarray,
    ahead: np.ndarray,
    logs: np.ndarray,
    known: tuple,
    places: tuple,
    own: tuple,
) -> float:
    """Write some effects to `ahead`, and return the log-density of their coordinates.

    In `ahead` are values of coefficients, effects and others, and in `logs` the log g of all units.
    """
    _, base, total, precision, lead, weight, until = known
    matrix, scale, _, _, _, _, _, tail = places
    unit, stretched = own
    first, grown, logp = matrix.shape[1], np.exp(logs), 0.0
    for effect in range(start, stop):
        g, s = grown[unit[first + effect]], sd[scale[effect]]
        expected = base[effect] - _stretch(logs, stretched[effect])
        z, spread, _ = _deviate(
            effect, w[effect], s * g, g, expected, ahead, total, precision, lead, weight, until
        )
        if tail[effect] < 0:
            logp -= 0.5 * z * z + math.log(spread)
        else:
            v = nu[tail[effect]]
            logp += math.lgamma(0.5 * v + 0.5) - math.lgamma(0.5 * v) - 0.5 * math.log(0.5 * v)
            logp -= (0.5 * v + 0.5) * math.log1p(z * z / v) + math.log(spread)
        ahead[first + effect] = s * z
    return logp


@_compiled
def decide(
    b: np.ndarray,
    sd: np.ndarray,
    w: np.ndarray,
    nu: np.ndarray,
    ahead: np.ndarray,
    known: tuple,
    places: tuple,
    of_units: tuple,
) -> tuple[np.ndarray, float]:
    """Write coefficients and effects of decisiveness to `ahead`, and return log g.

    The second result is the log-density of the effects' coordinates.
    """
    slopes, at, spread, noise, share, decided = of_units[:6]
    until, none = b.shape[0] + decided.item(), np.zeros(units.number(at))
    ahead[: b.shape[0]] = b
    logp = _draw(0, decided.item(), sd, w, nu, ahead, none, known, places, of_units[6:])
    moved, scales = ahead[:until] - known[0][:until], np.abs(sd[places[6]])
    return units.evaluate(moved, scales, slopes, at, spread, noise, share), logp


@_compiled
def expand(
    b: np.ndarray,
    sd: np.ndarray,
    w: np.ndarray,
    others: np.ndarray,
    nu: np.ndarray,
    known: tuple,
    places: tuple,
    of_units: tuple,
) -> tuple[np.ndarray, np.ndarray]:
    """Compute the effects, and the logarithm of the density of w up to a constant.

    `b` are the coefficients of common terms, `sd` the scales, of either sign, `w` the coordinates
    of the effects sampled one by one, `others` those of clusters, or the free correlated ones, and
    `nu` degrees of freedom. The rest are the arrays `KNOWN`, `PLACES` and `UNITS`, which
    `polbayes.fit.density.coordinates` describes. The effects are followed by copies of scales; the
    density is an array without dimensions.
    """
    matrix, _, place, where, group, share, copied, _ = places
    decided = of_units[5]
    effects = np.zeros(group.shape[0] + copied.shape[0])
    for row in range(matrix.shape[0]):
        for column in range(matrix.shape[1]):
            effects[row] += matrix[row, column] * b[column]
    first, count = b.shape[0], w.shape[0]
    ahead = np.zeros(first + count + others.shape[0])
    ahead[first + count :] = others
    logs, logp = decide(b, sd, w, nu, ahead, known, places, of_units)
    logp += _draw(decided.item(), count, sd, w, nu, ahead, logs, known, places, of_units[6:])
    for effect in range(count):
        effects[place[effect]] = ahead[first + effect]
    for k in range(others.shape[0]):
        effects[where[k]] = others[k]
    sums = _by_group(effects, np.ones(group.shape[0]), group)
    for k in range(group.shape[0]):
        if group[k] >= 0:
            effects[k] -= sums[group[k]] * share[k]
    for k in range(copied.shape[0]):
        effects[group.shape[0] + k] = abs(sd[copied[k]])
    return effects, np.array(logp)


@_compiled
def _by_group(values: np.ndarray, weight: np.ndarray, group: np.ndarray) -> np.ndarray:
    sums = np.zeros(group.shape[0])
    for at in range(group.shape[0]):
        if group[at] >= 0:
            sums[group[at]] += weight[at] * values[at]
    return sums


@_compiled
def _sign(value: float) -> float:
    return 1.0 if value >= 0.0 else -1.0


_compiled_with_scores = compiled_with(scores, units)


@_compiled_with_scores
def _pull_back_drawn(
    start: int,
    stop: int,
    sd: np.ndarray,
    w: np.ndarray,
    nu: np.ndarray,
    ahead: np.ndarray,
    logs: np.ndarray,
    known: tuple,
    places: tuple,
    own: tuple,
    density: float,
    slopes: tuple,
) -> None:
    """Turn slopes by effects into those by what `_draw` takes, from the last effect on."""
    _, base, total, precision, lead, weight, until = known
    matrix, scale, _, _, _, _, _, tail = places
    of_ahead, of_sd, of_w, of_nu, of_logs = slopes
    unit, stretched = own
    first, growths, shared = matrix.shape[1], np.exp(logs), logs.shape[0] - 2
    for effect in range(stop - 1, start - 1, -1):
        grown, of_drawn = growths[unit[first + effect]], of_ahead[first + effect]
        s = sd[scale[effect]] * grown
        expected = base[effect] - _stretch(logs, stretched[effect])
        z, spread, expected = _deviate(
            effect, w[effect], s, grown, expected, ahead, total, precision, lead, weight, until
        )
        if tail[effect] < 0:
            steep = z
        else:
            v = nu[tail[effect]]
            steep = (v + 1.0) * z / (v + z * z)
            slope = digamma(0.5 * v + 0.5) - digamma(0.5 * v) - 1.0 / v - math.log1p(z * z / v)
            of_nu[tail[effect]] += density * 0.5 * (slope + steep * z / v)
        of_z = of_drawn * sd[scale[effect]] - density * steep
        of_middle = of_z / spread
        of_w[effect] = of_middle
        middle = s * expected * total[effect] / spread
        of_spread = -(density + of_z * z + of_middle * middle) / spread
        of_expected = of_middle * s * total[effect] / spread
        of_s = (of_middle * expected * total[effect] + of_spread * precision[effect] * s) / spread
        of_sd[scale[effect]] += of_drawn * z + of_s * grown
        of_grown = of_s * s
        if stretched[effect] >= 0:
            of_logs[stretched[effect]] -= of_expected
            of_logs[shared] += of_expected
        for k in range(until[effect, 0]):
            at, slope = lead[effect, k], weight[effect, k] * of_expected * grown
            of_grown += slope * ahead[at]
            of_ahead[at] += slope
        for k in range(until[effect, 0], until[effect, 1]):
            of_ahead[lead[effect, k]] += weight[effect, k] * of_expected
        of_logs[unit[first + effect]] += of_grown


@_compiled_with_scores
def pull_back_effects(
    b: np.ndarray,
    sd: np.ndarray,
    w: np.ndarray,
    others: np.ndarray,
    nu: np.ndarray,
    known: tuple,
    places: tuple,
    of_units: tuple,
    of_effects: np.ndarray,
    density: float,
    ahead: np.ndarray,
    slopes: tuple,
) -> None:
    """Take slopes by effects back to everything but what the units depend on.

    Fills `ahead` with coefficients, effects of decisiveness and leading ones, and others. Slopes by
    those, by scales, w, nu and log g are added to `slopes`.
    """
    matrix, _, place, where, group, share, copied, _ = places
    decided = of_units[5]
    of_ahead, of_sd, _, _, _ = slopes
    first, count = b.shape[0], w.shape[0]
    inside = of_effects.copy()
    sums = _by_group(of_effects, share, group)
    for k in range(group.shape[0]):
        if group[k] >= 0:
            inside[k] -= sums[group[k]]
    for k in range(copied.shape[0]):
        of_sd[copied[k]] += _sign(sd[copied[k]]) * of_effects[group.shape[0] + k]
    for row in range(matrix.shape[0]):
        for column in range(matrix.shape[1]):
            of_ahead[column] += matrix[row, column] * inside[row]
    for effect in range(count):
        of_ahead[first + effect] += inside[place[effect]]
    for k in range(others.shape[0]):
        of_ahead[first + count + k] += inside[where[k]]
    ahead[first + count :] = others
    logs, _ = decide(b, sd, w, nu, ahead, known, places, of_units)
    # Leading effects come after those of decisiveness, and follow only those before them.
    leading, lead, until = decided.item(), known[4], known[6]
    for effect in range(count):
        for k in range(until[effect, 1]):
            if lead[effect, k] < first + count:
                leading = max(leading, lead[effect, k] + 1 - first)
    _draw(decided.item(), leading, sd, w, nu, ahead, logs, known, places, of_units[6:])
    rest = (ahead, logs, known, places, of_units[6:], density, slopes)
    _pull_back_drawn(decided.item(), count, sd, w, nu, *rest)


@_compiled_with_scores
def pull_back_units(
    sd: np.ndarray,
    w: np.ndarray,
    nu: np.ndarray,
    known: tuple,
    places: tuple,
    of_units: tuple,
    density: float,
    ahead: np.ndarray,
    slopes: tuple,
) -> None:
    """Take slopes by log g and decisiveness back to coefficients, scales and coordinates."""
    by, at, spread, noise, share, decided = of_units[:6]
    of_ahead, of_sd, of_w, of_nu, of_logs = slopes
    until, none = by.shape[1], np.zeros(units.number(at))
    moved, copied = ahead[:until] - known[0][:until], places[6]
    of_moved, of_scales = units.pull_back(
        moved, np.abs(sd[copied]), by, at, spread, noise, share, of_logs
    )
    of_ahead[:until] += of_moved
    for k in range(copied.shape[0]):
        of_sd[copied[k]] += _sign(sd[copied[k]]) * of_scales[k]
    rest = (ahead, none, known, places, of_units[6:], density)
    _pull_back_drawn(
        0, decided.item(), sd, w, nu, *rest, (of_ahead, of_sd, of_w, of_nu, none.copy())
    )


@_compiled_with_scores
def pull_back(
    b: np.ndarray,
    sd: np.ndarray,
    w: np.ndarray,
    others: np.ndarray,
    nu: np.ndarray,
    known: tuple,
    places: tuple,
    of_units: tuple,
    of_effects: np.ndarray,
    of_logp: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Turn slopes by the results of `expand` into slopes by b, sd, w, others and nu."""
    first, count, density = b.shape[0], w.shape[0], of_logp.item()
    ahead = np.zeros(first + count + others.shape[0])
    of_ahead, of_sd, of_w = np.zeros(ahead.shape[0]), np.zeros(sd.shape[0]), np.zeros(count)
    slopes = (of_ahead, of_sd, of_w, np.zeros(nu.shape[0]), np.zeros(units.number(of_units[1])))
    pull_back_effects(
        *(b, sd, w, others, nu, known, places, of_units, of_effects, density, ahead, slopes)
    )
    pull_back_units(sd, w, nu, known, places, of_units, density, ahead, slopes)
    return of_ahead[:first], of_sd, of_w, of_ahead[first + count :], slopes[3]
