"""Answers as tokens: the input of a sequence classifier, in training as in coding.

Answers that are too long for the model are read in overlapping windows.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from polbayes.errors import UserError
from polbayes.huggingface.positions import positions

if TYPE_CHECKING:
    import torch

# Chat markup that some checkpoints print as text.
SPECIAL_TOKEN = re.compile(
    r"<\|[^|<>\n]{0,40}\|>?|</?s>|\[/?INST\]|<</?SYS>>|<(?:start|end)_of_turn>|<(?:bos|eos|pad)>",
    re.IGNORECASE,
)
# Tokenizer output for one or two texts.
Encoding = Mapping[str, list[int]]

# Makes the questions about a statement and an answer, each one or two texts.
Fill = Callable[[str, str], Iterable[tuple[str, str]]]

# Minimum number of tokens left for an answer.
_LEAST = 8


def without_markup(response: str) -> str:
    """Return an answer as checkpoints read it: without chat markup and surrounding blanks."""
    return SPECIAL_TOKEN.sub(" ", response).strip()


@dataclass(frozen=True)
class Encoder:
    """A tokenizer, and the token limit of its model."""

    tokenizer: Any  # of the checkpoint
    limit: int  # the number of tokens that the model takes
    where: str  # the key of the config that declares the checkpoint, for errors

    def encode(self, first: str, second: str) -> Encoding:
        """Return the tokens of one text, or of two if the second is not empty, of any length."""
        return dict(self.tokenizer(first, second or None, truncation=False))

    def plain(self, text: str) -> str:
        """Return a text without what this tokenizer treats as markup."""
        tokens = filter(str.strip, self.tokenizer.all_special_tokens)
        special = sorted(tokens, key=len, reverse=True)
        if special:
            text = re.sub("|".join(map(re.escape, special)), " ", text)
        return text.encode("utf-8", "replace").decode("utf-8").strip()

    def answer(self, fill: Fill, statement: str, response: str) -> list[Encoding]:
        """Return the encoded questions about an answer, for each of its windows in turn.

        `fill` makes the questions about a statement and an answer, each one or two texts;
        `response` is as from `without_markup`. There is one encoding per question and window, and
        none for an empty answer. A statement that leaves no room for an answer is a `UserError`.
        """
        statement, text = self.plain(statement), self.plain(response)
        if not text:
            return []

        def encoded(window: str) -> list[Encoding]:
            return [self.encode(*two) for two in fill(statement, window)]

        def size(window: str) -> int:
            return max(len(encoding["input_ids"]) for encoding in encoded(window))

        whole = encoded(text)
        if max(len(encoding["input_ids"]) for encoding in whole) <= self.limit:
            return whole
        taken = size("")
        if taken + _LEAST > self.limit:
            raise UserError(
                f"{self.where}: the statement '{statement[:60]}...' and what is asked "
                f"about it take {taken} tokens, and the model takes {self.limit} with the answer."
            )
        parts = windows(text, lambda window: size(window.strip()) - taken, self.limit - taken)
        return [encoding for part in parts if part.strip() for encoding in encoded(part.strip())]

    def batch(self, encodings: Sequence[Encoding]) -> "dict[str, torch.Tensor]":
        """Return encodings as tensors (encoding, position), padded at the end."""
        import torch

        return {
            key: torch.tensor(_padded([e[key] for e in encodings], self._pad_value(key)))
            for key in encodings[0]
        }

    def _pad_value(self, key: str) -> int:
        values = {
            "input_ids": self.tokenizer.pad_token_id,
            "token_type_ids": self.tokenizer.pad_token_type_id,
        }
        return values.get(key) or 0


def room(about: Any, tokenizer: Any, model: Any) -> int:
    """Return the token limit of a model, given its config, its tokenizer and the network."""
    return min(positions(about, model), int(tokenizer.model_max_length))


def _padded(rows: Sequence[Sequence[int]], value: int) -> list[list[int]]:
    width = max(map(len, rows))
    return [[*row, *[value] * (width - len(row))] for row in rows]


# Share of a window that overlaps on either side, so that no sentence is cut in all of them.
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
    """Move a beginning back to that of a word, if one is near."""
    last = max(text.rfind(blank, max(at - reach, 0), at) for blank in _BLANKS)
    return last + 1 if last >= 0 else max(at, 0)


def _after_blank(text: str, at: int, reach: int) -> int:
    """Extend an end by the overlap, and to the end of a word if one is near."""
    last = max(text.rfind(blank, at, at + reach) for blank in _BLANKS)
    return last + 1 if last >= 0 else min(at + reach, len(text))
