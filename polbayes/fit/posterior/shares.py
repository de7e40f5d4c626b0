"""Variance shares: the sources of differences between answers."""

import numpy as np
import pandas as pd
import xarray as xr

from polbayes.fit.posterior.generalizability import DISCRIMINATION, REPETITION
from polbayes.fit.posterior.intervals import flat, summary
from polbayes.fit.posterior.measurement_design import Study, average, spread

MODEL = "theta: model"


def variance_shares(posterior: xr.Dataset, study: Study, *, level: float) -> pd.DataFrame:
    """Divide the variance of keyed answers on the latent scale among its sources.

    Variances are of the realised effects in each draw, with the number of free effects as
    divisor, not of a population of effects (Gelman 2005).
    """
    every = _of_all(posterior, study)
    frames = [_table(every, study, level).assign(model=None)]
    for k, model in enumerate(study.models):
        own = _of_one(posterior, study, k)
        if not np.isnan(own[REPETITION]).all():
            frames.append(_table(own, study, level).assign(model=model))
    columns = ["model", "dimension", "component", "estimate", "sd", "lower", "upper"]
    return pd.concat(frames, ignore_index=True)[[*columns, "level", "variance"]]


def _of_all(posterior: xr.Dataset, study: Study) -> dict[str, np.ndarray]:
    """Return ``[draw, dimension]`` variances by component."""
    theta = flat(posterior["theta"])
    out: dict[str, np.ndarray] = {}
    leaning = spread(theta, axis=1) if len(study.models) > 1 else None
    centre, unequal = _discriminations(posterior, study)
    if leaning is not None:
        out[MODEL] = leaning * centre**2
    for at, term in enumerate(study.terms):
        if len(study.models) == 1 and _constant(study, at):
            continue
        out[term.name] = average(_effects(posterior, at), axis=1)
    if unequal is not None:
        _put_items(out, posterior, study, average(theta, axis=1))
        if leaning is not None:
            out[DISCRIMINATION] = unequal * leaning
    out[REPETITION] = average(flat(posterior["answer_noise"]), axis=1)
    return out


def _of_one(posterior: xr.Dataset, study: Study, model: int) -> dict[str, np.ndarray]:
    """Return ``[draw, dimension]`` variances between the answers of one model."""
    out = {}
    for at, term in enumerate(study.terms):
        if not _constant(study, at):
            out[term.name] = _effects(posterior, at)[:, model]
    if "discrimination" in posterior:
        _put_items(out, posterior, study, flat(posterior["theta"])[:, model])
    out[REPETITION] = flat(posterior["answer_noise"])[:, model]
    return out


def _effects(posterior: xr.Dataset, at: int) -> np.ndarray:
    """Return ``[draw, model, dimension]`` the variances of a term's effects."""
    return flat(posterior["effect_variance"].isel(component=at))


def _constant(study: Study, at: int) -> bool:
    """Tell whether a term has one effect for all answers of a model."""
    return not study.terms[at].facets and study.terms[at].planned


def _discriminations(
    posterior: xr.Dataset, study: Study
) -> tuple[np.ndarray | float, np.ndarray | None]:
    if "discrimination" not in posterior:
        return 1.0, None
    values = [
        flat(posterior["discrimination"].sel(item=list(study.items[d]))) for d in study.dimensions
    ]
    centre = np.stack([v.mean(axis=1) for v in values], axis=1)
    unequal = np.stack([v.var(axis=1, ddof=min(1, v.shape[1] - 1)) for v in values], axis=1)
    return centre, unequal


def _put_items(
    variances: dict[str, np.ndarray], posterior: xr.Dataset, study: Study, theta: np.ndarray
) -> None:
    """Replace the variance of difficulties by that of items' differences in leaning."""
    for name in list(variances):
        if name.startswith("difficulty:"):
            del variances[name]
    out = []
    for k, dimension in enumerate(study.dimensions):
        items = list(study.items[dimension])
        factor = flat(posterior["discrimination"].sel(item=items))
        values = factor * theta[:, k, None]
        if "difficulty" in posterior:
            difficulty = flat(posterior["difficulty"].sel(item=items))
            values = values - (difficulty if study.signed else factor * difficulty)
        out.append(values.var(axis=1, ddof=min(1, len(items) - 1)))
    variances["difficulty: item"] = np.stack(out, axis=1)


def _table(variances: dict[str, np.ndarray], study: Study, level: float) -> pd.DataFrame:
    values = np.stack(list(variances.values()), axis=-1)
    if len(study.dimensions) > 1:
        values = np.concatenate([values, average(values, axis=1)[:, None]], axis=1)
    shares = values / np.nansum(values, axis=-1, keepdims=True)
    rows = []
    for d, dimension in enumerate(study.measures):
        for k, name in enumerate(variances):
            share = shares[:, d, k]
            if np.isnan(share).any():
                continue
            about = {"dimension": dimension, "component": name}
            rows.append(about | summary(share, level) | {"variance": values[:, d, k].mean()})
    return pd.DataFrame(rows).assign(level=level)
