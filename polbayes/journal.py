"""The journal: what a respondent answered, or a coder read, written down while it does.

One file per respondent or coder, append-only. A line is the CRC32 of its JSON as eight hexadecimal
digits, a space, and the JSON. The first record names the settings that determine the answers;
a journal made under others is refused. What a crash can do to such a file is leave a
half-written last line, which is cut off when it is opened again; a line damaged in any other way
is skipped and counted, and its question is asked again.
"""

import fcntl
import hashlib
import json
import os
import re
import shutil
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from polbayes.errors import UserError
from polbayes.files import replacing

Cell = tuple[str, str, str, int]
Record = dict[str, Any]

# Where a run keeps what its coders read, one file for each way of reading.
CODING = Path("journal") / "coding"
# What is asked, there while the answers are not in the response dataset yet.
DESIGN = Path("journal") / "design.nc"

_VERSION = 1
_SYNC_SECONDS = 1.0


@dataclass(frozen=True)
class Contents:
    """What is in a journal file.

    Parameters
    ----------
    header
        The first record; None where the file is empty or its first line is damaged.
    records
        All others, of each cell or pair of texts the first.
    damaged
        How many whole lines were skipped.
    length
        Bytes up to the end of the last whole line.
    """

    header: Record | None
    records: tuple[Record, ...]
    damaged: int
    length: int


def journal_path(folder: Path, name: str) -> Path:
    """Return the file of a respondent's journal: its name, made safe for any file system."""
    safe = re.sub(r"[^A-Za-z0-9._-]", "_", name)[:80]
    if safe != name or safe.startswith(".") or not safe:
        safe = f"{safe.lstrip('.')}-{hashlib.blake2b(name.encode(), digest_size=4).hexdigest()}"
    return folder / f"{safe}.jsonl"


def read(path: Path) -> Iterator[Record]:
    """Yield the records of a journal, of each cell the first; none if there is no such file.

    A half-written last line and damaged lines are left out, and so is the header.
    """
    if path.is_file():
        yield from scan(path).records


