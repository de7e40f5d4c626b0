"""Counts at ordered points with one normal effect per cell integrated out.

The likelihood of a cell is its mean over normal shifts of the predictor. As a model's decisiveness
grows, it approaches the likelihood of a single answer, for any number of answers. The processor
computes several cells at once (`polbayes.fit.density.together`): those of few answers share their
nodes with their neighbours, and those of many have their own. Extreme ones are computed one by one
(`_shifted_ordinal`).
"""

import math

import numpy as np

from polbayes.fit.compilation import compiled_with
from polbayes.fit.density import scores, together
from polbayes.fit.density.scores import (
    BY_CUTS,
    BY_ETA,
    BY_OWN,
    BY_SPREAD,
    FAR,
    cell_logp,
    prepare,
    workspace,
)
from polbayes.fit.density.together import (
    EDGES,
    ENDS,
    ETA,
    FIRST,
    SPREAD,
    START,
    STEP,
    TOTAL,
    WIDTH,
    few_together,
    many_together,
    slopes_together,
)
from polbayes.fit.families.kinds import ORDINAL

_compiled = compiled_with(scores, together)

# An integrand is cut off where its logarithm has fallen by this much from the peak.
_NEGLIGIBLE = 14.0
# Because the shifts are normal, that happens within this distance from the peak.
_WIDEST = 7.0
# Distance of the nodes of the trapezoidal rule, in widths of the narrowest part of the integrand.
# The relative error for a Gaussian of width 1 is about exp(-2 (pi / step)^2), 1e-6 here.
_STEP, _PEAK_STEP = 1.2, 1.0
# For few answers and moderate shifts, all cells of a model share their nodes: distance from 0,
# largest number of nodes, and largest number of answers (three bits of a count are used). The
# number of cells computed together fits into a processor's L1 cache.
_REACH, _MOST_NODES, _FEW, _TOGETHER = 5.2, 65, 7.0, 64
# For few answers and a moderate spread, Gauss-Hermite quadrature needs fewer nodes, with an error
# below 4e-6: number of nodes, and largest spread. The numbers are multiples of what a processor
# computes at once.
_MOST_FOR_GAUSS, _GAUSS = 4.0, ((4, 0.12), (8, 0.5), (12, 0.8))
_GAUSS_SIZES = np.array([size for size, _ in _GAUSS])
_GAUSS_SPREADS = np.array([spread for _, spread in _GAUSS])
_GAUSS_RULES = np.zeros((len(_GAUSS), 2, _GAUSS[-1][0]))
for _at, (_size, _) in enumerate(_GAUSS):
    _GAUSS_RULES[_at, :, :_size] = np.polynomial.hermite_e.hermegauss(_size)
_GAUSS_RULES[:, 1] /= _GAUSS_RULES[:, 1].sum(axis=1, keepdims=True)
# A smaller likelihood, or one of which the outer nodes contribute more than this proportion, is
# recomputed from its own peak.
_LEAST_SUM, _CUT_OFF = 1e-200, 1e-5
# With wider shifts than this, the likelihood of identical answers is evaluated only near the edges
# of its interval: so far outside and inside, in such steps.
_SHARP, _BEYOND, _EDGE_STEP = 10.0, 17.0, 0.85
_EDGE_ROOM = 3 + math.ceil(2 * _BEYOND / _EDGE_STEP) + 1
# Shifts further than this many standard deviations from 0, larger spreads, and predictors and
# cutpoints so far out that rounding hides the peak occur only in a sampler's first steps.
_NOWHERE, _ENORMOUS, _ROUNDED = 1e6, 1e6, 1e10
# The edge of a single logistic function is treated as a Gaussian with this curvature, that of
# several answers as a sharper one.
_EDGE, _EDGES = 1.0, 2.0


