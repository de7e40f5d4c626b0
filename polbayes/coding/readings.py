"""The input of sequence classifiers for an answer, and reading a stance from their output.

Natural-language inference
    The method of Feng et al. (2023, section 2.1, and their published script), adopted by
    Faulborn et al. (2025, section 3.4) and Lunardi et al. (2024, section 3.2): the premise is
    the statement followed by the answer, every label is the hypothesis "This example is LABEL.",
    and the probabilities are the softmax of the hypotheses' entailment logits. Feng et al. use
    the labels agree and disagree; the default here is the four of Faulborn et al., who do not
    print their hypotheses. A single hypothesis, for ``agree``, is read as inference proper: its
    entailment is agreement, its contradiction is disagreement.

Sentiment
    Positive sentiment counts as agreement, negative as disagreement: the ablation of Lunardi et
    al. (2024, section 5), who found that it mistakes the tone of an answer for its stance.

Classifier
    The labels of a checkpoint trained on stances are stances. One trained here
    (`polbayes.tasks.training`) records in its ``config.json`` its input, and the temperature
    that calibrates it.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polbayes.config.schema import CoderConfig
from polbayes.data.dataset import STANCE_CLASSES
from polbayes.errors import UserError, check_known, unknown
from polbayes.huggingface.trained import Trained

RELATIONS = ("entailment", "neutral", "contradiction")
_HYPOTHESES = {name: f"This example is {name}." for name in STANCE_CLASSES if name != "refused"}
_OF_RELATION = {"entailment": "agree", "neutral": "neutral", "contradiction": "disagree"}

_SENTIMENTS = {
    "disagree": ("negative", "neg", "very negative", "1 star", "2 stars"),
    "neutral": ("neutral", "neu", "3 stars"),
    "agree": ("positive", "pos", "very positive", "4 stars", "5 stars"),
}
_TEXTS = {
    "nli": ("{statement} {response}", ""),
    "sentiment": ("{response}", ""),
    "classifier": ("{statement}", "{response}"),
}
_FIELD = re.compile(r"\{(\w*)\}")


@dataclass(frozen=True)
class Reading:
    """The input of a classifier, and the meaning of its output."""

    # Templates of the two texts, one pair per question about an answer; the second may be empty.
    texts: tuple[tuple[str, str], ...]
    # Turns logits (answer, question, label) into probabilities (answer, stance_class).
    stance: Callable[[NDArray[np.float32]], NDArray[np.float64]]
    meaning: dict[str, object]  # the same in words, as JSON
    temperature: float = 1.0  # see `Trained`

    def fill(self, statement: str, response: str) -> list[tuple[str, str]]:
        """Return the texts for an answer to a statement."""
        values = {"statement": statement, "response": response}

        # In one pass, so that a field's name inside an answer is left alone.
        def put(template: str) -> str:
            return _FIELD.sub(lambda match: values[match[1]], template)

        return [(put(first), put(second)) for first, second in self.texts]

    def of_answer(self, logits: NDArray[np.float32]) -> NDArray[np.float64]:
        """Turn logits (window, question, label) into calibrated probabilities."""
        probs = np.asarray(self.stance(logits).mean(axis=0))
        if self.temperature == 1:
            return probs
        # A power, not a logarithm: classes that the checkpoint lacks stay at zero.
        powers = (probs / probs.max()) ** (1 / self.temperature)
        return np.asarray(powers / powers.sum())


def reading(
    where: str, config: CoderConfig, labels: Sequence[str], trained: Trained | None = None
) -> Reading:
    """Return how a checkpoint of kind ``nli``, ``sentiment`` or ``classifier`` is read.

    `where` is the key that declares it, `labels` are those of its outputs in order, and `trained`
    is a classifier's own record, which yields to the texts of the declaration.
    """
    own = trained if trained is not None and config.kind == "classifier" else Trained()
    first, second = next(
        pair
        for pair in ((config.text, config.pair), (own.text, own.pair), _TEXTS[config.kind])
        if any(pair)
    )
    if not first:
        first, second = second, ""
    if config.kind == "nli":
        return _inference(where, first, config, labels)
    _check_templates(where, {"text": first, "pair": second})
    meant = _meanings(where, config, labels)
    matrix = np.array([[name == own for name in STANCE_CLASSES] for own in meant], dtype=float)

    def stance(logits: NDArray[np.float32]) -> NDArray[np.float64]:
        return np.asarray(softmax(logits[:, 0]) @ matrix)

    texts = ((first, second),)
    meaning = _meaning(texts, dict(zip(labels, meant, strict=True)))
    if own.temperature != 1:
        meaning["temperature"] = own.temperature
    return Reading(texts, stance, meaning, own.temperature)


def _inference(where: str, premise: str, config: CoderConfig, labels: Sequence[str]) -> Reading:
    hypotheses = dict(config.hypotheses) or _HYPOTHESES
    for name, text in hypotheses.items():
        check_known("stance class", name, known=STANCE_CLASSES, where=f"{where}: hypotheses")
        _check_fields(f"{where}: hypotheses.{name}", text, ("statement",))
    _check_templates(where, {"text": premise})
    relations = _relations(where, config, labels)
    at = [relations.index(name) for name in RELATIONS]
    meaning = dict(zip(labels, relations, strict=True))
    texts = tuple((premise, text) for text in hypotheses.values())
    if len(hypotheses) > 1:
        columns = [STANCE_CLASSES.index(name) for name in hypotheses]
        return Reading(
            texts, lambda x: _spread(softmax(x[:, :, at[0]]), columns), _meaning(texts, meaning)
        )
    if list(hypotheses) != ["agree"]:
        raise UserError(
            f"{where}: hypotheses: a single hypothesis must be for agree, whose "
            "contradiction is disagreement; otherwise give one for each class."
        )
    columns = [STANCE_CLASSES.index(_OF_RELATION[name]) for name in RELATIONS]
    return Reading(
        texts, lambda x: _spread(softmax(x[:, 0, at]), columns), _meaning(texts, meaning)
    )


def softmax(logits: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return probabilities over the last axis, in 32 bits or more."""
    scaled = np.exp(logits.astype(np.float64) - logits.max(axis=-1, keepdims=True))
    return np.asarray(scaled / scaled.sum(axis=-1, keepdims=True))


