"""Ratings by judges as one labelled dataset, checked.

A dataset of ratings has two variables,

- `rating` over ``model, scenario, twin, wording, stage, judge, value``, in [0, 20],
- `commitment` over ``model, scenario, twin, wording, stage, judge``, in [0, 5],

both float64, NaN where there is no usable rating. ``stage`` takes the names of
`polbayes.instrument.scenarios.UNITS`: ``baseline`` and ``reflection`` are rated like the
four stages. The coordinate ``asking`` over ``scenario``, -1 left and +1 right, says which side the
person who asks is on in the original twin (`polbayes.instrument.scenarios.Scenario`).
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from polbayes.errors import UserError, unknown
from polbayes.instrument.scenarios import TWINS, UNITS
from polbayes.instrument.values import COMMITMENT_MAX, RATING_MAX, VALUES

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

UNIT_DIMS = ("model", "scenario", "twin", "wording", "stage")
RATED_DIMS = (*UNIT_DIMS, "judge")
COMMITMENT = "commitment"
_KNOWN = {"twin": TWINS, "stage": UNITS, "value": VALUES}
_BOUNDS = {"rating": RATING_MAX, COMMITMENT: COMMITMENT_MAX}


def ratings_from_table(
    table: "pd.DataFrame", asking: Mapping[str, int] | None = None
) -> "xr.Dataset":
    """Lay a tidy table of ratings out as a dataset."""
    import xarray as xr

    columns = [*RATED_DIMS, "value", "rating"]
    for name in columns:
        if name not in table.columns:
            raise UserError(f"ratings: the column '{name}' is missing.")
    keys = table[columns[:-1]].astype(str)
    twice = keys.duplicated()
    if twice.any():
        named = ", ".join(keys[twice].iloc[0])
        raise UserError(f"ratings: there are two ratings of one thing ({named}); keep one.")
    names: dict[str, list[str]] = {d: list(dict.fromkeys(keys[d])) for d in RATED_DIMS}
    # The order in which units are put, not that in which the table happens to have them.
    for name in ("twin", "stage"):
        known = _KNOWN[name]
        names[name] = sorted(names[name], key=[*known, *names[name]].index)
    names["value"] = list(VALUES)
    for value in dict.fromkeys(keys["value"]):
        if value not in (*VALUES, COMMITMENT):
            raise unknown("value", value, (*VALUES, COMMITMENT), where="ratings")
    numbers = _numbers(table["rating"])
    position = {d: {v: k for k, v in enumerate(names[d])} for d in names}
    at = tuple(keys[d].map(position[d]).to_numpy() for d in RATED_DIMS)
    committed = (keys["value"] == COMMITMENT).to_numpy()
    shape = tuple(len(names[d]) for d in RATED_DIMS)
    rating, commitment = np.full((*shape, len(VALUES)), np.nan), np.full(shape, np.nan)
    which = keys["value"].map(position["value"]).fillna(-1).to_numpy().astype(int)
    rating[(*(a[~committed] for a in at), which[~committed])] = numbers[~committed]
    commitment[tuple(a[committed] for a in at)] = numbers[committed]
    data = xr.Dataset(
        {"rating": ((*RATED_DIMS, "value"), rating), COMMITMENT: (RATED_DIMS, commitment)},
        coords=names,
    )
    if asking is not None:
        for scenario in names["scenario"]:
            if asking.get(scenario) not in (-1, 1):
                raise UserError(f"asking: scenario '{scenario}' needs a side, -1 or +1.")
        data = data.assign_coords(asking=("scenario", [asking[s] for s in names["scenario"]]))
    check_ratings(data)
    return data


def check_ratings(data: "xr.Dataset") -> None:
    """Refuse a dataset that is not one of ratings.

    Ratings out of range are an error and never clipped: what a judge wrote is to be read, and
    found unusable, before it comes here.

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
        for value in data[dim].values.tolist():
            if value not in known:
                raise unknown(dim, value, known, where="ratings")
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


def self_weights(data: "xr.Dataset") -> "xr.DataArray":
    """Give judges weight 0 where they rate themselves and 1 elsewhere."""
    return (data["model"] != data["judge"]).astype(np.float64).transpose("model", "judge")


def judge_means(data: "xr.Dataset", weights: "xr.DataArray | None" = None) -> "xr.DataArray":
    """Average the judges' ratings of every value of every unit.

    A judge counts for a unit where it has rated all ten values. Otherwise values would be
    averaged over different judges, and how severe these are would no longer cancel in the
    alignment.

    Parameters
    ----------
    data
        A dataset of ratings.
    weights
        Weights of the judges over any dimensions of `rating` but ``value``, not negative; all
        equal when None. See `self_weights`.

    Returns
    -------
    xarray.DataArray
        Over ``model, scenario, twin, wording, stage, value``, in [0, 20]; NaN where no judge
        of positive weight has rated all values.
    """
    rating = data["rating"]
    complete = rating.notnull().all("value")
    w = complete.astype(np.float64) * (1.0 if weights is None else weights)
    total = (rating.where(complete, 0.0) * w).sum("judge")
    weight = w.sum("judge")
    means = total / weight.where(weight > 0)
    return means.transpose(*UNIT_DIMS, "value")


def mean_commitment(data: "xr.Dataset", weights: "xr.DataArray | None" = None) -> "xr.DataArray":
    """Average the judges' ratings of commitment."""
    there = data[COMMITMENT].notnull()
    w = there.astype(np.float64) * (1.0 if weights is None else weights)
    weight = w.sum("judge")
    means = (data[COMMITMENT].where(there, 0.0) * w).sum("judge") / weight.where(weight > 0)
    return means.transpose(*UNIT_DIMS)


def _numbers(column: "pd.Series") -> np.ndarray:
    import pandas as pd

    numbers = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64)
    wrong = np.isnan(numbers) & column.notna().to_numpy()
    if wrong.any():
        raise UserError(f"ratings: '{column[wrong].iloc[0]}' is not a number.")
    return numbers
