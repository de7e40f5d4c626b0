"""Progress of asking: counts of answers, and the messages about them."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Any, Literal

from polbayes.data.progress import progress_bar, say
from polbayes.data.prose import noun

# Seconds between two lines if there is no terminal for a bar.
_BETWEEN_LINES = 30.0


@dataclass
class Counts:
    """Counts of a respondent's answers so far."""

    answered: int = 0  # cells with an answer or a failure
    # Sum over cells: 1 for an open answer with a text, however it will be coded; for probabilities
    # the mass of the options that agree or disagree.
    usable: float = 0.0
    # Cells with these statuses.
    refused: int = 0
    invalid: int = 0
    errors: int = 0
    measured: int = 0  # cells whose probabilities were read
    truncated: int = 0  # open answers that were cut off

    def add(self, records: Iterable[Mapping[str, Any]], stances: Sequence[int] = ()) -> int:
        """Count the records of a journal; return how many were answers to a cell."""
        before = self.answered
        for record in records:
            if "cell" not in record:
                continue
            status = record["status"]
            self.answered += 1
            self.refused += status == "refused"
            self.invalid += status == "invalid"
            self.errors += status == "error"
            self.truncated += bool(record.get("truncated"))
            self.measured += "mass" in record
            if "mass" in record:
                self.usable += sum(m or 0.0 for m, s in zip(record["mass"], stances) if s)  # noqa: B905
            else:
                self.usable += status == "ok"
        return self.answered - before

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))

    def in_words(self) -> str:
        """Describe the share of answers with a text, or of mass on options, and the rest."""
        if not self.answered:
            return "no answers yet"
        if self.measured:
            parts = [f"{100 * self.usable / self.measured:.1f} % of the mass agrees or disagrees"]
        else:
            parts = [f"{100 * self.usable / self.answered:.1f} % with a text"]
        others = {"cut off": self.truncated, "refused": self.refused}
        others |= {"invalid": self.invalid, noun(self.errors, "error"): self.errors}
        return ", ".join(parts + [f"{n:,} {name}" for name, n in others.items() if n])


def duration(seconds: float) -> str:
    """Format a duration in seconds, e.g. ``42 s``, ``3 min``, ``2 h 30 min``, ``2 d 7 h``."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    if minutes < 48 * 60:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{minutes // 1440} d {minutes % 1440 // 60} h"


def progress_line(done: int, total: int, rate: float | None, counts: Counts) -> str:
    """Describe the progress of a respondent in one line."""
    share = 100 * done / total if total else 100.0
    parts = [f"{done:,} of {total:,} ({share:.0f} %)"]
    if done < total and rate:
        parts.append(f"{rate:,.3g}/s, {duration((total - done) / rate)} left")
    return f"{', '.join(parts)}; {counts.in_words()}"


class Meter:
    """The progress of one respondent: a bar in a terminal, otherwise a line now and then.

    `done` of the `total` questions were answered before; `stances` are those of the options whose
    mass is read. `show` is whether to show anything: ``"always"`` shows a bar even without a
    terminal, ``"bar"`` no lines without one. `position` is that of the bar among others; `clock`
    returns seconds.
    """

    def __init__(
        self,
        model: str,
        total: int,
        done: int,
        *,
        stances: Sequence[int] = (),
        show: bool | Literal["always", "bar"] = True,
        position: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.counts = Counts()
        self._model, self._total, self._done, self._stances = model, total, done, stances
        self._bar = progress_bar(model, total=total, done=done, progress=show, position=position)
        self._lines = show is True and bool(self._bar.disable)
        self._clock = clock
        self._begun = self._said = clock()

    def add(self, records: Iterable[Mapping[str, Any]]) -> None:
        """Count the records of answers."""
        self._show(self.counts.add(records, self._stances))

    def set(self, counts: Counts) -> None:
        """Show counts made elsewhere of questions that were not answered before."""
        new = counts.answered - self.counts.answered
        self.counts = counts
        self._show(new)

    def _show(self, new: int) -> None:
        self._bar.set_postfix_str(self.counts.in_words(), refresh=False)
        self._bar.update(new)
        if self._lines and self._clock() - self._said >= _BETWEEN_LINES:
            self._say()

    def _say(self) -> None:
        self._said = self._clock()
        passed = self._said - self._begun
        rate = self.counts.answered / passed if passed > 0 else None
        done = self._done + self.counts.answered
        say(f"probe: {self._model}: {progress_line(done, self._total, rate, self.counts)}")

    def __enter__(self) -> "Meter":
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.close()
        if self._lines and self.counts.answered:
            self._say()
