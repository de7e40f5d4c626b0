"""The rows of an imported table: their selection, and the names of their columns.

Rows are counted from 1, without the header.
"""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from polbayes.coding.counted import one_row_an_answer
from polbayes.coding.logs import READERS
from polbayes.coding.logs.reader import TABLE_NAME, plain, wanted
from polbayes.config.schema import ImportConfig
from polbayes.config.yaml_checks import printable
from polbayes.data.dataset import CELL_DIMS
from polbayes.data.prose import form, plural
from polbayes.errors import UserError, check_known, unknown
from polbayes.instrument.covariates import OWN_KEYS, checked_attributes
from polbayes.instrument.design import check_variants, is_wanted
from polbayes.instrument.questionnaires import Instrument, Item, Variant

DEFAULTS = {"variant": "original", "prefix": "baseline", "run": "1"}
ANSWERS = ("answer", "rating")
# Probabilities of agreeing and disagreeing options, in place of an answer.
PROBABILITIES = ("p_agree", "p_disagree")
# Before the names of attributes of models, prefixes, wordings and administrations, and of columns
# that are only shown.
ATTRIBUTE, OF_PREFIX, OF_WORDING, OF_ADMINISTRATION, SHOWN = (
    *("attribute ", "prefix attribute ", "wording attribute ", "administration attribute "),
    "shown ",
)
ADMINISTRATION = "administration"
# Columns about items, used without an instrument.
OF_ITEMS = ("dimension", "direction")
# The attribute of models that says what they are, such as a party.
WHO = "who"
MAPPABLE = (
    *(*CELL_DIMS, *ANSWERS, *PROBABILITIES, "p_neutral", "mass_unseen", "count", "size"),
    *("statement", "prefix_text", "prefix_entry", "prefix_options", "prompt", "topic"),
    *(ADMINISTRATION, *OF_ITEMS, *OWN_KEYS, WHO),
)
# The value of ``constants.run`` that numbers repetitions in the order of the table.
_NUMBERED = "count"


@dataclass(frozen=True)
class Selection:
    """The labels selected from a table; None selects all."""

    model: Sequence[str] | None = None
    item: Sequence[str] | None = None
    variant: Sequence[str] | None = None
    prefix: Sequence[str] | None = None


@dataclass(frozen=True)
class TableRows:
    """Rows with the importer's column names; the index is the row in the table."""

    frame: pd.DataFrame
    name: str  # of the table
    at: Callable[[int], str]  # from the index of a row to file and row
    notes: list[str]  # what was left out or numbered, as sentences
    models: frozenset[str]  # of the whole table

    def distinct(self, *columns: str) -> list[tuple[Any, ...]]:
        """List the combinations of some columns, each after the index of its first row."""
        return list(self.frame[list(columns)].drop_duplicates().itertuples(name=None))


def read_rows(config: ImportConfig, base: Path | None) -> TableRows:
    """Read the rows that ``imported.where`` selects, and check that every value is there."""
    if not config.path:
        raise UserError("imported.path: is empty; give the table of answers to import.")
    _check_keys(config)
    table, name, at = _read(config, base)
    notes: list[str] = []
    table = _with_new_names(table, config.rename, name)
    taken = _where(table, config, name, notes)
    whole = _renamed(table, config, name)
    rows = TableRows(whole[taken].copy(), name, at, notes, frozenset(whole["model"].dropna()))
    _check_labels(rows)
    frame = rows.frame
    frame["item"] = frame["item"].map(lambda item: config.items.get(item, item))
    frame = one_row_an_answer(frame, config, at=at)
    if str(config.constants.get("run")) == _NUMBERED:
        frame = frame.assign(run=_numbers(frame, notes))
    return replace(rows, frame=frame)


def source_files(config: ImportConfig, base: Path | None = None) -> list[Path]:
    """Return the files that ``imported.path`` means, those of a folder in it and below."""
    named = READERS.chosen(config.format, where="imported.format").files(config.path, base)
    return [one for path in named for one in (sorted(path.rglob("*")) if path.is_dir() else [path])]


