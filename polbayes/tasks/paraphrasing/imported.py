"""Imported wordings: a table whose columns the config maps. Rows are counted from 1."""

from collections.abc import Collection
from pathlib import Path

import numpy as np
import pandas as pd

from polbayes.coding.table_rows import check_mapping, map_columns
from polbayes.config.schema import ParaphraseConfig
from polbayes.config.yaml_checks import identifier
from polbayes.data.tables import read_table
from polbayes.errors import UserError, unknown
from polbayes.instrument.wordings import KINDS

MAPPABLE = ("item", "text", "kind", "set", "variant", "number")
DEFAULTS = {"kind": "paraphrase", "set": "imported"}


def import_wordings(config: ParaphraseConfig, items: Collection[str]) -> pd.DataFrame:
    """Read a table of wordings as candidates."""
    if not config.table:
        raise UserError("paraphrase.table: is empty; give the table of wordings to import.")
    path = Path(config.table).expanduser()
    check_mapping(config.columns, config.constants, known=MAPPABLE, section="paraphrase")
    for key in ("item", "text"):
        if key not in config.columns:
            raise UserError(f"paraphrase.columns: map '{key}' to a column of the table.")
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
    given = {key: (f"paraphrase.columns.{key}", column) for key, column in config.columns.items()}
    constants = {**DEFAULTS, **config.constants}
    rows = map_columns(table, given, constants, config.ignore, name=name)
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
