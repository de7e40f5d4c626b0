"""The log-posterior of the many-facet model and its gradient, in one compiled function.

Coordinates are, in order: the means of the values; the scales; the logarithms of the noise, in
points of the judge's own scale, and of the stretch of every judge; the scale of the points' widths;
and the coordinates of widths and effects (`polbayes.roleplay.fit.effects`).
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from polbayes.fit.compilation import compiled_with
from polbayes.roleplay.fit import effects as effects_module
from polbayes.roleplay.fit import kernel, steps
from polbayes.roleplay.fit.effects import centre, centre_back, turn
from polbayes.roleplay.fit.model import MEAN, NOISE, SELF, STRETCH, WIDTHS, FacetModel
from polbayes.roleplay.fit.rated import MISSING
from polbayes.roleplay.fit.terms import Term

# Chains start within this distance, in units in which coordinates vary by about 1.
JITTER = 0.3
_NODES = 400
# Settings of the search for a mode, which need not be exact.
_ROUNDS, _STEPS = 40, 20
_compiled = compiled_with(effects_module, kernel, steps)


@_compiled
def expand(x: np.ndarray, expansion: tuple) -> tuple:
    """Compute the quantities at a point."""
    sizes, drawn, constraints, widths, turned = expansion
    values, scales, judges, inner, size = sizes
    at = values
    sd = np.append(x[at : at + scales], 0.0)
    at += scales
    own = np.exp(x[at : at + judges])
    at += judges
    stretch = np.exp(x[at : at + judges] - x[at : at + judges].mean())
    noise = own * stretch
    at += judges
    even, often, logs, around, middle = widths
    g, of_widths = effects_module.expand(x[at + 1 : at + 1 + inner], x[at : at + 1], *logs, inner)
    gaps, share = steps.expand(g, even, often)
    cuts = steps.placed(gaps, around, middle)
    at += 1 + inner
    found, logp = effects_module.expand(x[at:], sd, drawn, worth(noise), size)
    turn(found, turned[0], turned[1])
    centre(found, *constraints)
    return x[:values], noise, stretch, cuts, found, logp + of_widths, gaps, share


@_compiled
def worth(noise: np.ndarray) -> np.ndarray:
    """Compute the precision of a rating: that of a logistic variable of this scale."""
    return 1.0 / (3.0 * noise**2)


@_compiled
def log_density(
    x: np.ndarray, expansion: tuple, priors: tuple, data: tuple
) -> tuple[float, np.ndarray]:
    """Compute the log-posterior, up to a constant, and its gradient."""
    sizes, drawn, constraints, widths, turned = expansion
    values, scales, judges, inner, _ = sizes
    mean, noise, stretch, cuts, found, total, gaps, share = expand(x, expansion)
    gradient = np.zeros(x.shape[0])
    middles, spreads = priors
    for k in range(middles.shape[0]):
        z = (x[k] - middles[k]) / spreads[k]
        total -= 0.5 * z * z
        gradient[k] -= z / spreads[k]
    fit, of_effects, of_mean, of_cuts, of_noise, of_stretch = kernel.evaluate(
        found, mean, cuts, noise, stretch, data
    )
    total += fit
    gradient[:values] += of_mean
    first_scale, first_noise = values, values + scales
    at = first_noise + 2 * judges
    _, _, logs, around, _ = widths
    of_g = steps.pull_back(gaps, share, around, of_cuts)
    effects_module.pull_back(
        x[at + 1 : at + 1 + inner],
        x[at : at + 1],
        *logs,
        of_g,
        gradient[at + 1 : at + 1 + inner],
        gradient[at : at + 1],
    )
    at += 1 + inner
    centre_back(of_effects, *constraints)
    turn(of_effects, turned[0], turned[2])
    of_scales = np.zeros(scales + 1)
    of_worth = effects_module.pull_back(
        x[at:],
        np.append(x[first_scale : first_scale + scales], 0.0),
        drawn,
        worth(noise),
        of_effects,
        gradient[at:],
        of_scales,
    )
    gradient[first_scale : first_scale + scales] += of_scales[:scales]
    of_noise -= 2 * of_worth * worth(noise)
    of_stretch += of_noise
    gradient[first_noise : first_noise + judges] += of_noise
    at = first_noise + judges
    gradient[at : at + judges] += of_stretch - of_stretch.mean()
    if not math.isfinite(total):
        return -np.inf, np.zeros(x.shape[0])
    return total, gradient


@_compiled
def _fair_ratings(
    mean: np.ndarray,
    effects: np.ndarray,
    cuts: np.ndarray,
    noise: float,
    points: np.ndarray,
    basis: np.ndarray,
    gathering: tuple,
    shift: np.ndarray,
    model: np.ndarray,
    cells: tuple,
) -> np.ndarray:
    """Average the expected ratings ``[cell, value]`` of a fair judge over the units of a cell.

    `mean` to `gathering` are those of `polbayes.roleplay.fit.kernel`; ``[model, column]`` `shift`
    is added to the effects of the model of a ``[unit]``; `cells` give the cell of each unit and the
    number of units in a cell.
    """
    (starts, widths, index, weight), (cell, count) = gathering, cells
    values, units = mean.shape[0], index.shape[0]
    eta, columns = np.empty((units, values)), np.empty(values)
    for unit in range(units):
        columns[:] = 0.0
        for d in range(shift.shape[1]):
            columns[d] = shift[model[unit], d]
        kernel.moved(effects, starts, widths, index[unit], weight[unit], columns)
        kernel.turned(mean, basis, columns, eta[unit])
    fair = kernel.expected(eta.ravel(), cuts, noise, points, _NODES)
    sums = np.zeros((count.shape[0], values))
    for unit in range(units):
        for v in range(values):
            sums[cell[unit], v] += fair[unit * values + v] / count[cell[unit]]
    return sums


@dataclass(frozen=True)
class FacetDensity:
    """The log-posterior of a many-facet model at points of its coordinates."""

    model: FacetModel

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """See `expand`."""
        model = self.model
        values, judges = model.rated.sizes["value"], model.rated.sizes["judge"]
        scales, inner = len(model.scale_priors), len(model.rated.points) - 2
        return values, scales, judges, inner, int(model.starts[-1])

    @property
    def size(self) -> int:
        """Number of coordinates."""
        values, scales, judges, inner, _ = self.sizes
        numbers = values + scales + 2 * judges + 1 + inner
        return int(numbers + len(self.model.drawn[0]))

    @cached_property
    def seen(self) -> np.ndarray:
        """``[drawn, judge]`` approximate estimate of each effect from one judge's ratings alone.

        It is one Newton step near the mode given the scales, using that judge's ratings and no
        prior. The scales are found with the mode: the mean square of the effects of a scale and of
        their errors.
        """
        from scipy.optimize import minimize

        model = self.model
        values, scales, judges, inner, _ = self.sizes
        place, scale, counts, extra = model.drawn
        expansion = self._expansion_around(np.zeros_like(counts))
        x, of_scales = self._near(0.0, 0), slice(values, values + scales)
        of_effects = slice(of_scales.stop + 2 * judges + 1 + inner, None)
        drawn_with = np.bincount(scale, minlength=scales)[:scales]
        known = np.bincount(scale, extra, minlength=scales)[:scales] / drawn_with
        least = (1e-3 * model.scale_priors) ** 2

        def downhill(moved: np.ndarray) -> tuple[float, np.ndarray]:
            value, slope = log_density(moved, expansion, self._priors, self._data)
            slope[of_scales] = 0.0
            return -value, -slope

        def spread(x: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            s = np.sqrt(np.append(x[of_scales], 0.0)[scale] ** 2 + extra)
            return s, np.sqrt(1 + q.sum(axis=1) * s**2)

        for _ in range(_ROUNDS):
            x = minimize(downhill, x, jac=True, method="L-BFGS-B", options={"maxiter": _STEPS}).x
            q = counts * worth(expand(x, expansion)[1])
            s, root = spread(x, q)
            effects = s * x[of_effects] / root
            square = np.bincount(scale, effects**2 + (s / root) ** 2, scales)[:scales]
            x[of_scales] = np.sqrt(np.maximum(square / drawn_with - known, least))
            # The same effects in the coordinates of the new scales.
            s, root = spread(x, q)
            x[of_effects] = effects * root / s
        slopes = np.column_stack([self._slopes(x, expansion, j)[place] for j in range(judges)])
        return effects[:, None] + np.divide(slopes, q, out=np.zeros_like(q), where=q > 0)

    def _slopes(self, x: np.ndarray, expansion: tuple[Any, ...], judge: int) -> np.ndarray:
        """Return the slopes of a judge's log-likelihood with respect to expanded effects."""
        answers, *others = self._data
        own = np.full_like(answers, MISSING)
        own[:, judge] = answers[:, judge]
        mean, noise, stretch, cuts, found, *_ = expand(x, expansion)
        slopes = kernel.evaluate(found, mean, cuts, noise, stretch, (own, *others))[1]
        _, _, constraints, _, turned = expansion
        centre_back(slopes, *constraints)
        turn(slopes, turned[0], turned[2])
        return slopes

    @cached_property
    def _expansion(self) -> tuple[Any, ...]:
        return self._expansion_around(self.seen)

    def _expansion_around(self, seen: np.ndarray) -> tuple[Any, ...]:
        model = self.model
        cuts, around = model.cutpoints
        inner = model.frequencies[1:-1]
        # Place, scale, number of ratings, known variance and estimate of each; and their precision.
        places, none = np.arange(len(inner)), np.zeros((len(inner), 1))
        drawn = (places, np.zeros_like(places), inner[:, None] / 2, none[:, 0], none)
        logs = (drawn, np.ones(1))
        widths = (np.diff(cuts), inner, logs, around, float(around @ cuts))
        places, matrix, _ = model.turned
        turned = (places, matrix, np.ascontiguousarray(matrix.T))
        return self.sizes, (*model.drawn, seen), model.constraints, widths, turned

    @cached_property
    def _priors(self) -> tuple[np.ndarray, np.ndarray]:
        model, rated = self.model, self.model.rated
        values, scales, judges, _, _ = self.sizes
        noise = math.log(NOISE * rated.width)
        middles = np.repeat([rated.middle, 0.0, noise, 0.0], [values, scales, judges, judges + 1])
        spreads = np.repeat([1.0, STRETCH, WIDTHS], [judges, judges, 1])
        means = np.full(values, MEAN * rated.width)
        return middles, np.concatenate([means, model.scale_priors, spreads])

    @cached_property
    def _gathering(self) -> tuple[np.ndarray, ...]:
        """Locate the effects about what was rated: starts, widths, index and weight."""
        model, units = self.model, len(self.model.rated.answers)
        ones = np.ones(units)
        index = [term.index for term in model.truth]
        weight = [ones if term.weight is None else term.weight for term in model.truth]
        empty = np.empty((units, 0))
        return (
            model.starts[: len(model.truth)],
            model.widths[: len(model.truth)],
            np.ascontiguousarray(np.column_stack([empty, *index]).astype(np.int64)),
            np.ascontiguousarray(np.column_stack([empty, *weight])),
        )

    @cached_property
    def _data(self) -> tuple[Any, ...]:
        model, rated = self.model, self.model.rated
        units, judges, _ = rated.answers.shape
        index = np.zeros((units, judges, len(model.judges)), dtype=np.int64)
        for k, term in enumerate(model.judges):
            index[:, :, k] = term.index
        return (
            rated.answers,
            rated.basis,
            float(np.dot(*model.cutpoints)),
            self._gathering,
            (model.starts[len(model.truth) : -1], model.widths[len(model.truth) :], index),
        )

    def start(self, seed: int) -> np.ndarray:
        """Draw a point to start a chain from."""
        return self._near(JITTER, seed)

    def _near(self, jitter: float, seed: int) -> np.ndarray:
        rng, model, rated = np.random.default_rng(seed), self.model, self.model.rated
        values, _, judges, inner, _ = self.sizes
        given = np.where(rated.answers < 0, np.nan, rated.points[rated.answers])
        scales, others = 0.3 * model.scale_priors, inner + len(model.drawn[0])
        last = np.repeat([math.log(model.noise), 0.0, 0.3, 0.0], [judges, judges, 1, others])
        near = np.concatenate([np.nanmean(given, axis=(0, 1)), scales, last])
        spread = np.repeat([0.2, 1.0], [2 * judges + 1, others])
        unit = np.concatenate([np.full(values, rated.width / 40), scales, spread])
        return near + unit * rng.uniform(-jitter, jitter, len(near))

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the log-posterior, up to a constant, and its gradient."""
        return log_density(x, self._expansion, self._priors, self._data)

    @cached_property
    def _cells(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the cell (model and stage) of every unit, and the units per cell."""
        units, stages = self.model.rated.units, self.model.rated.sizes["stage"]
        cell = (units["model"] * stages + units["stage"]).astype(np.int64)
        return cell, np.bincount(cell).astype(float)

    def values(self, x: np.ndarray) -> dict[str, np.ndarray]:
        """Return the quantities at a point, without the effects of single prompts and units.

        These are ``mean`` ``[value]``; ``sd`` ``[scale]``; ``noise`` and ``stretch`` ``[judge]``;
        ``cutpoint``; ``own`` ``[pair, column]`` (`own_effects`); ``fair`` ``[cell, value]``
        (`_fair_ratings`), a cell for each stage of each model; and the effects of each term that
        does not differ by scenario, ``[level, column]``, without `own`.
        """
        mean, noise, stretch, cuts, found, *_ = expand(x, self._expansion)
        model, rated = self.model, self.model.rated
        values, scales, _, _, _ = self.sizes
        sd = np.abs(x[values : values + scales])
        by_term = {term.name: piece for term, piece in self._by_term(found)}
        own = self.own_effects(x, by_term, sd)
        shift = np.zeros((rated.sizes["model"], own.shape[1]))
        np.add.at(shift, model.selves[:, 1], -own / rated.sizes["judge"])
        fair = _fair_ratings(
            mean,
            found,
            cuts,
            math.exp(np.log(noise).mean()),
            rated.points,
            rated.basis,
            self._gathering,
            shift,
            rated.units["model"],
            self._cells,
        )
        kept = {
            "mean": mean,
            "own": own,
            "sd": sd,
            "noise": noise,
            "stretch": stretch,
            "cutpoint": cuts,
            "fair": fair,
        }
        for term in model.terms:
            if {"scenario", "side", "wording"}.isdisjoint(term.factors):
                kept[term.name] = by_term[term.name]
        if own.size:
            # The part of self-rating that is in the means of models and of judges.
            columns = own.shape[1]
            lean = np.zeros((rated.sizes["judge"], columns))
            np.add.at(lean, model.selves[:, 0], -own / rated.sizes["model"])
            if "model" in kept:
                kept["model"][:, :columns] += shift
            if "judge" in kept:
                kept["judge"][:, :columns] += lean - lean.mean(axis=0)
        return kept

    def own_effects(
        self, x: np.ndarray, by_term: dict[str, np.ndarray], sd: np.ndarray
    ) -> np.ndarray:
        """Draw ``[pair, column]`` what judges add to ratings of themselves, given everything else.

        Given the effects of ``judge:model`` it is normal. The draw is a function of the point.
        """
        model = self.model
        own = np.zeros((len(model.selves), len(model.self_kinds)))
        if not own.size:
            return own
        rng = np.random.default_rng(int.from_bytes(x[:8].tobytes(), "little"))
        prior, pattern = SELF * model.rated.width, model.pattern
        crossed = model.uncrossed(by_term["judge:model"])
        for column, kind in enumerate(model.self_kinds):
            square = sd[model.scales.index(("judge:model", kind))] ** 2
            precision = pattern.T @ pattern / square + np.eye(len(own)) / prior**2
            root = np.linalg.cholesky(precision)
            middle = np.linalg.solve(precision, pattern.T @ crossed[:, column] / square)
            noise = np.linalg.solve(root.T, rng.standard_normal(len(own)))
            own[:, column] = middle + noise
        return own

    def effects(self, x: np.ndarray) -> dict[str, np.ndarray]:
        """Return all effects by term, ``[level, column]``."""
        found = expand(x, self._expansion)[4]
        return {term.name: piece for term, piece in self._by_term(found)}

    def _by_term(self, found: np.ndarray) -> Iterator[tuple[Term, np.ndarray]]:
        pieces = np.split(found, self.model.starts[1:-1])
        for term, piece in zip(self.model.terms, pieces, strict=True):
            yield term, piece.reshape(-1, len(term.kinds))
