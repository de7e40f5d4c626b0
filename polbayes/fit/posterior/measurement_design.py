"""The design of a run as a measurement of its models.

A model's score is the average of its keyed answers on a dimension: right- and left-keyed
statements have weight one half each, items have equal weights within them, wordings within an item
and prefixes within a wording. Effects on agreement only then cancel. The variance of every other
effect enters the score multiplied by a number that depends on the design.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from polbayes.fit.density.layout import Block, Layout, entries, lay_out
from polbayes.fit.spec.cells import Cells, levels
from polbayes.fit.spec.dif import DIF
from polbayes.fit.spec.spec import IN_UNITS, POSITIONS
from polbayes.fit.spec.terms import BoundGroup, BoundPart

FACETS = ("item", "variant", "prefix")
# Further variables that are new for a new statement or a repetition, besides the planned facets.
ANEW = (*FACETS, "topic", "section", "administration")
TOTAL = "total"
# Up to so many times the number of cells a table of all pairs is faster than finding those there.
_FEW = 4


@dataclass(frozen=True)
class Term:
    """A term of the predictor as a source of error in the models' scores."""

    name: str  # name of its scales in the posterior, "part: factors"
    facets: frozenset[str]  # the facets (item, variant, prefix) that its levels differ by
    planned: bool  # whether the effect of more levels of the facets is known
    asked: bool  # whether it adds to agreement, not to leaning
    relative: bool  # whether it differs between models and so affects comparisons
    absorbed: bool  # whether its mean over a model's questions is part of that model's theta
    scales: np.ndarray  # positions of its standard deviations in the vector of scales
    # [scale, model, dimension or total] what is left in a model's score of the variance that
    # belongs to each scale; NaN where a model was asked nothing
    left: np.ndarray
    single: np.ndarray  # [scale, dimension or total] the same for one answer


@dataclass(frozen=True)
class Study:
    """The questions asked of each model."""

    models: tuple[str, ...]  # labels; `dimensions` without the total
    dimensions: tuple[str, ...]
    items: Mapping[str, tuple[str, ...]]  # labels of the items of each dimension
    terms: tuple[Term, ...]  # all terms except those of theta and dif
    # By item, wording, prefix, cell and answer, [model, dimension or total] what is left in a
    # model's score of the variance of effects of each of these: one over their number where they
    # have the same weight
    left: Mapping[str, np.ndarray]
    balanced: bool  # whether every model got both keyings on every dimension
    levels: Mapping[str, int]  # numbers of items, prefixes and wordings (largest over items)
    repeatable: bool  # whether answers to one question can differ
    signed: bool  # discriminations have either sign and do not multiply difficulties

    @property
    def measures(self) -> tuple[str, ...]:
        """The dimensions and, where there are several, their mean."""
        return (*self.dimensions, TOTAL) if len(self.dimensions) > 1 else self.dimensions


