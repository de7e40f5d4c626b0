"""The log-likelihood of one cell and its slopes, for every compiled family.

Each family's function returns the log-likelihood of a cell and writes its slopes. `prepare`
computes everything that depends only on the family's own parameter, and is called only when
that parameter changes from one cell to the next.

The ordinal family is cumulative logit, P(y <= k) = logistic(c_k - eta), for counts of
answers at each point. With t_k = softplus(c_k - eta) the log-probability of point k is

    log P(y = k) = (c_k - eta) - t_k - t_{k-1} + log(1 - exp(c_{k-1} - c_k)),

without the first two terms at the highest point and without the last two at the lowest,
so that one softplus per cutpoint and cell is all that has to be computed.

If the coder may err, points are latent: the counts are of readings, and the probability of reading
j at latent point k is an entry of the coder's confusion matrix
(`polbayes.fit.coder_errors.confusion`). The latent points are summed over,

    log P(reading j | some reading) = log(sum_k P(y = k) C[k, j] + o C[K, j]) - log(sum over all j),

where o is the odds of an answer without a point. The slopes are those of the ordinal family
for the expected counts at each point, given the readings.
"""

import math
from typing import Any

import numba
import numpy as np
from numba.extending import intrinsic

from polbayes.fit.compilation import compiled
from polbayes.fit.families.kinds import BETA, BINOMIAL, LOGIT_NORMAL, ORDINAL, READ

# The first columns of coded answers: the number of the confusion matrix, and the odds of an answer
# without a point.
TABLE, ODDS, READINGS = range(3)

# Smaller probabilities are replaced by this, so that the logarithm exists.
_LEAST = 1e-290

# Up to this distance from 0 products of exponentials neither overflow nor underflow.
FAR = 300.0

# Positions in the array of slopes: by the predictor, the family's own parameter, the spread of an
# integrated effect, and then the cutpoints at width 1, their distances and the confusion matrices.
BY_ETA, BY_OWN, BY_SPREAD, BY_CUTS = range(4)


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
    """Write into `ready` the terms that depend only on the family's own parameter."""
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
        if both == 0.0:  # no answer is adjacent to this cutpoint
            continue
        x = cuts[k] * width - eta
        if abs(x) < FAR and abs(eta) < FAR:
            odds = 1.0 + shrunk * ready[edges + k]  # 1 + exp(x), with one exponential per cell
            total += below * x - both * math.log(odds)
            d_x = below - both * (1.0 - 1.0 / odds)
        else:
            small = math.exp(-abs(x))
            total += below * x - both * (max(x, 0.0) + math.log1p(small))
            d_x = below - both * (1.0 if x > 0.0 else small) / (1.0 + small)
        slopes[BY_ETA] -= d_x
        slopes[BY_CUTS + k] += d_x * width
        d_width += d_x * cuts[k]
        if k > 0 and below > 0.0:
            total += below * ready[2 * k - 1]
            d_distance = below * ready[2 * k]
            slopes[BY_CUTS + cuts.shape[0] + k - 1] += d_distance * width
            d_width += d_distance * gaps[k - 1]
    slopes[BY_OWN] = d_width * width
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
    """Score counts of readings, summing over the latent ordered points."""
    width, points, readings = ready[0], cuts.shape[0] + 1, answers.shape[1] - READINGS
    p = ready[3 + 3 * gaps.shape[0] :]  # of each point, and then its expected count
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
    at = slopes[BY_CUTS + cuts.shape[0] + gaps.shape[0] :]
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
        slopes[BY_ETA] -= d_x
        slopes[BY_CUTS + k] += d_x * width
        d_width += d_x * cuts[k]
        if k > 0:
            d_distance = expected[k] * ready[2 * k]
            slopes[BY_CUTS + cuts.shape[0] + k - 1] += d_distance * width
            d_width += d_distance * gaps[k - 1]
    slopes[BY_OWN] = d_width * width
    return total


@compiled
def _logit_normal(
    eta: float, ready: np.ndarray, answers: np.ndarray, cell: int, slopes: np.ndarray
) -> float:
    """Return the log-density of n values logit(y), known by their mean and squares around it."""
    n = answers[cell, 0]
    if n == 0.0:
        return 0.0
    z = (answers[cell, 1] - eta) / ready[0]
    squares = n * z * z + answers[cell, 2] / (ready[0] * ready[0])
    slopes[BY_ETA] = n * z / ready[0]
    slopes[BY_OWN] = squares - n
    return n * ready[1] - 0.5 * squares


@compiled
def _beta(
    eta: float, ready: np.ndarray, answers: np.ndarray, cell: int, slopes: np.ndarray
) -> float:
    """Return the log-density of a beta distribution with mean logistic(eta); 0 if y is missing."""
    if math.isnan(answers[cell, 0]):
        return 0.0
    phi = ready[0]
    # Both proportions are computed: 1 - mean would be 0 for a mean near 1.
    mean, rest = 1.0 / (1.0 + math.exp(-eta)), 1.0 / (1.0 + math.exp(eta))
    # In a sampler's first steps a proportion may underflow to 0.
    a, b = max(phi * mean, 1e-300), max(phi * rest, 1e-300)
    log_y, log_rest = answers[cell, 0], answers[cell, 1]
    d_a, d_b = log_y - digamma(a) + ready[2], log_rest - digamma(b) + ready[2]
    slopes[BY_ETA] = d_a * a * rest - d_b * b * mean
    slopes[BY_OWN] = d_a * a + d_b * b
    density = (a - 1.0) * log_y + (b - 1.0) * log_rest
    return density + ready[1] - math.lgamma(a) - math.lgamma(b)


@compiled
def _binomial(eta: float, answers: np.ndarray, cell: int, slopes: np.ndarray) -> float:
    """Score counts of failures and successes with probability logistic(eta)."""
    small = math.exp(-abs(eta))
    asked = answers[cell, 0] + answers[cell, 1]
    slopes[BY_ETA] = answers[cell, 1] - asked * (1.0 if eta > 0.0 else small) / (1.0 + small)
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
    slopes[BY_ETA] = 0.0
    slopes[BY_OWN] = 0.0
    slopes[BY_SPREAD] = 0.0
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
def _unit_cuts(gaps: np.ndarray) -> np.ndarray:
    """Return the cutpoints at width 1 (`polbayes.fit.families.ordinal.cutpoints`)."""
    cuts = np.zeros(gaps.shape[0] + 1)
    cuts[1:] = np.cumsum(gaps)
    return cuts - (cuts[gaps.shape[0] // 2] + cuts[cuts.shape[0] // 2]) / 2.0


@compiled
def workspace(
    gaps: np.ndarray, confusion: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the cutpoints at width 1, and the output arrays of functions of cells.

    These are, in order, for `cell_logp`, `prepare` and
    `polbayes.fit.density.shifts.score_shifted`.
    """
    cuts = _unit_cuts(gaps)
    slopes = np.zeros(BY_CUTS + cuts.shape[0] + gaps.shape[0] + confusion.shape[0])
    ready = np.empty(3 + 3 * gaps.shape[0] + 2 * (cuts.shape[0] + 1))
    return cuts, slopes, ready, np.zeros(4 + 2 * cuts.shape[0])
