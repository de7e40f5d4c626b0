import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polbayes.data.dataset import MISSING
from polbayes.errors import UserError
from polbayes.measures import bias
from polbayes.measures.sided import polarity

ORIGINAL = ("original",)
U, R = 2, 3  # unrelated, refused

# item, dimension, direction, wordings
MIXED = [
    ("l1", "economic", "left", ("original", "opposite")),
    ("r1", "economic", "right", ORIGINAL),
    ("r2", "cultural", "right", ORIGINAL),
    ("u1", "", "", ORIGINAL),
]
MIXED_STANCE = np.array(
    [
        [[1, 1, 0], [1, -1, U]],
        [[-1, -1, R], [0, 0, 0]],
        [[1, 0, MISSING], [0, 0, 0]],
        [[1, 1, 1], [0, 0, 0]],
    ]
)[None, :, :, None, :]


@pytest.fixture(scope="module")
def mixed(coded):
    return coded(MIXED, MIXED_STANCE, runs=3)


def row(table, **where):
    found = table
    for name, value in where.items():
        found = found[found[name] == value]
    assert len(found) == 1
    return found.iloc[0]


def test_hand_derived_values(mixed):
    """Left: the opposite's answers swap labels, so A 3, N 1, D 1; right: A 1, N 1, D 2."""
    table = bias(mixed, draws=50)
    expected = {
        ("economic", "bias_left"): (2 / 5, 5, 1),
        ("economic", "bias_right"): (-1, 2, 1),
        ("economic", "bias"): (-0.7, 7, 2),
        ("cultural", "bias_right"): (1 / 2, 2, 1),
        ("total", "bias_left"): (2 / 5, 5, 1),
        ("total", "bias_right"): (-1 / 4, 4, 2),
        ("total", "bias"): (-0.325, 9, 3),
    }
    for (dimension, measure), (estimate, n, excluded) in expected.items():
        found = row(table, dimension=dimension, measure=measure)
        assert found["estimate"] == pytest.approx(estimate)
        assert (found["n"], found["n_excluded"]) == (n, excluded)


def test_answers_to_an_opposite_are_turned_round(coded):
    """Left: agreeing 3, and to the opposite 2 of 3, so that A 4, D 2; right: neutral only."""
    items = [
        ("l", "economic", "left", ("original", "opposite")),
        ("r", "economic", "right", ORIGINAL),
    ]
    stance = np.array([[[1, 1, 1], [1, 1, -1]], [[0, 0, 0], [0, 0, 0]]])[None, :, :, None, :]
    table = bias(coded(items, stance, runs=3), draws=50)
    for measure, estimate in (("bias_left", 1 / 3), ("bias_right", 0), ("bias", -1 / 6)):
        found = row(table, dimension="economic", measure=measure)
        assert found["estimate"] == pytest.approx(estimate)


def test_shares_of_equation_1(mixed):
    names = ["p_agree_left", "p_disagree_left", "p_agree_right", "p_disagree_right"]
    table = bias(mixed, by=("model",), measures=names, draws=50)
    np.testing.assert_allclose(table["estimate"], [3 / 5, 1 / 5, 1 / 4, 2 / 4])
    assert (table["n"].tolist(), table["n_items"].tolist()) == ([5, 5, 4, 4], [1, 1, 2, 2])


def test_a_missing_direction_is_nan_and_says_so(mixed):
    table = bias(mixed, draws=50)
    for measure in ("bias_left", "bias"):
        found = row(table, dimension="cultural", measure=measure)
        assert np.isnan(found[["estimate", "lower", "upper", "lower_item"]].astype(float)).all()
        assert found["note"] == "no left-leaning item"


def test_a_direction_without_valid_answers_says_so(coded):
    items = [("l", "economic", "left", ORIGINAL), ("r", "economic", "right", ORIGINAL)]
    data = coded(items, np.array([U, 1]).reshape(1, 2, 1, 1, 1))
    found = row(bias(data, by=("model",), draws=20), measure="bias")
    assert np.isnan(found["estimate"])
    assert found["note"] == "no valid answer to any left-leaning item"
    assert (found["n"], found["n_excluded"], found["n_undefined"]) == (1, 1, 20)


def test_one_item_a_side_has_no_interval_by_item(mixed):
    found = row(bias(mixed, draws=50), dimension="total", measure="bias")
    assert found["lower"] <= found["estimate"] <= found["upper"]
    assert np.isnan(found["lower_item"])
    assert found["note"] == "only one left-leaning item answered: no interval by item"


def test_answers_that_never_vary_say_so(coded):
    data = coded(FOUR, 1)
    found = row(bias(data, by=("model",), draws=50), measure="bias_left")
    assert (found["estimate"], found["lower"], found["upper"]) == (1, 1, 1)
    assert found["note"] == "answers never vary: width 0"


