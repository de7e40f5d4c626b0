"""Sheets, key and guidelines on disk: written once, and never over someone's work."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from polbayes.config.resources import folder as shipped
from polbayes.data.files import write_text
from polbayes.errors import UserError
from polbayes.measures.resampling import generator
from polbayes.tasks.annotation.blind import ids_of, shown
from polbayes.tasks.annotation.sheet import read_sheet, write_sheet

KEY, GUIDELINES = "key.csv", "guidelines.md"
_ENTRIES = ("label", "note")


def export(
    sample: pd.DataFrame,
    folder: Path,
    *,
    annotators: Sequence[str],
    hide: Sequence[str],
    show_prefix: bool,
    seed: int,
) -> list[Path]:
    """Write a sample for annotators."""
    keyed = keyed_rows(sample)
    _check_same(folder, [row["id"] for row in keyed], annotators)
    header = ["id", *(("question",) if show_prefix else ()), "statement", "answer", *_ENTRIES]
    sheets = shuffled(
        [_shown(row, hide) for row in keyed], header, annotators, seed=seed, task="annotation"
    )
    whole = (["id", *map(str, sample.columns)], keyed)
    return write_new(folder, {KEY: whole, **sheets}, guidelines="stance.md")


def keyed_rows(sample: pd.DataFrame) -> list[dict[str, str]]:
    """Return the rows of a sample as texts, with their ids."""
    return [
        {"id": name, **{str(k): str(v) for k, v in row.items()}}
        for name, row in zip(ids_of(sample), sample.to_dict("records"), strict=True)
    ]


Sheet = tuple[Sequence[str], Sequence[Mapping[str, str]]]


def shuffled(
    rows: Sequence[Mapping[str, str]],
    header: Sequence[str],
    annotators: Sequence[str],
    *,
    seed: int,
    task: str,
) -> dict[str, Sheet]:
    """Make a sheet for each annotator, each in its own order."""
    orders = {
        name: generator(seed, task, "sheet", name).permutation(len(rows)) for name in annotators
    }
    return {_sheet_name(n): (header, [rows[k] for k in order]) for n, order in orders.items()}


def write_new(folder: Path, sheets: Mapping[str, Sheet], *, guidelines: str) -> list[Path]:
    """Write the sheets and guidelines that do not exist yet, and return these."""
    written = [folder / name for name in sheets if not (folder / name).exists()]
    for path in written:
        write_sheet(path, *sheets[path.name])
    if not (folder / GUIDELINES).exists():
        text = (shipped("data") / "guidelines" / guidelines).read_text(encoding="utf-8")
        write_text(folder / GUIDELINES, text)
        written.append(folder / GUIDELINES)
    return written


def _sheet_name(annotator: str) -> str:
    """Return the file name of an annotator's sheet."""
    return f"sheet_{annotator}.csv"


def _shown(row: Mapping[str, str], hide: Sequence[str]) -> dict[str, str]:
    return {
        "id": row["id"],
        "question": shown(row.get("prefix_text", ""), hide),
        "statement": shown(row.get("statement", ""), hide),
        "answer": shown(row["response"], hide),
    }


def _check_same(folder: Path, ids: Sequence[str], annotators: Sequence[str]) -> None:
    """Refuse a folder with another sample, whose sheets may be in use."""
    if folder.exists() and not folder.is_dir():
        raise UserError(f"annotation.folder: {folder} is a file; name a folder.")
    if (folder / KEY).exists():
        before = [row["id"] for row in read_key(folder)]
        if before != list(ids):
            raise UserError(
                f"{folder} holds another sample, which somebody may be labelling; choose another "
                "annotation.folder, or move it away if nobody is."
            )
        return
    for name in map(_sheet_name, annotators):
        if (folder / name).exists():
            raise UserError(
                f"{folder / name} is there without its {KEY}, and is not overwritten; choose "
                "another annotation.folder, or move it away."
            )


def read_key(folder: Path) -> list[dict[str, str]]:
    """Read the key of a sample."""
    rows = read_sheet(folder / KEY, ("id", "model", "response"), key="annotation.folder")
    if not rows:
        raise UserError(f"{folder / KEY}: has no rows; export the sample again.")
    return rows
