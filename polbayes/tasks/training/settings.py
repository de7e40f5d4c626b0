"""Checks of the config's section ``training`` before anything is read."""

import math
from pathlib import Path

from polbayes.config.schema import TrainingConfig
from polbayes.errors import UserError, check_known, unknown
from polbayes.tasks.validation.labelled import GROUPS

SECTION = "training"
# Columns by which answers can be kept together.
_TOGETHER = ("statement", "item", *GROUPS)
DTYPES = ("float32", "bfloat16")
BALANCED = "balanced"


def check_settings(settings: TrainingConfig) -> None:
    """Refuse settings that cannot be used for training."""
    if settings.held_out + settings.validation >= 1:
        raise UserError(
            f"{SECTION}.held_out and {SECTION}.validation together leave nothing to train on; "
            "they must add up to less than 1."
        )
    if settings.group is not None and settings.group not in _TOGETHER:
        raise unknown("group", settings.group, _TOGETHER, where=f"{SECTION}.group")
    if settings.class_weights not in (None, BALANCED):
        raise unknown(
            "class weights", settings.class_weights, (BALANCED,), where=f"{SECTION}.class_weights"
        )
    check_known("dtype", settings.dtype, known=DTYPES, where=SECTION)
    if not settings.folder.strip() or Path(settings.folder).name in ("", ".."):
        raise UserError(f"{SECTION}.folder: is no folder of its own; name one, such as coder.")


def total_steps(settings: TrainingConfig, n: int) -> int:
    """Return the maximum number of batches."""
    total = settings.steps
    if settings.epochs is not None:
        total = math.ceil(settings.epochs * steps_per_epoch(settings, n))
    if settings.warmup_steps >= total:
        raise UserError(
            f"{SECTION}.warmup_steps: {settings.warmup_steps} steps of warm-up are all of the "
            f"{total} steps of this training; choose fewer, such as {total // 4}."
        )
    return total


def steps_per_epoch(settings: TrainingConfig, n: int) -> int:
    """Return the number of batches in an epoch; the last may be smaller."""
    return math.ceil(n / settings.batch_size)
