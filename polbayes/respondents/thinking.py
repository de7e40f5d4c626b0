"""Separating the thoughts of a reasoning model from its answer."""

import re
from dataclasses import dataclass

# What the variable of a dataset holds.
REASONING = "what the model thought before it answered"
_BEGIN = r"<think>|\[THINK\]|<seed:think>|<\|channel\|>analysis<\|message\|>"
_END = r"</think>|\[/THINK\]|</seed:think>|<\|channel\|>final<\|message\|>"
_BEGINS = re.compile(rf"\A\s*(?:{_BEGIN})", re.IGNORECASE)
_ENDS = re.compile(rf"(?:{_END})\s*", re.IGNORECASE)
_LEFT_OPEN = re.compile(rf"(?:{_BEGIN})\s*\Z", re.IGNORECASE)


@dataclass(frozen=True)
class Parted:
    """The two parts of a text.

    `start` is where the answer begins; None if the thinking has no end. `unopened` is whether there
    is an end of thinking without a beginning, as when the prompt contains it.
    """

    thoughts: str
    answer: str
    start: int | None = 0
    unopened: bool = False


def part(text: str, *, opened: bool = False) -> Parted:
    """Split a text; `opened` is whether the prompt ends where the thinking begins."""
    begin, end = _BEGINS.match(text), _ENDS.search(text)
    thinks_from = begin.end() if begin else 0
    if end is not None:
        thoughts, start = text[thinks_from : end.start()].strip(), end.end()
        return Parted(thoughts, text[start:], start, unopened=begin is None)
    if begin is not None or opened:
        return Parted(text[thinks_from:].strip(), "", None)
    return Parted("", text)


def leaves_open(prompt: str) -> bool:
    """Return whether a prompt ends where thinking begins."""
    return _LEFT_OPEN.search(prompt) is not None
