"""The coders by name: rules, and coders declared in the config."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from importlib import import_module
from pathlib import Path
from typing import Protocol

import numpy as np

from polbayes.config.registry import Registry
from polbayes.config.schema import CoderConfig, CodingConfig
from polbayes.data.dataset import STANCE_CLASSES
from polbayes.errors import UnreachableError, UserError, check_known, unknown


class Coder(Protocol):
    """Read the stance of responses to statements."""

    def __call__(self, statements: Sequence[str], responses: Sequence[str]) -> np.ndarray:
        """Code responses to statements.

        Returns float32 probabilities over response and stance class, in the order of
        `polbayes.data.dataset.STANCE_CLASSES`, with a row of NaN if the coder abstains.
        """
        ...


CODERS: Registry[Coder] = Registry(
    "polbayes.coders",
    "coder",
    {"likert": "polbayes.coding.likert:code", "lexical": "polbayes.coding.lexical:code"},
)


@dataclass(frozen=True)
class Kind:
    """A kind of coder that is declared by `polbayes.config.schema.CoderConfig`.

    Parameters
    ----------
    opener
        Location of its factory, ``opener(name, config, models, journal_dir)``.
    keys
        The keys of the declaration that it supports.
    checkpoint
        The default checkpoint; empty if one must be named.
    """

    opener: str
    keys: tuple[str, ...]
    checkpoint: str = ""


_FROM_CHECKPOINT = "polbayes.coding.checkpoint_coder:open_checkpoint_coder"
_CHECKPOINT_KEYS: tuple[str, ...] = (
    "checkpoint",
    "revision",
    "text",
    "labels",
    "threshold",
    "batch_size",
    "dtype",
    "device",
    "trust_remote_code",
)

KINDS: Registry[Kind] = Registry(
    "polbayes.coder_kinds",
    "kind of coder",
    {
        "nli": Kind(
            _FROM_CHECKPOINT, (*_CHECKPOINT_KEYS, "hypotheses"), "facebook/bart-large-mnli"
        ),
        "sentiment": Kind(
            _FROM_CHECKPOINT,
            (*_CHECKPOINT_KEYS, "pair"),
            "distilbert/distilbert-base-uncased-finetuned-sst-2-english",
        ),
        "classifier": Kind(_FROM_CHECKPOINT, (*_CHECKPOINT_KEYS, "pair")),
        "judge": Kind(
            "polbayes.judging.stances:open_judge",
            (*(key for key in _CHECKPOINT_KEYS if key not in ("text", "labels")), "judge"),
        ),
        "phrases": Kind("polbayes.coding.phrases:open_phrases", ("language",)),
        "ensemble": Kind("polbayes.coding.ensemble:open_ensemble", ("weights", "threshold")),
    },
)

# What decides cells that no coder reads.
BY_RATING, BY_PROBABILITY = "declared_option", "option_probability"
BY_SERVER = "declined_by_server"
# No coder may have these names.
_RESERVED = ("none", BY_RATING, BY_PROBABILITY, BY_SERVER)
_NAME = re.compile(r"[A-Za-z][\w.-]*")

# Overrides for reading answers without checkpoints.
_RULES_ALONE = ("coding.coders=[likert,lexical]", "~coding.models")

# The probability that a rule gives to the class it decides for. Nominal: it is above the accuracy
# required of the rules; a validation replaces it.
NOMINAL = 0.98


def get_coder(
    name: str, models: Mapping[str, CoderConfig] | None = None, *, journal_dir: Path | None = None
) -> Coder:
    """Return a coder by name.

    Parameters
    ----------
    name
        A rule, a kind, or one of `models`.
    models
        Declared coders by name.
    journal_dir
        Where checkpoints keep their readings, so that nothing is read twice; None to keep none.
    """
    declared = dict(models or {})
    if name in CODERS and name not in declared:
        return CODERS[name]
    config = resolve(name, declared)
    module, function = KINDS[config.kind].opener.split(":")
    opened: Coder = getattr(import_module(module), function)(name, config, declared, journal_dir)
    return opened


def resolve(name: str, models: Mapping[str, CoderConfig]) -> CoderConfig:
    """Return the checked declaration of a coder other than a rule, with its kind and checkpoint."""
    if name not in models and name not in KINDS:
        raise unknown("coder", name, {*CODERS, *KINDS, *models}, where="coding.coders")
    where = f"coding.models.{name}"
    config = models.get(name) or CoderConfig()
    kind = config.kind or name
    if name in CODERS or name in _RESERVED or not _NAME.fullmatch(name):
        raise UserError(
            f"{where}: the name is taken or invalid; start with a letter, use letters, "
            f"digits, '_', '.' or '-', and none of {', '.join((*CODERS, *_RESERVED))}."
        )
    if not config.kind and name not in KINDS:
        raise UserError(f"{where}: kind: is missing; choose one of {', '.join(KINDS)}.")
    check_known("kind", kind, known=KINDS, where=where)
    default, known = CoderConfig(), KINDS[kind].keys
    for key in (field.name for field in fields(CoderConfig)):
        if key not in ("kind", *known) and getattr(config, key) != getattr(default, key):
            raise UserError(
                f"{where}: {key}: does not apply to kind {kind}, which takes {', '.join(known)}."
            )
    checkpoint = config.checkpoint.strip() or KINDS[kind].checkpoint
    if "checkpoint" in known and not checkpoint:
        raise UserError(f"{where}: checkpoint: is missing; give a folder or a hub name.")
    return replace(config, kind=kind, checkpoint=checkpoint)


def check_coders(coding: CodingConfig, *, used: bool) -> None:
    """Refuse unusable coders, and every invalid declaration.

    If they will be used, their checkpoints are located and their configs read, but not their
    weights.
    """
    for name in {**dict.fromkeys(coding.models), **dict.fromkeys(coding.coders)}:
        if name in coding.models or name not in CODERS:
            resolve(name, coding.models)
    for name in coding.coders if used else ():
        try:
            get_coder(name, coding.models)
        except UnreachableError as error:
            sentence = f"{error} Without one, rules alone read the answers:"
            raise UserError(sentence, add=_RULES_ALONE) from error


def judges(names: Iterable[str], models: Mapping[str, CoderConfig]) -> dict[str, CoderConfig]:
    """Return the declarations of coders that ask a language model, members of ensembles too."""
    found: dict[str, CoderConfig] = {}
    for name in names:
        config = None if name in CODERS else resolve(name, models)
        if config is not None and config.kind == "judge":
            found[name] = config
        elif config is not None:
            found |= judges(config.weights, models)
    return found


def passed_on(probs: np.ndarray, threshold: float) -> np.ndarray:
    """Return probabilities (response, stance_class), NaN where none reaches the threshold."""
    sure = np.max(probs, axis=1, initial=0.0) >= threshold
    return np.where(sure[:, None], probs, np.nan).astype(np.float32)


def nominal_probabilities(classes: Sequence[str | None]) -> np.ndarray:
    """Turn decisions into probabilities: `NOMINAL` on the class, the rest shared equally.

    Parameters
    ----------
    classes
        For each response a name out of `polbayes.data.dataset.STANCE_CLASSES`, or None.

    Returns
    -------
    numpy.ndarray
        float32 of shape (response, stance_class); a row of NaN for None.
    """
    rest = (1.0 - NOMINAL) / (len(STANCE_CLASSES) - 1)
    out = np.full((len(classes), len(STANCE_CLASSES)), rest, dtype=np.float32)
    for row, name in enumerate(classes):
        if name is None:
            out[row] = np.nan
        else:
            out[row, STANCE_CLASSES.index(name)] = NOMINAL
    return out
