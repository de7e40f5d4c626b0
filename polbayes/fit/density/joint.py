"""From sampled coordinates to clusters of effects, and the reverse for slopes.

Given scales and correlations, the effects u = S z of a cluster have standard normal deviates z and
a lower triangular S: standard deviations s, and for a pair of correlated effects u = s p and
v = t r p + t sqrt(1 - r²) q. As for effects sampled one by one (`polbayes.fit.density.expansion`)
the answers are equivalent to an observation of the effects, here with a matrix of precisions Q and
a vector h, the product of precision and value. Given the scales, z is then normal with precision
M = I + S' Q S = L L' and mean M⁻¹ S' h. The coordinates are z standardised by these,

    w = L' z - L⁻¹ S' h,

which leaves no funnel as a scale goes to 0 or r to 1 or -1, and takes into account that the answers
say the less about one effect the larger the scales of those that they cannot tell from it. The mode
moves with coefficients of common terms, and so does h. All of this is in the unit of every effect
(`polbayes.fit.density.units`). The slopes of L are those of the Cholesky
decomposition (Murray 2016).

If the n effects of a term sum to zero over clusters, all of them are sampled without the
constraint, and their mean m is then taken from them. The answers say nothing about m, and in
coordinates for well-known effects it would vary widely. It is therefore taken as observed at 0 with
precision n Q, where Q is the mean precision of the effects, divided by the probability of that
observation given the scales: the distribution of everything else remains the same. If a coefficient
is the mean of the effects, they are known with it, each in its own unit, and Q is 0: then the
coefficient less m has a coordinate, and an effect of one model does not change what is known of the
others.
"""

import math

import numpy as np

from polbayes.fit.compilation import compiled_with
from polbayes.fit.density import units

# Columns of the table of clusters: start of its effects among those of all clusters, their number,
# and start of its matrices.
FIRST, SIZE, MATRIX = range(3)
# Columns of the table of terms that sum to zero.
GROUP, SECOND, SCALE, _, COR = range(5)

_compiled = compiled_with(units)


