"""Respondents: who answers. One module a backend, chosen by `RespondentConfig.backend`."""

from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from polbayes.attributes import checked_attributes
from polbayes.config import ApiConfig, ElicitationConfig, RespondentConfig
from polbayes.design import ModelInfo
from polbayes.errors import UserError, unknown
from polbayes.prompts import (
    ELICITATIONS,
    JUDGING,
    QUESTIONNAIRES,
    ROLEPLAY,
    TEXTS,
    Template,
    load_template,
)
from polbayes.respondents import (
    causal,
    chat_api,
    checkpoint,
    masked,
    planted_actor,
    planted_judge,
    simulated,
)
from polbayes.respondents.contract import (
    Answer,
    Completion,
    ConcurrentRespondent,
    Question,
    Respondent,
    TooLongError,
)

__all__ = [
    "BACKENDS",
    "Answer",
    "Backend",
    "Completion",
    "ConcurrentRespondent",
    "Question",
    "Respondent",
    "TooLongError",
    "answer_settings",
    "check",
    "check_ready",
    "describe",
    "open_respondent",
    "setting_defaults",
]

# How open answers are written.
DECODINGS = ("sample", "greedy", "beam", "contrastive")

_Describe = Callable[[str, RespondentConfig, Template], ModelInfo]
_Open = Callable[[str, RespondentConfig, Template, ElicitationConfig], Respondent]


@dataclass(frozen=True)
class Backend:
    """One way to ask a model.

    Parameters
    ----------
    elicitations
        The ways of reading an answer that it offers.
    describe
        Says, without loading a model, what the design says about a respondent.
    open
        Makes the respondent.
    identity
        A text that changes when what lies behind the same checkpoint name does; empty where
        that cannot be told.
    settings
        What of the respondent's own keys determines the answers, beside those that all have.
    ready
        Refuses to ask it where something outside of the config is missing.
    decodings
        The ways of writing open answers that it offers, of `DECODINGS`.
    by_prompt
        Whether of a question nothing but the text of its prompt determines the answer; where not,
        the cell's labels are taken to do so, too (`polbayes.answer_cache`).
    """

    elicitations: tuple[str, ...]
    describe: _Describe
    open: _Open
    identity: Callable[[RespondentConfig], str] = lambda config: ""
    settings: Callable[[RespondentConfig], Mapping[str, Any]] = lambda config: {}
    ready: Callable[[str, RespondentConfig], None] = lambda name, config: None
    decodings: tuple[str, ...] = ("sample",)
    by_prompt: bool = False


# A user's own backend is added here.
BACKENDS: MutableMapping[str, Backend] = {
    "causal": Backend(
        ("forced_choice", *TEXTS),
        causal.describe,
        causal.open_causal,
        checkpoint.weights_digest,
        decodings=DECODINGS,
        by_prompt=True,
    ),
    "masked": Backend(
        ("fill_mask",),
        masked.describe,
        masked.open_masked,
        checkpoint.weights_digest,
        by_prompt=True,
    ),
    # What lies behind a server's name for a model cannot be told.
    "chat_api": Backend(
        ("forced_choice", *TEXTS),
        chat_api.describe,
        chat_api.open_chat_api,
        settings=chat_api.answer_settings_of,
        ready=chat_api.check_key,
        decodings=("sample", "greedy"),
        by_prompt=True,
    ),
    "simulated": Backend(
        QUESTIONNAIRES,
        simulated.describe,
        simulated.open_simulated,
        simulated.parameters_digest,
    ),
    "planted_actor": Backend(
        (ROLEPLAY,), planted_actor.describe, planted_actor.open_actor, planted_actor.digest
    ),
    "planted_judge": Backend(
        (JUDGING,), planted_judge.describe, planted_judge.open_judge, planted_judge.digest
    ),
}


def check(name: str, config: RespondentConfig, elicitation: ElicitationConfig) -> Backend:
    """Refuse a respondent that cannot be asked this way, and return its backend.

    Raises
    ------
    UserError
        If backend or elicitation is unknown or they do not go together, or a number of the
        elicitation is out of range.
    """
    where = f"respondents.{name}"
    if config.backend not in BACKENDS:
        raise unknown("backend", config.backend, BACKENDS, where=where)
    if elicitation.kind not in (*ELICITATIONS, JUDGING):
        raise unknown("kind", elicitation.kind, ELICITATIONS, where="elicitation")
    backend = BACKENDS[config.backend]
    if elicitation.kind not in backend.elicitations:
        raise UserError(
            f"{where}: backend {config.backend} cannot be asked by {elicitation.kind}; "
            f"it offers {' and '.join(backend.elicitations)}."
        )
    if config.api is not None and config.backend != "chat_api":
        raise UserError(
            f"{where}.api: is for backend=chat_api, not {config.backend}; leave it out."
        )
    least = {"batch_size": 1, "max_new_tokens": 1, "top_k": 0, "temperature": 0, "beams": 1}
    for key, bound in {**least, "lexicon_size": 1, "top_tokens": 1}.items():
        given = getattr(elicitation, key)
        if given is not None and not given >= bound:
            group = "judging" if elicitation.kind == JUDGING else "elicitation"
            raise UserError(f"{group}.{key}: must be at least {bound}, not {given}.")
    if elicitation.kind == "open_ended":
        _check_decoding(where, config.backend, backend, elicitation)
    return backend


