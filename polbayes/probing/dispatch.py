"""Putting questions to a respondent, and recording what comes back as it arrives."""

import logging
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polbayes.config.schema import ElicitationConfig, JournalConfig
from polbayes.errors import NothingWorksError, UserError
from polbayes.instrument.prompts import Lexicon
from polbayes.probing.first_answers import FirstAnswers, Screening
from polbayes.probing.journal import Cell, Journal, Record, cell_of
from polbayes.respondents import (
    Answer,
    Batch,
    Completion,
    ConcurrentRespondent,
    Question,
    Respondent,
    TooLongError,
    setting_defaults,
)
from polbayes.respondents.questions import PendingQuestions, cell_seed, question_digest
from polbayes.respondents.usage import Usage

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tqdm import tqdm

_log = logging.getLogger("polbayes")

# Marks a failure that concerns one question only: it is too long.
TOO_LONG = "too_long"

# After this many failures in a row the respondent is at fault, not the question.
_GIVE_UP = 100

# Questions that a respondent is handed at once: enough that their prompts share what they begin
# with, and so few that no more than about a minute's answers are yet to be written down.
_FIRST, _MOST, _SECONDS = 64, 1024, 20.0


@dataclass(frozen=True)
class Asking:
    """Settings shared by all questions."""

    # How answers are read, and the options whose mass is read (None for open answers).
    elicitation: ElicitationConfig
    lexicon: Lexicon | None
    seed: int  # of the run
    journal: JournalConfig = field(default_factory=JournalConfig)  # how answers are written down
    screening: Screening | None = None  # when to stop because no answer can be used; None for never

    @property
    def stances(self) -> tuple[int, ...]:
        """Stances of the options whose mass is read."""
        return self.lexicon.stance if self.lexicon else ()

    def first_answers(self, questions: PendingQuestions) -> FirstAnswers:
        """Return the screening of the first answers to questions."""
        options = self.lexicon.options if self.lexicon else ()
        return FirstAnswers(self.screening, questions.model, questions.of, options)

    def open_journal(self, path: Path, settings: Mapping[str, Any]) -> Journal:
        """Open a journal for writing; see `Journal` for errors."""
        return Journal(
            path,
            settings,
            sync_seconds=self.journal.sync_seconds,
            defaults=setting_defaults(settings),
        )


@dataclass
class Before:
    """Contents of a journal when it is opened.

    `answered` holds digests of the questions by cell, `works` whether the respondent has answered
    anything, `spent` its usage, `notes` the remarks about all answers, and `left_out` the fields
    that requests must omit (`Answer.left_out`), and `batches` those to be fetched, by name.
    """

    answered: dict[Cell, str] = field(default_factory=dict)
    works: bool = False
    spent: Usage = field(default_factory=Usage)
    notes: set[str] = field(default_factory=set)
    left_out: dict[str, str] = field(default_factory=dict)
    batches: dict[str, Batch] = field(default_factory=dict)


def before(journal: Journal) -> Before:
    """Summarise a journal without keeping its answers in memory."""
    found = Before()
    for record in journal.read():
        if "cell" in record:
            found.answered[cell_of(record)] = str(record["prompt"])
            found.works = found.works or record["status"] != "error"
        if "note" in record:
            found.notes.add(record["note"])
        found.left_out |= record.get("left_out", {})
        if "batch" in record:
            batch = Batch.of(record)
            found.batches[batch.name] = batch
        if "tokens" in record:
            found.spent += Usage(*record["tokens"])
    found.batches = {name: batch for name, batch in found.batches.items() if not batch.over}
    return found


def moves(bar: "tqdm[Any]") -> Callable[[Sequence[Record]], object]:
    """Return a function that advances a bar by the answers among its records."""
    return lambda records: bar.update(sum("cell" in record for record in records))


def ask_all(
    respondent: Respondent,
    questions: Iterable[Question],
    asking: Asking,
    journal: Journal,
    *,
    known: Before | None = None,
    shown: Callable[[Sequence[Record]], object] = len,
) -> None:
    """Ask questions and record the answers as they arrive; refuse a respondent that only fails.

    Failures are held back until the next success shows that the respondent works. Questions that
    are too long do not count as failures of a working respondent. `shown` is called with new
    records after those that are not failures have been written.
    """
    known = before(journal) if known is None else known
    works = known.works
    failed: list[Record] = []
    if isinstance(respondent, ConcurrentRespondent):
        found = _one_by_one(respondent, iter(questions), asking, known)
    else:
        found = _by_batches(respondent, iter(questions), asking)
    with closing(found):
        for records in found:
            if "note" in records[0]:
                note(journal, records[0]["note"], known.notes, **records[0])
            elif "cell" not in records[0]:
                journal.extend(records)
            elif records[0]["status"] == "error" and not (works and TOO_LONG in records[0]):
                failed += records
                if len(failed) >= _GIVE_UP:
                    raise _fails(respondent, failed)
            else:
                works = True
                journal.extend(failed + records)
                failed = []
            shown(records)
    if failed and not works:
        raise _fails(respondent, failed)
    if failed:
        journal.extend(failed)


