"""Likelihoods of several cells at once, with a normal effect integrated out, and their slopes.

P(y <= k) at a node z is v_k = x / (1 + x) with x = exp(cut_k - eta - spread z). Up to factors
common to all nodes, the likelihood of a cell is the product of v_k^n_k (1 - v_k)^n_{k+1} over the
cutpoints. Powers are computed from the bits of the counts: nothing in the loops over cells is more
than a division, so that the processor computes several of them at once.
"""

import math

import numpy as np

from polbayes.fit.compilation import compiled_with
from polbayes.fit.density import scores
from polbayes.fit.density.scores import BY_CUTS, BY_ETA, BY_OWN, BY_SPREAD

# Sums may be reordered, so that the processor adds up several cells at once.
_reordered = compiled_with(scores, fastmath={"reassoc", "contract", "arcp", "nsz"})

# Rows of the workspace for cells computed together, ``[row, cell]``: the likelihood at a node,
# and over the nodes the sums of it, of it times the node, and of its first and last value. Then,
# for each cutpoint, P(y <= k) at a node; the sums of likelihood times P(y <= k); and of that times
# the node.
LIKE, TOTAL, TILTED, ENDS, FIRST = range(5)

# Rows of what holds for each cell, ``[row, cell]``: predictor, spread, peak, distance of the nodes,
# width of the cutpoints; then, for each of them, the exponential of the cutpoint, and the slope of
# log(1 - exp(-distance from the cutpoint below)) by that distance.
ETA, SPREAD, START, STEP, WIDTH, EDGES = range(6)

# A cell's nodes end where its likelihood has fallen to this part of the peak's.
_NEGLIGIBLE = math.exp(-14.0)


@_reordered
def few_together(
    cells: int,
    shrunk: np.ndarray,  # [cell] exp(-eta)
    edges: np.ndarray,  # [cutpoint] exponentials of the cutpoints
    times: np.ndarray,  # [point, cell] counts, none above `most`
    table: np.ndarray,  # with `number`, see `polbayes.fit.density.shifts.lay_nodes`
    number: int,
    most: float,
    room: np.ndarray,  # written to
) -> None:
    """Add up the likelihood of few answers to each of several cells over the nodes of a table."""
    size = times.shape[0] - 1
    like, total, tilted, ends = room[LIKE], room[TOTAL], room[TILTED], room[ENDS]
    room[TOTAL : FIRST + 3 * size] = 0.0
    for j in range(number):
        z, weight, moved = table[0, j], table[1, j], table[2, j]
        for c in range(cells):
            like[c] = weight
        for k in range(size):
            factor = moved * edges[k]
            v, below, above = room[FIRST + k], times[k], times[k + 1]
            for c in range(cells):
                x = shrunk[c] * factor
                q = 1.0 / (1.0 + x)
                p = x * q
                v[c] = p
                once = (p if below[c] & 1 else 1.0) * (q if above[c] & 1 else 1.0)
                twice = (p * p if below[c] & 2 else 1.0) * (q * q if above[c] & 2 else 1.0)
                like[c] *= once * twice
            if most > 3.0:
                for c in range(cells):
                    p2, q2 = v[c] * v[c], (1.0 - v[c]) * (1.0 - v[c])
                    like[c] *= (p2 * p2 if below[c] & 4 else 1.0) * (
                        q2 * q2 if above[c] & 4 else 1.0
                    )
        for c in range(cells):
            total[c] += like[c]
            tilted[c] += like[c] * z
        if j == 0 or j == number - 1:
            for c in range(cells):
                ends[c] += like[c]
        for k in range(size):
            v, plain, tilt = room[FIRST + k], room[FIRST + size + k], room[FIRST + 2 * size + k]
            for c in range(cells):
                product = like[c] * v[c]
                plain[c] += product
                tilt[c] += product * z


