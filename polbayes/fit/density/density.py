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
    units,
)
from polbayes.fit.density.coordinates import Units, joint_of, known_of, places_of, units_of
from polbayes.fit.density.layout import Block, Layout
from polbayes.fit.density.mode import FIRST_TAIL, JITTER
from polbayes.fit.density.model import Built, correlation_name
from polbayes.fit.density.observed import likelihood_parts
from polbayes.fit.density.orientation import halves
from polbayes.fit.density.prior_densities import Scalars, correlation_prior, priors_of, scalars
from polbayes.fit.families import kinds

_compiled = compiled_with(
    *(confusion, units, expansion, prior_densities, scores, together, shifts, kernel),
    *(joint, crossed),
)


@_compiled
def _turn(x: np.ndarray, turned: np.ndarray, share: np.ndarray, until: np.ndarray) -> np.ndarray:
    """Reflect coordinates of all models, so that their mean is one (`Density._turned`)."""
    found, start = x.copy(), 0
    for stop in until:
        expansion.mirror(found, 0, turned, share, start, stop)
        start = stop
    return found


@_compiled
def expand(
    y: np.ndarray,
    turned: tuple,
    prior: tuple,
    sizes: tuple,
    clusters: tuple,
    known: tuple,
    places: tuple,
    of_units: tuple,
    numbers: np.ndarray,
) -> tuple[np.ndarray, ...]:
    """Compute the parameters at a point, and what leads, effects included.

    `numbers` are the units of coefficients, scales and distances of cutpoints, whose coordinates
    are their values in it (or the logarithm of these); a coefficient that is the mean of effects
    is less that of those that are sampled (`polbayes.fit.density.joint`).
    """
    x, (_, _, positive, at) = _turn(y, *turned), prior
    first_gap, sampled = sizes[0] + sizes[1], (at >= 0).sum()
    first_tail = first_gap + sizes[2] + sizes[3]
    until = first_tail + sizes[4]
    w = x[sampled : sampled + places[2].shape[0]]
    others, means = np.empty(places[3].shape[0]), np.empty(clusters[-1].shape[0])
    # What the units depend on has none.
    plain = prior_densities.evaluate(x, *prior)[0]
    b, sd, nu = plain[: sizes[0]], plain[sizes[0] : first_gap], plain[first_tail:until]
    ahead = expansion.blank(b, np.zeros(places[3].shape[0]), places)
    logs, _ = expansion.decide(sd, w, nu, ahead, known, places, of_units)
    own, total = x.copy(), 0.0
    for k in range(numbers.shape[0]):
        if at[k] >= 0 and positive[k]:
            own[at[k]] -= logs[numbers[k]]
        elif at[k] >= 0:
            own[at[k]] *= math.exp(-logs[numbers[k]])
            total -= logs[numbers[k]]
    values, _, _, _ = prior_densities.evaluate(own, *prior)
    joined, less = x[sampled + w.shape[0] :], values[: sizes[0]].copy()
    total += joint.expand(joined, values, less, logs, *clusters, others, means)
    for g in range(means.shape[0]):
        if clusters[-1][g] >= 0:
            own[at[clusters[-1][g]]] += means[g]
    values, slopes, of_prior, density = prior_densities.evaluate(own, *prior)
    b, sd, nu = values[: sizes[0]], values[sizes[0] : first_gap], values[first_tail:until]
    ahead, logs, of_w = expansion.unfold(b, sd, w, others, nu, known, places, of_units)
    density = np.array(of_w + total + density)
    return values, ahead, others, slopes, of_prior, logs, means, density, less, x