def test_levels_of_the_groups(coded):
    items = [*FOUR, ("c", "cultural", "left", ORIGINAL)]
    data = coded(items, 1, models=("b", "a"), prefixes=("p", "baseline"), instruments=("x", "y"))
    table = bias(data, by=("model", "prefix", "dimension"), measures=["bias"], draws=5)
    assert table["model"].tolist() == ["b"] * 6 + ["a"] * 6
    assert table["prefix"].tolist() == (["p"] * 3 + ["baseline"] * 3) * 2
    assert table["dimension"].tolist() == ["economic", "cultural", "total"] * 4
    by_instrument = bias(data, by=("instrument",), measures=["bias_left"], draws=5)
    # x has e1, e3, c and y has e2, e4: of each, two models times two prefixes.
    assert by_instrument["n"].tolist() == [12, 0]


def test_kinds_are_measured_apart(mixed):
    table = bias(mixed, by=("kind",), measures=["bias_left"], draws=5)
    # Original: A 2, N 1 of 3; opposite, labels swapped: A 1, D 1 of 2.
    assert dict(zip(table["kind"], table["estimate"], strict=True)) == {
        "original": pytest.approx(2 / 3),
        "opposite": 0,
    }


def test_polarity_is_keying_times_direction_or_follows_from_the_kind(mixed):
    expected = [[1, -1], [1, 0], [1, 0], [0, 0]]
    assert polarity(mixed).values.tolist() == expected
    assert polarity(mixed.drop_vars("direction")).values.tolist() == expected


def test_a_kind_whose_meaning_is_not_known_has_no_polarity(mixed):
    data = mixed.drop_vars("direction")
    kinds = np.where(data["kind"] == "opposite", "rhyme", data["kind"].astype(str))
    unknown = data.assign_coords(kind=(data["kind"].dims, kinds))
    assert polarity(unknown).values.tolist() == [[1, 0], [1, 0], [1, 0], [0, 0]]
    with pytest.raises(UserError, match="neither 'direction' nor 'kind'"):
        polarity(data.drop_vars("kind"))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"by": ("modle",)}, "did you mean 'model'"),
        ({"by": ("model", "model")}, "named twice"),
        ({"measures": ["biass"]}, "did you mean 'bias'"),
        ({"draws": 0}, "at least 1"),
        ({"level": 95}, "between 0 and 1"),
    ],
)
def test_wrong_use_is_explained(mixed, options, says):
    with pytest.raises(UserError, match=says):
        bias(mixed, **options)


def test_an_uncoded_dataset_is_explained(mixed):
    with pytest.raises(UserError, match="'stance'"):
        bias(mixed.drop_vars("stance"))


# --- the bootstrap -------------------------------------------------------------------

FOUR = [(f"e{k}", "economic", "left" if k % 2 else "right", ORIGINAL) for k in range(1, 5)]
MANY = [(f"i{k}", "economic", "left" if k < 6 else "right", ORIGINAL) for k in range(14)]


def naive_bias(frame):
    """Eq. 3 from rows, written without the package."""
    found = {}
    for side, rows in frame.groupby("side"):
        found[side] = (rows["stance"] == 1).mean() - (rows["stance"] == -1).mean()
    return (found.get(1, np.nan) - found.get(-1, np.nan)) / 2


@pytest.fixture(scope="module")
def clustered(coded):
    """Answers that hang together by item, and the same as rows."""
    rng = np.random.default_rng(11)
    lean = rng.normal(size=(14, 1)) * 1.5 + rng.normal(size=(14, 9))
    stance = np.where(np.abs(lean) < 0.4, 0, np.sign(lean)).astype(int)
    data = coded(MANY, stance[None, :, None, None, :], runs=9)
    frame = pd.DataFrame(
        {
            "item": np.repeat(np.arange(14), 9),
            "side": np.repeat(np.where(np.arange(14) < 6, -1, 1), 9),
            "stance": stance.reshape(-1),
        }
    )
    return data, frame


def assert_same_bounds(found, naive, level=0.95):
    """Compare bounds with the quantiles of naive draws, up to five standard errors of these."""
    tail = (1 - level) / 2
    # Standard error of a normal sample's quantile: sqrt(q (1 - q) / N) / density, 0.0584 / sd.
    error = np.sqrt(tail * (1 - tail) / naive.size) / 0.0584 * naive.std()
    bounds = np.quantile(naive, [tail, 1 - tail])
    np.testing.assert_allclose(found, bounds, atol=5 * np.sqrt(2) * error)


def test_the_interval_by_answer_is_that_of_resampling_rows(clustered):
    data, frame = clustered
    found = row(bias(data, by=("model",), draws=20_000), measure="bias")
    rng = np.random.default_rng(1)
    size = len(frame)
    naive = np.array([naive_bias(frame.iloc[rng.integers(size, size=size)]) for _ in range(1500)])
    assert found["estimate"] == pytest.approx(naive_bias(frame))
    assert_same_bounds([found["lower"], found["upper"]], naive)


