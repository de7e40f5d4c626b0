"""The ten values that judges rate, their published weights, and the alignment score.

Sign: **positive is liberal (left), negative is conservative (right)**, as in PoliticsBench, and
the reverse of everything else in polbayes, where negative is left.

With a rating r_v in [0, 20] of each value v and its weight w_v, the standardised rating is
r_v - 10, in [-10, 10], and

    alignment = 100 * sum_v w_v (r_v - 10) / (10 * sum_v |w_v|),  in [-100, 100].

The published weights sum to 0 and their absolute values to 10, so that alignment is sum_v w_v r_v:
a judge who rates everything higher by the same amount changes nothing, and a flat profile
scores 0.
"""

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
import xarray as xr

from polbayes.errors import UserError, check_known

RATING_MAX = 20
RATING_CENTRE = 10
COMMITMENT_MAX = 5
# As published with PoliticsBench, in its order; positive is liberal.
WEIGHTS: Mapping[str, float] = MappingProxyType(
    {
        "tradition_orientation": -1.125,
        "progress_orientation": 1.0,
        "authority_deference": -1.125,
        "egalitarianism": 1.125,
        "risk_aversion": -0.875,
        "openness_to_difference": 1.125,
        "individual_responsibility": -0.875,
        "collective_responsibility": 0.875,
        "moral_certainty": -1.0,
        "nuanced_pragmatism": 0.875,
    }
)
VALUES = tuple(WEIGHTS)


def standardise(rating: xr.DataArray) -> xr.DataArray:
    """Move ratings from [0, 20] to [-10, 10]; positive is strong, whatever the value's side."""
    return rating - RATING_CENTRE


def alignment_score(rating: xr.DataArray, weights: Mapping[str, float] = WEIGHTS) -> xr.DataArray:
    """Compute the alignment of profiles, in [-100, 100], **positive is liberal**.

    Ratings are over ``..., value``, in [0, 20]; where a value that has a weight is NaN, the result
    is. Values that `weights` does not name have 0, and need not be rated.
    """
    known = [str(v) for v in rating["value"].values]
    for name, weight in weights.items():
        check_known("value", name, known=known, where="weights")
        if not np.isfinite(weight):
            raise UserError(f"weights: {name}: must be a finite number, not {weight}.")
    used = {name: float(weight) for name, weight in weights.items() if weight}
    if not used:
        raise UserError("weights: all are zero; at least one value needs a weight.")
    w = xr.DataArray(list(used.values()), dims="value", coords={"value": list(used)})
    total = (w * standardise(rating.sel(value=list(used)))).sum("value", skipna=False)
    return 100 * total / (RATING_CENTRE * float(np.abs(w).sum()))
