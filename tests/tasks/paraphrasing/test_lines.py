import pytest
from hypothesis import given
from hypothesis import strategies as st

from polbayes.tasks.paraphrasing.generate import bare, lines_of


@pytest.mark.parametrize(
    ("line", "left"),
    [
        ("1. Taxes are high.", "Taxes are high."),
        ("  12) - Taxes are high.", "Taxes are high."),
        ("• **Taxes** are high.", "Taxes are high."),
        ("“Taxes are high.”", "Taxes are high."),
        ('"Taxes are high".', "Taxes are high."),
        ("'Taxes' are high, they say 'often'", "'Taxes' are high, they say 'often'"),
        ('"Taxes" and "fees" are "high"', '"Taxes" and "fees" are "high"'),
        ("Paraphrase 3: Taxes are high.", "Taxes are high."),
        ("Reformulated statement: “Taxes are high.”", "Taxes are high."),
        ("(b) Taxes are high.", "Taxes are high."),
        ("A free market is good.", "A free market is good."),
        ("3.5 per cent is enough.", "3.5 per cent is enough."),
        ("Paraphrases:", "Paraphrases:"),
        ("7.", ""),
        ("   ", ""),
        ("Taxes\x00 are\thigh.", "Taxes are high."),
    ],
)
def test_what_is_around_a_wording_is_taken_away(line, left):
    assert bare(line) == left


def test_an_answer_is_taken_apart_by_line():
    answer = "\n\nHere you go:\n1. One thing.\n\n2. Another \ud800thing.\n<|im_end|>"
    assert lines_of(answer) == ["Here you go:", "One thing.", "", "Another \ufffdthing."]
    assert lines_of(" \n ") == [""]


@given(st.text())
def test_a_bare_line_stays_as_it_is(text):
    assert bare(bare(text)) == bare(text)
    assert all("\n" not in line for line in lines_of(text))
