"""Probing: every pending cell of a design is put to its respondent and written down."""

import logging
import sys
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from polbayes.answer_cache import AnswerCache, open_cache
from polbayes.config import ElicitationConfig, JournalConfig, RespondentConfig
from polbayes.consolidate import filled
from polbayes.dataset import STATUS
from polbayes.design import ModelInfo
from polbayes.errors import UserError, unknown
from polbayes.journal import Cell, Journal, Record, adopt, cell_of, journal_path, read
from polbayes.prompts import Lexicon, Prefix, Template, render
from polbayes.respondents import (
    BACKENDS,
    Answer,
    Completion,
    ConcurrentRespondent,
    Question,
    Respondent,
    answer_settings,
    check,
    check_ready,
    describe,
    open_respondent,
    setting_defaults,
)
from polbayes.respondents.questions import PendingQuestions, cell_seed, prompt_digest
from polbayes.respondents.usage import Usage

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import NDArray
    from tqdm import tqdm

_log = logging.getLogger("polbayes")

# After so many failures in a row it is the respondent that fails, not the question.
_GIVE_UP = 100

# Questions that a respondent is handed at once: enough that their prompts share what they begin
# with, and so few that no more than about a minute's answers are yet to be written down.
_FIRST, _MOST, _SECONDS = 64, 1024, 20.0


@dataclass(frozen=True)
class _Asking:
    """How all cells are asked."""

    elicitation: ElicitationConfig
    lexicon: Lexicon | None
    seed: int
    journal: JournalConfig


@dataclass
class _Before:
    """What a journal says when it is opened: the prompts of answered cells, and the rest in sum."""

    answered: dict[Cell, str]
    works: bool
    spent: Usage
    notes: set[str]


def model_info(name: str, config: RespondentConfig, template: Template) -> ModelInfo:
    """Return what the design says about a respondent; its weights are not loaded.

    Raises
    ------
    UserError
        If the respondent cannot be used with this template.
    """
    return describe(name, config, template)


def probe(
    design: "xr.Dataset",
    respondents: Mapping[str, RespondentConfig],
    *,
    elicitation: ElicitationConfig,
    lexicon: Lexicon | None,
    prefixes: Sequence[Prefix],
    seed: int,
    journal_dir: Path,
    answers_from: Path | None = None,
    journal: JournalConfig | None = None,
    progress: bool | Literal["always"] = True,
) -> "xr.Dataset":
    """Ask every pending cell that the journals do not have yet, and fill the design.

    See `ask` for the parameters, errors and notes.

    Returns
    -------
    xarray.Dataset
        The design with `status`, `completion` and, for open answers, `truncated`, else
        `option_prob` (and an ``option`` dimension with ``option_stance``), `p_agree` and
        `p_disagree`. `message` is there if a cell has status error. The attribute ``notes``
        holds what a reader must know about the answers, a line each.
        `declined` is there if a server refused to answer, `mass_unseen` if one lists only the
        likeliest tokens.
    """
    paths = ask(
        design,
        respondents,
        elicitation=elicitation,
        lexicon=lexicon,
        prefixes=prefixes,
        seed=seed,
        journal_dir=journal_dir,
        answers_from=answers_from,
        journal=journal,
        progress=progress,
    )
    return filled(design, paths, None if elicitation.kind == "open_ended" else lexicon)


