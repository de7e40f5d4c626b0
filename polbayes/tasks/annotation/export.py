"""Sheets, key and guidelines on disk: written once, and never over what somebody works on."""

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
    ids = ids_of(sample)
    keyed = [
        {"id": name, **{str(k): str(v) for k, v in row.items()}}
        for name, row in zip(ids, sample.to_dict(orient="records"), strict=True)
    ]
    columns = ["id", *map(str, sample.columns)]
    _check_same(folder, ids, annotators)
    written: list[Path] = []

    def put(name: str, header: Sequence[str], rows: Sequence[Mapping[str, str]]) -> None:
        if not (folder / name).exists():
            write_sheet(folder / name, header, rows)
            written.append(folder / name)

    put(KEY, columns, keyed)
    header = ["id", *(("question",) if show_prefix else ()), "statement", "answer", *_ENTRIES]
    visible_rows = [_shown(row, hide) for row in keyed]
    for annotator in annotators:
        order = generator(seed, "annotation", "sheet", annotator).permutation(len(ids))
        put(sheet_name(annotator), header, [visible_rows[k] for k in order])
    if not (folder / GUIDELINES).exists():
        text = (shipped("data") / "guidelines" / "stance.md").read_text(encoding="utf-8")
        write_text(folder / GUIDELINES, text)
        written.append(folder / GUIDELINES)
    return written


def sheet_name(annotator: str) -> str:
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
    """Refuse a folder with another sample: its sheets may be in somebody's hands."""
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
    for name in map(sheet_name, annotators):
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
