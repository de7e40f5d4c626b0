"""A coder's codes of labelled answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from polbayes.coding import get_coder
from polbayes.coding.responses import EXACT, ONLY_FOR
from polbayes.config.schema import CoderConfig
from polbayes.data.dataset import STANCE_CLASSES
from polbayes.tasks.validation.labelled import Labelled

# Smaller probabilities are raised to this, so that a logarithm exists.
_LEAST = 1e-12


@dataclass(frozen=True)
class Coded:
    """A coder's codes of labelled answers."""

    coder: str
    probs: np.ndarray  # over response, stance_class; rows of NaN where it abstains
    coded_as: np.ndarray  # position of the likeliest class; -1 where it abstains
    confidence: np.ndarray  # the probability of that class; NaN where it abstains
    answers: Labelled

    @property
    def is_coded(self) -> np.ndarray:
        """Whether each answer was coded."""
        return np.asarray(self.coded_as >= 0)

    @property
    def is_right(self) -> np.ndarray:
        """Whether each answer was coded as labelled."""
        return np.asarray(self.coded_as == self.answers.labels)


def code_labelled(
    answers: Labelled,
    coder: str,
    models: Mapping[str, CoderConfig] | None = None,
    *,
    journal_dir: Path | None = None,
) -> Coded:
    """Let a coder read labelled answers without their labels."""
    read = get_coder(coder, models, journal_dir=journal_dir)
    given = read(answers.statements, answers.responses)
    return coded_from(np.asarray(given, dtype=np.float64), answers, coder=coder)


CASCADE = "cascade"


def cascade(read: Sequence[Coded]) -> Coded:
    """Read answers as a run does: each coder reads what those before it left."""
    answers = read[0].answers
    prefix = answers.groups.get("prefix", np.full(len(answers.labels), "", dtype=object))
    probs, left = np.full(read[0].probs.shape, np.nan), np.ones(len(answers.labels), dtype=bool)
    kept = left.copy()
    for coded in read:
        reads = left & coded.is_coded
        if coded.coder in ONLY_FOR:
            reads &= prefix == ONLY_FOR[coded.coder]
        probs[reads] = coded.probs[reads]
        left &= ~reads
        if coded.coder in EXACT:
            kept &= ~reads
    return coded_from(probs[kept], answers.take(np.flatnonzero(kept)), coder=CASCADE)


def coded_from(probs: np.ndarray, answers: Labelled, *, coder: str) -> Coded:
    """Turn a coder's probabilities into codes; see `Coded`."""
    wanted = (len(answers.labels), len(STANCE_CLASSES))
    if probs.shape != wanted:
        raise ValueError(f"coder '{coder}' returned shape {probs.shape}, not {wanted}.")
    there = np.isfinite(probs).all(axis=1)
    probs = np.where(there[:, None], probs, np.nan)
    best = np.argmax(np.where(there[:, None], probs, 0.0), axis=1)
    coded_as = np.where(there, np.array(answers.classes.of_stance)[best], -1)
    merged = of_classes(probs, answers)
    confidence = np.where(there, merged[np.arange(len(merged)), coded_as], np.nan)
    return Coded(coder, probs, coded_as, confidence, answers)


def of_classes(probs: np.ndarray, answers: Labelled) -> np.ndarray:
    """Sum probabilities over ``..., stance_class`` to ``..., class``."""
    into = np.eye(len(answers.classes.names))[list(answers.classes.of_stance)]
    return np.asarray(probs @ into)


def tempered(probs: np.ndarray, temperature: float) -> np.ndarray:
    """Divide the logarithms of probabilities by a temperature, and normalise."""
    logs = np.log(np.maximum(probs, _LEAST)) / temperature
    logs -= logs.max(axis=-1, keepdims=True)
    powers = np.exp(logs)
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))
