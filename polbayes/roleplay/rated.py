"""From transcripts to ratings: the texts that judges rate, and the dataset of their ratings.

The dataset of `polbayes.roleplay.measures.data` has further variables besides `rating` and
`commitment`, all over ``model, scenario, twin, wording, stage, judge``:

- `rating_status` (and ``value``) and `commitment_status`: why there is no usable rating
  (`RATING_STATUS`);
- `reasoning` and `reply`: untrusted text;
- `attempts`: how often the judge was asked, 0 if there was nothing to rate;

and `self_judged` over ``model, judge``, 1 if the two are the same; `outcomes` over
``judge, attempt, outcome``: the number of replies of each kind.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from polbayes.instrument.values import VALUES
from polbayes.judging.declared import self_judging
from polbayes.judging.replies import STATUSES
from polbayes.probing.dispatch import TOO_LONG
from polbayes.roleplay.judging import JUDGES, Rating, rate
from polbayes.roleplay.measures.data import RATED_DIMS, UNIT_DIMS
from polbayes.roleplay.plan import RoleplayPlan
from polbayes.roleplay.rubric import CHECKS, COMMITMENT, PLAIN, Reading
from polbayes.roleplay.transcripts import RATED, STATUS

FILE, CHECKS_FILE = "ratings.nc", "judge_checks.nc"
# Why there is no rating: nothing to rate, no reply, or no usable one.
_READ = tuple(status for status in STATUSES if status != "unknown_label")
RATING_STATUS = {"nothing_to_rate": -128, "no_reply": -1, **{s: k for k, s in enumerate(_READ)}}
OUTCOMES = (*_READ, "error", "refused", "invalid", TOO_LONG)
_COPIED = ("title", "topic", "dimension", "asking", "family", "checkpoint", "revision")

_Place = tuple[int, ...]


def judge_all(
    plan: RoleplayPlan, data: xr.Dataset, *, folder: Path, answers_from: Path | None = None
) -> tuple[xr.Dataset, xr.Dataset | None]:
    """Have every judge rate every text of the transcripts."""
    places = units_to_rate(data)
    sample = _sample(places, plan.config.judging.sample, plan.config.seed)
    found = {}
    for judge in plan.judges:
        readings = [(_reading(data, at), PLAIN) for at in places]
        readings += [(_reading(data, at), way) for way in CHECKS for at in sample]
        found[judge] = rate(
            plan,
            judge,
            readings,
            folder=folder / JUDGES,
            answers_from=answers_from / JUDGES if answers_from else None,
        )
    ratings = _laid_out(plan, data, places, found)
    if not sample:
        return ratings, None
    return ratings, _checks(data, places, sample, found)


def units_to_rate(data: xr.Dataset) -> list[_Place]:
    """Return the positions of the turns with a text."""
    codes = [STATUS[name] for name in RATED]
    texts = data["answer"].transpose(*UNIT_DIMS).values
    there = np.isin(data["status"].transpose(*UNIT_DIMS).values, codes)
    there &= (texts != "") | (data["thoughts"].transpose(*UNIT_DIMS).values != "")
    return [tuple(map(int, at)) for at in np.argwhere(there)]


def _reading(data: xr.Dataset, at: _Place) -> Reading:
    def text(name: str, place: _Place) -> str:
        return str(data[name].values[place])

    return Reading(
        unit=str(data["stage"].values[at[-1]]),
        situation=text("prompt", at[1:]),
        thoughts=text("thoughts", at),
        answer=text("answer", at),
    )


def _sample(places: Sequence[_Place], size: int, seed: int) -> list[_Place]:
    """Draw texts for the checks, the same for every judge."""
    from polbayes.measures.resampling import generator

    size = min(size, len(places))
    drawn = generator(seed, "judge checks").choice(len(places), size=size, replace=False)
    return [places[k] for k in sorted(drawn.tolist())]


def _laid_out(
    plan: RoleplayPlan,
    data: xr.Dataset,
    places: Sequence[_Place],
    found: Mapping[str, Sequence[Rating]],
) -> xr.Dataset:
    judged = _filled([data.sizes[dim] for dim in UNIT_DIMS], places, found)
    tries = plan.config.judging.retries + 1
    outcomes = np.zeros((len(found), tries, len(OUTCOMES)), dtype=np.int64)
    for j, ratings in enumerate(found.values()):
        for one in ratings:
            for attempt, outcome in enumerate(one.outcomes):
                outcomes[j, attempt, OUTCOMES.index(outcome)] += 1
    pairs = self_judging(plan.models, plan.judges, plan.config.respondents)
    own = [[int((model, judge) in pairs) for judge in found] for model in plan.models]
    return xr.Dataset(
        {
            **judged,
            "self_judged": (
                ("model", "judge"),
                np.array(own, dtype=np.int8).reshape(-1, len(found)),
            ),
            "outcomes": (("judge", "attempt", "outcome"), outcomes),
        },
        coords={
            **{dim: data[dim].values for dim in UNIT_DIMS},
            "judge": np.array(list(found), dtype=object),
            "value": np.array(VALUES, dtype=object),
            "attempt": np.arange(1, tries + 1, dtype=np.int16),
            "outcome": np.array(OUTCOMES, dtype=object),
            **{name: (data[name].dims, data[name].values) for name in _COPIED},
        },
    )


def _filled(
    units: Sequence[int], places: Sequence[_Place], found: Mapping[str, Sequence[Rating]]
) -> dict[str, Any]:
    """Return the variables over units and judges, empty outside the given positions."""
    shape = (*units, len(found))
    rating, commitment = np.full((*shape, len(VALUES)), np.nan), np.full(shape, np.nan)
    nothing = RATING_STATUS["nothing_to_rate"]
    why = np.full((*shape, len(VALUES)), nothing, dtype=np.int8)
    why_commitment = np.full(shape, nothing, dtype=np.int8)
    attempts = np.zeros(shape, dtype=np.int8)
    reasoning, reply = np.full((2, *shape), "", dtype=object)
    for j, ratings in enumerate(found.values()):
        for place, one in zip(places, ratings, strict=False):
            at = (*place, j)
            numbers, codes = _numbers(one)
            rating[at], commitment[at] = numbers[:-1], numbers[-1]
            why[at], why_commitment[at] = codes[:-1], codes[-1]
            attempts[at], reply[at] = one.attempts, one.reply
            reasoning[at] = one.judgement.reasoning if one.judgement else ""
    status = {
        "flag_values": np.array(list(RATING_STATUS.values()), dtype=np.int8),
        "flag_meanings": " ".join(RATING_STATUS),
    }
    with_value = (*RATED_DIMS, "value")
    return {
        "rating": (with_value, rating, {"long_name": "0 against the value, 20 all for it"}),
        COMMITMENT: (RATED_DIMS, commitment, {"long_name": "0 a refusal, 5 firm and acting"}),
        "rating_status": (with_value, why, status),
        "commitment_status": (RATED_DIMS, why_commitment, status),
        "attempts": (RATED_DIMS, attempts, {"long_name": "how often the judge was asked"}),
        "reasoning": (RATED_DIMS, reasoning, {"long_name": "the judge's reasoning"}),
        "reply": (RATED_DIMS, reply, {"long_name": "the judge's reply as received"}),
    }


def _numbers(one: Rating) -> tuple[NDArray[np.float64], NDArray[np.int8]]:
    """Return the ratings of the values and of commitment, with their codes."""
    names = (*VALUES, COMMITMENT)
    if one.judgement is None:
        none = np.full(len(names), np.nan)
        return none, np.full(len(names), RATING_STATUS["no_reply"], dtype=np.int8)
    ratings, statuses = one.judgement.ratings, one.judgement.statuses
    numbers = np.array([ratings[name] for name in names])
    return numbers, np.array([RATING_STATUS[statuses[name]] for name in names], dtype=np.int8)


def _checks(
    data: xr.Dataset,
    places: Sequence[_Place],
    sample: Sequence[_Place],
    found: Mapping[str, Sequence[Rating]],
) -> xr.Dataset:
    where = {place: k for k, place in enumerate(places)}
    rows = [[where[at] for at in sample]]
    rows += [
        list(range(start, start + len(sample)))
        for start in (len(places), len(places) + len(sample))
    ]
    numbers = np.array(
        [[[_numbers(ratings[k])[0] for k in row] for ratings in found.values()] for row in rows]
    )
    dims = ("check", "judge", "unit")
    labels: dict[str, Any] = {
        dim: ("unit", data[dim].values[[at[k] for at in sample]]) for k, dim in enumerate(UNIT_DIMS)
    }
    return xr.Dataset(
        {"rating": ((*dims, "value"), numbers[..., :-1]), COMMITMENT: (dims, numbers[..., -1])},
        coords={
            "check": np.array([PLAIN, *CHECKS], dtype=object),
            "judge": np.array(list(found), dtype=object),
            "value": np.array(VALUES, dtype=object),
            **labels,
        },
    )
