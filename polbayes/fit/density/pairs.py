"""From sampled coordinates to pairs of correlated effects, and the reverse for slopes.

With standard deviations s, t and correlation r a level's two effects are u = s p and v = c + o q
with c = t r p, o = t sqrt(1 - r²), and p and q standard normal. As for effects sampled one by one
(`polbayes.fit.density.expansion`) the answers are equivalent to an observation of each with
precision Q and product h of precision and value. Given s, p is then normal with mean s h / (1 + Q
s²) and variance 1 / (1 + Q s²), and so is q given p, with h - Q c in place of h and o in place of
s. The coordinates are p and q standardised by these, which leaves no funnel as a scale goes to 0 or
r to 1 or -1.
"""

import math

import numpy as np

from polbayes.fit.compilation import compiled

# Columns of the table of terms: start of a term's coordinates and of its effects, number of levels,
# and positions of both scales and of the correlation.
X, OTHERS, ROWS, FIRST, SECOND, COR = range(6)
# Information about each effect: h and Q.
VALUE, PRECISION = range(2)


@compiled
def expand(
    x: np.ndarray, values: np.ndarray, terms: np.ndarray, known: np.ndarray, others: np.ndarray
) -> float:
    """Write the effects, and return the log-density of the coordinates `x`, up to a constant.

    Scales and correlations are in `values` (`polbayes.fit.density.prior_densities`); `terms` is
    ``[term, 6]``, `known` ``[level and coefficient, 2]``, and `others` ``[level and coefficient]``
    is written to.
    """
    total = 0.0
    for k in range(terms.shape[0]):
        s, t, r = values[terms[k, FIRST]], values[terms[k, SECOND]], values[terms[k, COR]]
        o = t * math.sqrt(1.0 - r * r)
        for row in range(terms[k, ROWS]):
            here, at = terms[k, X] + 2 * row, terms[k, OTHERS] + 2 * row
            wide = math.sqrt(1.0 + known[at, PRECISION] * s * s)
            p = (x[here] + s * known[at, VALUE] / wide) / wide
            c = t * r * p
            h = known[at + 1, VALUE] - known[at + 1, PRECISION] * c
            narrow = math.sqrt(1.0 + known[at + 1, PRECISION] * o * o)
            q = (x[here + 1] + o * h / narrow) / narrow
            others[at], others[at + 1] = s * p, c + o * q
            total -= 0.5 * (p * p + q * q) + math.log(wide) + math.log(narrow)
    return total


@compiled
def pull_back(
    x: np.ndarray,
    values: np.ndarray,
    terms: np.ndarray,
    known: np.ndarray,
    of_others: np.ndarray,
    of_values: np.ndarray,
    of_x: np.ndarray,
) -> None:
    """Add slopes with respect to scales, correlations and coordinates."""
    for k in range(terms.shape[0]):
        i, j, cor = terms[k, FIRST], terms[k, SECOND], terms[k, COR]
        s, t, r = values[i], values[j], values[cor]
        rest = math.sqrt(1.0 - r * r)
        o = t * rest
        for row in range(terms[k, ROWS]):
            here, at = terms[k, X] + 2 * row, terms[k, OTHERS] + 2 * row
            one, two = known[at, PRECISION], known[at + 1, PRECISION]
            wide = math.sqrt(1.0 + one * s * s)
            p = (x[here] + s * known[at, VALUE] / wide) / wide
            c = t * r * p
            h = known[at + 1, VALUE] - two * c
            narrow = math.sqrt(1.0 + two * o * o)
            q = (x[here + 1] + o * h / narrow) / narrow
            g, of_v = of_others[at], of_others[at + 1]
            # p and q by s and o, which also change both standardising roots.
            by_s = known[at, VALUE] / wide**2 - one * s / wide**2 * (
                p + s * known[at, VALUE] / wide**2
            )
            by_o = h / narrow**2 - two * o / narrow**2 * (q + o * h / narrow**2)
            of_q = of_v * o - q
            of_o = of_v * q + of_q * by_o - two * o / narrow**2
            of_c = of_v - of_q * two * o / narrow**2
            of_p = g * s - p + of_c * t * r
            of_x[here] += of_p / wide
            of_x[here + 1] += of_q / narrow
            of_values[i] += g * p + of_p * by_s - one * s / wide**2
            of_values[j] += of_c * r * p + of_o * rest
            of_values[cor] += of_c * t * p - of_o * t * r / rest
