"""The inputs of the sampler's coordinates: information in the answers, and positions.

`polbayes.fit.density.expansion` defines the coordinates.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from polbayes.fit.density import expansion, kernel
from polbayes.fit.density.ahead import Ahead, deciding, difficulties, leading, nested, own_views
from polbayes.fit.density.clusters import clusters, members
from polbayes.fit.density.layout import Block, Layout
from polbayes.fit.density.mode import Start
from polbayes.fit.density.units import entering, noise_of
from polbayes.fit.spec.cells import Cells, levels
from polbayes.fit.spec.spec import IN_UNITS

# Parts whose effects are on the logarithm of a width, which is measured in units of answers.
_WIDTHS = ("threshold", "sigma")


def known_of(
    layout: Layout, start: Start, units: "Units", *, jointly: bool
) -> tuple[np.ndarray, ...]:
    """Return the arguments `KNOWN` of `polbayes.fit.density.expansion.expand`.

    They are the information in the answers at the mode about the effects sampled one by one, or
    about coordinates of theirs: ``total`` (q + 1 / s²), ``precision`` (q) and ``base``, the mode
    (h / (q + 1 / s²) with the scale s at the mode) where all leads are 0, ``[effect]``; ``lead``
    and ``weight`` ``[effect, lead]``: positions (`polbayes.fit.density.ahead`), and the change of
    an effect per unit of each; and ``stop`` ``[effect, 2]``, the number of leads that have a unit,
    which come first, and of all.
    """
    at, ahead = one_by_one(layout, jointly)[0], Ahead(layout)
    scale, mode = scales_of(layout)[at], ahead.values(start.coefficients, start.effects)
    total = start.scales[scale] ** -2.0 / (1 - start.reliability[at])
    lead, weight = start.follows[at], start.weight[at]
    united = units.united(ahead)[lead]
    order = np.argsort(np.where(weight == 0, 2, np.where(united, 0, 1)), kind="stable")
    lead, weight, united = (np.take_along_axis(a, order, axis=1) for a in (lead, weight, united))
    used = weight != 0
    stop = np.stack([(used & united).sum(axis=1), used.sum(axis=1)], axis=1)
    base = _at_mode(layout, start)[at] - (weight * mode[lead]).sum(axis=1)
    return base, total, total * start.reliability[at], lead, weight, stop


def _at_mode(layout: Layout, start: Start) -> np.ndarray:
    """Return ``[effect]`` coordinates at the mode."""
    found = np.zeros(layout.blocks[-1].stop)
    for block in layout.blocks:
        if block.group is not None:
            here = slice(block.start, block.stop)
            found[here] = block.coordinates(start.effects[here])
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
    units: "Units",
    scale: Mapping[int, int],
    cor: Mapping[int, int],
) -> tuple[np.ndarray, ...]:
    """Return the arguments of `polbayes.fit.density.joint.expand` after log g.

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
    common = _commons(layout, group, len(held))
    weight = np.concatenate([*(one.weight for one in seen), np.empty((0, len(start.coefficients)))])
    for (first, count, _), one in zip(table, seen, strict=True):
        here = slice(first, first + count)
        mean = np.append(common, -1)[group[here]]  # -1 where there is no group
        weight[here, np.unique(mean[mean >= 0])] = 0.0
        for k, known in enumerate(np.linalg.solve(one.total, one.precision).T):
            if mean[k] >= 0:
                weight[here, mean[k]] -= known
    return (
        np.array(table, dtype=np.int64).reshape(len(table), 3),
        np.array([scale[k] for k in scales_of(layout)[at]], dtype=np.int64),
        np.array([cor.get(int(k), -1) for k in at], dtype=np.int64),
        units.effects[at],
        units.stretched[at],
        start.effects[at],
        weight,
        start.coefficients,
        units.common,
        np.concatenate([*totals, empty]),
        np.concatenate([*precisions, empty]),
        group,
        terms,
        np.where(common >= 0, 0.0, held),
        common,
    )


