"""Quantities derived from the posterior of the ideology model, beyond its summaries."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pandas as pd
import xarray as xr

from polbayes.fit.posterior.contrasts import contrasts, prefix_contrasts
from polbayes.fit.posterior.correlation import correlations
from polbayes.fit.posterior.d_study import d_study, reliability
from polbayes.fit.posterior.generalizability import scores_of
from polbayes.fit.posterior.measurement_design import measurement_design
from polbayes.fit.posterior.shares import variance_shares
from polbayes.fit.spec.cells import Cells
from polbayes.fit.spec.spec import Spec
from polbayes.fit.spec.terms import BoundPart

if TYPE_CHECKING:
    from polbayes.config.schema import PrecisionConfig


def derived_quantities(
    posterior: xr.Dataset,
    spec: Spec,
    parts: Mapping[str, BoundPart],
    cells: Cells,
    *,
    level: float,
    rope: float,
    precision: "PrecisionConfig",
) -> dict[str, pd.DataFrame]:
    """Compare the models, divide the variance, and plan further studies."""
    design = measurement_design(parts, cells)
    tables = {
        "contrasts": contrasts(posterior, level=level, rope=rope),
        "variance_shares": variance_shares(posterior, design, level=level),
    }
    if "prefix_steer" in posterior:
        tables["prefix_contrasts"] = prefix_contrasts(posterior, level=level, rope=rope)
    correlation = correlations(posterior, level=level, concentration=_concentration(spec))
    if len(correlation):
        tables["correlation"] = correlation
    scores = scores_of(
        posterior,
        design,
        latent=spec.observation.latent,
        fixed_prefixes=spec.fixed_prefixes,
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
