"""Variances of the effects in every draw, and moments of answers given the latent scale."""

from typing import Any

import numpy as np
import xarray as xr
from scipy.sparse import csr_array

from polbayes.fit.density.layout import Block, entries
from polbayes.fit.density.model import Built
from polbayes.fit.posterior.measurement_design import Weights, average, terms_of, weigh
from polbayes.fit.posterior.naming import of_every_draw
from polbayes.fit.spec.terms import BoundGroup


def with_variances(posterior: xr.Dataset, built: Built, drawn: xr.Dataset) -> xr.Dataset:
    """Add the inputs of variance shares and reliability to a posterior.

    ``effect_variance[component, model, dimension]`` is the realised variance (Gelman 2005) of the
    effects of each term except theta's, among a model's answers on a dimension;
    ``answer_slope``, ``answer_variance`` and ``answer_noise[model, dimension]`` are
    `polbayes.fit.families.base.Moments` averaged over the model's answers, slope and noise in the
    unit of the predictor; and ``repetition[model]`` is the probability that a model repeats an
    answer, averaged in the same way.
    """
    weights = weigh(built.cells)
    coords = {"model": list(weights.models), "dimension": list(weights.dimensions)}
    out = _answers(built, drawn, weights)
    same = average(out.pop("answer_same"), axis=-1)
    silent = (*built.cells.copies, *built.cells.once)  # they say nothing about repetition
    repeated = np.where([model in silent for model in weights.models], np.nan, same)
    dims: tuple[str, ...] = ("chain", "draw", "model", "dimension")
    variables: dict[str, Any] = {name: (dims, values) for name, values in out.items()}
    variables["repetition"] = (dims[:3], repeated)
    terms = list(terms_of(built.layout))
    if terms:
        values = np.stack([_realised(*term, drawn, weights) for term in terms], axis=2)
        dims = ("chain", "draw", "component", "model", "dimension")
        variables["effect_variance"] = (dims, values)
        coords["component"] = [f"{block.part}: {group.term.name}" for block, group in terms]
    new = posterior.assign_coords(
        {name: np.array(labels, dtype=object) for name, labels in coords.items()}
    )
    return new.assign(variables)


def _realised(block: Block, group: BoundGroup, drawn: xr.Dataset, weights: Weights) -> np.ndarray:
    """Return ``[chain, draw, model, dimension]`` the mean square of a term's effects.

    The divisor is the number of free effects, as in a variance about a mean.
    """
    square = drawn["effects"].to_numpy()[..., block.start : block.stop] ** 2
    total = np.zeros((*square.shape[:2], weights.size))
    for effect, factor in entries(group):
        table = np.zeros((block.size, weights.size))
        np.add.at(table, (effect, weights.group), weights.weight * factor**2)
        total += square @ table
    total = np.where(weights.asked, total * block.size / max(len(block.free), 1), np.nan)
    return total.reshape(*square.shape[:2], *weights.shape)


def _answers(built: Built, drawn: xr.Dataset, weights: Weights) -> dict[str, np.ndarray]:
    """Average the moments of answers: ``[chain, draw, model, dimension]`` each."""
    cells = np.arange(len(weights.weight))
    table = csr_array((weights.weight, (weights.group, cells)), shape=(weights.size, len(cells)))
    names = ("slope", "variance", "noise", "same")

    def averaged(
        eta: np.ndarray, own: np.ndarray, gaps: np.ndarray, sharp: np.ndarray
    ) -> np.ndarray:
        moments = built.spec.observation.moments(eta, own, gaps)
        values = (moments.slope * sharp, moments.variance, moments.noise / sharp**2, moments.same)
        return np.asarray(table @ np.stack(values, axis=1))

    found = of_every_draw(built, drawn, averaged)
    means = np.where(weights.asked[:, None], found, np.nan)
    shape = (drawn.sizes["chain"], drawn.sizes["draw"], *weights.shape)
    return {f"answer_{name}": means[..., k].reshape(shape) for k, name in enumerate(names)}