@_compiled
def _bend(
    eta: float, ready: np.ndarray, cuts: np.ndarray, answers: np.ndarray, cell: int
) -> tuple[float, float]:
    """Return the slope of the ordinal log-likelihood by the predictor, and minus its curvature."""
    slope, bend, size = 0.0, 0.0, cuts.shape[0]
    near = abs(eta) + abs(cuts[0]) * ready[0] < FAR
    shrunk = math.exp(-eta) if near else 0.0  # one exponential serves all cutpoints
    for k in range(size):
        below = answers[cell, k]
        both = below + answers[cell, k + 1]
        if both > 0.0:
            if near:
                rest = 1.0 / (1.0 + shrunk * ready[2 * size - 1 + k])
                share = 1.0 - rest
            else:
                x = cuts[k] * ready[0] - eta
                small = math.exp(-abs(x))
                share = (1.0 if x > 0.0 else small) / (1.0 + small)
                rest = 1.0 - share
            slope += both * share - below
            bend += both * share * rest
    return slope, bend


@_compiled
def likeliest_shift(
    eta: float, spread: float, ready: np.ndarray, cuts: np.ndarray, answers: np.ndarray, cell: int
) -> tuple[float, float]:
    """Return the approximate mode of the integrand over shifts, and the curvature there.

    Newton's method on a concave function, kept between bounds; the result is a starting point.
    """
    n = answers[cell].sum()
    low, high, z, bend = -spread * n, spread * n, 0.0, 0.0  # slopes are between -n and n
    for _ in range(60):
        slope, bend = _bend(eta + spread * z, ready, cuts, answers, cell)
        uphill, width = spread * slope - z, 1.0 + spread * spread * bend
        if uphill > 0.0:
            low = z
        else:
            high = z
        step = uphill / width
        if abs(step) * math.sqrt(width) < 0.25:
            break
        z += step
        if not low < z < high:
            z = 0.5 * (low + high)
    return z, bend


@_compiled
def _apart(n: float, width: float, cuts: np.ndarray, answers: np.ndarray, cell: int) -> bool:
    """Tell whether the edges of a point's interval are far enough apart to separate."""
    for k in range(1, cuts.shape[0]):
        if answers[cell, k] > 0.0:
            return (cuts[k] - cuts[k - 1]) * width > 2.0 * (_BEYOND + math.log(n))
    return True


@_compiled
def _lay_edge(n: float, edge: np.ndarray) -> None:
    """Write the slope of p^n at the nodes of an edge, p being logistic: their number comes first.

    The second entry is the place of the first node relative to the edge, the third one is n.
    """
    far = max(_BEYOND + math.log(n), 0.0)
    fallen = far / n  # -log p where the slope has fallen to exp(-_BEYOND) below the edge
    below = fallen if fallen > _BEYOND else math.log(math.expm1(fallen))
    start = -min(below, _BEYOND)
    number = min(int((far - start) / _EDGE_STEP) + 1, edge.shape[0] - 3)
    edge[0], edge[1], edge[2] = number, start, n
    for j in range(number):
        small = math.exp(-abs(start + j * _EDGE_STEP))
        inside = start + j * _EDGE_STEP > 0.0
        log_p = -math.log1p(small) + (0.0 if inside else start + j * _EDGE_STEP)
        edge[3 + j] = n * math.exp(n * log_p) * (small if inside else 1.0) / (1.0 + small)


