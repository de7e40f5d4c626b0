"""Probing: every pending cell of a design is put to its respondent and written down."""

import logging
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from polbayes.config import ElicitationConfig, LauncherConfig, RespondentConfig
from polbayes.dataset import CELL_DIMS, STATUS, flag_attributes
from polbayes.design import ModelInfo
from polbayes.errors import NothingWorksError, UserError, unknown
from polbayes.journal import Cell, Journal, Record, adopt, cell_of, journal_path, read
from polbayes.progress import Meter
from polbayes.prompts import Lexicon, Prefix, Template, render
from polbayes.respondents import (
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
)
from polbayes.respondents.questions import PendingQuestions, cell_seed, prompt_digest
from polbayes.respondents.usage import Usage, used

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import NDArray

_log = logging.getLogger("polbayes")

# After so many failures in a row it is the respondent that fails, not the question.
_GIVE_UP = 100

# Questions that a respondent is handed at once: enough that their prompts share what they begin
# with, and so few that no more than about a minute's answers are yet to be written down.
_FIRST, _MOST, _SECONDS = 64, 1024, 20.0


@dataclass(frozen=True)
class Asking:
    """How all cells are asked."""

    elicitation: ElicitationConfig
    lexicon: Lexicon | None
    seed: int

    @property
    def stances(self) -> tuple[int, ...]:
        """Of the options whose mass is read."""
        return self.lexicon.stance if self.lexicon else ()


@dataclass(frozen=True)
class Work:
    """What one respondent is to be asked.

    Parameters
    ----------
    questions
        All of its questions, answered or not.
    config
        The respondent.
    asking
        How it is asked.
    path, settings
        Of its journal.
    """

    questions: PendingQuestions
    config: RespondentConfig
    asking: Asking
    path: Path
    settings: Mapping[str, Any]

    def left(self, journal: Journal) -> list[int]:
        """Return the places of the questions that the journal has no answer to.

        Raises
        ------
        UserError
            If one was answered, but put in other words.
        """
        answered = {cell_of(r): str(r["prompt"]) for r in journal.records if "cell" in r}
        return [n for n, q in enumerate(self.questions) if _is_new(q, answered, self.path)]


