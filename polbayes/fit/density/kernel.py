"""The loop over all cells: the log-likelihood and its gradient in one pass.

All effects of a model are one long vector; every term says, for each cell, which of
them enters and how. Written with PyTensor's operations this is some thirty passes over
the cells, and as many scatters back for the gradient; one loop that computes the value
and its slopes together is a single pass. Everything here is compiled by numba.

Each family's function returns the log-likelihood of a cell and writes its slopes. Whatever
depends on the family's own parameter alone is computed by `prepare`, which is called only where
that parameter differs from the cell before.

The ordinal family is cumulative logit, P(y <= k) = logistic(c_k - eta), for counts of
answers at each point. With t_k = softplus(c_k - eta) the log-probability of point k is

    log P(y = k) = (c_k - eta) - t_k - t_{k-1} + log(1 - exp(c_{k-1} - c_k)),

without the first two terms at the highest point and without the last two at the lowest,
so that one softplus per cutpoint and cell is all that has to be computed.

Where a coder read the answers and is not always right, points are latent: what was counted are
readings, and the probability of reading j at latent point k is an entry of the coder's confusion
matrix (`polbayes.fit.coder_errors.confusion`). The latent points are summed over,

    log P(reading j | some reading) = log(sum_k P(y = k) C[k, j] + o C[K, j]) - log(sum over all j),

o being the odds of an answer that has no point at all. The slopes are those of the ordinal family
for the counts that are expected at each point, given the readings.

A model's decisiveness k multiplies the whole distance to the cutpoints,
P(y <= j) = logistic(k (c_j - eta)): the predictor is multiplied with k, and so is the family's own
parameter where it is a width or a residual scale.

One effect of every cell, normal around 0, may be integrated out, so that it need not be sampled:
the likelihood of counts is then its mean over normal shifts of the predictor
(`_shifted_ordinal`). As k grows, that becomes the likelihood of a single answer, however many
there are.
"""

import math
from typing import Any

import numba
import numpy as np
from numba.core.imputils import impl_ret_borrowed
from numba.extending import intrinsic

from polbayes.fit.compilation import compiled
from polbayes.fit.families.kinds import BETA, BINOMIAL, LOGIT_NORMAL, ORDINAL, READ

# How a term enters: see `forward`.
ROLES = 8
ASKED, DISCRIMINATED, BELIEVED, LOG_DISCRIMINATION, DISCRIMINATION, OWN, DECISIVENESS, SPREAD = (
    range(ROLES)
)

# Of the answers that were read, the first columns: which confusion matrix, and the odds of an
# answer without a point.
TABLE, ODDS, READINGS = range(3)

# A probability that is less counts as this much, so that its logarithm exists.
_LEAST = 1e-290

# As far as this from 0 products of exponentials neither overflow nor vanish.
_FAR = 300.0

# Places in the array of slopes: with respect to the predictor, to the family's own parameter, to
# the spread of an effect that is integrated out, and from there on to the cutpoints at width 1, to
# their distances and to the confusion matrices.
_ETA, _OWN, _SPREAD, _CUTS = range(4)

# An integrand is cut off where it has fallen to this share of its peak, as a logarithm.
_NEGLIGIBLE = 14.0
# It has fallen by that much at this distance from the peak, because the shifts are normal.
_WIDEST = 7.0
# Nodes of the trapezoidal rule are so many widths of the narrowest part of the integrand apart: its
# error for a Gaussian of width 1 is some exp(-2 (pi / step)^2) of the integral, 1e-6 here.
_STEP, _PEAK_STEP = 1.2, 1.0
# Where cells have few answers and shifts are moderate, the nodes are the same for all cells, so
# that a processor can take several at once: so far from 0, this many at most, and up to this number
# of answers.
_REACH, _MOST_NODES, _FEW = 5.2, 65, 8.0
# Of the likelihood of a few answers each with a moderate spread the rules of Gauss and Hermite need
# fewer nodes, with an error below 4e-6: number of nodes, and up to which spread. The numbers are
# what a processor can take at once, or multiples of it.
_MOST_FOR_GAUSS, _GAUSS = 4.0, ((4, 0.12), (8, 0.5), (12, 0.8))
_GAUSS_SIZES = np.array([size for size, _ in _GAUSS])
_GAUSS_SPREADS = np.array([spread for _, spread in _GAUSS])
_GAUSS_RULES = np.zeros((len(_GAUSS), 2, _GAUSS[-1][0]))
for _at, (_size, _) in enumerate(_GAUSS):
    _GAUSS_RULES[_at, :, :_size] = np.polynomial.hermite_e.hermegauss(_size)
_GAUSS_RULES[:, 1] /= _GAUSS_RULES[:, 1].sum(axis=1, keepdims=True)
# A likelihood that is less, or whose nodes at the ends have more than this share of it, is computed
# anew from its own peak.
_LEAST_SUM, _CUT_OFF = 1e-200, 1e-5
# Shifts wider than this are looked at where the likelihood of answers that agree changes alone: so
# far beyond and within the edges of its interval, in such steps.
_SHARP, _BEYOND, _EDGE_STEP = 10.0, 17.0, 0.85
# Shifts that are further than this many standard deviations from 0, and spreads beyond that, do not
# occur but in a sampler's first steps.
_NOWHERE, _ENORMOUS = 1e6, 1e6
# The edge of a single logistic function counts as a Gaussian with this curvature, that of several
# answers as a sharper one.
_EDGE, _EDGES = 1.0, 2.0


