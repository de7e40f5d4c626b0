import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polbayes.errors import UserError
from polbayes.measures import stability

WORDINGS = ("original", "paraphrase1", "paraphrase2", "paraphrase3", "opposite")
ITEMS = [("a", "economic", "left", WORDINGS), ("b", "cultural", "right", WORDINGS)]
# The last column, the opposite, must not matter.
R_PLUS = np.array([[0.2, 0.6, 0.8, 1.0, 0.0], [0.5, 0.5, 0.5, np.nan, 0.0]])


def with_r_plus(data, values):
    full = np.broadcast_to(values, data["status"].shape).astype(np.float64)
    return data.assign(r_plus=data["status"].copy(data=full))


def estimates(table):
    return dict(zip(table["measure"], table["estimate"], strict=True))


def test_hand_derived_values(coded):
    """Item a: mean 0.65, squares 0.35 / 3, one of four against; b: constant, agreed."""
    data = with_r_plus(coded(ITEMS, 1), R_PLUS[None, :, :, None, None])
    table = stability(data, draws=200)
    assert estimates(table) == {
        "range": pytest.approx(0.4),
        "sd": pytest.approx(np.sqrt(0.35 / 3) / 2),
        "inconsistent": pytest.approx(1 / 8),
        "flip_5": 0.5,
        "flip_10": 0.5,
        "flip_25": 0,  # one of four is exactly a quarter, not more
        "mean": pytest.approx(0.575),
        "always_agree": 0,  # item b is undecided
        "always_disagree": 0,
    }
    found = table.set_index("measure").loc["range"]
    assert found["sd_items"] == pytest.approx(0.8 / np.sqrt(2))
    assert (found["lower"], found["upper"]) == pytest.approx((0, 0.8))
    assert (found["wordings_min"], found["wordings_max"]) == (3, 4)
    assert (found["n_items"], found["n_excluded"]) == (2, 1)


def test_by_item(coded):
    data = with_r_plus(coded(ITEMS, 1), R_PLUS[None, :, :, None, None])
    table = stability(data, by=("model", "item"), draws=20)
    ranges = table[table["measure"] == "range"]
    assert ranges["estimate"].tolist() == pytest.approx([0.8, 0])
    assert ranges["wordings_max"].tolist() == [4, 3]
    assert set(ranges["note"]) == {"only one item: no interval by item"}


def test_the_base_is_the_number_of_wordings_there_are(coded):
    """One of nineteen is more than 5 %, one of twenty is not."""
    wordings = ("original", *(f"paraphrase{k}" for k in range(19)))
    r_plus = np.full((2, 20), 0.9)
    r_plus[:, 3] = 0.1
    r_plus[1, 7] = np.nan
    items = [("a", "economic", "left", wordings), ("b", "economic", "left", wordings)]
    data = with_r_plus(coded(items, 1), r_plus[None, :, :, None, None])
    table = stability(data, by=("item",), draws=5)
    flips = table[table["measure"] == "flip_5"].set_index("item")["estimate"]
    assert flips.to_dict() == {"a": 0, "b": 1}


def test_prefixes_are_judged_apart_then_averaged(coded):
    r_plus = np.array([[0.1, 0.9], [0.2, 0.6]]).T  # wording by prefix
    items = [("a", "economic", "left", ("original", "paraphrase"))]
    data = with_r_plus(coded(items, 1, prefixes=("p", "q")), r_plus[None, None, :, :, None])
    assert estimates(stability(data, draws=5))["range"] == pytest.approx(0.6)
    by_prefix = stability(data, by=("prefix",), draws=5)
    assert by_prefix.loc[by_prefix["measure"] == "range", "estimate"].tolist() == pytest.approx(
        [0.8, 0.4]
    )


def test_models_that_say_one_thing_only_and_one_without_probabilities(coded):
    values = np.array([0.8, 0.3, np.nan])[:, None, None, None, None]
    data = with_r_plus(coded(ITEMS, 1, models=("yes", "no", "chat")), values)
    table = stability(data, draws=20).set_index(["model", "measure"])
    assert table.loc[("yes", "always_agree"), "estimate"] == 1
    assert table.loc[("yes", "always_disagree"), "estimate"] == 0
    assert table.loc[("no", "always_disagree"), "estimate"] == 1
    assert table.loc[("no", "sd"), "estimate"] == 0
    assert table.loc["chat", "estimate"].isna().all()
    assert table.loc[("chat", "sd"), "note"] == "no item has r_plus for at least two wordings"
    assert table.loc[("chat", "sd"), "n_excluded"] == 8


def test_probabilities_without_a_run_dimension(coded):
    data = with_r_plus(coded(ITEMS, 1, runs=2), R_PLUS[None, :, :, None, None])
    flat = data.assign(r_plus=data["r_plus"].isel(run=0, drop=True))
    assert estimates(stability(flat, draws=5)) == estimates(stability(data, draws=5))


def test_wrong_use_is_explained(coded):
    data = coded(ITEMS, 1)
    with pytest.raises(UserError, match="r_plus"):
        stability(data)
    with pytest.raises(UserError, match="'kind'"):
        stability(with_r_plus(data, 0.5), by=("kind",))


@settings(max_examples=30)
@given(
    values=st.lists(st.floats(0, 1), min_size=8, max_size=8),
    order=st.permutations(range(5)),
)
def test_measures_against_numpy_and_order(coded, values, order):
    r_plus = np.append(np.reshape(values, (2, 4)), [[0.3], [0.9]], axis=1)
    data = with_r_plus(coded(ITEMS, 1), r_plus[None, :, :, None, None])
    found = estimates(stability(data, draws=5))
    judged = r_plus[:, :4]
    assert found["range"] == pytest.approx(np.ptp(judged, axis=1).mean())
    assert found["sd"] == pytest.approx(judged.std(axis=1, ddof=1).mean())
    shuffled = data.isel(variant=list(order), item=[1, 0])
    assert estimates(stability(shuffled, draws=5)) == pytest.approx(found)
