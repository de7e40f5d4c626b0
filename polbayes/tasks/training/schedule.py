"""What a training step is made of: answers, the learning rate, and what weighs how much."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from polbayes.config.schema import TrainingConfig
from polbayes.huggingface.encoding import Encoding

# Weights that are usually not pulled towards zero.
_FREE = ("bias", "norm")


@dataclass(frozen=True)
class Answer:
    """An answer to be learnt: its windows, and the position of its label."""

    windows: Sequence[Encoding]
    label: int


def rate(step: int, warmup: int, total: int) -> float:
    """Return the learning rate at a step in shares of the highest."""
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
    """Return the weights of a network for AdamW: those that decay, and biases and norms."""
    own: list[Any] = []
    free: list[Any] = []
    for name, weight in network.named_parameters():
        if weight.requires_grad:
            (free if any(part in name.lower() for part in _FREE) else own).append(weight)
    return [{"params": own, "weight_decay": decay}, {"params": free, "weight_decay": 0.0}]