@_compiled
def _triangle(
    first: int,
    size: int,
    values: np.ndarray,
    scale: np.ndarray,
    cor: np.ndarray,
    grown: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the diagonal of S and what is left of it, in their units."""
    diagonal, left = np.empty(size), np.zeros(size)
    for k in range(size):
        t = values[scale[first + k]] * grown[k]
        diagonal[k] = t
        if cor[first + k] >= 0:
            r = values[cor[first + k]]
            diagonal[k], left[k] = t * math.sqrt(1.0 - r * r), t * r
    return diagonal, left


@_compiled
def _times(matrix: np.ndarray, diagonal: np.ndarray, left: np.ndarray) -> np.ndarray:
    """Return a matrix times S."""
    size = diagonal.shape[0]
    found = np.empty((size, size))
    for i in range(size):
        for j in range(size):
            found[i, j] = matrix[i, j] * diagonal[j]
            if j + 1 < size:
                found[i, j] += matrix[i, j + 1] * left[j + 1]
    return found


@_compiled
def _root(product: np.ndarray, diagonal: np.ndarray, left: np.ndarray) -> np.ndarray:
    """Return the Cholesky root of I + S' (Q S)."""
    size = diagonal.shape[0]
    root = np.zeros((size, size))
    for i in range(size):
        for j in range(i + 1):
            total = diagonal[i] * product[i, j] + (1.0 if i == j else 0.0)
            if i + 1 < size:
                total += left[i + 1] * product[i + 1, j]
            for k in range(j):
                total -= root[i, k] * root[j, k]
            root[i, j] = math.sqrt(total) if i == j else total / root[j, j]
    return root


@_compiled
def _forward(root: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solve L x = right."""
    found = right.copy()
    for i in range(root.shape[0]):
        for k in range(i):
            found[i] -= root[i, k] * found[k]
        found[i] /= root[i, i]
    return found


@_compiled
def _backward(root: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solve L' x = right."""
    found = right.copy()
    for i in range(root.shape[0] - 1, -1, -1):
        for k in range(i + 1, root.shape[0]):
            found[i] -= root[k, i] * found[k]
        found[i] /= root[i, i]
    return found


@_compiled
def _pulled(diagonal: np.ndarray, left: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Return S' times a vector."""
    found = diagonal * vector
    for k in range(1, diagonal.shape[0]):
        found[k - 1] += left[k] * vector[k]
    return found


@_compiled
def _matrix(matrices: np.ndarray, at: int, size: int) -> np.ndarray:
    """Return that of a cluster."""
    return matrices[at : at + size * size].reshape((size, size))


@_compiled
def _grown(first: int, size: int, logs: np.ndarray, unit: np.ndarray) -> np.ndarray:
    """Return g of a cluster's effects."""
    found = np.empty(size)
    for k in range(size):
        found[k] = math.exp(logs[unit[first + k]])
    return found


@_compiled
def _value(
    first: int,
    total: np.ndarray,
    grown: np.ndarray,
    logs: np.ndarray,
    lead: np.ndarray,
    stretched: np.ndarray,
    mode: np.ndarray,
    weight: np.ndarray,
    mode_of_lead: np.ndarray,
    united: np.ndarray,
) -> np.ndarray:
    """Return h, the product of precision and value of a cluster's observation."""
    size = total.shape[0]
    expected, found = np.empty(size), np.zeros(size)
    for k in range(size):
        expected[k] = mode[first + k] - units.stretch(logs, stretched, first + k)
        for c in range(lead.shape[0]):
            value = lead[c] * (grown[k] if united[c] else 1.0)
            expected[k] += weight[first + k, c] * (value - mode_of_lead[c])
    for i in range(size):
        for j in range(size):
            found[i] += total[i, j] * expected[j]
    return found


@_compiled
def expand(
    x: np.ndarray,
    values: np.ndarray,
    lead: np.ndarray,
    logs: np.ndarray,
    table: np.ndarray,
    scale: np.ndarray,
    cor: np.ndarray,
    unit: np.ndarray,
    stretched: np.ndarray,
    mode: np.ndarray,
    weight: np.ndarray,
    mode_of_lead: np.ndarray,
    united: np.ndarray,
    totals: np.ndarray,
    precisions: np.ndarray,
    group: np.ndarray,
    terms: np.ndarray,
    held: np.ndarray,
    common: np.ndarray,
    others: np.ndarray,
    means: np.ndarray,
) -> float:
    """Write the effects, and return the log-density of the coordinates, up to a constant.

    `x` ``[effect]`` are the coordinates; scales and correlations are in `values`
    (`polbayes.fit.density.prior_densities`); `lead` ``[lead]`` are the coefficients that the
    effects follow, and `logs` log g; `table` is ``[cluster, 3]``; `scale` and `cor`
    ``[effect]`` are positions in `values`, that of a correlation with the effect before (-1 for
    none), `unit` and `stretched` (two of each) those in `logs`
    (`polbayes.fit.density.coordinates.Units`).
    `mode` ``[effect]``, `weight` ``[effect, lead]``, `mode_of_lead` ``[lead]`` (which has a unit
    if `united`), and the matrices of all clusters one after the other, `totals` (precision with
    that of the prior at the mode) and `precisions`, are the observation. `group` ``[effect]``
    numbers what sums to zero, -1 for nothing; `held` ``[group]`` are the precisions Q, and `terms`
    ``[term, 5]`` has the group, that of the second of two correlated coefficients (-1 for none),
    and the positions of both scales and the correlation. `common` ``[group]`` are the leads that
    are the mean of the effects, -1 for none; they are less their `means`. `others` ``[effect]`` and
    `means` ``[group]`` are written to.
    """
    density, shared = 0.0, math.exp(logs[logs.shape[0] - 2])
    for c in range(table.shape[0]):
        first, size, at = table[c, FIRST], table[c, SIZE], table[c, MATRIX]
        grown = _grown(first, size, logs, unit)
        diagonal, left = _triangle(first, size, values, scale, cor, grown)
        root = _root(_times(_matrix(precisions, at, size), diagonal, left), diagonal, left)
        total = _matrix(totals, at, size)
        h = _value(
            *(first, total, grown, logs, lead, stretched, mode, weight, mode_of_lead, united)
        )
        moved = x[first : first + size] + _forward(root, _pulled(diagonal, left, h))
        z = _backward(root, moved)
        for k in range(size):
            effect = diagonal[k] * z[k]
            if k > 0:
                effect += left[k] * z[k - 1]
            others[first + k] = effect / grown[k]
            density -= 0.5 * z[k] * z[k] + math.log(root[k, k])
    size = _by_group(np.ones(others.shape[0]), group, held.shape[0])
    means[:] = _by_group(others, group, held.shape[0]) / size
    for k in range(others.shape[0]):
        if group[k] >= 0:
            others[k] -= means[group[k]]
    for g in range(held.shape[0]):
        density -= 0.5 * size[g] * held[g] * (means[g] * shared) ** 2
    for k in range(terms.shape[0]):
        density += 0.5 * math.log(_determinant(k, values, shared, terms, held)[0])
    return density


@_compiled
def _by_group(effects: np.ndarray, group: np.ndarray, number: int) -> np.ndarray:
    """Return ``[group]`` sums."""
    sums = np.zeros(number)
    for k in range(effects.shape[0]):
        if group[k] >= 0:
            sums[group[k]] += effects[k]
    return sums


@_compiled
def _determinant(
    term: int, values: np.ndarray, shared: float, terms: np.ndarray, held: np.ndarray
) -> tuple[float, float, float, float]:
    """Return that of I + S' Q S, and its slopes by both scales and the correlation.

    S and its slopes are in the common unit.
    """
    s, one = values[terms[term, SCALE]] * shared, held[terms[term, GROUP]]
    if terms[term, SECOND] < 0:
        return 1.0 + one * s * s, 2.0 * one * s, 0.0, 0.0
    t, two = values[terms[term, SCALE + 1]] * shared, held[terms[term, SECOND]]
    r, a, b = values[terms[term, COR]], one * s * s, two * t * t
    rest = 1.0 - r * r
    by_s, by_t = 2.0 * one * s * (1.0 + b * rest), 2.0 * two * t * (1.0 + a * rest)
    return 1.0 + a + b + a * b * rest, by_s, by_t, -2.0 * a * b * r


@_compiled
def _backward_together(root: np.ndarray, right: np.ndarray) -> None:
    """Solve L' x = right for all columns, in place: the processor computes several at once."""
    size = root.shape[0]
    for i in range(size - 1, -1, -1):
        for k in range(i + 1, size):
            for j in range(size):
                right[i, j] -= root[k, i] * right[k, j]
        for j in range(size):
            right[i, j] /= root[i, i]


@_compiled
def _slopes_of_matrix(root: np.ndarray, of_root: np.ndarray) -> np.ndarray:
    """Turn slopes by the lower triangle L into symmetric ones by L L'."""
    size = root.shape[0]
    half = np.zeros((size, size))
    for k in range(size):
        for i in range(k + 1):
            for j in range(i + 1):
                half[i, j] += root[k, i] * of_root[k, j]
    for i in range(size):
        half[i, i] *= 0.5
    _backward_together(root, half)
    half = half.T.copy()
    _backward_together(root, half)
    return 0.5 * (half + half.T)


@_compiled
def pull_back(
    x: np.ndarray,
    values: np.ndarray,
    lead: np.ndarray,
    logs: np.ndarray,
    table: np.ndarray,
    scale: np.ndarray,
    cor: np.ndarray,
    unit: np.ndarray,
    stretched: np.ndarray,
    mode: np.ndarray,
    weight: np.ndarray,
    mode_of_lead: np.ndarray,
    united: np.ndarray,
    totals: np.ndarray,
    precisions: np.ndarray,
    group: np.ndarray,
    terms: np.ndarray,
    held: np.ndarray,
    common: np.ndarray,
    others: np.ndarray,
    means: np.ndarray,
    of_others: np.ndarray,
    of_common: np.ndarray,
    of_values: np.ndarray,
    of_lead: np.ndarray,
    of_logs: np.ndarray,
    of_x: np.ndarray,
) -> None:
    """Add slopes with respect to scales, correlations, leads, log g and coordinates.

    `of_common` ``[lead]`` are the slopes by leads that are means of effects.
    """
    shared = logs.shape[0] - 2
    grown_shared = math.exp(logs[shared])
    size = _by_group(np.ones(of_others.shape[0]), group, held.shape[0])
    sums, of_raw = _by_group(of_others, group, held.shape[0]), of_others.copy()
    for g in range(held.shape[0]):
        of_logs[shared] -= size[g] * held[g] * (means[g] * grown_shared) ** 2
    for k in range(of_others.shape[0]):
        if group[k] >= 0:
            g = group[k]
            of_mean = -sums[g] + (of_common[common[g]] if common[g] >= 0 else 0.0)
            of_raw[k] += of_mean / size[g] - held[g] * means[g] * grown_shared**2
    for k in range(terms.shape[0]):
        determinant, by_s, by_t, by_r = _determinant(k, values, grown_shared, terms, held)
        s, half = values[terms[k, SCALE]] * grown_shared, 0.5 / determinant
        of_values[terms[k, SCALE]] += half * by_s * grown_shared
        of_logs[shared] += half * by_s * s
        if terms[k, SECOND] >= 0:
            of_values[terms[k, SCALE + 1]] += half * by_t * grown_shared
            of_logs[shared] += half * by_t * values[terms[k, SCALE + 1]] * grown_shared
            of_values[terms[k, COR]] += half * by_r
    for c in range(table.shape[0]):
        first, count, at = table[c, FIRST], table[c, SIZE], table[c, MATRIX]
        total = _matrix(totals, at, count)
        grown = _grown(first, count, logs, unit)
        diagonal, left = _triangle(first, count, values, scale, cor, grown)
        product = _times(_matrix(precisions, at, count), diagonal, left)
        root = _root(product, diagonal, left)
        h = _value(
            *(first, total, grown, logs, lead, stretched, mode, weight, mode_of_lead, united)
        )
        ahead = _forward(root, _pulled(diagonal, left, h))
        z = _backward(root, x[first : first + count] + ahead)
        given = of_raw[first : first + count] / grown
        of_moved = _forward(root, _pulled(diagonal, left, given) - z)
        of_pulled = _backward(root, of_moved)
        of_root = np.zeros((count, count))
        for i in range(count):
            for j in range(i + 1):
                of_root[i, j] = -z[i] * of_moved[j] - of_pulled[i] * ahead[j]
            of_root[i, i] -= 1.0 / root[i, i]
        of_matrix = _slopes_of_matrix(root, of_root)
        of_expected = np.zeros(count)
        for k in range(count):
            of_x[first + k] += of_moved[k]
            of_diagonal = given[k] * z[k] + h[k] * of_pulled[k]
            of_left = 0.0
            for j in range(count):
                of_diagonal += 2.0 * product[k, j] * of_matrix[j, k]
            effect, t = diagonal[k] * z[k], values[scale[first + k]] * grown[k]
            of_t = of_diagonal
            if cor[first + k] >= 0:
                of_left = given[k] * z[k - 1] + h[k] * of_pulled[k - 1]
                for j in range(count):
                    of_left += 2.0 * product[k, j] * of_matrix[j, k - 1]
                r = values[cor[first + k]]
                rest = math.sqrt(1.0 - r * r)
                of_t = of_diagonal * rest + of_left * r
                of_values[cor[first + k]] += t * (of_left - of_diagonal * r / rest)
                effect += left[k] * z[k - 1]
            of_values[scale[first + k]] += of_t * grown[k]
            of_logs[unit[first + k]] += of_t * t - given[k] * effect
            of_h = diagonal[k] * of_pulled[k]
            if k > 0:
                of_h += left[k] * of_pulled[k - 1]
            for i in range(count):
                of_expected[i] += total[i, k] * of_h
        for i in range(count):
            if stretched[first + i, 0] >= 0:
                of_logs[stretched[first + i, 0]] -= of_expected[i]
                of_logs[stretched[first + i, 1]] += of_expected[i]
            for b in range(lead.shape[0]):
                slope = weight[first + i, b] * of_expected[i]
                if united[b]:
                    slope *= grown[i]
                    of_logs[unit[first + i]] += slope * lead[b]
                of_lead[b] += slope
