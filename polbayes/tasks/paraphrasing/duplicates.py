"""When two wordings are one: the same letters and digits, or nearly the same words in order.

The overlap of two wordings is Jaccard's, of the words and pairs of neighbouring words that each
has (w-shingling; Broder 1997, On the resemblance and containment of documents): 1 where they have
all in common, 0 where nothing.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from polbayes.instrument.folding import folded


def duplicates(texts: Sequence[str]) -> NDArray[np.bool_]:
    """Tell which wordings are, folded, the same as an earlier one."""
    seen: set[str] = set()
    out = np.zeros(len(texts), dtype=bool)
    for n, key in enumerate(map(folded, texts)):
        out[n] = key in seen
        seen.add(key)
    return out


def near_duplicates(texts: Sequence[str], threshold: float) -> NDArray[np.bool_]:
    """Tell which wordings overlap too much with one that is kept."""
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
    """Return the overlap (text, text) of folded texts; of two without a word it is 1."""
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
