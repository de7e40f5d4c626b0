"""Features of the words of a wording: how long, how many, how frequent."""

import string
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from polbayes.errors import UserError, check_known

WORD_LENGTH, SENTENCE_LENGTH, FREQUENCY = "word_length", "sentence_length", "lexical_frequency"


def lengths(texts: Sequence[str]) -> dict[str, np.ndarray]:
    """Measure words, which white space separates, without punctuation, and sentences."""
    words = [text.split() for text in texts]
    measured = {word: float(len(form)) for word in _distinct(words) if (form := bare(word))}
    return {
        SENTENCE_LENGTH: np.array([float(len(found)) for found in words]),
        WORD_LENGTH: _means(words, measured),
    }


def frequencies(texts: Sequence[str], *, language: str) -> dict[str, np.ndarray]:
    """Look up how frequent words are."""
    from wordfreq import zipf_frequency

    check_language(language)
    words = [text.split() for text in texts]
    found = {
        word: zipf_frequency(form, language) for word in _distinct(words) if (form := bare(word))
    }
    return {FREQUENCY: _means(words, found)}


@lru_cache(maxsize=8)
def check_language(language: str) -> None:
    """Refuse a language whose words cannot be looked up."""
    from wordfreq import available_languages, zipf_frequency

    check_known("language", language, known=available_languages(), where="features.language")
    try:
        zipf_frequency("1", language)
    except ModuleNotFoundError as error:
        raise UserError(
            f"features.language: to find the words of '{language}' wordfreq needs the package "
            f"{error.name}; install it with pip install 'wordfreq[cjk]'."
        ) from error


def bare(word: str) -> str:
    """Return a word without its punctuation; empty where it is nothing else."""
    if word.isalnum():
        return word
    return "".join(c for c in word if not _is_punctuation(c))


def _is_punctuation(character: str) -> bool:
    # ASCII counts some signs as punctuation that Unicode calls symbols, such as + and $.
    return character in string.punctuation or unicodedata.category(character).startswith("P")


def _distinct(words: Sequence[Sequence[str]]) -> set[str]:
    """Return the distinct words: these are far fewer than the words."""
    return {word for found in words for word in found}


def _means(words: Sequence[Sequence[str]], values: dict[str, float]) -> np.ndarray:
    """Average over the words of each text that have a value."""
    means = np.full(len(words), np.nan)
    for k, found in enumerate(words):
        known = [values[word] for word in found if word in values]
        if known:
            means[k] = sum(known) / len(known)
    return means
