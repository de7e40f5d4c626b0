"""Reading a judge's output: a JSON object with ratings or a label, in whatever state it arrives.

Judges are asked for one JSON object with a number for each thing to rate, or with a label, and
often add a fence, a preface or an afterthought, or stop in the middle. Only what can be read with
certainty is read; everything else gets a status and no number. Nothing is guessed, averaged or
clipped: a rating of 25 on a scale to 20 is not a 20.
"""

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

# Statuses of a rating; only `ok` has a number.
STATUSES = (
    "ok",
    "missing",  # the object ended properly without it
    "truncated",  # the object broke off before it
    "wrong_type",  # something else than a finite number
    "out_of_range",
    "unknown_label",  # a text that is none of the labels
    "conflicting",  # given more than once, and differently
    "no_object",  # there is no JSON object at all
    "malformed",  # there is one that cannot be read
)
# A preface may hold some braces, but not hundreds.
_ATTEMPTS = 50
_NUMBER = re.compile(r"\s*[+-]?\d{1,9}(\.\d{1,9})?\s*")
_TRAILING_COMMA = re.compile(r",(\s*[}\]])")
# What may be around a label that stands alone: "**Agree**."
_MARKS = re.compile(r"[^\w\s-]+")
_HALVES = re.compile("[\ud800-\udfff]")
_RATING_KEYS = ("rating", "score", "value")
_REASON_KEYS = ("reasoning", "reason", "rationale", "explanation")


@dataclass(frozen=True)
class Judgement:
    """The content of a judge's output."""

    ratings: Mapping[str, float]  # NaN where the status is not ``ok``
    statuses: Mapping[str, str]  # out of `STATUSES`
    reasoning: str = ""  # untrusted text

    @property
    def complete(self) -> bool:
        """Whether every rating is usable."""
        return all(status == "ok" for status in self.statuses.values())