@_compiled
def _unanimous(
    eta: float,
    spread: float,
    n: float,
    ready: np.ndarray,
    gaps: np.ndarray,
    cuts: np.ndarray,
    answers: np.ndarray,
    cell: int,
    slopes: np.ndarray,
    edge: np.ndarray,
) -> float:
    """Score identical answers with wide shifts at the edges of their interval.

    The likelihood L of the shifted predictor u is 0 or 1 but for two edges, which are so far apart
    that it is a power of one logistic function at each. With z = (u - eta) / spread, integrating by
    parts,

        E L = integral of Phi(-z) dL(u), or of -Phi(z) dL(u),

    whose integrand is nonzero only at the edges: the cost does not depend on the spread. All slopes
    are also integrals over the edges. `edge` has room for `_lay_edge`, whose values for the last n
    are kept there.
    """
    width, size, point = ready[0], cuts.shape[0], 0
    while answers[cell, point] == 0.0:
        point += 1
    low, high = point - 1, point  # the cutpoints of the interval
    if edge[2] != n:
        _lay_edge(n, edge)
    # For a point at an end, use the form without a boundary term, otherwise that of small numbers.
    upper = high == size or (low >= 0 and (cuts[low] + cuts[high]) * width > 2.0 * eta)
    flip, dz = math.sqrt(0.5) if upper else -math.sqrt(0.5), _EDGE_STEP / spread
    total, tilted, of_eta, d_width = 0.0, 0.0, 0.0, 0.0
    for side in (1.0, -1.0):  # into the interval: upwards from its lower edge, and downwards
        cut = low if side > 0.0 else high
        if cut < 0 or cut == size:
            continue
        z = (cuts[cut] * width + side * edge[1] - eta) / spread
        # The normal density at equidistant nodes, which are all far out if it is 0 at the first.
        phi, narrow = math.exp(-0.5 * z * z), math.exp(-dz * dz)
        fall = math.exp(-(side * z + 0.5 * dz) * dz) if phi > 0.0 else 0.0
        tails, mass, moment = 0.0, 0.0, 0.0
        for j in range(int(edge[0])):
            slope = edge[3 + j]
            tails += slope * math.erfc(flip * z)
            mass += slope * phi
            moment += slope * phi * z
            z += side * dz
            phi *= fall
            fall *= narrow
        total += 0.5 * tails * (side if upper else -side)
        tilted += side * moment
        of_eta += side * mass
        slopes[BY_CUTS + cut] -= side * mass  # until it is divided by the whole
    if not total > _LEAST_SUM:  # so far out that the peak suffices
        slopes[:] = 0.0
        start, _ = likeliest_shift(eta, spread, ready, cuts, answers, cell)
        logp = cell_logp(
            ORDINAL, eta + spread * start, ready, gaps, cuts, slopes, answers, cell, slopes
        )
        slopes[BY_SPREAD] = slopes[BY_ETA] * start
        return logp - 0.5 * start * start
    scale = 1.0 / (math.sqrt(2.0 * math.pi) * spread * total)
    slopes[BY_ETA], slopes[BY_SPREAD] = of_eta * scale, tilted * scale
    for k in range(max(low, 0), min(high, size - 1) + 1):
        slopes[BY_CUTS + k] *= scale * width
        d_width += slopes[BY_CUTS + k] * cuts[k]
    slopes[BY_OWN] = d_width
    return math.log(total * _EDGE_STEP)


@_compiled
def _step(n: float, kinds: int, spread: float, bend: float) -> float:
    """Return the distance of the nodes for answers at so many points."""
    edge = _EDGE if n == 1.0 else _EDGES
    step = _STEP if kinds == 1 else _PEAK_STEP
    return step / math.sqrt(1.0 + spread * spread * max(bend, edge))


