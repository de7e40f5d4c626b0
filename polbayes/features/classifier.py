"""Sentiment by a Hugging Face text classifier."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from polbayes.config import RespondentConfig
from polbayes.errors import UserError, unknown
from polbayes.respondents.checkpoint import (
    DEVICES,
    find_device,
    load_about,
    load_tokenizer,
    load_weights,
    locate,
)

_WHERE = "features.sentiment"
_SIDES = ("positive", "negative")
# What a tokenizer that knows no limit gives as one.
_NO_LIMIT = 1_000_000


@dataclass(frozen=True)
class Classifier:
    """A loaded text classifier.

    Parameters
    ----------
    tokenizer, model
        The checkpoint.
    labels
        Its labels, in the order of its logits.
    longest
        The most tokens that it reads; what is longer is cut off at the end.
    """

    tokenizer: Any
    model: Any
    labels: tuple[str, ...]
    longest: int


def classify(
    texts: Sequence[str],
    name: str,
    *,
    labels: Mapping[str, str],
    batch_size: int = 32,
    device: str = "auto",
) -> np.ndarray:
    """Let a classifier judge texts.

    Parameters
    ----------
    texts
        The texts, none of them empty.
    name
        Hub name or folder of the classifier.
    labels
        Its labels for ``positive`` and ``negative``, where they have other names.
    batch_size
        Texts in one forward pass.
    device
        ``auto``, ``cpu``, ``cuda`` or ``mps``.

    Returns
    -------
    numpy.ndarray
        ``[text, 2]`` probabilities of the positive and the negative label, in [0, 1].

    Raises
    ------
    UserError
        If it cannot be had, or its labels are not known.
    """
    import torch
    from tqdm import tqdm

    loaded = _load(name, device)
    columns = _columns(name, loaded.labels, labels)
    encoded = loaded.tokenizer(list(texts), truncation=True, max_length=loaded.longest)
    size = [len(ids) for ids in encoded["input_ids"]]
    # Texts of one length together: hardly any padding.
    order = sorted(range(len(texts)), key=lambda k: size[k])
    found = np.empty((len(texts), 2))
    # None leaves it to tqdm, which is silent where there is no terminal.
    with tqdm(total=len(texts), desc="sentiment", unit="wordings", disable=None) as bar:
        for start in range(0, len(order), batch_size):
            batch = order[start : start + batch_size]
            part = {key: [values[k] for k in batch] for key, values in encoded.items()}
            given = loaded.tokenizer.pad(part, return_tensors="pt").to(loaded.model.device)
            with torch.no_grad():
                logits = loaded.model(**given).logits.float()
            found[batch] = logits.softmax(dim=1)[:, columns].cpu().numpy()
            bar.update(len(batch))
    return found


def check_classifier(name: str, *, labels: Mapping[str, str]) -> None:
    """Check that a classifier is there and tells positive from negative.

    Raises
    ------
    UserError
        If not.
    """
    source = locate("", RespondentConfig(checkpoint=name), key=_WHERE)
    _columns(name, _labels(load_about(source)), labels)


@lru_cache(maxsize=1)
def _load(name: str, device: str) -> Classifier:
    from transformers import AutoModelForSequenceClassification

    if device not in DEVICES:
        raise unknown("device", device, DEVICES, where="features.device")
    source = locate("", RespondentConfig(checkpoint=name), key=_WHERE)
    about = load_about(source)
    place = find_device(device, "features.device")
    model = load_weights(
        source, about, AutoModelForSequenceClassification, dtype="float32", called="text classifier"
    )
    tokenizer = load_tokenizer(source)
    longest = int(min(tokenizer.model_max_length, _NO_LIMIT))
    if longest == _NO_LIMIT:
        # RoBERTa's positions begin after that of the padding.
        longest = int(getattr(about, "max_position_embeddings", 512)) - 2
    return Classifier(tokenizer, model.to(place).eval(), _labels(about), longest)


def _labels(about: Any) -> tuple[str, ...]:
    return tuple(str(label) for _, label in sorted(about.id2label.items()))


def _columns(name: str, labels: Sequence[str], given: Mapping[str, str]) -> list[int]:
    """Find the logits of the positive and the negative label."""
    where = "features.sentiment_labels"
    for side in given:
        if side not in _SIDES:
            raise unknown("side", side, _SIDES, where=where)
    columns = []
    for side in _SIDES:
        if side in given:
            if given[side] not in labels:
                raise unknown("label", given[side], labels, where=f"{where}.{side}")
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