def ask(
    design: "xr.Dataset",
    respondents: Mapping[str, RespondentConfig],
    *,
    elicitation: ElicitationConfig,
    lexicon: Lexicon | None,
    prefixes: Sequence[Prefix],
    seed: int,
    journal_dir: Path,
    answers_from: Path | None = None,
    journal: JournalConfig | None = None,
    progress: bool | Literal["always"] = True,
) -> dict[str, Path]:
    """Ask every pending cell that the journals do not have yet, and write the answers down.

    Parameters
    ----------
    design
        See `polbayes.design.design`.
    respondents
        By name; every model of the design must be among them.
    elicitation, lexicon
        How answers are read, and the options whose probability is (None for open answers).
    prefixes
        Those of the design, for the kind of answer each asks for.
    seed
        Of the run; with a cell's labels it fixes the cell's answer.
    journal_dir
        Where the journals are, one per model.
    answers_from
        The journals of another run; a model that has none yet begins with its journal there, so
        that only what is not answered there is asked.
    journal
        How soon answers are on the disk, and a cache that other runs share; None for the defaults.
    progress
        Whether to show a bar per model on the standard error if that is a terminal;
        ``"always"`` shows it anyway.

    Returns
    -------
    dict
        The journals by model, from which `polbayes.consolidate` makes a response dataset.

    Raises
    ------
    UserError
        If a respondent cannot be had or asked, or a journal cannot be used.
    KeyboardInterrupt
        When interrupted; what was answered is in the journals.

    Notes
    -----
    A respondent that is asked many questions at a time has its answers written down one by one.
    A batch that a respondent fails to answer is asked again in halves, down to one cell, whose
    failure is its answer: status error, with the message, and not asked again. A respondent
    that does nothing but fail is an error, and nothing of it is kept.
    """
    names = [str(name) for name in design["model"].values]
    for name in names:
        if name not in respondents:
            raise unknown("respondent", name, respondents, where="models")
        check(name, respondents[name], elicitation)
    if elicitation.kind == "open_ended":
        lexicon = None
    elif lexicon is None:
        raise UserError(f"elicitation.lexicon: {elicitation.kind} needs one; name a lexicon.")
    asking = _Asking(elicitation, lexicon, seed, journal or JournalConfig())
    answers = {prefix.prefix: prefix.answer for prefix in prefixes}
    paths = {name: journal_path(journal_dir, name) for name in names}
    for name, path in paths.items():
        try:
            check_ready(name, respondents[name])
        except UserError:
            kept = (
                path if path.exists() or answers_from is None else journal_path(answers_from, name)
            )
            if _is_left(design, name, kept):
                raise
    for name, path in paths.items():
        questions = PendingQuestions(design, name, answers)
        if questions:
            settings = _settings(questions, respondents[name], asking)
            if answers_from is not None:
                source = journal_path(answers_from, name)
                adopt(source, path, settings, defaults=setting_defaults())
            _ask_model(questions, respondents[name], asking, (path, settings), progress=progress)
    return paths


def _is_left(design: "xr.Dataset", model: str, path: Path) -> bool:
    """Return whether a journal has fewer answers than there are pending cells."""
    pending = int((design["status"].sel(model=model) == STATUS["pending"]).sum())
    return sum("cell" in record for record in read(path)) < pending


def _ask_model(
    questions: PendingQuestions,
    config: RespondentConfig,
    asking: _Asking,
    kept: tuple[Path, Mapping[str, Any]],
    *,
    progress: bool | str,
) -> None:
    path, settings = kept
    how: dict[str, Any] = {
        "sync_seconds": asking.journal.sync_seconds,
        "defaults": setting_defaults(),
    }
    with Journal(path, settings, **how) as journal, ExitStack() as stack:
        before = _before(journal)
        if journal.damaged:
            text = (
                f"{journal.damaged} damaged lines of {path.name} were skipped; what they answered "
                "is asked again."
            )
            _note(journal, before, text)
        answered = before.answered
        left = [n for n, question in enumerate(questions) if _is_new(question, answered, path)]
        if left and asking.journal.cache is not None:
            cache = stack.enter_context(_cache(questions, config, asking, settings))
            left = _not_cached(cache, questions, left, journal)
            # Also what was answered before an interruption.
            stack.callback(_keep, cache, questions, journal)
        if not left:
            return
        respondent = open_respondent(questions.model, config, elicitation=asking.elicitation)
        stack.callback(respondent.close)
        for text in respondent.warnings(asking.lexicon):
            _note(journal, before, text)
        bar = stack.enter_context(_bar(questions, len(questions) - len(left), progress))
        _ask_all(respondent, (questions, left), asking, (journal, before), bar)


def _before(journal: Journal) -> _Before:
    before = _Before({}, False, Usage(), set())
    for record in journal.read():
        if "cell" in record:
            before.answered[cell_of(record)] = str(record["prompt"])
            before.works = before.works or record["status"] != "error"
        if "note" in record:
            before.notes.add(record["note"])
        if "tokens" in record:
            before.spent += Usage(*record["tokens"])
    return before


def _cache(
    questions: PendingQuestions,
    config: RespondentConfig,
    asking: _Asking,
    settings: Mapping[str, Any],
) -> AbstractContextManager[AnswerCache]:
    assert asking.journal.cache is not None
    return open_cache(
        Path(asking.journal.cache).expanduser(),
        model=questions.model,
        seed=asking.seed,
        settings=settings,
        sampled=asking.lexicon is None,
        by_prompt=BACKENDS[config.backend].by_prompt,
    )


