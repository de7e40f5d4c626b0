"""Features of the wordings of a dataset, and their correlations."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from polbayes.config.schema import FeatureConfig
from polbayes.errors import UserError
from polbayes.measures import feature_correlations, measure_all, wording_features

QUICK = ["word_length", "sentence_length"]
ITEMS = [
    ("a", "economic", "left", ("original", "paraphrase")),
    ("b", "cultural", "right", ("original", "opposite")),
]


def test_a_row_a_wording_that_was_asked(coded):
    table = wording_features(coded(ITEMS, 1, prefixes=("p", "q")), QUICK)
    assert table[["item", "variant", "kind", "statement"]].to_numpy().tolist() == [
        ["a", "original", "original", "a original"],
        ["a", "paraphrase", "paraphrase", "a paraphrase"],
        ["b", "original", "original", "b original"],
        ["b", "opposite", "opposite", "b opposite"],
    ]
    assert table["word_length"].tolist() == [(1 + 8) / 2, (1 + 10) / 2, 4.5, 4.5]
    assert table["sentence_length"].tolist() == [2.0] * 4


def made(x, y, items=None):
    n = len(x)
    items = items if items is not None else [f"i{k % 5}" for k in range(n)]
    return pd.DataFrame(
        {
            "item": items,
            "statement": [f"s{k}" for k in range(n)],
            "word_length": x,
            "sentence_length": y,
        }
    )


def test_by_hand():
    """x = 1, 2, 3, 4 and y = 1, 3, 2, 4: r = 4 / 5, and t = 0.8 sqrt(2 / 0.36)."""
    (row,) = feature_correlations(made([1, 2, 3, 4], [1, 3, 2, 4]), draws=50).to_dict("records")
    assert row["estimate"] == pytest.approx(0.8)
    assert row["p"] == pytest.approx(2 * stats.t.sf(0.8 * np.sqrt(2 / 0.36), 2))
    z = np.arctanh(0.8)
    assert row["lower"] == pytest.approx(np.tanh(z - 1.959964))
    assert row["upper"] == pytest.approx(np.tanh(z + 1.959964))
    assert (row["first"], row["second"], row["measure"]) == (*QUICK, "pearson")
    assert (row["n"], row["n_excluded"], row["n_items"]) == (4, 0, 4)


@settings(max_examples=30)
@given(st.integers(0, 1000), st.integers(6, 60))
def test_as_scipy_has_it(seed, n):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(2, n)) @ np.ones((n, n)) * 0 + rng.normal(size=(2, n)) * 7 + 100
    row = feature_correlations(made(x, x + y), draws=20).iloc[0]
    found = stats.pearsonr(x, x + y)
    assert row["estimate"] == pytest.approx(found.statistic)
    assert row["p"] == pytest.approx(found.pvalue)
    bounds = found.confidence_interval(0.95)
    assert (row["lower"], row["upper"]) == pytest.approx((bounds.low, bounds.high))


def test_resampling_items_is_resampling_all_their_rows():
    """Against the naive way on rows, with the same resamples."""
    from polbayes.measures.resampling import item_weights

    rng = np.random.default_rng(3)
    items = np.array([f"i{k}" for k in rng.integers(6, size=80)])
    x = rng.normal(size=80) + (items == "i1")
    y = 0.5 * x + rng.normal(size=80) + 2 * (items == "i1")
    row = feature_correlations(made(x, y, items), draws=300, seed=4).iloc[0]
    names = sorted(set(items))
    naive = []
    for weights in item_weights(names, 300, 4):
        rows = np.concatenate(
            [
                np.flatnonzero(items == n)
                for n, w in zip(names, weights, strict=True)
                for _ in range(int(w))
            ]
        )
        naive.append(np.corrcoef(x[rows], y[rows])[0, 1])
    expected = np.quantile(naive, [0.025, 0.975])
    np.testing.assert_allclose([row["lower_item"], row["upper_item"]], expected, rtol=1e-10)


def test_what_has_no_correlation_says_why():
    table = made([1.0, 2.0, np.nan, 4.0], [3.0, 3.0, 5.0, 3.0])
    row = feature_correlations(table, draws=20).iloc[0]
    assert (row["n"], row["n_excluded"]) == (3, 1)
    assert np.isnan(row["estimate"])
    assert row["note"] == "sentence_length: the same in all wordings"
    one = feature_correlations(made([1, 2, 3, 4], [1, 3, 2, 4], ["i"] * 4), draws=20).iloc[0]
    assert one["note"] == "only one item: no interval by item"
    assert np.isnan(one["lower_item"])
    assert not np.isnan(one["lower"])
    none = feature_correlations(made([np.nan], [1.0]), draws=20).iloc[0]
    assert none["n"] == 0
    two = feature_correlations(made([1, 2], [2, 4]), draws=20).iloc[0]
    assert two["estimate"] == pytest.approx(1)
    assert np.isnan(two["p"])


def test_a_wording_that_an_item_has_twice_counts_once():
    table = made([1, 2, 3, 4], [1, 3, 2, 4])
    twice = pd.concat([table, table.iloc[:2]])
    pd.testing.assert_frame_equal(
        feature_correlations(twice, draws=20), feature_correlations(table, draws=20)
    )


def test_turning_a_feature_round_turns_the_sign():
    table = made([1.0, 2, 3, 4, 9], [1.0, 3, 2, 4, 4])
    plain = feature_correlations(table, draws=200).iloc[0]
    other = table.assign(word_length=-3 * table["word_length"])
    turned = feature_correlations(other, draws=200).iloc[0]
    assert turned["estimate"] == pytest.approx(-plain["estimate"])
    assert turned["p"] == pytest.approx(plain["p"])
    both = turned["lower_item"], turned["upper_item"]
    assert both == pytest.approx((-plain["upper_item"], -plain["lower_item"]))


def test_tables_of_a_run(coded):
    data = coded(ITEMS, 1)
    assert "text_features" not in measure_all(data, draws=10)
    assert "text_features" not in measure_all(data, draws=10, features=FeatureConfig())
    one = measure_all(data, draws=10, features=FeatureConfig(names=["word_length"]))
    assert "text_features" in one
    assert "feature_correlations" not in one
    data["r_plus"] = data["status"].astype(np.float64) * 0 + 0.7
    tables = measure_all(data, draws=10, features=FeatureConfig())
    # Every two of five features.
    assert len(tables["feature_correlations"]) == 10


def test_settings_out_of_range_are_refused():
    with pytest.raises(UserError, match=r"measures.level"):
        feature_correlations(made([1, 2], [2, 1]), level=2)
