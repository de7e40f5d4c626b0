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
which determine the units, come first, and then those that lead (`polbayes.fit.density.ahead`).

From these coordinates reflections lead to effects that sum to zero, and to effects whose mean is
a coordinate of its own (`polbayes.fit.density.layout.Block.reflections`).

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
KNOWN = ("base", "total", "precision", "lead", "weight", "stop")
PLACES = (
    *("matrix", "scale", "place", "others", "summed", "copied", "tail", "stages"),
    *("turned", "share", "until", "pooled", "entering", "factor", "bounds"),
)
UNITS = (*units.ARGUMENTS, "settled", "middle", "unit", "stretched")

# Rows of ``stages``, of effects and reflections that belong together: decisiveness, what leads,
# difficulties, wordings whose means lead, and the rest. Each row has the numbers of all before.
DECIDED, LEADING, DIFFICULTIES, WORDINGS, REST = range(5)

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


@_compiled
def _draw(
    stage: int,
    sd: np.ndarray,
    w: np.ndarray,
    nu: np.ndarray,
    ahead: np.ndarray,
    logs: np.ndarray,
    known: tuple,
    places: tuple,
    own: tuple,
) -> float:
    """Write the effects of a stage to `ahead`, and return the log-density of their coordinates.

    `logs` are log g of all units.
    """
    base, total, precision, lead, weight, until = known
    matrix, scale, place, _, _, _, tail, stages = places[:8]
    unit, stretched = own
    first, grown, logp = matrix.shape[1], np.exp(logs), 0.0
    for effect in range(stages[stage, 0], stages[stage + 1, 0]):
        g, s = grown[unit[effect]], sd[scale[effect]]
        expected = base[effect] - units.stretch(logs, stretched, effect)
        z, spread, _ = _deviate(
            effect, w[effect], s * g, g, expected, ahead, total, precision, lead, weight, until
        )
        if tail[effect] < 0:
            logp -= 0.5 * z * z + math.log(spread)
        else:
            v = nu[tail[effect]]
            logp += math.lgamma(0.5 * v + 0.5) - math.lgamma(0.5 * v) - 0.5 * math.log(0.5 * v)
            logp -= (0.5 * v + 0.5) * math.log1p(z * z / v) + math.log(spread)
        ahead[first + place[effect]] = s * z
    return logp


@_compiled
def mirror(
    values: np.ndarray, first: int, turned: np.ndarray, share: np.ndarray, start: int, stop: int
) -> None:
    """Reflect the values from `first` on at the positions `turned` between start and stop.

    A reflection (`polbayes.fit.density.layout.Block.reflections`) is its own inverse, and that of
    slopes.
    """
    total = values[first + turned[stop - 1]]
    for k in range(start, stop):
        total += share[k] * values[first + turned[k]]
    total /= 1.0 + share[stop - 1]
    for k in range(start, stop):
        values[first + turned[k]] -= total * share[k]
    values[first + turned[stop - 1]] -= total


@_compiled
def _reflect(number: int, values: np.ndarray, places: tuple) -> None:
    """Reflect the effects, or slopes, of one reflection."""
    turned, share, until = places[8:11]
    mirror(values, places[0].shape[1], turned, share, until[number], until[number + 1])


@_compiled
def reflect(stage: int, ahead: np.ndarray, places: tuple) -> None:
    """Turn coordinates of a stage's effects to effects."""
    stages = places[7]
    for number in range(stages[stage, 1], stages[stage + 1, 1]):
        _reflect(number, ahead, places)


@_compiled
def _reflect_back(stage: int, of_ahead: np.ndarray, places: tuple) -> None:
    """Turn slopes by effects to slopes by coordinates."""
    stages = places[7]
    for number in range(stages[stage + 1, 1] - 1, stages[stage, 1] - 1, -1):
        _reflect(number, of_ahead, places)


@_compiled
def _sums(belief: int, ahead: np.ndarray, first: int, places: tuple) -> tuple[float, float, float]:
    """Return the logarithm of a discrimination, the distance, and a factor of either sign."""
    entering, factor, bounds = places[12:]
    logs, distance, signed = 0.0, 0.0, 0.0
    for k in range(bounds[belief, 0], bounds[belief, 1]):
        logs += factor[k] * ahead[first + entering[k]]
    for k in range(bounds[belief, 1], bounds[belief, 2]):
        distance += factor[k] * ahead[first + entering[k]]
    for k in range(bounds[belief, 2], bounds[belief, 3]):
        signed += factor[k] * ahead[first + entering[k]]
    if bounds[belief, 2] == bounds[belief, 3]:
        signed = 1.0
    return math.exp(logs), distance, signed


@_compiled
def derive(ahead: np.ndarray, places: tuple) -> None:
    """Write means and beliefs to the end of `ahead`."""
    first, pooled, beliefs = places[0].shape[1], places[11], places[14].shape[0]
    behind = ahead.shape[0] - beliefs
    for k in range(pooled.shape[0]):
        ahead[behind - pooled.shape[0] + k] = ahead[first + pooled[k]]
    for belief in range(beliefs):
        growth, distance, signed = _sums(belief, ahead, first, places)
        ahead[behind + belief] = growth * distance * signed


