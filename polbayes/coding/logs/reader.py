"""What a reader of logs is, and what all of them need."""

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from polbayes.config.schema import ImportConfig
from polbayes.data.tables import read_table, table_files, text_of
from polbayes.errors import UserError
from polbayes.instrument.prompts import Lexicon, load_lexicon

# The column with the name of the file that a row is from, if there are several.
TABLE_NAME = "table"
# What `task=export` writes with every question, for the import of its answers.
OF_QUESTION = ("item", "variant", "prefix", "statement")
# The lists of options that a row's masses are summed up in, as columns.
MASSES: Mapping[int, str] = {1: "p_agree", 0: "p_neutral", -1: "p_disagree"}


@dataclass(frozen=True)
class Reader:
    """How files of one format are found and read.

    Parameters
    ----------
    files
        Lists the files that ``imported.path`` means.
    read
        Reads one of them.
    """

    files: Callable[[str, Path | None], list[Path]]
    read: Callable[[Path, ImportConfig], pd.DataFrame]


TABLE = Reader(table_files, lambda path, config: read_table(path))


def files_of(path: str, base: Path | None, *patterns: str, but: Collection[str] = ()) -> list[Path]:
    """Return what a path names: a file, those of a pattern, or those in a folder and below.

    In a folder, files with the names `but` are left out.
    """
    whole = (base or Path.cwd()) / Path(path).expanduser()
    if not whole.is_dir():
        return table_files(path, base)
    every = {one for pattern in patterns for one in whole.rglob(pattern)}
    found = sorted(one for one in every if one.name not in but)
    if not found:
        raise UserError(f"{whole}: holds no {' or '.join(patterns)}; set imported.path to the log.")
    return found


def as_table(rows: Sequence[Mapping[str, Any]], path: Path) -> pd.DataFrame:
    """Return rows as a table of texts, lists and mappings as JSON."""
    if not rows:
        raise UserError(f"{path}: the log has no answers.")
    columns = dict.fromkeys(key for row in rows for key in row)
    texts = {
        column: np.array([*(_text(row.get(column)) for row in rows), None], dtype=object)[:-1]
        for column in columns
    }
    return pd.DataFrame(texts, dtype=object)


def _text(value: Any) -> str | None:
    listed = isinstance(value, list | dict)
    return text_of(json.dumps(value, ensure_ascii=False) if listed else value)


def taken_by(config: ImportConfig, path: Path) -> Callable[[Mapping[str, Any]], bool]:
    """Return what tells whether `imported.where` takes a row, by the columns of the log itself.

    What is derived from them, such as masses, is needed for the rows taken only.
    """
    values = {column: wanted(config, column) for column in config.where}

    def is_taken(row: Mapping[str, Any]) -> bool:
        known = {TABLE_NAME: path.stem, **row}
        for column in values:
            value = plain(_text(known.get(column)), column)
            value = plain(config.rename.get(column, {}).get(value, value), column)
            if value not in values[column]:
                return False
        return True

    return is_taken


def wanted(config: ImportConfig, column: str) -> list[str]:
    """Return the values of a column that `imported.where` takes."""
    key, given = f"imported.where.{column}", config.where[column]
    values = [plain(value, key) for value in (given if isinstance(given, list) else [given])]
    if not values:
        raise UserError(f"{key}: the list is empty; name at least one value.")
    return values


def plain(value: Any, key: str) -> str:
    """Return a value as the text that it is compared by."""
    if isinstance(value, dict | list):
        raise UserError(f"{key}: must be a value or a list of values, not '{value}'.")
    # Software that stores missing numbers as floats writes 3.0 for 3.
    return re.sub(r"^(-?\d+)\.0+$", r"\1", (text_of(value) or "").strip())


def about_question(given: Mapping[str, Any], default: Any) -> dict[str, Any]:
    """Return which cell a question is, as `task=export` wrote it down, or its id in the log."""
    own = _written(given)
    usual = {"item": default, "variant": "original", "prefix": "baseline"}
    keys = (*OF_QUESTION, "prefix_entry", "prefix_options")
    found = {key: own.get(key, usual.get(key)) for key in keys}
    # A question whose options have another order in each run is there for each of them.
    return {**found, "run": own["run"]} if "run" in own else found


def _written(given: Mapping[str, Any]) -> Mapping[str, Any]:
    try:
        own = json.loads(given.get("polbayes") or "{}")
    except (TypeError, ValueError):
        return {}
    return own if isinstance(own, dict) else {}


def options_of(given: Mapping[str, Any], config: ImportConfig, path: Path) -> Lexicon:
    """Return the options of a question: those of ``imported.lexicon``, or those written with it."""
    if config.lexicon is not None:
        return load_lexicon(config.lexicon)
    own = _written(given).get("options")
    if isinstance(own, dict) and own and all(stance in MASSES for stance in own.values()):
        return Lexicon("the log's", tuple(own), tuple(own.values()))
    raise UserError(
        f"{path}: does not say which options agree; set imported.lexicon to a lexicon of them."
    )


def by_stance(masses: Iterable[tuple[int, float]]) -> dict[str, float]:
    """Return the masses of agreeing, neutral and disagreeing options as columns."""
    totals = dict.fromkeys(MASSES.values(), 0.0)
    for stance, mass in masses:
        totals[MASSES[stance]] += mass
    return totals
