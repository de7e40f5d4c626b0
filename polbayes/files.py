"""Writing a file so that it is there whole or not at all."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from polbayes.errors import UserError


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary file to write, which takes the place of `path` in one step at the end.

    Parameters
    ----------
    path
        What is to be written; its folder is made if need be.

    Raises
    ------
    UserError
        If the file cannot be written; an earlier one is still there.
    """
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
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise UserError(f"{path}: cannot be written ({error.strerror or error}).") from error
