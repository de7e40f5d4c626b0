"""The importer: from a long table of answers collected elsewhere to a response dataset.

An `ImportConfig` declares the meaning of the columns; `table_rows` reads the rows.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from polbayes.coding.option_reading import match_option
from polbayes.coding.options import Options, declare
from polbayes.coding.rated import rating_attributes
from polbayes.coding.table_items import items_of
from polbayes.coding.table_masses import with_probabilities
from polbayes.coding.table_rows import (
    ADMINISTRATION,
    ATTRIBUTE,
    OF_ADMINISTRATION,
    OF_ITEMS,
    OF_PREFIX,
    OF_WORDING,
    SHOWN,
    Selection,
    TableRows,
    check_wordings,
    one_each,
    read_rows,
    select,
)
from polbayes.config.schema import ImportConfig
from polbayes.data.dataset import CELL_DIMS, MISSING, NOT_ASKED, STANCE, STATUS, flag_attributes
from polbayes.data.prose import form, plural
from polbayes.errors import UserError, check_known
from polbayes.instrument.covariates import (
    OWN_KEYS,
    attribute_coordinates,
    checked_attributes,
    read_attribute,
    spread,
)
from polbayes.instrument.design import ModelInfo, design
from polbayes.instrument.prompts import Prefix, load_lexicon, read_prefix
from polbayes.instrument.questionnaires import Instrument
from polbayes.instrument.scales import AGREE_FIRST
from polbayes.respondents.thinking import REASONING, part

_EVERYTHING = Selection()


def import_table(
    config: ImportConfig,
    *,
    instruments: Sequence[Instrument],
    base: Path | None = None,
    selection: Selection = _EVERYTHING,
) -> xr.Dataset:
    """Read a table of answers into a response dataset.

    Its attribute ``notes`` says what was left out or numbered, one sentence per line.
    """
    scale = _scale(config)
    own = sorted({*config.columns, *config.constants} & {*OF_ITEMS})
    if instruments and own:
        raise UserError(
            f"imported.columns: '{own[0]}' is what the instrument's file says; leave it out, or "
            "the instruments."
        )
    every = read_rows(config, base)
    instruments = instruments or [items_of(every)]
    check_wordings(every, instruments, config)
    check_known("model", *config.models, known=every.models, where="imported.models")
    rows = select(every, instruments, selection)
    data, cells = _lay_out(rows, instruments, config, selection)
    return _fill(data, rows, cells, config=config, scale=scale)


def _scale(config: ImportConfig) -> tuple[Options, tuple[int, ...]] | None:
    """Check options, points and stances; None if coders read the answers."""
    if config.options is None and config.points is None:
        if "rating" in config.columns:
            raise UserError("imported.points: a rating needs the labels of its scale's points.")
        return None
    options = declare(
        config.options or {str(n): n for n in range(1, len(config.points or ()) + 1)},
        config.points,
        where="imported.options",
    )
    last = len(options.points) - 1
    sides = [(2 * n > last) - (2 * n < last) for n in range(last + 1)]
    if config.stances is None:
        return options, tuple(sides)
    stances = config.stances
    if len(stances) != len(options.points):
        raise UserError(
            f"imported.stances: has {len(stances)} entries for the {len(options.points)} points "
            f"{', '.join(options.points)}; give each 'disagree', 'neutral' or 'agree'."
        )
    known = ("disagree", "neutral", "agree")
    check_known("stance", *stances, known=known, where="imported.stances")
    return options, tuple(STANCE[stance] for stance in stances)


def _lay_out(
    rows: TableRows,
    instruments: Sequence[Instrument],
    config: ImportConfig,
    selection: Selection,
) -> tuple[xr.Dataset, tuple[np.ndarray, ...]]:
    """Make the design for the rows, and locate each row in it."""
    frame = rows.frame
    there = set(frame["item"])
    items = [i.item for q in instruments for i in q.items if i.item in there]
    models = [*(selection.model or dict.fromkeys(frame["model"]))]
    prefixes = _prefixes(rows)
    numbers = frame["run"].astype(int)
    runs = sorted(set(numbers))
    # Selecting ids also admits wordings whose kind has that name; `sel` drops them.
    variants = list(dict.fromkeys(frame["variant"]))
    data = design(
        instruments,
        prefixes,
        _infos(models, rows, config),
        variants=variants,
        items=items,
        runs=len(runs),
        lexicon=load_lexicon(config.lexicon) if config.lexicon else None,
    )
    data = data.sel(variant=[v for v in data["variant"].values if v in variants])
    data = data.assign_coords(run=np.array(runs, dtype=np.int16))
    cells = tuple(
        data.indexes[dim].get_indexer(numbers if dim == "run" else frame[dim]) for dim in CELL_DIMS
    )
    data = _as_listed(data, rows, prefixes, cells)
    wording = frame["item"] + " / " + frame["variant"]
    if "statement" in frame:
        statement = data["statement"].copy()
        of = one_each(rows, "wording", "statement", wording)
        said = wording.map(of).to_numpy(dtype=object)
        # A log that does not say it leaves it to the instrument.
        places = tuple(at[said != ""] for at in cells[1:3])
        statement.values[places] = said[said != ""]
        data = data.assign_coords(statement=statement)
    if "prompt" in frame:
        first = frame.fillna({"prompt": ""}).drop_duplicates("prefix").set_index("prefix")["prompt"]
        examples = first[[p.prefix for p in prefixes]].to_numpy(object)
        data = data.assign_coords(prompt_example=("prefix", examples))
    return _with_further(data, rows, cells, wording), cells


def _prefixes(rows: TableRows) -> list[Prefix]:
    """Return the prefixes as the table describes them: whole entries, or texts and attributes."""
    frame = rows.frame
    texts = one_each(rows, "prefix", "prefix_text") if "prefix_text" in frame else {}
    entries = one_each(rows, "prefix", "prefix_entry") if "prefix_entry" in frame else {}
    known = _attributes(rows, OF_PREFIX, frame["prefix"], "prefix")
    found = []
    for name in dict.fromkeys(frame["prefix"]):
        one = Prefix(name, texts.get(name, ""), "open")
        if entry := entries.get(name):
            where = f"{rows.name}: prefix '{name}'"
            try:
                one = read_prefix(name, json.loads(entry), where)
            except ValueError as error:
                raise UserError(f"{where}: prefix_entry is not JSON ({error}).") from error
        found.append(replace(one, attributes={**one.attributes, **known.get(name, {})}))
    return found


def _as_listed(
    data: xr.Dataset, rows: TableRows, prefixes: Sequence[Prefix], cells: tuple[np.ndarray, ...]
) -> xr.Dataset:
    """Put options where their order was drawn as each question listed them."""
    scales = {p.prefix: p.scale for p in prefixes if p.scale is not None and p.scale.drawn}
    if not scales:
        return data
    frame = rows.frame[rows.frame["prefix"].isin(scales)]
    labels = frame[list(CELL_DIMS[1:])].agg(" / ".join, axis=1)
    given = frame.get("prefix_options", pd.Series("", index=frame.index))
    listed = one_each(rows, "question", "prefix_options", labels, given)
    options, first = data["prefix_options"].copy(), data[AGREE_FIRST].copy()
    places = np.stack(cells[1:], axis=1)[rows.frame["prefix"].isin(scales)]
    for label, prefix, at in zip(labels, frame["prefix"], map(tuple, places), strict=True):
        arranged, scale = _mapping(listed[label]), scales[prefix]
        if {*arranged.values()} != {*scale.points}:
            raise UserError(
                f"{rows.name}: the order of options of prefix '{prefix}' is drawn by cell, but "
                f"prefix_options of {label} is no JSON of its options in their order; import a log "
                "of questions that polbayes wrote."
            )
        options[at], first[at] = listed[label], scale.agree_first(arranged)
    return data.assign_coords({"prefix_options": options, AGREE_FIRST: first})


def _mapping(text: str) -> dict[str, Any]:
    """Read a mapping from JSON; an empty one from anything else."""
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _with_further(
    data: xr.Dataset, rows: TableRows, cells: tuple[np.ndarray, ...], wording: pd.Series
) -> xr.Dataset:
    """Add the table's attributes of items, wordings, administrations and single answers."""
    if "topic" in rows.frame:
        topics = one_each(rows, "item", "topic")
        labels = [topics.get(str(item), "") for item in data["item"].values]
        data = data.assign_coords(topic=("item", np.array(labels, dtype=object)))
    given = _attributes(rows, OF_WORDING, wording, "wording")
    if given:
        at = {label: (i, v) for label, i, v in zip(wording, cells[1], cells[2], strict=True)}
        values = attribute_coordinates(given, "wordings")
        full = spread(values, [at[label] for label in given], data["statement"].shape)
        data = _along(data, ("item", "variant"), full)
    for column in (c for c in rows.frame.columns if str(c).startswith(SHOWN)):
        texts = rows.frame[column].fillna("")
        dims = _fewest_dims(rows.frame, texts)
        own = _along(data, dims, {column.removeprefix(SHOWN): _laid_out(data, dims, cells, texts)})
        own[column.removeprefix(SHOWN)].attrs["shown"] = 1
        data = own
    return _administered(data, rows, cells) if ADMINISTRATION in rows.frame else data


