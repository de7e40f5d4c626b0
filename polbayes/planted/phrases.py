"""The bank of sentences in which embedded actors write and embedded judges read.

A sentence about a value is a lead and a clause: the lead says how strongly, in four steps, the
clause which value and whether for or against it. With the step k from -4 to 4 (0 being no sentence)
the rating of the value is 10 + 2.5 k, on the scale from 0 to 20.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from polbayes.config.resources import folder, read_yaml
from polbayes.huggingface.sampling import uniform
from polbayes.instrument.values import RATING_CENTRE, VALUES

STEPS = 4
STEP = RATING_CENTRE / STEPS
_POLES = {"for": 1, "against": -1}
_SENTENCE = re.compile(r"[^.]+")


@dataclass(frozen=True)
class Bank:
    """The sentences."""

    leads: Mapping[int, Sequence[str]]  # by strength, 1 to 4
    clauses: Mapping[tuple[str, int], Sequence[str]]  # by value and pole: 1 for it, -1 against it
    commitment: Mapping[int, Sequence[str]]  # by how far they commit, 0 (a refusal) to 5
    thoughts: Sequence[str]  # Sentences that say nothing about any value.
    openings: Sequence[str]
    # Of each sentence about a value, folded: the value, and its step from -4 to 4.
    steps: Mapping[str, tuple[str, int]]
    commits: Mapping[str, int]  # of each folded sentence of `commitment`


@dataclass(frozen=True)
class Found:
    """What of the bank is in a text."""

    ratings: Mapping[str, float]  # by value, in [0, 20]; 10 where there is no sentence
    quoted: tuple[str, ...]  # the sentences about values, as in the bank
    commitment: int | None  # None where no sentence says it


@cache
def bank() -> Bank:
    """Load the bank from `models/roleplay/phrases.yaml`."""
    content = read_yaml(folder("models") / "roleplay" / "phrases.yaml")
    clauses = {
        (value, sign): tuple(content["values"][value][pole])
        for value in VALUES
        for pole, sign in _POLES.items()
    }
    steps = {
        _folded(f"{lead} {clause}"): (value, sign * strength)
        for (value, sign), said in clauses.items()
        for strength, leads in content["leads"].items()
        for lead in leads
        for clause in said
    }
    commits = {_folded(s): k for k, said in content["commitment"].items() for s in said}
    return Bank(
        leads=content["leads"],
        clauses=clauses,
        commitment=content["commitment"],
        thoughts=tuple(content["thoughts"]),
        openings=tuple(content["openings"]),
        steps=steps,
        commits=commits,
    )


def statement(value: str, step: int, seed: int) -> str:
    """Return a sentence about a value, with its full stop."""
    words = bank()
    lead = pick(words.leads[abs(step)], seed, 1)
    return f"{lead} {pick(words.clauses[value, 1 if step > 0 else -1], seed, 2)}."


def pick(texts: Sequence[str], *keys: int) -> str:
    """Choose one of several texts by a hash of the keys."""
    return texts[int(float(uniform(*keys)) * len(texts))]


def find(text: str) -> Found:
    """Find the sentences of the bank in any text."""
    words = bank()
    steps: dict[str, int] = {}
    quoted = []
    commitment = None
    for sentence in _SENTENCE.findall(text):
        folded = _folded(sentence)
        if folded in words.steps:
            value, step = words.steps[folded]
            steps[value] = step
            quoted.append(" ".join(sentence.split()))
        commitment = words.commits.get(folded, commitment)
    ratings = {value: RATING_CENTRE + STEP * steps.get(value, 0) for value in VALUES}
    return Found(ratings, tuple(quoted), commitment)


def _folded(sentence: str) -> str:
    return " ".join(sentence.casefold().split())
