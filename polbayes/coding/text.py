"""Preparation of an answer for reading: cleaning, contractions, sentences, words."""

import re
import unicodedata
from dataclasses import dataclass

from polbayes.huggingface.encoding import SPECIAL_TOKEN

# Longer answers are read only up to here.
_LONGEST = 20_000

_QUOTES = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "„": '"', "«": '"', "»": '"'})
_INVISIBLE = re.compile("[\u200b-\u200f\u2060\ufeff\ufffd]")
_MARKDOWN = re.compile(r"\*{1,3}|_{2,3}|`+|~~|^[ \t]*#{1,6}[ \t]+|^[ \t]*>[ \t]?", re.MULTILINE)
_BLANK = re.compile(r"[^\S\n]+")
_QUOTED = re.compile(r'"([^"\n]{1,600})"')
_SAYS_I = re.compile(r"\bi\b.{0,60}agree", re.IGNORECASE)
_TERMINATED = re.compile(r"(?<=[.!?…])[\"')\]]*\s+|\n+")
_LABEL_ONLY = re.compile(r"\(?(?:\d{1,2}|[A-Za-z])[.)]")
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?|[^\w\s]")

_CONTRACTIONS = (
    (re.compile(r"\bcan(?:no|')t\b"), "can not"),
    (re.compile(r"\bwon't\b"), "will not"),
    (re.compile(r"\bshan't\b"), "shall not"),
    (re.compile(r"n't\b"), " not"),
    (re.compile(r"\bi'm\b"), "i am"),
    (re.compile(r"\b(\w+)'d\b"), r"\1 would"),
    (re.compile(r"\b(\w+)'ll\b"), r"\1 will"),
    (re.compile(r"\b(\w+)'ve\b"), r"\1 have"),
    (re.compile(r"\b(\w+)'re\b"), r"\1 are"),
    (re.compile(r"\b(it|that|there|what|he|she|who)'s\b"), r"\1 is"),
)


@dataclass(frozen=True)
class Sentence:
    """One sentence of an answer."""

    tokens: tuple[str, ...]  # words in lower case, contractions written out, and punctuation
    starts_line: bool  # whether it is the first of its line
    line: int  # its number among those that are not empty, from 0

    @property
    def is_question(self) -> bool:
        """Whether it ends in a question mark."""
        return "?" in self.tokens[-2:]

    @property
    def text(self) -> str:
        """Its words without punctuation, separated by one space."""
        return " ".join(token for token in self.tokens if token[0].isalnum())


def clean(answer: str) -> str:
    """Remove everything but language: chat markup, markdown, invisible characters.

    The text has plain quotation marks and apostrophes, single blanks, and its line breaks. Quoted
    speech about agreement is removed, because it need not be the answer's own stance.
    """
    text = unicodedata.normalize("NFKC", answer[:_LONGEST]).translate(_QUOTES)
    text = _INVISIBLE.sub(" ", SPECIAL_TOKEN.sub("\n", text))
    text = _MARKDOWN.sub("", text)
    lines = (_unquote(_BLANK.sub(" ", line).strip()) for line in text.splitlines())
    # A line of quotation marks only becomes empty.
    return "\n".join(line for line in lines if line)


def _unquote(line: str) -> str:
    """Drop quotation marks, and quoted speech unless the line begins with it."""

    def replace(match: re.Match[str]) -> str:
        own = match.start() == 0
        return match[1] if own or not _SAYS_I.search(match[1]) else ""

    return _QUOTED.sub(replace, line).replace('"', "").strip()


def words(text: str) -> list[str]:
    """Split a text into lower-case words, contractions written out, and punctuation marks."""
    lowered = text.casefold().translate(_QUOTES)
    if "'" in lowered or "cannot" in lowered:
        for pattern, written_out in _CONTRACTIONS:
            lowered = pattern.sub(written_out, lowered)
    return _WORD.findall(lowered)


def word_set(listed: str) -> frozenset[str]:
    """Return the set of the words in a text."""
    return frozenset(listed.split())


def sentences(cleaned: str) -> list[Sentence]:
    """Split a cleaned text into sentences; a line break always ends one."""
    out = []
    number = 0
    for line in cleaned.split("\n"):
        starts = True
        for part in _joined_labels(_TERMINATED.split(line)):
            tokens = words(part)
            if tokens:
                out.append(Sentence(tuple(tokens), starts, number))
                starts = False
        number += not starts
    return out


def _joined_labels(parts: list[str]) -> list[str]:
    """Rejoin the number of an option ('3.') with its text."""
    out: list[str] = []
    for part in parts:
        if out and _LABEL_ONLY.fullmatch(out[-1].strip()):
            out[-1] = f"{out[-1]} {part}"
        else:
            out.append(part)
    return out
