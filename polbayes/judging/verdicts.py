"""A judge's output about an answer as probabilities of stances, without guesses."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from polbayes.data.dataset import STANCE_CLASSES
from polbayes.data.json_lines import Record
from polbayes.judging.replies import read_judgement, read_label
from polbayes.judging.rubric import STANCE_KEY

# Further statuses of a judgement, besides those of `polbayes.judging.replies`.
DECLINED = "declined"  # the judge's server refused, or its filter cut in
CUT_OFF = "cut_off"  # there was no room for an output, of a model that thinks first
_FAILED = "failed"  # there is no output
_WRONG_SUM = "wrong_sum"  # the probabilities do not add up
_NO_LABEL = "no_label"  # too little mass is on the labels

_PERCENT = dict.fromkeys(STANCE_CLASSES, (0.0, 100.0))
# How far the sum of stated probabilities may be from 1: the effect of rounding five of them.
_SLACK = 0.025
# With less mass on all labels together, the judge did not answer with a label.
_LEAST_MASS = 0.5


@dataclass(frozen=True)
class Verdict:
    """The content of one output."""

    # In the order of `STANCE_CLASSES`; None if it cannot be read.
    probs: tuple[float, ...] | None
    status: str = "ok"  # or why not


def verdict(way: str, record: Record) -> Verdict:
    """Read a reply in one of `polbayes.judging.rubric.WAYS` from its record in a journal."""
    status = record["status"]
    if status != "ok":
        empty = CUT_OFF if record.get("truncated") else "no_object"
        nothing = {"refused": DECLINED, "invalid": empty, "empty": empty}
        return Verdict(None, nothing.get(status, _FAILED))
    if way == "token":
        return token(record["mass"])
    return stated(record["text"]) if way == "stated" else vote(record["text"])


def stated(output: str) -> Verdict:
    """Read probabilities that a judge states, in percent or as proportions.

    >>> stated('{"agree": 90, "neutral": 10, "disagree": 0, "unrelated": 0, "refused": 0}').probs
    (0.0, 0.1, 0.9, 0.0, 0.0)
    """
    found = read_judgement(output, _PERCENT)
    if not found.complete:
        return Verdict(None, next(s for s in found.statuses.values() if s != "ok"))
    values = [found.ratings[name] for name in STANCE_CLASSES]
    total = math.fsum(values)
    if min(abs(total / 100 - 1), abs(total - 1)) > _SLACK:
        return Verdict(None, _WRONG_SUM)
    return Verdict(tuple(value / total for value in values))


def vote(output: str) -> Verdict:
    """Read the label that a judge gives, which gets all probability."""
    label, status = read_label(output, STANCE_CLASSES, key=STANCE_KEY)
    if status != "ok":
        return Verdict(None, status)
    return Verdict(tuple(float(name == label) for name in STANCE_CLASSES))


def token(mass: Sequence[float | None]) -> Verdict:
    """Read the mass of the labels, in the order of `polbayes.data.dataset.STANCE_CLASSES`."""
    values = np.nan_to_num(np.asarray(mass, dtype=np.float32)).astype(float)
    total = float(values.sum())
    if total < _LEAST_MASS:
        return Verdict(None, _NO_LABEL)
    return Verdict(tuple((values / total).tolist()))


def together(verdicts: Sequence[Verdict], needed: int) -> tuple[float, ...] | None:
    """Return the mean of the readable verdicts; None if fewer than needed."""
    read = [verdict.probs for verdict in verdicts if verdict.probs is not None]
    if len(read) < needed:
        return None
    return tuple(np.mean(read[:needed], axis=0).tolist())


def why_not(verdicts: Sequence[Verdict]) -> str:
    """Return the most frequent reason why verdicts cannot be read."""
    reasons = Counter(verdict.status for verdict in verdicts if verdict.probs is None)
    return reasons.most_common(1)[0][0] if reasons else _FAILED
