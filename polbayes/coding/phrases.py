"""A lexical coder for any language: phrases that state a stance, from a file.

It decides if all phrases that it finds in an answer state the same stance, and abstains otherwise.
Of phrases that overlap the longest counts, and of those the one with more words of its own, so that
"I do not agree" is not read as "agree"; a phrase counts only at the beginning of a clause.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from polbayes.coding.registry import nominal_probabilities
from polbayes.coding.text import clean, sentences
from polbayes.config.languages import load_language
from polbayes.config.schema import CoderConfig
from polbayes.config.yaml_checks import check_keys, text
from polbayes.errors import UserError

STANCES = ("agree", "neutral", "disagree", "refused")
_WORD = r"[^\W_]+(?:'[^\W_]+)?"
# The key of the words that a star does not stand for.
_BREAKS = "breaks"
_CLAUSE = frozenset('.,;:!?–-()"¡¿')


def open_phrases(
    name: str, config: CoderConfig, models: Mapping[str, CoderConfig], journal_dir: Path | None
) -> "Phrases":
    """Open the coder of the language that a declaration names."""
    if not config.language:
        raise UserError(f"coding.models.{name}: language: is missing; name one of data/languages.")
    language = load_language(config.language)
    given, where = dict(language.section("phrases")), f"{language.path}: phrases"
    check_keys(given, {"agree", "disagree"}, {"neutral", "refused", _BREAKS}, where)
    lists = {kind: _phrases(listed, f"{where}: {kind}") for kind, listed in given.items()}
    return Phrases({kind: lists[kind] for kind in STANCES if kind in lists}, lists.get(_BREAKS, ()))


def _phrases(given: object, where: str) -> tuple[str, ...]:
    if not isinstance(given, list) or not given:
        raise UserError(f"{where}: must be a list of at least one phrase.")
    return tuple(text(one, where) for one in given)


class Phrases:
    """Reads stances off phrases, which are given by stance (`STANCES`).

    A star stands for up to six words, of which none is in `breaks`.
    """

    def __init__(self, phrases: Mapping[str, Sequence[str]], breaks: Sequence[str] = ()) -> None:
        no = "|".join(re.escape(word) for one in breaks for word in _plain(one))
        gap = rf"(?:{f'(?!(?:{no}) )' if no else ''}{_WORD} ){{0,6}}"
        self._patterns = [
            (kind, *_pattern(phrase, gap)) for kind, listed in phrases.items() for phrase in listed
        ]

    def __call__(self, statements: Sequence[str], responses: Sequence[str]) -> np.ndarray:
        """Code responses; the statements are not looked at."""
        return nominal_probabilities([self.read(response) for response in responses])

    def read(self, response: str) -> str | None:
        """Read the stance of one answer; None to abstain."""
        found = {kind for clause in _clauses(response) if (kind := self._of(clause))}
        return found.pop() if len(found) == 1 else None

    def _of(self, clause: str) -> str | None:
        """Return the stance of the longest phrase that a clause begins with."""
        matches = [
            (m.end(), literal, kind)
            for kind, pattern, literal in self._patterns
            if (m := pattern.match(clause))
        ]
        return max(matches)[2] if matches else None


def _pattern(phrase: str, gap: str) -> tuple[re.Pattern[str], int]:
    """Return the pattern of a phrase and its number of words; a star at the end needs nothing."""
    words = _plain(phrase, star=True)
    parts = [gap if word == "*" else f"{re.escape(word)} " for word in words]
    return re.compile("".join(parts)), sum(word != "*" for word in words)


def _plain(phrase: str, *, star: bool = False) -> list[str]:
    allowed = rf"{_WORD}|\*" if star else _WORD
    return re.findall(allowed, phrase.casefold().replace("’", "'"))


def _clauses(response: str) -> list[str]:
    """Split an answer into clauses of lower-case words, each followed by a blank."""
    out = []
    for sentence in sentences(clean(response)):
        words: list[str] = []
        for token in (*sentence.tokens, "."):
            if token in _CLAUSE:
                out.append("".join(f"{word} " for word in words))
                words = []
            else:
                words.append(token)
    return [clause for clause in out if clause]