@_compiled
def _shifted_ordinal(
    eta: float,
    spread: float,
    ready: np.ndarray,
    gaps: np.ndarray,
    cuts: np.ndarray,
    answers: np.ndarray,
    cell: int,
    slopes: np.ndarray,
    nodes: np.ndarray,  # [3 + 2 cuts] or more: room for sums over the nodes
    edge: np.ndarray,  # for `_unanimous`
) -> float:
    """Score counts at ordered points, with a normal shift of the predictor integrated out.

    log E p(counts | eta + spread z), z standard normal, by the trapezoidal rule from the peak
    outwards. The integrand is log-concave, so it only decreases from there.
    """
    width, size, edges = ready[0], cuts.shape[0], 1 + 2 * gaps.shape[0]
    n, kinds, fixed = 0.0, 0, 0.0
    for k in range(size + 1):
        n += answers[cell, k]
        kinds += answers[cell, k] > 0.0
        if 0 < k < size:
            fixed += answers[cell, k] * ready[2 * k - 1]
    slopes[BY_ETA] = slopes[BY_OWN] = slopes[BY_SPREAD] = 0.0
    if n == 0.0:
        return 0.0
    start, bend = likeliest_shift(eta, spread, ready, cuts, answers, cell)
    if spread > _SHARP and kinds == 1 and _apart(n, width, cuts, answers, cell):
        return _unanimous(eta, spread, n, ready, gaps, cuts, answers, cell, slopes, edge)
    far = abs(eta) + max(abs(cuts[0]), abs(cuts[size - 1])) * width
    if not (abs(start) < _NOWHERE and spread < _ENORMOUS and far < _ROUNDED):
        # Approximate the integral by its peak: a sampler's first steps may go anywhere.
        logp = cell_logp(
            ORDINAL, eta + spread * start, ready, gaps, cuts, slopes, answers, cell, slopes
        )
        slopes[BY_SPREAD] = slopes[BY_ETA] * start
        return logp - 0.5 * start * start
    step = _step(n, kinds, spread, bend)
    nodes[:] = 0.0
    whole, peak = 0.0, 0.0
    reach = abs(eta) + spread * (abs(start) + _WIDEST + 2.0 * step) + abs(cuts[0]) * width
    for side in (-1.0, 1.0):
        at = 0.0 if side < 0.0 else 1.0
        near, shrunk, shrinks = reach < FAR, 0.0, 0.0
        if near:  # one exponential serves all nodes
            shrinks = math.exp(-spread * side * step)
            shrunk = math.exp(-eta - spread * (start + side * at * step))
        while True:
            z = start + side * at * step
            shifted, value, slope = eta + spread * z, -0.5 * z * z, 0.0
            for k in range(size):
                below = answers[cell, k]
                both = below + answers[cell, k + 1]
                if both > 0.0:
                    x = cuts[k] * width - shifted
                    if near:
                        odds = 1.0 + shrunk * ready[edges + k]
                        value += below * x - both * math.log(odds)
                        d_x = below - both * (1.0 - 1.0 / odds)
                    else:
                        small = math.exp(-abs(x))
                        value += below * x - both * (max(x, 0.0) + math.log1p(small))
                        d_x = below - both * (1.0 if x > 0.0 else small) / (1.0 + small)
                    nodes[3 + k] = d_x
                    slope -= d_x
            shrunk *= shrinks
            if at == 0.0:
                peak = value
            if at * step > _WIDEST or not value >= peak - _NEGLIGIBLE:  # or is NaN
                break
            weight = math.exp(value - peak)
            whole += weight
            nodes[0] += weight * slope
            nodes[1] += weight * slope * z
            for k in range(size):
                nodes[3 + size + k] += weight * nodes[3 + k]
            at += 1.0
    slopes[BY_ETA] = nodes[0] / whole
    slopes[BY_SPREAD] = nodes[1] / whole
    d_width = 0.0
    for k in range(size):
        d_x = nodes[3 + size + k] / whole
        slopes[BY_CUTS + k] += d_x * width
        d_width += d_x * cuts[k]
        if k > 0 and answers[cell, k] > 0.0:
            d_distance = answers[cell, k] * ready[2 * k]
            slopes[BY_CUTS + size + k - 1] += d_distance * width
            d_width += d_distance * gaps[k - 1]
    slopes[BY_OWN] = d_width * width
    return fixed + peak + math.log(whole * step) - 0.5 * math.log(2.0 * math.pi)


