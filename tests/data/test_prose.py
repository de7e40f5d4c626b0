import pytest

from polbayes.data.prose import form, noun, plural


@pytest.mark.parametrize(
    ("number_of", "name", "text"),
    [
        (1, "prefix", "1 prefix"),
        (2, "prefix", "2 prefixes"),
        (0, "answer", "0 answers"),
        (1200, "reply", "1,200 replies"),
        (2, "day", "2 days"),
        (3, "match", "3 matches"),
    ],
)
def test_what_is_counted_agrees_with_its_number(number_of, name, text):
    assert plural(number_of, name) == text
    assert text.endswith(noun(number_of, name))


def test_a_number_is_written_as_wanted():
    assert plural(1200, "reply", "{:.1e}".format) == "1.2e+03 replies"


def test_words_agree_with_a_number():
    assert [form(n, "is", "are") for n in (0, 1, 2)] == ["are", "is", "are"]
