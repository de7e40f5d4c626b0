import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polbayes.coding.likert import code
from polbayes.data.dataset import STANCE_CLASSES


def decided(answer):
    row = code(["a statement"], [answer])[0]
    return None if np.isnan(row).all() else STANCE_CLASSES[int(np.argmax(row))]


@pytest.mark.parametrize(
    ("answer", "stance"),
    [
        ("1", "disagree"),
        ("2", "disagree"),
        ("3", "neutral"),
        ("4", "agree"),
        ("5", "agree"),
        (" 4.", "agree"),
        ("4\n", "agree"),
        ('"2"', "disagree"),
        ("**5**", "agree"),
        ("<|assistant|>\n3", "neutral"),
    ],
)
def test_one_integer_is_coded(answer, stance):
    assert decided(answer) == stance


@pytest.mark.parametrize(
    "answer",
    ["", " ", "0", "6", "10", "-4", "4/5", "4 out of 5", "3-4", "4. Agree", "four", "4 5", "4.5"],
)
def test_anything_else_is_left(answer):
    assert decided(answer) is None


def test_probabilities_sum_to_one_and_favour_the_class():
    row = code(["s"], ["1"])[0]
    assert row.dtype == np.float32
    assert row.sum() == pytest.approx(1.0)
    assert row[STANCE_CLASSES.index("disagree")] == pytest.approx(0.98)


@given(st.text(max_size=30))
def test_any_text_gives_a_row(answer):
    rows = code(["s"], [answer])
    assert rows.shape == (1, len(STANCE_CLASSES))
    assert np.isnan(rows).all() or rows.sum() == pytest.approx(1.0)