def _fewest_dims(frame: pd.DataFrame, values: pd.Series) -> tuple[str, ...]:
    """Return the smallest set of dimensions that distinguishes the values."""
    dims: tuple[str, ...] = CELL_DIMS
    codes = pd.Series(pd.factorize(values)[0], index=values.index)
    for dim in ("item", "variant", "prefix", "model", "run"):
        fewer = tuple(d for d in dims if d != dim)
        if fewer and (codes.groupby([frame[d] for d in fewer]).nunique() == 1).all():
            dims = fewer
    return dims


def _laid_out(
    data: xr.Dataset, dims: Sequence[str], cells: tuple[np.ndarray, ...], values: pd.Series
) -> np.ndarray:
    text = np.full(tuple(data.sizes[dim] for dim in dims), "", dtype=object)
    text[tuple(cells[CELL_DIMS.index(dim)] for dim in dims)] = values.to_numpy()
    return text


def _administered(data: xr.Dataset, rows: TableRows, cells: tuple[np.ndarray, ...]) -> xr.Dataset:
    """Add labels and attributes of administrations, along as few dimensions as possible."""
    label = rows.frame[ADMINISTRATION].fillna("").astype(object)
    if (label == "").any():
        raise UserError(
            f"{rows.at((label == '').idxmax())}: the column of 'administration' has no value."
        )
    dims = _fewest_dims(rows.frame, label)
    text = _laid_out(data, dims, cells, label)
    data = data.assign_coords({ADMINISTRATION: (dims, text)})
    # Administrations of different models may have the same number.
    whose = rows.frame["model"] + " / " + label
    given = _attributes(rows, OF_ADMINISTRATION, whose, "administration")
    if not given:
        return data
    dims = dims if "model" in dims else ("model", *dims)
    places = [cells[CELL_DIMS.index(dim)] for dim in dims]
    shape = tuple(data.sizes[dim] for dim in dims)
    by_place = dict(zip(zip(*places, strict=True), whose, strict=True))
    values = attribute_coordinates(given, "administrations")
    order = {label: at for at, label in enumerate(given)}
    rank = [order[label] for label in by_place.values()]
    every = {key: own[rank] for key, own in values.items()}
    return _along(data, dims, spread(every, list(by_place), shape))