@_compiled
def lay_nodes(spread: float, most: float, finer: float, table: np.ndarray) -> int:
    """Write nodes, their weights and exp(-spread * node) into a table, and return their number.

    The log-likelihood of at most so many answers has a curvature of at most a half per answer. If
    `finer` is above 1, nodes are equidistant and so many times finer than a sum needs. There are no
    nodes if they would be too many.
    """
    if finer == 1.0 and most <= _MOST_FOR_GAUSS:
        for at in range(_GAUSS_SIZES.shape[0]):
            if spread <= _GAUSS_SPREADS[at]:
                for j in range(_GAUSS_SIZES[at]):
                    z = _GAUSS_RULES[at, 0, j]
                    table[0, j], table[1, j] = z, _GAUSS_RULES[at, 1, j]
                    table[2, j] = math.exp(-spread * z)
                return _GAUSS_SIZES[at]
    step = _STEP / finer / math.sqrt(1.0 + spread * spread * max(0.5 * most, _EDGE))
    half = math.ceil(_REACH / step)
    if most > _FEW or 2 * half + 1 > table.shape[1]:
        return 0
    number, whole = 2 * half + 1, 0.0
    for j in range(number):
        z = (j - half) * step
        table[0, j], table[1, j] = z, math.exp(-0.5 * z * z)
        table[2, j] = math.exp(-spread * z)
        whole += table[1, j]
    for j in range(number):
        table[1, j] /= whole
    return number


@_compiled
def _alike(own: np.ndarray, spread: np.ndarray, first: int) -> int:
    """Return how many cells, starting at one, can be computed together."""
    stop = first + 1
    last = min(own.shape[0], first + _TOGETHER)
    while stop < last and own[stop] == own[first] and spread[stop] == spread[first]:
        stop += 1
    return stop - first


@_compiled
def _score_alone(
    eta: float,
    spread: float,
    ready: np.ndarray,
    gaps: np.ndarray,
    cuts: np.ndarray,
    answers: np.ndarray,
    cell: int,
    alone: np.ndarray,
    nodes: np.ndarray,
    edge: np.ndarray,
    slope: np.ndarray,
    slopes: np.ndarray,
) -> float:
    """Score one cell from its own peak, and write its slopes to the arrays of all cells."""
    alone[:] = 0.0
    if spread > 0.0:
        logp = _shifted_ordinal(eta, spread, ready, gaps, cuts, answers, cell, alone, nodes, edge)
    else:
        logp = cell_logp(ORDINAL, eta, ready, gaps, cuts, nodes, answers, cell, alone)
        alone[BY_SPREAD] = 0.0
    for k in range(BY_CUTS):
        slope[k, cell] = alone[k]
    for k in range(BY_CUTS, alone.shape[0]):
        slopes[k] += alone[k]
    return logp


