from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polbayes.huggingface.encoding import windows


def words(text):
    return len(text.split())


def test_a_text_that_fits_is_left_whole():
    assert windows("I agree with that.", words, 4) == ["I agree with that."]


def test_a_long_text_is_cut_between_words_and_neighbours_share_some():
    text = " ".join(f"w{n}" for n in range(100))
    found = windows(text, words, 40)
    assert len(found) == 4  # three of 34 words each have no room for what they share
    assert all(words(window) <= 40 for window in found)
    for window, after in pairwise(found):
        shared = set(window.split()) & set(after.split())
        assert 3 <= len(shared) <= 12
        assert window.split()[-1] in shared
    assert {word for window in found for word in window.split()} == set(text.split())


def test_a_text_without_blanks_is_cut_all_the_same():
    found = windows("人" * 1000, len, 64)
    assert all(len(window) <= 64 for window in found)
    assert sum(map(len, found)) >= 1000
    assert len(found) < 25


@given(st.text(alphabet=st.sampled_from("ab \n人é"), min_size=1, max_size=300), st.integers(1, 40))
def test_windows_fit_and_cover_the_text_in_order(text, room):
    found = windows(text, len, room)
    assert all(0 < len(window) <= room for window in found)
    at = 0  # where the text is covered so far
    for window in found:
        start = text.rfind(window, 0, at + len(window))
        assert start >= 0
        at = max(at, start + len(window))
    assert at == len(text)


@pytest.mark.parametrize("size", [1, 3])
def test_a_character_that_is_too_big_is_a_window(size):
    assert windows("abc"[:size], lambda text: 5 * len(text), 2) == list("abc"[:size])
