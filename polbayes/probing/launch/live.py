"""Live progress of respondents asked elsewhere, from the journals of their shards."""

import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Literal

from polbayes.probing.journal import tail
from polbayes.probing.launch.shard import Shard
from polbayes.probing.progress import Counts, Meter
from polbayes.probing.work import Work

# Seconds between two checks of the journals.
_LOOK = 1.0


class Live:
    """A meter for each respondent, with the number of questions left."""

    def __init__(
        self, works: Sequence[tuple[Work, int]], progress: bool | Literal["always"]
    ) -> None:
        self._works = works
        self._progress = progress
        self._meters: dict[str, Meter] = {}
        self._seen: dict[str, dict[Path, Counts]] = {}
        self._offsets: dict[Path, int] = {}
        self._stack = ExitStack()
        self._looked = float("-inf")

    def __enter__(self) -> "Live":
        for position, (work, left) in enumerate(self._works):
            model, total = work.questions.model, len(work.questions)
            meter = Meter(
                model,
                total,
                total - left,
                stances=work.asking.stances,
                show=self._progress,
                position=position,
            )
            self._meters[model] = self._stack.enter_context(meter)
            self._seen[model] = {}
        return self

    def show(self, running: Iterable[Shard]) -> None:
        """Check the journals of shards every few seconds, and show what is new."""
        if time.monotonic() - self._looked < _LOOK:
            return
        self._looked = time.monotonic()
        for shard in running:
            self.look(shard)
        for model, meter in self._meters.items():
            meter.set(sum(self._seen[model].values(), Counts()))

    def look(self, shard: Shard) -> None:
        """Count the new records in the journal of a shard."""
        records, offset = tail(shard.path, self._offsets.get(shard.path, 0))
        self._offsets[shard.path] = offset
        counts = self._seen[shard.questions.model].setdefault(shard.path, Counts())
        counts.add(records, shard.asking.stances)

    def __exit__(self, *error: object) -> None:
        self._looked = float("-inf")
        self.show(())
        self._stack.close()
