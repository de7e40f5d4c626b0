"""The log-posterior and its gradient in one compiled function, the same for all specs.

The PyMC model (`polbayes.fit.density.model`) is equivalent, but each spec is a separate graph,
which numba takes most of a minute to compile. This function is compiled once for all analyses.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from polbayes.fit.coder_errors import confusion
from polbayes.fit.compilation import compiled_with
from polbayes.fit.density import (
    crossed,
    expansion,
    joint,
    kernel,
    prior_densities,
    scores,
    shifts,
    together,
)
from polbayes.fit.density.coordinates import (
    decided_of,
    in_logits,
    joint_of,
    known_of,
    places_of,
    unit_of,
)
from polbayes.fit.density.layout import Block, Layout
from polbayes.fit.density.mode import FIRST_TAIL, JITTER
from polbayes.fit.density.model import Built, correlation_name
from polbayes.fit.density.observed import likelihood_parts
from polbayes.fit.density.orientation import halves
from polbayes.fit.density.prior_densities import Scalars, correlation_prior, priors_of, scalars
from polbayes.fit.families import kinds

_compiled = compiled_with(
    confusion, expansion, prior_densities, scores, together, shifts, kernel, joint, crossed
)


@_compiled
def expand(
    x: np.ndarray,
    prior: tuple,
    sizes: tuple,
    clusters: tuple,
    known: tuple,
    places: tuple,
    unit: tuple,
    decided: np.ndarray,
) -> tuple[np.ndarray, ...]:
    """Compute the parameters and effects at a point."""
    _, _, positive, at = prior
    _, _, place, where, _, _, _, _ = places
    coefficients, deviates, mode, numbers, whole = unit
    sampled = (at >= 0).sum()
    shift, total = 0.0, 0.0
    for k in range(coefficients.shape[0]):
        if at[k] >= 0:
            shift += coefficients[k] * (x[at[k]] - mode[k])
    for k in range(deviates.shape[0]):
        shift += deviates[k] * x[sampled + k]
    grown, own = math.exp(shift), x.copy()
    for k in range(numbers.shape[0]):
        if numbers[k] and at[k] >= 0:
            if positive[k]:
                own[at[k]] -= shift
            else:
                own[at[k]] /= grown
                total -= shift
    values, slopes, of_prior, density = prior_densities.evaluate(own, *prior)
    total += density
    held = values.copy()
    for k in range(numbers.shape[0]):
        if numbers[k]:
            held[k] *= grown
    w = x[sampled : sampled + place.shape[0]]
    others = np.empty(where.shape[0])
    means = np.empty(clusters[-1].shape[0])
    lead = np.empty(sizes[0] + decided.shape[0])
    lead[: sizes[0]] = held[: sizes[0]] - mode
    lead[sizes[0] :] = w[decided]
    total += joint.expand(x[sampled + place.shape[0] :], held, lead, *clusters, others, means)
    b, sd = held[: sizes[0]], held[sizes[0] : sizes[0] + sizes[1]]
    first = sizes[0] + sizes[1] + sizes[2] + sizes[3]
    nu = values[first : first + sizes[4]]
    effects, of_w = expansion.expand(b, sd, w, others, nu, *known, *places)
    for k in range(whole.shape[0]):
        if whole[k]:
            effects[k] /= grown
    growth, density = np.array(grown), of_w + total
    return values, held, effects, others, slopes, of_prior, growth, density, means, lead


@_compiled
def log_density(
    x: np.ndarray,
    prior: tuple,
    sizes: tuple,
    clusters: tuple,
    known: tuple,
    places: tuple,
    unit: tuple,
    decided: np.ndarray,
    answers: tuple,
    rows: tuple,
    validity: tuple,
    bounds: np.ndarray,
    coder: tuple,
) -> tuple[float, np.ndarray]:
    """Compute the log-posterior, up to a constant, and its gradient."""
    values, held, effects, others, slopes, of_prior, growth, density, means, lead = expand(
        x, prior, sizes, clusters, known, places, unit, decided
    )
    _, _, positive, at = prior
    coefficients, deviates, _, numbers, whole = unit
    grown = growth.item()
    first_gap = sizes[0] + sizes[1]
    first_reading = first_gap + sizes[2]
    sampled = (at >= 0).sum()
    w = x[sampled : sampled + places[2].shape[0]]
    b, sd = held[: sizes[0]], held[sizes[0] : first_gap]
    gaps = values[first_gap:first_reading]
    readings = values[first_reading : first_reading + sizes[3]]
    total, gradient = density.item(), np.zeros(x.shape[0])
    for row in range(bounds.shape[0]):
        inside = 0.0
        for effect in range(effects.shape[0]):
            inside += bounds[row, effect] * effects[effect]
        if inside <= 0.0:
            return -np.inf, gradient
    tables, none = confusion.expand(readings, *coder), np.empty(0)
    if rows[0].shape[0] > 0:
        fit, of_effects = crossed.evaluate(effects, *rows)
        of_gaps, of_tables = np.zeros(gaps.shape[0]), np.zeros(tables.shape[0])
    else:
        fit, of_effects, of_gaps, of_tables = kernel.evaluate(effects, gaps, tables, *answers)
    total += fit
    if validity[1].shape[0] > 0:
        fit, more, _, _ = kernel.evaluate(effects, none, none, *validity)
        total += fit
        of_effects += more
    of_shift = 0.0
    for k in range(whole.shape[0]):
        if whole[k]:
            of_shift -= of_effects[k] * effects[k]
            of_effects[k] /= grown
    first_tail = first_reading + sizes[3]
    nu = values[first_tail : first_tail + sizes[4]]
    of_b, of_sd, of_w, of_others, of_nu = expansion.pull_back(
        b, sd, w, others, nu, *known, *places, of_effects, np.array(1.0)
    )
    of_values = np.zeros(values.shape[0])
    of_values[: sizes[0]] = of_b
    of_values[sizes[0] : first_gap] = of_sd
    gradient[sampled : sampled + w.shape[0]] = of_w
    behind = sampled + w.shape[0]
    of_lead = np.zeros(lead.shape[0])
    joint.pull_back(
        x[behind:], held, lead, *clusters, means, of_others, of_values, of_lead, gradient[behind:]
    )
    of_values[: sizes[0]] += of_lead[: sizes[0]]
    for k in range(decided.shape[0]):
        gradient[sampled + decided[k]] += of_lead[sizes[0] + k]
    for k in range(numbers.shape[0]):
        if numbers[k]:
            of_shift += of_values[k] * held[k]
            of_values[k] *= grown
    of_values[first_gap:first_reading] += of_gaps
    of_readings = confusion.pull_back(readings, *coder, of_tables)
    of_values[first_reading:first_tail] = of_readings
    of_values[first_tail : first_tail + sizes[4]] = of_nu
    for k in range(values.shape[0]):
        if at[k] >= 0:
            slope = of_prior[k] + of_values[k] * slopes[k]
            if k < numbers.shape[0] and numbers[k]:
                if positive[k]:
                    of_shift -= slope
                else:
                    of_shift -= slope * values[k] + 1.0
                    slope /= grown
            gradient[at[k]] = slope
    for k in range(coefficients.shape[0]):
        if at[k] >= 0:
            gradient[at[k]] += coefficients[k] * of_shift
    for k in range(deviates.shape[0]):
        gradient[sampled + k] += deviates[k] * of_shift
    return total, gradient


@dataclass(frozen=True)
class Density:
    """The log-posterior of a model whose terms have at most two correlated coefficients each."""

    built: Built
    by_cell: bool = False  # in a loop over cells, also where there is a shorter way

    @property
    def _layout(self) -> Layout:
        return self.built.layout.sampled

    @cached_property
    def _pairs(self) -> list[Block]:
        return [block for block in self._layout.blocks if block.correlated]

    @cached_property
    def _scalars(self) -> Scalars:
        layout, spec = self._layout, self.built.spec
        priors = priors_of(layout, spec, self.built.cells)
        correlations = [correlation_prior(block, spec) for block in self._pairs]
        scales = [prior.unfolded() or prior for prior in priors.scales]
        numbers = [*priors.coefficients, *scales, *priors.gaps, *priors.readings]
        return scalars([*numbers, *priors.tails, *correlations])

    @cached_property
    def sizes(self) -> tuple[int, int, int, int, int]:
        """Numbers of coefficients, scales, distances of cutpoints, readings and tails."""
        start, tails = self.built.start, len(self._layout.tails)
        numbers = start.coefficients, start.scales, start.gaps, start.readings
        return len(numbers[0]), len(numbers[1]), len(numbers[2]), len(numbers[3]), tails

    @cached_property
    def _places(self) -> dict[str, np.ndarray]:
        return places_of(self._layout, jointly=True)

    @cached_property
    def _unit(self) -> tuple[np.ndarray, ...]:
        """Arguments of `expand` for the unit."""
        return unit_of(self._layout, self.built.start, self._in_units)

    @cached_property
    def _in_units(self) -> dict[str, np.ndarray]:
        return known_of(self._layout, self.built.start, jointly=True)

    @cached_property
    def _known(self) -> dict[str, np.ndarray]:
        weight = in_logits(self._layout, self._in_units, self._unit)
        return {**self._in_units, "weight": weight}

    @cached_property
    def _expansion(self) -> tuple[Any, ...]:
        """Arguments of `expand` after the coordinates."""
        return (
            self._scalars.arrays,
            self.sizes,
            self._clusters(),
            tuple(self._known[name] for name in expansion.KNOWN),
            tuple(self._places[name] for name in expansion.PLACES),
            self._unit,
            decided_of(self._layout),
        )

    @cached_property
    def _arguments(self) -> tuple[Any, ...]:
        """Arguments of `log_density` after the coordinates."""
        layout, spec, cells = self._layout, self.built.spec, self.built.cells
        parts = likelihood_parts(layout, spec, cells)
        if layout.validity is None:  # one without cells
            parts.append((kinds.BINOMIAL, np.empty((0, 2)), layout.answers))
        (kind, answers, at), validity = parts[0], parts[1]
        rows = None if self.by_cell else crossed.crossed(layout, kind, answers, at)
        if rows is None:
            rows = crossed.none(at)
        else:
            answers, at = answers[:1], at.at(np.arange(1))  # which is not looked at
        bounds = np.empty((0, 0))
        if spec.signed:
            bounds = halves(layout, spec, cells, self.built.start.everything(layout))
        return (
            *self._expansion,
            (kind, answers, *at.arrays.values()),
            rows.arrays,
            (*validity[:2], *validity[2].arrays.values()),
            bounds,
            cells.read.coder.sizes if cells.read else (0, 0, 0),
        )

    def _clusters(self) -> tuple[np.ndarray, ...]:
        """Return the arguments of `polbayes.fit.density.joint.expand` after the values."""
        coefficients, scales = self.sizes[:2]
        scale = {k: coefficients + k for k in range(scales)}
        cor = {
            int(at): sum(self.sizes) + number
            for number, block in enumerate(self._pairs)
            for at in range(block.start + 1, block.stop, 2)
        }
        return joint_of(self._layout, self.built.start, self._unit, scale, cor)

    @property
    def size(self) -> int:
        """Number of coordinates."""
        effects = len(self._places["place"]) + len(self._places["others"])
        return self._scalars.sampled + effects

    def start(self, seed: int) -> np.ndarray:
        """Draw a point near the mode."""
        rng, start = np.random.default_rng(seed), self.built.start
        sizes = np.array([*self.sizes, len(self._pairs)])
        known = start.coefficients, start.scales, start.gaps, start.readings
        tails = np.full(sizes[4], FIRST_TAIL)
        numbers = np.concatenate([*known, tails, np.zeros(sizes[5])])
        own = self._scalars.at >= 0
        move = np.where(own, rng.uniform(-JITTER, JITTER, len(numbers)), 0.0)
        factor = np.repeat([False, True, True, True, True, False], sizes)
        numbers = np.where(factor, numbers * np.exp(move), numbers + move)
        positive = self._scalars.positive
        turn, deviates, mode, held, _ = self._unit
        w = rng.uniform(-JITTER, JITTER, len(self._places["place"]))
        shift = turn @ (numbers[: len(turn)] - mode) + deviates @ w
        moved = np.pad(held, (0, len(numbers) - len(held)))
        numbers = np.where(moved, numbers * np.exp(shift), numbers)
        pieces = [np.where(positive, np.log(np.where(positive, numbers, 1)), numbers)[own]]
        pieces.append(w)
        pieces.append(rng.uniform(-JITTER, JITTER, len(self._places["others"])))
        return np.concatenate(pieces)

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the log-posterior, up to a constant, and its gradient."""
        return log_density(x, *self._arguments)

    def values(self, x: np.ndarray) -> dict[str, np.ndarray]:
        """Return the parameters at a point by their names in the PyMC model."""
        values, _, effects, *_ = expand(x, *self._expansion)
        b, sd, gap, reading, nu, correlations = np.split(values, np.cumsum(self.sizes))
        # Effects with a scale of the other sign have the opposite correlation.
        names = [correlation_name(block) for block in self._pairs]
        signs = [np.sign(sd[p.scales[0] : sum(p.scales)]).prod() for p in self._pairs]
        found = dict(zip(names, correlations * signs, strict=True))
        known = {"b": b, "sd": abs(sd), "gap": gap, "reading": reading, "nu": nu}
        known["effects"] = effects
        return {**known, **found}
