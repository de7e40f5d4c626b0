"""The questions that are still to be asked, and what came of the others."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, replace

from polbayes.errors import UserError
from polbayes.respondents.base import Answer, Question


@dataclass(frozen=True)
class Asked:
    """A question; `failed_after` is how many had been answered when it failed before, if it did."""

    question: Question
    seed: int
    failed_after: int | None = None


@dataclass(frozen=True)
class Outcome:
    """What came of a question: its answer, or why there is none."""

    asked: Asked
    answer: Answer
    passing: bool = False
    stop: UserError | None = None


class Queue:
    """Questions in their order, and after all others those that are to be asked once more."""

    def __init__(self, questions: Iterable[tuple[Question, int]]) -> None:
        self._new = (Asked(*pair) for pair in questions)
        self._later: deque[Asked] = deque()
        self._first: Asked | None = None

    def first(self) -> Asked | None:
        """Return the question whose turn it is; None where there is none now."""
        if self._first is None:
            self._first = next(self._new, None)
        if self._first is None and self._later:
            self._first = self._later.popleft()
        return self._first

    def take(self) -> None:
        """Take the first question out."""
        self._first = None

    def put_back(self, asked: Asked, answered: int) -> bool:
        """Have a question asked once more, and return whether it is."""
        if asked.failed_after is None:
            self._later.append(replace(asked, failed_after=answered))
        return asked.failed_after is None