def _along(data: xr.Dataset, dims: tuple[str, ...], values: Mapping[str, np.ndarray]) -> xr.Dataset:
    """Add coordinates that the data lack."""
    for key in values:
        if key in data.coords or key in data:
            raise UserError(
                f"imported: '{key}' is declared for two kinds of things (models, prefixes, "
                "wordings, administrations); give one of them another name."
            )
    return data.assign_coords({key: (dims, value) for key, value in values.items()})


def _attributes(
    rows: TableRows, before: str, labels: pd.Series, dim: str
) -> dict[str, dict[str, Any]]:
    """Read the columns of one kind of attributes, by label; omit those without a value."""
    known: dict[str, dict[str, Any]] = {}
    for column in (c for c in rows.frame.columns if str(c).startswith(before)):
        texts = one_each(rows, dim, column, labels)
        for label, value in zip(texts, read_attribute(list(texts.values())), strict=True):
            own = known.setdefault(label, {})
            if value is not None:
                own[column.removeprefix(before)] = value
    return known


def _infos(models: Sequence[str], rows: TableRows, config: ImportConfig) -> list[ModelInfo]:
    """Return every model's attributes from columns and config; the config takes precedence."""
    known: dict[str, dict[str, Any]] = {model: {} for model in models}
    columns = [c for c in rows.frame.columns if c in OWN_KEYS or c.startswith(ATTRIBUTE)]
    for column in columns:
        texts = one_each(rows, "model", column)
        values = read_attribute([texts[model] for model in models])
        if column in OWN_KEYS and column != "instruct":
            values = [texts[model] for model in models]
        for model, value in zip(models, values, strict=True):
            known[model][column.removeprefix(ATTRIBUTE)] = value
    for model in models:
        known[model] |= config.models.get(model, {})
    return [_info(model, known[model], f"imported.models.{model}") for model in models]