@_compiled
def _pull_back_derived(ahead: np.ndarray, of_ahead: np.ndarray, places: tuple) -> None:
    """Take slopes by means and beliefs back to the effects that they are made of."""
    first, pooled, (entering, factor, bounds) = places[0].shape[1], places[11], places[12:]
    behind = ahead.shape[0] - bounds.shape[0]
    for belief in range(bounds.shape[0]):
        slope = of_ahead[behind + belief]
        growth, distance, signed = _sums(belief, ahead, first, places)
        for k in range(bounds[belief, 0], bounds[belief, 1]):
            of_ahead[first + entering[k]] += slope * growth * distance * signed * factor[k]
        for k in range(bounds[belief, 1], bounds[belief, 2]):
            of_ahead[first + entering[k]] += slope * growth * signed * factor[k]
        for k in range(bounds[belief, 2], bounds[belief, 3]):
            of_ahead[first + entering[k]] += slope * growth * distance * factor[k]
    for k in range(pooled.shape[0]):
        of_ahead[first + pooled[k]] += of_ahead[behind - pooled.shape[0] + k]


@_compiled
def blank(b: np.ndarray, others: np.ndarray, places: tuple) -> np.ndarray:
    """Return the vector `ahead` with coefficients, effects of common terms and other effects."""
    matrix, _, place, where, summed = places[:5]
    first, rows = b.shape[0], matrix.shape[0]
    effects = rows + place.shape[0] + where.shape[0] + summed.shape[0]
    ahead = np.zeros(first + effects + places[11].shape[0] + places[14].shape[0])
    ahead[:first] = b
    for row in range(rows):
        for column in range(first):
            ahead[first + row] += matrix[row, column] * b[column]
    for k in range(where.shape[0]):
        ahead[first + where[k]] = others[k]
    return ahead


@_compiled
def logs_of(ahead: np.ndarray, sd: np.ndarray, places: tuple, of_units: tuple) -> np.ndarray:
    """Return log g of all units from coefficients and effects of decisiveness."""
    slopes, at, spread, noise, share, settled, middle = of_units[:7]
    moved = ahead[settled] - middle
    return units.evaluate(moved, np.abs(sd[places[5]]), slopes, at, spread, noise, share)


@_compiled
def decide(
    sd: np.ndarray,
    w: np.ndarray,
    nu: np.ndarray,
    ahead: np.ndarray,
    known: tuple,
    places: tuple,
    of_units: tuple,
) -> tuple[np.ndarray, float]:
    """Write effects of decisiveness to `ahead`, and return log g.

    The second result is the log-density of the effects' coordinates.
    """
    none = np.zeros(units.number(of_units[1]))
    logp = _draw(DECIDED, sd, w, nu, ahead, none, known, places, of_units[7:])
    reflect(DECIDED, ahead, places)
    return logs_of(ahead, sd, places, of_units), logp


@_compiled
def unfold(
    b: np.ndarray,
    sd: np.ndarray,
    w: np.ndarray,
    others: np.ndarray,
    nu: np.ndarray,
    known: tuple,
    places: tuple,
    of_units: tuple,
) -> tuple[np.ndarray, np.ndarray, float]:
    """Compute what leads, effects included, log g, and the logarithm of the density of w.

    For arguments see `expand`.
    """
    ahead = blank(b, others, places)
    logs, logp = decide(sd, w, nu, ahead, known, places, of_units)
    logp += _draw(LEADING, sd, w, nu, ahead, logs, known, places, of_units[7:])
    reflect(LEADING, ahead, places)
    logp += _draw(DIFFICULTIES, sd, w, nu, ahead, logs, known, places, of_units[7:])
    reflect(DIFFICULTIES, ahead, places)
    logp += _draw(WORDINGS, sd, w, nu, ahead, logs, known, places, of_units[7:])
    reflect(WORDINGS, ahead, places)
    derive(ahead, places)
    logp += _draw(REST, sd, w, nu, ahead, logs, known, places, of_units[7:])
    reflect(REST, ahead, places)
    return ahead, logs, logp


@_compiled
def with_copies(ahead: np.ndarray, sd: np.ndarray, places: tuple) -> np.ndarray:
    """Return the effects in `ahead`, followed by copies of scales."""
    first, copied = places[0].shape[1], places[5]
    until = ahead.shape[0] - places[11].shape[0] - places[14].shape[0]
    effects = np.empty(until - first + copied.shape[0])
    effects[: until - first] = ahead[first:until]
    for k in range(copied.shape[0]):
        effects[until - first + k] = abs(sd[copied[k]])
    return effects


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
    ahead, _, logp = unfold(b, sd, w, others, nu, known, places, of_units)
    return with_copies(ahead, sd, places), np.array(logp)