def _not_cached(
    cache: AnswerCache, questions: PendingQuestions, left: Sequence[int], journal: Journal
) -> list[int]:
    """Write down the answers that the cache has, and return which questions are left."""
    asked = []
    for start in range(0, len(left), _MOST):
        some = left[start : start + _MOST]
        put = [questions[n] for n in some]
        found = cache.find(put)
        if found:
            journal.extend({**_header(put[k]), **found[k], "cached": True} for k in found)
        asked += [n for k, n in enumerate(some) if k not in found]
    return asked


def _keep(cache: AnswerCache, questions: PendingQuestions, journal: Journal) -> None:
    cells = (record for record in journal.read() if "cell" in record and "cached" not in record)
    pairs = ((questions.of(cell_of(record)), record) for record in cells)
    cache.keep((question, record) for question, record in pairs if question is not None)


def _bar(questions: PendingQuestions, done: int, progress: bool | str) -> "tqdm[Any]":
    from tqdm import tqdm

    # None leaves it to tqdm, which is silent where there is no terminal.
    hide = {"True": None, "False": True, "always": False}[str(progress)]
    return tqdm(
        total=len(questions),
        initial=done,
        desc=questions.model,
        unit="question",
        file=sys.stderr,
        disable=hide,
        dynamic_ncols=True,
    )


def _ask_all(
    respondent: Respondent,
    which: tuple[PendingQuestions, Sequence[int]],
    asking: _Asking,
    kept: tuple[Journal, _Before],
    bar: "tqdm[Any]",
) -> None:
    """Ask the questions at the given places and write the answers down as they come.

    Failures are held back until the next success shows that the respondent works.
    """
    (questions, left), (journal, before) = which, kept
    works = before.works
    failed: list[Record] = []
    put = (questions[n] for n in left)
    if isinstance(respondent, ConcurrentRespondent):
        found = _one_by_one(respondent, put, asking, spent=before.spent)
    else:
        found = _by_batches(respondent, put, asking)
    with closing(found):
        for records in found:
            bar.update(sum("cell" in record for record in records))
            if "note" in records[0]:
                _note(journal, before, records[0]["note"])
            elif "cell" not in records[0]:
                journal.extend(records)
            elif records[0]["status"] == "error":
                failed += records
                if len(failed) >= _GIVE_UP:
                    raise _fails(respondent, failed)
            else:
                works = True
                journal.extend(failed + records)
                failed = []
    if failed and not works:
        raise _fails(respondent, failed)
    if failed:
        journal.extend(failed)


def _by_batches(
    respondent: Respondent, questions: Iterator[Question], asking: _Asking
) -> Generator[list[Record]]:
    size = asking.elicitation.batch_size or _FIRST
    while batch := list(islice(questions, size)):
        begun = time.monotonic()
        yield from _ask(respondent, batch, asking)
        size = _next_size(size, time.monotonic() - begun)


def _one_by_one(
    respondent: ConcurrentRespondent,
    questions: Iterator[Question],
    asking: _Asking,
    *,
    spent: Usage,
) -> Generator[list[Record]]:
    """Yield the record of each answer as it comes, and of what was used without an answer."""
    model = respondent.info.model
    put = ((question, cell_seed(asking.seed, model, question)) for question in questions)
    with closing(respondent.answers(put, asking.lexicon, spent=spent)) as answers:
        for answer in answers:
            took = answer.usage.record()
            if answer.note:
                yield [{"note": answer.note}]
            if answer.question is None or answer.error:
                # A failure may be held back, and dropped to be asked again; what it took is not.
                if took:
                    yield [dict(took)]
                if answer.question is not None:
                    yield [_failure(model, answer.question, answer.error)]
            else:
                yield [{**_header(answer.question), **_outcome(answer), **took}]


def _outcome(answer: Answer) -> Record:
    if answer.completion is not None:
        return _open_outcome(answer.completion)
    assert answer.mass is not None
    return {**_mass_outcome(np.array(answer.mass)), "unseen": float(f"{answer.unseen:.9g}")}