def _by_batches(
    respondent: Respondent, questions: Iterator[Question], asking: Asking
) -> Generator[list[Record]]:
    size = asking.elicitation.batch_size or _FIRST
    while batch := list(islice(questions, size)):
        begun = time.monotonic()
        yield from _ask(respondent, batch, asking)
        size = next_size(size, time.monotonic() - begun)


def _one_by_one(
    respondent: ConcurrentRespondent, questions: Iterator[Question], asking: Asking, known: Before
) -> Generator[list[Record]]:
    """Yield the record of each answer as it arrives, and of usage without an answer."""
    model = respondent.info.model
    put = ((question, cell_seed(asking.seed, model, question)) for question in questions)
    more: dict[str, Any] = {"left_out": known.left_out} if known.left_out else {}
    if known.batches:
        more["batches"] = list(known.batches.values())
    with closing(respondent.answers(put, asking.lexicon, spent=known.spent, **more)) as answers:
        for answer in answers:
            took = answer.usage.record()
            if answer.batch:
                yield [answer.batch.record()]
            if answer.note:
                left = {"left_out": dict(answer.left_out)} if answer.left_out else {}
                yield [{"note": answer.note, **left}]
            if answer.question is None or answer.error:
                # A failure may be held back and asked again; its usage is recorded at once.
                if took:
                    yield [dict(took)]
                if answer.question is not None:
                    yield [_failure(model, answer.question, answer.error, answer.too_long)]
            else:
                yield [{**header(answer.question), **_outcome(answer), **took}]


def _outcome(answer: Answer) -> Record:
    if answer.completion is not None:
        return _open_outcome(answer.completion)
    assert answer.mass is not None
    return {**_mass_outcome(np.array(answer.mass)), "unseen": float(f"{answer.unseen:.9g}")}


def next_size(size: int, seconds: float) -> int:
    """Return the size of the next batch, given how long a batch of `size` took."""
    if seconds < _SECONDS / 2:
        return min(2 * size, max(size, _MOST))
    return max(1, size // 2) if seconds > 2 * _SECONDS else size


def _fails(respondent: Respondent, failed: Sequence[Record]) -> UserError:
    return NothingWorksError(
        f"respondents.{respondent.info.model}: could not answer any of the last {len(failed)} "
        f"questions ({failed[-1]['message']}); what was answered before is kept."
    )


def note(journal: Journal, text: str, notes: set[str] | None = None, **more: Any) -> None:
    """Record and print a remark about all answers, once.

    It is added to `notes`, the remarks made so far; None stands for those in the journal. `more` is
    recorded with it.
    """
    notes = before(journal).notes if notes is None else notes
    if text not in notes:
        notes.add(text)
        _log.warning("%s", text)
        journal.extend([{**more, "note": text}])


def _ask(
    respondent: Respondent, batch: Sequence[Question], asking: Asking
) -> Iterator[list[Record]]:
    """Yield the records of a batch; halve it if it cannot be answered as a whole."""
    try:
        records = _answers(respondent, batch, asking)
    except UserError:
        raise
    except Exception as error:
        # Errors of a model or its library must cost only the cells concerned.
        message = f"{type(error).__name__}: {error}".splitlines()[0][:500]
        records, too_long = [], isinstance(error, TooLongError)
    # Outside the handler, so that the traceback no longer keeps the failed batch in memory.
    if records:
        yield records
    elif len(batch) > 1:
        half = (len(batch) + 1) // 2
        yield from _ask(respondent, batch[:half], asking)
        yield from _ask(respondent, batch[half:], asking)
    else:
        yield [_failure(respondent.info.model, batch[0], message, too_long)]


def _failure(model: str, question: Question, message: str, too_long: bool) -> Record:
    cell = f"item '{question.item}', wording '{question.variant}', prefix '{question.prefix}'"
    _log.warning("%s could not answer %s: %s", model, cell, message)
    marked = {TOO_LONG: True} if too_long else {}
    return {**header(question), "status": "error", "message": message, **marked}


def _answers(respondent: Respondent, batch: Sequence[Question], asking: Asking) -> list[Record]:
    if asking.lexicon is None:
        seeds = [cell_seed(asking.seed, respondent.info.model, question) for question in batch]
        completions = respondent.complete(batch, seeds)
        return [{**header(q), **_open_outcome(c)} for q, c in zip(batch, completions, strict=True)]
    mass = respondent.option_mass(batch, asking.lexicon)
    if np.isnan(mass).all(axis=1).any():
        raise ValueError("the model gave probabilities that are not numbers")
    return [{**header(q), **_mass_outcome(row)} for q, row in zip(batch, mass, strict=True)]


def _open_outcome(completion: Completion) -> Record:
    thought = {
        "reasoning": completion.reasoning,
        "reasoning_tokens": completion.reasoning_tokens,
        "unopened": completion.unopened,
    }
    return {
        "status": completion.status,
        "text": completion.text,
        "truncated": completion.truncated,
        **{key: value for key, value in thought.items() if value},
    }


def _mass_outcome(mass: "NDArray[np.float64]") -> Record:
    # Nine digits identify a 32-bit float.
    return {"status": "ok", "mass": [None if np.isnan(x) else float(f"{x:.9g}") for x in mass]}


def header(question: Question) -> Record:
    """Return the fields of a record that identify its question."""
    return {"cell": list(question.cell), "prompt": question_digest(question)}
