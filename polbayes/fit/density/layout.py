"""All effects of a model in one vector, and which effects enter each cell and how.

With one vector of effects and one of scales, the compiled model is small for any spec;
`polbayes.fit.posterior.naming` names the posterior.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from polbayes.fit.spec.cells import Cells
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

    @property
    def stop(self) -> int:
        """End of the stretch."""
        return self.start + self.size

    @property
    def free(self) -> np.ndarray:
        """Number of free effects: all but one in a group that sums to zero."""
        within = self.within()
        # The others determine the last effect of every group.
        last = {code: at for at, code in enumerate(within) if code >= 0}
        return np.setdiff1d(np.arange(self.size), list(last.values()))

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
        blocks.append(Block(name, group, start, size, scale, tail=tail))
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
