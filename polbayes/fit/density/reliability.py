"""The information about each varying effect, from the curvature of the likelihood at a mode.

Taken alone, a thousand answers determine the discrimination of a statement well; but the
quirks of a handful of models explain them about as well. The relevant uncertainty of an
effect is its marginal one, from the inverse of the whole curvature.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy import linalg, sparse

from polbayes.fit.density import kernel
from polbayes.fit.density.clusters import clusters, deciding
from polbayes.fit.density.layout import Block, Gathering, Layout
from polbayes.fit.families import kinds

# Step of second differences of a cell's log-likelihood.
_STEP = 1e-2

# Larger matrices are not inverted; each effect is treated alone.
_LARGEST = 4000

# Bound on the curvature of a cell, which a residual scale near 0 makes infinite.
_SHARPEST = 1e6

# In smaller matrices nothing is eliminated first, nor are effects that sum to zero in small groups.
_SMALL = 1000
_FEW_IN_GROUP = 20

# Number of eliminated effects that are restored at a time.
_CHUNK = 2048

# Number of leading coefficients and effects that an effect follows.
_FEW = 12

# Precision of a mean that is zero by construction.
_EXACT = 1e6

# A perfectly known effect would leave no spread for its deviate.
MOST = 1 - 1e-6


def curvature(
    layout: Layout,
    terms: Sequence[tuple[int, np.ndarray, Gathering]],
    effects: np.ndarray,
    gaps: np.ndarray,
) -> sparse.csr_array:
    """Return the curvature of minus the log-likelihood (its Gauss-Newton part).

    ``[column, column]``, first the coefficients of common terms, then the varying effects.
    """
    rows, coefficients = layout.matrix.shape
    stop = layout.blocks[-1].stop
    columns = coefficients + stop - rows
    expand = sparse.block_diag(
        [sparse.csr_array(layout.matrix), sparse.eye_array(stop - rows)], format="csr"
    )
    total = sparse.csr_array((columns, columns))
    for kind, answers, at in terms:
        widths = gaps if kind == kinds.ORDINAL else np.empty(0)
        eta, own = kernel.forward(effects, *at.plain)
        sharp, spread = kernel.sharpness(effects, *at.plain)
        entering = effects[at.index] * at.weight
        by_role = [entering[:, first:stop].sum(axis=1) for first, stop in pairwise(at.roles)]
        growth, discriminated = np.exp(by_role[3]), by_role[1]
        scale = growth * (by_role[4] if at.roles[5] > at.roles[4] else 1.0)
        s, one = at.keying * sharp, np.ones(len(at.keying))
        slopes = (
            *(sharp, s * scale, s, s * scale * discriminated, s * growth * discriminated),
            *(one, eta),
        )
        for roles, direction in (((0, 1, 2, 3, 4, 6), (1.0, 0.0)), ((5,), (0.0, 1.0))):
            below, here, above = (
                _logp(eta + k * direction[0], own + k * direction[1], spread, widths, kind, answers)
                for k in (-_STEP, 0.0, _STEP)
            )
            bend = np.nan_to_num((2 * here - below - above) / _STEP**2, nan=0.0)
            bend = np.clip(bend, 0.0, _SHARPEST)
            part = np.concatenate([np.arange(at.roles[r], at.roles[r + 1]) for r in roles])
            index, sizes = at.index[:, part], [at.roles[r + 1] - at.roles[r] for r in roles]
            multiplied = np.repeat(np.array([slopes[r] for r in roles]), sizes, axis=0).T
            weight = at.weight[:, part] * multiplied
            cells = np.repeat(np.arange(len(s)), index.shape[1])
            shape = (len(s), stop)
            jacobian = sparse.csr_array((weight.ravel(), (cells, index.ravel())), shape) @ expand
            total = total + jacobian.T @ jacobian.multiply(bend[:, None]).tocsr()
    return total.tocsr()


def _logp(
    eta: np.ndarray,
    own: np.ndarray,
    spread: np.ndarray,
    gaps: np.ndarray,
    kind: int,
    answers: np.ndarray,
) -> np.ndarray:
    """Return ``[cell]`` the log-likelihood, with any shift of this spread integrated out."""
    if spread.any():
        return kernel.shifted(eta, own, spread, gaps, answers)
    return kernel.pointwise(eta, own, gaps, np.empty(0), kind, answers)


@dataclass(frozen=True)
class Observed:
    """What the answers say about a cluster's effects, given common terms and decisiveness."""

    total: np.ndarray  # ``[effect, effect]`` inverse of the covariance after the answers
    precision: np.ndarray  # ``[effect, effect]`` that without the precision of the prior
    # ``[effect, lead]`` change of an effect per unit of a coefficient, and per standard deviation
    # of an effect of decisiveness given them.
    weight: np.ndarray


