"""Sentiment by a Hugging Face text classifier."""

from collections.abc import Mapping, Sequence

import numpy as np

from polbayes.config.schema import CoderConfig
from polbayes.data.progress import progress_bar
from polbayes.errors import UserError, check_known
from polbayes.huggingface.encoding import Encoding
from polbayes.huggingface.sequence import SequenceClassifier

_WHERE = "features.sentiment"
_SIDES = ("positive", "negative")
# So many batches between two steps of the bar; within, texts of one length go together.
_BATCHES = 20


def classify(
    texts: Sequence[str],
    name: str,
    *,
    labels: Mapping[str, str],
    batch_size: int = 32,
    device: str = "auto",
) -> np.ndarray:
    """Return ``[text, 2]`` probabilities of positive and negative; long texts are cut off."""
    from scipy.special import softmax

    classifier = _open(name, batch_size=batch_size, device=device)
    columns = _columns(name, classifier.labels, labels)
    encoder, step = classifier.encoder(), _BATCHES * batch_size
    found = np.empty((len(texts), 2))
    with progress_bar("sentiment", total=len(texts), unit="wordings") as bar:
        for start in range(0, len(texts), step):
            part = [_cut(encoder.encode(t, ""), encoder.limit) for t in texts[start : start + step]]
            shares = softmax(classifier.logits(part).astype(float), axis=1)
            found[start : start + step] = shares[:, columns]
            bar.update(len(part))
    classifier.close()
    return found


def check_classifier(name: str, *, labels: Mapping[str, str]) -> None:
    """Check that a classifier is there and tells positive from negative."""
    _columns(name, _open(name).labels, labels)


def _open(name: str, *, batch_size: int = 32, device: str = "auto") -> SequenceClassifier:
    config = CoderConfig(checkpoint=name, batch_size=batch_size, device=device)
    return SequenceClassifier("sentiment", config, under="features")


def _cut(encoding: Encoding, limit: int) -> Encoding:
    """Leave out what is too long before the last token, which closes the text."""
    if len(encoding["input_ids"]) <= limit:
        return encoding
    return {key: [*values[: limit - 1], values[-1]] for key, values in encoding.items()}


def _columns(name: str, labels: Sequence[str], given: Mapping[str, str]) -> list[int]:
    """Find the logits of the positive and the negative label."""
    where = "features.sentiment_labels"
    check_known("side", *given, known=_SIDES, where=where)
    columns = []
    for side in _SIDES:
        if side in given:
            check_known("label", given[side], known=labels, where=f"{where}.{side}")
            columns.append(labels.index(given[side]))
            continue
        named = [k for k, label in enumerate(labels) if label.lower() in (side, side[:3])]
        if len(named) != 1:
            raise UserError(
                f"{_WHERE}: '{name}' has the labels {', '.join(labels)}, of which none is called "
                f"{side}; say which it is, as {where}.{side}=LABEL."
            )
        columns += named
    return columns