def _commons(layout: Layout, group: np.ndarray, groups: int) -> np.ndarray:
    """Return ``[group]`` the coefficient that is the mean of effects that sum to zero, -1 for none.

    All effects of the group may then change by as much as the coefficient changes the other way.
    """
    found, at, effects = np.full(groups, -1), layout.answers, members(layout)
    weight = np.broadcast_to(at.weight, at.index.shape)
    group_of = np.full(layout.size, -1)
    group_of[effects] = group
    entering = group_of[at.index]
    whole = np.bincount(entering.ravel() + 1, weights=weight.ravel(), minlength=groups + 1)[1:]
    for k, (part, *_) in enumerate(layout.coefficients):
        column = np.zeros(layout.size)
        column[: len(layout.matrix)] = layout.matrix[:, k]
        wanted = (weight * column[at.index]).sum(axis=1)
        for code in np.flatnonzero(np.isclose(whole, wanted.sum())):
            first = effects[group == code][0]
            own = next(b.part for b in layout.blocks if b.start <= first < b.stop)
            enters = (weight * (entering == code)).sum(axis=1)
            if own == part and np.array_equal(wanted, enters):
                found[code] = k
    return found


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


def places_of(layout: Layout, *, jointly: bool) -> tuple[np.ndarray, ...]:
    """Return the arguments `PLACES` of `polbayes.fit.density.expansion.expand`.

    They are ``matrix`` ``[row, coefficient]``; ``scale`` and ``place`` of the effects sampled one
    by one, in the order of `known_of`; ``others``: positions of the others; ``summed``: positions
    of the effects that sums determine; ``copied``: positions of the scales that follow them;
    ``tail``: positions of the degrees of freedom of the effects sampled one by one, -1 for a normal
    distribution; ``stages`` ``[stage, 2]``, the numbers of effects sampled one by one and of
    reflections before each stage, and before the end; of the reflections, ``turned`` and ``share``,
    positions and weights, and ``until``, their number before each reflection, and before the end;
    and, of what effects follow, ``pooled``, positions of means, and ``entering``, ``factor`` and
    ``bounds`` of the beliefs.
    """
    at, effects = one_by_one(layout, jointly)
    tail = np.full(layout.blocks[-1].stop, -1)
    for block in layout.blocks:
        tail[block.start : block.stop] = block.tail
    others = _others(layout, jointly)
    common = np.arange(len(layout.matrix))
    summed = np.setdiff1d(np.arange(len(tail)), np.concatenate([common, at, others]))
    turned, share, until, reflections = _reflections(layout, jointly)
    ahead = Ahead(layout)
    beliefs = ahead.beliefs
    return (
        np.ascontiguousarray(layout.matrix),
        *(scales_of(layout)[at], at, others, summed),
        *(np.array(layout.copies, dtype=np.int64), tail[at]),
        np.stack([effects, reflections], axis=1),
        *(turned, share, until, ahead.pooled),
        *(beliefs.entering, beliefs.weight, beliefs.bounds),
    )


