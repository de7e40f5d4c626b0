"""Writing files atomically."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from polbayes.errors import UserError

# Beginning and end of the names of temporary files and folders.
TEMPORARY = (".polbayes-", ".tmp")
# Where processes other than the run's own may be writing: tasks of a launcher.
_OF_OTHERS = "journal"


@contextmanager
def replacing(path: Path, *, alone: bool = False) -> Iterator[Path]:
    """Give a temporary file to write, which replaces `path` in one step at the end.

    With `alone` no other process can be writing it, and the temporary file of a killed process is
    overwritten.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = _temporary(path, alone=alone)
        try:
            yield temporary
            with temporary.open("rb") as written:
                os.fsync(written.fileno())
            temporary.chmod(0o644)
            temporary.replace(path)
            _sync_folder(path.parent)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise UserError(f"{path}: cannot be written ({error.strerror or error}).") from error


def _temporary(path: Path, *, alone: bool) -> Path:
    begin, end = TEMPORARY
    if alone:
        return path.with_name(f"{begin}{path.name[:200]}{end}")
    handle, name = tempfile.mkstemp(prefix=begin, suffix=f"{path.suffix}{end}", dir=path.parent)
    os.close(handle)
    return Path(name)


def _sync_folder(folder: Path) -> None:
    """Sync a folder: without that a power cut may lose a new file."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def one_writer(folder: Path) -> Iterator[None]:
    """Reserve a folder until the block or the process ends, however it ends.

    Half-written files of killed processes in it are removed. A folder that another process has
    reserved, or that cannot be created, is a `UserError`.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise UserError(f"{folder}: cannot be written ({error.strerror}).") from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(handle)
        raise UserError(
            f"{folder}: another process is working in this folder; wait until it has ended, or "
            "choose another run_dir."
        ) from error
    try:
        _clear(folder)
        yield
    finally:
        os.close(handle)


def _clear(folder: Path) -> None:
    """Remove the temporary files and folders of processes that were killed."""
    name = "*".join(TEMPORARY)
    for pattern in (name, f"*/{name}", f"*/*/{name}"):
        for path in folder.glob(pattern):
            if path.parent.parent == folder / _OF_OTHERS:
                continue
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                with suppress(OSError):
                    path.unlink()


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
