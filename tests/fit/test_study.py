"""What a design leaves of the variance of effects in the scores, against loops and by hand."""

import numpy as np
import pytest

from polbayes.fit.posterior.generalizability import own_plan
from polbayes.fit.posterior.measurement_design import average, measurement_design, spread, weigh

BALANCED = tuple(
    (f"{d[0]}{k}", d, "left" if k % 2 else "right", ("original", "opposite"))
    for d in ("economic", "cultural")
    for k in range(4)
)
RAGGED = (
    ("e1", "economic", "left", ("original", "opposite", "paraphrase")),
    ("e2", "economic", "right", ("original",)),
    ("e3", "economic", "right", ("original", "opposite")),
    ("c1", "cultural", "left", ("original", "opposite")),
    ("c2", "cultural", "right", ("original",)),
)
MODELS, PREFIXES = ("b", "a", "c"), ("p", "q")


def made(bound, coded, parts, items, stance=1, runs=2):
    data = coded(stance, items=items, models=MODELS, prefixes=PREFIXES, runs=runs)
    _, cells, bound_parts = bound(parts, data)
    return measurement_design(bound_parts, cells), cells, data


def test_a_balanced_design_leaves_one_over_its_numbers(coded, bound, full_parts):
    """Four items on each dimension, two wordings, two prefixes, two runs."""
    found, _, _ = made(bound, coded, full_parts, BALANCED)
    assert found.measures == ("economic", "cultural", "total")
    assert found.balanced
    left = {term.name: np.unique(term.left.sum(axis=0).round(12), axis=0) for term in found.terms}
    by_hand = {
        "difficulty: item": [1 / 4, 1 / 4, 1 / 8],
        "quirk: model:item": [1 / 4, 1 / 4, 1 / 8],
        "steer: model:prefix": [1 / 2, 1 / 2, 1 / 2],
        "acquiescence: model": [0, 0, 0],
        "acquiescence: model:prefix": [0, 0, 0],
        "wording: item:variant": [1 / 8, 1 / 8, 1 / 16],
        "wording: model:item:variant": [1 / 8, 1 / 8, 1 / 16],
    }
    assert set(left) == set(by_hand)
    for name, expected in by_hand.items():
        np.testing.assert_allclose(left[name], [expected], atol=1e-12)
    np.testing.assert_allclose(found.left["answer"], [[1 / 32, 1 / 32, 1 / 64]] * 3)
    plan = own_plan(found, "economic")
    assert (plan.items, plan.wordings, plan.prefixes, plan.runs) == pytest.approx((4, 2, 2, 2))
    assert own_plan(found, "total").questions == pytest.approx(64)


def test_which_terms_disturb_what(coded, bound, full_parts):
    found, _, _ = made(bound, coded, full_parts, BALANCED)
    shared = {t.name for t in found.terms if not t.relative}
    assert shared == {"difficulty: item", "wording: item:variant"}
    # Their means over what a model was asked are part of its theta.
    absorbed = {t.name for t in found.terms if t.absorbed}
    assert absorbed == {"quirk: model:item", "steer: model:prefix"}


def test_scales_of_each_model_stay_apart(coded, bound, full_parts):
    found, _, _ = made(bound, coded, full_parts, BALANCED)
    (steer,) = [t for t in found.terms if t.name == "steer: model:prefix"]
    assert steer.left.shape == (3, 3, 3)
    for scale in range(3):
        assert np.count_nonzero(steer.left[scale].sum(axis=-1)) == 1
    np.testing.assert_allclose(steer.single, 1 / 3)


def test_keyings_and_items_have_equal_weight_where_ragged(coded, bound, full_parts):
    """Economic, right-keyed: the opposite of e1, and e2, e3; left-keyed: e1 twice, and e3."""
    _, cells, _ = made(bound, coded, full_parts, RAGGED)
    weights, frame = weigh(cells), cells.frame
    np.testing.assert_allclose(weights.mean(np.ones(len(frame))), 1)
    np.testing.assert_allclose(weights.mean(frame["keying"].to_numpy(float)), 0, atol=1e-12)
    of = (frame["model"] == "a") & (frame["item"] == "e1") & (frame["prefix"] == "p")
    by_wording = dict(zip(frame["variant"][of], weights.weight[of], strict=True))
    # Half for the keying, a third or a half for the item, then wordings, then two prefixes.
    assert by_wording == pytest.approx(
        {"opposite": 1 / 2 / 3 / 2, "original": 1 / 2 / 2 / 2 / 2, "paraphrase": 1 / 2 / 2 / 2 / 2}
    )


def test_what_is_left_is_the_variance_of_scores(coded, bound, full_parts):
    """Scores from drawn effects of one term at a time, in a ragged design with gaps."""
    rng = np.random.default_rng(3)
    stance = rng.integers(-1, 2, (3, 5, 3, 2, 2))
    stance[rng.random(stance.shape) < 0.3] = -128
    found, cells, _ = made(bound, coded, full_parts, RAGGED, stance=stance)
    frame, weights = cells.frame, weigh(cells)
    sign = frame["keying"].to_numpy(float)
    for name, factors, keyed in (
        ("quirk: model:item", ["model", "item"], 1.0),
        ("wording: item:variant", ["item", "variant"], sign),
        ("steer: model:prefix", ["model", "prefix"], 1.0),
        ("acquiescence: model:prefix", ["model", "prefix"], sign),
    ):
        (term,) = [t for t in found.terms if t.name == name]
        levels = frame.groupby(factors).ngroup().to_numpy()
        effects = rng.normal(size=(20_000, levels.max() + 1))
        drawn = np.stack([weights.mean(keyed * row[levels]) for row in effects])
        expected = np.concatenate([drawn, drawn.mean(axis=-1, keepdims=True)], axis=-1)
        np.testing.assert_allclose(
            term.left.sum(axis=0), expected.var(axis=0), rtol=0.05, atol=1e-12
        )


def test_one_keying_alone_leaves_acquiescence_in(coded, bound):
    items = (*BALANCED[:4], ("c1", "cultural", "right", ("original",)))
    parts = {"theta": "~ 0 + dimension + (0 + dimension | model)", "acquiescence": "~ (1 | model)"}
    found, _, _ = made(bound, coded, parts, items)
    assert not found.balanced
    (term,) = found.terms
    np.testing.assert_allclose(term.left[0], [[0, 1, 1 / 4]] * 3, atol=1e-12)


def test_means_and_variances_of_what_there_is():
    values = np.array([[1.0, np.nan, 3.0], [np.nan, np.nan, np.nan], [5.0, np.nan, np.nan]])
    np.testing.assert_array_equal(average(values, 1), [2, np.nan, 5])
    np.testing.assert_array_equal(spread(values, 1), [2, np.nan, np.nan])