def _read(
    config: ImportConfig, base: Path | None
) -> tuple[pd.DataFrame, str, Callable[[int], str]]:
    reader = READERS.chosen(config.format, where="imported.format")
    files = reader.files(config.path, base)
    tables = [reader.read(file, config) for file in files]
    starts = np.cumsum([0, *map(len, tables)])

    # Files in several folders may have the same name.
    above = Path(os.path.commonpath([file.parent for file in files]))

    def at(row: int) -> str:
        which = int(np.searchsorted(starts, row, side="right")) - 1
        return f"{files[which].relative_to(above)}: row {row - starts[which] + 1}"

    if len(files) == 1:
        return tables[0], files[0].name, at
    for file, one in zip(files, tables, strict=True):
        one.insert(0, TABLE_NAME, file.stem, allow_duplicates=False)
    whole = pd.concat(tables, ignore_index=True)
    return whole.astype(object).where(whole.notna(), None), Path(config.path).name, at


def _check_keys(config: ImportConfig) -> None:
    for where, keys in (("columns", config.columns), ("constants", config.constants)):
        check_known("key", *keys, known=MAPPABLE, where=f"imported.{where}")
    for where, _, given in _further_columns(config):
        checked_attributes(given, where=f"imported.{where}")
    if config.administration_attributes and ADMINISTRATION not in config.columns:
        raise UserError(
            "imported.administration_attributes: it is unknown which answers belong to one "
            "administration; map 'administration' under imported.columns."
        )
    mapped = {key: column for key, column in config.attributes.items() if key == WHO}
    mapped |= config.columns
    for key in config.constants:
        if key in mapped:
            raise UserError(
                f"imported.constants: '{key}' is also mapped to column '{mapped[key]}'; give it "
                "once."
            )


def _further_columns(config: ImportConfig) -> list[tuple[str, str, Mapping[str, str]]]:
    """Return the key, the name prefix and the columns of every kind of further columns."""
    return [
        ("attributes", ATTRIBUTE, config.attributes),
        ("prefix_attributes", OF_PREFIX, config.prefix_attributes),
        ("wording_attributes", OF_WORDING, config.wording_attributes),
        ("administration_attributes", OF_ADMINISTRATION, config.administration_attributes),
        ("show", SHOWN, {re.sub(r"\W+", "_", column): column for column in config.show}),
    ]


def _with_new_names(
    table: pd.DataFrame, rename: Mapping[str, Mapping[str, str]], name: str
) -> pd.DataFrame:
    """Replace the values of some columns, such as names that are spelt in several ways."""
    for column, names in rename.items():
        key = f"imported.rename.{column}"
        check_known("column", column, known=table.columns, where=f"{name}: imported.rename")
        codes, values = pd.factorize(table[column], use_na_sentinel=False)
        texts = [plain(value, key) for value in values]
        check_known("value", *names, known=texts, where=f"{name}: {key}")
        new = [names.get(t, v) for t, v in zip(texts, values, strict=True)]
        table = table.assign(**{column: np.array(new, dtype=object)[codes]})
    return table


def _where(table: pd.DataFrame, config: ImportConfig, name: str, notes: list[str]) -> np.ndarray:
    """Return ``[row]`` whether every column has one of the selected values."""
    taken = np.ones(len(table), dtype=bool)
    for column in config.where:
        key = f"imported.where.{column}"
        check_known("column", column, known=table.columns, where=f"{name}: imported.where")
        values = wanted(config, column)
        codes, texts = pd.factorize(table[column], use_na_sentinel=False)
        known = [plain(text, key) for text in texts]
        check_known("value", *values, known=known, where=f"{name}: {key}")
        taken &= np.isin(known, values)[codes]
    if config.where and not taken.any():
        raise UserError(f"{name}: imported.where: no row has all of the values wanted.")
    _note_left_out(notes, len(taken) - int(taken.sum()), len(taken), "imported.where")
    return taken


def _note_left_out(notes: list[str], left_out: int, of: int, key: str) -> None:
    if left_out:
        are = form(left_out, "is", "are")
        notes.append(f"{left_out:,} of {plural(of, 'row')} {are} left out by {key}.")


