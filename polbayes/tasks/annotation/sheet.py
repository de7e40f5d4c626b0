"""Sheets for annotators: CSV files that are safe to open in a spreadsheet."""

import csv
import io
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from polbayes.data.files import replacing
from polbayes.data.spreadsheets import defused, restored
from polbayes.errors import UserError

_MOST_IN_A_FIELD = 2**31 - 1


def write_sheet(path: Path, columns: Sequence[str], rows: Sequence[Mapping[str, str]]) -> None:
    """Write rows that cannot act in a spreadsheet; missing fields are empty."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\r\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_safe(row.get(name, "")) for name in columns])
    with replacing(path) as temporary:
        # The byte order mark tells a spreadsheet that this is UTF-8.
        encoded = text.getvalue().encode("utf-8-sig", errors="backslashreplace")
        temporary.write_bytes(encoded)


def _safe(text: str) -> str:
    """Defuse a text; a keying of -1 is a number to every program, and stays one."""
    return text if text == "-1" else defused(text)


def read_sheet(path: Path, needed: Sequence[str], *, key: str) -> list[dict[str, str]]:
    """Read a sheet with commas, semicolons or tabs, as saved by any spreadsheet.

    Texts are returned by lower-case column name as they were before `write_sheet`; ``row`` is the
    number that a spreadsheet shows. Case and spaces around the names of needed columns do not
    matter; `key` is the config key of the path, for errors.
    """
    if not path.is_file():
        raise UserError(f"{key}: {path}: no such file.")
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(
            f"{key}: {path}: cannot be read as text ({error}); save it as CSV with UTF-8."
        ) from error
    with _wide_fields():
        try:
            # Strict, so that a file truncated within a text is an error.
            lines = list(
                csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text), strict=True)
            )
        except csv.Error as error:
            raise UserError(
                f"{key}: {path}: is cut off or not a CSV file ({error}); save it as CSV once more."
            ) from error
    header = [name.strip().lower() for name in lines[0]] if lines else []
    for name in needed:
        if name not in header:
            raise UserError(
                f"{key}: {path}: has no column '{name}'; keep the columns of the sheet and save it "
                "as CSV."
            )
    return list(_rows(lines, header))


def _rows(lines: Sequence[Sequence[str]], header: Sequence[str]) -> Iterator[dict[str, str]]:
    for number, fields in enumerate(lines[1:], start=2):
        if any(field.strip() for field in fields):
            row = {n: restored(f) for n, f in zip(header, fields, strict=False)}
            yield {**dict.fromkeys(header, ""), **row, "row": str(number)}


def _delimiter(text: str) -> str:
    """Find the separator of the header's columns; some locales use semicolons."""
    header = text.partition("\n")[0]
    return max(",;\t", key=header.count)


@contextmanager
def _wide_fields() -> Iterator[None]:
    """Allow fields longer than the 128 KiB that the csv module accepts by default."""
    before = csv.field_size_limit(min(sys.maxsize, _MOST_IN_A_FIELD))
    try:
        yield
    finally:
        csv.field_size_limit(before)