def _check_decoding(
    where: str, name: str, backend: Backend, elicitation: ElicitationConfig
) -> None:
    """Refuse a way of writing answers that there is not, or not with this backend."""
    way, runs = elicitation.decoding, elicitation.runs
    if way not in DECODINGS:
        raise unknown("decoding", way, DECODINGS, where="elicitation.decoding")
    if way not in backend.decodings:
        raise UserError(
            f"{where}: backend {name} cannot write answers by decoding={way}; "
            f"it offers {' and '.join(backend.decodings)}."
        )
    if not 0 < elicitation.top_p <= 1:
        raise UserError(
            f"elicitation.top_p: must be above 0 and at most 1, not {elicitation.top_p}."
        )
    if not 0 <= elicitation.penalty_alpha <= 1:
        raise UserError(
            f"elicitation.penalty_alpha: must be from 0 to 1, not {elicitation.penalty_alpha}."
        )
    if way == "contrastive" and elicitation.top_k < 1:
        raise UserError("elicitation.top_k: contrastive search needs at least 1 candidate.")
    if way in ("greedy", "contrastive") and runs > 1:
        raise UserError(
            f"elicitation.runs: decoding={way} gives the same answer every time; use 1, not {runs}."
        )
    if way == "beam" and runs > elicitation.beams:
        raise UserError(
            f"elicitation.runs: a beam search of {elicitation.beams} beams finds as many "
            f"sequences; use at most that many runs, not {runs}, or more beams."
        )


def describe(name: str, config: RespondentConfig, template: Template) -> ModelInfo:
    """Return what the design says about a respondent, reading at most its tokenizer.

    Parameters
    ----------
    name
        The respondent's.
    config
        Who it is.
    template
        Its text for this kind of model is chosen: ``chat`` when the tokenizer has a chat
        template and `config.chat` is not false, else ``base``; ``masked`` for masked LMs.

    Raises
    ------
    UserError
        If the respondent cannot be used with this template, or an attribute of it as a
        predictor.
    """
    if config.backend not in BACKENDS:
        raise unknown("backend", config.backend, BACKENDS, where=f"respondents.{name}")
    attributes = checked_attributes(config.attributes, where=f"respondents.{name}.attributes")
    info = BACKENDS[config.backend].describe(name, config, template)
    return replace(info, attributes=attributes)


def open_respondent(
    name: str, config: RespondentConfig, *, elicitation: ElicitationConfig
) -> Respondent:
    """Make a respondent ready to be asked.

    Raises
    ------
    UserError
        If it cannot be had, or cannot be asked this way.
    """
    backend = check(name, config, elicitation)
    return backend.open(name, config, load_template(elicitation.template), elicitation)


def check_ready(name: str, config: RespondentConfig) -> None:
    """Refuse to ask a respondent while something outside of the config is missing, such as a key.

    Raises
    ------
    UserError
        Saying what.
    """
    BACKENDS[config.backend].ready(name, config)


def setting_defaults() -> dict[str, Any]:
    """Return what settings of answers are where a journal was begun before they existed."""
    groups: dict[str, Any] = {
        "respondent": RespondentConfig(),
        "respondent.api": ApiConfig(),
        "elicitation": ElicitationConfig(),
    }
    return {
        f"{group}.{key}": value
        for group, defaults in groups.items()
        for key, value in asdict(defaults).items()
    }


def answer_settings(config: RespondentConfig, elicitation: ElicitationConfig) -> Mapping[str, Any]:
    """Return what of a respondent and its elicitation determines the answers.

    Batch size and device do not, nor do the labels `family` and `instruct`; how many runs
    there are does not change the answers of one of them.
    """
    keys = ("backend", "checkpoint", "revision", "chat", "dtype", "trust_remote_code")
    settings = {f"respondent.{key}": getattr(config, key) for key in keys}
    settings["respondent.weights"] = BACKENDS[config.backend].identity(config)
    own = BACKENDS[config.backend].settings(config)
    settings |= {f"respondent.{key}": value for key, value in own.items()}
    asked = ["kind", "template"]
    if elicitation.kind in TEXTS:
        asked += ["max_new_tokens", "top_k", "temperature"]
        asked += [key for key in _OF_DECODING[elicitation.decoding] if _is_set(elicitation, key)]
    if elicitation.kind == "fill_mask" and _is_set(elicitation, "top_tokens"):
        asked += ["top_tokens"]
    return settings | {f"elicitation.{key}": getattr(elicitation, key) for key in asked}


# Beyond those keys that were always there, and only where they are not at their defaults, so that
# journals that were begun before there were these keys can be gone on with.
_OF_DECODING: Mapping[str, tuple[str, ...]] = {
    "sample": ("top_p",),
    "greedy": ("decoding",),
    "beam": ("decoding", "beams"),
    "contrastive": ("decoding", "penalty_alpha"),
}


def _is_set(elicitation: ElicitationConfig, key: str) -> bool:
    return bool(getattr(elicitation, key) != getattr(ElicitationConfig, key))
