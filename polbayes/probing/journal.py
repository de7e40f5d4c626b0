"""The journal: the answers of a respondent, or the readings of a coder, recorded as they arrive.

There is one append-only file per respondent or coder (`polbayes.data.json_lines`). Its first record
holds the settings that determine the answers; a journal made under other settings is refused. A
crash can leave a half-written last line, which is cut off when the file is opened again; any other
damaged line is skipped and counted, and its question is asked again. The first line, without which
the others could not be identified, is copied to a file beside the journal.
"""

import fcntl
import json
import os
import re
import shutil
import threading
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from polbayes.data.files import replacing
from polbayes.data.json_lines import (
    Cell,
    Record,
    State,
    cell_of,
    examine,
    line_of,
    read,
    record_of,
    tail,
)
from polbayes.data.provenance import json_digest, text_digest
from polbayes.errors import UserError

__all__ = [
    "CODING",
    "DESIGN",
    "Cell",
    "Journal",
    "Record",
    "adopt",
    "cell_of",
    "check_settings",
    "journal_path",
    "read",
    "remove",
    "settings_of",
    "tail",
]

# Folder for the readings of coders, one file for each way of reading.
CODING = Path("journal") / "coding"
# The design, kept until the answers are in the response dataset.
DESIGN = Path("journal") / "design.nc"

_VERSION = 1
_SYNC_SECONDS = 1.0


def journal_path(folder: Path, name: str) -> Path:
    """Return the file of a respondent's journal: its name, made safe for any file system."""
    safe = re.sub(r"[^A-Za-z0-9._-]", "_", name)[:80]
    if safe != name or safe.startswith(".") or not safe:
        safe = f"{safe.lstrip('.')}-{text_digest(name, size=4)}"
    return folder / f"{safe}.jsonl"


def _settings_path(path: Path) -> Path:
    """Return the file that holds the copy of a journal's first line."""
    return path.with_suffix(".settings")


def _header_of(path: Path, state: State) -> Record | None:
    """Return the first record of a journal, or its copy if it is damaged."""
    if state.header is not None:
        return state.header
    try:
        return record_of(_settings_path(path).read_bytes())
    except OSError:
        return None


def remove(path: Path) -> None:
    """Remove a journal, if it exists and no process is writing it."""
    path.unlink(missing_ok=True)
    _settings_path(path).unlink(missing_ok=True)