@dataclass(frozen=True)
class Weights:
    """The weight of every cell in the score of its model on its dimension."""

    models: tuple[str, ...]
    dimensions: tuple[str, ...]
    model: np.ndarray  # [cell] numbers of the labels
    dimension: np.ndarray
    weight: np.ndarray  # [cell], sum to 1 in each model and dimension; 0 if nothing was usable

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of models and dimensions."""
        return len(self.models), len(self.dimensions)

    @property
    def size(self) -> int:
        """Number of combinations of model and dimension."""
        return len(self.models) * len(self.dimensions)

    @property
    def group(self) -> np.ndarray:
        """``[cell]`` number of the combination of model and dimension."""
        return self.model * len(self.dimensions) + self.dimension

    @property
    def asked(self) -> np.ndarray:
        """``[model and dimension]`` whether there is a usable answer."""
        return np.bincount(self.group, self.weight, minlength=self.size) > 0

    def mean(self, values: np.ndarray) -> np.ndarray:
        """Average ``[cell]`` values by ``[model, dimension]``; NaN without cells."""
        total = np.bincount(self.group, self.weight * values, minlength=self.size)
        return np.where(self.asked, total, np.nan).reshape(self.shape)


def average(values: np.ndarray, axis: int) -> np.ndarray:
    """Average over an axis, ignoring NaN; NaN if there are no values."""
    known = np.isfinite(values)
    total = np.where(known, values, 0.0).sum(axis=axis)
    count = known.sum(axis=axis)
    return np.divide(total, count, out=np.full(np.shape(total), np.nan), where=count > 0)


def spread(values: np.ndarray, axis: int) -> np.ndarray:
    """Return the variance over an axis, ignoring NaN; NaN for fewer than two values."""
    count = np.isfinite(values).sum(axis=axis)
    about = values - np.expand_dims(average(values, axis), axis)
    mean = average(about**2, axis)
    return np.where(count > 1, mean * count / np.maximum(count - 1, 1), np.nan)


def weigh(cells: Cells, single: Weights | None = None) -> Weights:
    """Weight the cells so that keyings, items, wordings and prefixes have equal weights.

    `single` are the weights of their answers one by one where these were summed up, if known.
    """
    frame = cells.frame
    labels = {d: cells.present(d) for d in ("model", "dimension")}
    model, dimension = (
        frame[d].map({x: k for k, x in enumerate(labels[d])}).to_numpy(dtype=int) for d in labels
    )
    weight = np.zeros(len(frame))
    if cells.single is not None:
        single = single or weigh(cells.single)
        weight[:] = np.bincount(cells.of, single.weight, len(frame))
    else:
        answered = cells.answered > 0
        weight[answered] = shares(frame[answered])
    return Weights(tuple(labels["model"]), tuple(labels["dimension"]), model, dimension, weight)


def shares(frame: pd.DataFrame, side: str = "keying") -> np.ndarray:
    """Divide 1 among the sides of every model and dimension, these among items, and so on."""
    share = np.ones(len(frame))
    above = levels(frame, ["model", "dimension"])[0]
    for name in (side, "item", "variant", "prefix"):
        own = levels(frame, [name])[0]
        number = own.max(initial=0) + 1
        below, pairs = pd.factorize(above * number + own)
        share /= np.bincount(pairs // number)[above]
        above = below
    return share / np.bincount(above)[above]


def measurement_design(parts: Mapping[str, BoundPart], cells: Cells) -> Study:
    """Describe the design of the answers that a spec was fitted to."""
    every = cells.every
    weights, frame = weigh(every), every.frame
    keyed = weights.mean(frame["keying"].to_numpy(dtype=float))
    index = {
        "item": levels(frame, ["item"])[0],
        "wording": levels(frame, ["item", "variant"])[0],
        "prefix": levels(frame, ["prefix"])[0],
    }
    score, one = _Score(weights), np.ones(len(frame))
    left = {name: score.left(number, one)[0] for name, number in index.items()}
    left["cell"] = score.left(None, one)[0]
    left["answer"] = score.left(None, 1 / np.sqrt(np.maximum(every.answered, 1)))[0]
    if cells.single is not None:
        weights = weigh(cells, weights)
        score = _Score(weights)
    wordings = frame.groupby("item", observed=True)["variant"].nunique()
    items = frame.groupby("dimension", observed=True)["item"].agg(set)
    return Study(
        models=weights.models,
        dimensions=weights.dimensions,
        items={
            d: tuple(i for i in cells.order["item"] if i in items[d]) for d in weights.dimensions
        },
        terms=tuple(
            _term(block, group, weights, cells, score)
            for block, group in terms_of(lay_out(parts, cells))
        ),
        left=left,
        balanced=bool((np.abs(keyed[np.isfinite(keyed)]) < 1e-9).all()),
        levels={
            "items": frame["item"].nunique(),
            "wordings": int(wordings.max()),
            "prefixes": frame["prefix"].nunique(),
        },
        repeatable=cells.counts.size > 0,
        signed=any(part.signed for part in parts.values()),
    )


class _Score:
    """Computes the fraction of the variance of effects left in the models' scores."""

    def __init__(self, weights: Weights) -> None:
        self.weights = weights
        asked = weights.asked.reshape(weights.shape)
        single = len(weights.dimensions) == 1
        self.asked = asked if single else np.column_stack([asked, asked.all(axis=1)])
        self.share = asked.sum(axis=1)

    def left(
        self,
        effect: np.ndarray | None,
        factor: np.ndarray,
        *,
        scale: np.ndarray | None = None,
        scales: int = 1,
    ) -> np.ndarray:
        """Return ``[scale, model, dimension or total]`` the remaining fraction of the variance.

        `effect` is ``[cell]`` the number of the effect that enters, None for one of each cell,
        `factor` ``[cell]`` its multiplier, `scale` ``[effect]`` the number of its scale, one for
        all if None.
        """
        w = self.weights
        of = np.zeros(1 if effect is None else int(effect.max()) + 1, dtype=int)
        of = of if scale is None else scale
        models, dimensions = w.shape
        by_dimension = _squares(
            w.group, effect, w.weight * factor, scale=of, shape=(scales, w.size)
        )
        found = [by_dimension.reshape(scales, models, dimensions)]
        if dimensions > 1:
            mean = w.weight * factor / self.share[w.model]
            whole = _squares(w.model, effect, mean, scale=of, shape=(scales, models))
            found.append(whole[..., None])
        return np.where(self.asked, np.concatenate(found, axis=-1), np.nan)


