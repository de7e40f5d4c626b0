"""Answers on a logit scale without a loop over their cells: effects of one term crossed with all.

The predictor of a cell is e + k w, where w is the effect of the term with most levels (that of a
wording, say) and e, k and the residual scale are the same in many cells, a row of them. With n
answers z, their mean m over the row and sums C = sum n (z - m) w, D = sum n w, E = sum n w², the
squares of a row are

    sum n (z - e - k w)² = sum n (z - m)² + N (m - e)² - 2 k (C + (m - e) D) + k² E,

so that of a cell there are but three products to compute, and everything else once a row.
"""

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from polbayes.fit.compilation import compiled_with
from polbayes.fit.density import kernel
from polbayes.fit.density.kernel import ASKED, BELIEVED, DISCRIMINATION, ROLES, _scatter, _sum
from polbayes.fit.density.layout import Gathering, Layout
from polbayes.fit.families import kinds

_compiled = compiled_with(kernel)

# Rows are worth it if there are so many times fewer of them than cells.
_FEWER = 4


@dataclass(frozen=True)
class Crossed:
    """Cells as a table of rows by the levels of one term."""

    answers: np.ndarray  # [row, 3] number of answers, their mean, and squares around it
    gathering: Gathering  # [row] of all other terms
    believed: bool  # whether the term's effects are turned by the keying
    first: np.ndarray  # [row + 1] where the cells of a row begin
    effect: np.ndarray  # [cell] place of the term's effect
    n: np.ndarray  # [cell] number of answers
    apart: np.ndarray  # [cell] that times the distance of their mean from that of the row

    @property
    def arrays(self) -> tuple[object, ...]:
        """The arguments of `evaluate` after the effects."""
        g = self.gathering
        sums = (self.believed, self.first, self.effect, self.n, self.apart)
        return (self.answers, g.index, g.weight, g.roles, g.keying, *sums)


def crossed(
    layout: Layout, kind: int, answers: np.ndarray, at: Gathering, *, fewer: float = _FEWER
) -> Crossed | None:
    """Find the term and the rows; None where there is nothing to gain."""
    if kind != kinds.LOGIT_NORMAL or len(at.weight) > 1 or at.roles[ROLES] > at.roles[ROLES - 1]:
        return None
    size, term, believed = 0, -1, False
    for role in (ASKED, BELIEVED):
        for k in range(at.roles[role], at.roles[role + 1]):
            (block,) = (b for b in layout.blocks if b.start <= at.index[0, k] < b.stop)
            if block.group is not None and block.size > size and at.weight[0, k] == 1.0:
                size, term, believed = block.size, k, role == BELIEVED
    rest = np.delete(at.index, term, axis=1) if term >= 0 else at.index
    table = pd.DataFrame(rest).assign(keying=at.keying)
    row = table.groupby(list(table), sort=False).ngroup().to_numpy()
    rows = int(row.max(initial=-1)) + 1
    if term < 0 or rows * fewer > len(row):
        return None
    order = np.argsort(row, kind="stable")
    row, index, n, z = row[order], at.index[order], answers[order, 0], answers[order, 1]
    first = np.searchsorted(row, np.arange(rows + 1))
    count = np.bincount(row, n, rows)
    mean = np.bincount(row, n * z, rows) / np.maximum(count, 1.0)
    squares = np.bincount(row, answers[order, 2] + n * (z - mean[row]) ** 2, rows)
    of_role = np.searchsorted(at.roles, term, side="right") - 1
    gathering = Gathering(
        np.ascontiguousarray(rest[order][first[:-1]]),
        np.delete(at.weight, term, axis=1),
        at.roles - (np.arange(ROLES + 1) > of_role),
        at.keying[order][first[:-1]],
    )
    effect = np.ascontiguousarray(index[:, term])
    sums = np.column_stack([count, mean, squares])
    return Crossed(sums, gathering, believed, first, effect, n, n * (z - mean[row]))


def none(at: Gathering) -> Crossed:
    """Return a table without rows."""
    cells = np.empty(0)
    first, effect = np.zeros(1, dtype=int), np.empty(0, dtype=np.uint32)
    return Crossed(np.empty((0, 3)), at.at(np.arange(0)), False, first, effect, cells, cells)


@_compiled
def evaluate(
    effects: np.ndarray,
    answers: np.ndarray,
    index: np.ndarray,
    weight: np.ndarray,
    roles: np.ndarray,
    keying: np.ndarray,
    believed: bool,
    first: np.ndarray,
    effect: np.ndarray,
    n: np.ndarray,
    apart: np.ndarray,
) -> tuple[float, np.ndarray]:
    """Compute the log-likelihood and its gradient; see `kernel.evaluate` and `Crossed`."""
    r, total, gradient = roles, 0.0, np.zeros(effects.shape[0])
    signed = r[DISCRIMINATION + 1] > r[DISCRIMINATION]
    s = np.empty(ROLES)
    for row in range(index.shape[0]):
        for role in range(ROLES):
            s[role] = _sum(effects, index, weight, row, r[role], r[role + 1])
        growth, sharp, sign = math.exp(s[3]), math.exp(s[6]), s[4] if signed else 1.0
        middle = sharp * (s[0] + keying[row] * (growth * sign * s[1] + s[2]))
        factor = sharp * keying[row] if believed else sharp
        c, d, e = 0.0, 0.0, 0.0
        for cell in range(first[row], first[row + 1]):
            w = effects[effect[cell]]
            c += apart[cell] * w
            d += n[cell] * w
            e += n[cell] * w * w
        off, precision = answers[row, 1] - middle, math.exp(-2.0 * s[5])
        c += off * d
        squares = answers[row, 2] + answers[row, 0] * off * off - 2.0 * factor * c
        squares = (squares + factor * factor * e) * precision
        total -= answers[row, 0] * (s[5] + 0.5 * math.log(2.0 * math.pi)) + 0.5 * squares
        for cell in range(first[row], first[row + 1]):
            left = apart[cell] + n[cell] * (off - factor * effects[effect[cell]])
            gradient[effect[cell]] += precision * factor * left
        of_middle = precision * (answers[row, 0] * off - factor * d)
        of_factor = precision * (c - factor * e)
        slope = of_middle * sharp
        _scatter(gradient, slope, index, weight, row, r[0], r[1])
        slope *= keying[row]
        _scatter(gradient, slope, index, weight, row, r[2], r[3])
        slope *= growth
        if signed:
            _scatter(gradient, slope * s[1], index, weight, row, r[4], r[5])
            slope *= sign
        _scatter(gradient, slope, index, weight, row, r[1], r[2])
        _scatter(gradient, slope * s[1], index, weight, row, r[3], r[4])
        of_own = squares - answers[row, 0]
        _scatter(gradient, of_own, index, weight, row, r[5], r[6])
        of_sharp = of_middle * middle + of_factor * factor
        _scatter(gradient, of_sharp, index, weight, row, r[6], r[7])
    return total, gradient
