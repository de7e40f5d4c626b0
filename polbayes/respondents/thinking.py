"""Separating the thoughts of a reasoning model from its answer."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain

# What the variable of a dataset holds.
REASONING = "what the model thought before it answered"
# Where thinking begins and ends, in small letters or capitals.
MARKS = (
    ("<think>", "</think>"),  # DeepSeek, Qwen and many others
    ("<thought>", "</thought>"),
    ("<reasoning>", "</reasoning>"),
    ("[THINK]", "[/THINK]"),  # Magistral
    ("<seed:think>", "</seed:think>"),  # Seed-OSS
    ("<|START_THINKING|>", "<|END_THINKING|>"),  # Command A
    ("◁think▷", "◁/think▷"),  # Kimi
    ("<|channel>thought", "<channel|>"),  # Gemma
    ("<|channel|>analysis<|message|>", "<|channel|>final<|message|>"),  # gpt-oss
)
# The same of gpt-oss where special tokens are left out of texts.
BARE_MARKS = ("analysis", "assistantfinal")
# Special tokens of gpt-oss between its messages, and of Command A before its answer.
_BEFORE, _AFTER = r"(?:<\|end\|>)?(?:<\|start\|>assistant)?", r"(?:<\|START_RESPONSE\|>)?"
_SPACE = re.compile(r"\s*")


@dataclass(frozen=True)
class Parted:
    """The two parts of a text.

    `start` is where the answer begins; None if the thinking has no end. `spans` are the places of
    the pieces of the answer, which may have more thinking between them. `unopened` is whether there
    is an end of thinking without a beginning, as when the prompt contains it.
    """

    thoughts: str
    answer: str
    start: int | None
    spans: tuple[tuple[int, int], ...]
    unopened: bool = False


@dataclass(frozen=True)
class _Mark:
    """A mark in a text: its place, and whether only white space is before it or the last one."""

    start: int
    end: int
    kind: int
    ends: bool
    follows: bool


@dataclass(frozen=True)
class _Block:
    """The places of a block of thinking and of the thoughts in it; `end` is None if it has none."""

    start: int
    thoughts: tuple[int, int]
    end: int | None


def part(text: str, *, opened: bool = False, own: Sequence[str] = ()) -> Parted:
    """Split a text.

    Parameters
    ----------
    text
        Of a reasoning model, or of any other.
    opened
        Whether the prompt ends where the thinking begins.
    own
        Where thinking begins and ends, in addition to `MARKS`; empty for nothing.
    """
    blocks = _bare(text) if not opened else []
    blocks = blocks or _blocks(text, list(_marks(text, tuple(own))), opened)
    thoughts = (text[slice(*block.thoughts)].strip() for block in blocks)
    spans = tuple(_spans(text, blocks))
    first = blocks[0] if blocks else None
    return Parted(
        "\n\n".join(filter(None, thoughts)),
        "".join(text[begin:end] for begin, end in spans),
        spans[0][0] if spans else None,
        spans,
        unopened=first is not None and first.thoughts[0] == 0 and first.end is not None,
    )


def leaves_open(prompt: str, own: Sequence[str] = ()) -> bool:
    """Return whether a prompt ends where thinking begins."""
    *_, last = chain([None], _marks(prompt, tuple(own)))
    return last is not None and not last.ends and not prompt[last.end :].strip()


@cache
def _pattern(own: tuple[str, ...]) -> re.Pattern[str]:
    """Return what finds marks; the number of a group says which it is."""
    marks = (*own, *chain(*MARKS))
    # Nearly all places of nearly all texts are passed over by their first letters.
    first = f"(?=[{re.escape(''.join({mark[0] for mark in marks} | {'<'}))}])"
    named = "|".join(f"({re.escape(mark)})" for mark in marks)
    return re.compile(f"{first}{_BEFORE}(?:{named}){_AFTER}", re.IGNORECASE)


def _marks(text: str, own: tuple[str, ...]) -> Iterator[_Mark]:
    at = 0
    for found in _pattern(own).finditer(text):
        kind, ends = divmod((found.lastindex or 1) - 1, 2)
        follows = not text[at : found.start()].strip()
        at = found.end()
        yield _Mark(found.start(), at, kind, bool(ends), follows)


def _bare(text: str) -> list[_Block]:
    """Return the thinking between `BARE_MARKS`, to which the next word is joined."""
    begin, end = BARE_MARKS
    first = text[len(begin) : len(begin) + 1]
    if not text.startswith(begin) or first.isspace():
        return []
    to = text.find(end)
    if to >= 0:
        return [_Block(0, (len(begin), to), to + len(end))]
    # A word would go on in small letters.
    return [_Block(0, (len(begin), len(text)), None)] if first.isupper() else []


def _blocks(text: str, marks: Sequence[_Mark], opened: bool) -> list[_Block]:
    """Find the blocks of thinking; other marks are words of the answer."""
    last_end = {mark.kind: mark.start for mark in marks if mark.ends}
    blocks: list[_Block] = []
    # Where a block and its thoughts begin, and its kind, None for any; none if none is open.
    begun: tuple[int, int, int | None] | None = (0, 0, None) if opened else None
    words: set[int] = set()
    # Whether there was white space only since the beginning, a block, or the beginning of one.
    fresh = True
    for mark in marks:
        fresh = fresh and mark.follows
        if begun is not None:
            if mark.ends and begun[2] in (None, mark.kind):
                blocks.append(_Block(begun[0], (begun[1], mark.start), mark.end))
                begun = None
            elif fresh and not mark.ends:  # Some models repeat what the prompt ends with.
                begun = (begun[0], mark.end, mark.kind)
            else:
                fresh = False
                continue
        elif not mark.ends and (fresh or _begins(text, mark, last_end, again=bool(blocks))):
            begun = (mark.start, mark.end, mark.kind)
        elif mark.ends and fresh and blocks:
            blocks.append(_Block(mark.start, (mark.start, mark.start), mark.end))
        elif mark.ends and not blocks and mark.kind not in words:
            blocks.append(_Block(0, (0, mark.start), mark.end))
        else:
            words.add(mark.kind)
            fresh = False
            continue
        fresh = True
    if begun is not None:
        blocks.append(_Block(begun[0], (begun[1], len(text)), None))
    return blocks


def _begins(text: str, mark: _Mark, last_end: dict[int, int], *, again: bool) -> bool:
    """Return whether a mark within a text begins a block, `again` if there was one before."""
    before, after = text[mark.start - 1], text[mark.end : mark.end + 1]
    if last_end.get(mark.kind, -1) < mark.start:
        return again and before == "\n"
    return before == "\n" or (before.isspace() and (again or after not in (" ", "")))


def _spans(text: str, blocks: Sequence[_Block]) -> Iterator[tuple[int, int]]:
    """Yield the places of what is between and behind blocks."""
    at: int | None = 0
    for block in blocks:
        if at is not None and text[at : block.start].strip():
            yield at, block.start
        behind = None if block.end is None else _SPACE.match(text, block.end)
        at = behind.end() if behind else None
    if at is not None:
        yield at, len(text)