def _reflections(
    layout: Layout, jointly: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return ``turned``, ``share`` and ``until`` (see `places_of`), and numbers by stage.

    Means of wordings lead after the constraint on these, before they are turned to effects.
    """
    inside, special = members(layout), _special(layout)
    ahead = np.concatenate([leading(layout), _others(layout, jointly)])
    stages: list[list[tuple[np.ndarray, np.ndarray]]] = [[] for _ in range(expansion.REST + 1)]
    for block in layout.blocks:
        if jointly and block.start in inside:
            continue
        stage = expansion.LEADING if block.start in ahead else expansion.REST
        for number, at in special.items():
            stage = number if block.start in at else stage
        stages[stage] += [(block.start + at, weight) for at, weight in block.constraints]
        stages[-1] += [(block.start + at, weight) for at, weight in block.averages]
    every = [reflection for stage in stages for reflection in stage]
    return (
        _joined([at for at, _ in every]),
        np.concatenate([*(weight for _, weight in every), np.empty(0)]),
        np.cumsum([0, *(len(at) for at, _ in every)]),
        np.cumsum([0, *map(len, stages)]),
    )


@dataclass(frozen=True)
class Units:
    """Which unit everything is sampled in (`polbayes.fit.density.units`).

    A unit is the number of a model's g or g', that of widths or what else models share, or the last
    one: none.
    """

    of_models: tuple[np.ndarray, ...]  # arguments of `polbayes.fit.density.units.evaluate`
    numbers: np.ndarray  # ``[number]`` of coefficients, scales and distances of cutpoints
    effects: np.ndarray  # ``[effect]``
    # ``[coefficient]`` and ``[effect]`` whether it has a unit, in whichever one it is sampled: what
    # follows it does so in units.
    common: np.ndarray
    varying: np.ndarray
    # ``[effect, 2]`` for an effect on the logarithm of a width, the unit in which it is a constant
    # and that of what widths have in common; -1 for other effects.
    stretched: np.ndarray

    def united(self, ahead: Ahead) -> np.ndarray:
        """Return for all that leads whether it has a unit."""
        beliefs = np.ones(len(ahead.beliefs.views), dtype=bool)
        return np.concatenate([self.common, self.varying, self.varying[ahead.pooled], beliefs])

    def arrays(self, layout: Layout, *, jointly: bool) -> tuple[np.ndarray, ...]:
        """Return the arguments `UNITS` of `polbayes.fit.density.expansion.expand`."""
        at, _ = one_by_one(layout, jointly)
        return (*self.of_models, self.effects[at], self.stretched[at])


def units_of(layout: Layout, start: Start, cells: Cells) -> Units:
    """Find the units.

    Effects of a model and scales of its own are in its unit, all others in the common one. Where
    views of single statements are sampled, g' is the unit of a model's effects that do not differ
    between prompts if answers are points of a scale; coefficients, common scales and what
    statements share over models have none, as they are known from the views, whose spread is one.
    Nor has the scale of what is integrated out, which is part of the noise.
    """
    names = levels(cells.frame, ["model"])[1]["model"]
    number, models = {name: k for k, name in enumerate(names)}, len(names)
    own = [b for b in layout.blocks if b.part == "decisiveness"]
    level, plain = 2 * models, 2 * models + 2
    shared = 2 * models + 1 if own else plain
    # Widths that sum to zero are relative to their mean.
    summed = any(b.part == "threshold" and (b.within() >= 0).any() for b in layout.blocks)
    wide = level if own and summed else shared
    viewed = any(b.part == "quirk" for b in layout.blocks)
    numbers = [
        np.array([plain if viewed or part not in IN_UNITS else shared for part, *_ in some])
        for some in (layout.coefficients, layout.scales)
    ]
    effects = np.full(layout.blocks[-1].stop, plain)
    stretched = np.full((len(effects), 2), -1)
    for block in layout.blocks:
        group, here = block.group, slice(block.start, block.stop)
        if group is None or not own:
            continue
        width, by_model = len(group.columns), "model" in group.levels
        unit = np.full(block.size, shared)
        if by_model:
            unit = np.repeat(group.levels["model"].map(number).to_numpy(), width)
            if block.part in _WIDTHS:
                stretched[here, 0] = unit
                stretched[here, 1] = wide if block.part == "threshold" else plain
            if viewed and cells.counts.size and not _by_prompt(layout, cells, block):
                unit = models + unit
        elif viewed and "item" in group.levels and (cells.counts.size or not block.averages):
            unit[:] = plain
        if block.part in IN_UNITS:
            effects[here] = unit
            for scale in range(block.scales[0], sum(block.scales)):
                used = np.unique(unit[block.every_scale == scale])
                if not viewed or (len(used) == 1 and used[0] < models):
                    numbers[1][scale] = used[0] if len(used) == 1 else shared
    numbers[1][list(layout.copies)] = plain
    gaps = np.full(len(start.gaps), wide)
    common = [bool(own) and part in IN_UNITS for part, *_ in layout.coefficients]
    every = [np.full(b.size, bool(own) and b.part in IN_UNITS) for b in layout.blocks]
    return Units(
        _of_models(layout, start, cells),
        np.concatenate([*numbers, gaps]).astype(int),
        effects,
        np.array(common, dtype=bool),
        np.concatenate(every),
        stretched,
    )


def _by_prompt(layout: Layout, cells: Cells, block: Block) -> bool:
    """Whether an answer to another wording or prefix has another effect of a term."""
    at = layout.answers.index
    row, column = np.nonzero((at >= block.start) & (at < block.stop))
    asked = levels(cells.frame, ["model", "item"])[0][row]
    effects = np.unique(np.stack([asked, at[row, column]]), axis=1)[0]
    return bool((np.diff(effects) == 0).any())


def _of_models(layout: Layout, start: Start, cells: Cells) -> tuple[np.ndarray, ...]:
    """Return the arguments of `polbayes.fit.density.units.evaluate` after the first two.

    They are followed by the positions of coefficients and effects that decisiveness consists of,
    and by their values at the mode (``settled`` and ``middle``).
    """
    rows, ahead = len(layout.matrix), Ahead(layout)
    scales = start.scales[np.array(layout.copies, dtype=int)]
    everything = np.concatenate([start.everything(layout), scales])
    sharp = entering(layout, cells, kernel.DECISIVENESS)
    at = sharp @ everything
    spread = entering(layout, cells, kernel.SPREAD)[:, layout.blocks[-1].stop :]
    noise = [noise_of(*of_model) for of_model in zip(at, spread @ scales, strict=True)]
    slopes = np.hstack([sharp[:, :rows] @ layout.matrix, sharp[:, deciding(layout)]])
    weight = sharp[:, : layout.blocks[-1].stop] @ start.reliability + 1e-6
    middle = ahead.values(start.coefficients, start.effects)[ahead.settled]
    of_models = (slopes, at, np.ascontiguousarray(spread), np.array(noise), weight / weight.sum())
    return (*of_models, ahead.settled, middle)


def one_by_one(layout: Layout, jointly: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions of the effects, or coordinates, that are sampled one by one.

    They come in the order of the stages of `polbayes.fit.density.expansion`. The second result are
    the numbers of those before each stage, and of all.
    """
    alone = [b for b in layout.blocks if b.group is not None and not b.correlated]
    every, inside = _joined([b.start + b.free for b in alone]), members(layout)
    if jointly:
        every = every[~np.isin(every, inside)]
    stage = np.full(len(every), expansion.REST)
    stage[np.isin(every, leading(layout))] = expansion.LEADING
    for number, at in _special(layout).items():
        stage[np.isin(every, at)] = number
    numbers = np.bincount(stage, minlength=expansion.REST + 1)
    order = np.lexsort([np.isin(every, own_views(layout)[0]), np.isin(every, inside), stage])
    return every[order], np.append(0, np.cumsum(numbers))


def _special(layout: Layout) -> dict[int, np.ndarray]:
    """Return the positions of effects with a stage of their own, by stage."""
    return {
        expansion.DECIDED: deciding(layout),
        expansion.DIFFICULTIES: difficulties(layout),
        expansion.WORDINGS: nested(layout),
    }


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
    known: tuple[np.ndarray, ...],
    places: tuple[np.ndarray, ...],
    of_units: tuple[np.ndarray, ...],
) -> np.ndarray:
    """Draw coordinates ``[effect]`` from their prior, given coefficients and scales.

    For arguments see `polbayes.fit.density.expansion.expand`.
    """
    (_, scale, place, *_), tail, (*_, unit, stretched) = places, places[6], of_units
    z = rng.standard_normal(len(scale))
    heavy = tail >= 0
    z[heavy] = rng.standard_t(nu[tail[heavy]])
    base, total, precision, lead, weight, stop = known
    ahead = expansion.blank(b, others, places)
    ahead[len(b) + place] = sd[scale] * z
    expansion.reflect(expansion.DECIDED, ahead, places)
    logs = expansion.logs_of(ahead, sd, places, of_units)
    for stage in (expansion.LEADING, expansion.DIFFICULTIES, expansion.WORDINGS):
        expansion.reflect(stage, ahead, places)
    expansion.derive(ahead, places)
    grown = np.exp(logs[unit])[:, None]
    by_unit = np.where(np.arange(lead.shape[1]) < stop[:, :1], grown, 1.0)
    expected = base + (ahead[lead] * weight * by_unit).sum(axis=1)
    one, two = stretched.T
    expected -= np.where(one >= 0, logs[one] - logs[two], 0.0)
    s = sd[scale] * grown[:, 0]
    spread = np.sqrt(1 + precision * s**2)
    return z * spread - s * expected * total / spread
