"""The log-posterior and its gradient in one compiled function, the same for all specs.

The model that PyMC gets (`polbayes.fit.model`) says the same, but each spec is a graph of its own,
which numba takes most of a minute to compile. This function is compiled once, whatever is analysed.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numba
import numpy as np

from polbayes.fit import expansion, hyperpriors, kernel, pairs
from polbayes.fit.coordinates import known_of, places_of
from polbayes.fit.hyperpriors import Scalars, correlation_prior, priors_of, scalars
from polbayes.fit.layout import Block
from polbayes.fit.model import Built, correlation_name
from polbayes.fit.observed import likelihood_parts
from polbayes.fit.orientation import anchored
from polbayes.fit.start import JITTER


@numba.njit(cache=True, error_model="numpy", nogil=True)
def log_density(
    x: np.ndarray,
    prior: tuple,
    sizes: tuple,
    correlated: np.ndarray,
    known: tuple,
    places: tuple,
    answers: tuple,
    validity: tuple,
    anchors: np.ndarray,
) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
    """Compute the log-posterior, up to a constant, and its gradient.

    Parameters
    ----------
    x
        Coordinates: of the numbers with priors, of effects that are drawn one by one, and of pairs.
    prior
        Arrays of the numbers with priors (`polbayes.fit.hyperpriors.Scalars`).
    sizes
        How many of these are coefficients, scales and distances of cutpoints.
    correlated
        The terms of `polbayes.fit.pairs`.
    known, places
        See `polbayes.fit.coordinates`.
    answers, validity
        The last arguments of `polbayes.fit.kernel.evaluate`; validity without cells if there is no
        such part.
    anchors
        See `polbayes.fit.orientation.anchored`.

    Returns
    -------
    logp, gradient, values, effects
        Minus infinity where an anchor is on the wrong side.
    """
    coefficients, scales, distances = sizes
    values, slopes, of_x, total = hyperpriors.evaluate(x, *prior)
    b, sd = values[:coefficients], values[coefficients : coefficients + scales]
    gaps = values[coefficients + scales : coefficients + scales + distances]
    sampled = (prior[3] >= 0).sum()
    gradient = np.zeros(x.shape[0])
    w = x[sampled : sampled + places[2].shape[0]]
    others = np.empty(places[3].shape[0])
    total += pairs.expand(x, values, correlated, others)
    effects, density = expansion.expand(b, sd, w, others, *known, *places)
    total += density.item()
    for row in range(anchors.shape[0]):
        theta = 0.0
        for at in range(effects.shape[0]):
            theta += anchors[row, at] * effects[at]
        if theta <= 0.0:
            return -np.inf, gradient, values, effects
    fit, of_effects, of_gaps = kernel.evaluate(effects, gaps, *answers)
    total += fit
    if validity[1].shape[0] > 0:
        fit, more, _ = kernel.evaluate(effects, np.empty(0), *validity)
        total += fit
        of_effects += more
    of_b, of_sd, of_w, of_others = expansion.pull_back(
        b, sd, w, others, *known, *places, of_effects, np.array(1.0)
    )
    of_values = np.zeros(values.shape[0])
    of_values[:coefficients] = of_b
    of_values[coefficients : coefficients + scales] = of_sd
    of_values[coefficients + scales : coefficients + scales + distances] = of_gaps
    gradient[sampled : sampled + w.shape[0]] = of_w
    pairs.pull_back(x, values, correlated, of_others, of_values, gradient)
    for k in range(values.shape[0]):
        if prior[3][k] >= 0:
            gradient[prior[3][k]] = of_x[k] + of_values[k] * slopes[k]
    return total, gradient, values, effects


@dataclass(frozen=True)
class Density:
    """The log-posterior of a model at points of its coordinates.

    Parameters
    ----------
    built
        The model; no term of it may have more than two correlated coefficients.
    """

    built: Built

    @cached_property
    def _pairs(self) -> list[Block]:
        return [block for block in self.built.layout.blocks if block.correlated]

    @cached_property
    def _scalars(self) -> Scalars:
        layout, spec = self.built.layout, self.built.spec
        priors = priors_of(layout, spec, self.built.cells)
        correlations = [correlation_prior(block, spec) for block in self._pairs]
        return scalars([*priors.coefficients, *priors.scales, *priors.gaps, *correlations])

    @cached_property
    def sizes(self) -> tuple[int, int, int]:
        """How many coefficients, scales and distances of cutpoints there are."""
        start = self.built.start
        gaps = len(priors_of(self.built.layout, self.built.spec, self.built.cells).gaps)
        return len(start.coefficients), len(start.scales), gaps

    @cached_property
    def arguments(self) -> tuple[Any, ...]:
        """What `log_density` wants after the coordinates."""
        layout, spec, cells = self.built.layout, self.built.spec, self.built.cells
        known, places = known_of(layout, self.built.start), places_of(layout)
        parts = likelihood_parts(layout, spec, cells)
        if layout.validity is None:  # one without cells
            parts.append((kernel.BINOMIAL, np.empty((0, 2)), layout.answers))
        anchors = anchored(layout, spec, cells) if spec.signed else np.empty((0, 0))
        return (
            self._scalars.arrays,
            self.sizes,
            self._correlated(len(places["place"])),
            tuple(known[name] for name in expansion.KNOWN),
            tuple(places[name] for name in expansion.PLACES),
            *((kind, answers, *at.arrays.values()) for kind, answers, at in parts),
            anchors,
        )

    def _correlated(self, alone: int) -> np.ndarray:
        """Return the table of `polbayes.fit.pairs`; `alone` effects are drawn one by one."""
        coefficients, scales, gaps = self.sizes
        rows, x, others = [], self._scalars.sampled + alone, 0
        for number, block in enumerate(self._pairs):
            levels = len(block.free) // 2
            first = coefficients + block.scales[0]
            cor = coefficients + scales + gaps + number
            rows.append([x, others, levels, first, first + 1, cor, block.centred])
            x, others = x + 2 * levels, others + 2 * levels
        return np.array(rows, dtype=np.int64).reshape(len(rows), 7)

    @property
    def size(self) -> int:
        """How many coordinates there are."""
        places = self.arguments[4]
        return self._scalars.sampled + len(places[2]) + len(places[3])

    def start(self, seed: int) -> np.ndarray:
        """Draw a point near the mode.

        Parameters
        ----------
        seed
            Fixes it.
        """
        rng, start = np.random.default_rng(seed), self.built.start
        sizes = np.array([*self.sizes, len(self._pairs)])
        numbers = np.concatenate([start.coefficients, start.scales, start.gaps, np.zeros(sizes[3])])
        move = rng.uniform(-JITTER, JITTER, len(numbers))
        factor = np.repeat([False, True, True, False], sizes)
        numbers = np.where(factor, numbers * np.exp(move), numbers + move)
        positive, own = self._scalars.positive, self._scalars.at >= 0
        pieces = [np.where(positive, np.log(np.where(positive, numbers, 1)), numbers)[own]]
        pieces.append(rng.uniform(-JITTER, JITTER, len(self.arguments[4][2])))
        for block in self._pairs:
            near = start.free(block)
            unit = np.tile(start.scales[block.scales[0] : sum(block.scales)], len(near) // 2)
            moved = near / unit + rng.uniform(-JITTER, JITTER, len(near))
            pieces.append(moved * unit if block.centred else moved)
        return np.concatenate(pieces)

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the log-posterior, up to a constant, and its gradient."""
        return log_density(x, *self.arguments)[:2]

    def values(self, x: np.ndarray) -> dict[str, np.ndarray]:
        """Return what a point stands for, by the names that it has in the PyMC model."""
        values, effects = log_density(x, *self.arguments)[2:]
        b, sd, gap, correlations = np.split(values, np.cumsum(self.sizes))
        names = [correlation_name(block) for block in self._pairs]
        found = dict(zip(names, correlations, strict=True))
        return {"b": b, "sd": abs(sd), "gap": gap, "effects": effects, **found}
