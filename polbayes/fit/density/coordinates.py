"""The inputs of the sampler's coordinates: information in the answers, and positions.

`polbayes.fit.density.expansion` defines the coordinates.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from polbayes.fit.density.layout import Block, Layout
from polbayes.fit.density.mode import Start, leads
from polbayes.fit.spec.spec import IN_UNITS


def known_of(layout: Layout, start: Start) -> dict[str, np.ndarray]:
    """Return the information in the answers about coefficients and effects at the mode.

    ``coefficients_mode`` ``[coefficient]``; for the effects sampled one by one, leading ones
    first, ``mode`` (h / (q + 1 / s²) with the scale s at the mode), ``total`` (q + 1 / s²) and
    ``precision`` (q), ``[effect]``; ``others_mode`` of the free correlated effects;
    ``lead`` and ``weight``, ``[effect, lead]``: positions among coefficients, effects and
    correlated effects, and the change of an effect per unit of each.
    """
    blocks = _one_by_one(layout)
    at = _joined([b.start + b.free for b in blocks])
    scale = _joined([b.scale_of for b in blocks])
    total = start.scales[scale] ** -2.0 / (1 - start.reliability[at])
    modes = [start.free(b) for b in blocks]
    correlated = [start.free(b) for b in layout.blocks if b.correlated]
    # Pairs of correlated effects come after all that are sampled one by one.
    alone = len(start.coefficients) + sum(len(b.free) for b in blocks if leads(b))
    follows = start.follows[at].astype(np.int64)
    one_by_one = sum(len(b.free) for b in blocks if not leads(b))
    return {
        "coefficients_mode": start.coefficients,
        "mode": np.concatenate([*modes, np.empty(0)]),
        "others_mode": np.concatenate([*correlated, np.empty(0)]),
        "total": total,
        "precision": total * start.reliability[at],
        "lead": np.where(follows < alone, follows, follows + one_by_one),
        "weight": start.weight[at],
    }


def known_of_pairs(block: Block, start: Start) -> np.ndarray:
    """Return precision times value, and precision, of correlated effects, ``[free effect, 2]``."""
    variance = start.scales[block.scale_of] ** 2
    reliability = start.reliability[block.start + block.free]
    total = 1 / (variance * (1 - reliability))
    return np.stack([start.free(block) * total, reliability * total], axis=1)


def places_of(layout: Layout) -> dict[str, np.ndarray]:
    """Return the positions in the vector of effects.

    ``matrix`` ``[row, coefficient]``; ``scale`` and ``place`` of the effects sampled one by
    one, in the order of `known_of`; ``correlated``: positions of the others; ``group`` ``[effect]``
    in which an effect sums to zero, -1 for none; ``share`` ``[effect]`` of the group's sum to
    subtract from it; ``copied``: positions of the scales that follow them; ``tail``: positions of
    the degrees of freedom of the effects sampled one by one, -1 for a normal distribution.
    """
    blocks = _one_by_one(layout)
    correlated = [b.start + b.free for b in layout.blocks if b.correlated]
    group = np.full(layout.blocks[-1].stop, -1)
    share, number = np.zeros(len(group)), 0
    for block in layout.blocks:
        within, free = block.within(), np.zeros(block.size, dtype=bool)
        free[block.free] = True
        for code in np.unique(within[within >= 0]):
            here = within == code
            n = here.sum()
            group[block.start + np.flatnonzero(here)] = number
            share[block.start + np.flatnonzero(here & free)] = 1 / (n + math.sqrt(n))
            share[block.start + np.flatnonzero(here & ~free)] = 1 / math.sqrt(n)
            number += 1
    return {
        "matrix": np.ascontiguousarray(layout.matrix),
        "scale": _joined([b.scale_of for b in blocks]),
        "place": _joined([b.start + b.free for b in blocks]),
        "correlated": _joined(correlated),
        "group": group,
        "share": share,
        "copied": np.array(layout.copies, dtype=np.int64),
        "tail": _joined([np.full(len(b.free), b.tail) for b in blocks]),
    }


def unit_of(
    layout: Layout, start: Start, known: Mapping[str, np.ndarray]
) -> tuple[np.ndarray, ...]:
    """Return the weights for sampling in logits, the unit about which the answers say most.

    The answers inform effects in logits. The size of a logit in units of statement spread depends
    on the overall decisiveness of the models: the mean d of their log decisiveness, weighted by the
    information in the answers. Everything in the predictor is therefore sampled in the
    unit it has at the mode, that is multiplied by exp(d - d at the mode).

    Returned are the slopes of d by ``[coefficient]`` and ``[effect]`` (coordinates at the
    scales of the mode); coefficients at the mode; and whether ``[coefficient, scale and gap]`` and
    ``[effect]``, including copies of scales, have the unit: nothing does without decisiveness.
    """
    own = [b for b in layout.blocks if b.part == "decisiveness"]
    coefficients, deviates = np.zeros(len(start.coefficients)), np.zeros(len(known["mode"]))
    first = 0
    for block in _one_by_one(layout):
        here = slice(first, first + len(block.free))
        first = here.stop
        if block.part == "decisiveness":
            deviates[here] = known["precision"][here] / known["total"][here]
    if deviates.any():
        deviates /= deviates.sum()
        for effect in np.flatnonzero(deviates):
            lead, weight = known["lead"][effect], known["weight"][effect]
            followed = lead < len(coefficients)
            np.add.at(coefficients, lead[followed], deviates[effect] * weight[followed])
        deviates /= np.sqrt(known["total"])
    for block in own:
        if block.group is None:
            coefficients += layout.matrix[block.start : block.stop].mean(axis=0)
    scaled = [bool(own) and part in IN_UNITS for part, _, _ in layout.scales]
    common = [bool(own) and part in IN_UNITS for part, _, _ in layout.coefficients]
    effects = [np.full(b.size, bool(own) and b.part in IN_UNITS) for b in layout.blocks]
    return (
        coefficients,
        deviates,
        start.coefficients,
        np.array([*common, *scaled, *np.full(len(start.gaps), bool(own))], dtype=bool),
        np.concatenate([*effects, np.array([scaled[k] for k in layout.copies], dtype=bool)]),
    )


def _one_by_one(layout: Layout) -> list[Block]:
    """Return the terms whose effects are sampled one by one, leading ones first."""
    alone = [b for b in layout.blocks if b.group is not None and not b.correlated]
    return sorted(alone, key=lambda block: not leads(block))


def _joined(pieces: Sequence[np.ndarray]) -> np.ndarray:
    return np.concatenate([*pieces, np.empty(0, dtype=int)]).astype(np.int64)


def draw(
    rng: np.random.Generator,
    b: np.ndarray,
    sd: np.ndarray,
    others: np.ndarray,
    nu: np.ndarray,
    known: Mapping[str, np.ndarray],
    scale: np.ndarray,
    tail: np.ndarray,
) -> np.ndarray:
    """Draw coordinates ``[effect]`` from their prior, given coefficients and scales."""
    z = rng.standard_normal(len(scale))
    heavy = tail >= 0
    z[heavy] = rng.standard_t(nu[tail[heavy]])
    s, mode = sd[scale], known["mode"]
    ahead = np.concatenate(
        [b - known["coefficients_mode"], s * z - mode, others - known["others_mode"]]
    )
    moved = (ahead[known["lead"]] * known["weight"]).sum(axis=1)
    spread = np.sqrt(1 + known["precision"] * s**2)
    return z * spread - s * (mode + moved) * known["total"] / spread