def scan(path: Path) -> Contents:
    """Read a journal file and check every line of it.

    Raises
    ------
    UserError
        If the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            return _scan(file)
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}).") from error


def _scan(lines: Iterable[bytes]) -> Contents:
    header: Record | None = None
    records: list[Record] = []
    seen: set[Cell | str] = set()
    damaged = length = 0
    for number, line in enumerate(lines):
        if not line.endswith(b"\n"):
            break
        length += len(line)
        record = _parse(line)
        if record is None:
            damaged += 1
        elif number == 0:
            header = record
        elif (key := _key(record)) not in seen:
            records.append(record)
            if key is not None:
                seen.add(key)
    return Contents(header, tuple(records), damaged, length)


def _line(record: Mapping[str, Any]) -> bytes:
    # ASCII, so that no text in an answer can look like the end of a line.
    text = json.dumps(record, separators=(",", ":"), allow_nan=False).encode("ascii")
    return b"%08x %s\n" % (zlib.crc32(text), text)


def _parse(line: bytes) -> Record | None:
    check, _, text = line.rstrip(b"\n").partition(b" ")
    if check != b"%08x" % zlib.crc32(text):
        return None
    try:
        record = json.loads(text)
    except ValueError:
        return None
    return record if isinstance(record, dict) else None


def _key(record: Mapping[str, Any]) -> Cell | str | None:
    """Return what a record is the answer to; None for a remark about all."""
    return cell_of(record) if "cell" in record else record.get("pair")


def cell_of(record: Mapping[str, Any]) -> Cell:
    """Return the cell (item, variant, prefix, run) that a record answers."""
    item, variant, prefix, run = record["cell"]
    return str(item), str(variant), str(prefix), int(run)


class Journal:
    """A journal that is open for writing; use it in a ``with`` statement.

    Parameters
    ----------
    path
        The file; made if it is not there.
    settings
        Everything that determines the answers, as values that JSON can hold.

    Raises
    ------
    UserError
        If another process is writing it, it was made under other settings, or it cannot be
        written.

    Notes
    -----
    A record is handed to the operating system when `extend` returns, which a killed process
    cannot undo, and is on the disk at most a second of writing later, which a power cut cannot.
    """

    def __init__(self, path: Path, settings: Mapping[str, Any]) -> None:
        self.path = path
        self.damaged = 0
        self._synced = time.monotonic()
        self._file = self._open()
        self._settings: Record = json.loads(json.dumps(settings))
        try:
            contents = scan(self.path)
            self._cut(self._usable(contents))
        except BaseException:
            os.close(self._file)
            raise
        self.damaged = contents.damaged if self._begun else 0
        self.records = contents.records if self._begun else ()

    def _open(self) -> int:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        except OSError as error:
            raise self._unwritable(error) from error
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(file)
            raise UserError(
                f"{self.path}: another process is writing this journal; wait until it has "
                "ended, or choose another run_dir."
            ) from error
        if os.fstat(file).st_nlink == 0:
            # Whoever had it a moment ago has removed it, empty as it was.
            os.close(file)
            return self._open()
        return file

    def _cut(self, length: int) -> None:
        """Cut the file after its last whole line, or to nothing where it answers nothing."""
        self._begun = length > 0
        if os.fstat(self._file).st_size > length:
            os.ftruncate(self._file, length)

    def _usable(self, contents: Contents) -> int:
        """Return how many bytes of the file are a journal made under the same settings."""
        header, settings = contents.header, self._settings
        if not contents.damaged and not any(map(_key, contents.records)):
            return 0
        if header is None or header.get("journal") != _VERSION:
            raise UserError(
                f"{self.path}: its first line is damaged or is not of this version of polbayes, "
                "so that nobody can tell what it answers; move the file away."
            )
        if header.get("hash") != _hash(settings):
            raise UserError(
                f"{self.path}: was made under other settings: "
                f"{_difference(header.get('settings') or {}, settings)}; "
                "choose another run_dir, or go back to those settings."
            )
        return contents.length

    def extend(self, records: Iterable[Mapping[str, Any]]) -> None:
        """Append records, each with a ``cell`` or ``pair`` or, for a remark about all, without.

        Raises
        ------
        UserError
            If they cannot be written, e.g. on a full disk; the journal is of no further use.
        """
        data = b"".join(_line(record) for record in records)
        if not self._begun:
            settings = self._settings
            header = {"journal": _VERSION, "hash": _hash(settings), "settings": settings}
            data = _line(header) + data
        self._write(data)
        self._begun = True
        if time.monotonic() - self._synced >= _SYNC_SECONDS:
            self._sync()

    def _write(self, data: bytes) -> None:
        try:
            while data:
                data = data[os.write(self._file, data) :]
        except OSError as error:
            raise self._unwritable(error) from error

    def _unwritable(self, error: OSError) -> UserError:
        return UserError(f"{self.path}: cannot be written ({error.strerror}).")

    def _sync(self) -> None:
        os.fsync(self._file)
        self._synced = time.monotonic()

    def close(self) -> None:
        """Bring everything to the disk and let others write; a file without answers goes."""
        if self._file >= 0:
            file, self._file = self._file, -1
            try:
                if os.fstat(file).st_size == 0:
                    self.path.unlink(missing_ok=True)
                os.fsync(file)
            finally:
                os.close(file)

    def __enter__(self) -> "Journal":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def adopt(source: Path, path: Path, settings: Mapping[str, Any]) -> None:
    """Begin a journal with what another one holds, unless it has begun already.

    Parameters
    ----------
    source
        The other journal; where there is none, nothing is done.
    path
        The one to begin.
    settings
        Everything that determines the answers.

    Raises
    ------
    UserError
        If the other one was made under other settings, or cannot be copied.
    """
    if path.exists() or not source.is_file():
        return
    header = scan(source).header or {}
    if header.get("hash") != _hash(json.loads(json.dumps(settings))):
        changed = _difference(header.get("settings") or {}, dict(settings))
        raise UserError(
            f"{source}: was made under other settings: {changed}; go back to those settings, or "
            "leave answers_from out."
        )
    with replacing(path) as temporary:
        shutil.copyfile(source, temporary)


def _hash(settings: Record) -> str:
    text = json.dumps(settings, sort_keys=True).encode()
    return hashlib.blake2b(text, digest_size=16).hexdigest()


def _difference(then: Record, now: Record) -> str:
    def shown(settings: Record, key: str) -> str:
        value = settings.get(key)
        text = "nothing" if value is None else f"{value!r}"
        return text if len(text) <= 60 else f"{text[:57]}..."

    changed = [key for key in {**then, **now} if then.get(key) != now.get(key)]
    return ", ".join(f"{key} was {shown(then, key)} and is {shown(now, key)}" for key in changed)


def tail(path: Path, offset: int = 0) -> tuple[list[Record], int]:
    """Return the records that were written to a journal since the last look.

    Parameters
    ----------
    path
        The file, which another process may be writing; nothing is there yet if it is not there.
    offset
        Bytes that were looked at before; 0 for none.

    Returns
    -------
    records : list of dict
        Those of whole, undamaged lines, without the header.
    offset : int
        For the next look.
    """
    try:
        with path.open("rb") as file:
            file.seek(offset)
            data = file.read()
    except OSError:
        return [], offset
    whole = data[: data.rfind(b"\n") + 1]
    found = (_parse(line) for line in whole.splitlines(keepends=True))
    return [r for r in found if r is not None and "journal" not in r], offset + len(whole)
