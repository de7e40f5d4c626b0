import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polbayes.measures import agreement

ITEMS = [
    ("l1", "economic", "left", ("original", "opposite")),
    ("r1", "cultural", "right", ("original", "opposite")),
]


def by_measure(table):
    return dict(zip(table["measure"], table["estimate"], strict=True))


def test_hand_derived_values(coded):
    """Left-keyed: l1 original and r1 opposite; right-keyed: r1 original and l1 opposite."""
    stance = np.array([[[1, 1, 0], [1, -1, 2]], [[-1, -1, 3], [1, 1, 1]]])[None, :, :, None, :]
    table = agreement(coded(ITEMS, stance, runs=3), draws=100)
    assert by_measure(table) == {
        "agree_left": pytest.approx(5 / 6),
        "agree_right": pytest.approx(1 / 4),
        "acquiescence": pytest.approx(13 / 24),
    }
    assert table["n"].tolist() == [6, 4, 10]
    assert table["n_excluded"].tolist() == [0, 2, 2]
    assert (table["lower"] <= table["estimate"]).all()
    assert (table["estimate"] <= table["upper"]).all()


def test_a_yea_sayer_and_a_partisan_are_told_apart(coded):
    yes = np.ones((2, 2))
    left = np.array([[1, -1], [-1, 1]])
    data = coded(ITEMS, np.stack([yes, left])[..., None, None], models=("yes", "left"))
    table = agreement(data, draws=50).set_index(["model", "measure"])["estimate"]
    assert table["yes"].tolist() == [1, 1, 1]
    assert table["left"].tolist() == [1, 0, 0.5]


def test_one_sided_wordings_have_no_index(coded):
    table = agreement(coded([("l", "economic", "left", ("original",))], 1), draws=20)
    assert table["estimate"].tolist()[0] == 1
    assert table["estimate"].isna().tolist() == [False, True, True]
    assert table["note"].tolist()[1:] == ["no right-keyed wording"] * 2


@settings(max_examples=25)
@given(st.lists(st.sampled_from([-1, 1]), min_size=8, max_size=8))
def test_forced_answers_turned_round_mirror_the_index(coded, codes):
    stance = np.array(codes).reshape(1, 2, 2, 1, 2)
    there, back = (
        by_measure(agreement(coded(ITEMS, s, runs=2), draws=5)) for s in (stance, -stance)
    )
    for measure, share in there.items():
        assert back[measure] == pytest.approx(1 - share)