@_reordered
def many_together(
    cells: int,
    own: np.ndarray,  # [row, cell], see above
    times: np.ndarray,  # [point, cell] counts
    room: np.ndarray,  # written to
) -> None:
    """Add up the likelihood of any answers to each of several cells, from its peak outwards.

    Nodes are equidistant. The likelihood is relative to exp(-peak² / 2), and log-concave, so it
    only decreases from the peak. At the ends is the likelihood at the peak itself.
    """
    size = times.shape[0] - 1
    like, total, tilted, peak = room[LIKE], room[TOTAL], room[TILTED], room[ENDS]
    room[TOTAL : FIRST + 3 * size] = 0.0
    most = 0
    for k in range(size + 1):
        for c in range(cells):
            most = max(most, times[k, c])
    # Separate arrays: of parts of one, the compiler would not know that they do not overlap.
    z, shrunk, weight, falls = np.empty(cells), np.empty(cells), np.empty(cells), np.empty(cells)
    base, rest = np.empty(cells), np.empty((size, cells))
    bits = np.empty(cells, dtype=np.int64)
    middle, shrinks, tilts = np.empty(cells), np.empty(cells), np.empty(cells)
    narrows = np.empty(cells)
    for c in range(cells):
        start, step = own[START, c], own[STEP, c]
        middle[c] = math.exp(-own[ETA, c] - own[SPREAD, c] * start)
        shrinks[c] = math.exp(-own[SPREAD, c] * step)
        tilts[c] = math.exp(-start * step)
        narrows[c] = math.exp(-0.5 * step * step)
    for side in (1.0, -1.0):
        for c in range(cells):
            if side > 0.0:
                z[c], shrunk[c], weight[c] = own[START, c], middle[c], 1.0
                falls[c] = tilts[c] * narrows[c]
            else:  # upwards has done the peak
                shrinks[c], z[c] = 1.0 / shrinks[c], own[START, c] - own[STEP, c]
                shrunk[c], weight[c] = middle[c] * shrinks[c], narrows[c] / tilts[c]
                falls[c] = weight[c] * narrows[c] * narrows[c]
        first = side > 0.0
        while True:
            for k in range(size):
                v, q, edge = room[FIRST + k], rest[k], own[EDGES + k]
                for c in range(cells):
                    x = shrunk[c] * edge[c]
                    q[c] = 1.0 / (1.0 + x)
                    v[c] = x * q[c]
            for c in range(cells):
                like[c] = weight[c]
            for k in range(size + 1):
                count, below, above = times[k], room[FIRST + k], rest[k - 1]
                if k == 0:
                    base[:] = below[:cells]
                elif k == size:
                    base[:] = above
                else:
                    for c in range(cells):
                        base[c] = below[c] * above[c]
                left = most
                for c in range(cells):
                    bits[c] = count[c]
                while left > 0:  # three bits at a time
                    for c in range(cells):
                        b, n = base[c], bits[c]
                        b2 = b * b
                        b4 = b2 * b2
                        once = b if n & 1 else 1.0
                        twice = b2 if n & 2 else 1.0
                        like[c] *= once * twice * (b4 if n & 4 else 1.0)
                        base[c], bits[c] = b4 * b4, n >> 3
                    left >>= 3
            if first:
                first = False
                for c in range(cells):
                    peak[c] = like[c]
            for c in range(cells):
                total[c] += like[c]
                tilted[c] += like[c] * z[c]
            for k in range(size):
                v, plain, tilt = room[FIRST + k], room[FIRST + size + k], room[FIRST + 2 * size + k]
                for c in range(cells):
                    product = like[c] * v[c]
                    plain[c] += product
                    tilt[c] += product * z[c]
            going = 0.0
            for c in range(cells):
                going += 1.0 if like[c] > _NEGLIGIBLE * peak[c] else 0.0
            if going == 0.0:
                break
            for c in range(cells):
                z[c] += side * own[STEP, c]
                shrunk[c] *= shrinks[c]
                weight[c] *= falls[c]
                falls[c] *= narrows[c] * narrows[c]


@_reordered
def slopes_together(
    own: np.ndarray,
    gaps: np.ndarray,
    cuts: np.ndarray,
    counts: np.ndarray,  # [point, cell]
    room: np.ndarray,
    slope: np.ndarray,  # [3, cell], written to
    slopes: np.ndarray,  # sums over all cells are added to
) -> None:
    """Write the slopes of several cells, from the sums over their nodes."""
    size, cells = cuts.shape[0], slope.shape[1]
    by_eta, by_own, by_spread = slope[BY_ETA], slope[BY_OWN], slope[BY_SPREAD]
    share, tilted, width = room[LIKE], room[TILTED], own[WIDTH]
    for c in range(cells):
        share[c] = 1.0 / room[TOTAL, c]
        by_eta[c] = by_own[c] = by_spread[c] = 0.0
    for k in range(size):
        below, above, distance = counts[k], counts[k + 1], own[EDGES + size + k]
        plain, tilt = room[FIRST + size + k], room[FIRST + 2 * size + k]
        whole, middle = 0.0, 0.0
        for c in range(cells):
            both = below[c] + above[c]
            d_x = (below[c] - both * plain[c] * share[c]) * width[c]
            by_eta[c] -= below[c] - both * plain[c] * share[c]
            by_spread[c] -= (below[c] * tilted[c] - both * tilt[c]) * share[c]
            by_own[c] += d_x * cuts[k]
            whole += d_x
        slopes[BY_CUTS + k] += whole
        if k > 0:
            for c in range(cells):
                apart = below[c] * distance[c] * width[c]
                middle += apart
                by_own[c] += apart * gaps[k - 1]
            slopes[BY_CUTS + size + k - 1] += middle
