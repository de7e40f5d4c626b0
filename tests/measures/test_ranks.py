import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau

from polbayes.errors import UserError
from polbayes.measures.ranks import kendall, rank_agreement
from polbayes.measures.resampling import item_weights

ITEMS = [(f"{s}{k}", "economic", s, ("original",)) for s in ("left", "right") for k in range(3)]
# Over model, prefix: how many of the three right items are agreed with; left ones never.
AGREED = np.array([[0, 0, 3], [1, 2, 2], [2, 1, 1], [3, 3, 0]])


def ranked(coded, agreed=AGREED):
    stance = -np.ones((len(agreed), 6, 1, agreed.shape[1], 1), dtype=int)
    for m, row in enumerate(agreed):
        for p, k in enumerate(row):
            stance[m, 3 : 3 + k, 0, p] = 1
    prefixes = [f"p{k}" for k in range(agreed.shape[1])]
    return coded(ITEMS, stance, models=[f"m{k}" for k in range(len(agreed))], prefixes=prefixes)


def test_hand_derived_orders(coded):
    """p0 and p1 differ in one of six pairs: tau 4 / 6. p2 reverses p0."""
    table = rank_agreement(ranked(coded), over="prefix", draws=50)
    one = table[table["dimension"] == "economic"].set_index(["first", "second"])
    assert one["estimate"].to_dict() == pytest.approx(
        {("p0", "p1"): 2 / 3, ("p0", "p2"): -1, ("p1", "p2"): -2 / 3, ("all", "all"): -1 / 3}
    )
    # Of the 24 orders of four, 2 are as extreme as a reversal, 8 as one exchange.
    assert one.loc[("p0", "p2"), "p"] == pytest.approx(2 / 24)
    assert one.loc[("p0", "p1"), "p"] == pytest.approx(8 / 24)
    assert one.loc[("p0", "p1"), "note"] == "fewer than 5 models: no interval over models"
    assert one.loc[("all", "all"), "measure"] == "mean_tau"


def test_items_are_resampled_for_both(coded):
    """Against tau computed draw by draw with scipy."""
    data = ranked(coded)
    table = rank_agreement(data, over="prefix", draws=40).set_index(
        ["dimension", "first", "second"]
    )
    stance = data["stance"].values[:, :, 0, :, 0]
    order = np.argsort(data["item"].values)
    weights = item_weights([str(i) for i in data["item"].values[order]], 40, 1)
    side = np.where([str(i).startswith("right") for i in data["item"].values[order]], 1, 0)
    drawn = []
    for weight in weights:
        share = [(weight * (side == s))[:, None] for s in (0, 1)]
        left, right = (
            (stance[:, order] * w).sum(axis=1) / w.sum() if w.sum() else np.nan * stance[:, 0]
            for w in share
        )
        x, y = ((right - left) / 2)[:, :2].round(12).T
        drawn.append(kendalltau(x, y).statistic if np.ptp(x) and np.ptp(y) else np.nan)
    row = table.loc[("economic", "p0", "p1")]
    expected = np.nanquantile(drawn, [0.025, 0.975])
    assert row[["lower_item", "upper_item"]].tolist() == pytest.approx(expected.tolist())
    assert row["n_undefined_item"] == np.isnan(drawn).sum()


def test_ties_and_missing_models(coded):
    table = rank_agreement(ranked(coded, np.array([[1, 0], [1, 2]])), over="prefix", draws=5)
    assert table["estimate"].isna().all()
    assert set(table["note"]) == {"all models have the same bias: no order"}
    data = ranked(coded)
    data["stance"][1:, :, :, 0] = 2
    row = rank_agreement(data, over="prefix", draws=5).iloc[0]
    assert row["note"] == "fewer than two models have a bias under both"
    assert row["n_models"] == 1


def test_equal_orders_have_an_interval_over_items_only(coded):
    """Every resample of items has the same order in all prefixes, or none at all."""
    agreed = np.repeat(np.array([[0], [1], [2], [3], [2]]), 3, axis=1)
    table = rank_agreement(ranked(coded, agreed), over="prefix", draws=60)
    economic = table[table["dimension"] == "economic"]
    assert economic["first"].tolist() == ["p0", "p0", "p1", "all"]
    assert economic["second"].tolist() == ["p1", "p2", "p2", "all"]
    for bound in ("estimate", "lower_item", "upper_item"):
        assert economic[bound].tolist() == pytest.approx([1] * 4)
    assert economic[["lower", "upper"]].isna().all(axis=None)
    assert economic["note"].tolist() == [
        *["the orders are equal or reversed: no interval over models"] * 3,
        "",
    ]
    assert set(economic["n_models"]) == {5}
    # What leaves one pair without an order leaves all of them without one.
    assert len(set(economic["n_undefined_item"])) == 1


