"""Consolidation of journals into the response dataset, at once or one model at a time."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from polbayes.data.dataset import CELL_DIMS, STATUS, flag_attributes
from polbayes.data.out_of_core import write_by_model
from polbayes.instrument.prompts import Lexicon
from polbayes.probing.journal import Record, cell_of, read
from polbayes.probing.remarks import as_attributes, remark_of
from polbayes.respondents.thinking import REASONING

_TEXTS = {
    "completion": "answer as received",
    "reasoning": REASONING,
    "message": "why the cell could not be answered",
}
_KEYS = (("completion", "text"), ("reasoning", "reasoning"), ("message", "message"))
_DECLINED = "1 where the server says that the answer was refused or filtered"
UNSEEN = {"long_name": "mass of tokens that were not listed, some of it options'", "units": "1"}
THOUGHT = {"long_name": "tokens of thinking, as counted by whoever ran the model", "units": "1"}
_TRUNCATED = "1 where the answer was cut off at max_new_tokens"


@dataclass(frozen=True)
class Survey:
    """Contents of journals: attributes, optional variables, and the size of the longest texts."""

    attributes: Mapping[str, str]
    found: frozenset[str]
    bytes: Mapping[str, int]
    # Models whose prompts open the thinking, as the closing mark in an answer shows.
    unopened: frozenset[str] = frozenset()


def survey(design: xr.Dataset, journals: Mapping[str, Path]) -> Survey:
    """Survey the journals of a design."""
    said: dict[str, list[Record]] = {}
    found, unopened, longest = set(), set(), dict.fromkeys(_TEXTS, 0)
    for name, path in journals.items():
        said[name] = []
        for _, record in _placed(design.sel(model=[name]), _noting(read(path), said[name])):
            if record["status"] == "refused":
                found.add("declined")
            if "unseen" in record:
                found.add("mass_unseen")
            if "reasoning_tokens" in record:
                found.add("reasoning_tokens")
            if "unopened" in record:
                unopened.add(name)
            for variable, key in _KEYS:
                if text := record.get(key, ""):
                    found.add(variable)
                    size = len(text.encode("utf-8", "surrogatepass"))
                    longest[variable] = max(longest[variable], size)
    if unopened:
        longest["reasoning"] = max(longest["reasoning"], longest["completion"])
    return Survey(as_attributes(said), frozenset(found), longest, frozenset(unopened))


def _noting(records: Iterable[Record], remarks: list[Record]) -> Iterator[Record]:
    """Pass records on, and collect remarks about all answers in `remarks`."""
    for record in records:
        if said := remark_of(record):
            remarks.append(said)
        yield record


def filled(design: xr.Dataset, journals: Mapping[str, Path], lexicon: Lexicon | None) -> xr.Dataset:
    """Return a design with the answers of the journals in its cells."""
    about = survey(design, journals)
    parts = [_of_model(design, name, path, lexicon, about) for name, path in journals.items()]
    data = parts[0] if len(parts) == 1 else xr.concat(parts, "model", data_vars="minimal")
    return data.transpose(*CELL_DIMS, ...).assign_attrs(design.attrs, **about.attributes)


def consolidate(
    design: xr.Dataset, journals: Mapping[str, Path], lexicon: Lexicon | None, path: Path
) -> None:
    """Write the result of `filled`, with at most one model in memory."""
    about = survey(design, journals)
    parts = (_of_model(design, name, at, lexicon, about) for name, at in journals.items())
    whole = design.assign_attrs(**about.attributes)
    write_by_model(whole, parts, path, text_bytes=about.bytes)


def _of_model(
    design: xr.Dataset, name: str, path: Path, lexicon: Lexicon | None, about: Survey
) -> xr.Dataset:
    """Return the part of one model, with every variable that any model has."""
    data = design.sel(model=[name])
    status = data["status"].transpose(*CELL_DIMS).values.copy()
    options = len(lexicon.options) if lexicon else 0
    texts = {x: np.full(status.shape, "", dtype=object) for x in _TEXTS if _is_there(x, about)}
    truncated, declined = np.zeros((2, *status.shape), dtype=np.int8)
    unseen = np.full(status.shape, np.nan, dtype=np.float32)
    mass = np.full((*status.shape, options), np.nan, dtype=np.float32)
    thought = np.full(status.shape, np.nan, dtype=np.float32)
    for at, found in _placed(data, read(path)):
        record = without_thoughts(found) if name in about.unopened else found
        status[at] = _status(record)
        truncated[at] = record.get("truncated", False)
        declined[at] = record["status"] == "refused"
        unseen[at] = record.get("unseen", np.nan)
        thought[at] = record.get("reasoning_tokens", np.nan)
        for variable, key in _KEYS:
            if record.get(key):
                texts[variable][at] = record[key]
        if "mass" in record:
            mass[at] = np.array(record["mass"], dtype=float)
    data["status"] = (CELL_DIMS, status, flag_attributes("status"))
    for variable, values in texts.items():
        data[variable] = (CELL_DIMS, values, {"long_name": _TEXTS[variable]})
    if "declined" in about.found:
        data["declined"] = (CELL_DIMS, declined, {"long_name": _DECLINED})
    if "mass_unseen" in about.found:
        data["mass_unseen"] = (CELL_DIMS, unseen, UNSEEN)
    if "reasoning_tokens" in about.found:
        data["reasoning_tokens"] = (CELL_DIMS, thought, THOUGHT)
    if lexicon is None:
        data["truncated"] = (CELL_DIMS, truncated, {"long_name": _TRUNCATED})
        return data
    return with_masses(data, mass, lexicon)


def without_thoughts(record: Record) -> Record:
    """Return an answer of a model whose prompts open the thinking: nothing if cut off in there."""
    if not record.get("truncated") or "reasoning" in record:
        return record
    return {**record, "status": "empty", "text": "", "reasoning": record["text"]}


def _is_there(variable: str, about: Survey) -> bool:
    return variable == "completion" or variable in about.found


def _status(record: Record) -> int:
    # Earlier versions recorded an answer without text as invalid.
    empty = record["status"] == "invalid" and not record.get("text", "").strip()
    return STATUS["empty" if empty else record["status"]]


def _placed(
    data: xr.Dataset, records: Iterable[Record]
) -> Iterator[tuple[tuple[int, ...], Record]]:
    """Yield the answers to the pending cells of a model, each with its position."""
    labels = CELL_DIMS[1:]
    places = [{x: k for k, x in enumerate(data[dim].values.tolist())} for dim in labels]
    pending = data["status"].transpose(*CELL_DIMS).values == STATUS["pending"]
    for record in records:
        if "cell" not in record:
            continue
        cell = cell_of(record)
        at = tuple(place[x] for place, x in zip(places, cell, strict=True) if x in place)
        if len(at) == len(labels) and pending[0, *at]:
            yield (0, *at), record


def with_masses(data: xr.Dataset, mass: NDArray[np.float32], lexicon: Lexicon) -> xr.Dataset:
    """Add the masses of the options, and of agreeing and disagreeing."""
    stance = np.array(lexicon.stance, dtype=np.int8)
    data = data.assign_coords(
        option=np.array(lexicon.options, dtype=object), option_stance=("option", stance)
    )
    kind = {"long_name": "probability mass of the answer option, not normalised", "units": "1"}
    data["option_prob"] = ((*CELL_DIMS, "option"), mass, kind)
    for name, sign in (("p_agree", 1), ("p_disagree", -1)):
        of_stance = mass[..., stance == sign]
        total = np.nansum(of_stance.astype(np.float64), axis=-1)
        total[np.isnan(of_stance).all(axis=-1)] = np.nan
        meaning = {"long_name": f"probability mass of the {name[2:]}ing options", "units": "1"}
        data[name] = (CELL_DIMS, total.astype(np.float32), meaning)
    return data
