"""The likelihood of a cell with a normal shift of its predictor integrated out."""

import math

import numpy as np

from polbayes.fit import kernel
from polbayes.fit.compilation import compiled_with
from polbayes.fit.kernel import cell_logp, prepare, workspace

# The integrand is cut off where it has fallen by exp(-_REACH**2 / 2) at least.
_REACH = 5.5
# Nodes are this many widths of the narrowest integrand apart. The error of the trapezoidal rule
# for a Gaussian of width 1 is some exp(-2 (pi / step)^2), here 1e-6 of the integral. A single
# logistic function is wider than a Gaussian but less smooth, and is taken for two.
_STEP = 1.2


@compiled_with(kernel)
def integrated(
    eta: np.ndarray,
    own: np.ndarray,
    gaps: np.ndarray,
    kind: int,
    answers: np.ndarray,
    spread: np.ndarray,
) -> np.ndarray:
    """Return ``[cell]`` log of the mean likelihood over normal shifts of the predictor.

    log E p(y | eta + spread * z), z standard normal, by the trapezoidal rule around the mode of
    the integrand. The log-likelihood of counts is concave in eta, its second derivative between
    -n/2 and 0 for n answers, so that the integrand is log-concave and its width in z lies
    between 1 / sqrt(1 + spread^2 n / 2) and 1: the nodes can neither miss its peak nor end
    within it.

    Parameters
    ----------
    eta, own, gaps, kind, answers
        See `polbayes.fit.kernel.pointwise`; counts only.
    spread
        ``[cell]`` standard deviation of the shift; 0 for none.
    """
    none = np.empty(0)
    cuts, slopes, ready = workspace(gaps, none)
    logp = np.empty(eta.shape[0])
    for cell in range(eta.shape[0]):
        prepare(kind, own[cell], gaps, cuts, ready)
        s = spread[cell]
        if s == 0.0:
            logp[cell] = cell_logp(kind, eta[cell], ready, gaps, cuts, none, answers, cell, slopes)
            continue
        n = answers[cell].sum()
        # The mode solves z = s * slope(eta + s z), and slopes are between -n and n.
        low, high = -s * n, s * n
        while high - low > 0.5:
            middle = 0.5 * (low + high)
            cell_logp(kind, eta[cell] + s * middle, ready, gaps, cuts, none, answers, cell, slopes)
            if s * slopes[0] > middle:
                low = middle
            else:
                high = middle
        step = _STEP / math.sqrt(1.0 + s * s * max(n / 2.0, 1.0))
        first, last = low - _REACH, high + _REACH
        peak, total, z = -np.inf, 0.0, first
        while z <= last:
            value = cell_logp(
                kind, eta[cell] + s * z, ready, gaps, cuts, none, answers, cell, slopes
            )
            value -= 0.5 * z * z
            if value > peak:
                total = total * math.exp(peak - value) + 1.0
                peak = value
            else:
                total += math.exp(value - peak)
            z += step
        logp[cell] = peak + math.log(total * step) - 0.5 * math.log(2.0 * math.pi)
    return logp