def test_pairs_without_an_order_are_left_out_of_the_mean(coded):
    """Under p2 all models are alike; p0 and p1 differ in one of six pairs."""
    agreed = AGREED.copy()
    agreed[:, 2] = 1
    table = rank_agreement(ranked(coded, agreed), over="prefix", draws=30)
    rows = table[table["dimension"] == "economic"].set_index(["first", "second"])
    mean, only = rows.loc[("all", "all")], rows.loc[("p0", "p1")]
    assert mean["estimate"] == pytest.approx(2 / 3)
    assert mean["note"] == "2 pairs without tau left out"
    bounds = ["lower_item", "upper_item", "n_undefined_item"]
    assert mean[bounds].tolist() == pytest.approx(only[bounds].tolist())
    without = rows.loc[("p0", "p2")]
    assert without[["estimate", "p", "lower", "lower_item", "upper_item"]].isna().all()


def test_an_interval_over_five_models(coded):
    """One exchange among five: tau 0.8, and the interval is that of `kendall`."""
    agreed = np.array([[0, 0], [1, 1], [2, 3], [3, 2], [4, 4]])
    items = [(f"{s}{k}", "economic", s, ("original",)) for s in ("left", "right") for k in range(4)]
    stance = -np.ones((5, 8, 1, 2, 1), dtype=int)
    for m, row in enumerate(agreed):
        for p, k in enumerate(row):
            stance[m, 4 : 4 + k, 0, p] = 1
    data = coded(items, stance, models=list("abcde"), prefixes=("p", "q"))
    row = rank_agreement(data, over="prefix", draws=20, level=0.9).iloc[0]
    half = 1.644854 * np.sqrt(0.437)
    expected = np.tanh([np.arctanh(0.8) - half, np.arctanh(0.8) + half])
    assert row["estimate"] == pytest.approx(0.8)
    assert row[["lower", "upper"]].tolist() == pytest.approx(expected.tolist(), abs=1e-5)
    assert (row["note"], row["n_models"], row["level"]) == ("", 5, 0.9)
    # Of two levels there is one pair, and no mean over pairs.
    assert row["measure"] == "kendall_tau"


def test_wrong_use_is_explained(coded):
    with pytest.raises(UserError, match="way of asking"):
        rank_agreement(ranked(coded), over="model")
    with pytest.raises(UserError, match="way of asking"):
        rank_agreement(ranked(coded), over="dimension")
    with pytest.raises(UserError, match="prefix"):
        rank_agreement(ranked(coded), over="prefx")


@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=9))
def test_tau_against_its_definition(pairs):
    x, y = np.array(pairs, dtype=float).T
    tau, p, lower, upper = kendall(x, y)
    products = [
        (np.sign(x[i] - x[j]), np.sign(y[i] - y[j])) for i in range(len(x)) for j in range(i)
    ]
    below = np.sqrt(sum(a * a for a, _ in products) * sum(b * b for _, b in products))
    if below == 0:
        assert np.isnan([tau, p, lower, upper]).all()
        return
    assert tau == pytest.approx(sum(a * b for a, b in products) / below)
    if not np.isnan(lower):
        assert -1 <= lower < tau < upper <= 1


def test_interval_by_hand():
    """Ten pairs of five, one discordant: tau 0.8; atanh 1.0986, half width 1.96 * 0.6611."""
    *_, lower, upper = kendall(np.arange(5), np.array([1, 0, 2, 3, 4]))
    assert (lower, upper) == pytest.approx((np.tanh(1.0986 - 1.2957), np.tanh(2.3943)), abs=1e-4)


def test_published_agreement_of_instruments(shared_data):
    """Faulborn et al.: tau 0.60 (cultural) and 0.71 (economic) between WVS and PCT."""
    table = pd.read_csv(shared_data / "faulborn" / "bias_by_source_dimension.csv")
    for dimension, tau, p in (("cultural", 0.600, 0.0099), ("economic", 0.709, 0.0016)):
        rows = table[table["dimension"] == dimension]
        bias = rows.pivot_table(index="model", columns="source", values="bias")
        found = kendall(bias["wvs"].to_numpy(), bias["pct"].to_numpy())
        assert found[0] == pytest.approx(tau, abs=5e-4)
        assert found[1] == pytest.approx(p, abs=5e-5)
        assert found[2] < tau < found[3]