@compiled
def digamma(x: float) -> float:
    """Return the derivative of log-gamma for positive x: recurrence, then asymptotic series.

    Abramowitz & Stegun (1964), 6.3.5 and 6.3.18.
    """
    value = 0.0
    while x < 10.0:
        value -= 1.0 / x
        x += 1.0
    y = 1.0 / (x * x)
    series = y * (1 / 12 - y * (1 / 120 - y * (1 / 252 - y * (1 / 240 - y / 132))))
    return value + math.log(x) - 0.5 / x - series


@compiled
def prepare(kind: int, own: float, gaps: np.ndarray, cuts: np.ndarray, ready: np.ndarray) -> None:
    """Write into `ready` what the cells with one value of the family's own parameter share."""
    ready[0] = math.exp(own)
    if kind in (ORDINAL, READ):
        for gap in range(gaps.shape[0]):
            missing = -math.expm1(-gaps[gap] * ready[0])
            ready[1 + 2 * gap] = math.log(missing)
            ready[2 + 2 * gap] = (1.0 - missing) / missing
        for k in range(cuts.shape[0]):
            ready[1 + 2 * gaps.shape[0] + k] = math.exp(cuts[k] * ready[0])
    elif kind == LOGIT_NORMAL:
        ready[1] = -own - 0.5 * math.log(2.0 * math.pi)
    elif kind == BETA:
        ready[1] = math.lgamma(ready[0])
        ready[2] = digamma(ready[0])


@compiled
def _ordinal(
    eta: float,
    ready: np.ndarray,
    gaps: np.ndarray,
    cuts: np.ndarray,
    answers: np.ndarray,
    cell: int,
    slopes: np.ndarray,
) -> float:
    """Score counts at ordered points, with cutpoints `cuts` times the width."""
    width, edges = ready[0], 1 + 2 * gaps.shape[0]
    total, d_width = 0.0, 0.0
    shrunk = math.exp(-eta)
    for k in range(cuts.shape[0]):
        below = answers[cell, k]
        both = below + answers[cell, k + 1]
        if both == 0.0:  # no answer is next to this cutpoint
            continue
        x = cuts[k] * width - eta
        if abs(x) < _FAR and abs(eta) < _FAR:
            odds = 1.0 + shrunk * ready[edges + k]  # 1 + exp(x), with one exponential a cell
            total += below * x - both * math.log(odds)
            d_x = below - both * (1.0 - 1.0 / odds)
        else:
            small = math.exp(-abs(x))
            total += below * x - both * (max(x, 0.0) + math.log1p(small))
            d_x = below - both * (1.0 if x > 0.0 else small) / (1.0 + small)
        slopes[_ETA] -= d_x
        slopes[_CUTS + k] += d_x * width
        d_width += d_x * cuts[k]
        if k > 0 and below > 0.0:
            total += below * ready[2 * k - 1]
            d_distance = below * ready[2 * k]
            slopes[_CUTS + cuts.shape[0] + k - 1] += d_distance * width
            d_width += d_distance * gaps[k - 1]
    slopes[_OWN] = d_width * width
    return total


@compiled
def _read(
    eta: float,
    ready: np.ndarray,
    gaps: np.ndarray,
    cuts: np.ndarray,
    confusion: np.ndarray,
    answers: np.ndarray,
    cell: int,
    slopes: np.ndarray,
) -> float:
    """Score counts of readings, with the ordered points that are read summed over."""
    width, points, readings = ready[0], cuts.shape[0] + 1, answers.shape[1] - READINGS
    p = ready[3 + 3 * gaps.shape[0] :]  # of each point, and then what is expected there
    above = 0.0
    for k in range(cuts.shape[0]):
        x = cuts[k] * width - eta
        small = math.exp(-abs(x))
        softplus = max(x, 0.0) + math.log1p(small)
        p[k] = math.exp(x - softplus - above + (ready[2 * k - 1] if k > 0 else 0.0))
        above = softplus
    p[points - 1] = math.exp(-above)
    first = int(answers[cell, TABLE]) * (points + 1) * readings
    odds, expected = answers[cell, ODDS], p[points:]
    expected[:] = 0.0
    total, whole, n = 0.0, 0.0, 0.0
    at = slopes[_CUTS + cuts.shape[0] + gaps.shape[0] :]
    for j in range(readings):
        likely = 0.0
        for k in range(points):
            likely += p[k] * confusion[first + k * readings + j]
        likely += odds * confusion[first + points * readings + j]
        whole += likely
        count = answers[cell, READINGS + j]
        if count > 0.0:
            likely = max(likely, _LEAST)
            n += count
            total += count * math.log(likely)
            for k in range(points):
                place = first + k * readings + j
                expected[k] += count * confusion[place] / likely
                at[place] += count * p[k] / likely
            at[first + points * readings + j] += count * odds / likely
    whole = max(whole, _LEAST)
    total -= n * math.log(whole)
    for k in range(points):
        for j in range(readings):
            place = first + k * readings + j
            expected[k] -= n * confusion[place] / whole
            at[place] -= n * p[k] / whole
        expected[k] *= p[k]
    for j in range(readings):
        at[first + points * readings + j] -= n * odds / whole
    d_width = 0.0
    for k in range(cuts.shape[0]):
        x = cuts[k] * width - eta
        small = math.exp(-abs(x))
        share = (1.0 if x > 0.0 else small) / (1.0 + small)
        d_x = expected[k] - (expected[k] + expected[k + 1]) * share
        slopes[_ETA] -= d_x
        slopes[_CUTS + k] += d_x * width
        d_width += d_x * cuts[k]
        if k > 0:
            d_distance = expected[k] * ready[2 * k]
            slopes[_CUTS + cuts.shape[0] + k - 1] += d_distance * width
            d_width += d_distance * gaps[k - 1]
    slopes[_OWN] = d_width * width
    return total


