"""Tables: reading answers from a user's CSV, TSV, Parquet or JSON lines; and polbayes' own."""

import csv
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polbayes.data.files import replacing
from polbayes.data.spreadsheets import defused_table, restored_table
from polbayes.errors import UserError, reason

if TYPE_CHECKING:
    import pandas as pd

_HALVES = re.compile("[\ud800-\udfff]")
_SEPARATORS = {".csv": ",", ".tsv": "\t"}
_INDEX = re.compile("__index_level_[0-9]+__")
_PARQUET = (".parquet", ".pq")
_LINES = (".jsonl", ".ndjson")
# Longer texts hardly ever occur twice.
_SHORT = 64
# Errors of parsers if a file is not what its name says.
_UNREADABLE = (
    *(OSError, ValueError, TypeError, LookupError, ArithmeticError, NotImplementedError),
    *(RecursionError, MemoryError),
)


def read_table(path: Path) -> "pd.DataFrame":
    """Read a table whose cells are all text or missing.

    The columns are objects: str, or None for missing values. In CSV, where semicolons or tabs may
    separate the fields, only an empty one is missing; "NA", "None" and "null" are answers. Whole
    numbers are written without a decimal point.
    """
    import pandas as pd

    kinds = (*_SEPARATORS, *_PARQUET, *_LINES)
    if not path.is_file():
        raise UserError(f"{path}: no such file; set imported.path to the table of answers.")
    if path.suffix.lower() not in kinds:
        raise UserError(
            f"{path}: file type '{path.suffix}' is not supported; give one of {', '.join(kinds)}."
        )
    if path.stat().st_size == 0:
        raise UserError(f"{path}: the file is empty.")
    try:
        frame = _read(path)
    except UnicodeDecodeError as error:
        raise UserError(
            f"{path}: cannot be read as a table ({reason(error)}); save it as UTF-8."
        ) from error
    except _UNREADABLE as error:
        raise UserError(f"{path}: cannot be read as a table ({reason(error)[:200]}).") from error
    if not len(frame.columns) or not len(frame):
        raise UserError(f"{path}: the table has no rows.")
    frame.columns = [str(column) for column in frame.columns]
    if frame.columns.duplicated().any():
        twice = frame.columns[frame.columns.duplicated()][0]
        raise UserError(f"{path}: two columns have the name '{twice}'.")
    # Series of text would turn None back into NaN.
    blank = None if path.suffix.lower() in _SEPARATORS else ""
    values = {name: _texts(frame.pop(name), blank) for name in list(frame.columns)}
    return pd.DataFrame(values, dtype=object)


def write_csv(path: Path, table: "pd.DataFrame | Iterator[pd.DataFrame]") -> None:
    """Write a table, or one whose rows come in parts, so that spreadsheets compute no text of it.

    All of it is written, or nothing.
    """
    # A lone surrogate, which a completion may contain, cannot be encoded.
    how: Any = {"encoding": "utf-8", "errors": "backslashreplace", "newline": ""}
    with replacing(path) as temporary, temporary.open("w", **how) as file:
        for number, part in enumerate(table if isinstance(table, Iterator) else (table,)):
            safe = defused_table(part)
            safe.to_csv(file, index=False, header=number == 0, quoting=_quoting(safe))


def _quoting(table: "pd.DataFrame") -> Any:
    """Quote every text if one has a carriage return, which pandas would not."""
    texts = (x for _, c in table.select_dtypes(exclude="number").items() for x in c.unique())
    odd = any(isinstance(x, str) and "\r" in x for x in texts)
    return csv.QUOTE_NONNUMERIC if odd else csv.QUOTE_MINIMAL


def read_csv(path: Path, types: Mapping[str, type] | None = None) -> Any:
    """Read a table that `write_csv` wrote, as a data frame; `types` are those of some columns.

    "NA" and "null" may be names of models: only an empty field is missing.

    Raises
    ------
    UserError
        If it is empty, or no table.
    """
    import pandas as pd

    try:
        # The type of a column is from the whole of it, and not from pieces that differ.
        table = pd.read_csv(
            path, keep_default_na=False, na_values=[""], dtype=types, low_memory=False
        )
    except _UNREADABLE as error:
        raise UserError(
            f"{path}: is no longer a table that can be read ({reason(error)[:200]}); delete it "
            "and repeat the command that made it."
        ) from error
    return restored_table(table)


def _texts(column: "pd.Series", blank: str | None) -> np.ndarray:
    """Return a column as texts; equal ones are one object."""
    import pandas as pd

    kind = pd.api.types.infer_dtype(column, skipna=True) if column.dtype == object else "string"
    try:
        if kind not in ("string", "empty"):
            raise TypeError
        codes, found = pd.factorize(column)
    except (TypeError, NotImplementedError):  # what cannot be compared, such as lists
        return np.array([*map(text_of, column), None], dtype=object)[:-1]
    texts = [text_of(value) for value in found]
    return np.array([*(blank if t == "" else t for t in texts), None], dtype=object)[codes]


