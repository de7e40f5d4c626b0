"""Lines of journal files: writing a record on a line, and reading and checking lines.

A line is the CRC32 of its JSON as eight hexadecimal digits, a space, and the JSON. Whatever happens
to a file, a line is either what was written or recognised as damaged, and damage costs that line
only.
"""

import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polbayes.errors import UserError

Cell = tuple[str, str, str, int]
Record = dict[str, Any]


@dataclass(frozen=True)
class State:
    """The state of a journal file."""

    header: Record | None  # the first record; None where there is none, or it is damaged
    answers: bool  # whether there is a record of a cell or a pair of texts
    damaged: int  # whole lines that are not what was written
    length: int  # bytes up to the end of the last whole line


def line_of(record: Mapping[str, Any]) -> bytes:
    """Return a record as a line; a number that is not finite is a ValueError."""
    # ASCII, so that no text in an answer can look like the end of a line.
    text = json.dumps(record, separators=(",", ":"), allow_nan=False).encode("ascii")
    return b"%08x %s\n" % (zlib.crc32(text), text)


def record_of(line: bytes) -> Record | None:
    """Return the record on a line; None if it is damaged."""
    check, _, text = line.rstrip(b"\n").partition(b" ")
    if check != b"%08x" % zlib.crc32(text):
        return None
    try:
        record = json.loads(text)
    except ValueError:
        return None
    return record if isinstance(record, dict) else None


def cell_of(record: Mapping[str, Any]) -> Cell:
    """Return the cell (item, variant, prefix, run) that a record answers."""
    item, variant, prefix, run = record["cell"]
    return str(item), str(variant), str(prefix), int(run)


def key_of(record: Mapping[str, Any]) -> Cell | str | None:
    """Return what a record answers; None for a remark about all."""
    return cell_of(record) if "cell" in record else record.get("pair")


def examine(path: Path) -> State:
    """Check every line of a journal file."""
    header, answers, damaged, length = None, False, 0, 0
    for number, (line, record) in enumerate(_lines(path)):
        length += len(line)
        if record is None:
            damaged += 1
        elif number == 0:
            header = record
        else:
            answers = answers or key_of(record) is not None or "batch" in record
    return State(header, answers, damaged, length)


def read(path: Path) -> Iterator[Record]:
    """Yield the records of a journal, the first of each cell; none if there is no such file.

    A half-written last line, damaged lines and the header are left out. Only the names of the cells
    are held in memory.
    """
    if not path.is_file():
        return
    seen: set[Cell | str] = set()
    # Journals repeat the same few items, wordings and prefixes.
    names: dict[Any, Any] = {}
    for number, (_, record) in enumerate(_lines(path)):
        if record is None or (number == 0 and "journal" in record):
            continue
        key = key_of(record)
        if isinstance(key, tuple):
            item, variant, prefix, run = (names.setdefault(label, label) for label in key)
            key = (item, variant, prefix, run)
        if key in seen:
            continue
        if key is not None:
            seen.add(key)
        yield record


def tail(path: Path, offset: int = 0) -> tuple[list[Record], int]:
    """Return the records written to a journal since the last call."""
    try:
        with path.open("rb") as file:
            file.seek(offset)
            data = file.read()
    except OSError:
        return [], offset
    whole = data[: data.rfind(b"\n") + 1]
    found = (record_of(line) for line in whole.splitlines(keepends=True))
    return [r for r in found if r is not None and "journal" not in r], offset + len(whole)


def _lines(path: Path) -> Iterator[tuple[bytes, Record | None]]:
    """Yield every whole line with its record, None if it is damaged."""
    try:
        with path.open("rb") as file:
            for line in file:
                if not line.endswith(b"\n"):
                    break
                yield line, record_of(line)
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}).") from error