@compiled
def _logit_normal(
    eta: float, ready: np.ndarray, answers: np.ndarray, cell: int, slopes: np.ndarray
) -> float:
    """Return the log-density of logit(y) under a normal distribution; 0 where there is no y."""
    if math.isnan(answers[cell, 0]):
        return 0.0
    z = (answers[cell, 0] - answers[cell, 1] - eta) / ready[0]
    slopes[_ETA] = z / ready[0]
    slopes[_OWN] = z * z - 1.0
    return ready[1] - 0.5 * z * z


@compiled
def _beta(
    eta: float, ready: np.ndarray, answers: np.ndarray, cell: int, slopes: np.ndarray
) -> float:
    """Return the log-density of a beta distribution with mean logistic(eta); 0 without a number."""
    if math.isnan(answers[cell, 0]):
        return 0.0
    phi = ready[0]
    # Each share is computed by itself: 1 - mean would be 0 where the mean is nearly 1.
    mean, rest = 1.0 / (1.0 + math.exp(-eta)), 1.0 / (1.0 + math.exp(eta))
    # A sampler's first steps may go where a share is 0 to the last digit.
    a, b = max(phi * mean, 1e-300), max(phi * rest, 1e-300)
    log_y, log_rest = answers[cell, 0], answers[cell, 1]
    d_a, d_b = log_y - digamma(a) + ready[2], log_rest - digamma(b) + ready[2]
    slopes[_ETA] = d_a * a * rest - d_b * b * mean
    slopes[_OWN] = d_a * a + d_b * b
    density = (a - 1.0) * log_y + (b - 1.0) * log_rest
    return density + ready[1] - math.lgamma(a) - math.lgamma(b)


@compiled
def _binomial(eta: float, answers: np.ndarray, cell: int, slopes: np.ndarray) -> float:
    """Score counts of failures and successes with probability logistic(eta)."""
    small = math.exp(-abs(eta))
    asked = answers[cell, 0] + answers[cell, 1]
    slopes[_ETA] = answers[cell, 1] - asked * (1.0 if eta > 0.0 else small) / (1.0 + small)
    return answers[cell, 1] * eta - asked * (max(eta, 0.0) + math.log1p(small))


