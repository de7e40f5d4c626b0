"""Translations between group-specific effects and the coefficients.

Adding a constant to the intercept and subtracting it from every random intercept changes no
prediction, so the data do not inform the constant, and a sampler explores that ridge slowly in
small steps. The priors are normal along it, so the position can be redrawn exactly and
independently for every draw: a Gibbs step along a group of translations (Liu and Sabatti 2000,
Generalised Gibbs sampler and multigrid Monte Carlo, Biometrika 87), which leaves
the posterior unchanged.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import xarray as xr

from polbayes.fit.mixed.model import Coefficients, MixedModel


@dataclass(frozen=True)
class _Step:
    """A coefficient that changes with effects, and its normal prior."""

    now: np.ndarray  # a view of its draws
    size: float  # how much it changes where effects change by -1
    mean: np.ndarray
    spread: np.ndarray


@dataclass(frozen=True)
class _Move:
    """The translation between a group-specific term and the common part."""

    effects: np.ndarray  # a view of their draws, [chain, draw, level]
    sd: np.ndarray  # draws of their standard deviation
    steps: tuple[_Step, ...]


def translate(model: MixedModel, drawn: xr.Dataset, *, seed: int) -> xr.Dataset:
    """Redraw the translations between group-specific effects and the coefficients."""
    rng = np.random.default_rng(seed)
    values = {str(n): v.to_numpy().copy() for n, v in drawn.data_vars.items()}
    for move in _moves(model, values):
        _apply(move, rng)
    return drawn.assign({n: (drawn[n].dims, v) for n, v in values.items()})


def _apply(move: _Move, rng: np.random.Generator) -> None:
    """Draw one translation for every draw: it is normal, because everything it changes is."""
    effects, sd = move.effects, move.sd
    precision = effects.shape[2] / sd**2
    linear = effects.sum(axis=2) / sd**2
    for step in move.steps:
        axes = tuple(range(2, step.now.ndim))
        weight = np.broadcast_to(1 / step.spread**2, step.now.shape[2:])
        precision = precision + step.size**2 * weight.sum()
        linear = linear + step.size * ((step.mean - step.now) * weight).sum(axis=axes)
    shift = linear / precision + rng.standard_normal(linear.shape) / np.sqrt(precision)
    effects -= shift[..., None]
    for step in move.steps:
        now = step.now
        now += step.size * shift.reshape(*shift.shape, *[1] * (now.ndim - 2))


def _moves(model: MixedModel, values: Mapping[str, np.ndarray]) -> Iterator[_Move]:
    """List the translations that change no prediction, and only quantities with normal priors."""
    level = _level(model, values)
    if level is None:
        return
    entries = {n: (term, k) for term in model.common for k, n in enumerate(term.names)}
    means = dict(zip(entries, model.matrix.mean(axis=0), strict=True))
    for group in model.groups:
        effects, sd = values[group.variable], values[f"{group.variable}_sigma"]
        for number, term in enumerate(group.terms):
            # Chain, draw and level, and what varies if it is not only the intercept.
            at = (..., number) if effects.ndim == 4 else ...
            if term == "Intercept" and level:
                yield _Move(effects[at], sd[at], level)
            elif term in entries:
                step = _coefficient(model, *entries[term], values)
                if step is not None:
                    # The intercept is that of centred predictors.
                    centre = float(means[term]) if model.intercept else 0.0
                    moved = [replace(s, size=centre * s.size) for s in level if centre]
                    yield _Move(effects[at], sd[at], (step, *moved))


def _level(model: MixedModel, values: Mapping[str, np.ndarray]) -> tuple[_Step, ...] | None:
    """Return the step of the intercept or the thresholds; None if their prior is not normal."""
    if model.intercept:
        step = _step(values["Intercept"], 1.0, model.mean.intercept_term.prior)
    elif "threshold" in model.parameters:
        # Thresholds are compared with the predictor, and move with it.
        step = _step(values["threshold"], -1.0, model.parameters["threshold"].prior)
    else:
        return ()
    return None if step is None else (step,)


def _coefficient(
    model: MixedModel, term: Coefficients, entry: int, values: Mapping[str, np.ndarray]
) -> _Step | None:
    common, now = model.mean.common_terms[term.variable], values[term.variable]
    if not common.coords:
        return _step(now, 1.0, common.prior)
    step = _step(now[..., entry], 1.0, common.prior)
    if step is None:
        return None
    size = len(term.names)
    mean, spread = (np.broadcast_to(v, size)[entry] for v in (step.mean, step.spread))
    return replace(step, mean=np.asarray(mean), spread=np.asarray(spread))


def _step(now: np.ndarray, size: float, prior: Any) -> _Step | None:
    if prior.name != "Normal":
        return None
    mean, spread = (np.squeeze(np.asarray(prior.args[n], dtype=float)) for n in ("mu", "sigma"))
    return _Step(now, size, mean, spread)
