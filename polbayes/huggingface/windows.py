"""Cutting an answer that is too long for a model into windows that are not."""

import math
from collections.abc import Callable

# What of a window it shares with the text on either side, so that no sentence is cut in all.
_SHARED = 0.125
_BLANKS = " \n\t"


def windows(text: str, size: Callable[[str], int], room: int) -> list[str]:
    """Cut a text into overlapping windows of about the same length."""
    count = min(len(text), math.ceil(size(text) / room))
    while True:
        found = _cut(text, count)
        if count >= len(text) or all(size(window) <= room for window in found):
            return found
        count = min(len(text), math.ceil(count * 1.25) if count > 1 else 2)


def _cut(text: str, count: int) -> list[str]:
    if count <= 1:
        return [text]
    shared = int(len(text) / count * _SHARED)
    found = []
    for n in range(count):
        start, end = n * len(text) // count, (n + 1) * len(text) // count
        start = _at_blank(text, start - shared, shared) if n else 0
        end = _after_blank(text, end, shared) if n < count - 1 else len(text)
        found.append(text[start:end])
    return found


def _at_blank(text: str, at: int, reach: int) -> int:
    """Move a beginning back to that of a word, if that is near."""
    last = max(text.rfind(blank, max(at - reach, 0), at) for blank in _BLANKS)
    return last + 1 if last >= 0 else max(at, 0)


def _after_blank(text: str, at: int, reach: int) -> int:
    """Move an end on by what is shared, and to the end of a word if that is near."""
    last = max(text.rfind(blank, at, at + reach) for blank in _BLANKS)
    return last + 1 if last >= 0 else min(at + reach, len(text))