@intrinsic
def _called(
    context: Any, address: Any, eta: Any, own: Any, log_y: Any, log_rest: Any, slopes: Any
) -> Any:
    """Call the function of another package's family (`polbayes.fit.families.base.scored`)."""
    real = numba.types.float64
    signature = real(numba.types.int64, real, real, real, real, slopes)

    def call(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        from llvmlite import ir

        number, pointer = ir.DoubleType(), ir.DoubleType().as_pointer()
        types = (*[number] * 4, pointer)
        function = builder.inttoptr(args[0], ir.FunctionType(number, types).as_pointer())
        array = context.make_array(signature.args[-1])(context, builder, args[-1])
        return builder.call(function, [*args[1:-1], array.data])

    return signature, call


@compiled
def cell_logp(
    kind: int,
    eta: float,
    ready: np.ndarray,
    gaps: np.ndarray,
    cuts: np.ndarray,
    confusion: np.ndarray,
    answers: np.ndarray,
    cell: int,
    slopes: np.ndarray,
) -> float:
    """Return the log-likelihood of one cell, without the multinomial coefficient."""
    slopes[_ETA] = 0.0
    slopes[_OWN] = 0.0
    slopes[_SPREAD] = 0.0
    if kind == ORDINAL:
        return _ordinal(eta, ready, gaps, cuts, answers, cell, slopes)
    if kind == LOGIT_NORMAL:
        return _logit_normal(eta, ready, answers, cell, slopes)
    if kind == BETA:
        return _beta(eta, ready, answers, cell, slopes)
    if kind == READ:
        return _read(eta, ready, gaps, cuts, confusion, answers, cell, slopes)
    if kind == BINOMIAL:
        return _binomial(eta, answers, cell, slopes)
    if math.isnan(answers[cell, 0]):
        return 0.0
    return _called(kind, eta, ready[0], answers[cell, 0], answers[cell, 1], slopes)


@compiled
def _bend(
    eta: float, ready: np.ndarray, cuts: np.ndarray, answers: np.ndarray, cell: int
) -> tuple[float, float]:
    """Return the slope of the ordinal log-likelihood by the predictor, and minus its bend."""
    slope, bend = 0.0, 0.0
    for k in range(cuts.shape[0]):
        below = answers[cell, k]
        both = below + answers[cell, k + 1]
        if both > 0.0:
            x = cuts[k] * ready[0] - eta
            small = math.exp(-abs(x))
            share = (1.0 if x > 0.0 else small) / (1.0 + small)
            slope += both * share - below
            bend += both * share * (1.0 - share)
    return slope, bend


@compiled
def likeliest_shift(
    eta: float,
    spread: float,
    ready: np.ndarray,
    cuts: np.ndarray,
    answers: np.ndarray,
    cell: int,
) -> tuple[float, float]:
    """Return roughly where the integrand over shifts is largest, and how it bends there.

    Newton's method on a concave function, kept between bounds; what is found is a place to begin.
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
        if abs(step) * math.sqrt(width) < 0.1:
            break
        z += step
        if not low < z < high:
            z = 0.5 * (low + high)
    return z, bend


@compiled
def _apart(n: float, width: float, cuts: np.ndarray, answers: np.ndarray, cell: int) -> bool:
    """Tell whether the edges of a point's interval are far enough apart to be looked at alone."""
    for k in range(1, cuts.shape[0]):
        if answers[cell, k] > 0.0:
            return (cuts[k] - cuts[k - 1]) * width > 2.0 * (_BEYOND + math.log(n))
    return True


@compiled
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
    nodes: np.ndarray,
) -> float:
    """Score answers that are all the same, where shifts are wide, at the edges of their interval.

    The likelihood L of the shifted predictor u is 0 or 1 but for two edges. With
    z = (u - eta) / spread, integrating by parts,

        E L = integral of Phi(-z) dL(u), or of -Phi(z) dL(u),

    whose integrand is not 0 at the edges alone: the cost does not depend on the spread. All slopes
    are integrals over the edges, too.
    """
    width, size, point = ready[0], cuts.shape[0], 0
    while answers[cell, point] == 0.0:
        point += 1
    low, high = point - 1, point  # the cutpoints of the interval
    bottom = cuts[low] * width if low >= 0 else -np.inf
    top = cuts[high] * width if high < size else np.inf
    number = int((2.0 * _BEYOND + math.log(n)) / _EDGE_STEP) + 1
    # With a point at an end, the form is that without a boundary term; else that of small numbers.
    upper = high == size or (low >= 0 and bottom + top > 2.0 * eta)
    log_missing = ready[2 * low + 1] if low >= 0 and high < size else 0.0
    total, tilted, of_low, of_high = 0.0, 0.0, 0.0, 0.0
    for j in range(2 * number):
        beyond = (j % number) * _EDGE_STEP - _BEYOND  # of an edge, and then into the interval
        if (low if j < number else size - 1 - high) < 0:
            continue
        u = bottom + beyond if j < number else top - beyond
        d_low, d_high, log_p = 0.0, 0.0, log_missing
        if low >= 0:
            x = -beyond if j < number else bottom - u
            small = math.exp(-abs(x))
            log_p -= max(x, 0.0) + math.log1p(small)
            d_low = -(1.0 if x > 0.0 else small) / (1.0 + small)
        if high < size:
            x = top - u if j < number else beyond
            small = math.exp(-abs(x))
            log_p -= max(-x, 0.0) + math.log1p(small)
            d_high = (small if x > 0.0 else 1.0) / (1.0 + small)
        like = n * math.exp(n * log_p)
        z = (u - eta) / spread
        phi = math.exp(-0.5 * z * z)
        tail = 0.5 * math.erfc((z if upper else -z) * math.sqrt(0.5))
        slope = -like * (d_low + d_high)
        total += slope * (tail if upper else -tail)
        of_low += like * d_low * phi
        of_high += like * d_high * phi
        tilted += slope * phi * z
    if not total > _LEAST_SUM:  # so far out that the peak will do
        slopes[_ETA] = slopes[_OWN] = slopes[_SPREAD] = 0.0
        start, _ = likeliest_shift(eta, spread, ready, cuts, answers, cell)
        logp = cell_logp(
            ORDINAL, eta + spread * start, ready, gaps, cuts, slopes, answers, cell, slopes
        )
        slopes[_SPREAD] = slopes[_ETA] * start
        return logp - 0.5 * start * start
    scale = 1.0 / (math.sqrt(2.0 * math.pi) * spread * total)
    d_width = 0.0
    slopes[_ETA] = -(of_low + of_high) * scale
    slopes[_SPREAD] = tilted * scale
    if low >= 0:
        slopes[_CUTS + low] += of_low * scale * width
        d_width += of_low * scale * cuts[low]
    if high < size:
        slopes[_CUTS + high] += of_high * scale * width
        d_width += of_high * scale * cuts[high]
    if low >= 0 and high < size:
        d_distance = n * ready[2 * low + 2]
        slopes[_CUTS + size + low] += d_distance * width
        d_width += d_distance * gaps[low]
    slopes[_OWN] = d_width * width
    return math.log(total * _EDGE_STEP)


