"""Reasons to leave out a candidate wording: each has a name, each candidate at most one."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from polbayes.coding.refusals import refusals
from polbayes.coding.text import clean, sentences, words
from polbayes.errors import check_known
from polbayes.instrument.folding import folded


def duplicates(texts: Sequence[str]) -> NDArray[np.bool_]:
    """Return which wordings, folded, equal an earlier one."""
    seen: set[str] = set()
    out = np.zeros(len(texts), dtype=bool)
    for n, key in enumerate(map(folded, texts)):
        out[n] = key in seen
        seen.add(key)
    return out


def near_duplicates(texts: Sequence[str], threshold: float) -> NDArray[np.bool_]:
    """Return which wordings overlap too much with one that is kept.

    The overlap is Jaccard's, of the words and pairs of neighbouring words in each (w-shingling;
    Broder 1997, On the resemblance and containment of documents).
    """
    keys = [folded(text) for text in texts]
    overlaps = overlap(keys)
    out = np.zeros(len(texts), dtype=bool)
    kept: list[int] = []
    for n in sorted(range(len(texts)), key=keys.__getitem__):
        out[n] = bool(kept) and bool((overlaps[n, kept] >= threshold).any())
        if not out[n]:
            kept.append(n)
    return out


def overlap(keys: Sequence[str]) -> NDArray[np.float64]:
    """Return the overlap (text, text) of folded texts; 1 for two without words."""
    from scipy.sparse import csr_matrix

    place: dict[tuple[str, ...], int] = {}
    rows, columns = [], []
    for n, key in enumerate(keys):
        words = key.split()
        shingles = {(word,) for word in words} | set(pairwise(words))
        for shingle in shingles:
            rows.append(n)
            columns.append(place.setdefault(shingle, len(place)))
    shape = (len(keys), max(len(place), 1))
    has = csr_matrix((np.ones(len(rows)), (rows, columns)), shape=shape)
    common = (has @ has.T).toarray()
    size = common.diagonal()
    either = size[:, None] + size[None, :] - common
    return np.where(either > 0, common / np.where(either > 0, either, 1.0), 1.0)


# Their meanings, in the order in which they are checked.
MEANING = {
    "failed": "the respondent gave no answer",
    "empty": "no letter or digit",
    "refusal": "the respondent declines",
    "preamble": "speaks of what follows or went before, and states nothing",
    "answer": "agrees or disagrees with the statement, and does not reword it",
    "question": "ends in a question mark",
    "list": "several statements where one was asked for",
    "fragment": "fewer words than paraphrase.least_words",
    "cut_off": "the last line of an answer that reached max_new_tokens",
    "original": "the statement itself",
    "quotes_original": "a paraphrase that is the statement itself with words around it",
    "duplicate": "the same as another of its item, set and kind but for case, space, punctuation",
    "near_duplicate": "overlaps with a kept one by paraphrase.near or more",
    "meaning": "fails the threshold of natural-language inference",
    "judge": "the judge finds another relation, or none",
    "human": "people find another relation",
}
# Reasons with nothing to keep.
ALWAYS = ("failed", "empty")

_DECLINES = re.compile(
    r"\bi (?:can not|could not|am (?:not able|unable) to|will not|would rather not|must decline to)"
    r" (?:\w+ ){0,2}?(?:create|generate|provide|paraphrase|rephrase|reformulate|reword|help|assist|"
    r"fulfill?|write|produce|comply|engage|do that)\b"
    r"|^(?:i am )?(?:very )?sorry\b|\bi apologi[sz]e\b"
    r"|\bas an ai\b|\bas a(?: large)? language model\b"
)
_SPEAKS = re.compile(
    r"^(?:sure|certainly|of course|absolutely|okay|ok|great)\b[,.!:]?\s*(?:here\b|i\b|$)"
    r"|^(?:here|below|these|the following) (?:are|is|'s)\b.{0,60}\b(?:paraphras|reformulat|rephras|"
    r"reword|version|statement|alternative|way|wording|opposite)"
    r"|^(?:i hope|let me know|please let me|feel free|note that|note:)\b",
    re.IGNORECASE,
)
_ANSWERS = re.compile(
    r"^(?:(?:yes|no)\b[,.!;:]?\s*)?i (?:\w+ ){0,2}?(?:dis)?agree(?: with (?:this|that|the|your) "
    r"(?:statement|proposition|claim))?[.!]?$|^(?:yes|no)[.!]?$",
    re.IGNORECASE,
)
_INLINE = re.compile(r"(?:^|\s)\(?\d{1,3}[.)]\s+\S")


def check_reasons(names: Sequence[str]) -> None:
    """Refuse unknown reasons."""
    check_known("reason", *names, known=MEANING, where="paraphrase.exclude")


def reason_of(text: str, original: str, *, kind: str, least_words: int) -> str:
    """Return why a text alone is no wording of a statement; empty if it may be one."""
    key, own = folded(text), folded(original)
    if not any(sign.isalnum() for sign in key):
        return "empty"
    if _declines(text):
        return "refusal"
    if text.rstrip().endswith((":", "：")) or _SPEAKS.search(text):
        return "preamble"
    if _ANSWERS.search(" ".join(text.split())):
        return "answer"
    if text.rstrip().endswith(("?", "？")):
        return "question"
    if len(_INLINE.findall(text)) > 1:
        return "list"
    if len(key.split()) < least_words:
        return "fragment"
    if key == own:
        return "original"
    if kind == "paraphrase" and f" {own} " in f" {key} ":
        return "quotes_original"
    return ""


def _declines(text: str) -> bool:
    return bool(_DECLINES.search(" ".join(words(text)))) or any(refusals(sentences(clean(text))))


def with_reasons(
    candidates: pd.DataFrame,
    originals: Mapping[str, str],
    *,
    exclude: Sequence[str],
    one: Sequence[str] = (),
    least_words: int = 3,
    near: float | None = None,
) -> pd.DataFrame:
    """Add the reason to leave out each candidate, as far as its text shows one."""
    columns = (candidates[name] for name in ("reason", "item", "kind", "text"))
    reasons = [
        given
        if given == "failed"
        else reason_of(text, originals[item], kind=kind, least_words=least_words) or given
        for given, item, kind, text in zip(*columns, strict=True)
    ]
    table = candidates.assign(reason=np.array(reasons, dtype=object))
    answers = table[(table["reason"] == "") & table["instruction"].isin(one)]
    several = answers.groupby(["item", "set", "instruction", "call"])["text"].transform("size") > 1
    table.loc[several[several].index, "reason"] = "list"
    find: dict[str, Callable[[list[str]], np.ndarray]] = {"duplicate": duplicates}
    if near is not None:
        find["near_duplicate"] = partial(near_duplicates, threshold=near)
    for name, found_in in find.items():
        remaining = table[~table["reason"].isin([*ALWAYS, *exclude])]
        for _, group in remaining.groupby(["item", "set", "kind"], sort=False):
            again = group.index[found_in(group["text"].tolist())]
            # Earlier reasons are kept.
            table.loc[again[table.loc[again, "reason"] == ""], "reason"] = name
    return table
