"""Annotators' labels, read from their sheets."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from polbayes.data.dataset import STANCE_CLASSES
from polbayes.errors import UserError, unknown
from polbayes.tasks.annotation.sheet import read_sheet

# The order in which they are explained to annotators.
LABELS = ("agree", "disagree", "neutral", "unrelated", "refused")
assert set(LABELS) == set(STANCE_CLASSES)


def normalised(label: str) -> str:
    """Return a label in the form in which labels are compared."""
    return re.sub(r"\s+", " ", label).strip().lower()


def read_labels(
    path: Path, ids: Sequence[str], *, key: str, labels: Sequence[str] = LABELS
) -> dict[str, str]:
    """Read one annotator's labels."""
    known = set(ids)
    found: dict[str, str] = {}
    rows_of: dict[str, str] = {}
    for row in read_sheet(path, ("id", "label"), key=key):
        where = f"{path}: row {row['row']}"
        name, label = normalised(row["id"]), normalised(row["label"])
        if name not in known:
            raise UserError(
                f"{where}: the id '{_short(row['id'])}' is not of this sample; give the sheets "
                "that were exported with its key."
            )
        if name in rows_of:
            raise UserError(
                f"{where}: the id '{name}' is already in row {rows_of[name]}; keep one row of each."
            )
        rows_of[name] = row["row"]
        if label and label not in labels:
            raise unknown("label", _short(row["label"]), labels, where=where)
        if label:
            found[name] = label
    return found


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 40 else f"{line[:40]}…"


def read_annotators(
    paths: Sequence[str],
    ids: Sequence[str],
    *,
    key: str = "annotation.labels",
    labels: Sequence[str] = LABELS,
) -> pd.DataFrame:
    """Read the sheets of several annotators, who are named after their files.

    Returns a table indexed by `ids` with a column per annotator, None for missing labels. An
    invalid or empty sheet is a `UserError`, and so are two of the same name.
    """
    columns: dict[str, Mapping[str, str]] = {}
    for text in paths:
        path = Path(text).expanduser()
        name = path.stem.removeprefix("sheet_")
        if name in columns:
            raise UserError(
                f"{key}: two sheets are called '{name}'; give each annotator's file its own name."
            )
        columns[name] = read_labels(path, ids, key=key, labels=labels)
        if not columns[name]:
            raise UserError(f"{key}: {path}: no row has a label; give sheets that are filled in.")
    table = {name: [given.get(i) for i in ids] for name, given in columns.items()}
    return pd.DataFrame(table, index=pd.Index(ids, name="id"), dtype=object)
