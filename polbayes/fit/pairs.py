"""Pairs of correlated effects, from what is sampled, and for slopes the way back.

With standard deviations s, t and correlation r a level's two effects are u = s p and
v = t (r p + sqrt(1 - r²) q), p and q standard normal. What is sampled is p and q, or u and v where
the answers know these well (`polbayes.fit.start.centre`).
"""

import math

import numpy as np

from polbayes.fit.compilation import compiled

# What a row of the table of terms holds: where a term's coordinates and its effects begin, how many
# levels it has, the places of both scales and of the correlation, and whether u and v are sampled.
X, OTHERS, ROWS, FIRST, SECOND, COR, CENTRED = range(7)


@compiled
def expand(x: np.ndarray, values: np.ndarray, terms: np.ndarray, others: np.ndarray) -> float:
    """Write the effects, and return the log-density of the coordinates, up to a constant.

    Parameters
    ----------
    x
        All coordinates.
    values
        Scales and correlations (`polbayes.fit.hyperpriors`).
    terms
        ``[term, 7]``.
    others
        ``[level and coefficient]`` written to.
    """
    total = 0.0
    for k in range(terms.shape[0]):
        s, t, r = values[terms[k, FIRST]], values[terms[k, SECOND]], values[terms[k, COR]]
        rest = math.sqrt(1.0 - r * r)
        for row in range(terms[k, ROWS]):
            one, two = x[terms[k, X] + 2 * row], x[terms[k, X] + 2 * row + 1]
            at = terms[k, OTHERS] + 2 * row
            if terms[k, CENTRED]:
                p, q = one / s, (two / t - r * one / s) / rest
                others[at], others[at + 1] = one, two
                total -= math.log(s) + math.log(t) + math.log(rest)
            else:
                p, q = one, two
                others[at], others[at + 1] = s * p, t * (r * p + rest * q)
            total -= 0.5 * (p * p + q * q)
    return total


@compiled
def pull_back(
    x: np.ndarray,
    values: np.ndarray,
    terms: np.ndarray,
    of_others: np.ndarray,
    of_values: np.ndarray,
    of_x: np.ndarray,
) -> None:
    """Add slopes with respect to scales, correlations and coordinates.

    Parameters
    ----------
    x, values, terms
        See `expand`.
    of_others
        Slopes with respect to the effects.
    of_values, of_x
        Added to.
    """
    for k in range(terms.shape[0]):
        i, j, c = terms[k, FIRST], terms[k, SECOND], terms[k, COR]
        s, t, r = values[i], values[j], values[c]
        rest = math.sqrt(1.0 - r * r)
        for row in range(terms[k, ROWS]):
            here = terms[k, X] + 2 * row
            one, two = x[here], x[here + 1]
            at = terms[k, OTHERS] + 2 * row
            g, h = of_others[at], of_others[at + 1]
            if terms[k, CENTRED]:
                p = one / s
                q = (two / t - r * p) / rest
                of_x[here] += g + (r * q / rest - p) / s
                of_x[here + 1] += h - q / (rest * t)
                of_values[i] += (p * p - r * p * q / rest - 1.0) / s
                of_values[j] += (q * two / (t * rest) - 1.0) / t
                of_values[c] += q * p / rest + r * (1.0 - q * q) / (rest * rest)
            else:
                of_x[here] += g * s + h * t * r - one
                of_x[here + 1] += h * t * rest - two
                of_values[i] += g * one
                of_values[j] += h * (r * one + rest * two)
                of_values[c] += h * t * (one - two * r / rest)
