"""Measures of each unit, and their averages over scenarios."""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from polbayes.instrument.scenarios import STAGES, TWINS
from polbayes.instrument.values import WEIGHTS, alignment_score
from polbayes.roleplay.measures.data import check_ratings, judge_means, mean_commitment

_ACTIVATED = 14
# The mean over the four stages, besides the units themselves.
ALL_STAGES = "stages"
BOTH = "both"


def unit_measures(
    data: xr.Dataset,
    *,
    weights: Mapping[str, float] = WEIGHTS,
    judge_weights: xr.DataArray | None = None,
    threshold: float = _ACTIVATED,
) -> xr.Dataset:
    """Compute every measure of every unit from the means over judges.

    They are over ``model, scenario, twin, wording, stage``, NaN without a usable rating:
    ``alignment`` in [-100, 100], **positive is liberal**; ``commitment`` in [0, 5]; ``activated``,
    the number of values with a mean rating of at least `threshold`; ``entropy`` of the ten ratings
    divided by their sum, in nats, from 0 (one value alone) to log 10 (a flat profile).
    """
    check_ratings(data)
    means = judge_means(data, judge_weights)
    rated = means.notnull().all("value")
    total = means.sum("value", skipna=False)
    shares = means / total.where(total > 0)
    logs = np.log(shares.where(shares > 0, 1.0))
    return xr.Dataset(
        {
            "alignment": alignment_score(means, weights),
            "commitment": mean_commitment(data, judge_weights),
            "activated": (means >= threshold).sum("value").where(rated).astype(np.float64),
            "entropy": -(shares * logs).sum("value", skipna=False),
        }
    )


def with_all_stages(units: xr.DataArray) -> xr.DataArray:
    """Add to ``stage`` the mean over the four stages, if none of them is missing."""
    if not set(STAGES) <= set(units["stage"].values.tolist()):
        return units
    mean = units.sel(stage=list(STAGES)).mean("stage", skipna=False)
    return xr.concat([units, mean.expand_dims(stage=[ALL_STAGES])], dim="stage")


def by_scenario(units: xr.DataArray) -> xr.DataArray:
    """Average over wordings, and add to ``twin`` the mean of ``both``.

    It exists if both twins do, and is NaN if one of them is missing.
    """
    scenarios = mean_over("wording", units)
    if not set(TWINS) <= set(units["twin"].values.tolist()):
        return scenarios
    both = scenarios.sel(twin=list(TWINS)).mean("twin", skipna=False)
    return xr.concat([scenarios, both.expand_dims(twin=[BOTH])], dim="twin")


def missing_units(units: xr.DataArray) -> xr.DataArray:
    """Count the units without a value, over all dimensions but ``scenario`` and ``wording``."""
    gone = units.isnull().sum(("scenario", "wording"))
    if not set(TWINS) <= set(units["twin"].values.tolist()):
        return gone
    both = gone.sel(twin=list(TWINS)).sum("twin")
    return xr.concat([gone, both.expand_dims(twin=[BOTH])], dim="twin")


def mean_over(dim: str, values: xr.DataArray) -> xr.DataArray:
    """Average the values that are there; NaN if there are none."""
    n = values.notnull().sum(dim)
    return values.fillna(0.0).sum(dim) / n.where(n > 0)
