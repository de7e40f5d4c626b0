"""What is planted in the embedded writers and graders of paired requests (`models/pairs`).

An answer has a quality, a degree of hedging and one of compliance, all in logits, and a number of
words. The verdict of a grader on a pair is right, equal or left as a logistic variable with the
location::

    eta = quality + HEDGING * hedging + COMPLIANCE * compliance + LENGTH * log(words)
          + side[grader] + first[grader] * (1 where the right answer is first, -1 where not)

is above ``equal``, between, or below ``-equal``; the first four are differences, right minus left.
A rating of hedging or of compliance is the number of `CUTS` below its degree plus logistic noise.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist
from typing import Any

from polbayes.config.resources import folder, read_yaml
from polbayes.data.provenance import text_digest
from polbayes.huggingface.sampling import uniform

# Weights of hedging, of compliance and of the logarithm of the length in a verdict.
HEDGING, COMPLIANCE, LENGTH = -0.3, 0.5, 0.5
# Between the five ratings.
CUTS = (-2.4, -0.8, 0.8, 2.4)
# Sentences of each kind, of which a text has a number, and what one of them changes.
MOST = 8
ARGUMENT, HEDGE, REFUSAL = 0.5, 0.75, 0.75
# Standard deviations: of what topics and templates add to the tilt of all writers, of what a topic
# adds to that of one, and of single answers.
TOPIC, TEMPLATE, OWN_TOPIC = 0.4, 0.2, 0.3
QUALITY_SD, HEDGING_SD, COMPLIANCE_SD, FILLERS_SD = 0.5, 0.7, 0.6, 2.0

_NORMAL = NormalDist()
_SENTENCE = re.compile(r"[^.]+")
_SIDES = {"left": -1, "right": 1, "none": 0}
_COUNTED = ("strong", "weak", "hedges", "refusals")


@dataclass(frozen=True)
class Writer:
    """What is planted in an embedded writer; see ``models/pairs/writers.yaml``."""

    quality_by_side: float = 0.0
    hedging: float = 0.0
    hedging_by_side: float = 0.0
    compliance: float = 1.5
    compliance_by_side: float = 0.0
    words: float = 4.0
    words_by_side: float = 0.0


@dataclass(frozen=True)
class Grader:
    """What is planted in an embedded grader; see ``models/pairs/graders.yaml``."""

    side: float = 0.0
    first: float = 0.0
    equal: float = 0.8
    hedging: float = 0.0
    hedging_by_side: float = 0.0
    compliance: float = 0.0
    compliance_by_side: float = 0.0
    slips: float = 0.0


@dataclass(frozen=True)
class Shown:
    """What a text shows, in logits; `side` is -1 left, 1 right, 0 unknown."""

    side: int
    quality: float
    hedging: float
    compliance: float
    words: int


@cache
def writers() -> Mapping[str, Writer]:
    """Return the embedded writers by name."""
    return {name: Writer(**entry) for name, entry in _read("writers").items()}


@cache
def graders() -> Mapping[str, Grader]:
    """Return the embedded graders by name."""
    return {name: Grader(**entry) for name, entry in _read("graders").items()}


@cache
def _bank() -> dict[str, Any]:
    return _read("phrases")


@cache
def _kinds() -> Mapping[str, str]:
    """Return the kind of each sentence, folded; of openings the side."""
    bank = _bank()
    kinds = {_folded(said): kind for kind in _COUNTED for said in bank[kind]}
    return kinds | {_folded(said): side for side in _SIDES for said in bank["openings"][side]}


def _read(name: str) -> dict[str, Any]:
    return dict(read_yaml(folder("models") / "pairs" / f"{name}.yaml"))


def topic_effect(item: str) -> float:
    """Return what the topic and the template of a pair add to the tilt of every writer."""
    topic, _, template = item.rpartition("-")
    return TOPIC * normal("topic", topic) + TEMPLATE * normal("template", template)


def answer(writer: Writer, name: str, *, item: str, side: int, seed: int) -> str:
    """Write the answer of a writer to a request of one side (-1, 1, or 0 unknown)."""
    half = side / 2
    topic = topic_effect(item) + OWN_TOPIC * normal("own", name, item.rpartition("-")[0])
    quality = half * (writer.quality_by_side + topic) + QUALITY_SD * normal("quality", seed)
    hedging = writer.hedging + half * writer.hedging_by_side + HEDGING_SD * normal("hedging", seed)
    complies = writer.compliance + half * writer.compliance_by_side
    complies += COMPLIANCE_SD * normal("compliance", seed)
    fillers = writer.words + half * writer.words_by_side + FILLERS_SD * normal("fillers", seed)
    numbers = {
        "strong": _whole(MOST / 2 + quality / ARGUMENT, seed, 1),
        "hedges": _whole(MOST / 2 + hedging / HEDGE, seed, 2),
        "refusals": _whole(MOST / 2 - complies / REFUSAL, seed, 3),
        "fillers": _whole(fillers, seed, 4),
    }
    return _text(side, numbers, seed)


def _text(side: int, numbers: Mapping[str, int], seed: int) -> str:
    bank = _bank()
    opening = next(name for name, sign in _SIDES.items() if sign == side)
    said = [_drawn(bank["openings"][opening], 1, seed, 10)[0]]
    strong = set(_order(MOST, seed, 11)[: numbers["strong"]])
    said += [bank["strong" if k in strong else "weak"][k] for k in range(MOST)]
    for place, kind in enumerate(("hedges", "refusals", "fillers"), start=12):
        said += _drawn(bank[kind], numbers[kind], seed, place)
    return ". ".join(said) + "."


def shown(text: str) -> Shown:
    """Read what a text shows."""
    kinds = _kinds()
    found = [kinds.get(_folded(sentence), "") for sentence in _SENTENCE.findall(text)]
    n = {kind: len([one for one in found if one == kind]) for kind in _COUNTED}
    known = n["strong"] + n["weak"] > 0
    return Shown(
        side=next((_SIDES[kind] for kind in found if kind in _SIDES), 0),
        quality=ARGUMENT * (n["strong"] - MOST / 2) if known else 0.0,
        hedging=HEDGE * (n["hedges"] - MOST / 2) if known else 0.0,
        compliance=REFUSAL * (MOST / 2 - n["refusals"]) if known else 0.0,
        words=max(len(text.split()), 1),
    )


def verdict_location(grader: Grader, first: Shown, second: Shown) -> float:
    """Return where a grader sees a pair, positive for the first answer."""
    shown_first = first.side if first.side else -second.side
    return (
        (first.quality - second.quality)
        + HEDGING * (first.hedging - second.hedging)
        + COMPLIANCE * (first.compliance - second.compliance)
        + LENGTH * math.log(first.words / second.words)
        + shown_first * grader.side
        + grader.first
    )


def rating_locations(grader: Grader, text: Shown) -> tuple[float, float]:
    """Return where a grader sees the hedging and the compliance of an answer."""
    half = text.side / 2
    return (
        text.hedging + grader.hedging + half * grader.hedging_by_side,
        text.compliance + grader.compliance + half * grader.compliance_by_side,
    )


def logistic(*keys: object) -> float:
    """Return a logistic variable that these keys always give."""
    p = float(uniform(_key(*keys)))
    return math.log(p / (1 - p))


def normal(*keys: object) -> float:
    """Return a standard normal variable that these keys always give."""
    return _NORMAL.inv_cdf(float(uniform(_key(*keys))))


def _key(*keys: object) -> int:
    return int(text_digest(*map(str, keys), size=8), 16)


def _whole(mean: float, seed: int, place: int) -> int:
    """Return a number of sentences, rounded randomly so that its mean is kept."""
    return max(0, min(MOST, math.floor(mean + float(uniform(seed, place)))))


def _order(size: int, *keys: int) -> list[int]:
    return sorted(range(size), key=lambda k: float(uniform(*keys, k)))


def _drawn(texts: Sequence[str], number: int, *keys: int) -> list[str]:
    """Draw texts without repeating any, in the order of the bank."""
    return [texts[k] for k in sorted(_order(len(texts), *keys)[:number])]


def _folded(sentence: str) -> str:
    return " ".join(sentence.casefold().split())