@_compiled
def _sign(value: float) -> float:
    return 1.0 if value >= 0.0 else -1.0


_compiled_with_scores = compiled_with(scores, units)


@_compiled_with_scores
def _pull_back_drawn(
    stage: int,
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
    base, total, precision, lead, weight, until = known
    matrix, scale, place, _, _, _, tail, stages = places[:8]
    of_ahead, of_sd, of_w, of_nu, of_logs = slopes
    unit, stretched = own
    first, growths = matrix.shape[1], np.exp(logs)
    for effect in range(stages[stage + 1, 0] - 1, stages[stage, 0] - 1, -1):
        grown, of_drawn = growths[unit[effect]], of_ahead[first + place[effect]]
        s = sd[scale[effect]] * grown
        expected = base[effect] - units.stretch(logs, stretched, effect)
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
        if stretched[effect, 0] >= 0:
            of_logs[stretched[effect, 0]] -= of_expected
            of_logs[stretched[effect, 1]] += of_expected
        for k in range(until[effect, 0]):
            at, slope = lead[effect, k], weight[effect, k] * of_expected * grown
            of_grown += slope * ahead[at]
            of_ahead[at] += slope
        for k in range(until[effect, 0], until[effect, 1]):
            of_ahead[lead[effect, k]] += weight[effect, k] * of_expected
        of_logs[unit[effect]] += of_grown


@_compiled_with_scores
def pull_back_effects(
    sd: np.ndarray,
    w: np.ndarray,
    nu: np.ndarray,
    ahead: np.ndarray,
    logs: np.ndarray,
    known: tuple,
    places: tuple,
    of_units: tuple,
    of_effects: np.ndarray,
    density: float,
    slopes: tuple,
) -> None:
    """Take slopes by effects back to everything but what the units depend on.

    `ahead` and `logs` are those of `unfold`. Slopes by the vector, by scales, w, nu and log g are
    added to `slopes`.
    """
    matrix, copied = places[0], places[5]
    of_ahead, of_sd, _, _, _ = slopes
    first, number = matrix.shape[1], of_effects.shape[0] - copied.shape[0]
    of_ahead[first : first + number] += of_effects[:number]
    for k in range(copied.shape[0]):
        of_sd[copied[k]] += _sign(sd[copied[k]]) * of_effects[number + k]
    rest = (sd, w, nu, ahead, logs, known, places, of_units[7:], density, slopes)
    _reflect_back(REST, of_ahead, places)
    _pull_back_drawn(REST, *rest)
    _pull_back_derived(ahead, of_ahead, places)
    _reflect_back(WORDINGS, of_ahead, places)
    _pull_back_drawn(WORDINGS, *rest)
    _reflect_back(DIFFICULTIES, of_ahead, places)
    _pull_back_drawn(DIFFICULTIES, *rest)
    _reflect_back(LEADING, of_ahead, places)
    _pull_back_drawn(LEADING, *rest)
    for row in range(matrix.shape[0]):
        for column in range(first):
            of_ahead[column] += matrix[row, column] * of_ahead[first + row]


@_compiled_with_scores
def pull_back_units(
    sd: np.ndarray,
    w: np.ndarray,
    nu: np.ndarray,
    ahead: np.ndarray,
    known: tuple,
    places: tuple,
    of_units: tuple,
    density: float,
    slopes: tuple,
) -> None:
    """Take slopes by log g and decisiveness back to coefficients, scales and coordinates."""
    by, at, spread, noise, share, settled, middle = of_units[:7]
    of_ahead, of_sd, of_w, of_nu, of_logs = slopes
    copied, none = places[5], np.zeros(units.number(at))
    of_moved, of_scales = units.pull_back(
        ahead[settled] - middle, np.abs(sd[copied]), by, at, spread, noise, share, of_logs
    )
    for k in range(settled.shape[0]):
        of_ahead[settled[k]] += of_moved[k]
    for k in range(copied.shape[0]):
        of_sd[copied[k]] += _sign(sd[copied[k]]) * of_scales[k]
    _reflect_back(DECIDED, of_ahead, places)
    given = (sd, w, nu, ahead, none, known, places, of_units[7:], density)
    _pull_back_drawn(DECIDED, *given, (of_ahead, of_sd, of_w, of_nu, none.copy()))


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
    first, where, density = b.shape[0], places[3], of_logp.item()
    ahead, logs, _ = unfold(b, sd, w, others, nu, known, places, of_units)
    of_ahead, of_sd, of_w = np.zeros(ahead.shape[0]), np.zeros(sd.shape[0]), np.zeros(w.shape[0])
    slopes = (of_ahead, of_sd, of_w, np.zeros(nu.shape[0]), np.zeros(logs.shape[0]))
    given = (sd, w, nu, ahead)
    pull_back_effects(*given, logs, known, places, of_units, of_effects, density, slopes)
    pull_back_units(*given, known, places, of_units, density, slopes)
    return of_ahead[:first], of_sd, of_w, of_ahead[first + where], slopes[3]
