"""Moving what groups have in common between their effects and the coefficients.

Adding a number to the intercept and taking it off every random intercept changes no prediction,
so that the data say nothing about it and a sampler, which must cross that ridge in small steps,
is slow to say where on it it is. The priors are normal there, and so the place can be drawn anew,
exactly and independently, for every draw: a Gibbs step along a group of translations (Liu and
Sabatti 2000, Generalised Gibbs sampler and multigrid Monte Carlo, Biometrika 87), which leaves
the posterior as it is.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from polbayes.fit.mixed.model import MixedModel


@dataclass(frozen=True)
class _Place:
    """A vector of coefficients in the draws: variable, and the entry, or ... for all of it."""

    variable: str
    entry: Any = ...


# A coefficient, how much it changes where effects change by -1, and its prior's mean and spread.
_Step = tuple[_Place, float, np.ndarray, np.ndarray]


@dataclass(frozen=True)
class _Move:
    """What a group-specific term shares with the common part."""

    effects: _Place  # variable with its effects, and the column of them where it has several
    steps: tuple[_Step, ...]  # the coefficients that change with them


def translate(model: MixedModel, drawn: xr.Dataset, *, seed: int) -> xr.Dataset:
    """Draw anew what group-specific effects have in common with the coefficients."""
    rng = np.random.default_rng(seed)
    values = {str(n): v.to_numpy().copy() for n, v in drawn.data_vars.items()}
    for move in _moves(model, values):
        _apply(move, values, rng)
    return drawn.assign({n: (drawn[n].dims, v) for n, v in values.items()})


def _apply(move: _Move, values: dict[str, np.ndarray], rng: np.random.Generator) -> None:
    """Draw one translation for every draw: it is normal, as all that it changes is."""
    effects = _at(values, move.effects)
    sd = _at(values, _Place(f"{move.effects.variable}_sigma", move.effects.entry))
    precision = effects.shape[2] / sd**2
    linear = effects.sum(axis=2) / sd**2
    for place, step, mean, spread in move.steps:
        now = _at(values, place)
        shape = now.shape[2:]
        axes = tuple(range(2, now.ndim))
        weight = np.broadcast_to(1 / spread**2, shape)
        precision = precision + step**2 * weight.sum()
        linear = linear + step * ((mean - now) * weight).sum(axis=axes)
    shift = linear / precision + rng.standard_normal(linear.shape) / np.sqrt(precision)
    effects -= shift[..., None]
    for place, step, _, _ in move.steps:
        now = _at(values, place)
        now += step * shift.reshape(*shift.shape, *[1] * (now.ndim - 2))


def _at(values: dict[str, np.ndarray], place: _Place) -> np.ndarray:
    """Return a view of a variable, or of one entry of its last dimension."""
    whole = values[place.variable]
    return whole if place.entry is ... else whole[..., place.entry]


def _moves(model: MixedModel, values: Mapping[str, np.ndarray]) -> Iterator[_Move]:
    """List the translations that change no prediction and only what has a normal prior."""
    level = _level(model)
    if level is None:
        return
    entries = {
        name: (term.variable, entry)
        for term in model.common
        for entry, name in enumerate(term.names)
    }
    names = list(entries)
    means = model.matrix.mean(axis=0)
    for group in model.groups:
        for number, term in enumerate(group.terms):
            # Chain, draw and level, and where something but the intercept varies, that.
            effects = _Place(group.variable, number if values[group.variable].ndim == 4 else ...)
            if term == "Intercept" and level:
                yield _Move(effects, level)
            elif term in entries:
                step = _coefficient(model, *entries[term])
                if step is not None:
                    # The intercept is that of centred predictors.
                    centre = float(means[names.index(term)]) if model.intercept else 0.0
                    moved = [(p, centre * s, m, sd) for p, s, m, sd in level if centre]
                    yield _Move(effects, (step, *moved))


def _level(model: MixedModel) -> tuple[_Step, ...] | None:
    """Return the step of what sets the level of all predictions; None for a prior not normal."""
    if model.intercept:
        step = _step(_Place("Intercept"), 1.0, model.mean.intercept_term.prior)
    elif "threshold" in model.bambi.components:
        # Thresholds are compared to the predictor, and go down with it.
        step = _step(_Place("threshold"), -1.0, model.bambi.components["threshold"].prior)
    else:
        return ()
    return None if step is None else (step,)


def _coefficient(model: MixedModel, variable: str, entry: int) -> _Step | None:
    prior = model.mean.common_terms[variable].prior
    term = next(term for term in model.common if term.variable == variable)
    vector = bool(model.mean.common_terms[variable].coords)
    place = _Place(variable, entry if vector else ...)
    step = _step(place, 1.0, prior)
    if step is None or not vector:
        return step
    mean, spread = (np.broadcast_to(np.squeeze(v), len(term.names))[entry] for v in step[2:])
    return place, 1.0, np.asarray(mean), np.asarray(spread)


def _step(place: _Place, step: float, prior: Any) -> _Step | None:
    if prior.name != "Normal":
        return None
    mean, spread = (np.squeeze(np.asarray(prior.args[n], dtype=float)) for n in ("mu", "sigma"))
    return place, step, mean, spread
