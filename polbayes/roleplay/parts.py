"""Splitting a response into thoughts and answer."""

import re
from dataclasses import dataclass

from polbayes.coding.refusals import refusals
from polbayes.coding.text import clean, sentences
from polbayes.respondents import thinking

# Which of the two parts had its own heading or tag.
PARTS = {"both": 0, "no_thoughts": 1, "no_answer": 2, "neither": 3}

_THOUGHTS = r"(?:my |private |inner )*(?:thoughts?|thinking|reflections?|considerations?)"
_ANSWER = r"(?:my |final )*(?:answer|reply|response|decision)"
_HEADING = re.compile(
    rf"^[ \t]*(?:#+[ \t]*|\*\*|__)?[ \t]*(?:(?P<thoughts>{_THOUGHTS})|(?P<answer>{_ANSWER}))"
    r"[ \t]*(?:(?:\*\*|__)?[ \t]*:[ \t]*(?:\*\*|__)?|(?:\*\*|__)?[ \t]*$)",
    re.IGNORECASE | re.MULTILINE,
)
_TAG = re.compile(
    rf"<(?P<name>{_THOUGHTS}|{_ANSWER})>(?P<text>.*?)(?:</(?P=name)>|\Z)", re.IGNORECASE | re.DOTALL
)
_IS_THOUGHTS = re.compile(_THOUGHTS, re.IGNORECASE)
# A refusal comes first; later on, "I refuse" is part of the role.
_AT_ONCE = 2
_ALL_THE_SAME = re.compile(r"\b(?:but|yet|still|however),? i (?:will|would|shall|do|have|am)\b")


@dataclass(frozen=True)
class Parts:
    """The two parts, empty if missing; a text without headings is all answer."""

    thoughts: str
    answer: str
    found: str  # one of `PARTS`

    @property
    def refused(self) -> bool:
        """Whether the answer begins by declining to give one."""
        begin = sentences(clean(self.answer))[:_AT_ONCE]
        found = [one.at[0] for one in refusals(begin) if one.kind == "refused"]
        return any(not _ALL_THE_SAME.search(begin[k].text) for k in found)


def part(text: str) -> Parts:
    """Split a text."""
    text = without_reasoning(text)
    pieces = _tagged(text) or _headed(text)
    thoughts, answer = (
        "\n\n".join(said for kind, said in pieces if kind == wanted and said)
        for wanted in ("thoughts", "answer")
    )
    if answer:
        return Parts(thoughts, answer, "both" if thoughts else "no_thoughts")
    if thoughts:
        return Parts(thoughts, "", "no_answer")
    return Parts("", text.strip(), "neither")


def without_reasoning(text: str) -> str:
    """Return a text without a reasoning model's preceding thoughts."""
    return thinking.part(text).answer


def _tagged(text: str) -> list[tuple[str, str]]:
    found = []
    for match in _TAG.finditer(text):
        kind = "thoughts" if _IS_THOUGHTS.fullmatch(match["name"]) else "answer"
        found.append((kind, match["text"].strip()))
    outside = _TAG.sub("", text).strip()
    return [*found, ("answer", outside)] if found and outside else found


def _headed(text: str) -> list[tuple[str, str]]:
    heads = list(_HEADING.finditer(text))
    if not heads:
        return []
    ends = [head.start() for head in heads[1:]] + [len(text)]
    found = [
        ("thoughts" if head["thoughts"] else "answer", text[head.end() : end].strip())
        for head, end in zip(heads, ends, strict=True)
    ]
    before = text[: heads[0].start()].strip()
    # What precedes all headings is part of the answer.
    return [("answer", before), *found] if before else found
