"""What effects may follow, in one vector: coefficients, effects, means and positions of models.

An effect is sampled around the value that the answers suggest, given others
(`polbayes.fit.density.expansion`). These are, in the vector's order, the coefficients of common
terms; all effects, those of common terms included; the coordinates of means of a statement's
wordings; and for every view of a single statement that is sampled, the belief that the model's
position gives: discrimination times the distance from the statement. The answers determine the sum
of view and belief, which a linear function of discrimination and distance follows only near by.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from polbayes.fit.density.clusters import members
from polbayes.fit.density.kernel import DISCRIMINATED, DISCRIMINATION, LOG_DISCRIMINATION
from polbayes.fit.density.layout import Block, Layout

# In the order of a belief's entries.
_ROLES = (LOG_DISCRIMINATION, DISCRIMINATED, DISCRIMINATION)


def leads(block: Block) -> bool:
    """Whether other effects follow a term's that are sampled one by one.

    They follow discriminations: for an item far from all models the answers determine the
    product of discrimination and distance, so that both can only change together, the difficulty
    with the discrimination. And they follow difficulties, which are the mean of a handful of
    models' views of a statement. The steps of a random walk follow its earlier ones, because the
    answers determine their sum. Clusters, and means of a statement's wordings, also lead
    (`leading`).
    """
    if block.group is None or block.correlated:
        return False
    return block.part in ("discrimination", "difficulty") or block.group.first is not None


def leading(layout: Layout) -> np.ndarray:
    """Return the positions of effects that others may follow: leading terms, means, clusters.

    A model's views of single statements follow its leaning, because the answers determine their
    sum. A mean of wordings is at the position of the last of them.
    """
    pieces = [np.arange(block.start, block.stop) for block in layout.blocks if leads(block)]
    return np.concatenate([*pieces, pooled(layout), members(layout)]).astype(np.int64)


def pooled(layout: Layout) -> np.ndarray:
    """Return the positions of the coordinates of means that lead: of a statement's wordings."""
    means = [block.start + block.means for block in _of_all_models(layout)]
    return np.concatenate([*means, np.empty(0)]).astype(np.int64)


def nested(layout: Layout) -> np.ndarray:
    """Return the positions of all coordinates of wordings whose means lead."""
    wordings = [np.arange(block.start, block.stop) for block in _of_all_models(layout)]
    return np.concatenate([*wordings, np.empty(0)]).astype(np.int64)


def _of_all_models(layout: Layout) -> list[Block]:
    """Return the terms of wordings that all models share, whose means have coordinates."""
    found = [block for block in layout.blocks if block.averages]
    return [block for block in found if block.group and "model" not in block.group.term.factors]


def difficulties(layout: Layout) -> np.ndarray:
    """Return the positions of difficulties that lead."""
    own = [b for b in layout.blocks if b.part == "difficulty" and leads(b)]
    every = (np.arange(b.start, b.stop) for b in own if b.group and b.group.first is None)
    return np.concatenate([*every, np.empty(0)]).astype(np.int64)


