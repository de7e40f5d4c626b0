"""Probing: every pending cell of a design is put to its respondent."""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal

import xarray as xr

from polbayes.config.schema import (
    TEXTS,
    ElicitationConfig,
    JournalConfig,
    LauncherConfig,
    RespondentConfig,
)
from polbayes.data.dataset import STATUS
from polbayes.errors import UserError, check_known, unknown
from polbayes.instrument.design import called_in_prompts
from polbayes.instrument.prompts import Lexicon, Prefix, render, with_context
from polbayes.probing.consolidation import filled
from polbayes.probing.dispatch import Asking, before
from polbayes.probing.first_answers import Screening
from polbayes.probing.journal import adopt, check_settings, journal_path, read
from polbayes.probing.progress import Meter
from polbayes.probing.work import Put, Work, ask_left, from_cache, note_damage
from polbayes.respondents import CALLED, answer_settings, check, check_ready, setting_defaults
from polbayes.respondents.questions import PendingQuestions


def probe(
    design: xr.Dataset,
    respondents: Mapping[str, RespondentConfig],
    *,
    elicitation: ElicitationConfig,
    lexicon: Lexicon | None,
    **settings: Any,
) -> xr.Dataset:
    """Fill the design with the answers to what `ask` asks; `ask` takes the further settings.

    This adds `status`, `completion` and, for open answers, `truncated`, else `option_prob` (with an
    ``option`` dimension and ``option_stance``), `p_agree` and `p_disagree`; `message` for cells
    with status error, `declined` if a server refused to answer, and `mass_unseen` if it lists only
    the likeliest tokens. The attribute ``notes`` holds remarks for the reader, one per line.
    """
    paths = ask(design, respondents, elicitation=elicitation, lexicon=lexicon, **settings)
    return filled(design, paths, None if elicitation.kind in TEXTS else lexicon)


def ask(
    design: xr.Dataset,
    respondents: Mapping[str, RespondentConfig],
    *,
    elicitation: ElicitationConfig,
    lexicon: Lexicon | None,
    prefixes: Sequence[Prefix],
    seed: int,
    journal_dir: Path,
    answers_from: Path | None = None,
    journal: JournalConfig | None = None,
    launcher: LauncherConfig | None = None,
    screening: Screening | None = None,
    progress: bool | Literal["always"] = True,
    begin: Callable[[], object] | None = None,
) -> dict[str, Path]:
    """Ask every pending cell that the journals lack, and record the answers.

    A journal made under other settings is an error before anything is asked; otherwise `begin` is
    called first.

    A batch that a respondent fails to answer is asked again in halves, down to one cell, whose
    failure is its answer: status error, with the message, and not asked again. A respondent that
    only fails is an error, and nothing of it is kept. One whose first answers are unusable is an
    error if `screening` says so, and its answers are kept.
    """
    names = [str(name) for name in design["model"].values]
    for name in names:
        check_known("respondent", name, known=respondents, where="models")
        check(name, respondents[name], elicitation)
    if elicitation.kind in TEXTS:
        lexicon = None
    elif lexicon is None:
        raise UserError(f"elicitation.lexicon: {elicitation.kind} needs one; name a lexicon.")
    asking = Asking(elicitation, lexicon, seed, journal or JournalConfig(), screening)
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
    settings = {
        name: _settings(design, name, respondents[name], asking)
        for name in names
        if _pending(design, name)
    }
    for name, own in settings.items():
        _check_journals(paths[name], own, answers_from and journal_path(answers_from, name))
    if begin is not None:
        begin()
    works = (
        Work(PendingQuestions(design, name, answers), respondents[name], asking, paths[name], own)
        for name, own in settings.items()
    )
    if launcher is None or launcher.kind == "local":
        for work in works:
            _ask_model(work, progress=progress)
    else:
        from polbayes.probing.launch.driver import ask_elsewhere

        ask_elsewhere(list(works), launcher, progress=progress)
    return paths


def _is_left(design: xr.Dataset, model: str, path: Path) -> bool:
    """Return whether a journal has fewer answers than there are pending cells."""
    return sum("cell" in record for record in read(path)) < _pending(design, model)


def _pending(design: xr.Dataset, model: str) -> int:
    return int((design["status"].sel(model=model) == STATUS["pending"]).sum())


def _check_journals(path: Path, settings: Mapping[str, Any], source: Path | None) -> None:
    """Refuse what was asked under other settings, and begin with the earlier journal if any."""
    from polbayes.probing.launch.merge import shard_paths

    defaults = setting_defaults(settings)
    if source is not None:
        adopt(source, path, settings, defaults=defaults)
    for one in (path, *shard_paths(path)):
        check_settings(one, settings, defaults=defaults)


def _ask_model(work: Work, *, progress: bool | Literal["always"]) -> None:
    from polbayes.probing.launch.merge import absorb

    absorb(work.path, work.settings, work.asking)
    questions, asking = work.questions, work.asking
    with asking.open_journal(work.path, work.settings) as journal, ExitStack() as stack:
        known = before(journal)
        note_damage(journal, known)
        left = from_cache(work, work.left(known.answered), journal, stack)
        if not left:
            return
        total = len(questions)
        done = total - len(left)
        with Meter(questions.model, total, done, stances=asking.stances, show=progress) as meter:
            put = Put((questions[n] for n in left), known)
            ask_left(questions, put, work.config, asking, journal, meter)


def _settings(
    design: xr.Dataset, model: str, config: RespondentConfig, asking: Asking
) -> dict[str, Any]:
    one, lexicon = design.sel(model=model), asking.lexicon
    called = str(one["called"].item()) if "called" in one.coords else ""
    return {
        "model": model,
        "seed": asking.seed,
        "template": str(one["template"].item()),
        "chat template used": bool(one["chat"].item()),
        "options": list(lexicon.options) if lexicon else None,
        **answer_settings(config, asking.elicitation),
        # Older journals lack it where the model is called by its key.
        **({CALLED: called} if called else {}),
    }


def _options(data: xr.Dataset, **cell: str) -> dict[str, str]:
    """Return the options that a prompt lists, in the order of the first run."""
    if "prefix_options" not in data.coords:
        return {}
    texts = data["prefix_options"]
    own = texts.sel({dim: label for dim, label in cell.items() if dim in texts.dims})
    found: dict[str, str] = json.loads(str(own.values.ravel()[0]) or "{}")
    return found


def rendered_prompt(data: xr.Dataset, model: str, item: str, variant: str, prefix: str) -> str:
    """Render a prompt from a response dataset alone.

    Parameters
    ----------
    data
        A design or response dataset.
    model, item, variant, prefix
        Labels of the cell.

    Returns
    -------
    str
        The prompt; for a model with ``chat`` set, the user's turn. A system prompt and turns
        before it are put above it, marked ``[System]``, ``[User]`` and ``[Assistant]``.

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
    called = called_in_prompts(data)[model]
    prompt = render(
        str(data["template"].sel(model=model).item()),
        prefix=str(data["prefix_text"].sel(prefix=prefix).item()),
        statement=statement,
        model_name=called,
        options=_options(data, item=item, variant=variant, prefix=prefix),
    )
    context = data["prefix_context"].sel(prefix=prefix).item() if "prefix_context" in data else ""
    return with_context(prompt, str(context), statement=statement, model_name=called)