class Journal:
    """A journal open for writing; use it in a ``with`` statement.

    `settings` are everything that determines the answers, as JSON values; `defaults` are those that
    a journal may lack because it is older than they are. A `UserError` is raised if another process
    is writing the journal, if it was made under other settings, or if it cannot be written.

    When `extend` returns, the record has been handed to the operating system and survives a kill.
    At most `sync_seconds` later, plus the time the disk takes, it is on the disk and survives a
    power cut, whether or not anything else is written; 0 syncs at once, which on many disks costs
    more than the answer.
    """

    def __init__(
        self,
        path: Path,
        settings: Mapping[str, Any],
        *,
        sync_seconds: float = _SYNC_SECONDS,
        defaults: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        self.path = path
        self.damaged = 0
        self._sync_seconds = sync_seconds
        self._syncing: threading.Thread | None = None
        self._closing = threading.Event()
        self._unsynced = False
        self._failed: OSError | None = None
        self._file = self._open()
        self._settings: Record = json.loads(json.dumps(settings))
        self._defaults = defaults
        try:
            state = examine(self.path)
            self._cut(_usable(self.path, state, self._settings, self._defaults))
        except BaseException:
            os.close(self._file)
            raise
        self.damaged = state.damaged if self._begun else 0

    @property
    def records(self) -> tuple[Record, ...]:
        """All records in memory, the first of each cell or pair of texts."""
        return tuple(self.read())

    def read(self) -> Iterator[Record]:
        """Yield the records, the first of each cell or pair of texts."""
        return read(self.path)

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
            # The process that had it has just removed it, because it was empty.
            os.close(file)
            return self._open()
        return file

    def _cut(self, length: int) -> None:
        """Cut the file after its last whole line, or empty it if it has no answers."""
        self._begun = length > 0
        if os.fstat(self._file).st_size > length:
            os.ftruncate(self._file, length)

    def extend(self, records: Iterable[Mapping[str, Any]]) -> None:
        """Append records, each with a ``cell`` or ``pair``; remarks about all have neither."""
        if self._failed is not None:
            raise self._unwritable(self._failed) from self._failed
        data = b"".join(line_of(record) for record in records)
        if not self._begun:
            data = self._begin() + data
        self._write(data)
        self._begun = self._unsynced = True
        if not self._sync_seconds:
            self._sync()
        elif self._syncing is None:
            self._syncing = threading.Thread(target=self._keep_syncing, daemon=True)
            self._syncing.start()
        if self._failed is not None:
            raise self._unwritable(self._failed) from self._failed

    def _begin(self) -> bytes:
        """Return the first line, after writing its copy to the disk."""
        settings = self._settings
        line = line_of({"journal": _VERSION, "hash": json_digest(settings), "settings": settings})
        with replacing(_settings_path(self.path), alone=True) as temporary:
            temporary.write_bytes(line)
        return line

    def _write(self, data: bytes) -> None:
        try:
            while data:
                data = data[os.write(self._file, data) :]
        except OSError as error:
            raise self._unwritable(error) from error

    def _unwritable(self, error: OSError) -> UserError:
        return UserError(f"{self.path}: cannot be written ({error.strerror}).")

    def _keep_syncing(self) -> None:
        while not self._closing.wait(self._sync_seconds):
            self._sync()

    def _sync(self) -> None:
        """Sync what is not on the disk yet; the next `extend` raises a failure."""
        if self._unsynced:
            self._unsynced = False
            try:
                os.fsync(self._file)
            except OSError as error:
                self._failed = error

    def close(self) -> None:
        """Sync everything and release the file; a journal without answers is removed."""
        if self._file < 0:
            return
        self._closing.set()
        if self._syncing is not None:
            self._syncing.join()
        self._sync()
        file, self._file = self._file, -1
        try:
            if os.fstat(file).st_size == 0:
                remove(self.path)
        finally:
            os.close(file)
        if self._failed is not None:
            raise self._unwritable(self._failed) from self._failed

    def __enter__(self) -> "Journal":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def settings_of(path: Path) -> Mapping[str, Any]:
    """Return the settings that a journal was begun with, as far as its first line can be read."""
    for file in (path, _settings_path(path)):
        try:
            with file.open("rb") as lines:
                header = record_of(lines.readline())
        except OSError:
            continue
        if header is not None and isinstance(header.get("settings"), dict):
            return dict(header["settings"])
    return {}


def check_settings(
    path: Path,
    settings: Mapping[str, Any],
    *,
    defaults: Mapping[str, Any] = MappingProxyType({}),
) -> None:
    """Refuse a journal made under other settings, as `Journal` does, without opening it to write.

    Only the first line is read where it has these settings.
    """
    if not path.is_file():
        return
    try:
        with path.open("rb") as file:
            header = record_of(file.readline())
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}).") from error
    if header is None or _difference(header, settings, defaults):
        _usable(path, examine(path), settings, defaults)


def _usable(
    path: Path, state: State, settings: Mapping[str, Any], defaults: Mapping[str, Any]
) -> int:
    """Return how many bytes of a file belong to a journal made under the same settings."""
    header = _header_of(path, state)
    if not state.damaged and not state.answers:
        return 0
    if header is None or header.get("journal") != _VERSION:
        raise UserError(
            f"{path}: its first line is damaged or from another version of polbayes, "
            "so its answers cannot be identified; move the file away."
        )
    if changed := _difference(header, settings, defaults):
        raise UserError(
            f"{path}: was made under other settings: {changed}; "
            "choose another run_dir, or go back to those settings."
        )
    return state.length


def adopt(
    source: Path,
    path: Path,
    settings: Mapping[str, Any],
    *,
    defaults: Mapping[str, Any] = MappingProxyType({}),
) -> None:
    """Begin a journal with the content of `source`, unless it exists or there is no source.

    A source made under other `settings`, which determine the answers, is refused.
    """
    if path.exists() or not source.is_file():
        return
    header = _header_of(source, examine(source)) or {}
    if changed := _difference(header, settings, defaults):
        raise UserError(
            f"{source}: was made under other settings: {changed}; go back to those settings, or "
            "leave answers_from out."
        )
    with replacing(path) as temporary:
        shutil.copyfile(source, temporary)


def _difference(header: Record, settings: Mapping[str, Any], defaults: Mapping[str, Any]) -> str:
    """Say how settings differ from those of a journal; empty if they do not."""
    now: Record = json.loads(json.dumps({**defaults, **settings}))
    then: Record = {**json.loads(json.dumps(dict(defaults))), **(header.get("settings") or {})}

    def shown(settings: Record, key: str) -> str:
        value = settings.get(key)
        text = "nothing" if value is None else f"{value!r}"
        return text if len(text) <= 60 else f"{text[:57]}..."

    nothing = object()
    changed = [key for key in {**then, **now} if then.get(key, nothing) != now.get(key, nothing)]
    return ", ".join(f"{key} was {shown(then, key)} and is {shown(now, key)}" for key in changed)
