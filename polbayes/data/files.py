"""Writing a file so that it is there whole or not at all."""

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from polbayes.errors import UserError


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary file to write, which takes the place of `path` in one step at the end."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(suffix=f"{path.suffix}.tmp", dir=path.parent)
        os.close(handle)
        temporary = Path(name)
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


def _sync_folder(folder: Path) -> None:
    """Bring to the disk which files a folder has: without that a power cut may lose a new file."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def one_writer(folder: Path) -> Iterator[None]:
    """Keep a folder to oneself until the block ends, or the process, however it ends."""
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
        yield
    finally:
        os.close(handle)


def write_text(path: Path, text: str) -> None:
    """Write a text file so that it is there whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
