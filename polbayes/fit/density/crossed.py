"""Answers row by row, with the effects of one term crossed with all others.

The predictor of a cell is e + k w, where w is the effect of one term (that of a wording, say, or of
a model) and e, k and the residual scale are the same in many cells, a row of them, and computed
once for all of these. Of yes-or-no answers a cell then takes one exponential and one logarithm.
Answers on a logit scale need no loop over their cells at all. With n answers z, their mean m over
the row and sums C = sum n (z - m) w, D = sum n w, E = sum n w², the squares of a row are

    sum n (z - e - k w)² = sum n (z - m)² + N (m - e)² - 2 k (C + (m - e) D) + k² E,

so that of a cell there are but three products to compute.
"""

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from polbayes.fit.compilation import compiled_with
from polbayes.fit.density import kernel
from polbayes.fit.density.kernel import (
    ASKED,
    BELIEVED,
    DISCRIMINATED,
    DISCRIMINATION,
    ROLES,
    _scatter,
    _sum,
)
from polbayes.fit.density.layout import Gathering, Layout
from polbayes.fit.families import kinds

_compiled = compiled_with(kernel)

# Rows are worth it if there are so many times fewer of them than cells.
_FEWER = 4


@dataclass(frozen=True)
class Crossed:
    """Cells as a table of rows by the levels of one term."""

    answers: np.ndarray  # [row, 3] number of answers, their mean, and squares around it
    kind: int  # of `polbayes.fit.families.kinds`
    gathering: Gathering  # [row] of all other terms
    role: int  # of the term
    first: np.ndarray  # [row + 1] where the cells of a row begin
    effect: np.ndarray  # [cell] place of the term's effect
    n: np.ndarray  # [cell] number of answers
    # [cell] that times the distance of their mean from that of the row; number of those that agree.
    apart: np.ndarray

    @property
    def arrays(self) -> tuple[object, ...]:
        """The arguments of `evaluate` after the effects."""
        g = self.gathering
        sums = (self.role, self.first, self.effect, self.n, self.apart)
        return (self.answers, self.kind, g.index, g.weight, g.roles, g.keying, *sums)


def crossed(
    layout: Layout, kind: int, answers: np.ndarray, at: Gathering, *, fewer: float = _FEWER
) -> Crossed | None:
    """Find the term with the fewest rows; None where there is nothing to gain."""
    if kind == kinds.ORDINAL and answers.shape[1] == 2:
        kind = kinds.BINOMIAL  # of two points
    spread = at.roles[ROLES] > at.roles[ROLES - 1]
    if kind not in (kinds.LOGIT_NORMAL, kinds.BINOMIAL) or len(at.weight) > 1 or spread:
        return None
    of_role = np.searchsorted(at.roles, np.arange(at.index.shape[1]), side="right") - 1
    found: list[tuple[int, int, np.ndarray]] = []
    for term in np.flatnonzero(of_role <= BELIEVED).tolist():
        (block,) = (b for b in layout.blocks if b.start <= at.index[0, term] < b.stop)
        if block.group is not None and at.weight[0, term] == 1.0:
            rest = pd.DataFrame(np.delete(at.index, term, axis=1)).assign(keying=at.keying)
            row = rest.groupby(list(rest), sort=False).ngroup().to_numpy()
            found.append((int(row.max(initial=-1)) + 1, term, row))
    rows, term, row = min(found, key=lambda one: one[0], default=(0, 0, np.empty(0)))
    if rows * fewer > len(row) or not rows:
        return None
    order = np.argsort(row, kind="stable")
    row, index, answers = row[order], at.index[order], answers[order]
    gathering = Gathering(
        np.ascontiguousarray(np.delete(index, term, axis=1)),
        np.delete(at.weight, term, axis=1),
        at.roles - (np.arange(ROLES + 1) > of_role[term]),
        at.keying[order],
    )
    first = np.searchsorted(row, np.arange(rows + 1))
    if kind == kinds.BINOMIAL:
        sums, n, apart = np.empty((rows, 0)), answers.sum(axis=1), answers[:, 1].copy()
    else:
        n, z = answers[:, 0], answers[:, 1]
        count = np.bincount(row, n, rows)
        mean = np.bincount(row, n * z, rows) / np.maximum(count, 1.0)
        squares = np.bincount(row, answers[:, 2] + n * (z - mean[row]) ** 2, rows)
        sums, apart = np.column_stack([count, mean, squares]), n * (z - mean[row])
    effect = np.ascontiguousarray(index[:, term])
    rest = gathering.at(first[:-1])
    return Crossed(sums, kind, rest, int(of_role[term]), first, effect, n, apart)


