import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polbayes.coding.levels import STRONG
from polbayes.data.dataset import MISSING
from polbayes.errors import UserError
from polbayes.measures import consistency
from polbayes.measures.consistency import MEASURES, has_pairs

WORDINGS = ("original", "paraphrase1", "paraphrase2", "negation", "opposite")
ITEMS = [("a", "economic", "left", WORDINGS), ("b", "cultural", "right", WORDINGS)]
POINTS = "strongly disagree; disagree; agree; strongly agree"


def rated(data, levels):
    """Give answers on four levels (-128 for none), broadcast to the cells."""
    level = np.broadcast_to(np.asarray(levels, dtype=np.int8), data["status"].shape)
    stance = np.where(level == MISSING, 2, np.where(level >= 2, 1, -1)).astype(np.int8)
    data["stance"] = data["status"].copy(data=np.where(data["status"] == -128, MISSING, stance))
    data["rating"] = data["status"].copy(data=np.where(data["status"] == -128, MISSING, level))
    data["rating"].attrs["rating_points"] = POINTS
    return data


def by_kind(table):
    return {key: group.set_index("measure") for key, group in table.groupby("kind")}


def test_hand_derived_values(coded):
    """The paper's example first: strong agreement, and agreement to the negation, is 2 off.

    Item a: original 3; paraphrases 3 (0 off) and 1 (2 off, other side); negation 2 (expected
    0: 2 off, other side); opposite 0 (as expected). Item b: original 1; paraphrases 0 (1 off)
    and none; negation 3 (expected 2: 1 off, right side); opposite 2 (as expected).
    """
    levels = np.array([[3, 3, 1, 2, 0], [1, 0, MISSING, 3, 2]])
    data = rated(coded(ITEMS, 0), levels[None, :, :, None, None])
    found = by_kind(consistency(data, draws=400))
    assert set(found) == {"paraphrase", "negation", "opposite", "reversed"}

    para = found["paraphrase"]
    assert para["estimate"].to_dict() == pytest.approx(
        {
            "consistent_4": 1 / 3,
            "consistent_2": 2 / 3,
            "discrepant": 2 / 3,
            "discrepancy_1": 1 / 3,
            "discrepancy_2": 1 / 3,
            "discrepancy_3": 0,
            "discrepancy_size": 1,
        }
    )
    assert para.loc["discrepant", ["count", "n", "n_excluded", "n_items"]].tolist() == [2, 3, 1, 2]
    assert para.loc["discrepancy_size", ["count", "n"]].tolist() == [3, 3]
    assert set(para["cluster"]) == {"item"}
    assert set(para["note"]) == {""}
    # Resampling two items gives a's share 1/2, b's 0 or both together, 1/3.
    assert para.loc["consistent_4", ["lower", "upper"]].tolist() == pytest.approx([0, 0.5])

    negation = found["negation"]["estimate"]
    assert negation["consistent_4"] == 0
    assert negation["consistent_2"] == 0.5
    assert negation["discrepancy_size"] == 1.5
    assert found["opposite"].loc["consistent_4", "estimate"] == 1
    both = found["reversed"].loc["consistent_4"]
    assert both[["estimate", "count", "n"]].tolist() == [0.5, 2, 4]


@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_one_answer_to_everything(coded, level):
    found = by_kind(consistency(rated(coded(ITEMS, 0), level), draws=20))
    for measure in ("consistent_4", "consistent_2"):
        assert found["paraphrase"].loc[measure, "estimate"] == 1
        assert found["reversed"].loc[measure, "estimate"] == 0
    # Strong answers are 3 levels from what is expected, plain ones 1.
    size = found["reversed"].loc["discrepancy_size", "estimate"]
    assert size == {0: 3, 1: 1, 2: 1, 3: 3}[level]


def test_by_item_by_model_and_both(coded):
    levels = np.array([[3, 3, 1, 2, 0], [1, 0, 1, 3, 2]])
    stacked = np.stack([levels, 3 - levels])[..., None, None]
    data = rated(coded(ITEMS, 0, models=("x", "y")), stacked)
    settings = {"measures": ["consistent_4"], "draws": 50}
    per_item = consistency(data, by=("item",), **settings)
    assert set(per_item["cluster"]) == {"model"}
    para = per_item[per_item["kind"] == "paraphrase"].set_index("item")
    # The second model mirrors the first, so that consistency is the same in both.
    assert para[["estimate", "lower", "upper", "n"]].loc["a"].tolist() == [0.5, 0.5, 0.5, 4]
    each = consistency(data, by=("model", "item"), **settings)
    assert set(each["cluster"]) == {"wording"}
    only = each[each["kind"] == "negation"]
    assert set(only["note"]) == {"only one wording: no interval"}
    assert only["lower"].isna().all()
    bounds = each[(each["kind"] == "paraphrase") & (each["item"] == "a")]
    assert bounds[["lower", "upper"]].to_numpy().tolist() == [[0, 1], [0, 1]]


