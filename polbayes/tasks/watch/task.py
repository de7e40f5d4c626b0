"""`task=watch`: the progress of a run in another process, from its journals."""

import sys
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from polbayes.config.schema import RunConfig
from polbayes.data.dataset import ASKED, CELL_DIMS, read_dataset
from polbayes.data.prose import plural
from polbayes.errors import UserError
from polbayes.probing.journal import DESIGN, journal_path, tail
from polbayes.probing.launch.merge import shard_paths
from polbayes.probing.progress import Counts, progress_line
from polbayes.report.visible import visible

# Seconds over which the rate is computed.
_WINDOW = 60.0


@dataclass
class _Seen:
    """The state of a journal at the last check."""

    offset: int = 0
    counts: Counts = field(default_factory=Counts)
    merged: set[str] = field(default_factory=set)


class Watched:
    """One respondent of a run; `stances` are those of the options whose mass is read."""

    def __init__(self, model: str, total: int, path: Path, stances: tuple[int, ...]) -> None:
        self.model = model
        self.total = total
        self._path = path
        self._stances = stances
        self._seen: dict[Path, _Seen] = {}
        self._history: deque[tuple[float, int]] = deque()

    def look(self, now: float) -> str:
        """Read new records of the journals, and describe the respondent's progress."""
        # Shards first: records merged meanwhile are then missing from them, not from the total.
        shards = shard_paths(self._path)
        for path in (*shards, self._path):
            self._read(path)
        whole = self._seen[self._path]
        own = [self._seen[path].counts for path in shards if path.name not in whole.merged]
        counts = sum(own, whole.counts)
        self._history.append((now, counts.answered))
        while self._history[0][0] < now - _WINDOW:
            self._history.popleft()
        then, before = self._history[0]
        rate = (counts.answered - before) / (now - then) if now > then else None
        done = min(counts.answered, self.total)
        line = progress_line(done, self.total, rate, counts)
        if rate == 0 and done < self.total:
            line += f", nothing new for {now - then:.0f} s"
        workers = f", {plural(len(own), 'shard')}" if own else ""
        return f"{self.model}: {line}{workers}"

    def _read(self, path: Path) -> None:
        seen = self._seen.setdefault(path, _Seen())
        records, seen.offset = tail(path, seen.offset)
        seen.counts.add(records, self._stances)
        seen.merged |= {str(record["merged"]) for record in records if "merged" in record}


def watched(folder: Path) -> list[Watched]:
    """Return the respondents of a run in progress."""
    design = read_dataset(folder / DESIGN)
    asked = (design["status"] >= ASKED).sum(CELL_DIMS[1:])
    stances = design["option_stance"].values.tolist() if "option_stance" in design else []
    return [
        Watched(str(name), int(n), journal_path(folder / "journal", str(name)), tuple(stances))
        for name, n in zip(design["model"].values, asked.values, strict=True)
    ]


def watch(
    config: RunConfig,
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Show the progress of a run once, or until all questions are asked."""
    folder, every = Path(config.run_dir).expanduser(), config.watch.every
    if not (folder / DESIGN).is_file():
        if not (folder / "responses.nc").is_file():
            raise UserError(
                f"run_dir: {folder} holds no run that has asked anything; name the folder of one."
            )
        print(f"{folder}: all questions were asked")
        return
    models = watched(folder)
    redraw = sys.stdout.isatty() and every > 0
    while True:
        lines = [visible(one.look(clock())) for one in models]
        print("\n".join(lines), flush=True)
        if not every:
            return
        sleep(every)
        if not (folder / DESIGN).is_file():
            print(f"{folder}: all questions were asked")
            return
        if redraw:
            # Move to the first of these lines, and clear all below.
            print(f"\x1b[{len(lines)}A\x1b[J", end="")
