"""The importer: a long table of answers collected elsewhere becomes a response dataset.

What the columns of the table mean is declared in an `ImportConfig`. Rows are counted from 1,
the header not included.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from polbayes.coding.counted import one_row_an_answer
from polbayes.coding.option_reading import match_option
from polbayes.coding.options import Options, declare
from polbayes.config.schema import ImportConfig
from polbayes.config.yaml_checks import printable
from polbayes.data.dataset import CELL_DIMS, MISSING, NOT_ASKED, STANCE, STATUS, flag_attributes
from polbayes.data.tables import read_table
from polbayes.errors import UserError, check_known, unknown
from polbayes.instrument.covariates import (
    OWN_KEYS,
    attribute_coordinates,
    checked_attributes,
    read_attribute,
    spread,
)
from polbayes.instrument.design import ModelInfo, design
from polbayes.instrument.prompts import Prefix
from polbayes.instrument.questionnaires import Instrument

DEFAULTS = {"variant": "original", "prefix": "baseline", "run": "1"}
_PER_MODEL = OWN_KEYS
_ANSWERS = ("answer", "rating")
# Before the names of attributes of models, prefixes, wordings and administrations.
_ATTRIBUTE, _OF_PREFIX, _OF_WORDING, _OF_ADMINISTRATION = (
    *("attribute ", "prefix attribute ", "wording attribute ", "administration attribute "),
)
_ADMINISTRATION = "administration"
MAPPABLE = (
    *(*CELL_DIMS, *_ANSWERS, "count", "statement", "prefix_text", "prompt", "topic"),
    _ADMINISTRATION,
    *_PER_MODEL,
)


def import_table(
    config: ImportConfig, *, instruments: Sequence[Instrument], base: Path | None = None
) -> xr.Dataset:
    """Read a table of answers into a response dataset."""
    path = (base or Path.cwd()) / Path(config.path).expanduser()
    if not config.path:
        raise UserError("imported.path: is empty; give the table of answers to import.")
    _check_keys(config)
    scale = _scale(config)
    table = read_table(path)
    rows = one_row_an_answer(_rows(table, config, path.name), config, name=path.name)
    if config.columns.keys().isdisjoint(_ANSWERS):
        raise UserError("imported.columns: map 'answer' or 'rating' to a column of the table.")
    _check_wordings(rows, instruments, path.name)
    _check_duplicates(rows, path.name)
    data, cells = _lay_out(rows, instruments, config, path.name)
    return _fill(data, rows, cells, config=config, scale=scale, name=path.name)


def _check_keys(config: ImportConfig) -> None:
    for where, keys in (("columns", config.columns), ("constants", config.constants)):
        check_known("key", *keys, known=MAPPABLE, where=f"imported.{where}")
    for where, _, given in _attribute_columns(config):
        checked_attributes(given, where=f"imported.{where}")
    if config.administration_attributes and _ADMINISTRATION not in config.columns:
        raise UserError(
            "imported.administration_attributes: it is unknown which answers belong to one "
            "administration; map 'administration' under imported.columns."
        )
    for key in config.constants:
        if key in config.columns:
            raise UserError(
                f"imported.constants: '{key}' is also mapped to column "
                f"'{config.columns[key]}'; give it once."
            )


def _attribute_columns(config: ImportConfig) -> list[tuple[str, str, Mapping[str, str]]]:
    """Return for every kind of attribute its key, what stands before its names, and its columns."""
    return [
        ("attributes", _ATTRIBUTE, config.attributes),
        ("prefix_attributes", _OF_PREFIX, config.prefix_attributes),
        ("wording_attributes", _OF_WORDING, config.wording_attributes),
        ("administration_attributes", _OF_ADMINISTRATION, config.administration_attributes),
    ]


def _scale(config: ImportConfig) -> tuple[Options, tuple[int, ...]] | None:
    """Check options, points and stances; None where the answers are left to the coders."""
    if config.options is None and config.points is None:
        if "rating" in config.columns:
            raise UserError("imported.points: a rating needs the labels of its scale's points.")
        return None
    options = declare(
        config.options or {str(n): n for n in range(1, len(config.points or ()) + 1)},
        config.points,
        where="imported.options",
    )
    stances = config.stances or []
    if len(stances) != len(options.points):
        raise UserError(
            f"imported.stances: has {len(stances)} entries for the {len(options.points)} points "
            f"{', '.join(options.points)}; give each 'disagree', 'neutral' or 'agree'."
        )
    known = ("disagree", "neutral", "agree")
    check_known("stance", *stances, known=known, where="imported.stances")
    return options, tuple(STANCE[stance] for stance in stances)


def _rows(table: pd.DataFrame, config: ImportConfig, name: str) -> pd.DataFrame:
    """Rename the mapped columns and add the constants, every value checked to be there."""
    for key, column in config.columns.items():
        check_known("column", column, known=table.columns, where=f"{name}: imported.columns.{key}")
    mapped = {*config.columns.values(), *config.ignore}
    for where, _, given in _attribute_columns(config):
        for key, column in given.items():
            if column not in table.columns:
                place = f"{name}: imported.{where}.{key}"
                raise unknown("column", column, table.columns, where=place)
        mapped |= set(given.values())
    for column in table.columns:
        if column not in mapped:
            raise UserError(
                f"{name}: the column '{column}' is not mapped; map it under imported.columns or "
                "list it under imported.ignore."
            )
    rows = pd.DataFrame({key: table[column] for key, column in config.columns.items()})
    for _, before, given in _attribute_columns(config):
        for key, column in given.items():
            rows[before + key] = table[column]
    for key, value in {**DEFAULTS, **config.constants}.items():
        if key not in rows:
            rows[key] = str(value)
    for key in ("model", "item"):
        if key not in rows:
            raise UserError(f"imported.columns: '{key}' is neither mapped nor a constant.")
    for key in CELL_DIMS:
        empty = np.flatnonzero(rows[key].fillna("").str.strip() == "")
        if empty.size:
            raise UserError(f"{name}: row {empty[0] + 1}: the column of '{key}' has no value.")
        for label, row in zip(*np.unique(rows[key].astype(str), return_index=True), strict=True):
            printable(str(label), f"{name}: row {row + 1}: the column of '{key}'")
    rows["item"] = rows["item"].map(lambda item: config.items.get(item, item))
    return rows


def _check_wordings(rows: pd.DataFrame, instruments: Sequence[Instrument], name: str) -> None:
    """Refuse ids that the instruments do not have, and runs that are no numbers."""
    known = {i.item: {v.variant for v in i.variants} for q in instruments for i in q.items}
    for (item, variant), group in rows.groupby(["item", "variant"], sort=False):
        where = f"{name}: row {group.index[0] + 1}"
        if item not in known:
            close = unknown("item", item, known, where=where)
            raise UserError(_shortened(str(close)))
        check_known(f"variant of item '{item}'", variant, known=known[item], where=where)
    for run, group in rows.groupby("run", sort=False):
        if not str(run).isdigit() or int(run) > np.iinfo(np.int16).max:
            raise UserError(
                f"{name}: row {group.index[0] + 1}: run '{run}' is not a number from 0 to 32767."
            )


def _shortened(sentence: str, keep: int = 8) -> str:
    """Cut a long list of known names."""
    head, _, names = sentence.partition("known: ")
    listed = names.rstrip(".").split(", ")
    more = f" and {len(listed) - keep} more" if len(listed) > keep else ""
    return f"{head}known: {', '.join(listed[:keep])}{more}."


def _check_duplicates(rows: pd.DataFrame, name: str) -> None:
    again = rows.duplicated(list(CELL_DIMS))
    if not again.any():
        return
    second = int(np.flatnonzero(again)[0])
    cell = rows.loc[second, list(CELL_DIMS)]
    first = int(np.flatnonzero((rows[list(CELL_DIMS)] == cell).all(axis=1))[0])
    named = ", ".join(f"{dim} '{cell[dim]}'" for dim in CELL_DIMS)
    raise UserError(
        f"{name}: rows {first + 1} and {second + 1} are both the answer of {named}; if they are "
        "repetitions, map 'run' to the column that tells them apart."
    )


def _lay_out(
    rows: pd.DataFrame, instruments: Sequence[Instrument], config: ImportConfig, name: str
) -> tuple[xr.Dataset, tuple[np.ndarray, ...]]:
    """Make the design that the rows fill, and say where in it each row belongs."""
    items = [i.item for q in instruments for i in q.items if i.item in set(rows["item"])]
    models = list(dict.fromkeys(rows["model"]))
    prefixes = list(dict.fromkeys(rows["prefix"]))
    texts = _one_each(rows, "prefix", "prefix_text", name) if "prefix_text" in rows else {}
    numbers = rows["run"].astype(int)
    runs = sorted(set(numbers))
    # Asking for ids also lets wordings in whose kind has that name; `sel` leaves them out.
    variants = list(dict.fromkeys(rows["variant"]))
    known = _attributes(rows, _OF_PREFIX, rows["prefix"], "prefix", name)
    data = design(
        instruments,
        [Prefix(p, texts.get(p, ""), "open", known.get(p, {})) for p in prefixes],
        _infos(models, rows, config, name),
        variants=variants,
        items=items,
        runs=len(runs),
    )
    data = data.sel(variant=[v for v in data["variant"].values if v in variants])
    data = data.assign_coords(run=np.array(runs, dtype=np.int16))
    cells = tuple(
        data.indexes[dim].get_indexer(numbers if dim == "run" else rows[dim]) for dim in CELL_DIMS
    )
    if "statement" in rows:
        statement = data["statement"].copy()
        statement.values[cells[1], cells[2]] = _wordings(rows, name)
        data = data.assign_coords(statement=statement)
    if "prompt" in rows:
        first = rows.fillna({"prompt": ""}).drop_duplicates("prefix").set_index("prefix")["prompt"]
        data = data.assign_coords(prompt_example=("prefix", first[prefixes].to_numpy(object)))
    return _with_further(data, rows, cells, name), cells


def _with_further(
    data: xr.Dataset, rows: pd.DataFrame, cells: tuple[np.ndarray, ...], name: str
) -> xr.Dataset:
    """Add what the table says of items, wordings and administrations."""
    if "topic" in rows:
        topics = _one_each(rows, "item", "topic", name)
        labels = [topics.get(str(item), "") for item in data["item"].values]
        data = data.assign_coords(topic=("item", np.array(labels, dtype=object)))
    wording = rows["item"] + " / " + rows["variant"]
    given = _attributes(rows, _OF_WORDING, wording, "wording", name)
    if given:
        at = {label: (i, v) for label, i, v in zip(wording, cells[1], cells[2], strict=True)}
        values = attribute_coordinates(given, "wordings")
        full = spread(values, [at[label] for label in given], data["statement"].shape)
        data = _along(data, ("item", "variant"), full)
    if _ADMINISTRATION in rows:
        data = _administered(data, rows, cells, name)
    return data


def _administered(
    data: xr.Dataset, rows: pd.DataFrame, cells: tuple[np.ndarray, ...], name: str
) -> xr.Dataset:
    """Add labels and attributes of administrations, along as few dimensions as tell them apart."""
    label = rows[_ADMINISTRATION].fillna("").astype(str)
    if (label == "").any():
        at = int(np.flatnonzero(label == "")[0])
        raise UserError(
            f"{name}: row {rows.index[at] + 1}: the column of 'administration' has no value."
        )
    dims = list(CELL_DIMS)
    for dim in ("item", "variant", "prefix", "model", "run"):
        fewer = [d for d in dims if d != dim]
        if fewer and (label.groupby([rows[d] for d in fewer]).nunique() == 1).all():
            dims = fewer
    places = [cells[CELL_DIMS.index(dim)] for dim in dims]
    shape = tuple(data.sizes[dim] for dim in dims)
    text = np.full(shape, "", dtype=object)
    text[tuple(places)] = label.to_numpy()
    data = data.assign_coords({_ADMINISTRATION: (dims, text)})
    # Administrations of two models may have the same number.
    whose = rows["model"] + " / " + label
    given = _attributes(rows, _OF_ADMINISTRATION, whose, "administration", name)
    if not given:
        return data
    if "model" not in dims:
        places, dims = [cells[CELL_DIMS.index("model")], *places], ["model", *dims]
        shape = (data.sizes["model"], *shape)
    by_place = dict(zip(zip(*places, strict=True), whose, strict=True))
    values = attribute_coordinates(given, "administrations")
    order = {label: at for at, label in enumerate(given)}
    rank = [order[label] for label in by_place.values()]
    every = {key: own[rank] for key, own in values.items()}
    return _along(data, tuple(dims), spread(every, list(by_place), shape))


def _along(data: xr.Dataset, dims: tuple[str, ...], values: Mapping[str, np.ndarray]) -> xr.Dataset:
    """Add coordinates that the data do not have yet."""
    for key in values:
        if key in data.coords:
            raise UserError(
                f"imported: '{key}' is declared for two kinds of things (models, prefixes, "
                "wordings, administrations); give one of them another name."
            )
    return data.assign_coords({key: (dims, value) for key, value in values.items()})


def _attributes(
    rows: pd.DataFrame, before: str, labels: pd.Series, dim: str, name: str
) -> dict[str, dict[str, Any]]:
    """Read the columns of one kind of attributes, by label; those without a value are left out."""
    known: dict[str, dict[str, Any]] = {}
    for column in (c for c in rows.columns if str(c).startswith(before)):
        texts = _one_each(rows.assign(**{dim: labels}), dim, column, name)
        for label, value in zip(texts, read_attribute(list(texts.values())), strict=True):
            own = known.setdefault(label, {})
            if value is not None:
                own[column.removeprefix(before)] = value
    return known


def _infos(
    models: Sequence[str], rows: pd.DataFrame, config: ImportConfig, name: str
) -> list[ModelInfo]:
    """Say of every model what columns and config say, the config where both do."""
    known: dict[str, dict[str, Any]] = {model: {} for model in models}
    columns = [key for key in rows.columns if key in _PER_MODEL or key.startswith(_ATTRIBUTE)]
    for column in columns:
        texts = _one_each(rows, "model", column, name)
        values = read_attribute([texts[model] for model in models])
        if column in _PER_MODEL and column != "instruct":
            values = [texts[model] for model in models]
        for model, value in zip(models, values, strict=True):
            known[model][column.removeprefix(_ATTRIBUTE)] = value
    for model, given in config.models.items():
        if model not in known:
            raise unknown("model", model, models, where="imported.models")
        known[model] |= given
    return [_info(model, known[model], f"imported.models.{model}") for model in models]


def _info(model: str, given: Mapping[str, Any], where: str) -> ModelInfo:
    instruct = given.get("instruct")
    if instruct is not None and not isinstance(instruct, bool):
        raise UserError(f"{where}.instruct: must be true or false, not '{instruct}'.")
    own = {key: value for key, value in given.items() if key not in _PER_MODEL}
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


def _one_each(rows: pd.DataFrame, dim: str, key: str, name: str) -> dict[str, str]:
    """Return the one value of `key` for each label of `dim`."""
    values = rows[key].fillna("")
    found: dict[str, str] = {}
    for at, label, value in zip(rows.index + 1, rows[dim], values, strict=True):
        if found.setdefault(label, value) != value:
            raise UserError(
                f"{name}: row {at}: {key} '{value}' of {dim} '{label}' was '{found[label]}' "
                "before; it must be the same in all its rows."
            )
    return found


def _wordings(rows: pd.DataFrame, name: str) -> np.ndarray:
    wording = rows["item"] + " / " + rows["variant"]
    texts = _one_each(rows.assign(wording=wording), "wording", "statement", name)
    return np.array([texts[label] for label in wording], dtype=object)


def _fill(
    data: xr.Dataset,
    rows: pd.DataFrame,
    cells: tuple[np.ndarray, ...],
    *,
    config: ImportConfig,
    scale: tuple[Options, tuple[int, ...]] | None,
    name: str,
) -> xr.Dataset:
    """Put answers, ratings and stances into the cells of the rows."""
    shape = data["status"].shape
    answers = rows["answer"] if "answer" in rows else rows["rating"]
    completion = np.full(shape, "", dtype=object)
    completion[cells] = answers.fillna("").to_numpy()
    status = np.full(shape, NOT_ASKED, dtype=np.int8)
    status[cells] = STATUS["invalid"]
    out = data.assign(completion=(CELL_DIMS, completion))
    out.attrs |= {
        "imported_from": name,
        "imported_rows": len(rows),
        "imported_missing": int(answers.isna().sum()),
    }
    if scale:
        options, stances = scale
        points = _points(rows, options, config, name=name)
        read = points != MISSING
        rating = np.full(shape, MISSING, dtype=np.int8)
        rating[cells] = points
        stance = np.full(shape, MISSING, dtype=np.int8)
        codes = np.array(stances, dtype=np.int8)
        stance[cells] = np.where(read, codes[np.where(read, points, 0)], MISSING)
        status[cells] = np.where(read, STATUS["ok"], STATUS["invalid"])
        out["rating"] = (CELL_DIMS, rating, _rating_attributes(options))
        out["stance"] = (CELL_DIMS, stance, flag_attributes("stance"))
        out.attrs["imported_options_read"] = int(read.sum())
    out["status"] = (CELL_DIMS, status, data["status"].attrs)
    return out


def _rating_attributes(options: Options) -> dict[str, Any]:
    return {
        "long_name": "index of the answer option, from strongest disagreement",
        "rating_points": "; ".join(options.points),
        "missing_value_code": np.int8(MISSING),
    }


def _points(rows: pd.DataFrame, options: Options, config: ImportConfig, *, name: str) -> np.ndarray:
    """Return the index of each row's point, `MISSING` where no option was read."""
    points = np.full(len(rows), MISSING, dtype=np.int8)
    if "rating" in rows:
        for at, code in enumerate(rows["rating"]):
            if code is None:
                continue
            if code.strip().casefold() not in options.codes:
                known = ", ".join(options.codes) or "none"
                raise UserError(
                    f"{name}: row {rows.index[at] + 1}: the code '{code}' is outside the declared "
                    f"options; known: {known}."
                )
            points[at] = options.codes[code.strip().casefold()]
    if "answer" not in rows:
        return points
    seen: dict[str, int | None] = {}
    for at, answer in enumerate(rows["answer"]):
        if points[at] != MISSING or answer is None:
            continue
        if answer not in seen:
            seen[answer] = match_option(answer, options, reservations=config.reservations)
        point = seen[answer]
        if point is None and config.strict_options:
            raise UserError(
                f"{name}: row {rows.index[at] + 1}: the answer '{_cut(answer)}' is none of the "
                f"declared options; known: {', '.join(options.points)}."
            )
        points[at] = MISSING if point is None else point
    return points


def _cut(answer: str, length: int = 60) -> str:
    plain = " ".join(answer.split())
    return plain if len(plain) <= length else f"{plain[:length]}…"