def test_pairs_stay_within_prefix_and_run(coded):
    items = [("a", "economic", "left", ("original", "paraphrase"))]
    levels = np.array([[[0, 3], [1, 2]], [[0, 3], [1, 2]]])  # wording, prefix, run
    data = rated(coded(items, 0, prefixes=("p", "q"), runs=2), levels[None, None])
    assert set(consistency(data, measures=["consistent_4"], draws=5)["estimate"]) == {1}
    swapped = rated(coded(items, 0, prefixes=("p", "q"), runs=2), levels[None, None, [0, 1]])
    swapped["rating"][:, :, 1] = swapped["rating"][:, :, 1].values[:, :, ::-1]
    swapped["stance"][:, :, 1] = swapped["stance"][:, :, 1].values[:, :, ::-1]
    # Prefixes exchanged: 0 beside 1 and 3 beside 2, each on the same side.
    table = by_kind(consistency(swapped, draws=5))["paraphrase"]["estimate"]
    assert (table["consistent_4"], table["consistent_2"], table["discrepancy_1"]) == (0, 1, 1)


def test_masses_are_read_by_the_rule_of_strength(coded):
    """0.9 - 0.1 is strong, 0.6 - 0.4 is not: paraphrases agree in two levels, not in four."""
    items = [("a", "economic", "left", ("original", "paraphrase"))]
    data = coded(items, 1)
    agree = np.array([0.9, 0.6])[None, None, :, None, None]
    data["p_agree"] = data["status"].copy(data=agree).astype(np.float32)
    data["p_disagree"] = data["status"].copy(data=1 - agree).astype(np.float32)
    found = by_kind(consistency(data, draws=5))["paraphrase"]["estimate"]
    assert (found["consistent_4"], found["consistent_2"]) == (0, 1)
    assert (
        by_kind(consistency(data, strong=STRONG / 2, draws=5))["paraphrase"].loc[
            "consistent_4", "estimate"
        ]
        == 1
    )


def test_neutral_answers_are_counted_out(coded):
    stance = np.array([1, 0, 1, 0, -1])[None, None, :, None, None]
    found = by_kind(consistency(coded(ITEMS, stance), draws=5))
    assert found["paraphrase"].loc["consistent_2", ["n", "n_excluded"]].tolist() == [2, 2]
    assert found["negation"].loc["consistent_2", "note"].startswith("no pair")
    assert np.isnan(found["negation"].loc["consistent_2", "estimate"])


def test_a_pair_is_two_wordings_of_one_item(coded):
    apart = [("a", "economic", "left", ("original",)), ("b", "economic", "left", ("paraphrase",))]
    assert not has_pairs(coded(apart, 1))
    with pytest.raises(UserError, match="beside an original"):
        consistency(coded(apart, 1))
    assert has_pairs(coded([*apart, ("c", "economic", "left", ("original", "negation"))], 1))
    mixed = coded([*apart, ("c", "economic", "left", ("original", "paraphrase"))], 1)
    found = by_kind(consistency(mixed, draws=5))["paraphrase"].loc["consistent_2"]
    assert found[["n", "n_items", "note"]].tolist() == [1, 1, "only one item: no interval"]
    assert found[["lower", "upper"]].isna().all()


def test_wrong_use_is_explained(coded):
    data = rated(coded(ITEMS, 0), 2)
    with pytest.raises(UserError, match="kind"):
        consistency(data, by=("model", "kind"))
    with pytest.raises(UserError, match="consistent_4"):
        consistency(data, measures=["consistent4"])
    with pytest.raises(UserError, match="beside an original"):
        consistency(coded([("a", "economic", "left", ("original",))], 1))


@settings(max_examples=40)
@given(
    levels=st.lists(st.sampled_from([0, 1, 2, 3, MISSING]), min_size=20, max_size=20),
    order=st.permutations(range(5)),
)
def test_against_a_plain_loop_and_order(coded, levels, order):
    level = np.reshape(levels, (2, 2, 5))
    data = rated(coded(ITEMS, 0, models=("x", "y")), level[..., None, None])
    table = consistency(data, by=(), draws=3)
    found = table.set_index(["kind", "measure"])["estimate"]
    apart = {"paraphrase": [], "negation": [], "opposite": []}
    for first, *others in level.reshape(-1, 5).tolist():
        for name, other in zip([w.rstrip("12") for w in WORDINGS[1:]], others, strict=True):
            if MISSING not in (first, other):
                expected = first if name == "paraphrase" else 3 - first
                apart[name].append(abs(other - expected))
    for name, values in apart.items():
        if values:
            assert found[name, "discrepancy_size"] == pytest.approx(np.mean(values))
            assert found[name, "consistent_4"] == pytest.approx(np.mean(np.equal(values, 0)))
    shuffled = consistency(data.isel(variant=list(order), item=[1, 0]), by=(), draws=3)
    pd.testing.assert_frame_equal(shuffled[table.columns.drop("note")], table.drop(columns="note"))
    mirrored = rated(data.copy(), np.where(level == MISSING, MISSING, 3 - level)[..., None, None])
    pd.testing.assert_frame_equal(consistency(mirrored, by=(), draws=3), table)
    assert set(table["measure"]) == set(MEASURES)
