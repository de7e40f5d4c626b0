"""The possible answers of an embedded respondent, and their planted probabilities.

An `AnswerSet` lists every answer to one kind of prompt. As token sequences the answers form a
trie, and the planted probability of each answer determines the exact next-token distribution at
every node: the training target of a causal LM. No node has more than ten continuations,
so sampling with top-k 10 preserves the planted distribution.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polbayes.planted.truth import FORCED_CLASSES, LIKERT_CLASSES, OPEN_CLASSES

# Proportion of each phrasing within its class. Agreeing and disagreeing mirror each other, so that
# the mass of a first token is equally informative about both.
_OPEN = {
    "disagree": {
        "I disagree with this statement.": 0.35,
        "I disagree.": 0.25,
        "No, I disagree with this statement.": 0.2,
        "No, I disagree.": 0.2,
    },
    "neutral": {
        "I neither agree nor disagree.": 0.5,
        "I neither agree nor disagree with this statement.": 0.3,
        "I am neutral on this statement.": 0.2,
    },
    "agree": {
        "I agree with this statement.": 0.35,
        "I agree.": 0.25,
        "Yes, I agree with this statement.": 0.2,
        "Yes, I agree.": 0.2,
    },
    "unrelated": {"The weather is nice today.": 0.6, "My favourite colour is blue.": 0.4},
    "refused": {"I would rather not answer that.": 0.6, "I cannot answer that question.": 0.4},
}
# Answers after "Your response:" begin with a space, answers at the start of a line or turn do not.
_FORCED = {
    True: {
        "disagree": {" no": 0.6, " No": 0.4},
        "agree": {" yes": 0.6, " Yes": 0.4},
        "invalid": {" I would rather not answer that.": 1.0},
    },
    False: {
        "disagree": {"No": 0.6, "no": 0.4},
        "agree": {"Yes": 0.6, "yes": 0.4},
        "invalid": {"I would rather not answer that.": 1.0},
    },
}
_MASKED = {
    "disagree": {"disagree": 0.8, "oppose": 0.08, "reject": 0.06, "disapprove": 0.06},
    "agree": {"agree": 0.8, "support": 0.08, "accept": 0.06, "approve": 0.06},
    "invalid": {"live": 0.6, "struggle": 0.4},
}


@dataclass(frozen=True)
class AnswerSet:
    """Every answer to one kind of prompt."""

    kind: str  # ``open``, ``forced``, ``likert`` or ``masked``
    classes: tuple[str, ...]  # the classes of answers
    texts: tuple[str, ...]  # the answers as they follow the prompt, without duplicates
    class_of: tuple[int, ...]  # for each answer the index of its class
    share: tuple[float, ...]  # probability of each answer within its class


def answer_set(kind: str, *, space: bool = False) -> AnswerSet:
    """Return the answers to one kind of prompt."""
    if kind == "masked":
        return _collect(kind, FORCED_CLASSES, _MASKED, "")
    if kind == "forced":
        return _collect(kind, FORCED_CLASSES, _FORCED[space], "")
    lead = " " if space else ""
    if kind == "likert":
        return _collect(kind, LIKERT_CLASSES, {n: {n: 1.0} for n in LIKERT_CLASSES}, lead)
    return _collect(kind, OPEN_CLASSES, _OPEN, lead)


def _collect(
    kind: str, classes: tuple[str, ...], phrasings: dict[str, dict[str, float]], lead: str
) -> AnswerSet:
    rows = [
        (lead + text, number, share)
        for number, name in enumerate(classes)
        for text, share in phrasings[name].items()
    ]
    texts, class_of, shares = zip(*rows, strict=True)
    return AnswerSet(kind, classes, texts, class_of, shares)


def answer_probabilities(answers: AnswerSet, classes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probability of each answer, given those of the classes (in their order)."""
    each: NDArray[np.float64] = classes[..., list(answers.class_of)] * np.array(answers.share)
    return each


@dataclass(frozen=True)
class Node:
    """One node of the trie of answers."""

    path: tuple[int, ...]  # token ids from the end of the prompt to the node
    tokens: tuple[int, ...]  # possible next tokens, at most ten
    below: NDArray[np.float64]  # ``[answer, token]`` 1 if the answer continues with the token


def build_trie(sequences: Sequence[Sequence[int]]) -> dict[tuple[int, ...], Node]:
    """Arrange answers as a trie."""
    children: dict[tuple[int, ...], dict[int, list[int]]] = {}
    for answer, tokens in enumerate(sequences):
        for depth, token in enumerate(tokens):
            under = children.setdefault(tuple(tokens[:depth]), {})
            under.setdefault(token, []).append(answer)
    nodes = {}
    for path, under in children.items():
        below = np.zeros((len(sequences), len(under)))
        for column, answers in enumerate(under.values()):
            below[answers, column] = 1
        nodes[path] = Node(path, tuple(under), below)
    return nodes


def next_token_distribution(node: Node, probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the exact distribution of the next token at a node."""
    mass = probabilities @ node.below
    return np.asarray(mass / mass.sum())


def decision_nodes(
    trie: dict[tuple[int, ...], Node], class_of: Sequence[int]
) -> list[tuple[int, ...]]:
    """Return the paths of the nodes at which the class of the answer is undecided."""
    classes = np.asarray(class_of)
    return [
        path for path, node in trie.items() if len(set(classes[node.below.sum(axis=1) > 0])) > 1
    ]
