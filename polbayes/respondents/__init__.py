"""Respondents: who answers. One module per backend, chosen by `RespondentConfig.backend`."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from polbayes.config.registry import Registry
from polbayes.config.schema import (
    ELICITATIONS,
    JUDGING,
    PAIRED,
    TEXTS,
    ApiConfig,
    ElicitationConfig,
    RespondentConfig,
)
from polbayes.config.yaml_checks import text
from polbayes.errors import UserError, check_known, unknown
from polbayes.instrument.covariates import checked_attributes
from polbayes.instrument.design import ModelInfo
from polbayes.instrument.prompts import Template, load_template
from polbayes.respondents.base import (
    DECODINGS,
    Answer,
    Backend,
    Batch,
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
    "Batch",
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

BACKENDS: Registry[Backend] = Registry(
    "polbayes.backends",
    "backend",
    {
        "causal": "polbayes.respondents.causal:BACKEND",
        "masked": "polbayes.respondents.masked:BACKEND",
        "chat_api": "polbayes.respondents.chat_api:BACKEND",
        "simulated": "polbayes.respondents.simulated:BACKEND",
        "planted_actor": "polbayes.respondents.planted:ACTOR",
        "planted_judge": "polbayes.respondents.planted:JUDGE",
        "planted_writer": "polbayes.respondents.planted_pairs:WRITER",
        "planted_grader": "polbayes.respondents.planted_pairs:GRADER",
    },
)


def check(name: str, config: RespondentConfig, elicitation: ElicitationConfig) -> Backend:
    """Refuse a respondent that cannot be asked this way, and return its backend."""
    where = f"respondents.{name}"
    check_known("backend", config.backend, known=BACKENDS, where=where)
    if elicitation.kind not in (*ELICITATIONS, JUDGING):
        raise unknown("kind", elicitation.kind, ELICITATIONS, where="elicitation")
    backend = BACKENDS[config.backend]
    if elicitation.kind not in backend.elicitations:
        # Users do not choose judging, unless nothing else is offered.
        offered = [kind for kind in backend.elicitations if kind != JUDGING] or [JUDGING]
        raise UserError(
            f"{where}: backend {config.backend} cannot be asked by {elicitation.kind}; "
            f"it offers {', '.join(offered)}."
        )
    if config.called is not None:
        text(config.called, f"{where}.called")
    if config.api is not None and config.backend != "chat_api":
        raise UserError(
            f"{where}.api: is for backend=chat_api, not {config.backend}; leave it out."
        )
    for key in ("reasoning_effort", "thinking_tokens", "thinking_marks"):
        if getattr(config, key) is not None and config.backend not in ("chat_api", "causal"):
            raise UserError(
                f"{where}.{key}: is for backends causal and chat_api, not {config.backend}; leave "
                "it out."
            )
    if config.thinking_marks is not None:
        _check_marks(f"{where}.thinking_marks", config.thinking_marks)
    if elicitation.kind in ("open_ended", PAIRED):
        _check_decoding(where, config.backend, backend, elicitation)
    return backend


def _check_marks(where: str, marks: Sequence[str]) -> None:
    """Refuse marks that cannot tell thinking from an answer."""
    if len(marks) != 2 or not all(mark.strip() for mark in marks) or marks[0] == marks[1]:
        raise UserError(
            f"{where}: must be two different texts, what thinking begins and ends with, such as "
            f"['<think>', '</think>'], not {list(marks)}."
        )


def _check_decoding(
    where: str, name: str, backend: Backend, elicitation: ElicitationConfig
) -> None:
    """Refuse a decoding that does not exist or that this backend lacks."""
    way, runs = elicitation.decoding, elicitation.runs
    check_known("decoding", way, known=DECODINGS, where="elicitation.decoding")
    if way not in backend.decodings:
        raise UserError(
            f"{where}: backend {name} cannot write answers by decoding={way}; "
            f"it offers {' and '.join(backend.decodings)}."
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
    """Return a respondent's entry in the design, reading at most its tokenizer.

    The template's text for this kind of model is chosen: ``chat`` if the tokenizer has a chat
    template and `config.chat` is not false, else ``base``; ``masked`` for masked LMs.
    """
    check_known("backend", config.backend, known=BACKENDS, where=f"respondents.{name}")
    attributes = checked_attributes(config.attributes, where=f"respondents.{name}.attributes")
    info = BACKENDS[config.backend].describe(name, config, template)
    for key in attributes.keys() & info.attributes.keys():
        raise UserError(
            f"respondents.{name}.attributes: {key} has a key of its own; move it out of attributes."
        )
    return replace(info, attributes={**attributes, **info.attributes})


def open_respondent(
    name: str, config: RespondentConfig, *, elicitation: ElicitationConfig
) -> Respondent:
    """Open a respondent that has passed `check`."""
    template = load_template(elicitation.template)
    return BACKENDS[config.backend].open(name, config, template, elicitation)


def check_ready(name: str, config: RespondentConfig) -> None:
    """Refuse to ask a respondent while something outside the config is missing, e.g. a key."""
    BACKENDS[config.backend].ready(name, config)


_FILES = "respondent.files"
# What prompts call it, in the settings of journals.
CALLED = "respondent.called"


def setting_defaults(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of journals that are older than a setting.

    A journal begun before files were distinguished has the files of the current `settings`.
    """
    groups: dict[str, Any] = {
        "respondent": RespondentConfig(),
        "respondent.api": ApiConfig(),
        "elicitation": ElicitationConfig(),
    }
    return {_FILES: settings.get(_FILES)} | {
        f"{group}.{key}": value
        for group, defaults in groups.items()
        for key, value in asdict(defaults).items()
    }


