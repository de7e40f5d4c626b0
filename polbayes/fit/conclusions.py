"""What is concluded from the posterior of the ideology model, beyond its summaries."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from polbayes.fit.cells import Cells
from polbayes.fit.contrasts import contrasts, prefix_contrasts
from polbayes.fit.correlation import correlations
from polbayes.fit.d_study import d_study, reliability
from polbayes.fit.generalizability import scores_of
from polbayes.fit.shares import variance_shares
from polbayes.fit.spec import Spec
from polbayes.fit.study import study
from polbayes.fit.terms import BoundPart

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from polbayes.config.schema import PrecisionConfig


def conclude(
    posterior: "xr.Dataset",
    spec: Spec,
    parts: Mapping[str, BoundPart],
    cells: Cells,
    *,
    level: float,
    rope: float,
    precision: "PrecisionConfig",
) -> dict[str, "pd.DataFrame"]:
    """Compare the models, divide the variance, and plan further studies.

    Parameters
    ----------
    posterior
        As `polbayes.fit.components.with_variances` leaves it.
    spec, parts, cells
        What was fitted.
    level
        Probability of the intervals, in (0, 1).
    rope
        Half the width of the region of practical equivalence, on the bias scale.
    precision
        How precise a study is to be.

    Returns
    -------
    dict
        ``contrasts``, ``variance_shares`` and, where there are the models or the terms for
        them, ``prefix_contrasts``, ``correlation``, ``reliability`` and ``d_study``.
    """
    design = study(parts, cells)
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
    """Return the parameter of the prior of the dimensions' correlation, if the spec has it."""
    for term in spec.parts["theta"].groups:
        by_dimension = "".join(term.expr.split()) == "0+dimension"
        if term.factors == ("model",) and term.correlated and by_dimension:
            return spec.prior("theta", term.name, "cor").values[0]
    return None
