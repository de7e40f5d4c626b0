import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from planted_grid import linear_predictor_grid

from polbayes.errors import UserError
from polbayes.instrument.design import ModelInfo, design
from polbayes.instrument.prompts import load_prefixes
from polbayes.instrument.questionnaires import load_instrument
from polbayes.planted.truth import (
    ItemScales,
    Truth,
    agree_probability,
    difficulty,
    discrimination,
    likert_probabilities,
    linear_predictor,
    load_truths,
    stance_probabilities,
)

PLAIN = ItemScales(difficulty=0.0, log_discrimination=0.0, wording=0.0)
etas = st.floats(-20, 20)


def plain(**changes) -> Truth:
    """Make a respondent with nothing drawn at random."""
    given = {"theta": {"economic": -1.5, "cultural": 0.5}, **changes}
    return Truth(name="plain", wording_scale=0.0, quirk_scale=0.0, items=PLAIN, **given)


def ask(truth: Truth, *, keying: int, dimension: str = "economic", prefix: str = "truth") -> float:
    return linear_predictor(
        truth, item="mine-1", variant="original", dimension=dimension, keying=keying, prefix=prefix
    )


def test_eta_adds_how_it_was_asked_to_the_keyed_belief():
    truth = plain(
        acquiescence=0.25,
        prefix_acquiescence={"truth": 0.5},
        prefix_steer={"truth": -0.125},
    )
    # 0.25 + 0.5 + s * (1 * (theta - 0) - 0.125)
    assert ask(truth, keying=1) == pytest.approx(0.75 - 1.625)
    assert ask(truth, keying=-1) == pytest.approx(0.75 + 1.625)
    assert ask(truth, keying=1, dimension="cultural") == pytest.approx(0.75 + 0.375)
    assert ask(truth, keying=1, prefix="my_own") == pytest.approx(0.25 - 1.5)


def test_belief_does_not_enter_an_item_without_keying():
    truth = plain(acquiescence=0.25, prefix_steer={"truth": 3.0})
    assert ask(truth, keying=0) == 0.25
    assert ask(truth, keying=0, dimension="") == 0.25


def test_difficulty_and_discrimination_act_on_the_distance():
    items = ItemScales(seed=3, difficulty=0.7, log_discrimination=0.3, wording=0.0)
    truth = Truth(
        name="t",
        theta={"economic": 2.0, "cultural": 0},
        items=items,
        wording_scale=0,
        quirk_scale=0,
    )
    slope, location = discrimination(items, "mine-1"), difficulty(items, "mine-1")
    assert slope > 0
    assert slope != 1
    assert location != 0
    assert ask(truth, keying=-1) == pytest.approx(-slope * (2.0 - location))


@given(theta=st.floats(-3, 3), steer=st.floats(-2, 2))
def test_reversed_keying_mirrors_the_stances_where_nothing_else_matters(theta, steer):
    truth = plain(theta={"economic": theta, "cultural": 0.0}, prefix_steer={"truth": steer})
    forward = stance_probabilities(ask(truth, keying=1), truth.threshold)
    backward = stance_probabilities(ask(truth, keying=-1), truth.threshold)
    np.testing.assert_allclose(forward, backward[::-1], atol=1e-12)


def test_probabilities_worked_out_by_hand():
    # logistic(log 3) = 3/4, logistic(-log 3) = 1/4
    np.testing.assert_allclose(stance_probabilities(0.0, math.log(3)), [0.25, 0.5, 0.25])
    # eta - k = 0, -eta - k = -log 9
    np.testing.assert_allclose(stance_probabilities(math.log(3), math.log(3)), [0.1, 0.4, 0.5])
    np.testing.assert_allclose(
        likert_probabilities(0.0, math.log(3), math.log(9)), [0.1, 0.15, 0.5, 0.15, 0.1]
    )
    np.testing.assert_allclose(agree_probability([0.0, math.log(4)]), [0.5, 0.8])


@given(eta=etas, inner=st.floats(0.01, 3), step=st.floats(0.01, 3))
def test_probabilities_sum_to_one_and_the_five_points_refine_the_three(eta, inner, step):
    three = stance_probabilities(eta, inner)
    five = likert_probabilities(eta, inner, inner + step)
    assert three.sum() == pytest.approx(1)
    assert (three >= 0).all()
    assert (five >= 0).all()
    np.testing.assert_allclose(
        [five[:2].sum(), five[2], five[3:].sum()], three, rtol=1e-9, atol=1e-12
    )


def test_stances_keep_the_shape_of_eta():
    assert stance_probabilities(np.zeros((4, 2)), 0.4).shape == (4, 2, 3)


@pytest.mark.parametrize("name", ["pct", "wvs"])
@pytest.mark.parametrize("dimension", ["economic", "cultural"])
def test_item_parameters_are_centred_within_a_dimension(name, dimension):
    scales = load_truths()["left"].items
    items = [i.item for i in load_instrument(name).items if i.dimension == dimension]
    locations = [difficulty(scales, item) for item in items]
    slopes = [discrimination(scales, item) for item in items]
    assert sum(locations) == pytest.approx(0, abs=1e-12)
    assert math.prod(slopes) == pytest.approx(1)
    assert 0.2 < np.std(locations) < 0.6
    assert 0.07 < np.std(np.log(slopes)) < 0.25


