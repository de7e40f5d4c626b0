"""The fidelity of an embedded respondent to its planted answers."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from polbayes.planted.truth import Truth, class_probabilities
from tools.embedded.answers import AnswerSet, decision_nodes
from tools.embedded.corpus import (
    Form,
    Wording,
    answers_to,
    forms,
    perturb,
    prompt,
    shipped_prefixes,
)
from tools.embedded.examples import AnswerTries, eta_table

if TYPE_CHECKING:
    from numpy.typing import NDArray

# A planted answer is clear if one side has this much more probability than the other.
CLEAR = 0.3


@dataclass(frozen=True)
class Cell:
    """One prompt to measure on.

    Parameters
    ----------
    form
        Template and shape.
    prefix
        Index of the prefix among the shipped ones.
    wording
        Index of the wording.
    statement
        Its text, possibly with noise.
    """

    form: Form
    prefix: int
    wording: int
    statement: str


@dataclass(frozen=True)
class Measured:
    """Planted and measured probabilities on the same prompts.

    Parameters
    ----------
    cells
        The prompts.
    planted, measured
        Dimensions cell, side: the probability of disagreeing and of agreeing.
    top_ten
        For each cell the smallest mass of the ten most likely tokens at nodes that decide the
        class of the answer.
    """

    cells: Sequence[Cell]
    planted: "NDArray[np.float64]"
    measured: "NDArray[np.float64]"
    top_ten: "NDArray[np.float64]"

    @property
    def error(self) -> float:
        """Mean absolute error of the probabilities of agreeing and disagreeing."""
        return float(np.abs(self.planted - self.measured).mean())

    @property
    def right_stance(self) -> float:
        """Proportion of clear planted answers with the same side in the measured ones."""
        lean = self.planted[:, 1] - self.planted[:, 0]
        clear = np.abs(lean) >= CLEAR
        found = self.measured[:, 1] - self.measured[:, 0]
        return float((lean * found > 0)[clear].mean()) if clear.any() else float("nan")

    @property
    def clear(self) -> int:
        """Number of cells whose planted answer is clear."""
        return int((np.abs(self.planted[:, 1] - self.planted[:, 0]) >= CLEAR).sum())


def sample_cells(
    truth: Truth,
    wordings: Sequence[Wording],
    *,
    count: int,
    seed: int,
    strength: float = 0.0,
) -> list[Cell]:
    """Draw prompts to measure on.

    Parameters
    ----------
    truth
        Its architecture and chat template determine the forms.
    wordings
        The statements.
    count
        Number of prompts.
    seed
        Seed of the draw.
    strength
        Strength of the noise in the wordings; 0 for the shipped wordings.
    """
    rng = random.Random(seed)
    asked = forms(truth.architecture, chat=truth.instruct)
    cells = []
    for _ in range(count):
        at = rng.randrange(len(wordings))
        text = wordings[at].text
        noisy = perturb(text, rng, strength=strength) if strength else text
        prefix = rng.randrange(len(shipped_prefixes()))
        cells.append(Cell(rng.choice(asked), prefix, at, noisy))
    return cells


def measure(
    network: Any,
    tokenizer: Any,
    truth: Truth,
    wordings: Sequence[Wording],
    cells: Sequence[Cell],
    *,
    batch: int = 32,
) -> Measured:
    """Ask a network and compare its answers with the planted ones.

    Parameters
    ----------
    network, tokenizer
        A checkpoint.
    truth
        Its planted parameters.
    wordings, cells
        The statements and prompts.
    batch
        Prompts in one forward pass.

    Returns
    -------
    Measured
        From the full softmax in float32, summed over all phrasings of a side.
    """
    etas = eta_table(truth, wordings)
    tries = AnswerTries(tokenizer)
    prefixes = shipped_prefixes()
    planted, measured = np.zeros((len(cells), 2)), np.zeros((len(cells), 2))
    top_ten = np.zeros(len(cells))
    kinds = [answers_to(cell.form, prefixes[cell.prefix]) for cell in cells]
    for answers in dict.fromkeys(kinds):
        rows = [n for n, kind in enumerate(kinds) if kind == answers]
        # Prompts of similar length together, to reduce padding.
        rows.sort(key=lambda n: (cells[n].form.template, cells[n].prefix, len(cells[n].statement)))
        texts = [
            prompt(
                cells[n].form,
                prefixes[cells[n].prefix],
                cells[n].statement,
                model_name=truth.name,
            )
            for n in rows
        ]
        found, top_ten[rows] = _class_masses(network, tokenizer, tries, answers, texts, batch)
        measured[rows] = _sides(answers, found)
        given = [
            class_probabilities(truth, float(etas[cells[n].wording, cells[n].prefix]), answers.kind)
            for n in rows
        ]
        planted[rows] = _sides(answers, np.array(given))
    return Measured(cells, planted, measured, top_ten)


def _sides(answers: AnswerSet, classes: "NDArray[np.float64]") -> "NDArray[np.float64]":
    """Sum the classes, dimensions cell, class, to disagreeing and agreeing."""
    of_side = (("disagree", "1", "2"), ("agree", "4", "5"))
    columns = [[n for n, c in enumerate(answers.classes) if c in side] for side in of_side]
    return np.stack([classes[:, column].sum(axis=1) for column in columns], axis=1)


def _class_masses(
    network: Any,
    tokenizer: Any,
    tries: AnswerTries,
    answers: AnswerSet,
    texts: Sequence[str],
    batch: int,
) -> "tuple[NDArray[np.float64], NDArray[np.float64]]":
    """Return the mass of each class, dimensions prompt, class, and the mass of the top ten.

    Masses are read at the nodes that decide the class of the answer: a branch whose answers all
    have one class counts with its probability, the others are followed.
    """
    _, trie = tries.of(answers)
    classes = np.asarray(answers.class_of)
    masses = np.zeros((len(texts), len(answers.classes)))
    top_ten = np.ones(len(texts))
    reached: dict[tuple[int, ...], NDArray[np.float64]] = {(): np.ones(len(texts))}
    undecided = decision_nodes(trie, answers.class_of)
    for path in sorted(undecided, key=len):
        softmax = _next_token(network, tokenizer, texts, path, batch)
        top_ten = np.minimum(top_ten, np.sort(softmax, axis=1)[:, -10:].sum(axis=1))
        node = trie[path]
        for column, token in enumerate(node.tokens):
            mass = reached[path] * softmax[:, token]
            below = set(classes[node.below[:, column] > 0].tolist())
            if len(below) == 1:
                masses[:, below.pop()] += mass
            else:
                reached[*path, token] = mass
    return masses, top_ten


def _next_token(
    network: Any, tokenizer: Any, texts: Sequence[str], path: tuple[int, ...], batch: int
) -> "NDArray[np.float64]":
    """Return the softmax after each prompt and `path`, dimensions prompt, token."""
    import torch

    masked = network.config.model_type == "bert"
    out = []
    for start in range(0, len(texts), batch):
        inputs = tokenizer(list(texts[start : start + batch]), padding=True, return_tensors="pt")
        ids, mask = inputs["input_ids"], inputs["attention_mask"]
        with torch.no_grad():
            if masked:
                scores = network(input_ids=ids, attention_mask=mask).logits
                scores = scores[ids == tokenizer.mask_token_id]
            else:
                more = torch.tensor([path] * len(ids), dtype=ids.dtype).reshape(len(ids), -1)
                ids = torch.cat([ids, more], dim=1)
                mask = torch.cat([mask, torch.ones_like(more)], dim=1)
                scores = network(input_ids=ids, attention_mask=mask, logits_to_keep=1).logits[:, -1]
        out.append(torch.softmax(scores.float(), dim=-1).numpy())
    return np.concatenate(out).astype(float)