@_compiled
def log_density(
    y: np.ndarray,
    turned: tuple,
    prior: tuple,
    sizes: tuple,
    clusters: tuple,
    known: tuple,
    places: tuple,
    of_units: tuple,
    numbers: np.ndarray,
    answers: tuple,
    rows: tuple,
    validity: tuple,
    bounds: np.ndarray,
    coder: tuple,
) -> tuple[float, np.ndarray]:
    """Compute the log-posterior, up to a constant, and its gradient."""
    values, ahead, others, by_coordinate, of_prior, logs, means, density, less, x = expand(
        y, turned, prior, sizes, clusters, known, places, of_units, numbers
    )
    _, _, positive, at = prior
    first_gap = sizes[0] + sizes[1]
    first_reading = first_gap + sizes[2]
    first_tail = first_reading + sizes[3]
    until = first_tail + sizes[4]
    sampled = (at >= 0).sum()
    behind = sampled + places[2].shape[0]
    w, joined = x[sampled:behind], x[behind:]
    sd, nu = values[sizes[0] : first_gap], values[first_tail:until]
    effects, readings = expansion.with_copies(ahead, sd, places), values[first_reading:first_tail]
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
        of_gaps, of_tables = np.zeros(sizes[2]), np.zeros(tables.shape[0])
    else:
        gaps = values[first_gap:first_reading]
        fit, of_effects, of_gaps, of_tables = kernel.evaluate(effects, gaps, tables, *answers)
    total += fit
    if validity[1].shape[0] > 0:
        fit, more, _, _ = kernel.evaluate(effects, none, none, *validity)
        total += fit
        of_effects += more
    of_ahead, of_values = np.zeros(ahead.shape[0]), np.zeros(values.shape[0])
    of_logs = np.zeros(logs.shape[0])
    slopes = (
        *(of_ahead, of_values[sizes[0] : first_gap], gradient[sampled:behind]),
        *(of_values[first_tail:until], of_logs),
    )
    given, rest = (sd, w, nu, ahead), (known, places, of_units)
    expansion.pull_back_effects(*given, logs, *rest, of_effects, 1.0, slopes)
    of_others = of_ahead[sizes[0] + places[3]]
    joint.pull_back(
        *(joined, values, less, logs, *clusters, others, means, of_others),
        *(of_ahead[: sizes[0]] + of_prior[: sizes[0]], of_values, of_ahead, of_logs),
        gradient[behind:],
    )
    of_values[: sizes[0]] = of_ahead[: sizes[0]]
    of_values[first_gap:first_reading] += of_gaps
    for k in range(numbers.shape[0]):
        if at[k] >= 0:
            slope = of_prior[k] + of_values[k] * by_coordinate[k]
            if not positive[k]:
                slope = slope * (less[k] if k < sizes[0] else values[k]) + 1.0
            of_logs[numbers[k]] -= slope
    expansion.pull_back_units(*given, *rest, 1.0, slopes)
    of_values[: sizes[0]] = of_ahead[: sizes[0]]
    of_values[first_reading:first_tail] = confusion.pull_back(readings, *coder, of_tables)
    for k in range(values.shape[0]):
        if at[k] >= 0:
            slope = of_prior[k] + of_values[k] * by_coordinate[k]
            if k < numbers.shape[0] and not positive[k]:
                slope *= math.exp(-logs[numbers[k]])
            gradient[at[k]] = slope
    return total, _turn(gradient, *turned)


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
    def _places(self) -> tuple[np.ndarray, ...]:
        return places_of(self._layout, jointly=True)

    @cached_property
    def _units(self) -> Units:
        return units_of(self._layout, self.built.start, self.built.cells)

    @cached_property
    def _expansion(self) -> tuple[Any, ...]:
        """Arguments of `expand` after the coordinates."""
        return (
            self._turned(),
            self._scalars.arrays,
            self.sizes,
            self._clusters(),
            known_of(self._layout, self.built.start, self._units, jointly=True),
            self._places,
            self._units.arrays(self._layout, jointly=True),
            self._units.numbers,
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

    def _turned(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return positions and weights of coordinates turned together, and where each term ends.

        What models share is less well known than how they differ, so that the coordinates of all
        models move together: those of a term with one effect of every model.
        """
        named = dict(zip(expansion.PLACES, self._places, strict=True))
        order = np.full(self._layout.blocks[-1].stop, -1)
        every = np.concatenate([named["place"], named["others"]])
        order[every] = self._scalars.sampled + np.arange(len(every))
        found = []
        for block in self._layout.blocks:
            if block.group is None or block.group.term.factors != ("model",):
                continue
            width = len(block.group.columns)
            for column in range(width):
                at = order[np.arange(block.start + column, block.stop, width)]
                found.append(at[at >= 0])
        sizes = np.array([len(at) for at in found], dtype=np.int64)
        every = np.concatenate([*found, np.empty(0, dtype=int)])
        return every, np.repeat(sizes, sizes) ** -0.5, np.cumsum(sizes)

    def _clusters(self) -> tuple[np.ndarray, ...]:
        """Return the arguments of `polbayes.fit.density.joint.expand` after the values."""
        coefficients, scales = self.sizes[:2]
        scale = {k: coefficients + k for k in range(scales)}
        cor = {
            int(at): sum(self.sizes) + number
            for number, block in enumerate(self._pairs)
            for at in range(block.start + 1, block.stop, 2)
        }
        return joint_of(self._layout, self.built.start, self._units, scale, cor)

    @property
    def _effects(self) -> int:
        named = dict(zip(expansion.PLACES, self._places, strict=True))
        return len(named["place"]) + len(named["others"])

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return self._scalars.sampled + self._effects

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
        pieces = [np.where(positive, np.log(np.where(positive, numbers, 1)), numbers)[own]]
        pieces.append(rng.uniform(-JITTER, JITTER, self._effects))
        return np.concatenate(pieces)

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the log-posterior, up to a constant, and its gradient."""
        return log_density(x, *self._arguments)

    def values(self, x: np.ndarray) -> dict[str, np.ndarray]:
        """Return the parameters at a point by their names in the PyMC model."""
        values, ahead, *_ = expand(x, *self._expansion)
        b, sd, gap, reading, nu, correlations = np.split(values, np.cumsum(self.sizes))
        # Effects with a scale of the other sign have the opposite correlation.
        names = [correlation_name(block) for block in self._pairs]
        signs = [np.sign(sd[p.scales[0] : sum(p.scales)]).prod() for p in self._pairs]
        found = dict(zip(names, correlations * signs, strict=True))
        known = {"b": b, "sd": abs(sd), "gap": gap, "reading": reading, "nu": nu}
        known["effects"] = expansion.with_copies(ahead, sd, self._places)
        return {**known, **found}