@compiled
def _shifted_ordinal(
    eta: float,
    spread: float,
    ready: np.ndarray,
    gaps: np.ndarray,
    cuts: np.ndarray,
    answers: np.ndarray,
    cell: int,
    slopes: np.ndarray,
    nodes: np.ndarray,
) -> float:
    """Score counts at ordered points, with a normal shift of the predictor integrated out.

    log E p(counts | eta + spread z), z standard normal, by the trapezoidal rule from the peak
    outwards. The integrand is log-concave, so that it only falls from there.

    Parameters
    ----------
    nodes
        ``[3 + 2 cuts]`` or more: room for sums over the nodes.
    """
    width, size = ready[0], cuts.shape[0]
    n, kinds, fixed = 0.0, 0, 0.0
    for k in range(size + 1):
        n += answers[cell, k]
        kinds += answers[cell, k] > 0.0
        if 0 < k < size:
            fixed += answers[cell, k] * ready[2 * k - 1]
    slopes[_ETA] = slopes[_OWN] = slopes[_SPREAD] = 0.0
    if n == 0.0:
        return 0.0
    start, bend = likeliest_shift(eta, spread, ready, cuts, answers, cell)
    if spread > _SHARP and kinds == 1 and _apart(n, width, cuts, answers, cell):
        return _unanimous(eta, spread, n, ready, gaps, cuts, answers, cell, slopes, nodes)
    if not (abs(start) < _NOWHERE and spread < _ENORMOUS):
        # The peak stands for the integral: a sampler's first steps may go anywhere.
        logp = cell_logp(
            ORDINAL, eta + spread * start, ready, gaps, cuts, slopes, answers, cell, slopes
        )
        slopes[_SPREAD] = slopes[_ETA] * start
        return logp - 0.5 * start * start
    edge = _EDGE if n == 1.0 else _EDGES
    step = _STEP if kinds == 1 else _PEAK_STEP
    step /= math.sqrt(1.0 + spread * spread * max(bend, edge))
    nodes[:] = 0.0
    whole, peak = 0.0, 0.0
    for side in (-1.0, 1.0):
        at = 0.0 if side < 0.0 else 1.0
        while True:
            z = start + side * at * step
            shifted, value, slope = eta + spread * z, -0.5 * z * z, 0.0
            for k in range(size):
                below = answers[cell, k]
                both = below + answers[cell, k + 1]
                if both > 0.0:
                    x = cuts[k] * width - shifted
                    small = math.exp(-abs(x))
                    value += below * x - both * (max(x, 0.0) + math.log1p(small))
                    d_x = below - both * (1.0 if x > 0.0 else small) / (1.0 + small)
                    nodes[3 + k] = d_x
                    slope -= d_x
            if at == 0.0:
                peak = value
            if at * step > _WIDEST or not value >= peak - _NEGLIGIBLE:  # or is no number
                break
            weight = math.exp(value - peak)
            whole += weight
            nodes[0] += weight * slope
            nodes[1] += weight * slope * z
            for k in range(size):
                nodes[3 + size + k] += weight * nodes[3 + k]
            at += 1.0
    slopes[_ETA] = nodes[0] / whole
    slopes[_SPREAD] = nodes[1] / whole
    d_width = 0.0
    for k in range(size):
        d_x = nodes[3 + size + k] / whole
        slopes[_CUTS + k] += d_x * width
        d_width += d_x * cuts[k]
        if k > 0 and answers[cell, k] > 0.0:
            d_distance = answers[cell, k] * ready[2 * k]
            slopes[_CUTS + size + k - 1] += d_distance * width
            d_width += d_distance * gaps[k - 1]
    slopes[_OWN] = d_width * width
    return fixed + peak + math.log(whole * step) - 0.5 * math.log(2.0 * math.pi)


