"""Answers, or lines of them, that are only a label: "3) Agree", "Yes.", "Neutral"."""

import re
from collections.abc import Iterator, Sequence

from polbayes.coding.evidence import Evidence, Kind
from polbayes.coding.restatement import NEGATORS
from polbayes.coding.text import Sentence, word_set, words

_LEAD = (
    r"(?:(?:sure|okay|ok|certainly|of course|well)[,.! ]*)?"
    r"(?:(?:so|therefore|thus|hence|overall|in conclusion|in summary|ultimately|finally)[, ]+)?"
    r"(?:(?:here is )?(?:my|the|final|short|selected|chosen)? ?(?:own |final |personal )?"
    r"(?:answer|response|stance|position|opinion|view|verdict|choice|label|vote|reply|rating"
    r"|option|selection|conclusion)(?: to (?:this|the) (?:statement|proposition|question))?"
    r"(?: (?:is|would be|will be|remains))?(?: that)? ?:? ?)?"
    r"(?:i (?:would |will |must |have to )?(?:\w+ly )?(?:choose|select|pick|answer|say|go with|vote"
    r"|respond|respond with|answer with|label it as)(?: the)?(?: option| label| answer)? ?:? ?)?"
)
_MARK = r"(?:\(? ?(?:option )?(?:\d{1,2}|[a-e]|i{1,3}|iv|v) ?[).:\]-]+ ?)?"
_DEGREE = r"(?:(?:very |somewhat |\w+ly )?)"
_LABELS: tuple[tuple[Kind, str], ...] = (
    ("neutral", r"(?:neither agree nor disagree|neither disagree nor agree|neutral|undecided)"),
    ("disagree", r"(?:disagree|disagreement|i disagree)"),
    ("agree", r"(?:agree|agreement|i agree)"),
)
_AFTER = r"(?: (?:strongly|completely|somewhat))?"
_LABEL = {
    kind: re.compile(
        rf"{_LEAD}['(]{{0,2}}{_MARK}['(]{{0,2}}{_DEGREE}{label}{_AFTER} ?(?P<end>[.,;:!)'-]|$)"
    )
    for kind, label in _LABELS
}
_LEADING = re.compile(_LEAD)
_YES_NO = re.compile(r"(?:yes|no|yeah|yep|nope)(?P<end> ?[.,;:!-]| ?$)")
_BUT = re.compile(r"^[ ,;:.!-]*(?:and no\b|and yes\b|or\b|but\b|yes\b|no\b|however\b)")
_STANCE_WORD = re.compile(r"\b(?:agree|disagree|neutral)\b")
_TRUE = re.compile(
    r"\b(?:the|this|that|your) (?:statement|proposition|claim|assertion)"
    r"(?: (?:that|above|in question|you provided|provided|presented))? is (?P<how>(?:\w+ ){0,2}?)"
    r"(?P<value>true|correct|accurate|false|incorrect|inaccurate|untrue|wrong)\b"
)
_BARE_TRUE = re.compile(r"(?P<value>true|correct|false|incorrect|untrue) ?[.!]?$")
_SURE_HOW = word_set(
    "definitely absolutely certainly clearly simply indeed completely entirely undoubtedly "
    "fundamentally generally factually largely mostly wholly totally is"
)
_TRUTH: dict[str, Kind] = {"true": "agree", "correct": "agree", "accurate": "agree"}
_SUPPOSING = re.compile(r"\b(?:if|whether|unless|that|how|not (?:say|claim)\w*)[^.]{0,20}$")


def bare(text: Sequence[Sentence]) -> Iterator[Evidence]:
    """Find lines that begin with only a label."""
    last = text[-1].line if text else 0
    for number, sentence in enumerate(text):
        # A later sentence counts only if it is short enough to be only a label.
        if sentence.is_question or (not sentence.starts_line and len(sentence.tokens) > 4):
            continue
        line = _spaced(sentence.tokens)
        for kind, pattern in _LABEL.items():
            found = pattern.match(line)
            if not found:
                continue
            edge = sentence.line in (0, last)
            alone = not _STANCE_WORD.search(line[found.end() :])
            yield Evidence(kind if alone else "mixed", "clear" if edge else "hedged", (number, 0))
            break


def yes_or_no(text: Sequence[Sentence], statement: str) -> Iterator[Evidence]:
    """Read an answer that begins with yes or no."""
    if not text:
        return
    line = _spaced(text[0].tokens)
    start = _LEADING.match(line)
    found = _YES_NO.match(line, start.end() if start else 0)
    if not found:
        return
    kind: Kind = "agree" if found[0].startswith("y") else "disagree"
    more = bool(line[found.end() :].strip(" .!")) or len(text) > 1
    follows = line[found.end() - 1 :] + " " + (_spaced(text[1].tokens) if len(text) > 1 else "")
    negative = bool(NEGATORS & set(words(statement)))
    unsure = bool(_BUT.match(follows.strip())) or (more and negative)
    yield Evidence(kind, "hedged" if unsure else "clear", (0, 0))


def truth(text: Sequence[Sentence]) -> Iterator[Evidence]:
    """Find "this statement is true" and "False."."""
    for number, sentence in enumerate(text):
        line = _spaced(sentence.tokens)
        found = _TRUE.search(line)
        if found is None and number == 0:
            start = _LEADING.match(line)
            found = _BARE_TRUE.match(line, start.end() if start else 0)
        if found is None or sentence.is_question or _SUPPOSING.search(line[: found.start()]):
            continue
        how = set((found.groupdict().get("how") or "").split())
        kind: Kind = _TRUTH.get(found["value"], "disagree")
        denied = bool(how & NEGATORS)
        sure = not (how - NEGATORS - _SURE_HOW) and not (denied and how - NEGATORS)
        if denied:
            kind = "disagree" if kind == "agree" else "agree"
        yield Evidence(kind, "clear" if sure else "hedged", (number, found.start()))


def _spaced(tokens: Sequence[str]) -> str:
    """Join tokens, punctuation directly after the word before it."""
    out = ""
    for token in tokens:
        out += token if token in ".,;:!)" or not out or out.endswith(("(", "'")) else f" {token}"
    return out
