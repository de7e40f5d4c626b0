"""Imported wordings: a table whose columns the config maps. Rows are counted from 1."""

from collections.abc import Collection
from pathlib import Path

import numpy as np
import pandas as pd

from polbayes.config.schema import ParaphraseConfig
from polbayes.config.yaml_checks import identifier
from polbayes.data.tables import read_table
from polbayes.errors import UserError, check_known, unknown
from polbayes.instrument.wordings import KINDS

MAPPABLE = ("item", "text", "kind", "set", "variant", "number")
DEFAULTS = {"kind": "paraphrase", "set": "imported"}


def import_wordings(config: ParaphraseConfig, items: Collection[str]) -> pd.DataFrame:
    """Read a table of wordings as candidates."""
    if not config.table:
        raise UserError("paraphrase.table: is empty; give the table of wordings to import.")
    path = Path(config.table).expanduser()
    for where, keys in (("columns", config.columns), ("constants", config.constants)):
        check_known("key", *keys, known=MAPPABLE, where=f"paraphrase.{where}")
    for key in ("item", "text"):
        if key not in config.columns:
            raise UserError(f"paraphrase.columns: map '{key}' to a column of the table.")
    for key in config.constants:
        if key in config.columns:
            raise UserError(
                f"paraphrase.constants: '{key}' is also mapped to column '{config.columns[key]}'; "
                "give it once."
            )
    if not path.is_file():
        raise UserError(f"paraphrase.table: {path}: no such file; give a table of wordings.")
    rows = _rows(read_table(path), config, path.name)
    _check(rows, items, path.name)
    return rows.assign(
        instruction=path.name,
        call=1,
        line=np.arange(1, len(rows) + 1),
        text=[" ".join((text or "").split()) for text in rows["text"]],
        reason="",
    )


def _rows(table: pd.DataFrame, config: ParaphraseConfig, name: str) -> pd.DataFrame:
    for key, column in config.columns.items():
        if column not in table.columns:
            place = f"{name}: paraphrase.columns.{key}"
            raise unknown("column", column, table.columns, where=place)
    mapped = {*config.columns.values(), *config.ignore}
    for column in table.columns:
        if column not in mapped:
            raise UserError(
                f"{name}: the column '{column}' is not mapped; map it under paraphrase.columns or "
                "list it under paraphrase.ignore."
            )
    rows = pd.DataFrame({key: table[column] for key, column in config.columns.items()})
    for key, value in {**DEFAULTS, **config.constants}.items():
        if key not in rows:
            rows[key] = str(value)
    for key in rows.columns:
        empty = np.flatnonzero(rows[key].isna())
        if key != "text" and empty.size:
            raise UserError(f"{name}: row {empty[0] + 1}: the column of '{key}' has no value.")
    rows["item"] = rows["item"].map(lambda item: config.items.get(item, item))
    return rows


def _check(rows: pd.DataFrame, items: Collection[str], name: str) -> None:
    """Refuse unknown items and kinds, and two wordings with one id."""
    for key, known in (("item", items), ("kind", KINDS)):
        wrong = np.flatnonzero(~rows[key].isin(list(known)))
        if wrong.size:
            raise unknown(key, rows[key][wrong[0]], known, where=f"{name}: row {wrong[0] + 1}")
    own = [key for key in ("variant", "number") if key in rows]
    for row, value in enumerate(rows.get("variant", ()), start=1):
        identifier(value, f"{name}: row {row}: variant")
    for row, value in enumerate(rows.get("number", ()), start=1):
        if not str(value).isascii() or not str(value).isdigit():
            raise UserError(f"{name}: row {row}: the number '{value}' is not a whole number.")
    for key in own[:1]:
        label = ["item", "variant"] if key == "variant" else ["item", "set", "kind", "number"]
        again = np.flatnonzero(rows.duplicated(label))
        if again.size:
            row = rows.iloc[again[0]]
            raise UserError(
                f"{name}: row {again[0] + 1}: item '{row['item']}' has a wording with {key} "
                f"'{row[key]}' already; give each its own."
            )
