"""Effects in studies that were not made, drawn from the distributions that a posterior has of them.

What belongs to a known model (its position, how it agrees, how decided it is) stays as it is;
statements, wordings, prefixes and further models are new, and so are their effects.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
import xarray as xr

from polbayes.errors import UserError
from polbayes.fit.density.kernel import sharpness
from polbayes.fit.density.layout import Block, Layout
from polbayes.fit.density.model import Built, correlation_name
from polbayes.fit.posterior.measurement_design import ANEW
from polbayes.fit.posterior.pointwise import Draws, draws_of
from polbayes.fit.spec.spec import COPIES

DECISIVENESS = "decisiveness"


@dataclass(frozen=True)
class Population:
    """Draws of the parameters of a model, from a posterior or from priors."""

    built: Built
    # ``[chain, draw, ...]`` ``b``, ``sd``, ``gap``, ``nu`` and correlations, as far as there are
    # any; and ``effects``, of which those of known models are used
    drawn: xr.Dataset
    known: tuple[str, ...]  # models whose own effects are known; none if all is assumed

    @cached_property
    def draws(self) -> Draws:
        """The draws as matrices."""
        return draws_of(self.drawn)

    @property
    def layout(self) -> Layout:
        """The layout of the effects."""
        return self.built.layout

    @cached_property
    def coefficients(self) -> Mapping[tuple[str, str, str], np.ndarray]:
        """``[draw]`` coefficients of common terms, by part, term and name."""
        if not self.layout.coefficients:
            return {}
        values = self.drawn["b"].to_numpy().reshape(-1, len(self.layout.coefficients))
        return dict(zip(self.layout.coefficients, values.T, strict=True))

    @cached_property
    def sharp(self) -> Mapping[str, np.ndarray]:
        """``[draw]`` log decisiveness of the known models."""
        model = self.built.cells.frame["model"].to_numpy()
        first = {name: int(np.flatnonzero(model == name)[0]) for name in self.known}
        plain = self.layout.answers.at(np.array(list(first.values()), dtype=int)).plain
        values = [np.log(sharpness(effects, *plain)[0]) for effects in self.draws.effects]
        return dict(zip(first, np.transpose(values), strict=True))

    def correlation(self, block: Block, draw: int) -> np.ndarray:
        """Return ``[column, column]`` the correlations of a term's coefficients."""
        values = self.drawn[correlation_name(block)].to_numpy()
        values = values.reshape(-1, *values.shape[2:])[draw]
        if values.ndim:
            return np.asarray(values)
        return np.array([[1.0, values], [values, 1.0]])


@dataclass(frozen=True)
class Likeness:
    """What the models of a study are like, by their labels."""

    source: Mapping[str, str]  # the model whose attributes each has
    spreads: Mapping[str, str]  # the model of the population whose spreads of effects it has
    own: frozenset[str]  # those that are known, not others like them


def study_effects(
    population: Population,
    draw: int,
    layout: Layout,
    like: Likeness,
    frame: pd.DataFrame,
    rng: np.random.Generator,
) -> np.ndarray:
    """Draw the effects of a study.

    Parameters
    ----------
    population
        Where they are from.
    draw
        Which of its draws.
    layout, frame
        Of the study: ``frame`` has one row a cell.
    like
        What its models are like.
    rng
        Source of randomness.

    Returns
    -------
    numpy.ndarray
        ``[effect]`` in the order of `layout`.

    Raises
    ------
    UserError
        If the study has a coefficient that the population has not.
    """
    out = np.zeros(layout.blocks[-1].stop)
    common = [_coefficient(population, draw, one) for one in layout.coefficients]
    out[: len(layout.matrix)] = layout.matrix @ np.array(common) if common else 0.0
    scales = study_scales(population, draw, layout, like)
    before = {(b.part, b.group.term.name): b for b in population.layout.blocks if b.group}
    for block in layout.blocks:
        if block.group is None:
            continue
        earlier = before[block.part, block.group.term.name]
        values = _anew(population, draw, block, earlier, scales, rng)
        for at, value in _kept(population, draw, block, earlier, like):
            values[at] = value
        out[block.start : block.stop] = values
    _as_decided(population, draw, layout, like, frame, out)
    return out


def study_scales(population: Population, draw: int, layout: Layout, like: Likeness) -> np.ndarray:
    """Return ``[scale]`` the standard deviations of a study's effects."""
    places: dict[tuple[str, str], dict[str, int]] = {}
    for at, (part, name, label) in enumerate(population.layout.scales):
        places.setdefault((part, name), {})[label] = at
    found = []
    for part, name, label in layout.scales:
        known = places[part, name]
        found.append(known[like.spreads.get(label, label)])
    return population.draws.scales[draw][np.array(found, dtype=int)]


