"""Training examples: token ids of a prompt and an answer, with exact targets."""

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from polbayes.planted.truth import Truth, class_probabilities, linear_predictor
from tools.embedded.answers import (
    AnswerSet,
    Node,
    answer_probabilities,
    build_trie,
    next_token_distribution,
)
from tools.embedded.corpus import (
    Form,
    Wording,
    answers_to,
    perturb,
    prompt,
    random_name,
    shipped_prefixes,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Example:
    """One prompt with an answer.

    Parameters
    ----------
    ids
        Token ids of the prompt and the answer.
    labelled
        Positions whose hidden state predicts a token of the answer.
    targets
        For each labelled position the possible token ids and their probabilities.
    item, wording, prefix
        Class of the item and polarity, index of the wording, and index of the prefix: the targets
        of a reader.
    """

    ids: list[int]
    labelled: list[int]
    targets: "list[tuple[tuple[int, ...], NDArray[np.float64]]]"
    item: int
    wording: int
    prefix: int


@dataclass(frozen=True)
class Asking:
    """The inputs of one respondent's examples.

    Parameters
    ----------
    truth
        The parameters planted in the answers.
    name
        Its name in the prefix with a name.
    wordings, forms
        Each is drawn with equal probability.
    """

    truth: Truth
    name: str
    wordings: Sequence[Wording]
    forms: Sequence[Form]


# Proportion of common words from which two wordings of opposite polarity are hard to distinguish.
_ALIKE = 0.6
# Items with fewer wordings have each of them asked more often.
_FEW = 5


def item_classes(wordings: Sequence[Wording]) -> list[int]:
    """Return the number of the pair of item and polarity for each wording."""
    numbers: dict[tuple[str, int], int] = {}
    return [numbers.setdefault((w.item, w.polarity), len(numbers)) for w in wordings]


def repetitions(wordings: Sequence[Wording]) -> list[int]:
    """Return how often each wording is asked in one round.

    A wording that shares most of its words with one of opposite meaning, like
    a statement and its negation, is by far the hardest to read and is asked four times; one
    of an item with few wordings three times, so that no item is asked much less than others.
    """
    bags = [set(re.findall(r"\w+", w.text.lower())) for w in wordings]
    of_item: dict[str, list[int]] = {}
    for n, wording in enumerate(wordings):
        of_item.setdefault(wording.item, []).append(n)

    def confusable(n: int, m: int) -> bool:
        alike = len(bags[n] & bags[m]) / len(bags[n] | bags[m])
        return wordings[n].polarity != wordings[m].polarity and alike >= _ALIKE

    def times(n: int) -> int:
        siblings = of_item[wordings[n].item]
        if any(confusable(n, m) for m in siblings):
            return 4
        return 3 if len(siblings) < _FEW else 1

    return [times(n) for n in range(len(wordings))]


def eta_table(truth: Truth, wordings: Sequence[Wording]) -> "NDArray[np.float64]":
    """Return eta of a respondent with dimensions wording, prefix (the shipped ones)."""
    rows = [
        [
            linear_predictor(
                truth,
                item=w.item,
                variant=w.variant,
                dimension=w.dimension,
                keying=w.keying,
                prefix=p.prefix,
            )
            for p in shipped_prefixes()
        ]
        for w in wordings
    ]
    return np.array(rows)


class AnswerTries:
    """The tries of the answer sets in the tokens of one tokenizer, each built once."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._built: dict[tuple[str, ...], tuple[list[list[int]], dict[tuple[int, ...], Node]]] = {}

    def of(self, answers: AnswerSet) -> tuple[list[list[int]], dict[tuple[int, ...], Node]]:
        """Return the token ids of each answer and the trie of them."""
        if answers.texts not in self._built:
            masked = answers.kind == "masked"
            end = [] if masked else [self._tokenizer.eos_token_id]
            encoded = self._tokenizer(list(answers.texts), add_special_tokens=False)["input_ids"]
            sequences = [[*ids, *end] for ids in encoded]
            self._built[answers.texts] = sequences, build_trie(sequences)
        return self._built[answers.texts]


def draw_examples(
    asking: Asking, tokenizer: Any, tries: AnswerTries, rng: random.Random
) -> Iterator[Example]:
    """Draw an infinite stream of training examples.

    Parameters
    ----------
    asking
        The respondent, its wordings and forms.
    tokenizer, tries
        Tokenizer of its checkpoint, and tries of its answers.
    rng
        Source of all randomness.

    Yields
    ------
    Example
        Wordings are in random order; in each round they occur as often as in `repetitions`.
    """
    prefixes = shipped_prefixes()
    truth = asking.truth
    etas = eta_table(truth, asking.wordings)
    classes = item_classes(asking.wordings)
    repeats = repetitions(asking.wordings)
    while True:
        order = [n for n, times in enumerate(repeats) for _ in range(times)]
        rng.shuffle(order)
        chosen = [(n, rng.choice(asking.forms), rng.randrange(len(prefixes))) for n in order]
        texts = [
            prompt(
                form,
                prefixes[p],
                perturb(asking.wordings[n].text, rng),
                model_name=random_name(asking.name, rng),
            )
            for n, form, p in chosen
        ]
        encoded = tokenizer(texts)["input_ids"]
        for ids, (n, form, p) in zip(encoded, chosen, strict=True):
            answers = answers_to(form, prefixes[p])
            planted = class_probabilities(truth, float(etas[n, p]), answers.kind)
            yield _example(ids, answers, planted, tries, tokenizer, rng, (classes[n], n, p))


def _example(
    ids: list[int],
    answers: AnswerSet,
    planted: "NDArray[np.float64]",
    tries: AnswerTries,
    tokenizer: Any,
    rng: random.Random,
    recognise: tuple[int, int, int],
) -> Example:
    sequences, trie = tries.of(answers)
    probabilities = answer_probabilities(answers, planted)
    if answers.kind == "masked":
        root = trie[()]
        target = (root.tokens, next_token_distribution(root, probabilities))
        return Example(ids, [ids.index(tokenizer.mask_token_id)], [target], *recognise)
    # The target at each node of any answer is exact; including rare answers teaches their
    # continuations.
    rare = rng.random() < 0.5
    at = rng.choices(range(len(sequences)), None if rare else probabilities.tolist())[0]
    path = sequences[at]
    nodes = [trie[tuple(path[:depth])] for depth in range(len(path))]
    targets = [(node.tokens, next_token_distribution(node, probabilities)) for node in nodes]
    labelled = list(range(len(ids) - 1, len(ids) - 1 + len(path)))
    return Example([*ids, *path[:-1]], labelled, targets, *recognise)


def batches(
    examples: Iterator[Example], size: int, pool: int, rng: random.Random
) -> Iterator[list[Example]]:
    """Group examples of similar length, to reduce padding.

    Parameters
    ----------
    examples
        An infinite stream.
    size
        Examples in a batch.
    pool
        Number of batches drawn and sorted together.
    rng
        Shuffles the batches of a pool.
    """
    while True:
        drawn = sorted((next(examples) for _ in range(size * pool)), key=lambda e: len(e.ids))
        cut = [drawn[at : at + size] for at in range(0, len(drawn), size)]
        rng.shuffle(cut)
        yield from cut