def own_views(layout: Layout) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions of means of a model's wordings of a statement, and of its views.

    The answers determine their sums, so that the former follow the latter.
    """
    views = {}
    for block in layout.blocks:
        group = block.group
        if block.part != "quirk" or not group or set(group.term.factors) != {"model", "item"}:
            continue
        if group.matrix is None and not block.integrated and (block.within() < 0).all():
            names = group.levels[["model", "item"]].itertuples(index=False, name=None)
            views = {name: block.start + k for k, name in enumerate(names)}
    means, own = [], []
    for block in layout.blocks:
        group = block.group
        if group is None or not block.averages or "model" not in group.term.factors:
            continue
        free = block.means[np.isin(block.means, block.free)]
        level = group.levels[["model", "item"]].iloc[free]
        for at, name in zip(free, level.itertuples(index=False, name=None), strict=True):
            if name in views:
                means.append(block.start + at)
                own.append(views[name])
    return np.array(means, dtype=np.int64), np.array(own, dtype=np.int64)


def deciding(layout: Layout) -> np.ndarray:
    """Return the positions of the effects of decisiveness, on which the units depend.

    They follow coefficients of decisiveness alone, and nothing else follows them.
    """
    own = [b for b in layout.blocks if b.part == "decisiveness" and b.group and not b.correlated]
    every = (np.arange(b.start, b.stop) for b in own)
    return np.concatenate([*every, np.empty(0)]).astype(np.int64)


@dataclass(frozen=True)
class Beliefs:
    """What the positions of models say about their views."""

    views: np.ndarray  # ``[belief]`` positions of the views
    # ``[entry]`` effects that enter, and their weights: of a belief first those on the logarithm of
    # a discrimination, then those that are discriminated, then discriminations of either sign.
    entering: np.ndarray
    weight: np.ndarray
    # ``[belief, 4]`` its first entry, and where each of the three ends.
    bounds: np.ndarray

    def evaluate(self, effects: np.ndarray) -> np.ndarray:
        """Return ``[belief]`` the values."""
        growth, distance, signed = self._sums(effects)
        return growth * distance * signed

    def slopes(self, effects: np.ndarray) -> sparse.csr_array:
        """Return ``[belief, effect]`` how much they change per unit of each effect."""
        growth, distance, signed = self._sums(effects)
        by_sum = np.stack([growth * distance * signed, growth * signed, growth * distance], axis=1)
        sizes = np.diff(self.bounds, axis=1)
        slope = np.repeat(by_sum.ravel(), sizes.ravel()) * self.weight
        belief = np.repeat(np.arange(len(sizes)), sizes.sum(axis=1))
        return sparse.csr_array((slope, (belief, self.entering)), (len(sizes), len(effects)))

    def _sums(self, effects: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        ends = np.append(0.0, np.cumsum(self.weight * effects[self.entering]))
        logs, distance, signed = np.diff(ends[self.bounds], axis=1).T
        return np.exp(logs), distance, np.where(np.diff(self.bounds)[:, 2] > 0, signed, 1.0)


@dataclass(frozen=True)
class Ahead:
    """The positions in the vector."""

    layout: Layout

    @property
    def _first(self) -> int:
        return self.layout.matrix.shape[1]

    @cached_property
    def pooled(self) -> np.ndarray:
        """Positions of the effects that are coordinates of means."""
        return pooled(self.layout)

    @cached_property
    def beliefs(self) -> Beliefs:
        """The beliefs that views follow."""
        return _beliefs(self.layout)

    @cached_property
    def settled(self) -> np.ndarray:
        """Positions of what units depend on: coefficients, and effects of decisiveness."""
        return np.concatenate([np.arange(self._first), self._first + deciding(self.layout)])

    @cached_property
    def of_columns(self) -> np.ndarray:
        """``[column]`` positions of coefficients and group-specific effects."""
        layout = self.layout
        found = np.arange(self._first + layout.blocks[-1].stop)
        found[self._first + self.pooled] = self._means
        return np.delete(found, self._first + np.arange(len(layout.matrix)))

    @property
    def _means(self) -> np.ndarray:
        return self._first + self.layout.blocks[-1].stop + np.arange(len(self.pooled))

    def of_beliefs(self) -> np.ndarray:
        """``[belief]`` positions."""
        behind = self._first + self.layout.blocks[-1].stop + len(self.pooled)
        return behind + np.arange(len(self.beliefs.views))

    def values(self, coefficients: np.ndarray, effects: np.ndarray) -> np.ndarray:
        """Return the vector for effects ``[effect]``, of which those of common terms may be 0."""
        layout = self.layout
        every = effects[: layout.blocks[-1].stop].copy()
        every[: len(layout.matrix)] = layout.matrix @ coefficients
        means = [
            block.coordinates(every[block.start : block.stop])[block.means]
            for block in layout.blocks
            if np.isin(block.start + block.means, self.pooled).any()
        ]
        return np.concatenate([coefficients, every, *means, self.beliefs.evaluate(every)])


def _beliefs(layout: Layout) -> Beliefs:
    """Find the beliefs of views whose cells all have the same one."""
    at, inside = layout.answers, members(layout)
    usable = np.zeros(layout.size, dtype=bool)
    usable[: len(layout.matrix)] = usable[leading(layout)] = True
    usable[pooled(layout)] = False
    columns = [np.arange(at.roles[role], at.roles[role + 1]) for role in _ROLES]
    role, every = np.repeat(np.arange(3), [len(c) for c in columns]), np.concatenate(columns)
    own, times = at.index[:, every], np.broadcast_to(at.weight, at.index.shape)[:, every]
    views, rows = [np.empty(0, dtype=int)], [np.empty(0, dtype=int)]
    for block in layout.blocks:
        if block.part != "quirk" or not _alone(block) or block.start in inside:
            continue
        assert block.group is not None
        cell = block.group.index
        first = np.unique(cell, return_index=True)[1]
        same = (own == own[first][cell]) & (times == times[first][cell])
        fine = (same & (usable[own] | (times == 0))).all(axis=1) & (times[:, role == 1] != 0).any(1)
        there = np.flatnonzero(np.bincount(cell, ~fine) == 0)
        views.append(block.start + there)
        rows.append(first[there])
    row = np.concatenate(rows)
    enters = times[row] != 0
    sizes = np.stack([enters[:, role == k].sum(axis=1) for k in range(3)], axis=1)
    ends = np.append(0, np.cumsum(sizes))
    return Beliefs(
        np.concatenate(views),
        own[row][enters].astype(np.int64),
        np.asarray(times[row][enters], dtype=float),
        ends[3 * np.arange(len(row))[:, None] + np.arange(4)],
    )


def _alone(block: Block) -> bool:
    """Whether a term's effects are sampled one by one, each entering its cells once."""
    group = block.group
    if group is None or group.integrated or group.matrix is not None:
        return False
    return group.first is None and block.nested is None
