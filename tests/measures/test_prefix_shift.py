import numpy as np
import pandas as pd
import pytest

from polbayes.errors import UserError
from polbayes.measures.prefix_shift import prefix_shift, shifts

ITEMS = [("a", "economic", "left", ("original",)), ("b", "economic", "right", ("original",))]
PREFIXES = ("baseline", "p", "q")
# Item by prefix: bias -1, 0 and 1.
STANCE = np.array([[1, 1, -1], [-1, 1, 1]])


def estimates(table):
    one = table[table["dimension"] == "economic"]
    return one.set_index(["prefix", "measure"])["estimate"].to_dict()


def test_hand_derived_shifts(coded):
    data = coded(ITEMS, STANCE[None, :, None, :, None], prefixes=PREFIXES)
    assert estimates(prefix_shift(data, draws=20)) == {
        ("p", "shift"): 1,
        ("q", "shift"): 2,
        ("p", "absolute_shift"): 1,
        ("q", "absolute_shift"): 2,
        ("all", "mean_absolute_shift"): 1.5,
        ("baseline", "others_minus_this"): 1.5,
        ("p", "others_minus_this"): 0,
        ("q", "others_minus_this"): -1.5,
        ("baseline", "pooled_others_minus_this"): 1.5,
        ("p", "pooled_others_minus_this"): 0,
        ("q", "pooled_others_minus_this"): -1.5,
    }


def test_pooling_weighs_prefixes_by_their_answers(coded):
    """Others of the baseline: p twice, q once: left (2 - 1) / 3, right 1, bias 1/3."""
    stance = np.repeat(STANCE[None, :, None, :, None], 2, axis=4)
    stance[..., 2, 1] = 2
    table = prefix_shift(coded(ITEMS, stance, prefixes=PREFIXES, runs=2), draws=20)
    found = estimates(table)
    assert found["baseline", "others_minus_this"] == 1.5
    assert found["baseline", "pooled_others_minus_this"] == pytest.approx(4 / 3)
    rows = table.set_index(["dimension", "prefix", "measure"])
    assert rows.loc[("economic", "q", "shift"), ["n", "n_excluded", "n_prefixes"]].tolist() == [
        2,
        2,
        3,
    ]
    assert rows.loc[("economic", "q", "shift"), "note"].startswith("only one item")


def test_numbered_answers_that_are_no_integer_are_not_the_prefix_own(coded):
    """Likert: one integer and one sentence a statement, which contradict each other.

    All answers give bias 0, the integers -1; others (b) are at 1.
    """
    stance = np.zeros((1, 2, 1, 2, 2), dtype=int)
    stance[0, :, 0, 0] = [[1, -1], [-1, 1]]
    stance[0, :, 0, 1] = [[-1, -1], [1, 1]]
    data = coded(ITEMS, stance, prefixes=("likert", "b"), runs=2)
    data = data.assign_coords(prefix_answer=("prefix", ["likert", "open"]))
    coder = np.broadcast_to(np.array([0, 1]), data["status"].shape)
    data["coder"] = data["status"].copy(data=coder)
    data["coder"].attrs = {"flag_values": [0, 1], "flag_meanings": "likert lexical"}
    table = prefix_shift(data, baseline="likert", draws=20)
    found = estimates(table)
    assert found["b", "shift"] == 1
    assert found["likert", "others_minus_this"] == 2
    assert found["likert", "pooled_others_minus_this"] == 2
    assert found["b", "others_minus_this"] == -1
    rows = table.set_index(["dimension", "prefix", "measure"])
    one = rows.loc[("economic", "likert", "others_minus_this")]
    assert one[["n", "n_excluded"]].tolist() == [2, 2]


def test_equal_prefixes_have_no_shift_by_item(coded):
    """Resampled items are the same for every prefix, resampled answers are not."""
    items = [(f"{s}{k}", "economic", s, ("original",)) for s in ("left", "right") for k in range(6)]
    stance = np.random.default_rng(3).choice([-1, 1], size=(1, 12, 1, 1, 1))
    table = prefix_shift(coded(items, stance, prefixes=PREFIXES), draws=300)
    rows = table[(table["measure"] == "shift") & (table["dimension"] == "total")]
    assert (rows[["estimate", "lower_item", "upper_item"]] == 0).all(axis=None)
    assert (rows["lower"] < -0.2).all()
    assert (rows["upper"] > 0.2).all()


def test_without_baseline_or_answers(coded):
    stance = STANCE.copy()
    stance[:, 1] = 2
    data = coded(ITEMS, stance[None, :, None, :, None], prefixes=("o", "p", "q"))
    table = prefix_shift(data, draws=20)
    assert set(table["measure"]) == {"others_minus_this", "pooled_others_minus_this"}
    assert np.isnan(estimates(table)["p", "others_minus_this"])
    assert estimates(table)["o", "others_minus_this"] == 2
    with pytest.raises(UserError, match="one prefix"):
        prefix_shift(data.sel(prefix=["o"]))
    with pytest.raises(UserError, match="leave it out"):
        prefix_shift(data, by=("prefix",))


def test_published_prefix_table(shared_data):
    """Faulborn et al.: Figure 6 recomputed by others, Figure 2b's order."""
    folder = shared_data / "faulborn"
    table = pd.read_csv(folder / "prefixes_long.csv")
    bias = table.pivot_table(index="prefix", columns="model", values="bias")
    names = bias.index.tolist()
    found = shifts(bias.to_numpy(), names.index("baseline"))
    figure_6 = pd.read_csv(folder / "figure6_deviation_digitised.csv")
    for contrast, rows in figure_6.groupby("contrast"):
        own = pd.Series(found["others_minus_this"][names.index(contrast)], bias.columns)
        expected = rows.set_index("model")["recomputed_from_prefixes_csv"]
        assert own[expected.index].to_numpy() == pytest.approx(expected.to_numpy())
    mean = pd.Series(found["mean_absolute_shift"], bias.columns)
    tuned = table[table["tuned"] == "instruct"]["model"].unique()
    assert mean[tuned].idxmax() == "gpt-3.5-turbo-0125"