def _next_size(size: int, seconds: float) -> int:
    """Return how many questions to hand out after `size` of them took so long."""
    if seconds < _SECONDS / 2:
        return min(2 * size, max(size, _MOST))
    return max(1, size // 2) if seconds > 2 * _SECONDS else size


def _fails(respondent: Respondent, failed: Sequence[Record]) -> UserError:
    return UserError(
        f"respondents.{respondent.info.model}: could not answer any of the last {len(failed)} "
        f"questions ({failed[-1]['message']}); what was answered before is kept."
    )


def _is_new(question: Question, answered: Mapping[Cell, str], path: Path) -> bool:
    """Return whether a question is still to be asked.

    Raises
    ------
    UserError
        If it was answered, but put in other words.
    """
    cell = (question.item, question.variant, question.prefix, question.run)
    if cell in answered and answered[cell] != prompt_digest(question.prompt):
        raise UserError(
            f"{path}: item '{question.item}', wording '{question.variant}', prefix "
            f"'{question.prefix}' was asked with another text than it has now; "
            "choose another run_dir, or restore the text."
        )
    return cell not in answered


def _note(journal: Journal, before: _Before, text: str) -> None:
    if text not in before.notes:
        before.notes.add(text)
        _log.warning("%s", text)
        journal.extend([{"note": text}])


def _settings(
    questions: PendingQuestions, config: RespondentConfig, asking: _Asking
) -> dict[str, Any]:
    lexicon = asking.lexicon
    return {
        "model": questions.model,
        "seed": asking.seed,
        "template": questions.template,
        "chat template used": questions.chat,
        "options": list(lexicon.options) if lexicon else None,
        **answer_settings(config, asking.elicitation),
    }


def _ask(
    respondent: Respondent, batch: Sequence[Question], asking: _Asking
) -> Iterator[list[Record]]:
    """Yield the records of a batch, in halves where it cannot be answered as a whole."""
    try:
        records = _answers(respondent, batch, asking)
    except UserError:
        raise
    except Exception as error:
        # Whatever a model or its library raises must cost no more than the cells it is about.
        message = f"{type(error).__name__}: {error}".splitlines()[0][:500]
        records = []
    # Outside of the handler: the traceback no longer keeps the failed batch in memory.
    if records:
        yield records
    elif len(batch) > 1:
        half = (len(batch) + 1) // 2
        yield from _ask(respondent, batch[:half], asking)
        yield from _ask(respondent, batch[half:], asking)
    else:
        yield [_failure(respondent.info.model, batch[0], message)]


def _failure(model: str, question: Question, message: str) -> Record:
    cell = f"item '{question.item}', wording '{question.variant}', prefix '{question.prefix}'"
    _log.warning("%s could not answer %s: %s", model, cell, message)
    return {**_header(question), "status": "error", "message": message}


def _answers(respondent: Respondent, batch: Sequence[Question], asking: _Asking) -> list[Record]:
    if asking.lexicon is None:
        seeds = [cell_seed(asking.seed, respondent.info.model, question) for question in batch]
        completions = respondent.complete(batch, seeds)
        return [{**_header(q), **_open_outcome(c)} for q, c in zip(batch, completions, strict=True)]
    mass = respondent.option_mass(batch, asking.lexicon)
    if np.isnan(mass).all(axis=1).any():
        raise ValueError("the model gave probabilities that are not numbers")
    return [{**_header(q), **_mass_outcome(row)} for q, row in zip(batch, mass, strict=True)]


def _open_outcome(completion: Completion) -> Record:
    return {
        "status": completion.status,
        "text": completion.text,
        "truncated": completion.truncated,
    }


def _mass_outcome(mass: "NDArray[np.float64]") -> Record:
    # Nine digits are what it takes to write a 32-bit float down.
    return {"status": "ok", "mass": [None if np.isnan(x) else float(f"{x:.9g}") for x in mass]}


def _header(question: Question) -> Record:
    cell = [question.item, question.variant, question.prefix, question.run]
    return {"cell": cell, "prompt": prompt_digest(question.prompt)}


def rendered_prompt(data: "xr.Dataset", model: str, item: str, variant: str, prefix: str) -> str:
    """Put a prompt together from a response dataset alone.

    Parameters
    ----------
    data
        A design or response dataset.
    model, item, variant, prefix
        Labels of the cell.

    Returns
    -------
    str
        The prompt; for a model with ``chat`` set, the user's turn.

    Raises
    ------
    UserError
        If a label is not in the dataset, or the item has no such wording.
    """
    labels = {"model": model, "item": item, "variant": variant, "prefix": prefix}
    for dim, label in labels.items():
        if label not in data[dim].values:
            raise unknown(dim, label, map(str, data[dim].values))
    statement = str(data["statement"].sel(item=item, variant=variant).item())
    if not statement:
        raise UserError(f"item '{item}' has no wording '{variant}'.")
    return render(
        str(data["template"].sel(model=model).item()),
        prefix=str(data["prefix_text"].sel(prefix=prefix).item()),
        statement=statement,
        model_name=model,
    )
