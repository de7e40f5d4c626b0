"""Ratings by judges as one labelled dataset, checked.

A dataset of ratings has two variables,

- `rating` over ``model, scenario, twin, wording, stage, judge, value``, in [0, 20],
- `commitment` over ``model, scenario, twin, wording, stage, judge``, in [0, 5],

both float64, NaN where there is no usable rating. ``stage`` takes the names of
`polbayes.instrument.scenarios.UNITS`: ``baseline`` and ``reflection`` are rated like the
four stages. The coordinate ``asking`` over ``scenario``, -1 left and +1 right, says which side the
person who asks is on in the original twin (`polbayes.instrument.scenarios.Scenario`).
"""

import numpy as np
import xarray as xr

from polbayes.errors import UserError, check_known
from polbayes.instrument.scenarios import TWINS, UNITS
from polbayes.instrument.values import COMMITMENT_MAX, RATING_MAX, VALUES

UNIT_DIMS = ("model", "scenario", "twin", "wording", "stage")
RATED_DIMS = (*UNIT_DIMS, "judge")
COMMITMENT = "commitment"
_KNOWN = {"twin": TWINS, "stage": UNITS, "value": VALUES}
_BOUNDS = {"rating": RATING_MAX, COMMITMENT: COMMITMENT_MAX}


def check_ratings(data: xr.Dataset) -> None:
    """Refuse a dataset that is not one of ratings.

    Ratings out of range are an error and never clipped: what a judge wrote is to be read, and
    found unusable, before it comes here.

    Parameters
    ----------
    data
        Any dataset.

    Raises
    ------
    UserError
        Naming the variable, dimension or name that is wrong, or the first rating out of range.
    """
    for name, dims in (("rating", (*RATED_DIMS, "value")), (COMMITMENT, RATED_DIMS)):
        if name not in data:
            raise UserError(f"ratings: the variable '{name}' is missing.")
        if set(data[name].dims) != set(dims):
            raise UserError(
                f"ratings: '{name}' must have the dimensions {', '.join(dims)}, "
                f"not {', '.join(map(str, data[name].dims))}."
            )
    for dim, known in _KNOWN.items():
        check_known(dim, *data[dim].values.tolist(), known=known, where="ratings")
    for value in VALUES:
        if value not in data["value"].values:
            raise UserError(f"ratings: the value '{value}' is missing.")
    for name, highest in _BOUNDS.items():
        values = data[name]
        wrong = (values < 0) | (values > highest)
        if bool(wrong.any()):
            at = [int(k[0]) for k in np.nonzero(wrong.values)]
            place = ", ".join(str(data[d].values[k]) for d, k in zip(values.dims, at, strict=True))
            raise UserError(
                f"ratings: {name} of {place} is {float(values.values[tuple(at)])}, "
                f"but the scale runs from 0 to {highest}."
            )


def judge_means(data: xr.Dataset, weights: xr.DataArray | None = None) -> xr.DataArray:
    """Average the judges' ratings of every value of every unit, with weights of the judges.

    A judge counts for a unit where it has rated all ten values. Otherwise values would be
    averaged over different judges, and how severe these are would no longer cancel in the
    alignment. NaN where no judge of positive weight has.
    """
    rating = data["rating"]
    complete = rating.notnull().all("value")
    w = complete.astype(np.float64) * (1.0 if weights is None else weights)
    total = (rating.where(complete, 0.0) * w).sum("judge")
    weight = w.sum("judge")
    means = total / weight.where(weight > 0)
    return means.transpose(*UNIT_DIMS, "value")


def mean_commitment(data: xr.Dataset, weights: xr.DataArray | None = None) -> xr.DataArray:
    """Average the judges' ratings of commitment."""
    there = data[COMMITMENT].notnull()
    w = there.astype(np.float64) * (1.0 if weights is None else weights)
    weight = w.sum("judge")
    means = (data[COMMITMENT].where(there, 0.0) * w).sum("judge") / weight.where(weight > 0)
    return means.transpose(*UNIT_DIMS)