@compiled
def lay_nodes(spread: float, most: float, finer: float, table: np.ndarray) -> int:
    """Write nodes, their weights and exp(-spread * node) into a table, and return their number.

    For the likelihood of at most so many answers, whose logarithm bends by a half each at most; so
    many times finer than a sum needs, if that is more than once, and then at equal distances. No
    nodes where they would be too many.
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


@numba.njit(inline="always")
def few_answers(
    eta: float,
    ready: np.ndarray,
    cuts: np.ndarray,
    answers: np.ndarray,
    cell: int,
    table: np.ndarray,
    number: int,
    sums: np.ndarray,
) -> float:
    """Add up the likelihood of few answers over the nodes of a table.

    P(y <= k) at a node is v_k = x / (1 + x) with x = exp(cut_k - eta - spread z). Without the
    factors that no node changes, the likelihood is the product of v_k^n_k (1 - v_k)^n_{k+1}.

    Parameters
    ----------
    sums
        ``[cut]`` of likelihood times v_k, then likelihood times v_k times node, then at the end
        likelihood times node; written to.
    """
    size = cuts.shape[0]
    edges = 1 + 2 * (size - 1)
    shrunk = math.exp(-eta)
    for j in range(number):
        table[3, j] = table[1, j]
    for k in range(size):
        below, above = int(answers[cell, k]), int(answers[cell, k + 1])
        if below + above == 0:
            continue
        factor = shrunk * ready[edges + k]
        for j in range(number):
            x = factor * table[2, j]
            table[4 + size + k, j] = 1.0 / (1.0 + x)
            table[4 + k, j] = x * table[4 + size + k, j]
        for _ in range(below):
            for j in range(number):
                table[3, j] *= table[4 + k, j]
        for _ in range(above):
            for j in range(number):
                table[3, j] *= table[4 + size + k, j]
    total, tilted = 0.0, 0.0
    for j in range(number):
        total += table[3, j]
        tilted += table[3, j] * table[0, j]
    sums[2 * size] = tilted
    for k in range(size):
        if answers[cell, k] + answers[cell, k + 1] > 0.0:
            plain, moved = 0.0, 0.0
            for j in range(number):
                product = table[3, j] * table[4 + k, j]
                plain += product
                moved += product * table[0, j]
            sums[k], sums[size + k] = plain, moved
    return total


@numba.njit(cache=True, error_model="numpy", fastmath={"reassoc", "contract", "arcp", "nsz"})
def _score_shifted(
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
    """Score counts of all cells with normal shifts integrated out, by whichever way is the quicker.

    Parameters
    ----------
    eta, own, spread
        ``[cell]`` predictors, logarithms of widths, and standard deviations of the shifts.
    gaps, cuts, answers, slopes
        See `cell_logp`.
    logp
        ``[cell]``, written to.
    slope
        ``[3, cell]`` slopes with respect to `eta`, `own` and `spread`, written to.
    """
    size, none = cuts.shape[0], np.empty(0)
    _, alone, ready, nodes = workspace(gaps, none)
    table, most = np.empty((4 + 2 * size, _MOST_NODES)), 0.0
    for cell in range(answers.shape[0]):
        here = 0.0
        for k in range(size + 1):
            here += answers[cell, k]
        most = max(most, here)
    number, gauss = 0, _GAUSS_SIZES[-1]
    for cell in range(eta.shape[0]):
        if cell == 0 or own[cell] != own[cell - 1]:
            prepare(ORDINAL, own[cell], gaps, cuts, ready)
        if cell == 0 or spread[cell] != spread[cell - 1]:
            number = lay_nodes(spread[cell], most, 1.0, table) if spread[cell] > 0.0 else 0
        n = 0.0
        for k in range(size + 1):
            n += answers[cell, k]
        far = abs(eta[cell]) + spread[cell] * _REACH + abs(cuts[0]) * ready[0]
        total = 0.0
        if number > 0 and n > 0.0 and n == math.floor(n) and far <= _FAR:
            total = few_answers(eta[cell], ready, cuts, answers, cell, table, number, nodes)
            if number > gauss and table[3, 0] + table[3, number - 1] > _CUT_OFF * total:
                total = 0.0
        if not total > _LEAST_SUM:
            for k in range(alone.shape[0]):
                alone[k] = 0.0
            if spread[cell] > 0.0:
                logp[cell] = _shifted_ordinal(
                    eta[cell], spread[cell], ready, gaps, cuts, answers, cell, alone, nodes
                )
            else:
                logp[cell] = cell_logp(
                    ORDINAL, eta[cell], ready, gaps, cuts, none, answers, cell, alone
                )
                alone[_SPREAD] = 0.0
            for k in range(3):
                slope[k, cell] = alone[k]
            for k in range(_CUTS, alone.shape[0]):
                slopes[k] += alone[k]
            continue
        width, value, d_width, d_eta, d_spread = ready[0], math.log(total), 0.0, 0.0, 0.0
        for k in range(size):
            below = answers[cell, k]
            both = below + answers[cell, k + 1]
            if both == 0.0:
                continue
            d_x = below - both * nodes[k] / total
            d_eta -= d_x
            d_spread -= (below * nodes[2 * size] - both * nodes[size + k]) / total
            slopes[_CUTS + k] += d_x * width
            d_width += d_x * cuts[k]
            if k > 0 and below > 0.0:
                value += below * ready[2 * k - 1]
                d_distance = below * ready[2 * k]
                slopes[_CUTS + size + k - 1] += d_distance * width
                d_width += d_distance * gaps[k - 1]
        logp[cell] = value
        slope[_ETA, cell], slope[_OWN, cell], slope[_SPREAD, cell] = (
            d_eta,
            d_width * width,
            d_spread,
        )


@numba.njit(inline="always")
def _sum(
    effects: np.ndarray,
    index: np.ndarray,
    weight: np.ndarray,
    cell: int,
    first: int,
    stop: int,
) -> float:
    """Add up the effects of some terms that enter one cell."""
    row = cell if weight.shape[0] > 1 else 0
    total = 0.0
    for term in range(first, stop):
        total += weight[row, term] * effects[index[cell, term]]
    return total


@numba.njit(inline="always")
def _scatter(
    gradient: np.ndarray,
    slope: float,
    index: np.ndarray,
    weight: np.ndarray,
    cell: int,
    first: int,
    stop: int,
) -> None:
    """Add the slope of a sum (`_sum`) to those of the effects in it."""
    row = cell if weight.shape[0] > 1 else 0
    for term in range(first, stop):
        gradient[index[cell, term]] += weight[row, term] * slope


@compiled
def forward(
    effects: np.ndarray,
    index: np.ndarray,
    weight: np.ndarray,
    roles: np.ndarray,
    keying: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Compute ``eta`` and ``own``, both ``[cell]``, from the effects.

    With A, D, B, L, S, O and K the weighted sums of the effects whose terms have the roles
    `ASKED`, `DISCRIMINATED`, `BELIEVED`, `LOG_DISCRIMINATION`, `DISCRIMINATION`, `OWN` and
    `DECISIVENESS`, ``eta = exp(K) * (A + keying * (exp(L) * S * D + B))`` and ``own = O``, S being
    1 without such terms.

    Parameters
    ----------
    effects
        All effects of the model.
    index, weight, roles, keying
        See `polbayes.fit.density.layout.Gathering`.
    """
    cells = index.shape[0]
    eta = np.empty(cells)
    own = np.empty(cells)
    sums = np.empty(ROLES)
    signed = roles[DISCRIMINATION + 1] > roles[DISCRIMINATION]
    for cell in range(cells):
        for role in range(ROLES):
            sums[role] = _sum(effects, index, weight, cell, roles[role], roles[role + 1])
        scale = math.exp(sums[LOG_DISCRIMINATION]) * (sums[DISCRIMINATION] if signed else 1.0)
        belief = scale * sums[DISCRIMINATED] + sums[BELIEVED]
        eta[cell] = math.exp(sums[DECISIVENESS]) * (sums[ASKED] + keying[cell] * belief)
        own[cell] = sums[OWN]
    return eta, own


