"""The information about each varying effect, from the curvature of the likelihood at a mode.

Taken alone, a thousand answers determine the discrimination of a statement well; but the
quirks of a handful of models explain them about as well. The relevant uncertainty of an
effect is its marginal one, from the inverse of the whole curvature.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import linalg, sparse

from polbayes.fit.density import kernel
from polbayes.fit.density.ahead import Ahead, deciding, difficulties, leading, nested, own_views
from polbayes.fit.density.clusters import clusters, members
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
    expand = _columns(layout)
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
    the leading effects, where a group's mean has a coordinate those of coordinates; and
    ``[effect, lead]`` what an effect follows (`polbayes.fit.density.ahead`) and the expected change
    per unit of each: coefficients, a few leading effects, and for a view the belief. Leading
    effects follow coefficients, difficulties also discriminations and wordings also both, the steps
    of a random walk all earlier ones of it, and effects of decisiveness its coefficients.
    """

    after: np.ndarray
    before: np.ndarray
    following: np.ndarray
    index: np.ndarray
    weight: np.ndarray
    observed: tuple[Observed, ...]  # by cluster (`polbayes.fit.density.clusters`)


def known(
    layout: Layout, bend: sparse.csr_array, precision: np.ndarray, effects: np.ndarray
) -> Known:
    """Compute the marginal uncertainty of every varying effect.

    `bend` is their `curvature` at `effects` ``[effect]``, those of common terms included, and
    `precision` ``[column]`` that of the priors.
    """
    coefficients = layout.matrix.shape[1]
    leads = Ahead(layout)
    groups = [block for block in layout.blocks if block.group is not None]
    shift = coefficients - layout.matrix.shape[0]
    before = 1 / precision[coefficients:]
    whole = (bend + sparse.dia_array((precision[None], 0), bend.shape)).tocsr()
    single = _single(groups, bend, shift)
    whole = _turned(whole, layout, single)
    decisive = np.array([part == "decisiveness" for part, *_ in layout.coefficients], dtype=bool)
    common, own = np.flatnonzero(~decisive), np.flatnonzero(decisive)
    decided = shift + deciding(layout)
    ahead = np.setdiff1d(shift + leading(layout), decided)
    single = np.setdiff1d(single, np.concatenate([ahead, decided]))
    kept = np.setdiff1d(np.arange(len(precision)), single)
    walks = [walk for block in groups for walk in _walks(block, shift)]
    most = max([len(common) + min(_FEW, len(ahead)) + 2, len(own), *(len(w) - 1 for w in walks)])
    index = np.zeros((len(precision), most), dtype=int)
    weight = np.zeros(index.shape)
    together = [shift + at for at in clusters(layout)]
    varying = slice(coefficients, None)
    if len(kept) > _LARGEST:
        after = 1 / whole.diagonal()[varying]
        seen = []
        for at in together:
            still = np.zeros((len(at), coefficients))
            seen.append(_observed(np.diag(1 / whole.diagonal()[at]), 1 / precision[at], still))
        return Known(after, before, after, index[varying], weight[varying], tuple(seen))
    after, place = np.empty(len(precision)), np.full(len(precision), -1)
    place[kept] = np.arange(len(kept))
    inside, eliminated = _eliminate(whole, single, kept)
    for block in groups:
        for positions, share in block.constraints:
            at = shift + block.start + positions
            if (place[at] >= 0).all():
                inside[np.ix_(place[at], place[at])] += _EXACT * len(at) * np.outer(share, share)
                before[at - coefficients] *= 1 - share**2
    inverse = linalg.inv(inside, assume_a="pos", overwrite_a=True, check_finite=False)
    after[kept] = inverse.diagonal()
    for at, rows, variance in eliminated:
        after[at] = variance + rows.multiply(rows @ inverse).sum(axis=1)
    found = _Following(inverse, place, leads.of_columns, index, weight)
    believed = _believed(layout, leads, effects)
    found.follow_all(layout, walks, common, own, eliminated, believed)
    seen = []
    for at in together:
        slopes, left = found.given(at, common)
        # Free coordinates of effects that sum to zero have the variance without the constraint.
        full = np.sqrt(before[at - coefficients] * precision[at])
        of_common = np.zeros((len(at), coefficients))
        of_common[:, common] = slopes
        seen.append(_observed(left / np.outer(full, full), 1 / precision[at], of_common))
    following = found.variance[varying]
    return Known(after[varying], before, following, index[varying], weight[varying], tuple(seen))


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
        number: np.ndarray,
        index: np.ndarray,
        weight: np.ndarray,
    ) -> None:
        self.covariance, self.place, self.index, self.weight = covariance, place, index, weight
        self.number, self.variance = number, np.empty(len(place))

    def given(self, at: np.ndarray, leads: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return ``[at, lead]`` slopes by leads, and the ``[at, at]`` covariance given them."""
        at, leads = self.place[at], self.place[leads]
        slopes = _slopes(self.covariance, leads)[:, at].T
        left = self.covariance[np.ix_(at, at)] - slopes @ self.covariance[np.ix_(leads, at)]
        return slopes, left

    def follow_all(
        self,
        layout: Layout,
        walks: list[np.ndarray],
        common: np.ndarray,
        own: np.ndarray,
        eliminated: "_Eliminated",
        believed: "_Believed",
    ) -> None:
        """Let all columns follow what they do (`Known`), stage by stage.

        `common` are the columns of coefficients, and `own` those of decisiveness.
        """
        shift = layout.matrix.shape[1] - len(layout.matrix)
        decided, wordings = shift + deciding(layout), shift + nested(layout)
        ahead = np.setdiff1d(shift + leading(layout), decided)
        self.follow(decided, own)
        for walk in walks:
            if walk[0] in decided:
                self.walk(walk)
        self.condition(np.concatenate([own, decided]))
        # Where wordings are eliminated, all that is eliminated is theirs.
        theirs, others = [], eliminated
        if eliminated and np.isin(eliminated[0][0], wordings).any():
            theirs, others = eliminated, []
        kept = np.flatnonzero(self.place >= 0)
        rest = np.setdiff1d(kept, np.concatenate([own, decided, wordings]))
        self.follow_few(rest, common, ahead, others, believed)
        first = np.setdiff1d(ahead, wordings)
        self.follow_few(np.intersect1d(kept, wordings), common, first, theirs, believed)
        hard, together = shift + difficulties(layout), shift + members(layout)
        easy = np.setdiff1d(first, hard)
        self.follow_few(hard, common, np.setdiff1d(easy, together), [], believed)
        self.follow(easy, common)
        for walk in walks:
            if walk[0] not in decided:
                self.walk(walk)

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
        believed: "_Believed",
    ) -> None:
        """Let columns, and those eliminated, follow common ones and the most important others.

        A view follows its belief by as much as comes nearest to how it follows what that is made
        of, and the rest as other effects do. The mean of a model's wordings also follows its view.
        """
        leads = np.concatenate([common, ahead])
        lead = self.place[leads]
        of_lead, follow = self.covariance[np.ix_(lead, lead)], _slopes(self.covariance, lead).T
        first, few = len(common), min(_FEW, len(ahead))
        spread = np.sqrt(of_lead.diagonal())
        left = self.covariance.diagonal() - (follow * self.covariance[:, lead]).sum(axis=1)

        def take(at: np.ndarray, slopes: np.ndarray, with_kept: Any, variance: np.ndarray) -> None:
            view = believed.view[at]
            (has,) = np.nonzero((view >= 0) & (self.place[view] >= 0))
            own = self.place[view[has]]
            shared = with_kept(has, own) - (slopes[has] * self.covariance[own][:, lead]).sum(axis=1)
            by_view = np.zeros(len(at))
            by_view[has] = shared / left[own]
            variance[has] -= by_view[has] * shared
            slopes[has] -= by_view[has, None] * follow[own]
            number, gradient = believed.of(at, leads)
            along = (slopes * gradient * spread**2).sum(axis=1)
            length = (gradient**2 * spread**2).sum(axis=1)
            by_belief = np.divide(along, length, out=np.zeros(len(at)), where=length > 0)
            rest = slopes - by_belief[:, None] * gradient
            chosen = np.argsort(-abs(rest * spread)[:, first:], axis=1)[:, :few]
            self.variance[at], self.weight[at] = variance, 0.0
            self.index[at, :first], self.weight[at, :first] = common, rest[:, :first]
            here = slice(first, first + few)
            self.index[at, here] = self.number[ahead][chosen]
            self.weight[at, here] = np.take_along_axis(rest[:, first:], chosen, axis=1)
            self.index[at, first + few], self.weight[at, first + few] = number, by_belief
            self.index[at, first + few + 1], self.weight[at, first + few + 1] = 0, by_view
            self.index[at[has], first + few + 1] = self.number[view[has]]

        inside = self.place[at]
        take(
            *(at, follow[inside], lambda has, own: self.covariance[inside[has], own]),
            left[inside],
        )
        for at, rows, variance in eliminated:
            slopes, across = -(rows @ follow), -(rows @ self.covariance)
            whole = variance - rows.multiply(across).sum(axis=1)
            left_over = whole - (slopes @ of_lead * slopes).sum(axis=1)
            take(at, slopes, lambda has, own, across=across: across[has, own], left_over)


@dataclass(frozen=True)
class _Believed:
    """What is followed by one effect alone: beliefs, by their slopes near the mode, and views."""

    number: np.ndarray  # ``[column]`` position of a belief in what leads, 0 for none
    view: np.ndarray  # ``[column]`` that of a model's view, for a mean of its wordings; -1 for none
    slopes: sparse.csr_array  # ``[column, column]``

    def of(self, at: np.ndarray, leads: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the positions of some columns' beliefs, and their slopes by what leads."""
        return self.number[at], self.slopes[at][:, leads].toarray()


def _believed(layout: Layout, leads: Ahead, effects: np.ndarray) -> _Believed:
    beliefs, expand = leads.beliefs, _columns(layout)
    shift, columns = layout.matrix.shape[1] - len(layout.matrix), expand.shape[1]
    slopes = beliefs.slopes(effects[: expand.shape[0]]) @ expand
    number = np.zeros(columns, dtype=int)
    number[shift + beliefs.views] = leads.of_beliefs()
    view, (means, own) = np.full(columns, -1), own_views(layout)
    view[shift + means] = shift + own
    entry = np.arange(len(beliefs.views))
    ones = np.ones(len(entry)), (shift + beliefs.views, entry)
    return _Believed(number, view, sparse.csr_array(ones, (columns, len(entry))) @ slopes)


def _columns(layout: Layout) -> sparse.csr_array:
    """Return ``[effect, column]`` what effects are made of: coefficients, and themselves."""
    rest = layout.blocks[-1].stop - len(layout.matrix)
    parts = [sparse.csr_array(layout.matrix), sparse.eye_array(rest)]
    return sparse.csr_array(sparse.block_diag(parts, format="csr"))


def _turned(whole: sparse.csr_array, layout: Layout, single: np.ndarray) -> sparse.csr_array:
    """Turn precisions of effects to those of coordinates where a group's mean has one.

    Of columns that are `single`, the precisions within a group count as equal.
    """
    shift, axes, groups = layout.matrix.shape[1] - len(layout.matrix), [], 0
    diagonal = whole.diagonal()
    alike = np.zeros(len(diagonal))
    for block in (b for b in layout.blocks if b.averages):
        at, own = shift + np.arange(block.start, block.stop), block.axes.tocoo()
        axes.append((own.data, at[own.coords[0]], groups + own.coords[1]))
        groups += own.shape[1]
        if np.isin(at, single).all():
            assert block.nested is not None
            alike[at] = (np.bincount(block.nested, diagonal[at]) / np.bincount(block.nested))[
                block.nested
            ]
    if not axes:
        return whole
    data, row, column = (np.concatenate(entries) for entries in zip(*axes, strict=True))
    v = sparse.csr_array((data, (row, column)), (len(diagonal), groups))
    rest = whole - sparse.diags_array(np.where(alike > 0, diagonal, 0.0))
    across = v @ (v.T @ rest)
    turned = rest - across - across.T + v @ ((v.T @ rest @ v) @ v.T)
    return (turned + sparse.diags_array(alike)).tocsr()


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
