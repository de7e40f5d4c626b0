"""Named draws of the many-facet model.

Quantities of models are what a *fair judge* would be expected to give: one with the mean severity
and leaning of the panel, no stretch, the geometric mean of the panel's noise, and that is none of
the models; they are averaged over the prompts of the run. Quantities of judges are in points of the
rating scale, as is the latent rating.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from polbayes.instrument.scenarios import STAGES
from polbayes.roleplay.fit.model import FacetModel

# The quantities of interest, checked for convergence.
MODEL_LEVEL = (
    "fair",
    "score",
    "severity",
    "leaning",
    "tilt",
    "consistency",
    "range_use",
    "self_level",
    "self_tilt",
)
ALL_STAGES = "stages"
_DRAW = ("chain", "draw")


def name_posterior(drawn: xr.Dataset, model: FacetModel) -> xr.Dataset:
    """Name the draws.

    The result has ``chain, draw`` first and

    - ``fair[model, stage, value]``: expected rating by a fair judge, in points;
    - ``latent[model, value]``: the model's position on the latent scale, in points, by that judge;
    - ``score[model, source]``: its score (`polbayes.roleplay.fit.rated.Rated.score_weights`) for
      every stage and, if there are all four, for their mean (``stages``);
    - ``severity[judge]``: points below the panel's mean over all values; sums to 0;
    - ``leaning[judge, value]``: points above the panel's mean beyond severity; sums to 0 over
      judges and over values;
    - ``tilt[judge]``: the effect of its leaning on the score;
    - ``consistency[judge]``: noise of the panel (geometric mean) over that of the judge, above 1
      for judges that err less;
    - ``noise[judge]``: scale of the judge's logistic noise, in points;
    - ``range_use[judge]``: how far from the middle it rates, 1 for the panel;
    - ``self_level[self]``, ``self_tilt[self]``: points that a judge adds to all values, and to the
      score, when it rates itself, beyond how it rates others;
    - ``judge_model_tilt[judge, model]``: what a judge adds to a model's score beyond this, in
      ratings of itself, too;
    - ``sway[model]``: the effect of the asking person's side on the score, right minus left;
    - ``sd[effect]``: scales, ``term:kind``; ``cutpoint[cut]``.
    """
    rated = model.rated
    names, sizes = rated.names, rated.sizes
    draws = [drawn.sizes[d] for d in _DRAW]
    raw = {str(n): np.asarray(drawn[n].transpose(*_DRAW, ...)) for n in drawn.data_vars}
    fair = raw["fair"].reshape(*draws, sizes["model"], sizes["stage"], sizes["value"])
    coords: dict[str, Any] = {dim: list(names[dim]) for dim in ("model", "stage", "judge", "value")}
    coords |= {"chain": np.arange(draws[0]), "draw": np.arange(draws[1])}
    found: dict[str, tuple[tuple[str, ...], np.ndarray]] = {
        "fair": (("model", "stage", "value"), fair),
        "latent": (("model", "value"), _latent(raw, model)),
        **_of_judges(raw, model),
        "cutpoint": (("cut",), raw["cutpoint"]),
        "sd": (("effect",), raw["sd"]),
    }
    coords["effect"] = [f"{term}:{kind}" for term, kind in model.scales]
    if "model:sway" in raw and "sway" in raw:
        both = raw["model:sway"] + raw["sway"]
        found["sway"] = (("model",), both @ _score_of_columns(model))
    sources, scores = _scores(fair, model)
    found["score"], coords["source"] = (("model", "source"), scores), sources
    if "own" in raw:
        coords["self"] = [names["judge"][judge] for judge, _ in model.selves]
        found |= _of_selves(raw["own"], model)
    data = {name: ((*_DRAW, *dims), values) for name, (dims, values) in found.items()}
    about = {"positive": rated.axis} if rated.axis else {}
    return xr.Dataset(data, coords=coords, attrs=about)


def _latent(raw: Mapping[str, np.ndarray], model: FacetModel) -> np.ndarray:
    """Return ``[chain, draw, model, value]`` latent ratings."""
    sizes, mean = model.rated.sizes, raw["mean"][..., None, :]
    if "model" not in raw:
        return np.repeat(mean, sizes["model"], axis=-2)
    return np.asarray(mean + raw["model"] @ model.rated.basis.T)


def _scores(fair: np.ndarray, model: FacetModel) -> tuple[list[str], np.ndarray]:
    """Return the sources of scores, and ``[chain, draw, model, source]`` the scores."""
    rated = model.rated
    start = rated.middle if rated.weights is not None else 0.0
    by_stage = (fair - start) @ rated.score_weights
    sources = list(rated.names["stage"])
    if set(STAGES) <= set(sources):
        at = [sources.index(stage) for stage in STAGES]
        mean = by_stage[..., at].mean(axis=-1, keepdims=True)
        by_stage, sources = np.concatenate([by_stage, mean], axis=-1), [*sources, ALL_STAGES]
    return sources, by_stage


def _score_of_columns(model: FacetModel) -> np.ndarray:
    """Return ``[column]`` the change of the score per unit of each direction."""
    return np.asarray(model.rated.score_weights @ model.rated.basis)


def _of_judges(
    raw: Mapping[str, np.ndarray], model: FacetModel
) -> dict[str, tuple[tuple[str, ...], np.ndarray]]:
    rated, noise = model.rated, raw["noise"]
    mean = np.exp(np.log(noise).mean(axis=-1, keepdims=True))
    found: dict[str, tuple[tuple[str, ...], np.ndarray]] = {
        "noise": (("judge",), noise),
        "consistency": (("judge",), mean / noise),
        "range_use": (("judge",), 1 / raw["stretch"]),
    }
    if "judge" in raw:
        effect = raw["judge"] @ rated.basis.T
        level = effect.mean(axis=-1)
        found["severity"] = (("judge",), -level)
        if rated.sizes["value"] > 1:
            leaning = effect - level[..., None]
            found["leaning"] = (("judge", "value"), leaning)
            found["tilt"] = (("judge",), leaning @ rated.score_weights)
    if "judge:model" in raw:
        crossed = raw["judge:model"] @ _score_of_columns(model)
        shape = (*crossed.shape[:2], rated.sizes["judge"], rated.sizes["model"])
        found["judge_model_tilt"] = (("judge", "model"), crossed.reshape(shape))
    return found


def _of_selves(own: np.ndarray, model: FacetModel) -> dict[str, tuple[tuple[str, ...], np.ndarray]]:
    """Return what judges add to ratings of themselves."""
    rated = model.rated
    columns = own.shape[-1]
    effect = own @ rated.basis[:, :columns].T
    level = effect.mean(axis=-1)
    found: dict[str, tuple[tuple[str, ...], np.ndarray]] = {"self_level": (("self",), level)}
    if rated.weights is not None:
        found["self_tilt"] = (("self",), effect @ rated.score_weights)
    return found
