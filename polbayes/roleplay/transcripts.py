"""The transcripts: prompts and answers, turn by turn, as one labelled dataset.

Dimensions are ``model, scenario, twin, wording, stage``; ``stage`` has the names of
`polbayes.instrument.scenarios.UNITS`. Texts are as received; thoughts and answer are separated by
`polbayes.roleplay.parts`.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from polbayes.data.dataset import read_dataset
from polbayes.errors import UserError
from polbayes.instrument.scenarios import UNITS
from polbayes.probing.consolidation import THOUGHT, without_thoughts
from polbayes.probing.journal import Record, journal_path
from polbayes.probing.remarks import as_attributes, remarks_in
from polbayes.respondents.thinking import REASONING
from polbayes.roleplay.dialogues import EARLIER, cell, is_too_long, turns_of
from polbayes.roleplay.measures.data import UNIT_DIMS
from polbayes.roleplay.parts import PARTS, part
from polbayes.roleplay.plan import Dialogue, RoleplayPlan

FILE = "transcripts.nc"
# Outcomes of a turn.
STATUS = {
    "pending": 0,
    "ok": 1,
    "refused": 2,  # whoever answered said so beside the text: a field for refusals, a filter
    "declined": 3,  # the text says so
    "invalid": 4,  # nothing but white space
    "error": 5,
    "too_long": 6,  # the dialogue does not fit into the context
    "skipped": 7,  # not put, because a turn before it has no answer
}
# Outcomes with a text to rate, if there is one.
RATED = ("ok", "refused", "declined")
_MEANINGS = {
    "prompt": "text of the scenario in this unit",
    "completion": "answer as received",
    "thoughts": "what the respondent thought",
    "answer": "what the respondent said and did",
    "message": "why the turn could not be answered",
}
# There only if there was any.
_THOUGHT = {"reasoning": {"long_name": REASONING}, "reasoning_tokens": THOUGHT}


def transcripts(plan: RoleplayPlan, journal_dir: Path) -> xr.Dataset:
    """Arrange the contents of the journals."""
    names, scenarios = list(plan.models), [one.id for one in plan.scenarios]
    shape = (len(names), len(scenarios), len(plan.twins), len(plan.wordings), len(UNITS))
    found = {name: np.full(shape, "", dtype=object) for name in _MEANINGS if name != "prompt"}
    codes = {name: np.zeros(shape, dtype=np.int8) for name in ("status", "parts", "truncated")}
    thought = {
        "reasoning": np.full(shape, "", dtype=object),
        "reasoning_tokens": np.full(shape, np.nan, dtype=np.float32),
    }
    places = {**found, **codes, **thought}
    put = np.full(shape[1:], "", dtype=object)
    remarks: dict[str, list[Record]] = {}
    for m, name in enumerate(names):
        path = journal_path(journal_dir, name)
        remarks[name] = remarks_in([path])
        said = turns_of(path)
        if any("unopened" in record for record in said.values()):
            said = {at: without_thoughts(record) for at, record in said.items()}
        for at, dialogue, unit in _places(plan):
            put[at] = dialogue.text(unit)
            turn = _turn(said, dialogue, unit)
            for key, value in turn.items():
                places[key][(m, *at)] = value
    data = xr.Dataset(
        {
            "prompt": (UNIT_DIMS[1:], put, {"long_name": _MEANINGS["prompt"]}),
            **{k: (UNIT_DIMS, v, {"long_name": _MEANINGS[k]}) for k, v in found.items()},
            **{k: (UNIT_DIMS, v, _flags(k)) for k, v in codes.items()},
            **{k: (UNIT_DIMS, v, _THOUGHT[k]) for k, v in thought.items() if _any(v)},
        },
        coords={
            "model": np.array(names, dtype=object),
            "scenario": np.array(scenarios, dtype=object),
            "twin": np.array(plan.twins, dtype=object),
            "wording": np.array(plan.wordings, dtype=object),
            "stage": np.array(UNITS, dtype=object),
            **_about(plan),
        },
    )
    return data.assign_attrs(as_attributes(remarks))


def _places(plan: RoleplayPlan) -> list[tuple[tuple[int, int, int, int], Dialogue, str]]:
    return [
        ((s, t, w, u), Dialogue(scenario, twin, wording), unit)
        for s, scenario in enumerate(plan.scenarios)
        for t, twin in enumerate(plan.twins)
        for w, wording in enumerate(plan.wordings)
        for u, unit in enumerate(UNITS)
    ]


def _any(values: np.ndarray) -> bool:
    empty = values == "" if values.dtype == object else np.isnan(values)
    return not empty.all()


def _turn(said: Mapping[Any, Record], dialogue: Dialogue, unit: str) -> dict[str, Any]:
    record = said.get(cell(dialogue, unit))
    if record is None:
        before = [said.get(cell(dialogue, earlier)) for earlier in EARLIER[unit]]
        failed = any(one is not None and one["status"] == "error" for one in before)
        return {"status": STATUS["skipped" if failed else "pending"]}
    if record["status"] == "error":
        status = "too_long" if is_too_long(record) else "error"
        return {"status": STATUS[status], "message": record["message"]}
    text = record["text"]
    parts = part(text)
    status = "invalid" if record["status"] == "empty" else record["status"]
    if status == "ok" and parts.refused:
        status = "declined"
    return {
        "status": STATUS[status],
        "completion": text,
        "thoughts": parts.thoughts,
        "answer": parts.answer,
        "parts": PARTS[parts.found],
        "truncated": record["truncated"],
        **{key: record[key] for key in _THOUGHT if key in record},
    }


def _flags(name: str) -> dict[str, Any]:
    known = {"status": STATUS, "parts": PARTS}.get(name)
    if known is None:
        return {"long_name": "1 where the answer was cut off at the limit of tokens"}
    return {
        "flag_values": np.array(list(known.values()), dtype=np.int8),
        "flag_meanings": " ".join(known),
    }


def _about(plan: RoleplayPlan) -> dict[str, Any]:
    def column(dim: str, values: list[Any]) -> tuple[str, Any]:
        text = all(isinstance(value, str) for value in values)
        return (dim, np.array(values, dtype=object if text else np.int8))

    infos = plan.models.values()
    return {
        "title": column("scenario", [one.title for one in plan.scenarios]),
        "topic": column("scenario", [one.topic for one in plan.scenarios]),
        "dimension": column("scenario", [one.dimension for one in plan.scenarios]),
        "asking": column("scenario", [one.asking for one in plan.scenarios]),
        "family": column("model", [info.family for info in infos]),
        "checkpoint": column("model", [info.checkpoint for info in infos]),
        "revision": column("model", [info.revision for info in infos]),
        "template": column("model", [info.template for info in infos]),
    }


def open_transcripts(folder: Path) -> xr.Dataset:
    """Read the transcripts of a run into memory."""
    data = read_dataset(folder / FILE)
    missing = [dim for dim in UNIT_DIMS if dim not in data.dims]
    if missing:
        raise UserError(f"{folder / FILE}: no transcripts (there is no dimension '{missing[0]}').")
    return data