def _squares(
    group: np.ndarray,
    effect: np.ndarray | None,
    weight: np.ndarray,
    *,
    scale: np.ndarray,
    shape: tuple[int, int],
) -> np.ndarray:
    """Sum squared weights of effects in each group by scale: ``[scale, group]``."""
    if effect is None:  # of every cell its own
        return np.bincount(group, weight**2, minlength=shape[1]).reshape(shape)
    pairs, squares = group * len(scale) + effect, shape[1] * len(scale)
    if squares > _FEW * len(pairs):
        pairs, number = np.unique(pairs, return_inverse=True)
        total = np.bincount(number.reshape(-1), weight) ** 2
    else:
        total = np.bincount(pairs, weight, squares) ** 2
        pairs = np.arange(squares)
    place = scale[pairs % len(scale)] * shape[1] + pairs // len(scale)
    return np.bincount(place, total, minlength=shape[0] * shape[1]).reshape(shape)


def terms_of(layout: Layout) -> Iterator[tuple[Block, BoundGroup]]:
    """Yield the group-specific terms of the predictor except those of theta and dif."""
    for block in layout.blocks:
        if block.group is not None and block.part in IN_UNITS - {"theta", DIF}:
            yield block, block.group


def _term(block: Block, group: BoundGroup, weights: Weights, cells: Cells, score: _Score) -> Term:
    frame = cells.frame
    first, count = block.scales
    factors = set(group.term.factors)
    of_model = {
        name
        for name in factors - set(FACETS)
        if frame.groupby("model", observed=True)[name].nunique().max() == 1
    }
    asked = POSITIONS[block.part] == "asked"
    relative = bool(of_model)
    sign = frame["keying"].to_numpy(dtype=float) if asked else np.ones(len(frame))
    scale = np.empty(block.size, dtype=int)
    scale[:] = block.every_scale - first
    left = sum(
        score.left(effect, sign * factor, scale=scale, scales=count)
        for effect, factor in entries(group)
    )
    return Term(
        name=f"{block.part}: {group.term.name}",
        facets=frozenset(factors & set(FACETS)),
        planned=factors <= of_model | set(FACETS),
        asked=asked,
        relative=relative,
        absorbed=not asked and relative and group.centred_in is not None,
        scales=first + np.arange(count),
        left=np.asarray(left),
        single=_single(block, group, weights),
    )


def _single(block: Block, group: BoundGroup, weights: Weights) -> np.ndarray:
    """Return ``[scale, dimension or total]`` the part of each scale's variance in one answer."""
    first, count = block.scales
    found = np.zeros((count, len(weights.dimensions)))
    mean = np.zeros_like(found)
    for effect, factor in entries(group):
        scale = block.every_scale[effect] - first
        for k in range(count):
            inside = np.where(scale == k, factor, 0.0)
            found[k] += average(weights.mean(inside**2), axis=0)
            mean[k] += average(weights.mean(inside), axis=0)
    if len(weights.dimensions) == 1:
        return found
    shared = group.matrix is not None and not {"item", "variant"} & set(group.term.factors)
    # Coefficients common to all items are averaged over the dimensions.
    total = mean.mean(axis=1) ** 2 if shared else found.mean(axis=1)
    return np.column_stack([found, total])