@dataclass(frozen=True)
class Known:
    """The information in the answers about the varying effects, given their scales.

    ``[effect]`` variances `after` and `before` the answers, and `following` given the leading
    effects; and ``[effect, lead]`` positions of a few leading coefficients and effects, and the
    expected change of the effect per unit of each. Leading effects follow nothing, but the steps
    of a random walk all earlier ones of it.
    """

    after: np.ndarray
    before: np.ndarray
    following: np.ndarray
    index: np.ndarray
    weight: np.ndarray
    observed: tuple[Observed, ...]  # by cluster (`polbayes.fit.density.clusters`)


def known(
    layout: Layout, bend: sparse.csr_array, precision: np.ndarray, leading: np.ndarray
) -> Known:
    """Compute the marginal uncertainty of every varying effect.

    `bend` is their `curvature`, `precision` ``[column]`` that of the priors, and `leading` the
    columns that the effects may follow.
    """
    coefficients = layout.matrix.shape[1]
    groups = [block for block in layout.blocks if block.group is not None]
    shift = coefficients - layout.matrix.shape[0]
    before = 1 / precision[coefficients:]
    whole = (bend + sparse.dia_array((precision[None], 0), bend.shape)).tocsr()
    decided = shift + deciding(layout)
    single = np.setdiff1d(_single(groups, bend, shift), np.concatenate([leading, decided]))
    kept = np.setdiff1d(np.arange(len(precision)), single)
    walks = [walk for block in groups for walk in _walks(block, shift)]
    few = min(_FEW, len(leading))
    size = (len(precision), max([few, *(len(walk) - 1 for walk in walks)]))
    index, weight = np.zeros(size, dtype=int), np.zeros(size)
    together = [shift + at for at in clusters(layout)]
    if len(kept) > _LARGEST:
        rest = slice(coefficients, None)
        after = 1 / whole.diagonal()[rest]
        seen = []
        for at in together:
            still = np.zeros((len(at), coefficients + len(decided)))
            seen.append(_observed(np.diag(1 / whole.diagonal()[at]), 1 / precision[at], still))
        return Known(after, before, after, index[rest], weight[rest], tuple(seen))
    after, following = np.empty(len(precision)), np.empty(len(precision))
    inside = whole[kept][:, kept].toarray()
    if len(single):
        alone = whole.diagonal()[single]
        across = whole[single][:, kept]
        scaled = across.multiply(1 / alone[:, None]).tocsr()
        inside -= (across.T @ scaled).toarray()
    place = np.full(len(precision), -1)
    place[kept] = np.arange(len(kept))
    for block in groups:
        within = block.within()
        for code in np.unique(within[within >= 0]):
            at = shift + block.start + np.flatnonzero(within == code)
            if place[at[0]] >= 0:
                inside[np.ix_(place[at], place[at])] += _EXACT
                before[at - coefficients] *= 1 - 1 / len(at)
    inverse = linalg.inv(inside, assume_a="pos", overwrite_a=True, check_finite=False)
    lead = place[leading]
    of_lead = inverse[np.ix_(lead, lead)]
    follow = np.linalg.solve(of_lead, inverse[lead]).T
    after[kept] = inverse.diagonal()
    following[kept] = after[kept] - (follow * inverse[:, lead]).sum(axis=1)
    following[leading] = after[leading]
    spread = np.sqrt(of_lead.diagonal())
    index[kept, :few], weight[kept, :few] = _few(follow, spread)
    weight[leading] = 0.0
    rest, common = slice(coefficients, None), np.arange(coefficients)
    across = inverse[np.ix_(common, place[decided])]
    given = np.linalg.solve(inverse[np.ix_(common, common)], across).T
    following[decided] = after[decided] - (given.T * across).sum(axis=0)
    index[decided], weight[decided] = 0, 0.0
    own = min(_FEW, coefficients)
    index[decided, :own], weight[decided, :own] = _few(given, spread[:coefficients])
    number = np.full(len(precision), -1)
    number[leading] = np.arange(len(leading))
    for walk in walks:
        own = inverse[np.ix_(place[walk], place[walk])]
        for k in range(1, len(walk)):
            slopes = np.linalg.solve(own[:k, :k], own[:k, k])
            following[walk[k]] = own[k, k] - slopes @ own[:k, k]
            index[walk[k], :k], weight[walk[k], :k] = number[walk[:k]], slopes
    for first in range(0, len(single), _CHUNK):
        some = slice(first, first + _CHUNK)
        rows, at = scaled[some], single[some]
        also = -(rows @ follow)
        after[at] = 1 / alone[some] + rows.multiply(rows @ inverse).sum(axis=1)
        following[at] = after[at] - (also @ of_lead * also).sum(axis=1)
        index[at, :few], weight[at, :few] = _few(also, spread)
    seen, ahead = [], np.concatenate([common, place[decided]])
    for at in together:
        across = inverse[np.ix_(ahead, place[at])]
        slopes = np.linalg.solve(inverse[np.ix_(ahead, ahead)], across).T
        left = inverse[np.ix_(place[at], place[at])] - slopes @ across
        # Free coordinates of effects that sum to zero have the variance without the constraint.
        full = np.sqrt(before[at - coefficients] * precision[at])
        of_common, of_decided = slopes[:, :coefficients], slopes[:, coefficients:]
        weights = of_common + of_decided @ given, of_decided * np.sqrt(following[decided])
        left /= np.outer(full, full)
        seen.append(_observed(left, 1 / precision[at], np.hstack(weights)))
    return Known(after[rest], before, following[rest], index[rest], weight[rest], tuple(seen))


