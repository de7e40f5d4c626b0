import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from polbayes.errors import UserError
from polbayes.measures import stability
from polbayes.measures.paraphrases import (
    compare_paraphrase_sets,
    distributions,
    divergent_pairs,
    item_instability,
)

WORDINGS = ("original", "paraphrase1", "paraphrase2", "paraphrase3", "opposite")
ITEMS = [("a", "economic", "left", WORDINGS), ("b", "cultural", "right", WORDINGS)]


def with_r_plus(data, values):
    """Probabilities of agreeing, the rest of 0.8 disagreeing."""
    full = np.broadcast_to(values, data["status"].shape).astype(np.float64)
    data["r_plus"] = data["status"].copy(data=full)
    data["p_agree"] = data["r_plus"] * 0.8
    data["p_disagree"] = (1 - data["r_plus"]) * 0.8
    return data


def test_most_divergent_pairs_by_hand(coded):
    """The opposite, 0, is no paraphrase; where there are two prefixes, means count."""
    r_plus = np.array([[0.2, 0.6, 0.8, 0.9, 0.0], [0.5, 0.6, np.nan, 0.7, 0.0]])
    both = np.stack([r_plus, r_plus + np.array([0.1, -0.1, 0, 0, 0])], axis=-1)
    data = with_r_plus(coded(ITEMS, 1, prefixes=("p", "q")), both[None, ..., None])
    table = divergent_pairs(data)
    first, second = table.to_dict("records")
    assert (first["item"], first["variant_low"], first["variant_high"]) == (
        "a",
        "original",
        "paraphrase3",
    )
    assert (first["r_plus_low"], first["r_plus_high"]) == pytest.approx((0.25, 0.9))
    assert first["statement_low"] == "a original"
    assert (first["flips"], first["n_wordings"]) == (True, 4)
    assert second["difference"] == pytest.approx(0.15)
    assert (second["flips"], second["n_wordings"]) == (False, 3)


def test_normalised_deviations_by_hand(coded):
    """Two models scale one item to 0 and the other to 1, a third the reverse."""
    wordings = ("original", "paraphrase")
    items = [(name, "economic", "left", wordings) for name in "abc"]
    spread = np.array([[0.0, 0.1, 0.2], [0.0, 0.2, 0.8], [0.3, 0.15, 0.0], [0.2, 0.2, 0.2]])
    r_plus = np.stack([0.5 - spread / 2, 0.5 + spread / 2], axis=-1)[..., None, None]
    data = with_r_plus(coded(items, 1, models=("m", "n", "o", "flat")), r_plus)
    table = item_instability(data, draws=4000).set_index("item")
    assert table["estimate"].to_dict() == pytest.approx(
        {"a": 1 / 3, "b": (0.5 + 0.25 + 0.5) / 3, "c": 2 / 3}
    )
    # Deviations 0, 0, 1: variance 1/3.
    assert table.loc["a", "se"] == pytest.approx(np.sqrt(1 / 3 / 3))
    assert table.loc["a", ["lower", "upper"]].tolist() == [0, 1]
    assert table.loc["a", ["n_models", "n_excluded"]].tolist() == [3, 1]
    assert table.loc["a", "note"] == ""
    one = item_instability(data.sel(model=["m", "flat"]), draws=5)
    assert set(one["note"]) == {"only one model: no interval"}
    assert one["estimate"].tolist() == pytest.approx([0, 0.5, 1])
    assert one[["se", "lower", "upper"]].isna().all(axis=None)
    assert one[["n_models", "n_excluded"]].to_numpy().tolist() == [[1, 1]] * 3
    alone = item_instability(data.sel(model=["flat"]), draws=5)
    assert set(alone["note"]) == {"no model's items differ"}
    assert alone["estimate"].isna().all()


def test_distribution_by_hand(coded):
    """1 to 9 hundredths and 90: quartiles 3.25, 5.5, 7.75; whiskers to 1 and 9; one beyond."""
    wordings = ("original", *(f"paraphrase{k}" for k in range(10)))
    values = np.append(np.array([3, 1, 2, 9, 8, 7, 6, 5, 4, 90]) / 100, np.nan)
    data = with_r_plus(coded([("a", "economic", "left", wordings)], 1), values[:, None, None])
    table = distributions(data).set_index("measure")
    assert table["estimate"].to_dict() == pytest.approx(
        {
            "q25": 0.0325,
            "median": 0.055,
            "q75": 0.0775,
            "whisker_low": 0.01,
            "whisker_high": 0.09,
            "outliers": 1,
        }
    )
    # Of ten values, one or fewer lie below the median with probability 11 / 1024.
    assert table.loc["median", ["lower", "upper"]].tolist() == [0.02, 0.09]
    assert table.loc["q25", "note"] == "too few wordings for an interval"
    assert table.loc["median", ["n", "n_excluded"]].tolist() == [10, 1]


@pytest.mark.parametrize(("last", "high", "outliers"), [(0.875, 0.875, 0), (0.8751, 0.5, 1)])
def test_whiskers_reach_to_one_and_a_half_interquartile_ranges(coded, last, high, outliers):
    """Quartiles 0.25 and 0.5, so that 0.875 is just in reach; and the same turned round."""
    values = np.array([0.125, 0.25, 0.375, 0.5, last])
    wordings = ("original", *(f"paraphrase{k}" for k in range(4)))
    items = [("a", "economic", "left", wordings), ("b", "economic", "left", wordings)]
    data = with_r_plus(coded(items, 1), np.stack([values, 1 - values])[None, ..., None, None])
    found = distributions(data).set_index(["item", "measure"])["estimate"]
    assert (found["a", "whisker_low"], found["a", "whisker_high"]) == (0.125, high)
    assert (found["b", "whisker_low"], found["b", "whisker_high"]) == (1 - high, 0.875)
    assert (found["a", "outliers"], found["b", "outliers"]) == (outliers, outliers)


