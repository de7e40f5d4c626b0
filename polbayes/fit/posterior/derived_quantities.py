"""Quantities derived from the posterior of the ideology model, beyond its summaries."""

from collections.abc import Mapping
from itertools import combinations

import numpy as np
import pandas as pd
import xarray as xr
from scipy.stats import beta

from polbayes.config.schema import PrecisionConfig
from polbayes.fit.posterior.contrasts import contrasts, prefix_contrasts
from polbayes.fit.posterior.d_study import d_study, reliability
from polbayes.fit.posterior.generalizability import scores_of
from polbayes.fit.posterior.intervals import flat, summary, tails
from polbayes.fit.posterior.measurement_design import measurement_design
from polbayes.fit.posterior.modes import mode_tables
from polbayes.fit.posterior.neighbours import neighbours
from polbayes.fit.posterior.over_time import over_time_tables
from polbayes.fit.posterior.populations import population_tables
from polbayes.fit.posterior.reference import reference_tables
from polbayes.fit.posterior.shares import variance_shares
from polbayes.fit.spec.cells import Cells
from polbayes.fit.spec.reference import population_models, reference_models
from polbayes.fit.spec.spec import Spec
from polbayes.fit.spec.terms import BoundPart


def derived_quantities(
    posterior: xr.Dataset,
    shown: xr.Dataset,
    spec: Spec,
    parts: Mapping[str, BoundPart],
    cells: Cells,
    *,
    level: float,
    rope: float,
    precision: PrecisionConfig,
) -> dict[str, pd.DataFrame]:
    """Compare the models, divide the variance, and plan further studies.

    `shown` is the posterior on the scale that is reported (`polbayes.fit.posterior.scale`). Where
    discriminations have either sign there is no D-study.
    """
    design = measurement_design(parts, cells)
    tables = {
        "contrasts": contrasts(shown, level=level, rope=rope),
        "variance_shares": variance_shares(posterior, design, level=level),
    }
    if "prefix_steer" in posterior:
        tables["prefix_contrasts"] = prefix_contrasts(posterior, level=level, rope=rope)
    correlation = correlations(posterior, level=level, concentration=_concentration(spec))
    if len(correlation):
        tables["correlation"] = correlation
    tables |= mode_tables(shown, level=level)
    known = reference_models(cells, spec.reference) if spec.reference else []
    if known:
        tables |= reference_tables(shown, cells, known, level=level)
    if len(pairs := neighbours(shown, level=level, reference=known)):
        tables["neighbours"] = pairs
    tables |= over_time_tables(shown, spec, cells, level=level, rope=rope)
    if spec.populations:
        many = population_models(cells, spec.populations)
        held = spec.held_decisiveness
        tables |= population_tables(posterior, shown, many, level=level, held=held)
    if spec.signed:
        return tables  # scores of another study are means by the statements' keys
    scores = scores_of(
        posterior, design, latent=spec.observation.latent, fixed_prefixes=spec.fixed_prefixes
    )
    if scores is not None:
        found = {
            "reliability": reliability(scores, design, level=level),
            "d_study": d_study(scores, design, precision, level=level),
        }
        tables |= {name: table for name, table in found.items() if len(table)}
    return tables


def _concentration(spec: Spec) -> float | None:
    """Return the parameter of the prior of the dimensions' correlation, if the spec has one."""
    for term in spec.parts["theta"].groups:
        by_dimension = "".join(term.expr.split()) == "0+dimension"
        if term.factors == ("model",) and term.correlated and by_dimension:
            return spec.prior("theta", term.name, "cor").values[0]
    return None


POPULATION, MODELS = "population", "models"
_NAME = "cor_theta_model"


def correlations(
    posterior: xr.Dataset, *, level: float, concentration: float | None = None
) -> pd.DataFrame:
    """Summarise the correlation of leanings on two dimensions.

    `concentration` is the parameter of the LKJ prior of the correlation, if there is one.
    """
    theta = flat(posterior["theta"].transpose("chain", "draw", "model", "dimension"))
    names = [str(d) for d in posterior["dimension"].values]
    rows = []
    for one, two in combinations(range(len(names)), 2):
        known = ~np.isnan(theta[:, :, [one, two]]).any(axis=(0, 2))
        about = {"first": names[one], "second": names[two], "n_models": int(known.sum())}
        if concentration is not None and _NAME in posterior:
            prior = _prior(concentration, level)
            population = posterior[_NAME].to_numpy().ravel()
            rows.append(about | {"of": POPULATION} | _summary(population, level) | prior)
        if known.sum() >= 3:
            found = _pearson(theta[:, known, one], theta[:, known, two])
            rows.append(about | {"of": MODELS} | _summary(found, level))
    columns = ["first", "second", "of", "n_models", "estimate", "sd", "lower", "upper", "level"]
    columns += ["p_positive", "prior_lower", "prior_upper"]
    return pd.DataFrame(rows, columns=columns)


def _pearson(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the correlation over the last axis, draw by draw."""
    x, y = x - x.mean(axis=1, keepdims=True), y - y.mean(axis=1, keepdims=True)
    return (x * y).sum(axis=1) / np.sqrt((x**2).sum(axis=1) * (y**2).sum(axis=1))


def _summary(draws: np.ndarray, level: float) -> dict[str, float]:
    above = float((draws > 0).mean())
    return {**summary(draws, level), "level": level, "p_positive": above}


def _prior(concentration: float, level: float) -> dict[str, float]:
    """Return the interval of a correlation under LKJ(eta): on (-1, 1), Beta(eta, eta)."""
    lower, upper = 2 * beta.ppf(tails(level), concentration, concentration) - 1
    return {"prior_lower": float(lower), "prior_upper": float(upper)}