@compiled
def sharpness(
    effects: np.ndarray,
    index: np.ndarray,
    weight: np.ndarray,
    roles: np.ndarray,
    keying: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Compute the decisiveness, and the spread of what is integrated out times that, ``[cell]``.

    Parameters
    ----------
    effects, index, weight, roles, keying
        See `forward`.
    """
    cells = index.shape[0]
    decisiveness, spread = np.empty(cells), np.empty(cells)
    for cell in range(cells):
        k = _sum(effects, index, weight, cell, roles[DECISIVENESS], roles[DECISIVENESS + 1])
        s = _sum(effects, index, weight, cell, roles[SPREAD], roles[SPREAD + 1])
        decisiveness[cell] = math.exp(k)
        spread[cell] = decisiveness[cell] * s
    return decisiveness, spread


@compiled
def _unit_cuts(gaps: np.ndarray) -> np.ndarray:
    """Return the cutpoints at width 1 (`polbayes.fit.families.ordinal.cutpoints`)."""
    cuts = np.zeros(gaps.shape[0] + 1)
    cuts[1:] = np.cumsum(gaps)
    return cuts - (cuts[gaps.shape[0] // 2] + cuts[cuts.shape[0] // 2]) / 2.0


@compiled
def workspace(
    gaps: np.ndarray, confusion: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the cutpoints at width 1, and the arrays that functions of cells write to.

    These are, in order, those of `cell_logp`, `prepare` and `_shifted_ordinal`.
    """
    cuts = _unit_cuts(gaps)
    slopes = np.zeros(_CUTS + cuts.shape[0] + gaps.shape[0] + confusion.shape[0])
    ready = np.empty(3 + 3 * gaps.shape[0] + 2 * (cuts.shape[0] + 1))
    return cuts, slopes, ready, np.zeros(4 + 2 * cuts.shape[0])


@compiled
def _slopes_of_gaps(slopes: np.ndarray, size: int) -> np.ndarray:
    """Turn slopes with respect to unit cutpoints into slopes with respect to their distances."""
    of_cuts = slopes[_CUTS : _CUTS + size + 1]
    gradient = slopes[_CUTS + size + 1 : _CUTS + 2 * size + 1].copy()
    for gap in range(size):
        # A wider gap moves every cutpoint above it up, and all of them back as far as the middle.
        middle = ((size // 2 > gap) + ((size + 1) // 2 > gap)) / 2.0
        gradient[gap] += of_cuts[gap + 1 :].sum() - of_cuts.sum() * middle
    return gradient


@compiled
def evaluate(
    effects: np.ndarray,
    gaps: np.ndarray,
    confusion: np.ndarray,
    kind: int,
    answers: np.ndarray,
    index: np.ndarray,
    weight: np.ndarray,
    roles: np.ndarray,
    keying: np.ndarray,
    steady: np.ndarray,
    fresh: np.ndarray,
) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
    """Compute the log-likelihood and its gradients with respect to effects, gaps and confusion.

    Cells are in an order in which most terms are the same in one cell after the other. The sums
    of these steady terms are kept until one of them changes, and so are their slopes.

    Parameters
    ----------
    effects, gaps
        All effects of the model, and the distances of the cutpoints (may be empty).
    confusion
        Confusion matrices of answers that were read, ``[table, point, reading]`` as one vector, the
        last of the points being none; empty for other answers.
    kind, answers
        Observation model and ``[cell, column]`` answers
        (`polbayes.fit.families.base.Family.answers`).
    index, weight, roles, keying, steady, fresh
        See `polbayes.fit.density.layout.Gathering`.
    """
    r, cells = roles, index.shape[0]
    signed = r[DISCRIMINATION + 1] > r[DISCRIMINATION]
    decided, shifted = r[DECISIVENESS + 1] > r[DECISIVENESS], r[SPREAD + 1] > r[SPREAD]
    eta, own, spread = np.empty(cells), np.empty(cells), np.empty(cells if shifted else 0)
    sharp, growth, sign = 1.0, 1.0, 1.0
    sharps, growths, discriminated = np.empty(cells), np.empty(cells), np.empty(cells)
    signs = np.empty(cells if signed else 0)
    base, log_scale, log_sharp = np.zeros(ROLES), 0.0, 0.0
    for cell in range(cells):
        if fresh[cell]:
            for role in range(ROLES):
                base[role] = _sum(effects, index, weight, cell, r[role], steady[role])
        asked = base[0] + _sum(effects, index, weight, cell, steady[0], r[1])
        discriminated[cell] = base[1] + _sum(effects, index, weight, cell, steady[1], r[2])
        believed = base[2] + _sum(effects, index, weight, cell, steady[2], r[3])
        last = log_scale
        log_scale = base[3] + _sum(effects, index, weight, cell, steady[3], r[4])
        if log_scale != last:
            growth = math.exp(log_scale)
        if signed:
            sign = signs[cell] = base[4] + _sum(effects, index, weight, cell, steady[4], r[5])
        own[cell] = base[5] + _sum(effects, index, weight, cell, steady[5], r[6])
        if decided:
            last = log_sharp
            log_sharp = base[6] + _sum(effects, index, weight, cell, steady[6], r[7])
            if log_sharp != last:
                sharp = math.exp(log_sharp)
        if shifted:
            spread[cell] = sharp * (base[7] + _sum(effects, index, weight, cell, steady[7], r[8]))
        sharps[cell], growths[cell] = sharp, growth
        belief = growth * sign * discriminated[cell] + believed
        eta[cell] = sharp * (asked + keying[cell] * belief)
    cuts, slopes, ready, _ = workspace(gaps, confusion)
    logp, slope_of = np.empty(cells), np.empty((3 if shifted else 2, cells))
    if shifted:
        _score_shifted(eta, own, spread, gaps, cuts, answers, logp, slope_of, slopes)
    else:
        for cell in range(cells):
            if cell == 0 or own[cell] != own[cell - 1]:
                prepare(kind, own[cell], gaps, cuts, ready)
            logp[cell] = cell_logp(
                kind, eta[cell], ready, gaps, cuts, confusion, answers, cell, slopes
            )
            slope_of[_ETA, cell], slope_of[_OWN, cell] = slopes[_ETA], slopes[_OWN]
    gradient, due, since = np.zeros(effects.shape[0]), np.zeros(ROLES), 0
    for cell in range(cells):
        if fresh[cell]:
            for role in range(ROLES):
                _scatter(gradient, due[role], index, weight, since, r[role], steady[role])
                due[role] = 0.0
            since = cell
        slope = slope_of[_ETA, cell] * sharps[cell]
        due[0] += slope
        _scatter(gradient, slope, index, weight, cell, steady[0], r[1])
        slope *= keying[cell]
        due[2] += slope
        _scatter(gradient, slope, index, weight, cell, steady[2], r[3])
        slope *= growths[cell]
        if signed:
            of_sign = slope * discriminated[cell]
            due[4] += of_sign
            _scatter(gradient, of_sign, index, weight, cell, steady[4], r[5])
            slope *= signs[cell]
        due[1] += slope
        _scatter(gradient, slope, index, weight, cell, steady[1], r[2])
        slope *= discriminated[cell]
        due[3] += slope
        _scatter(gradient, slope, index, weight, cell, steady[3], r[4])
        due[5] += slope_of[_OWN, cell]
        _scatter(gradient, slope_of[_OWN, cell], index, weight, cell, steady[5], r[6])
        if decided:
            slope = slope_of[_ETA, cell] * eta[cell]
            if shifted:
                slope += slope_of[_SPREAD, cell] * spread[cell]
            due[6] += slope
            _scatter(gradient, slope, index, weight, cell, steady[6], r[7])
        if shifted:
            slope = slope_of[_SPREAD, cell] * sharps[cell]
            due[7] += slope
            _scatter(gradient, slope, index, weight, cell, steady[7], r[8])
    for role in range(ROLES):
        _scatter(gradient, due[role], index, weight, since, r[role], steady[role])
    of_confusion = slopes[slopes.shape[0] - confusion.shape[0] :].copy()
    return logp.sum(), gradient, _slopes_of_gaps(slopes, gaps.shape[0]), of_confusion


@compiled
def pointwise(
    eta: np.ndarray,
    own: np.ndarray,
    gaps: np.ndarray,
    confusion: np.ndarray,
    kind: int,
    answers: np.ndarray,
) -> np.ndarray:
    """Return ``[cell]`` the log-likelihood of every cell.

    Parameters
    ----------
    eta, own
        See `forward`.
    gaps, confusion, kind, answers
        See `evaluate`.
    """
    cuts, slopes, ready, _ = workspace(gaps, confusion)
    logp = np.empty(eta.shape[0])
    for cell in range(eta.shape[0]):
        if cell == 0 or own[cell] != own[cell - 1]:
            prepare(kind, own[cell], gaps, cuts, ready)
        logp[cell] = cell_logp(kind, eta[cell], ready, gaps, cuts, confusion, answers, cell, slopes)
    return logp


@compiled
def shifted(
    eta: np.ndarray,
    own: np.ndarray,
    spread: np.ndarray,
    gaps: np.ndarray,
    answers: np.ndarray,
) -> np.ndarray:
    """Return ``[cell]`` log of the mean likelihood of counts over normal shifts of the predictor.

    Parameters
    ----------
    eta, own
        See `forward`.
    spread
        ``[cell]`` standard deviation of the shifts; 0 for none.
    gaps, answers
        See `evaluate`; counts at ordered points.
    """
    none = np.empty(0)
    cuts, slopes, _, _ = workspace(gaps, none)
    logp, slope = np.empty(eta.shape[0]), np.empty((3, eta.shape[0]))
    _score_shifted(eta, own, spread, gaps, cuts, answers, logp, slope, slopes)
    return logp


@intrinsic
def _contiguous(context: Any, array: Any) -> Any:
    """Take an array for what it is: in C order, which its type does not say."""
    signature = array.copy(layout="C")(array)

    def unchanged(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return impl_ret_borrowed(context, builder, signature.return_type, args[0])

    return signature, unchanged


@compiled
def evaluate_arrays(
    effects: np.ndarray,
    gaps: np.ndarray,
    confusion: np.ndarray,
    kind: np.ndarray,
    answers: np.ndarray,
    index: np.ndarray,
    weight: np.ndarray,
    roles: np.ndarray,
    keying: np.ndarray,
    steady: np.ndarray,
    fresh: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Call `evaluate` as PyTensor does.

    Scalars are arrays without dimensions, and no type says that an array is contiguous, without
    which the loop takes a third longer. All but the first three arrays must be.
    """
    total, gradient, of_gaps, of_confusion = evaluate(
        effects.copy(),
        gaps.copy(),
        confusion.copy(),
        kind.item(),
        _contiguous(answers),
        _contiguous(index),
        _contiguous(weight),
        _contiguous(roles),
        _contiguous(keying),
        _contiguous(steady),
        _contiguous(fresh),
    )
    return np.array(total), gradient, of_gaps, of_confusion
