"""Probing: every pending cell of a design is put to its respondent and written down."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from polbayes.asking import Asking, answered_in, ask_all, note, progress_bar
from polbayes.config import ElicitationConfig, RespondentConfig
from polbayes.dataset import CELL_DIMS, STATUS, flag_attributes
from polbayes.design import ModelInfo
from polbayes.errors import UserError, unknown
from polbayes.journal import Cell, Journal, Record, adopt, cell_of, journal_path, read
from polbayes.prompts import TEXTS, Lexicon, Prefix, Template, render
from polbayes.respondents import (
    Question,
    answer_settings,
    check,
    check_ready,
    describe,
    open_respondent,
)
from polbayes.respondents.questions import PendingQuestions, question_digest

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import NDArray


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
    progress
        Whether to show a bar per model on the standard error if that is a terminal;
        ``"always"`` shows it anyway.

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
    if elicitation.kind in TEXTS:
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
    for name, path in paths.items():
        questions = PendingQuestions(design, name, answers)
        if questions:
            settings = _settings(questions, respondents[name], asking)
            if answers_from is not None:
                adopt(journal_path(answers_from, name), path, settings)
            _ask_model(questions, respondents[name], asking, (path, settings), progress=progress)
    return _filled(design, paths, lexicon)


def _is_left(design: "xr.Dataset", model: str, path: Path) -> bool:
    """Return whether a journal has fewer answers than there are pending cells."""
    pending = int((design["status"].sel(model=model) == STATUS["pending"]).sum())
    return sum("cell" in record for record in read(path)) < pending


def _ask_model(
    questions: PendingQuestions,
    config: RespondentConfig,
    asking: Asking,
    kept: tuple[Path, Mapping[str, Any]],
    *,
    progress: bool | str,
) -> None:
    path, settings = kept
    with Journal(path, settings) as journal, ExitStack() as stack:
        answered = answered_in(journal)
        if journal.damaged:
            text = f"{journal.damaged} damaged lines of {path.name} were skipped and asked again."
            note(journal, text)
        left = [n for n, question in enumerate(questions) if _is_new(question, answered, path)]
        if not left:
            return
        respondent = open_respondent(questions.model, config, elicitation=asking.elicitation)
        stack.callback(respondent.close)
        for text in respondent.warnings(asking.lexicon):
            note(journal, text)
        total, done = len(questions), len(questions) - len(left)
        bar = progress_bar(questions.model, total=total, done=done, progress=progress)
        stack.enter_context(bar)
        ask_all(respondent, (questions[n] for n in left), asking, journal, bar)


def _is_new(question: Question, answered: Mapping[Cell, str], path: Path) -> bool:
    """Return whether a question is still to be asked.

    Raises
    ------
    UserError
        If it was answered, but put in other words.
    """
    cell = (question.item, question.variant, question.prefix, question.run)
    if cell in answered and answered[cell] != question_digest(question):
        raise UserError(
            f"{path}: item '{question.item}', wording '{question.variant}', prefix "
            f"'{question.prefix}' was asked with another text than it has now; "
            "choose another run_dir, or restore the text."
        )
    return cell not in answered


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
        data = _with_masses(data, mass, lexicon)
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


def _with_masses(data: "xr.Dataset", mass: "NDArray[np.float32]", lexicon: Lexicon) -> "xr.Dataset":
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
