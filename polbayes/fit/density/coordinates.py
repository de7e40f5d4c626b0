"""The inputs of the sampler's coordinates: information in the answers, and positions.

`polbayes.fit.density.expansion` defines the coordinates.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from polbayes.fit.density.clusters import clusters, deciding, leading, leads, members
from polbayes.fit.density.layout import Layout
from polbayes.fit.density.mode import Start
from polbayes.fit.spec.spec import IN_UNITS


def known_of(layout: Layout, start: Start, *, jointly: bool) -> dict[str, np.ndarray]:
    """Return the information in the answers about coefficients and effects at the mode.

    ``coefficients_mode`` ``[coefficient]``; for the effects sampled one by one, leading ones
    first, ``mode`` (h / (q + 1 / s²) with the scale s at the mode), ``total`` (q + 1 / s²) and
    ``precision`` (q), ``[effect]``; ``others_mode`` of the free effects in clusters, or if not
    `jointly` of the correlated ones; ``lead`` and ``weight``, ``[effect, lead]``: positions among
    coefficients, effects and others, and the change of an effect per unit of each.
    """
    at, others = _one_by_one(layout, jointly), _others(layout, jointly)
    mode, scale = _at_mode(layout, start, jointly), scales_of(layout)
    total = start.scales[scale[at]] ** -2.0 / (1 - start.reliability[at])
    coefficients = len(start.coefficients)
    place = np.zeros(len(mode), dtype=np.int64)
    place[np.concatenate([at, others])] = coefficients + np.arange(len(at) + len(others))
    lead = np.concatenate([np.arange(coefficients), place[leading(layout)]])
    # What other effects determine is no coordinate.
    there = (np.arange(len(lead)) < coefficients) | (lead > 0)
    return {
        "coefficients_mode": start.coefficients,
        "mode": mode[at],
        "others_mode": mode[others],
        "total": total,
        "precision": total * start.reliability[at],
        "lead": lead[start.follows[at]] if len(lead) else start.follows[at],
        "weight": start.weight[at] * there[start.follows[at]] if len(lead) else start.weight[at],
    }


def _at_mode(layout: Layout, start: Start, jointly: bool) -> np.ndarray:
    """Return ``[effect]`` free coordinates at the mode, but the effects themselves in clusters."""
    found = np.zeros(layout.blocks[-1].stop)
    for block in layout.blocks:
        if block.group is not None:
            found[block.start + block.free] = start.free(block)
    if jointly:
        found[members(layout)] = start.effects[members(layout)]
    return found


def scales_of(layout: Layout) -> np.ndarray:
    """Return ``[effect]`` the position of the scale of every effect, -1 for common terms."""
    found = np.full(layout.blocks[-1].stop, -1)
    for block in layout.blocks:
        if block.group is not None:
            found[block.start : block.stop] = block.every_scale
    return found


def joint_of(
    layout: Layout,
    start: Start,
    unit: tuple[np.ndarray, ...],
    scale: Mapping[int, int],
    cor: Mapping[int, int],
) -> tuple[np.ndarray, ...]:
    """Return the arguments of `polbayes.fit.density.joint.expand` after the values.

    `scale` maps a scale, and `cor` a correlated effect that comes second, to a position among the
    values.
    """
    at, table, first, matrix = members(layout), [], 0, 0
    seen, empty = start.observed, np.empty(0)
    group, terms, held = _zero_sums(layout, start, scale, cor)
    totals, precisions = [], []
    for effects, one in zip(clusters(layout), seen, strict=True):
        table.append([first, len(effects), matrix])
        own = group[first : first + len(effects)]
        first, matrix = first + len(effects), matrix + len(effects) ** 2
        prior = start.scales[scales_of(layout)[effects]] ** -2.0
        totals.append(hold(one.total, own, held, prior).ravel())
        precisions.append(hold(one.precision, own, held, 0.0 * prior).ravel())
    slopes, deviates, _, numbers, whole = unit
    decided = decided_of(layout)
    slopes = np.concatenate([slopes, deviates[decided]])
    weight = np.concatenate([*(one.weight for one in seen), np.empty((0, len(slopes)))])
    # Decisiveness, which has no unit, is followed by its coordinate.
    coefficients = len(start.coefficients)
    followed = np.zeros(len(slopes))
    followed[:coefficients] = start.coefficients * numbers[:coefficients]
    weight = _grown(weight, followed, slopes, start.effects[at], whole[at])
    return (
        np.array(table, dtype=np.int64).reshape(len(table), 3),
        np.array([scale[k] for k in scales_of(layout)[at]], dtype=np.int64),
        np.array([cor.get(int(k), -1) for k in at], dtype=np.int64),
        start.effects[at],
        weight,
        np.concatenate([*totals, empty]),
        np.concatenate([*precisions, empty]),
        group,
        terms,
        held,
    )


def hold(
    precision: np.ndarray, group: np.ndarray, held: np.ndarray, prior: np.ndarray
) -> np.ndarray:
    """Give the mean of effects of one cluster that sum to zero the precision it is held with.

    `precision` is the ``[effect, effect]`` one of the cluster, by the constraint without bound for
    their sum; `group`, `held` are those of `polbayes.fit.density.joint.expand`, and `prior` is the
    ``[effect]`` precision to add.
    """
    found = precision.copy()
    for code in np.unique(group[group >= 0]):
        here = np.flatnonzero(group == code)
        if len(here) > 1:
            found[here] -= found[here].mean(axis=0)
            found[:, here] -= found[:, here].mean(axis=1, keepdims=True)
            found[np.ix_(here, here)] += (held[code] + prior[here[0]]) / len(here)
    return found


def decided_of(layout: Layout) -> np.ndarray:
    """Return the positions of the effects of decisiveness among those sampled one by one."""
    return np.flatnonzero(np.isin(_one_by_one(layout, True), deciding(layout)))


def _zero_sums(
    layout: Layout, start: Start, scale: Mapping[int, int], cor: Mapping[int, int]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return ``group``, ``terms`` and ``held`` (see `polbayes.fit.density.joint.expand`)."""
    at, terms = members(layout), []
    held: list[float] = []
    group = np.full(layout.blocks[-1].stop, -1)
    for block in (b for b in layout.blocks if b.group is not None and b.start in at):
        within, pair = block.within(), block.correlated
        for code in np.unique(within[within >= 0]):
            here = block.start + np.flatnonzero(within == code)
            group[here] = len(held)
            known = start.reliability[here].mean()
            first, second = scales_of(layout)[here[0]], block.scales[0] + 1
            held.append(known / (1 - known) / start.scales[first] ** 2)
            if pair and code % 2:
                continue  # it has come with the first coefficient
            both = (len(held), scale[second], cor[int(here[0]) + 1]) if pair else (-1, 0, 0)
            terms.append([len(held) - 1, both[0], scale[first], both[1], both[2]])
    return group[at], np.array(terms, dtype=np.int64).reshape(len(terms), 5), np.array(held, float)