def answer_settings(config: RespondentConfig, elicitation: ElicitationConfig) -> Mapping[str, Any]:
    """Return the settings of a respondent and its elicitation that determine the answers.

    Batch size and device do not, nor do the labels `family` and `instruct`, nor the number of runs.
    """
    keys = ("backend", "checkpoint", "revision", "chat", "dtype", "trust_remote_code")
    settings = {f"respondent.{key}": getattr(config, key) for key in keys}
    settings["respondent.weights"] = BACKENDS[config.backend].identity(config)
    if files := BACKENDS[config.backend].files(config):
        settings[_FILES] = files
    return settings | how_asked(config, elicitation)


def how_asked(config: RespondentConfig, elicitation: ElicitationConfig) -> dict[str, Any]:
    """Return the settings that determine the answers of one and the same model."""
    settings: dict[str, Any] = {}
    # Only if they are set: older journals lack these keys.
    for key in ("reasoning_effort", "thinking_tokens", "thinking_marks", "called"):
        if getattr(config, key) is not None:
            settings[f"respondent.{key}"] = getattr(config, key)
    own = BACKENDS[config.backend].settings(config)
    settings |= {f"respondent.{key}": value for key, value in own.items()}
    asked = ["kind", "template"]
    if elicitation.kind in TEXTS:
        asked += ["max_new_tokens", "top_k", "temperature"]
        asked += [key for key in _OF_DECODING[elicitation.decoding] if _is_set(elicitation, key)]
    if elicitation.kind == "fill_mask" and _is_set(elicitation, "top_tokens"):
        asked += ["top_tokens"]
    return settings | {f"elicitation.{key}": getattr(elicitation, key) for key in asked}


# Beyond the original keys, and only if they differ from their defaults, so that journals that are
# older than these keys can be continued.
_OF_DECODING: Mapping[str, tuple[str, ...]] = {
    "sample": ("top_p",),
    "greedy": ("decoding",),
    "beam": ("decoding", "beams"),
    "contrastive": ("decoding", "penalty_alpha"),
}


def _is_set(elicitation: ElicitationConfig, key: str) -> bool:
    return bool(getattr(elicitation, key) != getattr(ElicitationConfig, key))
