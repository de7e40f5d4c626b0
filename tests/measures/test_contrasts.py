import numpy as np
import pytest

from polbayes.errors import UserError
from polbayes.measures import bias
from polbayes.measures.contrasts import bias_difference, reformulation_robustness

SIDED = ("left", "right")


def items(n, wordings=("original",)):
    """n items a side, sides in pairs, so that two instruments get half of each."""
    return [(f"{s}{k}{h}", "economic", s, wordings) for k in range(n) for s in SIDED for h in "xy"]


def test_difference_of_instruments_by_hand(coded):
    """x: agrees with the right, disagrees with the left: 1. y: agrees with all: 0."""
    entries = items(3)
    # The items of x come first.
    stance = [-1, 1] * 3 + [1] * 6
    data = coded(entries, np.reshape(stance, (1, -1, 1, 1, 1)), instruments=("x", "y"))
    table = bias_difference(data, draws=50)
    total = table[table["dimension"] == "total"].iloc[0]
    assert total[["first", "second", "estimate"]].tolist() == ["x", "y", 1]
    assert total[["lower", "upper", "lower_item", "upper_item"]].tolist() == [1, 1, 1, 1]
    assert total[["n_first", "n_second", "n_excluded"]].tolist() == [6, 6, 0]
    turned = bias_difference(data, pairs=[("y", "x")], draws=5)
    assert set(turned["estimate"]) == {-1}
    with pytest.raises(UserError, match="'z'"):
        bias_difference(data, pairs=[("y", "z")])


def test_instruments_vary_on_their_own(coded):
    """Variances of independent parts add up."""
    rng = np.random.default_rng(5)
    entries = items(20)
    stance = rng.choice([-1, 1], size=(1, len(entries), 1, 1, 1))
    data = coded(entries, stance, instruments=("x", "y"))
    row = bias_difference(data, by=("model",), draws=4000).iloc[0]
    parts = bias(data, by=("model", "instrument"), measures=["bias"], draws=4000)
    for lower, upper in (("lower", "upper"), ("lower_item", "upper_item")):
        alone = np.hypot(*(parts[upper] - parts[lower]))
        assert row[upper] - row[lower] == pytest.approx(alone, rel=0.08)


def test_the_same_items_are_resampled_together(coded):
    """Two prefixes that differ in every answer of one item differ by that item alone."""
    entries = items(4)
    stance = np.ones((1, 16, 1, 2, 1), dtype=int)
    data = coded(entries, stance, prefixes=("p", "q"))
    row = bias_difference(data, over="prefix", by=("model",), draws=200).iloc[0]
    assert row[["estimate", "lower_item", "upper_item"]].tolist() == [0, 0, 0]
    with pytest.raises(UserError, match="twice"):
        bias_difference(data, over="model", by=("model",))


def test_two_sets_of_reformulations(coded):
    """The opposites of the second set are answered as the first's are not; originals alike."""
    wordings = ("original", "paraphrase", "opposite")
    entries = items(3, wordings)
    sides = np.array([-1 if i[2] == "left" else 1 for i in entries])
    keyed = sides[:, None] * np.array([1, 1, -1])  # right-leaning answers throughout
    second = keyed.copy()
    second[:, 2] *= -1
    sets = [coded(entries, s[None, :, :, None, None]) for s in (keyed, second)]
    table = reformulation_robustness(*sets, names=("a", "b"), draws=50)
    assert table["kind"].tolist() == ["paraphrase", "opposite"]
    assert table["estimate"].tolist() == [0, 2]
    assert table[["lower_item", "upper_item"]].to_numpy().tolist() == [[0, 0], [2, 2]]
    selections = [sets[0].sel(variant=["paraphrase"]), sets[0].sel(variant=["opposite"])]
    both = reformulation_robustness(*selections, by=("model",), draws=5)
    assert both["estimate"].tolist() == [0]
    with pytest.raises(UserError, match="in common"):
        reformulation_robustness(*selections)


def test_single_answers_of_the_two_sets_are_drawn_apart(coded):
    entries = items(10, ("original", "paraphrase"))
    stance = np.random.default_rng(7).choice([-1, 1], size=(1, len(entries), 2, 1, 1))
    data = coded(entries, stance)
    row = reformulation_robustness(data, data, draws=300).iloc[0]
    assert row["lower"] < -0.1 < 0.1 < row["upper"]
    assert row[["lower_item", "upper_item"]].tolist() == [0, 0]


def test_no_valid_answers_and_few_items(coded):
    entries = items(1)
    stance = np.array([2, 1, 1, 1])[None, :, None, None, None]
    data = coded(entries, stance, instruments=("x", "y"))
    row = bias_difference(data, by=("model",), draws=20).iloc[0]
    assert np.isnan(row["estimate"])
    assert row["note"] == "no valid answer on one side of one of the two"
    assert row[["lower", "upper", "lower_item", "upper_item"]].isna().all()
    # x has a left and a right item, of which the left one is not answered; y has two answers.
    assert row[["n_first", "n_second", "n_excluded"]].tolist() == [1, 2, 1]
    assert row[["n_undefined", "n_undefined_item", "level"]].tolist() == [20, 20, 0.95]
    fine = bias_difference(coded(entries, 1, instruments=("x", "y")), by=("model",), draws=20)
    assert fine["note"].tolist() == ["only one item on a side: no interval by item"]
    assert fine["lower_item"].isna().all()
