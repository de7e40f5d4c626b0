"""Merging the journals of shards into their respondent's."""

import fcntl
import logging
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polbayes.errors import UserError
from polbayes.probing.journal import Journal, read, remove
from polbayes.respondents.usage import used

if TYPE_CHECKING:
    from polbayes.probing.dispatch import Asking

_log = logging.getLogger("polbayes")

# Within the folder of the journals.
SHARDS = "shards"
# Seconds that an unwanted worker has to end.
_PATIENCE = 60.0


def shard_folder(path: Path) -> Path:
    """Return the folder with the journals of a respondent's shards."""
    return path.parent / SHARDS / path.stem


def shard_paths(path: Path) -> list[Path]:
    """Return the journals of shards that have not been merged yet."""
    return sorted(shard_folder(path).glob("*.jsonl"))


def launch_path(journal_dir: Path) -> Path:
    """Return the file that identifies the current launch."""
    return journal_dir / SHARDS / "launch"


def stop_launch(journal_dir: Path) -> None:
    """Make all workers that are still asking for this folder stop at their next question."""
    launch_path(journal_dir).unlink(missing_ok=True)


def absorb(path: Path, settings: Mapping[str, Any], asking: "Asking") -> None:
    """Merge the journals that an earlier launch left.

    Refused if a worker is still writing after a minute, or a journal was made under other settings.
    """
    left = shard_paths(path)
    if not left:
        return
    stop_launch(path.parent)
    for one in left:
        _wait_for_writer(one)
    with asking.open_journal(path, settings) as journal:
        noted = {str(record["note"]) for record in journal.read() if "note" in record}
        for one in left:
            merge(one, journal, noted)
    tidy(path.parent)


def merge(path: Path, journal: Journal, noted: set[str]) -> list[dict[str, Any]]:
    """Move the records of a shard's journal into its respondent's, and return the answers.

    A final remark, which is added to `noted`, records the merge and the tokens that belong to no
    answer, so that nothing is counted twice after a crash.
    """
    cells: list[dict[str, Any]] = []
    if path.is_file() and not any(r.get("merged") == path.name for r in journal.read()):
        records = list(read(path))
        cells = [record for record in records if "cell" in record]
        others = [record for record in records if "cell" not in record]
        new = [r for r in others if "note" in r and r["note"] not in noted]
        for record in new:
            _log.warning("%s", record["note"])
            noted.add(record["note"])
        if records:
            done = {"merged": path.name, **used(others).record()}
            journal.extend([*cells, *new, done])
    remove(path)
    return cells


def tidy(journal_dir: Path) -> None:
    """Remove the folders of shards that are empty."""
    folder = journal_dir / SHARDS
    for one in (*folder.glob("*/"), folder):
        with suppress(OSError):
            one.rmdir()


def _wait_for_writer(path: Path) -> None:
    until = time.monotonic() + _PATIENCE
    while _is_written(path):
        if time.monotonic() > until:
            raise UserError(
                f"{path}: a worker of an earlier launch is still writing this journal; wait until "
                "it has ended, or stop it."
            )
        time.sleep(0.5)


def _is_written(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False
