"""Alignment of models, from the reflection as published and from all stages; profiles of values.

PoliticsBench bases its headline score on the reflection alone, and tests it against 0 with the
scenarios as the sample. The mean over the four stages is reported as well: what a model does in the
story may differ from what it says afterwards.
"""

from collections.abc import Mapping

import pandas as pd
import xarray as xr

from polbayes.instrument.values import WEIGHTS, standardise
from polbayes.measures.resampling import Bootstrap
from polbayes.roleplay.measures.data import check_ratings, judge_means
from polbayes.roleplay.measures.location import frame, over_scenarios
from polbayes.roleplay.measures.units import (
    ALL_STAGES,
    by_scenario,
    missing_units,
    unit_measures,
    with_all_stages,
)

SOURCES = ("reflection", ALL_STAGES)
POSITIVE = "liberal"


def alignment(
    data: xr.Dataset,
    *,
    weights: Mapping[str, float] = WEIGHTS,
    judge_weights: xr.DataArray | None = None,
    draws: int = 10_000,
    level: float = 0.95,
    seed: int = 1,
) -> pd.DataFrame:
    """Compute the alignment of every model, with a test against 0.

    Parameters
    ----------
    data
        A dataset of ratings (``ratings.nc``): `rating` over ``model, scenario, twin, wording,
        stage, judge, value``, in [0, 20], NaN where there is none.
    weights
        Of the values in the alignment, positive for liberal ones; as published by default.
    judge_weights
        From 0 on, over ``judge`` and other dimensions of `data` but ``value``; equal by default.
    draws, level, seed
        Bootstrap resamples of scenarios, coverage in (0, 1), and seed.

    Returns
    -------
    pandas.DataFrame
        One row per ``model``, ``source`` (``reflection``, the published one, or ``stages``, the
        mean over the four) and ``twin`` (``original``, ``mirrored``, or ``both``, the mean of the
        two, in which a readiness to do what the person in the story asks for cancels). ``estimate``
        is the mean over scenarios in [-100, 100], **positive is liberal, the reverse of polbayes'
        other measures**, with ``lower``, ``upper``, ``sd``, ``n`` scenarios, ``n_excluded`` units
        (scenario and wording) without a usable rating, ``t``, ``df``, ``p`` and ``effect_size``
        (Cohen's d).
    """
    bootstrap = Bootstrap(draws, level, seed)
    units = unit_measures(data, weights=weights, judge_weights=judge_weights)["alignment"]
    units = _of_sources(units)
    rows = over_scenarios(by_scenario(units), bootstrap, missing_units(units))
    named = [{**row, "source": row["stage"], "positive": POSITIVE} for row in rows]
    return frame(named, ("model", "source", "twin", "positive"))


def profiles(
    data: xr.Dataset, *, draws: int = 10_000, level: float = 0.95, seed: int = 1
) -> pd.DataFrame:
    """Compute how strong each of the ten values is in every model.

    Parameters
    ----------
    data, draws, level, seed
        As for `alignment`.

    Returns
    -------
    pandas.DataFrame
        As from `alignment`, but by ``value``; the estimate is the mean standardised rating in
        [-10, 10]. **Positive says that the value is strong**, and ``positive`` that a strong value
        adds to the ``liberal`` or to the ``conservative`` side of the published alignment.
    """
    bootstrap = Bootstrap(draws, level, seed)
    check_ratings(data)
    units = _of_sources(standardise(judge_means(data)))
    rows = over_scenarios(by_scenario(units), bootstrap, missing_units(units))
    named = [
        {
            **row,
            "source": row["stage"],
            "positive": POSITIVE if WEIGHTS[row["value"]] > 0 else "conservative",
        }
        for row in rows
    ]
    return frame(named, ("model", "source", "twin", "value", "positive"))


def _of_sources(units: xr.DataArray) -> xr.DataArray:
    """Keep of ``stage`` the reflection and the mean over stages, if present."""
    found = with_all_stages(units)
    return found.sel(stage=[s for s in SOURCES if s in found["stage"].values])
