from hypothesis import example, given
from hypothesis import strategies as st

from polbayes.coding.text import clean, sentences, words


def test_markup_and_markdown_are_removed():
    assert clean("<|assistant|>\n## **Answer:** `yes`\n> _really_") == "Answer: yes\n_really_"


def test_quoted_speech_about_agreeing_is_left_out():
    assert clean('They say "I agree". No.') == "They say . No."
    assert clean('"I agree" is my answer') == "I agree is my answer"
    assert clean('The idea of "fair trade" is old') == "The idea of fair trade is old"


def test_contractions_are_written_out():
    assert words("I can't, I’d and it's") == [
        *("i", "can", "not", ",", "i", "would", "and", "it", "is"),
    ]


def test_sentences_know_their_place():
    found = sentences("One. Two?\n3. Three")
    assert [s.text for s in found] == ["one", "two", "3 three"]
    assert [s.starts_line for s in found] == [True, False, True]
    assert [s.line for s in found] == [0, 0, 1]
    assert [s.is_question for s in found] == [False, True, False]


@given(st.text(max_size=200))
@example('yes\n"\nno')
def test_no_line_is_empty_or_begins_or_ends_with_a_blank(text):
    cleaned = clean(text)
    assert all(line.strip() == line and line for line in cleaned.split("\n")) or cleaned == ""