def table_files(path: str, base: Path | None = None) -> list[Path]:
    """Return the file of a path, or all that match its last part, e.g. ``*.csv``."""
    whole = (base or Path.cwd()) / Path(path).expanduser()
    if whole.is_file() or not any(sign in whole.name for sign in "*?["):
        return [whole]
    return sorted(one for one in whole.parent.glob(whole.name) if one.is_file()) or [whole]


def _read(path: Path) -> "pd.DataFrame":
    import pandas as pd
    import pyarrow.parquet as pq

    suffix = path.suffix.lower()
    if suffix in _SEPARATORS:
        return _read_fields(path, _separator(path, _SEPARATORS[suffix]))
    if suffix in _PARQUET:
        try:
            return pd.read_parquet(path)
        except TypeError:
            # An Arrow type that pandas wrote under a name it cannot read.
            frame = pq.read_table(path).replace_schema_metadata(None).to_pandas()
            return frame.drop(columns=[c for c in frame if _INDEX.fullmatch(str(c))])
    return _read_lines(path)


def _separator(path: Path, usual: str) -> str:
    """Return what separates the names of columns: in many countries spreadsheets write ``;``."""
    with path.open(encoding="utf-8-sig") as file:
        header = file.readline()
    return next((sign for sign in (usual, ",", ";", "\t") if sign in header), usual)


def _read_fields(path: Path, separator: str) -> "pd.DataFrame":
    """Read a file whose first line has the names of the columns.

    With a header, pandas would rename duplicate columns and take a row's excess fields for an
    index.
    """
    import pandas as pd

    lines = pd.read_csv(
        path,
        sep=separator,
        header=None,
        dtype=str,
        keep_default_na=False,
        na_values=[],
        encoding="utf-8-sig",
    )
    _check_widths(path, separator, len(lines.columns))
    frame = lines.iloc[1:].reset_index(drop=True)
    frame.columns = [name or f"Unnamed: {n}" for n, name in enumerate(lines.iloc[0])]
    return frame


def _check_widths(path: Path, separator: str, width: int) -> None:
    """Refuse a row with fewer fields than the header, which pandas would fill up."""
    before = csv.field_size_limit(2**31 - 1)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = (row for row in csv.reader(file, delimiter=separator) if row)
            for number, row in enumerate(rows):
                if len(row) < width:
                    raise ValueError(f"row {number} has fewer fields than the header")
    finally:
        csv.field_size_limit(before)


def _read_lines(path: Path) -> "pd.DataFrame":
    """Read the objects of a file by column; equal short texts are one object."""
    import pandas as pd

    columns: dict[str, list[str | None]] = {}
    known: dict[str, str | None] = {}
    count = 0
    for _, row in _objects(path):
        for key, value in row.items():
            column = columns.get(key)
            if column is None:
                column = columns.setdefault(_HALVES.sub("\ufffd", key), [])
            text = known[value] if type(value) is str and value in known else text_of(value)
            if text is not None and len(text) <= _SHORT:
                text = known.setdefault(text, text)
            # A key may be absent from rows before, or be two that cannot be written.
            column[count:] = [*[None] * (count - len(column)), text]
        count += 1
    return pd.DataFrame({name: [*c, *[None] * (count - len(c))] for name, c in columns.items()})


def json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the objects of a file of JSON lines, each with the number of its line."""
    try:
        yield from _objects(path)
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{path}: cannot be read as JSON lines ({error}).") from error


def _objects(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    with path.open(encoding="utf-8-sig") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line, object_pairs_hook=_once)
            except ValueError as error:
                said = getattr(error, "msg", error)
                raise ValueError(f"line {number} is not valid JSON: {said}") from error
            if not isinstance(row, dict):
                raise ValueError(f"line {number} is not an object with one value per column")
            yield number, row


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object with unique keys, or refuse it."""
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key '{twice}' occurs twice")
    return found


def text_of(value: Any) -> str | None:
    """Return a table's value as text: None if it is missing, '3' for 3.0."""
    if _is_missing(value):
        return None
    if isinstance(value, str):
        # JSON can hold half a character, which cannot be written anywhere.
        return _HALVES.sub("\ufffd", value)
    if isinstance(value, bytes):
        return value.decode("utf-8", errors="replace")
    try:
        whole = not isinstance(value, bool | np.bool_) and float(value).is_integer()
    except (TypeError, ValueError, OverflowError):
        return str(value)
    return str(int(value)) if whole else str(value)


def _is_missing(value: Any) -> bool:
    """Return whether a value is None or a missing value of pandas or numpy."""
    import pandas as pd

    return value is None or (pd.api.types.is_scalar(value) and bool(pd.isna(value)))