def _info(model: str, given: Mapping[str, Any], where: str) -> ModelInfo:
    instruct = given.get("instruct")
    if instruct is not None and not isinstance(instruct, bool):
        raise UserError(f"{where}.instruct: must be true or false, not '{instruct}'.")
    own = {key: value for key, value in given.items() if key not in OWN_KEYS}
    attributes = checked_attributes(own, where=where)
    return ModelInfo(
        model,
        template="",
        family=str(given.get("family") or ""),
        instruct=instruct,
        checkpoint=str(given.get("checkpoint") or ""),
        revision=str(given.get("revision") or ""),
        attributes=attributes,
    )


def _fill(
    data: xr.Dataset,
    rows: TableRows,
    cells: tuple[np.ndarray, ...],
    *,
    config: ImportConfig,
    scale: tuple[Options, tuple[int, ...]] | None,
) -> xr.Dataset:
    """Put answers, ratings and stances into the cells."""
    shape = data["status"].shape
    rows, thoughts = _apart(rows)
    none = pd.Series("", index=rows.frame.index)
    answers = rows.frame.get("answer", rows.frame.get("rating", none)).fillna("")
    completion = np.full(shape, "", dtype=object)
    completion[cells] = answers.to_numpy()
    status = np.full(shape, NOT_ASKED, dtype=np.int8)
    status[cells] = STATUS["invalid"]
    out = with_probabilities(data.assign(completion=(CELL_DIMS, completion)), rows, cells)
    if thoughts is not None:
        reasoning = np.full(shape, "", dtype=object)
        reasoning[cells] = thoughts.to_numpy()
        out["reasoning"] = (CELL_DIMS, reasoning, {"long_name": REASONING})
    missing = int((answers.str.strip() == "").sum())
    if "p_agree" in out:
        missing = int(np.isnan(out["p_agree"].values[cells]).sum())
    notes = [_without_answer(missing, len(answers))] if missing else []
    out.attrs |= {
        "imported_from": rows.name,
        "imported_rows": len(answers),
        "imported_missing": missing,
    }
    if scale:
        options, stances = scale
        points = _points(rows, options, config)
        read = points != MISSING
        if not read.any() and missing < len(answers):
            notes.append(_no_point(answers, options))
        rating = np.full(shape, MISSING, dtype=np.int8)
        rating[cells] = points
        stance = np.full(shape, MISSING, dtype=np.int8)
        codes = np.array(stances, dtype=np.int8)
        stance[cells] = np.where(read, codes[np.where(read, points, 0)], MISSING)
        status[cells] = np.where(read, STATUS["ok"], STATUS["invalid"])
        out["rating"] = (CELL_DIMS, rating, rating_attributes(options.points))
        out["stance"] = (CELL_DIMS, stance, flag_attributes("stance"))
        out.attrs["imported_options_read"] = int(read.sum())
    out["status"] = (CELL_DIMS, status, data["status"].attrs)
    out.attrs["notes"] = "\n".join([*rows.notes, *notes])
    return out