def _column(table: pd.DataFrame, column: str, place: str) -> pd.Series:
    """Return a column, or the join of several separated by plus signs."""
    parts = [column] if column in table.columns else column.split(" + ")
    check_known("column", *parts, known=table.columns, where=place)
    joined = table[parts[0]]
    for part in parts[1:]:
        joined = joined + " / " + table[part]
    return joined


def _own(key: str) -> str:
    """Return the importer's name of a column that the config names."""
    return ATTRIBUTE + key if key == WHO else key


def _renamed(table: pd.DataFrame, config: ImportConfig, name: str) -> pd.DataFrame:
    """Rename the mapped columns and add the constants."""
    frame = pd.DataFrame(index=table.index)
    given = {_own(key): (f"columns.{key}", column) for key, column in config.columns.items()}
    for where, before, columns in _further_columns(config):
        given |= {before + key: (f"{where}.{key}", column) for key, column in columns.items()}
    for key, (where, column) in given.items():
        frame[key] = _column(table, column, f"{name}: imported.{where}")
    used = {part for _, column in given.values() for part in (column, *column.split(" + "))}
    used |= {*config.where, TABLE_NAME}
    for column in table.columns:
        if column not in used and not any(fnmatchcase(column, one) for one in config.ignore):
            raise UserError(
                f"{name}: the column '{column}' is not mapped; map it under imported.columns or "
                "list it under imported.ignore."
            )
    for key, value in {**DEFAULTS, **config.constants}.items():
        if _own(key) not in frame:
            frame[_own(key)] = str(value)
    for key in ("model", "item"):
        if key not in frame:
            raise UserError(f"imported.columns: '{key}' is neither mapped nor a constant.")
    if config.columns.keys().isdisjoint(ANSWERS) and not {*PROBABILITIES} <= config.columns.keys():
        raise UserError(
            "imported.columns: map 'answer' or 'rating', or 'p_agree' and 'p_disagree', to "
            "columns of the table."
        )
    frame = frame.astype(object)
    frame = frame.where(frame.notna(), None)
    return frame.assign(**{key: _trimmed(frame[key]) for key in CELL_DIMS if key in frame})


def _trimmed(labels: pd.Series) -> pd.Series:
    """Remove the blanks around labels: nobody could tell "gpt" from "gpt "."""
    if all(label == label.strip() for label in labels.unique() if label):
        return labels
    return labels.map(lambda label: label and label.strip())


def _check_labels(rows: TableRows) -> None:
    """Refuse a missing or unreadable label."""
    for key in CELL_DIMS:
        for row, label in rows.frame[key].drop_duplicates().items():
            where = f"{rows.at(row)}: the column of '{key}'"
            if not (label or "").strip():
                raise UserError(f"{where} has no value.")
            printable(label, where)


def _numbers(frame: pd.DataFrame, notes: list[str]) -> pd.Series:
    """Assign numbers to the answers of a cell in the order of the table."""
    numbers = frame.groupby([d for d in CELL_DIMS if d != "run"], sort=False).cumcount() + 1
    if numbers.max() > 1:
        notes.append(
            "Repetitions were numbered in the order of the table (imported.constants.run=count): "
            f"up to {numbers.max():,} of one question."
        )
    return numbers.astype(str)


def check_wordings(
    rows: TableRows, instruments: Sequence[Instrument], config: ImportConfig
) -> None:
    """Refuse unknown ids, runs that are not numbers, and duplicate answers."""
    known = {i.item: {v.variant for v in i.variants} for q in instruments for i in q.items}
    for row, item, variant in rows.distinct("item", "variant"):
        if item not in known:
            raise UserError(_shortened(str(unknown("item", item, known, where=rows.at(row)))))
        check_known(f"variant of item '{item}'", variant, known=known[item], where=rows.at(row))
    for row, run in rows.distinct("run"):
        if not (run.isascii() and run.isdigit()) or int(run) > np.iinfo(np.int16).max:
            raise UserError(f"{rows.at(row)}: run '{run}' is not a number from 0 to 32767.")
    _check_duplicates(rows, config)