def places_of(layout: Layout, *, jointly: bool) -> dict[str, np.ndarray]:
    """Return the positions in the vector of effects.

    ``matrix`` ``[row, coefficient]``; ``scale`` and ``place`` of the effects sampled one by
    one, in the order of `known_of`; ``others``: positions of the others; ``group`` ``[effect]``
    in which an effect sums to zero, -1 for none; ``share`` ``[effect]`` of the group's sum to
    subtract from it; ``copied``: positions of the scales that follow them; ``tail``: positions of
    the degrees of freedom of the effects sampled one by one, -1 for a normal distribution.
    """
    at = _one_by_one(layout, jointly)
    tail = np.full(layout.blocks[-1].stop, -1)
    for block in layout.blocks:
        tail[block.start : block.stop] = block.tail
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
    if jointly:
        group[members(layout)] = -1
    return {
        "matrix": np.ascontiguousarray(layout.matrix),
        "scale": scales_of(layout)[at],
        "place": at,
        "others": _others(layout, jointly),
        "group": group,
        "share": share,
        "copied": np.array(layout.copies, dtype=np.int64),
        "tail": tail[at],
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
    for block in own:
        if block.group is not None:
            here = np.isin(_one_by_one(layout, True), block.start + block.free)
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


def in_logits(
    layout: Layout, known: Mapping[str, np.ndarray], unit: tuple[np.ndarray, ...]
) -> np.ndarray:
    """Return ``[effect, lead]`` the weights of `known_of` for effects sampled in the `unit_of`."""
    slopes, _, of_coefficients, numbers, whole = unit
    values = np.concatenate([of_coefficients, known["mode"], known["others_mode"]])
    at, others = _one_by_one(layout, True), _others(layout, True)
    grows = np.concatenate([numbers[: len(slopes)], whole[at], whole[others]])
    lead, weight = known["lead"], known["weight"]
    if not weight.size:
        return weight
    by = np.concatenate([slopes, np.zeros(len(at) + len(others))])
    return _grown(weight, (values * grows)[lead], by[lead], known["mode"], whole[at])


def _grown(
    weight: np.ndarray,
    followed: np.ndarray,
    slopes: np.ndarray,
    mode: np.ndarray,
    whole: np.ndarray,
) -> np.ndarray:
    """Return ``[effect, lead]`` weights of effects that are sampled in logits if `whole`.

    An effect in units whose log size has the slope c by a coefficient is, in logits, multiplied by
    exp(c b). Its mode changes by c times the mode more, less what it follows in the same unit, as
    that has already done so: `followed`, 0 for what has no unit. A weight of 0 is none at all.
    """
    more = np.where(whole, mode - (weight * followed).sum(axis=1), 0.0)
    return weight + np.where(weight != 0, more[:, None] * slopes, 0.0)


def _one_by_one(layout: Layout, jointly: bool) -> np.ndarray:
    """Return the positions of the effects that are sampled one by one, leading ones first."""
    alone = [b for b in layout.blocks if b.group is not None and not b.correlated]
    at = _joined([b.start + b.free for b in sorted(alone, key=lambda block: not leads(block))])
    inside = np.isin(at, members(layout))
    if jointly:
        return at[~inside]
    first = np.isin(at, leading(layout))
    return np.concatenate([at[first & ~inside], at[inside], at[~first]])


def _others(layout: Layout, jointly: bool) -> np.ndarray:
    """Return the positions of all other effects: those of clusters, or free correlated ones."""
    if jointly:
        return members(layout)
    return _joined([b.start + b.free for b in layout.blocks if b.correlated])


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
