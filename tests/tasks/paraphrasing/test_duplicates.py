from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from polbayes.instrument.folding import folded
from polbayes.tasks.paraphrasing.reasons import duplicates, near_duplicates, overlap

WORDS = st.lists(st.sampled_from(["tax", "rail", "state", "own", "Tax"]), min_size=1, max_size=6)
TEXTS = st.lists(st.one_of(WORDS.map(" ".join), st.text(max_size=12)), max_size=12)
DISTINCT = st.lists(WORDS.map(" ".join), max_size=12, unique_by=folded)


@settings(max_examples=50)
@given(TEXTS, st.randoms())
def test_duplicates_are_as_many_in_any_order_and_gone_after_once(texts, random):
    again = duplicates(texts)
    assert len(texts) - again.sum() == len({folded(t) for t in texts})
    shuffled = list(texts)
    random.shuffle(shuffled)
    assert duplicates(shuffled).sum() == again.sum()
    kept = [t for t, gone in zip(texts, again, strict=True) if not gone]
    assert not duplicates(kept).any()


@settings(max_examples=50)
@given(DISTINCT, st.floats(0.05, 1), st.randoms())
def test_near_duplicates_are_the_same_in_any_order_and_gone_after_once(texts, threshold, random):
    gone = near_duplicates(texts, threshold)
    kept = [t for t, out in zip(texts, gone, strict=True) if not out]
    assert not near_duplicates(kept, threshold).any()
    shuffled = list(texts)
    random.shuffle(shuffled)
    again = near_duplicates(shuffled, threshold)
    assert {t for t, out in zip(shuffled, again, strict=True) if not out} == set(kept)
    # The greedy way by hand: sets of words and pairs of neighbours.
    mine: list[set] = []
    for key in sorted(map(folded, texts)):
        words = key.split()
        own = {*words, *pairwise(words)}
        if all(len(own & other) / len(own | other) < threshold for other in mine):
            mine.append(own)
    assert len(mine) == len(kept)


def test_the_overlap_by_hand():
    # a b c, ab bc against a b d, ab bd: 3 of 7 in common; the order of words counts.
    found = overlap(["a b c", "a b d", "c b a", "", ""])
    np.testing.assert_allclose(found[0, :4], [1, 3 / 7, 3 / 7, 0])
    assert found[3, 4] == 1
    assert near_duplicates(["a b c", "a b d"], 3 / 7).tolist() == [False, True]
    assert not near_duplicates(["a b c", "a b d"], 0.43).any()
