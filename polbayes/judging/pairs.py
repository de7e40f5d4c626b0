"""Judging paired requests: which answer helps more, and how much each hedges and complies.

Both answers are shown in both orders. The verdict is a choice, or probabilities of the three
verdicts: stated in words, or those of the letters A, B and C. A reply is read without guesses
(`polbayes.judging.replies`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from polbayes.config.resources import folder, read_yaml
from polbayes.config.schema import RespondentConfig, RunConfig
from polbayes.data.provenance import json_digest
from polbayes.instrument.design import ModelInfo
from polbayes.instrument.prompts import Lexicon
from polbayes.judging.declared import judging_elicitation
from polbayes.judging.engine import Judge
from polbayes.judging.repeated import Reply, Request
from polbayes.judging.replies import read_judgement, read_label, reply_schema
from polbayes.judging.requests import filled, problems_of, quoted
from polbayes.probing.dispatch import Asking
from polbayes.probing.journal import Record

# Ways of giving a verdict (`polbayes.config.schema.JudgingConfig`).
VERDICTS = ("choice", "stated", "token")
RATINGS = ("hedging", "compliance")
SCALE = (1, 5)
RATING = "rating"  # the way of asking about one answer

_LABELS = ("second", "equal", "first")
_HELPED = "helped_more"
_PERCENT = dict.fromkeys(_LABELS, (0.0, 100.0))
# How far the sum of stated percents may be from 100: the effect of rounding three of them.
_SLACK = 1.5
# With less mass on all letters together, the judge did not answer with a letter.
_LEAST_MASS = 0.5
_LETTERS = Lexicon("verdict", ("A", "C", "B"), (1, 0, -1))


@dataclass(frozen=True)
class Answered:
    """A request and its answer, which is untrusted."""

    request: str
    answer: str


@dataclass(frozen=True)
class Texts:
    """What judges are asked (`data/paired.yaml`)."""

    pair: Mapping[str, str]
    answer: Mapping[str, str]
    again: str

    @property
    def digest(self) -> str:
        """A hash of all of it."""
        return json_digest([self.pair, self.answer, self.again], size=8)


@cache
def load_texts() -> Texts:
    """Load what judges are asked."""
    content = read_yaml(folder("data") / "paired.yaml")
    return Texts(content["pair"], content["answer"], content["again"])


def pair_request(
    first: Answered, second: Answered, *, way: str, problems: Sequence[str] = ()
) -> str:
    """Return the request for a verdict on two answers, in one of `VERDICTS`."""
    texts = load_texts()
    fields = {
        "first_request": quoted(first.request),
        "first_answer": quoted(first.answer),
        "second_request": quoted(second.request),
        "second_answer": quoted(second.answer),
        "again": _again(problems),
    }
    return filled(f"{texts.pair['about']}\n\n{texts.pair[way]}", fields)


def rating_request(one: Answered, *, problems: Sequence[str] = ()) -> str:
    """Return the request for ratings of an answer."""
    texts = load_texts()
    fields = {
        "request": quoted(one.request),
        "answer": quoted(one.answer),
        "again": _again(problems),
    }
    return filled(f"{texts.answer['about']}\n\n{texts.answer['rating']}", fields)


def _again(problems: Sequence[str]) -> str:
    again = load_texts().again
    return again.replace("{problems}", "; ".join(problems)) if problems else ""


def asked_of_pair(first: Answered, second: Answered, *, way: str, schema: bool) -> Request:
    """Return what a judge is asked about two answers."""
    form = _schema(way) if schema and way != "token" else None
    return Request(
        lambda problems: pair_request(first, second, way=way, problems=problems), way, form
    )


def asked_of_answer(one: Answered, *, schema: bool) -> Request:
    """Return what a judge is asked about one answer."""
    form = _schema(RATING) if schema else None
    return Request(lambda problems: rating_request(one, problems=problems), RATING, form)


def _schema(way: str) -> dict[str, Any]:
    choice = {"type": "string", "enum": list(_LABELS)}
    lowest, highest = SCALE
    rating = {"type": "integer", "minimum": lowest, "maximum": highest}
    forms: Mapping[str, Mapping[str, Any]] = {
        "choice": {_HELPED: choice},
        "stated": {label: {"type": "integer"} for label in _LABELS},
        RATING: dict.fromkeys(RATINGS, rating),
    }
    return reply_schema({"reasoning": {"type": "string"}, **forms[way]})


def read_verdict(way: str, record: Record) -> Reply[tuple[float, float, float]]:
    """Read the probabilities that the second, neither, and the first answer helps more."""
    if way == "token":
        return _by_letter(record.get("mass") or ())
    text = record["text"]
    if way == "choice":
        label, status = read_label(text, _LABELS, key=_HELPED)
        if status != "ok":
            return Reply(status, problems_of({_HELPED: status}), None, text, 0)
        second, equal, first = (float(label == one) for one in _LABELS)
        return Reply("ok", (), (second, equal, first), text, 1)
    found = read_judgement(text, _PERCENT)
    statuses = dict(found.statuses)
    total = sum(found.ratings.values())
    if found.complete and abs(total - 100) > _SLACK:
        statuses = {"": "wrong_sum"}
    wrong = [status for status in statuses.values() if status != "ok"]
    if wrong:
        return Reply(wrong[0], problems_of(statuses), None, text, 0)
    second, equal, first = (found.ratings[one] / total for one in _LABELS)
    return Reply("ok", (), (second, equal, first), text, 1)


def _by_letter(mass: Sequence[float | None]) -> Reply[tuple[float, float, float]]:
    values = np.nan_to_num(np.array([np.nan if x is None else x for x in mass], dtype=float))
    total = float(values.sum())
    if len(values) != len(_LABELS) or total < _LEAST_MASS:
        return Reply("missing", ["none of the letters"], None, "", 0)
    by_stance = dict(zip(_LETTERS.stance, (values / total).tolist(), strict=True))
    return Reply("ok", (), (by_stance[-1], by_stance[0], by_stance[1]), "", 1)


def read_ratings(way: str, record: Record) -> Reply[Mapping[str, float]]:
    """Read hedging and compliance; a rating that cannot be used is NaN."""
    found = read_judgement(record["text"], dict.fromkeys(RATINGS, SCALE))
    ratings, statuses = dict(found.ratings), dict(found.statuses)
    for name, rating in ratings.items():
        if statuses[name] == "ok" and rating != int(rating):
            ratings[name], statuses[name] = float("nan"), "wrong_type"
    wrong = [status for status in statuses.values() if status != "ok"]
    usable = len(RATINGS) - len(wrong)
    outcome = wrong[0] if wrong else "ok"
    return Reply(outcome, problems_of(statuses), ratings, record["text"], usable)


def judge_of(
    name: str, judges: Mapping[str, RespondentConfig], info: ModelInfo, config: RunConfig, way: str
) -> Judge:
    """Return a judge for a way of asking: one of `VERDICTS`, or `RATING`."""
    elicitation, lexicon = judging_elicitation(config.judging), None
    if way == "token":
        elicitation = replace(elicitation, kind="forced_choice")
        lexicon = _LETTERS
    settings = {"request": load_texts().digest, "schema": config.judging.schema}
    return Judge("ratings", judges[name], info, Asking(elicitation, lexicon, config.seed), settings)


READERS: Mapping[str, Callable[[str, Record], Reply[Any]]] = {
    **dict.fromkeys(VERDICTS, read_verdict),
    RATING: read_ratings,
}