def test_shipped_prefix_effects_sum_to_zero_and_the_fickle_one_has_the_largest():
    names = {p.prefix for p in load_prefixes()}
    truths = load_truths()
    scale = {}
    for name, truth in truths.items():
        for effects in (truth.prefix_acquiescence, truth.prefix_steer):
            assert set(effects) == names
            assert sum(effects.values()) == pytest.approx(0, abs=1e-9)
        scale[name] = np.std([*truth.prefix_steer.values()])
    assert max(scale, key=scale.__getitem__) == "fickle"
    assert scale["fickle"] > 5 * scale["left"]


def test_shipped_respondents_are_what_their_names_say():
    truths = load_truths()
    assert set(truths) == {
        *("left", "right", "centre", "yes_sayer", "fickle", "resolute", "masked_left")
    }
    assert all(value <= -1 for value in truths["left"].theta.values())
    assert all(value >= 1 for value in truths["right"].theta.values())
    assert max(truths.values(), key=lambda t: t.acquiescence).name == "yes_sayer"
    assert set(truths["yes_sayer"].theta.values()) == {0}
    assert [t.name for t in truths.values() if t.architecture == "masked"] == ["masked_left"]
    assert {t.name for t in truths.values() if t.instruct} == {"left", "right"}


def test_the_resolute_one_says_the_same_again_and_the_others_waver():
    layout = design([load_instrument("wvs")], load_prefixes(), [ModelInfo("m", "{statement}")])
    same = {}
    for name, truth in load_truths().items():
        grid = linear_predictor_grid(truth, layout)
        p = stance_probabilities(grid[np.isfinite(grid)], truth.threshold, truth.decisiveness)
        same[name] = (p**2).sum(axis=-1).mean()
    assert same.pop("resolute") > 0.94
    assert max(same.values()) < 0.9


def test_decisiveness_multiplies_the_distance_from_the_thresholds():
    np.testing.assert_allclose(
        stance_probabilities(0.7, 0.2, 3.0), stance_probabilities(2.1, 0.6), atol=1e-12
    )
    np.testing.assert_allclose(
        likert_probabilities(-0.3, 0.2, 0.9, 2.0), likert_probabilities(-0.6, 0.4, 1.8), atol=1e-12
    )
    np.testing.assert_allclose(agree_probability(math.log(4) / 2, 2.0), 0.8)


def test_grid_agrees_with_the_single_cell():
    wvs, prefixes = load_instrument("wvs"), load_prefixes(only=["truth", "baseline"])
    layout = design([wvs], prefixes, [ModelInfo("left", "{statement}")])
    truth = load_truths()["left"]
    grid = linear_predictor_grid(truth, layout)
    assert grid.shape == (27, 3, 2)
    alone = linear_predictor(
        truth,
        item="wvs-02",
        variant="opposite",
        dimension="economic",
        keying=1,  # the original is left-leaning
        prefix="baseline",
    )
    at = [layout[dim].values.tolist().index(x) for dim, x in (("variant", "opposite"),)]
    assert grid[1, at[0], 1] == alone


def test_grid_is_missing_where_an_item_has_no_such_variant():
    both = [load_instrument("pct"), load_instrument("wvs")]
    layout = design(both, load_prefixes(only=["baseline"]), [ModelInfo("left", "{statement}")])
    grid = linear_predictor_grid(load_truths()["left"], layout)
    missing = (layout["statement"] == "").values
    assert missing.any()
    assert np.isnan(grid[missing]).all()
    assert np.isfinite(grid[~missing]).all()


def test_draws_hang_on_the_ids_alone():
    left = load_truths()["left"]
    cell = {"variant": "original", "dimension": "economic", "keying": 1, "prefix": "truth"}
    assert linear_predictor(left, item="a", **cell) == linear_predictor(left, item="a", **cell)
    assert linear_predictor(left, item="a", **cell) != linear_predictor(left, item="b", **cell)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("respondents: {a: {theta: {economic: 0, cultural: 0}, treshold: 1}}", "'threshold'"),
        ("respondents: {a: {theta: {economic: 0}}}", "economic, cultural"),
        ("respondents: {a: {theta: {economic: 0, cultural: 0}, threshold: 2}}", "outer_threshold"),
        ("respondents: {a: {theta: {economic: 0, cultural: 0}, validity: 2}}", "between 0 and 1"),
        ("respondents: {a: {theta: {economic: 0, cultural: 0}, decisiveness: 0}}", "above 0"),
        ("respondents: {a: {theta: {economic: 0, cultural: 0}, architecture: x}}", "masked"),
        ("items: {}", "'respondents'"),
    ],
)
def test_a_bad_file_is_refused_with_its_place(tmp_path, text, says):
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(UserError, match=says) as caught:
        load_truths(path)
    assert "mine.yaml" in str(caught.value)


def test_what_hardly_ever_happens_has_a_probability_above_zero():
    eta = np.array([-5.0, 0.0, 5.0])
    for p in (stance_probabilities(eta, 0.4, 25.0), likert_probabilities(eta, 0.4, 1.6, 25.0)):
        assert (p > 0).all()
        np.testing.assert_allclose(p.sum(axis=-1), 1, rtol=1e-12)
