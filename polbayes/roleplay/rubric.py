"""The request to a judge about one text, and the form of its reply."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from polbayes.instrument.values import COMMITMENT_MAX, RATING_MAX, VALUES
from polbayes.judging.replies import Judgement, read_judgement, reply_schema
from polbayes.roleplay.texts import Texts

COMMITMENT = "commitment"
SCALES: Mapping[str, tuple[float, float]] = {
    **dict.fromkeys(VALUES, (0, RATING_MAX)),
    COMMITMENT: (0, COMMITMENT_MAX),
}
# Ways of asking: as usual, with the values in reversed order, and with the scales reversed.
PLAIN, ORDER, SCALE = "plain", "order", "scale"
CHECKS = (ORDER, SCALE)
_ABSENT = "(none)"


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
    # Only fields of the request itself are filled, so that a field's name in a text is left alone.
    parts = texts.request.split("{")
    said = [parts[0]]
    for part in parts[1:]:
        name, _, rest = part.partition("}")
        said += [fields[name], rest]
    return "".join(said)


def quoted(text: str) -> str:
    """Quote every line of a text."""
    lines = text.strip().splitlines() or [_ABSENT]
    return "\n".join(f"> {line}".rstrip() for line in lines)


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


def problems_of(judgement: Judgement) -> list[str]:
    """Describe the unusable parts of a reply."""
    by_status: dict[str, list[str]] = {}
    for name, status in judgement.statuses.items():
        if status != "ok":
            by_status.setdefault(status, []).append(name)
    whole = ("no_object", "malformed")
    return [
        _WORDS[status] if status in whole else f"{_WORDS[status]}: {', '.join(names)}"
        for status, names in by_status.items()
    ]


_WORDS = {
    "missing": "missing",
    "truncated": "the object broke off before",
    "wrong_type": "no whole number",
    "out_of_range": "outside of the scale",
    "conflicting": "given more than once, with different numbers",
    "no_object": "there was no JSON object",
    "malformed": "the JSON object could not be read",
}
