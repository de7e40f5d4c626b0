"""All effects of a model in one vector, and which effects enter each cell and how.

With one vector of effects and one of scales, the compiled model is small for any spec;
`polbayes.fit.posterior.naming` names the posterior.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
import pandas as pd
from scipy import sparse

from polbayes.fit.spec.cells import Cells, levels
from polbayes.fit.spec.spec import POSITIONS
from polbayes.fit.spec.terms import BoundGroup, BoundPart

# How a part enters the predictor (the numbers are those of `polbayes.fit.density.kernel`), and its
# sign.
_ROLES: Mapping[str, tuple[int, float]] = {
    "acquiescence": (0, 1.0),
    "wording": (0, 1.0),
    "theta": (1, 1.0),
    "difficulty": (1, -1.0),
    "steer": (2, 1.0),
    "quirk": (2, 1.0),
    "dif": (2, 1.0),
    "discrimination": (3, 1.0),
    "threshold": (5, 1.0),
    "sigma": (5, 1.0),
    "phi": (5, 1.0),
    "decisiveness": (6, 1.0),
    "validity": (0, 1.0),
    "validity_sigma": (5, 1.0),
    "validity_phi": (5, 1.0),
}

# For discriminations of either sign: see `polbayes.fit.spec.spec`.
_SIGNED: Mapping[str, tuple[int, float]] = {"discrimination": (4, 1.0), "difficulty": (2, -1.0)}

# Roles that are not those of a part: see `polbayes.fit.density.kernel`.
_OWN, _SPREAD, _ROLES_IN_ALL = 5, 7, 8

# Smaller weights are rounding errors.
_NOTHING = 1e-12

# A term is not steady if its effect changes in more than this proportion of the cells.
_OFTEN = 0.5


@dataclass(frozen=True)
class Block:
    """A term's stretch of the vector of effects."""

    part: str  # the term's part
    # The bound group-specific term, or None for the common part, whose stretch has one value for
    # each distinct combination of predictors.
    group: BoundGroup | None
    # Position and length of the stretch.
    start: int
    size: int
    # Position of the term's first scale in the vector of scales, and their number.
    scales: tuple[int, int] = (0, 0)
    # Whether two correlated coefficients are sampled as they are, not as deviates
    # (`polbayes.fit.density.mode.centre`).
    centred: bool = False
    tail: int = -1  # position of the degrees of freedom of a t distribution, -1 for normal effects
    # ``[effect]`` group whose mean has a coordinate of its own, and the sign with which an effect
    # enters that mean (`_nested`); None if there are none.
    nested: np.ndarray | None = None
    facing: np.ndarray | None = None

    @property
    def stop(self) -> int:
        """End of the stretch."""
        return self.start + self.size

    @property
    def free(self) -> np.ndarray:
        """Positions of free coordinates: all but one in a group that sums to zero."""
        return np.setdiff1d(np.arange(self.size), [at[-1] for at, _ in self.constraints])

    @cached_property
    def means(self) -> np.ndarray:
        """Positions of the coordinates of the groups' means (`nested`)."""
        return np.array([at[-1] for at in self._groups], dtype=int)

    @property
    def _groups(self) -> list[np.ndarray]:
        if self.nested is None:
            return []
        ends = np.cumsum(np.bincount(self.nested))
        return np.split(np.argsort(self.nested, kind="stable"), ends[:-1])

    @cached_property
    def reflections(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Positions and weights of the reflections from coordinates to effects, in their order.

        A reflection turns the axis of the last of some coordinates x to minus the direction of
        their weights a, a unit vector: x - v (v'x) / (1 + a_last) with v = a, but 1 + a_last last.
        Where effects sum to zero, the last coordinate is 0, so that the others give the vectors
        at right angles to a; otherwise it is minus the mean of effects, times their number's root.
        Turned independent normal coordinates are independent normal effects.
        """
        return [*self.constraints, *self.averages]

    @cached_property
    def constraints(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """The reflections that make effects sum to zero."""
        within, found = self.within(), []
        for code in np.unique(within[within >= 0]):
            share = np.where(within == code, (within == code).sum() ** -0.5, 0.0)
            for at, weight in self.averages:
                _reflect(share, at, weight)
            at = np.flatnonzero(abs(share) > _NOTHING)
            found.append((at, share[at] * np.sign(share[at[-1]])))
        return found

    @cached_property
    def averages(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """The reflections from means and what is at right angles to them (`nested`)."""
        if self.facing is None:
            return []
        facing = [self.facing[at] * self.facing[at[-1]] for at in self._groups]
        return [(at, a / math.sqrt(len(a))) for at, a in zip(self._groups, facing, strict=True)]

    def coordinates(self, effects: np.ndarray) -> np.ndarray:
        """Turn effects ``[effect]`` back into coordinates; those without a free one are 0."""
        found = effects.copy()
        for at, weight in reversed(self.reflections):
            _reflect(found, at, weight)
        return found

    @property
    def axes(self) -> sparse.csr_array:
        """Return ``[effect, group]`` V: effects times I - V V' have means as coordinates."""
        at = [np.empty(0, dtype=int), *(at for at, _ in self.averages)]
        values = [np.empty(0), *(_normal(a) / math.sqrt(1 + a[-1]) for _, a in self.averages)]
        group = np.repeat(np.arange(len(at)) - 1, [len(one) for one in at])
        entries = np.concatenate(values), (np.concatenate(at), group)
        return sparse.csr_array(entries, (self.size, len(at) - 1))

    @property
    def scale_of(self) -> np.ndarray:
        """Position of the scale of each free effect in the vector of scales."""
        return self.every_scale[self.free]

    @property
    def every_scale(self) -> np.ndarray:
        """Position of the scale of each effect in the vector of scales."""
        assert self.group is not None
        first, width = self.scales[0], len(self.group.columns)
        if self.group.matrix is not None:
            return first + np.tile(np.arange(width), len(self.group.levels))
        return first + self.group.scale_of

    def within(self) -> np.ndarray:
        """Return for each effect the number of the group it sums to zero in, -1 for none."""
        if self.group is None or self.group.centred_in is None:
            return np.full(self.size, -1)
        width = len(self.group.columns)
        return (self.group.centred_in[:, None] * width + np.arange(width)).ravel()

    @property
    def correlated(self) -> bool:
        """Whether the term's coefficients are correlated."""
        return self.group is not None and len(self.group.columns) > 1 and self.group.term.correlated

    @property
    def integrated(self) -> bool:
        """Whether the term's effects are integrated out of the sampled likelihood."""
        return self.group is not None and self.group.integrated


@dataclass(frozen=True)
class Gathering:
    """Which effects enter each cell, and how."""

    # ``[cell, term]`` position of the effect that enters; terms in the order of their roles, and
    # within a role first those that seldom change from one cell to the next.
    index: np.ndarray
    weight: np.ndarray  # ``[cell or 1, term]`` multiplier of the effect
    # Boundaries of the roles: the terms from ``roles[k]`` to ``roles[k + 1]`` enter as role k
    # (`polbayes.fit.density.kernel`).
    roles: np.ndarray
    keying: np.ndarray  # ``[cell]`` -1 or +1

    def at(self, cells: np.ndarray, *, keying: np.ndarray | None = None) -> "Gathering":
        """Return the gathering of some of the cells, with another keying if given."""
        weight = self.weight if len(self.weight) == 1 else self.weight[cells]
        keyed = self.keying[cells] if keying is None else keying
        return Gathering(self.index[cells], weight, self.roles, keyed)

    @cached_property
    def steady(self) -> np.ndarray:
        """``[role]`` position of the first term of a role that often changes from cell to cell."""
        often = _changes(self.index, self.weight).mean(axis=0) > _OFTEN
        ranges = (range(first, stop) for first, stop in pairwise(self.roles))
        return np.array([next((t for t in r if often[t]), r.stop) for r in ranges])

    @cached_property
    def fresh(self) -> np.ndarray:
        """``[cell]`` whether a steady term differs from the previous cell."""
        role = np.searchsorted(self.roles, np.arange(self.index.shape[1]), side="right") - 1
        kept = np.arange(self.index.shape[1]) < self.steady[role]
        return np.asarray(_changes(self.index, self.weight)[:, kept].any(axis=1))

    @property
    def plain(self) -> tuple[np.ndarray, ...]:
        """Its arguments of `polbayes.fit.density.kernel.forward`, in order."""
        return self.index, self.weight, self.roles, self.keying

    @property
    def arrays(self) -> Mapping[str, np.ndarray]:
        """Its arguments of `polbayes.fit.density.kernel.evaluate`, by name."""
        names = ("index", "weight", "roles", "keying", "steady", "fresh")
        return {name: getattr(self, name) for name in names}


def _reflect(values: np.ndarray, at: np.ndarray, weight: np.ndarray) -> None:
    normal = _normal(weight)
    values[at] -= normal * (normal @ values[at]) / (1 + weight[-1])


def _normal(weight: np.ndarray) -> np.ndarray:
    """Return the normal of the plane of a reflection (`Block.reflections`)."""
    found = weight.copy()
    found[-1] += 1.0
    return found


def _changes(index: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return ``[cell, term]`` whether a term enters differently than in the previous cell."""
    changed = np.ones(index.shape, dtype=bool)
    changed[1:] = index[1:] != index[:-1]
    if len(weight) > 1:
        changed[1:] |= weight[1:] != weight[:-1]
    return changed


@dataclass(frozen=True)
class Layout:
    """The positions of every term's effects."""

    # The terms in the order of the vector: common parts, then group-specific terms.
    blocks: tuple[Block, ...]
    matrix: np.ndarray  # ``[row, coefficient]`` block-diagonal design matrix of all common parts
    coefficients: tuple[tuple[str, str, str], ...]  # ``[coefficient]`` (part, term, column name)
    # ``[scale]`` (part, group name, label of the level or column it is for).
    scales: tuple[tuple[str, str, str], ...]
    # How the effects enter the predictor of the answers, and of their validity.
    answers: Gathering
    validity: Gathering | None
    # ``[tail]`` (part, group name) of the terms whose effects have a t distribution.
    tails: tuple[tuple[str, str], ...] = ()
    # Positions of the scales whose copies follow the effects in the vector, because they enter the
    # likelihood themselves.
    copies: tuple[int, ...] = ()
    # The sampled layout if a term is integrated out: without its effects, and with copies of its
    # scales. That term is the last one, so the others keep their positions.
    integrating: "Layout | None" = None

    @property
    def sampled(self) -> "Layout":
        """The sampled layout: this one if nothing is integrated out."""
        return self.integrating or self

    @property
    def size(self) -> int:
        """Length of the vector of effects, including copies of scales."""
        return self.blocks[-1].stop + len(self.copies)

    def block(self, part: str, group: BoundGroup | None) -> Block:
        """Return the stretch of one term."""
        return next(b for b in self.blocks if b.part == part and b.group is group)


def lay_out(parts: Mapping[str, BoundPart], cells: Cells) -> Layout:
    """Lay out the effects of all parts of a spec, none of them centred yet."""
    keying, held = cells.frame["keying"].to_numpy(dtype=float), cells.held
    blocks, matrix, coefficients = _common_blocks(parts)
    scales: list[tuple[str, str, str]] = []
    tails: list[tuple[str, str]] = []
    start = len(matrix)
    groups = [(part.name, group) for part in parts.values() for group in part.groups]
    groups.sort(key=lambda pair: pair[1].integrated)
    for name, group in groups:
        size = len(group.levels) * len(group.columns)
        labels = group.scales or (group.columns if group.matrix is not None else ("",))
        scale = (len(scales), len(labels))
        tail = len(tails) if group.term.heavy else -1
        block = Block(name, group, start, size, scale, tail=tail)
        blocks.append(_nested(block, cells))
        tails += [(name, group.term.name)] if group.term.heavy else []
        scales += [(name, group.term.name, label) for label in labels]
        start += size
    answering = {name: part for name, part in parts.items() if POSITIONS[name] != "validity"}
    validity = {name: part for name, part in parts.items() if POSITIONS[name] == "validity"}
    whole = Layout(
        tuple(blocks),
        matrix,
        coefficients,
        tuple(scales),
        _gathering(answering, blocks, keying, held),
        _gathering(validity, blocks, keying, held) if validity else None,
        tuple(tails),
    )
    if not blocks[-1].integrated:
        return whole
    *rest, last = blocks
    first, count = last.scales
    integrating = replace(
        whole,
        blocks=tuple(rest),
        answers=_gathering(answering, rest, keying, held, integrated=last),
        copies=tuple(range(first, first + count)),
    )
    return replace(whole, integrating=integrating)


def _nested(block: Block, cells: Cells) -> Block:
    """Give the means of every statement's wordings coordinates of their own.

    Answers determine how the wordings differ, and only the sum of their mean and the view of the
    statement, every model's or where effects are a model's its own. A wording to which agreeing
    means the opposite enters the mean with a minus.
    """
    group, factors = block.group, {"item", "variant"}
    assert group is not None
    if block.part != "wording" or not factors <= set(group.term.factors):
        return block
    if group.matrix is not None or group.term.heavy or group.integrated:
        return block
    rest = [factor for factor in group.term.factors if factor != "variant"]
    level = pd.DataFrame({"within": block.within(), "scale": group.scale_of})
    level["code"] = levels(group.levels, rest)[0]
    keying = pd.Series(cells.frame["keying"].to_numpy()).groupby(group.index).agg(["min", "max"])
    several = level.groupby("code").nunique() > 1
    if several.any(axis=None) or level["code"].is_unique or (keying["min"] < keying["max"]).any():
        return block
    return replace(
        block, nested=level["code"].to_numpy(), facing=keying["min"].to_numpy(dtype=float)
    )


def _common_blocks(
    parts: Mapping[str, BoundPart],
) -> tuple[list[Block], np.ndarray, tuple[tuple[str, str, str], ...]]:
    commons = [(name, part.common) for name, part in parts.items() if part.common]
    rows = sum(len(c.matrix) for _, c in commons)
    matrix = np.zeros((rows, sum(c.matrix.shape[1] for _, c in commons)))
    blocks, coefficients, row, column = [], [], 0, 0
    for name, common in commons:
        height, width = common.matrix.shape
        matrix[row : row + height, column : column + width] = common.matrix
        blocks.append(Block(name, None, row, height))
        coefficients += [(name, t, n) for t, n in zip(common.terms, common.names, strict=True)]
        row, column = row + height, column + width
    return blocks, matrix, tuple(coefficients)


def _gathering(
    parts: Mapping[str, BoundPart],
    blocks: list[Block],
    keying: np.ndarray,
    held: np.ndarray,
    *,
    integrated: Block | None = None,
) -> Gathering:
    columns: list[tuple[np.ndarray, np.ndarray, int]] = []
    signed = any(part.signed for part in parts.values())
    for block in blocks:
        if block.part not in parts:
            continue
        role, sign = _SIGNED.get(block.part, _ROLES[block.part]) if signed else _ROLES[block.part]
        if block.group is None:
            common = parts[block.part].common
            assert common is not None
            entering = [(common.index, np.ones(len(keying)))]
        else:
            entering = entries(block.group)
            if block.part == "decisiveness":  # which is held at one value for some models
                entering = [(index, weight * ~held) for index, weight in entering]
        for index, weight in entering:
            columns.append((block.start + index, sign * weight, role))
            if parts[block.part].widens:
                columns.append((block.start + index, weight, _OWN))
    if integrated is not None:
        assert integrated.group is not None
        scale = integrated.group.scale_of[integrated.group.index]
        columns.append((blocks[-1].stop + scale, np.ones(len(keying)), _SPREAD))
    index = np.stack([c[0] for c in columns], axis=1)
    weight = np.stack([c[1] for c in columns], axis=1)
    often = _changes(index, weight).mean(axis=0) > _OFTEN
    order = np.lexsort([often, [c[2] for c in columns]])
    index, weight = index[:, order], np.ascontiguousarray(weight[:, order])
    if (weight == weight[:1]).all():
        weight = weight[:1].copy()
    return Gathering(
        index=index.astype(np.uint32, order="C"),
        weight=weight,
        roles=np.searchsorted(np.sort([c[2] for c in columns]), np.arange(_ROLES_IN_ALL + 1)),
        keying=keying.astype(float),
    )


def entries(group: BoundGroup) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return for each entry of a term the index within its block and the weight, by cell.

    Coefficients of which each cell has exactly one, with weight 1, are one entry together. A level
    of a random walk is the sum of all steps up to it.
    """
    cells, width = len(group.index), len(group.columns)
    if group.first is not None:
        steps = group.index - group.first[group.index]
        return [
            (group.index - np.minimum(k, steps), (k <= steps).astype(float))
            for k in range(int(steps.max()) + 1)
        ]
    if group.matrix is None:
        return [(group.index, np.ones(cells) if group.entering is None else 1.0 * group.entering)]
    zero_or_one = bool(((group.matrix == 0) | (group.matrix == 1)).all())
    if zero_or_one and bool((group.matrix.sum(axis=1) == 1).all()):
        return [(group.index * width + group.matrix.argmax(axis=1), np.ones(cells))]
    return [(group.index * width + k, group.matrix[:, k]) for k in range(width)]