# Known names in an error.
_SHOWN = 8


def _shortened(sentence: str) -> str:
    """Shorten a long list of known names."""
    head, _, names = sentence.partition("known: ")
    listed = names.rstrip(".").split(", ")
    more = f" and {len(listed) - _SHOWN} more" if len(listed) > _SHOWN else ""
    return f"{head}known: {', '.join(listed[:_SHOWN])}{more}."


def _check_duplicates(rows: TableRows, config: ImportConfig) -> None:
    frame = rows.frame[list(CELL_DIMS)]
    again = frame.duplicated().to_numpy()
    if not again.any():
        return
    second = int(np.flatnonzero(again)[0])
    cell = frame.iloc[second]
    first = int(np.flatnonzero((frame == cell).all(axis=1))[0])
    named = ", ".join(f"{dim} '{cell[dim]}'" for dim in CELL_DIMS)
    one, other = (rows.at(int(frame.index[n])) for n in (first, second))
    number = "imported.constants.run=count"
    if "run" in config.columns:
        number += ", without imported.columns.run,"
    both = f"{one} and {other}"
    told = "if one file repeats the other, keep one of them with imported.path=FILE"
    if one.split(": ")[0] == other.split(": ")[0]:
        both = f"{one.rpartition(' ')[0]}s {one.rpartition(' ')[2]} and {other.rpartition(' ')[2]}"
        told = "if they are repetitions, map 'run' to the column that tells them apart"
    raise UserError(
        f"{both} are both the answer of {named}; {told}, or set {number} to number them as "
        "repetitions in the order of the table."
    )


def one_each(
    rows: TableRows,
    dim: str,
    key: str,
    labels: pd.Series | None = None,
    values: pd.Series | None = None,
) -> dict[str, str]:
    """Return the one value of `key` for each label of `dim`."""
    label = rows.frame[dim] if labels is None else labels
    value = (rows.frame[key] if values is None else values).fillna("")
    pairs = pd.DataFrame({"label": label, "value": value}).drop_duplicates()
    found: dict[str, str] = {}
    for at, label, value in pairs.itertuples(name=None):
        if found.setdefault(label, value) != value:
            raise UserError(
                f"{rows.at(at)}: {key} '{value}' of {dim} '{label}' was '{found[label]}' "
                "before; it must be the same in all its rows."
            )
    return found


def select(rows: TableRows, instruments: Sequence[Instrument], selection: Selection) -> TableRows:
    """Keep the rows selected by label, and note how many are left out."""
    frame, notes = rows.frame, list(rows.notes)
    for dim, key in (("model", "models"), ("item", "items"), ("prefix", "prefixes.only")):
        wanted = getattr(selection, dim)
        if wanted is not None:
            known = list(dict.fromkeys(rows.frame[dim]))
            check_known(dim, *wanted, known=known, where=key)
            frame = _kept(frame, frame[dim].isin(wanted).to_numpy(), key, notes)
    if selection.variant is not None:
        there = {(item, variant) for _, item, variant in rows.distinct("item", "variant")}
        left = [
            replace(q, items=tuple(replace(i, variants=_of(i, there)) for i in q.items))
            for q in instruments
        ]
        check_variants(left, selection.variant)
        wordings = {
            (i.item, v.variant)
            for q in left
            for i in q.items
            for v in i.variants
            if is_wanted(v, selection.variant)
        }
        pairs = pd.MultiIndex.from_frame(frame[["item", "variant"]])
        frame = _kept(frame, pairs.isin(wordings), "variants", notes)
    return replace(rows, frame=frame, notes=notes)


def _of(item: Item, there: set[tuple[str, str]]) -> tuple[Variant, ...]:
    return tuple(v for v in item.variants if (item.item, v.variant) in there)


def _kept(frame: pd.DataFrame, taken: np.ndarray, key: str, notes: list[str]) -> pd.DataFrame:
    if not taken.any():
        raise UserError(f"{key}: the selection leaves no answer of the table.")
    _note_left_out(notes, len(taken) - int(taken.sum()), len(taken), key)
    return frame[taken]
