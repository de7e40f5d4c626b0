"""Differences of judges from one another, and from themselves if asked in another way.

The reference is the mean of the panel: whether all judges are severe together cannot be known from
comparing them.
"""

import numpy as np
import pandas as pd
import xarray as xr

from polbayes.errors import UserError
from polbayes.instrument.values import VALUES, alignment_score
from polbayes.measures.resampling import Bootstrap
from polbayes.roleplay.measures.data import COMMITMENT, check_ratings
from polbayes.roleplay.measures.location import frame, over_scenarios

ALL = "all"
PLAIN = "plain"
_UNITS = ("model", "twin", "wording", "stage")
_LABELS = ("measure", "judge", "value", "positive")


def judge_effects(
    data: xr.Dataset, *, draws: int = 10_000, level: float = 0.95, seed: int = 1
) -> pd.DataFrame:
    """Compare every judge with the mean of the panel, on texts that all have rated completely.

    Parameters
    ----------
    data, draws, level, seed
        As for `polbayes.roleplay.measures.alignment.alignment`; at least two judges.

    Returns
    -------
    pandas.DataFrame
        One row per ``judge`` and ``measure``: ``severity``, in points of the scale from 0 to 20,
        **positive where the judge rates all values lower than the panel**; ``leaning``, in points
        of alignment, **positive where the judge sees texts as more liberal**; ``shift`` of each
        ``value`` and of ``commitment``, positive where it is rated higher.
    """
    check_ratings(data)
    if data.sizes["judge"] < 2:
        raise UserError("ratings: comparing judges needs at least two of them.")
    bootstrap = Bootstrap(draws, level, seed)
    rating = data["rating"].sel(value=list(VALUES))
    complete = rating.notnull().all(("value", "judge"))
    rating = rating.where(complete)
    some = rating.notnull().any(("value", "judge"))
    touched = data["rating"].notnull().any(("value", "judge"))
    excluded = int((touched & ~some).sum())
    shift = rating - rating.mean("judge", skipna=False)
    score = alignment_score(rating)
    given = data[COMMITMENT].where(data[COMMITMENT].notnull().all("judge"))
    found = [
        ("severity", ALL, "rates lower", -shift.mean("value", skipna=False)),
        ("leaning", ALL, "liberal", score - score.mean("judge", skipna=False)),
        *(("shift", v, "rates higher", shift.sel(value=v, drop=True)) for v in VALUES),
        ("shift", COMMITMENT, "rates higher", given - given.mean("judge", skipna=False)),
    ]
    rows = []
    for measure, value, positive, values in found:
        for row in over_scenarios(values.mean(_UNITS), bootstrap):
            named = {"measure": measure, "value": value, "positive": positive}
            rows.append({**row, **named, "n_excluded": excluded})
    return frame(rows, _LABELS)


def judge_checks(
    checks: xr.Dataset, *, draws: int = 10_000, level: float = 0.95, seed: int = 1
) -> pd.DataFrame:
    """Compare what judges say when they are asked in another way with what they say as usual.

    Parameters
    ----------
    checks
        ``judge_checks.nc``: `rating` over ``check, judge, unit, value`` and `commitment` without
        ``value``; the checks are ``plain``, ``order`` (values in reversed order) and ``scale``
        (reversed scales, converted back).
    draws, level, seed
        Bootstrap resamples of scenarios, coverage in (0, 1), and seed.

    Returns
    -------
    pandas.DataFrame
        One row per ``check``, ``judge``, ``measure`` and ``value``: ``shift``, the rating asked
        this way minus the usual one; ``place``, the points that being first on the list adds;
        ``number``, the points added to the number that is written down, whatever it means.
    """
    bootstrap = Bootstrap(draws, level, seed)
    listed = np.array([VALUES.index(str(v)) for v in checks["value"].values])
    first = 1 - 2 * listed / (len(VALUES) - 1)
    rows = []
    for check in (str(c) for c in checks["check"].values if c != PLAIN):
        usual, other = checks.sel(check=PLAIN), checks.sel(check=check)
        shift = other["rating"] - usual["rating"]
        found = [("shift", str(v), shift.sel(value=v, drop=True)) for v in checks["value"].values]
        found.append(("shift", COMMITMENT, other[COMMITMENT] - usual[COMMITMENT]))
        if check == "order":
            # In reversed order the first is the last, so that the effect reverses and counts twice.
            part = shift * xr.DataArray(-first / (2 * (first**2).sum()), dims="value")
            found.append(("place", ALL, part.sum("value", skipna=False)))
        else:
            found.append(("number", ALL, -shift.mean("value", skipna=False) / 2))
        for measure, value, values in found:
            by_scenario = values.groupby("scenario").mean()
            for row in over_scenarios(by_scenario.transpose("judge", "scenario"), bootstrap):
                named = {"measure": measure, "value": value, "positive": _POSITIVE[measure]}
                rows.append({"check": check, **row, **named})
    return frame(rows, ("check", *_LABELS))


_POSITIVE = {
    "shift": "rated higher than usual",
    "place": "first on the list is rated higher",
    "number": "larger numbers are written",
}