def _spread(probs: NDArray[np.float64], columns: Sequence[int]) -> NDArray[np.float64]:
    """Put probabilities into the columns of their stance classes; the others have none."""
    out = np.zeros((len(probs), len(STANCE_CLASSES)))
    out[:, columns] = probs
    return out


def _meaning(texts: Sequence[tuple[str, str]], labels: Mapping[str, str]) -> dict[str, object]:
    return {"texts": [list(pair) for pair in texts], "labels": dict(labels)}


def _relations(where: str, config: CoderConfig, labels: Sequence[str]) -> list[str]:
    """Return the relation of each label of an NLI checkpoint."""
    _check_label_names(where, config, labels, RELATIONS)
    found = [config.labels.get(label) or _relation(label) for label in labels]
    if sorted(map(str, found)) != sorted(RELATIONS):
        raise UserError(
            f"{where}: entailment, neutral and contradiction are not identified by the labels "
            f"of '{config.checkpoint}' ({', '.join(labels)}); choose a checkpoint trained on MNLI, "
            "or map them under labels."
        )
    return [str(name) for name in found]


def _relation(label: str) -> str | None:
    stems = {"entail": "entailment", "neutral": "neutral", "contradict": "contradiction"}
    return next((name for stem, name in stems.items() if label.lower().startswith(stem)), None)


def _meanings(where: str, config: CoderConfig, labels: Sequence[str]) -> list[str]:
    """Return the stance class of each label."""
    _check_label_names(where, config, labels, STANCE_CLASSES)
    own = {name: name for name in STANCE_CLASSES}
    if config.kind == "sentiment":
        own = {word: name for name, words in _SENTIMENTS.items() for word in words}
    found = [config.labels.get(x) or own.get(x.strip().lower().replace("_", " ")) for x in labels]
    missing = [label for label, name in zip(labels, found, strict=True) if name is None]
    if missing:
        raise UserError(
            f"{where}: the stance of the labels {', '.join(missing)} of '{config.checkpoint}' is "
            f"unknown; map them under labels, e.g. {{{missing[0]}: agree}}, to "
            f"{', '.join(STANCE_CLASSES)}."
        )
    return [str(name) for name in found]


def _check_label_names(
    where: str, config: CoderConfig, labels: Sequence[str], known: Sequence[str]
) -> None:
    for label, meaning in config.labels.items():
        check_known("label", label, known=labels, where=f"{where}: labels")
        check_known("meaning", meaning, known=known, where=f"{where}: labels.{label}")


def _check_templates(where: str, templates: Mapping[str, str]) -> None:
    for key, text in templates.items():
        _check_fields(f"{where}: {key}", text, ("statement", "response"))
    if sum(text.count("{response}") for text in templates.values()) != 1:
        raise UserError(
            f"{where}: {' and '.join(templates)}: must have the field {{response}} exactly once."
        )


def _check_fields(where: str, text: str, known: Sequence[str]) -> None:
    for name in _FIELD.findall(text):
        if name not in known:
            raise unknown("field", f"{{{name}}}", [f"{{{k}}}" for k in known], where=where)