@dataclass(frozen=True)
class Put:
    """Questions that are put, and what is known beside them.

    Parameters
    ----------
    questions
        Taken one by one.
    works
        Whether the respondent is known to answer.
    spent
        What it used before, of what may be used in all, beside what its journal says.
    """

    questions: Iterator[Question]
    works: bool = False
    spent: Usage = field(default_factory=Usage)


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
    launcher: LauncherConfig | None = None,
    progress: bool | Literal["always"] = True,
) -> "xr.Dataset":
    """Ask every pending cell that the journals do not have yet, and fill the design.

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
    launcher
        Where respondents are asked; None for this process.
    progress
        Whether to show a bar per model on the standard error, or a line now and then if that is no
        terminal; ``"always"`` shows the bar anyway.

    Returns
    -------
    xarray.Dataset
        The design with `status`, `completion` and, for open answers, `truncated`, else
        `option_prob` (and an ``option`` dimension with ``option_stance``), `p_agree` and
        `p_disagree`. `message` is there if a cell has status error. The attribute ``notes``
        holds what a reader must know about the answers, a line each.
        `declined` is there if a server refused to answer, `mass_unseen` if one lists only the
        likeliest tokens.

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
    asking = Asking(elicitation, lexicon, seed)
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
    works = _works(design, respondents, asking, paths, (answers, answers_from))
    if launcher is None or launcher.kind == "local":
        for work in works:
            _ask_model(work, progress=progress)
    else:
        from polbayes.launch.driver import ask_elsewhere

        ask_elsewhere(list(works), launcher, progress=progress)
    return _filled(design, paths, lexicon)


def _is_left(design: "xr.Dataset", model: str, path: Path) -> bool:
    """Return whether a journal has fewer answers than there are pending cells."""
    pending = int((design["status"].sel(model=model) == STATUS["pending"]).sum())
    return sum("cell" in record for record in read(path)) < pending


def _works(
    design: "xr.Dataset",
    respondents: Mapping[str, RespondentConfig],
    asking: Asking,
    paths: Mapping[str, Path],
    given: tuple[Mapping[str, str], Path | None],
) -> Iterator[Work]:
    """Yield what each model is asked, with the kinds of answers and the journals of before."""
    answers, answers_from = given
    for name, path in paths.items():
        questions = PendingQuestions(design, name, answers)
        if questions:
            settings = _settings(questions, respondents[name], asking)
            if answers_from is not None:
                adopt(journal_path(answers_from, name), path, settings)
            yield Work(questions, respondents[name], asking, path, settings)


def _ask_model(work: Work, *, progress: bool | Literal["always"]) -> None:
    from polbayes.launch.merge import absorb

    absorb(work.path, work.settings)
    questions, asking = work.questions, work.asking
    with Journal(work.path, work.settings) as journal:
        if journal.damaged:
            lines = f"{journal.damaged} damaged lines of {work.path.name}"
            note(journal, f"{lines} were skipped and asked again.")
        left = work.left(journal)
        if not left:
            return
        total = len(questions)
        done = total - len(left)
        with Meter(questions.model, total, done, stances=asking.stances, show=progress) as meter:
            put = Put(questions[n] for n in left)
            ask_left(questions.model, put, work.config, asking, journal, meter)


def ask_left(
    model: str,
    put: Put,
    config: RespondentConfig,
    asking: Asking,
    journal: Journal,
    meter: Meter | None = None,
) -> None:
    """Ask a respondent questions, and write the answers into a journal as they come.

    Failures are held back until the next success shows that the respondent works.

    Parameters
    ----------
    model, config
        The respondent.
    put
        The questions.
    asking
        How they are asked.
    journal
        Open for writing.
    meter
        Where to show the progress.

    Raises
    ------
    UserError
        If the respondent cannot be had or asked, or does nothing but fail.
    """
    with ExitStack() as stack:
        respondent = open_respondent(model, config, elicitation=asking.elicitation)
        stack.callback(respondent.close)
        for text in respondent.warnings(asking.lexicon):
            note(journal, text)
        works = put.works or any(r.get("status", "error") != "error" for r in journal.records)
        failed: list[Record] = []
        if isinstance(respondent, ConcurrentRespondent):
            spent = put.spent + used(journal.records)
            found = _one_by_one(respondent, put.questions, asking, spent=spent)
        else:
            found = _by_batches(respondent, put.questions, asking)
        for records in stack.enter_context(closing(found)):
            if meter:
                meter.add(records)
            if "note" in records[0]:
                note(journal, records[0]["note"])
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
    respondent: Respondent, questions: Iterator[Question], asking: Asking
) -> Generator[list[Record]]:
    size = asking.elicitation.batch_size or _FIRST
    while batch := list(islice(questions, size)):
        begun = time.monotonic()
        yield from _ask(respondent, batch, asking)
        size = _next_size(size, time.monotonic() - begun)


def _one_by_one(
    respondent: ConcurrentRespondent,
    questions: Iterator[Question],
    asking: Asking,
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
    return NothingWorksError(
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
    cell = question.cell
    if cell in answered and answered[cell] != prompt_digest(question.prompt):
        raise UserError(
            f"{path}: item '{question.item}', wording '{question.variant}', prefix "
            f"'{question.prefix}' was asked with another text than it has now; "
            "choose another run_dir, or restore the text."
        )
    return cell not in answered


def note(journal: Journal, text: str) -> None:
    """Write a remark about all answers into a journal, and say it, once."""
    if not any(record.get("note") == text for record in journal.records):
        _log.warning("%s", text)
        journal.extend([{"note": text}])


def _settings(
    questions: PendingQuestions, config: RespondentConfig, asking: Asking
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
    respondent: Respondent, batch: Sequence[Question], asking: Asking
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


def _answers(respondent: Respondent, batch: Sequence[Question], asking: Asking) -> list[Record]:
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
    return {"cell": list(question.cell), "prompt": prompt_digest(question.prompt)}


def _filled(
    design: "xr.Dataset", journals: Mapping[str, Path], lexicon: Lexicon | None
) -> "xr.Dataset":
    """Return the design with what the journals hold in its cells."""
    status = design["status"].transpose(*CELL_DIMS).values.copy()
    options = len(lexicon.options) if lexicon else 0
    text, message = np.full((2, *status.shape), "", dtype=object)
    truncated, declined = np.zeros((2, *status.shape), dtype=np.int8)
    unseen = np.full(status.shape, np.nan, dtype=np.float32)
    mass = np.full((*status.shape, options), np.nan, dtype=np.float32)
    notes = [r["note"] for path in journals.values() for r in read(path) if "note" in r]
    for at, record in _placed(design, journals):
        status[at] = STATUS[record["status"]]
        text[at] = record.get("text", "")
        message[at] = record.get("message", "")
        truncated[at] = record.get("truncated", False)
        declined[at] = record["status"] == "refused"
        unseen[at] = record.get("unseen", np.nan)
        if "mass" in record:
            mass[at] = np.array(record["mass"], dtype=float)
    data = design.copy()
    data["status"] = (CELL_DIMS, status, flag_attributes("status"))
    data["completion"] = (CELL_DIMS, text, {"long_name": "answer as received"})
    if (message != "").any():
        why = {"long_name": "why the cell could not be answered"}
        data["message"] = (CELL_DIMS, message, why)
    if declined.any():
        what = {"long_name": "1 where the server says that the answer was refused or filtered"}
        data["declined"] = (CELL_DIMS, declined, what)
    if not np.isnan(unseen).all():
        bound = {
            "long_name": "mass of tokens that were not listed, some of it options'",
            "units": "1",
        }
        data["mass_unseen"] = (CELL_DIMS, unseen, bound)
    if lexicon is None:
        what = {"long_name": "1 where the answer was cut off at max_new_tokens"}
        data["truncated"] = (CELL_DIMS, truncated, what)
    else:
        data = with_masses(data, mass, lexicon)
    data.attrs["notes"] = "\n".join(dict.fromkeys(notes))
    return data


def _placed(
    design: "xr.Dataset", journals: Mapping[str, Path]
) -> Iterator[tuple[tuple[int, ...], Record]]:
    """Yield the answers to pending cells of the design, each with its place.

    A journal may know more than this design asks.
    """
    places = [{x: k for k, x in enumerate(design[dim].values.tolist())} for dim in CELL_DIMS]
    pending = design["status"].transpose(*CELL_DIMS).values == STATUS["pending"]
    for name, path in journals.items():
        for record in read(path):
            labels = (name, *cell_of(record)) if "cell" in record else ()
            at = tuple(
                place[label] for place, label in zip(places, labels, strict=False) if label in place
            )
            if len(at) == len(CELL_DIMS) and pending[at]:
                yield at, record


def with_masses(data: "xr.Dataset", mass: "NDArray[np.float32]", lexicon: Lexicon) -> "xr.Dataset":
    """Return a dataset with the masses of the options, and of agreeing and disagreeing.

    Parameters
    ----------
    data
        Without any of these.
    mass
        Over ``model, item, variant, prefix, run, option``; NaN for options that cannot be read.
    lexicon
        The options.
    """
    stance = np.array(lexicon.stance, dtype=np.int8)
    data = data.assign_coords(
        option=np.array(lexicon.options, dtype=object), option_stance=("option", stance)
    )
    kind = {"long_name": "probability mass of the answer option, not normalised", "units": "1"}
    data["option_prob"] = ((*CELL_DIMS, "option"), mass, kind)
    for name, sign in (("p_agree", 1), ("p_disagree", -1)):
        of_stance = mass[..., stance == sign]
        total = np.nansum(of_stance.astype(np.float64), axis=-1)
        total[np.isnan(of_stance).all(axis=-1)] = np.nan
        meaning = {"long_name": f"probability mass of the {name[2:]}ing options", "units": "1"}
        data[name] = (CELL_DIMS, total.astype(np.float32), meaning)
    return data


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