@_compiled
def score_shifted(
    eta: np.ndarray,
    own: np.ndarray,
    spread: np.ndarray,
    gaps: np.ndarray,
    cuts: np.ndarray,
    answers: np.ndarray,
    logp: np.ndarray,
    slope: np.ndarray,
    slopes: np.ndarray,
) -> None:
    """Score counts of all cells with normal shifts integrated out, by the faster method.

    ``[cell]`` `eta`, `own` and `spread` are predictors, logarithms of widths, and standard
    deviations of the shifts; `logp` ``[cell]`` and the slopes with respect to them, `slope`
    ``[3, cell]``, are written. For the rest see `polbayes.fit.density.scores.cell_logp`.
    """
    size, number, first, prepared = cuts.shape[0], 0, 0, np.nan
    _, alone, ready, nodes = workspace(gaps, np.empty(0))
    table, room = np.empty((3, _MOST_NODES)), np.empty((FIRST + 3 * size, _TOGETHER))
    times = np.empty((size + 1, _TOGETHER), dtype=np.int64)
    counts, each = np.empty((size + 1, _TOGETHER)), np.empty((EDGES + 2 * size, _TOGETHER))
    shrunk, late = np.empty(_TOGETHER), np.empty(_TOGETHER, dtype=np.bool_)
    edge = np.zeros(_EDGE_ROOM)
    most = most_answers(answers)
    while first < eta.shape[0]:
        cells = min(_TOGETHER, eta.shape[0] - first)
        if most <= _FEW:
            cells = _alike(own, spread, first)
            if first == 0 or spread[first] != spread[first - 1]:
                number = lay_nodes(spread[first], most, 1.0, table) if spread[first] > 0.0 else 0
        for c in range(cells):
            cell = first + c
            if own[cell] != prepared:
                prepare(ORDINAL, own[cell], gaps, cuts, ready)
                prepared = own[cell]
            each[ETA, c], each[SPREAD, c], each[WIDTH, c] = eta[cell], spread[cell], ready[0]
            logp[cell], late[c] = 0.0, False
            for k in range(size + 1):
                counts[k, c] = answers[cell, k]
                times[k, c] = int(counts[k, c])
                late[c] |= counts[k, c] != times[k, c]
                if k < size:
                    each[EDGES + k, c] = ready[2 * size - 1 + k]
                if 0 < k < size:
                    each[EDGES + size + k, c] = ready[2 * k]
                    logp[cell] += counts[k, c] * ready[2 * k - 1]
            if number == 0:
                late[c] |= not _lay_own(ready, cuts, answers, cell, each[:, c])
        if number > 0:
            for c in range(cells):
                shrunk[c] = math.exp(-each[ETA, c])
            edges = each[EDGES : EDGES + size, 0].copy()
            few_together(cells, shrunk, edges, times, table, number, most, room)
            farthest = FAR - spread[first] * _REACH - abs(cuts[0]) * ready[0]
            trusted = _CUT_OFF if number > _GAUSS_SIZES[-1] else np.inf
            for c in range(cells):
                near = abs(eta[first + c]) <= farthest
                late[c] |= not (near and room[ENDS, c] <= trusted * room[TOTAL, c])
        else:
            many_together(cells, each, times, room)
        for c in range(cells):
            late[c] |= not room[TOTAL, c] > _LEAST_SUM
            if late[c]:  # its counts are zero in the joint computation
                counts[:, c] = 0.0
                room[:, c] = 1.0
        slopes_together(each, gaps, cuts, counts, room, slope[:, first : first + cells], slopes)
        for c in range(cells):
            cell = first + c
            if late[c]:
                prepare(ORDINAL, own[cell], gaps, cuts, ready)
                prepared = own[cell]
                logp[cell] = _score_alone(
                    *(eta[cell], spread[cell], ready, gaps, cuts, answers, cell),
                    *(alone, nodes, edge, slope, slopes),
                )
                continue
            logp[cell] += math.log(room[TOTAL, c])
            if number == 0:
                logp[cell] += math.log(each[STEP, c]) - 0.5 * math.log(2.0 * math.pi)
                logp[cell] -= 0.5 * each[START, c] * each[START, c]
        first += cells


@_compiled
def _lay_own(
    ready: np.ndarray, cuts: np.ndarray, answers: np.ndarray, cell: int, own: np.ndarray
) -> bool:
    """Write a cell's peak and the distance of its nodes, and tell whether it needs no other way."""
    n, kinds, spread = 0.0, 0, own[SPREAD]
    for k in range(answers.shape[1]):
        n += answers[cell, k]
        kinds += answers[cell, k] > 0.0
    if spread > 0.0 and (spread <= _SHARP or kinds > 1):
        own[START], bend = likeliest_shift(own[ETA], spread, ready, cuts, answers, cell)
        own[STEP] = _step(n, kinds, spread, bend)
        reach = spread * (abs(own[START]) + _WIDEST + 2.0 * own[STEP])
        if abs(own[ETA]) + reach + abs(cuts[0]) * ready[0] < FAR:
            return True
    own[ETA], own[SPREAD], own[START], own[STEP] = 0.0, 1.0, 0.0, 1.0
    return False


@_compiled
def most_answers(answers: np.ndarray) -> float:
    """Return the largest number of answers in a cell."""
    most = 0.0
    for cell in range(answers.shape[0]):
        most = max(most, answers[cell].sum())
    return most