def none(at: Gathering) -> Crossed:
    """Return a table without rows."""
    cells = np.empty(0)
    first, effect = np.zeros(1, dtype=int), np.empty(0, dtype=np.uint32)
    rows = np.empty((0, 3)), kinds.LOGIT_NORMAL, at.at(np.arange(0))
    return Crossed(*rows, ASKED, first, effect, cells, cells)


@_compiled
def _yes_or_no(
    middle: float,
    factor: float,
    effects: np.ndarray,
    effect: np.ndarray,
    n: np.ndarray,
    agreed: np.ndarray,
    gradient: np.ndarray,
) -> tuple[float, float, float]:
    """Score the yes-or-no answers of a row, and add the slopes of its effects.

    Returned are the log-likelihood and its slopes by e and k.
    """
    total, of_middle, of_factor = 0.0, 0.0, 0.0
    for cell in range(effect.shape[0]):
        w = effects[effect[cell]]
        eta = middle + factor * w
        small = math.exp(-abs(eta))
        inverse = 1.0 / (1.0 + small)
        total += agreed[cell] * eta - n[cell] * (max(eta, 0.0) - math.log(inverse))
        slope = agreed[cell] - n[cell] * (inverse if eta > 0.0 else small * inverse)
        of_middle += slope
        of_factor += slope * w
        gradient[effect[cell]] += slope * factor
    return total, of_middle, of_factor


@_compiled
def _squares(
    middle: float,
    factor: float,
    own: float,
    answers: np.ndarray,
    effects: np.ndarray,
    effect: np.ndarray,
    n: np.ndarray,
    apart: np.ndarray,
    gradient: np.ndarray,
) -> tuple[float, float, float, float]:
    """Score a row of answers on a logit scale, and add the slopes of its effects.

    Returned are the log-likelihood and its slopes by e, k and the logarithm of the residual scale.
    """
    c, d, e = 0.0, 0.0, 0.0
    for cell in range(effect.shape[0]):
        w = effects[effect[cell]]
        c += apart[cell] * w
        d += n[cell] * w
        e += n[cell] * w * w
    off, precision = answers[1] - middle, math.exp(-2.0 * own)
    c += off * d
    squares = answers[2] + answers[0] * off * off - 2.0 * factor * c
    squares = (squares + factor * factor * e) * precision
    for cell in range(effect.shape[0]):
        left = apart[cell] + n[cell] * (off - factor * effects[effect[cell]])
        gradient[effect[cell]] += precision * factor * left
    total = -answers[0] * (own + 0.5 * math.log(2.0 * math.pi)) - 0.5 * squares
    of_middle = precision * (answers[0] * off - factor * d)
    return total, of_middle, precision * (c - factor * e), squares - answers[0]


@_compiled
def evaluate(
    effects: np.ndarray,
    answers: np.ndarray,
    kind: int,
    index: np.ndarray,
    weight: np.ndarray,
    roles: np.ndarray,
    keying: np.ndarray,
    role: int,
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
        for part in range(ROLES):
            s[part] = _sum(effects, index, weight, row, r[part], r[part + 1])
        growth, sharp, sign = math.exp(s[3]), math.exp(s[6]), s[4] if signed else 1.0
        keyed, scale = sharp * keying[row], growth * sign
        middle = sharp * s[0] + keyed * (scale * s[1] + s[2])
        factor = sharp if role == ASKED else keyed * (scale if role == DISCRIMINATED else 1.0)
        here, of_own = slice(first[row], first[row + 1]), 0.0
        if kind == kinds.BINOMIAL:
            fit, of_middle, of_factor = _yes_or_no(
                middle, factor, effects, effect[here], n[here], apart[here], gradient
            )
        else:
            fit, of_middle, of_factor, of_own = _squares(
                *(middle, factor, s[5], answers[row]),
                *(effects, effect[here], n[here], apart[here], gradient),
            )
        total += fit
        _scatter(gradient, of_middle * sharp, index, weight, row, r[0], r[1])
        slope = of_middle * keyed
        _scatter(gradient, slope, index, weight, row, r[2], r[3])
        _scatter(gradient, slope * scale, index, weight, row, r[1], r[2])
        of_scale = slope * s[1]
        if role == DISCRIMINATED:
            of_scale += of_factor * keyed
        _scatter(gradient, of_scale * scale, index, weight, row, r[3], r[4])
        if signed:
            _scatter(gradient, of_scale * growth, index, weight, row, r[4], r[5])
        _scatter(gradient, of_own, index, weight, row, r[5], r[6])
        of_sharp = of_middle * middle + of_factor * factor
        _scatter(gradient, of_sharp, index, weight, row, r[6], r[7])
    return total, gradient