def _observed(after: np.ndarray, before: np.ndarray, weight: np.ndarray) -> Observed:
    """Compare a covariance after the answers with the variances before."""
    spread = np.sqrt(before)
    values, vectors = np.linalg.eigh(after / np.outer(spread, spread))
    values, vectors = np.clip(values, 1 - MOST, 1.0), vectors / spread[:, None]
    total = (vectors / values) @ vectors.T
    return Observed(total, (vectors * (1 / values - 1)) @ vectors.T, weight)


def _few(follow: np.ndarray, spread: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Keep the most important entries of each row."""
    few = min(_FEW, follow.shape[1])
    index = np.argsort(-abs(follow * spread), axis=1)[:, :few]
    return index, np.take_along_axis(follow, index, axis=1)


def _walks(block: Block, shift: int) -> list[np.ndarray]:
    """Return the columns of every random walk of a term, in their order."""
    if block.group is None or block.group.first is None:
        return []
    return [
        shift + block.start + np.flatnonzero(block.group.first == first)
        for first in np.unique(block.group.first)
    ]


def _single(groups: Sequence[Block], bend: sparse.csr_array, shift: int) -> np.ndarray:
    """Return the columns of the largest term of which every answer has exactly one effect.

    They can be eliminated by division, and are often most of the columns. Their sum-to-zero
    constraint is ignored: it matters little for many effects.
    """
    found = np.empty(0, dtype=int)
    for block in groups if bend.shape[0] > _SMALL else ():
        within = block.within()
        number = np.unique(within[within >= 0], return_counts=True)[1]
        at = np.arange(shift + block.start, shift + block.stop)
        if len(at) <= len(found) or (number < _FEW_IN_GROUP).any():
            continue
        if bend[at][:, at].nnz <= len(at):
            found = at
    return found