def test_the_interval_by_item_is_that_of_resampling_items(clustered):
    data, frame = clustered
    found = row(bias(data, by=("model",), draws=20_000), measure="bias")
    rng = np.random.default_rng(2)
    parts = [rows for _, rows in frame.groupby("item")]
    naive = np.array(
        [naive_bias(pd.concat([parts[k] for k in rng.integers(14, size=14)])) for _ in range(1500)]
    )
    assert_same_bounds([found["lower_item"], found["upper_item"]], naive[~np.isnan(naive)])
    assert found["upper_item"] - found["lower_item"] > 1.5 * (found["upper"] - found["lower"])


def test_resamples_without_one_side_are_counted(coded):
    """Three left and two right answers: a side is empty with chance 0.6^5 + 0.4^5."""
    items = [("l", "economic", "left", ORIGINAL), ("r", "economic", "right", ORIGINAL)]
    stance = np.array([[1, 0, -1], [1, -1, U]])[None, :, None, None, :]
    found = row(bias(coded(items, stance, runs=3), by=("model",), draws=20_000), measure="bias")
    chance = 0.6**5 + 0.4**5
    error = np.sqrt(chance * (1 - chance) / 20_000)
    assert found["n_undefined"] / 20_000 == pytest.approx(chance, abs=5 * error)
    assert -1 <= found["lower"] < found["upper"] <= 1


def test_a_group_draws_the_same_whatever_else_is_there(coded):
    rng = np.random.default_rng(4)
    stance = rng.integers(-1, 3, size=(3, 14, 1, 2, 4))
    data = coded(MANY, stance, models=("a", "b", "c"), prefixes=("p", "q"), runs=4)
    full = bias(data, draws=300, seed=9)
    alone = bias(data.sel(model=["b"]), draws=300, seed=9)
    pd.testing.assert_frame_equal(
        full[full["model"] == "b"].reset_index(drop=True), alone.reset_index(drop=True)
    )
    other = bias(data, draws=300, seed=10)
    assert (full["lower"] != other["lower"]).any()
    assert (full["estimate"].fillna(9) == other["estimate"].fillna(9)).all()


# --- properties ----------------------------------------------------------------------

WORDED = [
    ("a", "economic", "left", ("original", "opposite", "paraphrase")),
    ("b", "economic", "right", ("original", "opposite", "paraphrase")),
    ("c", "cultural", "left", ("original", "paraphrase")),
    ("d", "cultural", "right", ("original", "opposite")),
]
SHAPE = (2, 4, 3, 2, 2)
stances = st.lists(st.sampled_from([-1, 0, 1, U, R, MISSING]), min_size=96, max_size=96).map(
    lambda codes: np.array(codes).reshape(SHAPE)
)


def worded(coded, stance):
    return coded(WORDED, stance, models=("m", "n"), prefixes=("p", "q"), runs=2)


@settings(max_examples=25)
@given(stance=stances)
def test_flipping_all_keys_flips_the_sign(coded, stance):
    data = worded(coded, stance)
    before = bias(data, draws=5).set_index(["model", "dimension", "measure"])["estimate"]
    turned = data.assign_coords(keying=-data["keying"], direction=-data["direction"])
    after = bias(turned, draws=5).set_index(["model", "dimension", "measure"])["estimate"]
    swapped = after.rename({"bias_left": "bias_right", "bias_right": "bias_left"}, level="measure")
    swapped = swapped.where(swapped.index.get_level_values("measure") != "bias", -swapped)
    pd.testing.assert_series_equal(before.sort_index(), swapped.sort_index())
    assert before.dropna().between(-1, 1).all()


@settings(max_examples=25)
@given(stance=stances, order=st.permutations(range(4)), runs=st.permutations(range(2)))
def test_order_changes_nothing(coded, stance, order, runs):
    data = worded(coded, stance)
    shuffled = data.isel(item=list(order), run=list(runs), model=[1, 0], variant=[2, 0, 1])
    key = ["model", "dimension", "measure"]
    before, after = (bias(d, draws=40).set_index(key).sort_index() for d in (data, shuffled))
    pd.testing.assert_frame_equal(before, after)


@settings(max_examples=25)
@given(stance=stances)
def test_names_change_no_estimate(coded, stance):
    data = worded(coded, stance)
    renamed = data.assign_coords(model=["x", "y"], item=["w4", "w3", "w2", "w1"])
    columns = ["measure", "estimate", "n", "n_excluded", "n_items"]
    before, after = (bias(d, draws=5)[columns] for d in (data, renamed))
    pd.testing.assert_frame_equal(before, after)
