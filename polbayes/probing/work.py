"""The questions for one respondent, and how they are asked."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from polbayes.config.schema import RespondentConfig
from polbayes.data.prose import form, plural
from polbayes.errors import UserError
from polbayes.probing.answer_cache import AnswerCache, open_cache
from polbayes.probing.dispatch import Asking, Before, ask_all, before, header, note
from polbayes.probing.journal import Cell, Journal, Record, cell_of
from polbayes.probing.progress import Meter
from polbayes.respondents import BACKENDS, Question, open_respondent
from polbayes.respondents.questions import PendingQuestions, question_digest

# Number of questions looked up in the cache at a time.
_MOST = 1024


@dataclass(frozen=True)
class Work:
    """The questions for one respondent, answered or not, the settings, and its journal."""

    questions: PendingQuestions
    config: RespondentConfig
    asking: Asking
    path: Path
    settings: Mapping[str, Any]

    def left(self, answered: Mapping[Cell, str]) -> list[int]:
        """Return the positions of the unanswered questions."""
        return [n for n, q in enumerate(self.questions) if _is_new(q, answered, self.path)]

    def cache(self) -> AbstractContextManager[AnswerCache]:
        """Open the cache shared by runs that the config names."""
        assert self.asking.journal.cache is not None
        return open_cache(
            Path(self.asking.journal.cache).expanduser(),
            model=self.questions.model,
            seed=self.asking.seed,
            settings=self.settings,
            sampled=self.asking.lexicon is None,
            by_prompt=BACKENDS[self.config.backend].by_prompt,
        )


@dataclass(frozen=True)
class Put:
    """Questions to ask one by one, what is known of the respondent, and its total usage."""

    questions: Iterator[Question]
    known: Before = field(default_factory=Before)


def note_damage(journal: Journal, known: Before) -> None:
    """Record that a journal has damaged lines, if it has any."""
    if journal.damaged:
        lines = plural(journal.damaged, "damaged line")
        were, they = form(journal.damaged, "was", "were"), form(journal.damaged, "it", "they")
        text = (
            f"{lines} of {journal.path.name} {were} skipped; what {they} answered is asked again."
        )
        note(journal, text, known.notes)


def from_cache(
    work: Work, left: Sequence[int], journal: Journal, stack: ExitStack
) -> Sequence[int]:
    """Answer from the cache shared by runs, if there is one, and add new answers to it.

    Returns the positions of the questions left. When `stack` closes, also before an interruption,
    the new answers are added to the cache.
    """
    if not left or work.asking.journal.cache is None:
        return left
    cache = stack.enter_context(work.cache())
    left = _not_cached(cache, work.questions, left, journal)
    stack.callback(_keep, cache, work.questions, journal)
    return left


def _not_cached(
    cache: AnswerCache, questions: PendingQuestions, left: Sequence[int], journal: Journal
) -> list[int]:
    """Record the cached answers, and return the questions that are left."""
    asked = []
    for start in range(0, len(left), _MOST):
        some = left[start : start + _MOST]
        put = [questions[n] for n in some]
        found = cache.find(put)
        if found:
            journal.extend({**header(put[k]), **found[k], "cached": True} for k in found)
        asked += [n for k, n in enumerate(some) if k not in found]
    return asked


def _keep(cache: AnswerCache, questions: PendingQuestions, journal: Journal) -> None:
    left = before(journal).left_out
    without = {"left_out": left} if left else {}
    new = (record for record in journal.read() if "cell" in record and "cached" not in record)
    cells = ({**record, **without} for record in new)
    pairs = ((questions.of(cell_of(record)), record) for record in cells)
    cache.keep((question, record) for question, record in pairs if question is not None)


def ask_left(
    questions: PendingQuestions,
    put: Put,
    config: RespondentConfig,
    asking: Asking,
    journal: Journal,
    meter: Meter | None = None,
) -> None:
    """Ask a respondent questions, and record the answers in a journal as they arrive.

    `questions` are all of the respondent's, answered or not; those of `put` are asked. Failures are
    held back until the next success shows that the respondent works.
    """
    first = asking.first_answers(questions)
    first.add(journal.read())

    def look(records: Sequence[Record]) -> None:
        if meter is not None:
            meter.add(records)
        first.add(records)

    with ExitStack() as stack:
        respondent = open_respondent(questions.model, config, elicitation=asking.elicitation)
        stack.callback(respondent.close)
        for text in respondent.warnings(asking.lexicon):
            note(journal, text, put.known.notes)
        ask_all(respondent, put.questions, asking, journal, known=put.known, shown=look)


def _is_new(question: Question, answered: Mapping[Cell, str], path: Path) -> bool:
    """Return whether a question is still to be asked."""
    cell = question.cell
    if cell in answered and answered[cell] != question_digest(question):
        raise UserError(
            f"{path}: item '{question.item}', wording '{question.variant}', prefix "
            f"'{question.prefix}' was asked with a different text; "
            "choose another run_dir, or restore the text."
        )
    return cell not in answered