def study_tails(population: Population, draw: int, layout: Layout) -> np.ndarray:
    """Return ``[tail]`` degrees of freedom of a study's effects."""
    at = [population.layout.tails.index(one) for one in layout.tails]
    return population.draws.tails[draw][np.array(at, dtype=int)]


def _coefficient(population: Population, draw: int, one: tuple[str, str, str]) -> float:
    known = population.coefficients
    found = known.get(one, known.get((one[0], COPIES, COPIES)))
    if found is None:
        raise UserError(
            f"plan: the pilot says nothing about {one[2]} in analysis.parts.{one[0]}, so that "
            "studies with it cannot be simulated; use plan.simulate=false."
        )
    return float(found[draw])


def _anew(
    population: Population,
    draw: int,
    block: Block,
    earlier: Block,
    scales: np.ndarray,
    rng: np.random.Generator,
) -> np.ndarray:
    """Draw all effects of a term anew; those that sum to zero do so again."""
    assert block.group is not None
    width = len(block.group.columns)
    if earlier.tail >= 0:
        z = rng.standard_t(population.draws.tails[draw, earlier.tail], block.size)
    else:
        z = rng.standard_normal(block.size)
    if block.correlated:
        root = np.linalg.cholesky(population.correlation(earlier, draw))
        z = (z.reshape(-1, width) @ root.T).ravel()
    values = scales[block.every_scale] * z
    within = block.within()
    for one in np.unique(within[within >= 0]):
        values[within == one] -= values[within == one].mean()
    return np.asarray(values)


def _kept(
    population: Population, draw: int, block: Block, earlier: Block, like: Likeness
) -> Iterator[tuple[int, float]]:
    """Yield positions in a term, and values, of the effects that are known."""
    assert block.group is not None
    assert earlier.group is not None
    factors = block.group.term.factors
    if set(factors) & set(ANEW) or not population.known:
        return
    places = {tuple(row): at for at, row in enumerate(earlier.group.levels.to_numpy())}
    columns = [earlier.group.columns.index(name) for name in block.group.columns]
    for level, row in enumerate(block.group.levels.to_dict("records")):
        if "model" in row and row["model"] not in like.own:
            continue
        there = tuple(like.source[row[f]] if f == "model" else row[f] for f in factors)
        if there in places:
            first = earlier.start + places[there] * len(columns)
            for k, column in enumerate(columns):
                value = population.draws.effects[draw, first + column]
                yield level * len(columns) + k, float(value)


def _as_decided(
    population: Population,
    draw: int,
    layout: Layout,
    like: Likeness,
    frame: pd.DataFrame,
    effects: np.ndarray,
) -> None:
    """Give known models their decisiveness, also those whose runs were copies of each other."""
    for block in layout.blocks:
        group = block.group
        if block.part != DECISIVENESS or group is None or group.term.factors != ("model",):
            continue
        if group.matrix is not None:
            continue
        model = frame["model"].to_numpy()
        for level, name in enumerate(group.levels["model"]):
            if name in like.own:
                cell = layout.answers.at(np.array([np.flatnonzero(model == name)[0]]))
                now = float(np.log(sharpness(effects, *cell.plain)[0][0]))
                wanted = float(population.sharp[like.source[name]][draw])
                effects[block.start + level] += wanted - now


def once_in(population: Population, like: Likeness) -> tuple[str, ...]:
    """Return the models of a study whose decisiveness the population holds, however often asked."""
    cells = population.built.cells
    if cells.once and cells.held.all():
        return tuple(like.source)
    return tuple(name for name in like.own if like.source[name] in cells.once)


def likeness(
    population: Population, every: Sequence[str], labels: Sequence[str], rng: np.random.Generator
) -> Likeness:
    """Choose what the models of a study are like.

    They are the known models of a population, in random order, as far as there are so many;
    others have the attributes of one of `every`, and the spreads of one of the population.
    """
    mine = dict(zip(labels, map(str, rng.permutation(population.known)), strict=False))
    others = labels[len(mine) :]
    there = list(dict.fromkeys(population.built.cells.frame["model"]))
    more = rng.permutation(np.resize(there, max(len(others), len(there))))
    attributes = {name: str(rng.choice(every)) for name in others}
    spreads = dict(zip(others, map(str, more), strict=False))
    return Likeness({**mine, **attributes}, {**mine, **spreads}, frozenset(mine))
