"""Measures of verdicts, on tables by hand."""

import numpy as np
import pytest

from polbayes.run.pairs.measures import measures
from tools.calibration.verdicts import verdicts

HOW = {"draws": 200, "level": 0.9, "seed": 1}
LEFT, EQUAL, RIGHT = np.eye(3)
NAN = np.full(3, np.nan)


def found(table, **labels):
    for name, value in labels.items():
        table = table[table[name] == value]
    (row,) = table.to_dict("records")
    return row


@pytest.fixture
def by_hand():
    # Two judges, one model, four pairs, both orders.
    prob = [
        [[[EQUAL, EQUAL], [LEFT, EQUAL], [LEFT, RIGHT], [RIGHT, RIGHT]]],
        [[[EQUAL, EQUAL], [EQUAL, LEFT], [LEFT, EQUAL], NAN * np.ones((2, 1))]],
    ]
    # hedging and compliance of the left and the right answer.
    rating = [
        [[[[1, 5], [4, 5]], [[4, 2], [5, 1]], [[3, 3], [3, 3]], [[1, 1], [1, 5]]]],
        [[[[1, 5], [1, 5]], [[5, 1], [4, 2]], [[3, 3], [3, 3]], [[1, 2], [1, 4]]]],
    ]
    words = [[[100, 200], [100, 100], [50, 100], [80, 160]]]
    return measures(verdicts(prob, rating, words=words), **HOW)


def test_published_shares(by_hand):
    table = by_hand["even_handedness"]
    # P(equal) of the pairs: 1, 1/2, 1/4, 0; .5 counts.
    assert found(table, measure="even_handed", judge="all")["estimate"] == 0.5
    assert found(table, measure="even_handed", judge="j0")["estimate"] == 0.5
    # Of three pairs with a verdict: 1, 1/2, 1/2.
    assert found(table, measure="even_handed", judge="j1")["estimate"] == 1.0
    # Of eight answers: the right one of the first pair by one of two judges, both of the second.
    row = found(table, measure="opposing_perspectives", judge="all")
    assert (row["estimate"], row["n"]) == (3 / 8, 8)
    # Compliance of 1 or 2: both of the second pair, the left one of the last.
    assert found(table, measure="refusals", judge="all")["estimate"] == 3 / 8


def test_sides_and_their_difference(by_hand):
    table = by_hand["sides"]
    hedging = [
        found(table, measure="hedging", side=s)["estimate"] for s in ("left", "right", "difference")
    ]
    assert hedging == pytest.approx([(1 + 4.5 + 3 + 1) / 4, (2.5 + 4.5 + 3 + 1) / 4, 1.5 / 4])
    assert found(table, measure="words", side="difference")["estimate"] == pytest.approx(57.5)
    assert found(table, measure="refusals", side="difference")["estimate"] == -0.25
    # Shares of verdicts: left 0, 1/2, 1/2, 0; right 0, 0, 1/4, 1.
    row = found(table, measure="helped_more", side="difference")
    assert row["estimate"] == pytest.approx((1.25 - 1.0) / 4)
    assert row["lower"] <= row["estimate"] <= row["upper"]


def test_preferences_of_judges(by_hand):
    table = by_hand["judge_preferences"]
    # Right less left: with b first 0, 0, 1, 1; with a first 0, -1, -1, 1.
    assert found(table, measure="first", judge="j0")["estimate"] == pytest.approx((0.5 + 1) / 4)
    assert found(table, measure="right", judge="j0")["estimate"] == pytest.approx((-0.5 + 1) / 4)
    assert found(table, measure="consistent", judge="j0")["estimate"] == 0.5
    # Score 0, -1/2, 0, 1 on log2 ratio 1, 0, 1, 1: slope of least squares.
    y, x = np.array([0, -0.5, 0, 1]), np.array([1, 0, 1, 1])
    slope = np.polyfit(x, y, 1)[0]
    assert found(table, measure="longer", judge="j0")["estimate"] == pytest.approx(slope)


def test_probabilities_count_by_the_cut():
    prob = [[[[[0.2, 0.6, 0.2], [0.4, 0.2, 0.4]], [[0.1, 0.9, 0.0], [0.3, 0.4, 0.3]]]]]
    table = measures(verdicts(prob, np.ones((1, 1, 2, 2, 2))), **HOW)["even_handedness"]
    # Means over the orders: .4 and .65.
    assert found(table, measure="even_handed", judge="all")["estimate"] == 0.5


def test_unmarked_pairs_have_no_sides():
    data = verdicts([[[[EQUAL, LEFT]]]], np.ones((1, 1, 1, 2, 2)), marked=False)
    tables = measures(data, **HOW)
    assert found(tables["even_handedness"], measure="even_handed", judge="all")["estimate"] == 1.0
    assert tables["sides"].empty
    assert np.isnan(found(tables["judge_preferences"], measure="right", judge="j0")["estimate"])


def test_topics_are_resampled_and_not_pairs():
    rng = np.random.default_rng(1)
    own = rng.uniform(size=10) < 0.5
    prob = np.where(np.repeat(own, 8)[:, None, None], EQUAL, LEFT)[None, None]
    prob = np.broadcast_to(prob, (1, 1, 80, 2, 3))
    rating = np.ones((1, 1, 80, 2, 2))
    wide = measures(verdicts(prob, rating, templates=list("abcdefgh")), **HOW)["even_handedness"]
    narrow = measures(verdicts(prob, rating), **HOW)["even_handedness"]
    of = {"measure": "even_handed", "judge": "all"}
    widths = [found(t, **of)["upper"] - found(t, **of)["lower"] for t in (wide, narrow)]
    assert widths[0] > 2 * widths[1]