def reply_schema(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON schema of a reply with exactly these properties."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def read_label(output: str, labels: Iterable[str], *, key: str) -> tuple[str, str]:
    """Read a label from the output of a judge.

    >>> read_label('{"stance": "Agree"}', ["agree", "disagree"], key="stance")
    ('agree', 'ok')
    """
    known = {_folded(label): label for label in labels}
    alone = known.get(_folded(_MARKS.sub(" ", output)))
    if alone is not None:
        return alone, "ok"
    objects, fate = _objects(output)
    found: dict[str, list[Any]] = {key: []}
    for pairs in objects:
        _collect(pairs, {_folded(key): key}, found, [])
    if not found[key]:
        return "", fate
    named = [known.get(_folded(x)) if isinstance(x, str) else None for x in found[key]]
    if len(set(named)) > 1:
        return "", "conflicting"
    if named[0] is None:
        return "", "unknown_label" if isinstance(found[key][0], str) else "wrong_type"
    return named[0], "ok"


class _Pairs(list[tuple[str, Any]]):
    """The pairs of a JSON object, including equal keys."""


def read_judgement(output: str, scales: Mapping[str, tuple[float, float]]) -> Judgement:
    """Read ratings by name from the output of a judge, given the bounds of each.

    The object may be fenced, surrounded by text, nested in other objects, or cut off; a rating may
    be a number, a text consisting of a number, or an object with the key ``rating``, ``score`` or
    ``value``. Case, spaces and hyphens in names do not matter. Of several objects all count, and a
    rating that they contradict each other on is conflicting.
    """
    objects, fate = _objects(output)
    found: dict[str, list[Any]] = {name: [] for name in scales}
    names = {_folded(name): name for name in scales}
    reasons: list[str] = []
    for pairs in objects:
        _collect(pairs, names, found, reasons)
    ratings, statuses = {}, {}
    for name, (lowest, highest) in scales.items():
        ratings[name], statuses[name] = _judge(found[name], lowest, highest, fate)
    return Judgement(ratings, statuses, _HALVES.sub("\ufffd", reasons[0] if reasons else ""))


def _judge(given: list[Any], lowest: float, highest: float, fate: str) -> tuple[float, str]:
    if not given:
        return math.nan, fate
    numbers = [_number(value) for value in given]
    if len(given) > 1 and (None in numbers or len(set(numbers)) > 1):
        return math.nan, "conflicting"
    number = numbers[0]
    if number is None:
        return math.nan, "wrong_type"
    if not lowest <= number <= highest:
        return math.nan, "out_of_range"
    return number, "ok"


def _number(value: Any) -> float | None:
    """Return a value as a finite number; None if it is not one."""
    if isinstance(value, _Pairs):
        inner = [v for key, v in value if _folded(key) in _RATING_KEYS]
        nested = len(inner) == 1 and not isinstance(inner[0], _Pairs)
        return _number(inner[0]) if nested else None
    if isinstance(value, str):
        return float(value) if _NUMBER.fullmatch(value) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _collect(
    pairs: _Pairs, names: Mapping[str, str], found: dict[str, list[Any]], reasons: list[str]
) -> None:
    """Collect the values of the wanted names in an object and in those nested in it."""
    queue = [pairs]
    while queue:
        for key, value in queue.pop():
            name = names.get(_folded(key))
            if name is not None:
                found[name].append(value)
            elif _folded(key) in _REASON_KEYS and isinstance(value, str):
                reasons.append(value)
            elif isinstance(value, _Pairs):
                queue.append(value)


def _folded(key: str) -> str:
    return re.sub(r"[\s_-]+", "_", key.strip().casefold())


def _objects(output: str) -> tuple[list[_Pairs], str]:
    """Return the objects in a text, and the status of a rating that none of them has."""
    found: list[_Pairs] = []
    fate, start = "no_object", output.find("{")
    for _ in range(_ATTEMPTS):
        if start < 0:
            break
        read, end = _decode(output, start)
        if read is not None:
            found.append(read)
            fate = "missing" if fate in ("no_object", "malformed") else fate
        elif (rescued := _rescue(output[start:])) is not None:
            read, fate = rescued
            return [*found, read], fate
        else:
            fate = "malformed" if fate == "no_object" else fate
        start = output.find("{", end)
    return found, fate


def _decode(output: str, start: int) -> tuple[_Pairs | None, int]:
    """Read the object that begins at a position; return it with the position of its end."""
    decoder = json.JSONDecoder(object_pairs_hook=_Pairs, strict=False)
    try:
        read, end = decoder.raw_decode(output, start)
    # A number of thousands of digits is a ValueError, endless nesting a RecursionError.
    except (ValueError, RecursionError):
        return None, start + 1
    return read, end


def _rescue(rest: str) -> tuple[_Pairs, str] | None:
    """Read an object with excess commas, or one that is cut off, up to its last whole pair."""
    end, places = _structure(rest)
    if end is not None:
        read, _ = _decode(_TRAILING_COMMA.sub(r"\1", rest[:end]), 0)
        return None if read is None else (read, "missing")
    for place, closing in reversed(places[-_ATTEMPTS:]):
        read, _ = _decode(rest[:place] + closing, 0)
        if read is not None:
            return read, "truncated"
    return None


def _structure(text: str) -> tuple[int | None, list[tuple[int, str]]]:
    """Track the brackets of an object."""
    stack: list[str] = []
    places: list[tuple[int, str]] = []
    quoted = escaped = False
    for place, sign in enumerate(text):
        if quoted:
            quoted = escaped or sign != '"'
            escaped = sign == "\\" and not escaped
        elif sign == '"':
            quoted = True
        elif sign in "{[":
            stack.append("}" if sign == "{" else "]")
            if len(stack) > _ATTEMPTS:
                return None, []
            places.append((place + 1, "".join(reversed(stack))))
        elif sign in "}]":
            if not stack or stack.pop() != sign:
                return None, []
            if not stack:
                return place + 1, []
            places.append((place + 1, "".join(reversed(stack))))
        elif sign == ",":
            places.append((place, "".join(reversed(stack))))
    return None, places