def test_a_wording_is_agreed_with_from_one_half_on(coded):
    """Items with 0.4 and 0.5, with 0.5 and 0.7, and with one wording, which is no pair."""
    items = [(name, "economic", "left", ("original", "paraphrase")) for name in "abc"]
    r_plus = np.array([[0.4, 0.5], [0.5, 0.7], [0.1, np.nan]])
    table = divergent_pairs(with_r_plus(coded(items, 1), r_plus[None, ..., None, None]))
    assert dict(zip(table["item"], table["flips"], strict=True)) == {"b": False, "a": True}
    assert table["difference"].is_monotonic_decreasing


@settings(max_examples=60)
@example(n=2, level=0.5)
@given(n=st.integers(1, 600), level=st.sampled_from([0.5, 0.8, 0.95]))
def test_order_statistics_cover_as_much_as_they_say(coded, n, level):
    """The median lies between positions j and k with P(j < B <= k), B binomial."""
    wordings = ("original", *(f"paraphrase{k}" for k in range(n - 1)))
    values = np.linspace(0, 1, n)
    data = with_r_plus(coded([("a", "economic", "left", wordings)], 1), values[:, None, None])
    row = distributions(data, level=level).set_index("measure").loc["median"]
    if np.isnan(row["lower"]):
        assert binom.cdf(0, n, 0.5) > (1 - level) / 2
        return
    j, k = (int(np.argmin(np.abs(values - row[side]))) for side in ("lower", "upper"))
    cover = binom.cdf(k, n, 0.5) - binom.cdf(j, n, 0.5)
    assert cover >= level - 1e-12
    narrower = binom.cdf(k - 1, n, 0.5) - binom.cdf(j + 1, n, 0.5)
    assert narrower < level


def test_two_sets_of_paraphrases(coded):
    wordings = ("original", "gpt_1", "gpt_2", "claude_1", "claude_2")
    kinds = ("original", "paraphrase1", "paraphrase2", "paraphrase3", "paraphrase4")
    items = [(name, "economic", "left", kinds) for name in "ab"]
    r_plus = np.array([[0.9, 0.4, 0.6, 0.5, 0.9], [0.9, 0.2, 0.3, 0.3, 0.5]])
    data = with_r_plus(coded(items, 1), r_plus[None, ..., None, None])
    data = data.assign_coords(variant=list(wordings))
    sets = {"gpt": ["gpt_*"], "claude": ["claude_1", "claude_2"]}
    table = compare_paraphrase_sets(data, sets, draws=200)
    rows = table.set_index(["set", "measure"])
    assert rows.loc[("gpt", "range"), "estimate"] == pytest.approx(0.15)
    assert rows.loc[("claude", "range"), "estimate"] == pytest.approx(0.3)
    apart = rows.loc[("gpt - claude", "range")]
    # a 0.2 - 0.4, b 0.1 - 0.2
    assert apart[["estimate", "lower", "upper"]].tolist() == pytest.approx([-0.15, -0.2, -0.1])
    assert apart["n_items"] == 2
    assert rows.loc[("gpt", "mass"), "estimate"] == pytest.approx(0.8)
    assert rows.loc[("gpt - claude", "mass"), "estimate"] == pytest.approx(0)
    # One of two inconsistent in item a of gpt; none in b, and none in claude's b but 0.5 agrees.
    assert rows.loc[("gpt", "inconsistent"), "estimate"] == pytest.approx(0.25)
    assert ("gpt - claude", "always_agree") not in rows.index
    first = stability(data.sel(variant=["gpt_1", "gpt_2"]), draws=200).set_index("measure")
    assert rows.loc["gpt"].loc["sd", "lower"] == first.loc["sd", "lower"]


def test_wrong_use_is_explained(coded):
    data = coded(ITEMS, 1)
    for measure in (divergent_pairs, distributions, item_instability):
        with pytest.raises(UserError, match="r_plus"):
            measure(data)
    data = with_r_plus(data, 0.5)
    with pytest.raises(UserError, match="give two, not 1"):
        compare_paraphrase_sets(data, {"a": ["*"]})
    with pytest.raises(UserError, match="give two, not 3"):
        compare_paraphrase_sets(data, {"a": ["*"], "b": ["*"], "c": ["*"]})
    with pytest.raises(UserError, match=r"'b' matches none.*paraphrase3, opposite\.$"):
        compare_paraphrase_sets(data, {"a": ["paraphrase1"], "b": ["claude*"]})
    with pytest.raises(UserError, match="between 0 and 1"):
        distributions(data, level=1.5)


@pytest.mark.parametrize(("n", "end"), [(8, r"paraphrase6\.$"), (9, r"paraphrase6 \.\.\.\.$")])
def test_eight_wordings_are_named(coded, n, end):
    wordings = ("original", *(f"paraphrase{k}" for k in range(n - 1)))
    data = with_r_plus(coded([("a", "economic", "left", wordings)], 1), 0.5)
    with pytest.raises(UserError, match=f"which are original, paraphrase0.*{end}"):
        compare_paraphrase_sets(data, {"a": ["nothing"], "b": ["original"]})


def test_missing_probabilities_are_survived(coded):
    data = with_r_plus(coded(ITEMS, 1), np.nan)
    assert divergent_pairs(data).empty
    table = distributions(data)
    assert table[["estimate", "lower", "upper"]].isna().all(axis=None)
    assert set(table["note"]) == {"no r_plus"}
    assert set(table["n"]) == {0}
    # Both items have four wordings of one meaning.
    assert set(table["n_excluded"]) == {4}
    assert isinstance(item_instability(data, draws=5), pd.DataFrame)
