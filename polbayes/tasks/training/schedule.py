"""The parts of a training step: answers, learning rate, and weights in the loss."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from polbayes.config.schema import TrainingConfig
from polbayes.huggingface.encoding import Encoding

# Parameters usually exempt from decay.
_FREE = ("bias", "norm")


@dataclass(frozen=True)
class Answer:
    """A training answer: its windows, and the index of its label."""

    windows: Sequence[Encoding]
    label: int


def rate(step: int, warmup: int, total: int) -> float:
    """Return the learning rate at a step as a share of the highest."""
    if step < warmup:
        return (step + 1) / warmup
    return (total - step) / (total - warmup)


def class_weights(answers: Sequence[Answer], n_labels: int, settings: TrainingConfig) -> np.ndarray:
    """Return the weight of each label in the loss."""
    if settings.class_weights is None:
        return np.ones(n_labels, dtype=np.float32)
    counts = np.bincount([answer.label for answer in answers], minlength=n_labels)
    weights = len(answers) / ((counts > 0).sum() * np.maximum(counts, 1))
    return np.asarray(weights, dtype=np.float32)


def groups(network: Any, decay: float) -> list[dict[str, Any]]:
    """Return the parameters of a network for AdamW: those that decay, and biases and norms."""
    own: list[Any] = []
    free: list[Any] = []
    for name, weight in network.named_parameters():
        if weight.requires_grad:
            (free if any(part in name.lower() for part in _FREE) else own).append(weight)
    return [{"params": own, "weight_decay": decay}, {"params": free, "weight_decay": 0.0}]
