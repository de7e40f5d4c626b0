"""Coders that are Hugging Face checkpoints: inference, sentiment, stance classifiers.

Answers that are too long for the model are read in overlapping windows, whose probabilities are
averaged: if an answer says one thing first and another later, both count.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from polbayes.coding.readings import Reading, reading
from polbayes.coding.registry import passed_on
from polbayes.config.schema import CoderConfig
from polbayes.data.dataset import STANCE_CLASSES
from polbayes.data.progress import progress_bar
from polbayes.data.provenance import json_digest, text_digest
from polbayes.huggingface.encoding import Encoding, without_markup
from polbayes.huggingface.sequence import SequenceClassifier
from polbayes.probing.journal import Journal, Record

# Increase it when the same checkpoint and texts would give other probabilities.
_VERSION = 1

Pair = tuple[str, str]


def open_checkpoint_coder(
    name: str, config: CoderConfig, models: Mapping[str, CoderConfig], journal_dir: Path | None
) -> "CheckpointCoder":
    """Make a coder of a checkpoint; its weights are loaded on first use."""
    classifier = SequenceClassifier(name, config)
    how = reading(classifier.where, config, classifier.labels, classifier.trained)
    return CheckpointCoder(name, classifier, how, config, journal_dir)


class CheckpointCoder:
    """A checkpoint that reads stances, and keeps its readings in a folder, if given one."""

    def __init__(
        self,
        name: str,
        classifier: SequenceClassifier,
        how: Reading,
        config: CoderConfig,
        journal_dir: Path | None,
    ) -> None:
        self._name = name
        self._classifier = classifier
        self._how = how
        self._config = config
        self._journal_dir = journal_dir

    @property
    def identity(self) -> dict[str, Any]:
        """What determines the probabilities, as JSON values; not the threshold."""
        return {
            "version": _VERSION,
            "kind": self._config.kind,
            **self._classifier.identity,
            **self._how.meaning,
        }

    def __call__(self, statements: Sequence[str], responses: Sequence[str]) -> np.ndarray:
        """Code answers; abstain if one is empty or no class is probable enough."""
        texts = [without_markup(response) for response in responses]
        pairs = list(zip(statements, texts, strict=True))
        known = self._read([pair for pair in dict.fromkeys(pairs) if pair[1]])
        nothing = np.full(len(STANCE_CLASSES), np.nan)
        rows = [known.get(text_digest(*pair), nothing) for pair in pairs]
        probs = np.array(rows, dtype=np.float32).reshape(len(pairs), len(STANCE_CLASSES))
        return passed_on(probs, self._config.threshold)

    def _read(self, pairs: Sequence[Pair]) -> dict[str, np.ndarray]:
        """Return the probabilities of distinct pairs by their digest."""
        known: dict[str, np.ndarray] = {}
        with ExitStack() as stack:
            journal = None
            if self._journal_dir is not None and pairs:
                identity = self.identity
                path = self._journal_dir / _file(identity)
                journal = stack.enter_context(Journal(path, identity))
                known = {r["pair"]: _numbers(r) for r in journal.records if "pair" in r}
            left = [pair for pair in pairs if text_digest(*pair) not in known]
            if left:
                stack.callback(self._classifier.close)
                done = len(pairs) - len(left)
                bar = stack.enter_context(
                    progress_bar(self._name, total=len(pairs), done=done, unit="answer")
                )
                for records in self._batches(left):
                    if journal is not None:
                        journal.extend(records)
                    known.update({r["pair"]: _numbers(r) for r in records})
                    bar.update(len(records))
        return known

    def _batches(self, pairs: Sequence[Pair]) -> Iterator[list[Record]]:
        """Yield the readings in batches, the longest answers (by characters) first."""
        encoder = self._classifier.encoder()
        batch: list[tuple[Pair, list[Encoding]]] = []
        for pair in sorted(pairs, key=lambda pair: -len(pair[0]) - len(pair[1])):
            batch.append((pair, encoder.answer(self._how.fill, *pair)))
            if sum(len(encodings) for _, encodings in batch) >= self._config.batch_size:
                yield self._records(batch)
                batch = []
        if batch:
            yield self._records(batch)

    def _records(self, batch: Sequence[tuple[Pair, list[Encoding]]]) -> list[Record]:
        logits = self._classifier.logits([e for _, encodings in batch for e in encodings])
        records, start = [], 0
        for pair, encodings in batch:
            own = logits[start : start + len(encodings)]
            start += len(encodings)
            probs = None
            if len(own):
                # Dimensions window, question, label.
                cube = own.reshape(-1, len(self._how.texts), own.shape[1])
                # Nine digits identify a 32-bit float.
                probs = [float(f"{x:.9g}") for x in self._how.of_answer(cube)]
            records.append({"pair": text_digest(*pair), "probs": probs})
        return records


def _numbers(record: Record) -> np.ndarray:
    probs = record["probs"]
    return np.full(len(STANCE_CLASSES), np.nan) if probs is None else np.array(probs)


def _file(identity: Mapping[str, Any]) -> str:
    return f"{identity['kind']}-{json_digest(identity, size=8)}.jsonl"
