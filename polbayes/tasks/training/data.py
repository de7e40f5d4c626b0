"""Labelled answers as training data: outputs, tokens, parts, and a temperature."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from polbayes.coding.readings import Reading
from polbayes.config.schema import TrainingConfig
from polbayes.data.dataset import STANCE_CLASSES
from polbayes.data.prose import plural
from polbayes.errors import UserError
from polbayes.huggingface.encoding import Encoder, without_markup
from polbayes.measures.resampling import generator
from polbayes.tasks.training.schedule import Answer
from polbayes.tasks.training.settings import SECTION
from polbayes.tasks.validation.labelled import Classes, Labelled

TRAIN, VALIDATION, HELD_OUT = "training", "validation", "held out"


@dataclass(frozen=True)
class Outputs:
    """The classes that the classifier distinguishes."""

    stances: tuple[str, ...]  # in the order of its outputs
    names: tuple[str, ...]  # what the table calls them
    of_class: np.ndarray  # for each class of the table its output; -1 where it does not occur


def outputs_of(answers: Labelled, merge: Mapping[str, Sequence[str]]) -> Outputs:
    """Determine the classes that a classifier of these answers distinguishes."""
    classes = answers.classes.names
    there = [k for k in range(len(classes)) if (answers.labels == k).any()]
    if len(there) < 2:
        raise UserError(
            f"{SECTION}: all answers are labelled '{classes[there[0]]}'; a classifier needs "
            "answers of two classes at least."
        )
    stances = [
        classes[k] if classes[k] in STANCE_CLASSES else str(merge[classes[k]][0]) for k in there
    ]
    of_class = np.full(len(classes), -1)
    of_class[there] = np.arange(len(there))
    return Outputs(tuple(stances), tuple(classes[k] for k in there), of_class)


@dataclass(frozen=True)
class Material:
    """Labelled answers in the form used for training."""

    answers: list[Answer]  # those with any text
    rows: np.ndarray  # their positions in the table's labelled answers
    parts: Mapping[str, np.ndarray]  # positions among `answers`
    n_empty: int

    def part(self, name: str) -> list[Answer]:
        """Return the answers of a part."""
        return [self.answers[k] for k in self.parts[name]]


def prepare(
    labelled: Labelled,
    outputs: Outputs,
    encoder: Encoder,
    how: Reading,
    settings: TrainingConfig,
    *,
    seed: int,
) -> Material:
    """Tokenise labelled answers and split them."""
    labels = outputs.of_class[labelled.labels]
    texts = [without_markup(response) for response in labelled.responses]
    windows = [
        encoder.answer(how.fill, statement, text)
        for statement, text in zip(labelled.statements, texts, strict=True)
    ]
    rows = np.array([k for k, found in enumerate(windows) if found], dtype=np.int64)
    answers = [Answer(windows[k], int(labels[k])) for k in rows]
    units = _units(labelled, texts, settings.group)
    shares = {
        TRAIN: 1 - settings.held_out - settings.validation,
        VALIDATION: settings.validation,
        HELD_OUT: settings.held_out,
    }
    parts = split(labels[rows], [units[k] for k in rows], shares, seed=seed)
    _check_parts(parts, labels[rows], shares, outputs)
    return Material(answers, rows, parts, len(texts) - len(rows))


def _units(labelled: Labelled, texts: Sequence[str], group: str | None) -> list[object]:
    if group is None:
        return list(zip(labelled.statements, texts, strict=True))
    if group == "statement":
        return list(labelled.statements)
    values = labelled.items if group == "item" else labelled.groups.get(group)
    if values is None:
        raise UserError(
            f"{SECTION}.group: the table has no column '{group}'; say which one it is as "
            f"{SECTION}.columns.{group}=COLUMN."
        )
    return list(values)


def _check_parts(
    parts: Mapping[str, np.ndarray],
    labels: np.ndarray,
    shares: Mapping[str, float],
    outputs: Outputs,
) -> None:
    if len(np.unique(labels[parts[TRAIN]])) < 2:
        raise UserError(
            f"{SECTION}: fewer than two of the classes {', '.join(outputs.names)} are among the "
            f"{plural(len(parts[TRAIN]), 'answer')} to be trained on; label more answers."
        )
    for name, key in ((VALIDATION, "validation"), (HELD_OUT, "held_out")):
        if shares[name] > 0 and not len(parts[name]):
            raise UserError(
                f"{SECTION}.{key}: a share of {shares[name]:g} of "
                f"{plural(len(labels), 'answer')} is none; label more answers, or set "
                f"{SECTION}.{key}=0."
            )


def by_output(labelled: Labelled, outputs: Outputs) -> Labelled:
    """Return answers whose classes are the outputs."""
    names = Classes(outputs.stances, tuple(range(len(outputs.stances))))
    return replace(labelled, labels=outputs.of_class[labelled.labels], classes=names)


def labelled_frame(labelled: Labelled) -> pd.DataFrame:
    """Return labelled answers as a table that needs no mapping of columns."""
    columns: dict[str, object] = {
        "statement": labelled.statements,
        "response": labelled.responses,
        "label": [labelled.classes.names[k] for k in labelled.labels],
        **labelled.groups,
    }
    if labelled.items is not None:
        columns["item"] = labelled.items
    if labelled.keying is not None:
        columns["keying"] = labelled.keying
    return pd.DataFrame(columns)


def split(
    labels: np.ndarray, units: Sequence[Hashable], shares: Mapping[str, float], *, seed: int
) -> dict[str, np.ndarray]:
    """Split answers."""
    number = {unit: k for k, unit in enumerate(dict.fromkeys(units))}
    unit_of = np.array([number[unit] for unit in units], dtype=np.int64)
    counts = np.zeros((len(number), int(labels.max(initial=0)) + 1))
    np.add.at(counts, (unit_of, labels), 1)
    parts = [name for name, share in shares.items() if share > 0]
    wanted = np.array([shares[name] for name in parts])
    part_of = _assign(counts, wanted / wanted.sum(), generator(seed, "training", "split"))
    chosen = part_of[unit_of] if len(units) else unit_of
    return {
        name: np.flatnonzero(chosen == parts.index(name))
        if name in parts
        else np.array([], dtype=np.int64)
        for name in shares
    }


def _assign(counts: np.ndarray, shares: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the part of each unit, from counts (unit, class) and shares (part)."""
    total = counts.sum(axis=0)
    # The excess (part, class), in shares of the class so that rare classes count equally.
    excess = -shares[:, None] * total
    order = rng.permutation(len(counts))
    order = order[np.argsort(-counts[order].sum(axis=1), kind="stable")]
    weight = 1 / np.maximum(total, 1)
    out = np.empty(len(counts), dtype=np.int64)
    for unit in order:
        # The increase in squared distance from the target.
        growth = (weight * counts[unit] * (2 * excess + counts[unit])).sum(axis=1)
        out[unit] = int(growth.argmin())
        excess[out[unit]] += counts[unit]
    return out
