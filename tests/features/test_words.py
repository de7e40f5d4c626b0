"""Words of a wording: by hand, and by wordfreq's own frequencies."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from wordfreq import word_frequency

from polbayes.errors import UserError
from polbayes.features.words import bare, check_language, frequencies, lengths


@pytest.mark.parametrize(
    ("text", "words", "length"),
    [
        ("Taxes are theft.", 3, (5 + 3 + 5) / 3),
        # Punctuation is no character of a word, and a dash is a word without any.
        ("I'd go — now", 4, (2 + 2 + 3) / 3),
        ("  trans-national\tcorporations \n", 2, (13 + 12) / 2),
        ("“Eye” for an eye…", 4, (3 + 3 + 2 + 3) / 4),
        ("Das hält für 1,000 €", 5, (3 + 4 + 3 + 4 + 1) / 5),
        ("Налоги — кража", 3, (6 + 5) / 2),
        ("税金は高すぎる。", 1, 7),
        ("👍", 1, 1),
        ("?!", 1, math.nan),
        ("", 0, math.nan),
        (" \n\t ", 0, math.nan),
    ],
)
def test_lengths_by_hand(text, words, length):
    found = lengths([text])
    assert found["sentence_length"].tolist() == [words]
    np.testing.assert_allclose(found["word_length"], [length])


def zipf(word: str) -> float:
    """Return log10 of the frequency among a billion words, to two decimals as wordfreq has it."""
    share = word_frequency(word, "en")
    return round(math.log10(share * 1e9), 2) if share else 0.0


def test_frequencies_are_means_of_zipf_frequencies():
    """The definition (log10 of counts a billion), from wordfreq's shares of all words."""
    found = frequencies(["The taxes, (the) TAXES!", "zzqxv the"], language="en")
    expected = [(2 * zipf("the") + 2 * zipf("taxes")) / 4, (0 + zipf("the")) / 2]
    np.testing.assert_allclose(found["lexical_frequency"], expected)
    assert 7 < zipf("the") < 8


def test_the_language_is_the_one_asked_for():
    text = ["Kraftfahrzeughaftpflichtversicherung und"]
    german, english = (frequencies(text, language=c)["lexical_frequency"][0] for c in ("de", "en"))
    assert german > english + 2


@pytest.mark.parametrize("text", ["", " ", "—", "…!"])
def test_no_word_has_no_frequency(text):
    assert np.isnan(frequencies([text], language="en")["lexical_frequency"]).all()


def test_a_language_that_is_not_there_is_refused():
    with pytest.raises(UserError, match="unknown language 'xx'"):
        check_language("xx")


def test_a_language_that_needs_more_says_what(monkeypatch):
    import sys

    # As if it were not installed, whether it is or not.
    monkeypatch.setitem(sys.modules, "jieba", None)
    check_language.cache_clear()
    with pytest.raises(UserError, match="needs the package jieba; install it with"):
        check_language("zh")


@given(st.lists(st.text(max_size=40), max_size=5))
def test_any_text_has_a_defined_value(texts):
    found = lengths(texts) | frequencies(texts, language="en")
    for k, text in enumerate(texts):
        forms = [f for f in map(bare, text.split()) if f]
        assert found["sentence_length"][k] == len(text.split())
        assert np.isnan(found["word_length"][k]) == (not forms)
        assert np.isnan(found["lexical_frequency"][k]) == (not forms)
        if forms:
            # Ties of means are up to rounding.
            inside = min(map(len, forms)) - 1e-9, max(map(len, forms)) + 1e-9
            assert inside[0] <= found["word_length"][k] <= inside[1]
            assert 0 <= found["lexical_frequency"][k] <= 8


@given(st.lists(st.sampled_from(["tax", "the", "state,", "owns", "—"]), min_size=1), st.randoms())
def test_the_order_of_words_does_not_matter(words, random):
    shuffled = list(words)
    random.shuffle(shuffled)
    both = [" ".join(words), " ".join(shuffled)]
    for values in (lengths(both) | frequencies(both, language="en")).values():
        np.testing.assert_allclose(values[0], values[1])


def test_a_very_long_word_and_a_very_long_text():
    texts = ["x" * 200_000, "tax " * 50_000]
    found = lengths(texts) | frequencies(texts, language="en")
    assert found["word_length"].tolist() == [200_000, 3]
    assert found["sentence_length"].tolist() == [1, 50_000]
    np.testing.assert_allclose(found["lexical_frequency"], [0, zipf("tax")])
