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
    weight: np.ndarray  # ``[effect, coefficient]`` change of an effect per unit of a coefficient


@dataclass(frozen=True)
class Known:
    """The information in the answers about the varying effects, given their scales.

    ``[effect]`` variances `after` and `before` the answers, and `following` given decisiveness and
    the leading effects; and ``[effect, lead]`` positions of coefficients and a few leading effects,
    and the expected change of the effect per unit of each. Leading effects follow coefficients, the
    steps of a random walk all earlier ones of it, and effects of decisiveness its coefficients.
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
    decisive = np.array([part == "decisiveness" for part, *_ in layout.coefficients], dtype=bool)
    common, own = np.flatnonzero(~decisive), np.flatnonzero(decisive)
    decided = shift + deciding(layout)
    ahead = np.setdiff1d(leading[coefficients:], decided)
    single = np.setdiff1d(_single(groups, bend, shift), np.concatenate([leading, decided]))
    kept = np.setdiff1d(np.arange(len(precision)), single)
    walks = [walk for block in groups for walk in _walks(block, shift)]
    few = min(_FEW, len(ahead))
    most = max([len(common) + few, len(own), *(len(walk) - 1 for walk in walks)])
    index = np.zeros((len(precision), most), dtype=int)
    weight = np.zeros(index.shape)
    together = [shift + at for at in clusters(layout)]
    rest = slice(coefficients, None)
    if len(kept) > _LARGEST:
        after = 1 / whole.diagonal()[rest]
        seen = []
        for at in together:
            still = np.zeros((len(at), coefficients))
            seen.append(_observed(np.diag(1 / whole.diagonal()[at]), 1 / precision[at], still))
        return Known(after, before, after, index[rest], weight[rest], tuple(seen))
    after, place = np.empty(len(precision)), np.full(len(precision), -1)
    place[kept] = np.arange(len(kept))
    inside, eliminated = _eliminate(whole, single, kept)
    for block in groups:
        within = block.within()
        for code in np.unique(within[within >= 0]):
            at = shift + block.start + np.flatnonzero(within == code)
            if place[at[0]] >= 0:
                inside[np.ix_(place[at], place[at])] += _EXACT
                before[at - coefficients] *= 1 - 1 / len(at)
    inverse = linalg.inv(inside, assume_a="pos", overwrite_a=True, check_finite=False)
    after[kept] = inverse.diagonal()
    for at, rows, variance in eliminated:
        after[at] = variance + rows.multiply(rows @ inverse).sum(axis=1)
    found = _Following(inverse, place, leading, index, weight)
    found.follow(decided, own)
    for walk in walks:
        if walk[0] in decided:
            found.walk(walk)
    found.condition(np.concatenate([own, decided]))
    found.follow_few(np.setdiff1d(kept, np.concatenate([own, decided])), common, ahead, eliminated)
    found.follow(ahead, common)
    for walk in walks:
        if walk[0] not in decided:
            found.walk(walk)
    seen = []
    for at in together:
        slopes, left = found.given(at, common)
        # Free coordinates of effects that sum to zero have the variance without the constraint.
        full = np.sqrt(before[at - coefficients] * precision[at])
        of_common = np.zeros((len(at), coefficients))
        of_common[:, common] = slopes
        seen.append(_observed(left / np.outer(full, full), 1 / precision[at], of_common))
    following = found.variance[rest]
    return Known(after[rest], before, following, index[rest], weight[rest], tuple(seen))


# Columns, the covariance of the others times their slopes by these, and variances given these.
_Eliminated = list[tuple[np.ndarray, sparse.csr_array, np.ndarray]]


def _eliminate(
    whole: sparse.csr_array, single: np.ndarray, kept: np.ndarray
) -> tuple[np.ndarray, _Eliminated]:
    """Return what is left of a matrix of precisions, and the eliminated columns in portions."""
    inside = whole[kept][:, kept].toarray()
    if not len(single):
        return inside, []
    variance, across = 1 / whole.diagonal()[single], whole[single][:, kept]
    scaled = across.multiply(variance[:, None]).tocsr()
    inside -= (across.T @ scaled).toarray()
    some = [slice(first, first + _CHUNK) for first in range(0, len(single), _CHUNK)]
    return inside, [(single[at], scaled[at], variance[at]) for at in some]


class _Following:
    """What every effect follows, from the covariance of all that is kept (`Known`)."""

    def __init__(
        self,
        covariance: np.ndarray,
        place: np.ndarray,
        leading: np.ndarray,
        index: np.ndarray,
        weight: np.ndarray,
    ) -> None:
        self.covariance, self.place, self.index, self.weight = covariance, place, index, weight
        self.number, self.variance = np.full(len(place), -1), np.empty(len(place))
        self.number[leading] = np.arange(len(leading))

    def given(self, at: np.ndarray, leads: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return ``[at, lead]`` slopes by leads, and the ``[at, at]`` covariance given them."""
        at, leads = self.place[at], self.place[leads]
        slopes = _slopes(self.covariance, leads)[:, at].T
        left = self.covariance[np.ix_(at, at)] - slopes @ self.covariance[np.ix_(leads, at)]
        return slopes, left

    def follow(self, at: np.ndarray, leads: np.ndarray) -> None:
        """Let some columns follow all of these leads and nothing else."""
        slopes, left = self.given(at, leads)
        self.variance[at], self.weight[at] = left.diagonal(), 0.0
        self.index[at, : len(leads)] = self.number[leads]
        self.weight[at, : len(leads)] = slopes

    def walk(self, walk: np.ndarray) -> None:
        """Let the steps of a random walk follow all earlier ones."""
        for k in range(1, len(walk)):
            self.follow(walk[k : k + 1], walk[:k])

    def condition(self, at: np.ndarray) -> None:
        """Take some columns as known from here on."""
        slopes = _slopes(self.covariance, self.place[at])
        self.covariance -= slopes.T @ self.covariance[self.place[at]]

    def follow_few(
        self,
        at: np.ndarray,
        common: np.ndarray,
        ahead: np.ndarray,
        eliminated: _Eliminated,
    ) -> None:
        """Let columns, and those eliminated, follow common ones and the most important others."""
        lead = self.place[np.concatenate([common, ahead])]
        of_lead, follow = self.covariance[np.ix_(lead, lead)], _slopes(self.covariance, lead).T
        first, few = len(common), min(_FEW, len(ahead))
        spread = np.sqrt(of_lead.diagonal()[first:])

        def take(at: np.ndarray, slopes: np.ndarray) -> None:
            chosen = np.argsort(-abs(slopes[:, first:] * spread), axis=1)[:, :few]
            self.index[at, :first], self.weight[at, :first] = common, slopes[:, :first]
            here = slice(first, first + few)
            self.index[at, here] = self.number[ahead][chosen]
            self.weight[at, here] = np.take_along_axis(slopes[:, first:], chosen, axis=1)

        take(at, follow[self.place[at]])
        left = self.covariance.diagonal() - (follow * self.covariance[:, lead]).sum(axis=1)
        self.variance[at] = left[self.place[at]]
        for at, rows, variance in eliminated:
            slopes = -(rows @ follow)
            whole = variance + rows.multiply(rows @ self.covariance).sum(axis=1)
            self.variance[at] = whole - (slopes @ of_lead * slopes).sum(axis=1)
            take(at, slopes)


def _slopes(covariance: np.ndarray, leads: np.ndarray) -> np.ndarray:
    """Return ``[lead, column]`` the slopes of all columns in a regression on some."""
    return np.linalg.solve(covariance[np.ix_(leads, leads)], covariance[leads])


def _observed(after: np.ndarray, before: np.ndarray, weight: np.ndarray) -> Observed:
    """Compare a covariance after the answers with the variances before."""
    spread = np.sqrt(before)
    values, vectors = np.linalg.eigh(after / np.outer(spread, spread))
    values, vectors = np.clip(values, 1 - MOST, 1.0), vectors / spread[:, None]
    total = (vectors / values) @ vectors.T
    return Observed(total, (vectors * (1 / values - 1)) @ vectors.T, weight)


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
