import numpy as np
import pytest
import xarray as xr

from polbayes.coding.levels import four_levels
from polbayes.data.dataset import CELL_DIMS, MISSING, STANCE_CLASSES
from polbayes.errors import UserError


def cells(**variables):
    """A dataset of as many items as there are values, one cell each."""
    n = len(next(iter(variables.values())))
    return xr.Dataset(
        {
            name: (CELL_DIMS, np.asarray(values).reshape(1, n, 1, 1, 1))
            for name, values in variables.items()
        },
        {"item": [f"i{k}" for k in range(n)]},
    )


def levels(data, **settings):
    return four_levels(data, **settings).values.reshape(-1).tolist()


def test_masses_that_differ_by_more_than_a_limit_are_strong():
    """0.65 - 0.35 is exactly the limit, which is not more; both masses may be small."""
    data = cells(
        stance=np.array([1, 1, 1, -1, -1, -128], dtype=np.int8),
        p_agree=np.array([0.66, 0.65, 0.02, 0.34, 0.1, np.nan], dtype=np.float32),
        p_disagree=np.array([0.34, 0.35, 0.01, 0.66, 0.3, np.nan], dtype=np.float32),
    )
    assert levels(data) == [3, 2, 2, 0, 1, MISSING]
    assert levels(data, strong=0) == [3, 3, 3, 0, 0, MISSING]


def test_masses_without_a_run_dimension():
    data = cells(stance=np.array([1, -1], dtype=np.int8), p_agree=[0.9, 0.4], p_disagree=[0.1, 0.6])
    flat = data.assign(p_agree=data["p_agree"][..., 0], p_disagree=data["p_disagree"][..., 0])
    assert levels(flat) == levels(data) == [3, 1]


def test_a_coders_probabilities_follow_the_same_rule():
    data = cells(stance=np.array([1, 1, -1, 0], dtype=np.int8))
    probs = np.zeros((4, len(STANCE_CLASSES)), dtype=np.float32)
    for row, (disagree, agree) in enumerate([(0.1, 0.9), (0.4, 0.6), (0.8, 0.2), (0.2, 0.3)]):
        probs[row, STANCE_CLASSES.index("disagree")] = disagree
        probs[row, STANCE_CLASSES.index("agree")] = agree
    data["stance_prob"] = ((*CELL_DIMS, "stance_class"), probs.reshape(1, 4, 1, 1, 1, -1))
    data = data.assign_coords(stance_class=list(STANCE_CLASSES))
    assert levels(data) == [3, 2, 0, MISSING]


def test_rules_are_as_strong_as_the_words():
    answers = ["5", " 4.", "1", "I agree.", "I strongly disagree!", "I **completely** agree.", "3"]
    answers += ["I do not strongly agree."]
    stance = np.array([1, 1, -1, 1, -1, 1, 0, -1], dtype=np.int8)
    data = cells(stance=stance, completion=np.array(answers, dtype=object))
    data["coder"] = data["stance"].copy(
        data=np.reshape([0, 0, 0, 1, 1, 1, 0, 1], data["stance"].shape)
    )
    data["coder"].attrs = {"flag_values": [-128, 0, 1], "flag_meanings": "none likert lexical"}
    data["stance_prob"] = data["stance"].expand_dims(stance_class=list(STANCE_CLASSES), axis=-1)
    data["stance_prob"] = (data["stance_prob"] * 0 + 0.98).astype(np.float32)
    assert levels(data) == [3, 2, 0, 2, 0, 3, MISSING, 1]


@pytest.mark.parametrize(
    ("points", "expected"),
    [("a; b; c; d", [0, 1, 2, 3, MISSING]), ("a; b; c; d; e", [0, 1, MISSING, 2, 3])],
)
def test_ratings_are_levels(points, expected):
    rating = [0, 1, 2, 3, 4] if points.endswith("e") else [0, 1, 2, 3, MISSING]
    stance = [-1, -1, 0, 1, 1] if points.endswith("e") else [-1, -1, 1, 1, MISSING]
    data = cells(stance=np.array(stance, dtype=np.int8), rating=np.array(rating, dtype=np.int8))
    data["rating"].attrs["rating_points"] = points
    assert levels(data) == expected


def test_a_stance_without_any_strength_is_plain():
    data = cells(stance=np.array([1, -1, 0, 2, 3, -128], dtype=np.int8))
    assert levels(data) == [2, 1, *[MISSING] * 4]


def test_wrong_use_is_explained():
    with pytest.raises(UserError, match="stance"):
        four_levels(xr.Dataset())
    with pytest.raises(UserError, match="between 0 and 1"):
        four_levels(cells(stance=[1]), strong=2)