def _without_answer(missing: int, of: int) -> str:
    return f"{missing:,} of {plural(of, 'row')} {form(missing, 'has', 'have')} no answer."


def _apart(rows: TableRows) -> tuple[TableRows, pd.Series | None]:
    """Separate the thoughts before answers, if there are any."""
    if "answer" not in rows.frame:
        return rows, None
    codes, texts = pd.factorize(rows.frame["answer"].fillna(""))
    parted = [part(text) for text in texts]
    if not any(one.thoughts or one.start is None for one in parted):
        return rows, None
    answers, thoughts = (
        pd.Series(np.array(each, dtype=object)[codes], index=rows.frame.index)
        for each in ([one.answer for one in parted], [one.thoughts for one in parted])
    )
    number = int((thoughts != "").sum())
    of = plural(len(answers), "answer")
    note = f"{number:,} of {of} began with thinking, which was kept apart."
    frame = rows.frame.assign(answer=answers)
    return replace(rows, frame=frame, notes=[*rows.notes, note]), thoughts


def _no_point(answers: pd.Series, options: Options) -> str:
    first = _cut(answers[answers.str.strip() != ""].iloc[0])
    return (
        f"None of {plural(len(answers), 'answer')} is a point of imported.points "
        f"({', '.join(options.points)}), so that coders read them; the first is '{first}'."
    )


def _points(rows: TableRows, options: Options, config: ImportConfig) -> np.ndarray:
    """Return the index of each row's point, `MISSING` if no option was read."""
    points = np.full(len(rows.frame), MISSING, dtype=np.int8)
    for key in (k for k in ("rating", "answer") if k in rows.frame):
        # Without a code the answer decides.
        given = rows.frame[key]
        left = (given.fillna("").str.strip() != "") & (points == MISSING)
        codes, found = pd.factorize(given.where(left, None))
        first = given.index[np.unique(codes, return_index=True)[1][len(set(codes)) - len(found) :]]
        read = [
            (_coded if key == "rating" else _matched)(one, options, config, rows.at, row)
            for one, row in zip(found, first, strict=True)
        ]
        read_at = np.array([*read, MISSING], dtype=np.int8)[codes]
        points = np.where(codes < 0, points, read_at)
    return points


def _coded(code: str, options: Options, _: ImportConfig, at: Callable[[int], str], row: int) -> int:
    if code.strip().casefold() not in options.codes:
        raise UserError(
            f"{at(row)}: the code '{code}' is outside the declared options; known: "
            f"{', '.join(options.codes) or 'none'}."
        )
    return options.codes[code.strip().casefold()]


def _matched(
    answer: str, options: Options, config: ImportConfig, at: Callable[[int], str], row: int
) -> int:
    point = match_option(answer, options, reservations=config.reservations)
    if point is None and config.strict_options:
        raise UserError(
            f"{at(row)}: the answer '{_cut(answer)}' is none of the declared options; known: "
            f"{', '.join(options.points)}."
        )
    return MISSING if point is None else point


def _cut(answer: str, length: int = 60) -> str:
    plain = " ".join(answer.split())
    return plain if len(plain) <= length else f"{plain[:length]}…"
