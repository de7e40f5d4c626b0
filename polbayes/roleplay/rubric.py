"""The request to a judge about one text, and the form of its reply."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from polbayes.instrument.values import COMMITMENT_MAX, RATING_MAX, VALUES
from polbayes.judging.replies import Judgement, read_judgement, reply_schema
from polbayes.judging.requests import filled, quoted
from polbayes.roleplay.texts import Texts

COMMITMENT = "commitment"
SCALES: Mapping[str, tuple[float, float]] = {
    **dict.fromkeys(VALUES, (0, RATING_MAX)),
    COMMITMENT: (0, COMMITMENT_MAX),
}
# Ways of asking: as usual, with the values in reversed order, and with the scales reversed.
PLAIN, ORDER, SCALE = "plain", "order", "scale"
CHECKS = (ORDER, SCALE)


@dataclass(frozen=True)
class Reading:
    """One text to be judged."""

    unit: str  # not told to the judge
    situation: str  # what was put to the writer
    thoughts: str  # untrusted, as the answer
    answer: str


def request(
    reading: Reading, *, texts: Texts, way: str = PLAIN, problems: Sequence[str] = ()
) -> str:
    """Return the request to a judge, with the problems of its earlier replies.

    Each line of the text to rate is quoted, so that nothing in it can pass for part of the request.
    """
    values = tuple(reversed(VALUES)) if way == ORDER else VALUES
    direction = "reversed" if way == SCALE else "plain"
    fields = {
        "scale": texts.scale[direction],
        "values": "\n".join(f"- {name}: {texts.values[name]}" for name in values),
        "commitment": texts.commitment[direction],
        "situation": quoted(reading.situation),
        "thoughts": quoted(reading.thoughts),
        "answer": quoted(reading.answer),
        "again": texts.again.replace("{problems}", "; ".join(problems)) if problems else "",
    }
    return filled(texts.request, fields)


def schema(way: str = PLAIN) -> dict[str, Any]:
    """Return the JSON schema of a reply, for servers that support one."""
    names = (*(reversed(VALUES) if way == ORDER else VALUES), COMMITMENT)
    numbers = {
        name: {"type": "integer", "minimum": int(SCALES[name][0]), "maximum": int(SCALES[name][1])}
        for name in names
    }
    return reply_schema({"reasoning": {"type": "string"}, **numbers})


def read(reply: str, way: str = PLAIN) -> Judgement:
    """Read a reply; ratings on a reversed scale are turned back, so that 20 is strong."""
    judgement = read_judgement(reply, SCALES)
    if way != SCALE:
        return judgement
    turned = {name: SCALES[name][1] - rating for name, rating in judgement.ratings.items()}
    return Judgement(turned, judgement.statuses, judgement.reasoning)
