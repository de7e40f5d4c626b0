"""What the sampler's coordinates are made of: what the answers know, and where everything is.

What they mean is in `polbayes.fit.density.expansion`.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from polbayes.fit.density.layout import Block, Layout
from polbayes.fit.density.mode import Start, leads
from polbayes.fit.spec.spec import IN_UNITS


def known_of(layout: Layout, start: Start) -> dict[str, np.ndarray]:
    """Return what the answers know of coefficients and effects at the mode.

    ``coefficients_mode`` ``[coefficient]``; of the effects that are drawn one by one, those that
    lead first, ``mode`` (h / (q + 1 / s²) with the scale s at the mode), ``total`` (q + 1 / s²) and
    ``precision`` (q), ``[effect]``; ``others_mode`` of the correlated effects that are free;
    ``lead`` and ``weight``, ``[effect, lead]``: places among coefficients, effects and correlated
    effects, and how far an effect moves with them.
    """
    blocks = _one_by_one(layout)
    at = _joined([b.start + b.free for b in blocks])
    scale = _joined([b.scale_of for b in blocks])
    total = start.scales[scale] ** -2.0 / (1 - start.reliability[at])
    modes = [start.free(b) for b in blocks]
    correlated = [start.free(b) for b in layout.blocks if b.correlated]
    # Pairs of correlated effects stand behind all that are drawn one by one.
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
    """Return where everything is in the vector of effects.

    ``matrix`` ``[row, coefficient]``; ``scale`` and ``place`` of the effects that are drawn one by
    one, in the order of `known_of`; ``correlated``: places of the others; ``group`` ``[effect]`` in
    which an effect sums to zero, -1 for none; ``share`` ``[effect]`` of the group's sum that is
    taken from it; ``copied``: places of the scales that stand behind them; ``tail``: places of the
    degrees of freedom of the effects that are drawn one by one, -1 for a normal distribution.
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
    """Return what it takes to draw in a unit of which the answers know more than of their own.

    The answers know effects in logits. How many units of statement spread these are hangs on how
    decisive models are on the whole: on the mean d of the logarithms of their decisiveness, each
    with the weight of what the answers know of it. What the predictor has is therefore drawn in the
    unit that it has at the mode: as it is, times exp(d - d at the mode).

    Returned are how d changes with ``[coefficient]`` and with ``[effect]`` (coordinates at the
    scales of the mode); coefficients at the mode; whether ``[coefficient, scale and gap]`` and
    ``[effect]``, copies of scales included, have the unit: nothing has without decisiveness.
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
    """Return the terms whose effects are drawn one by one, those first that others follow."""
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
