import numpy as np
import pandas as pd
import pytest

from polbayes.measures.match_proportion import ALL, match_proportion


def checked(**matches):
    rows = [
        {"set": "a", "kind": "paraphrase", "item": item, "match": match}
        for item, found in matches.items()
        for match in found
    ]
    return pd.DataFrame(rows, dtype=object)


def test_shares_by_item_and_their_mean():
    """Items count alike: (3/4 + 1/2) / 2, though 4 of 6 wordings match; the open one is out."""
    table = match_proportion(
        checked(p=[True, True, True, False], q=[True, False, None]), draws=200, seed=1
    ).set_index("item")
    assert table["estimate"].tolist() == [0.75, 0.5, 0.625]
    assert table["n"].tolist() == [4, 2, 6]
    assert table["n_excluded"].tolist() == [0, 1, 1]
    # Wilson (1927) for 3 of 4 with z = 1.959964.
    z2 = 1.959963984540054**2
    half = np.sqrt(z2 * (3 / 16 / 4 + z2 / 64)) / (1 + z2 / 4)
    assert table.loc["p", "upper"] == pytest.approx((0.75 + z2 / 8) / (1 + z2 / 4) + half)
    assert table.loc[ALL, ["lower", "upper"]].tolist() == [0.5, 0.75]


def test_nothing_decided_is_no_share():
    table = match_proportion(checked(p=[None], q=[True]), draws=100).set_index("item")
    assert np.isnan(table.loc["p", "estimate"])
    assert table.loc["p", "note"] == "none decided"
    assert table.loc[ALL, "estimate"] == 1
    assert table.loc[ALL, "note"] == "only one item: no interval"
    none = match_proportion(checked(p=[None]), draws=100).set_index("item")
    assert np.isnan(none.loc[ALL, "estimate"])


def test_sets_and_kinds_are_apart():
    one = checked(p=[True], q=[True])
    table = match_proportion(
        pd.concat([one, one.assign(set="b", match=False), one.assign(kind="opposite")]), draws=100
    )
    means = table[table["item"] == ALL].set_index(["set", "kind"])["estimate"].to_dict()
    assert means == {("a", "paraphrase"): 1, ("b", "paraphrase"): 0, ("a", "opposite"): 1}


def test_the_published_proportions_come_back(shared_data):
    """Haller et al. (2024), Table 4: rounded to two decimals, of 15 wordings an item."""
    published = pd.read_csv(shared_data / "haller" / "table4_match_proportion.csv")
    counts = published.set_index("item_id")["match_n_of_15"]
    labels = {item: [True] * n + [False] * (15 - n) for item, n in counts.items()}
    table = match_proportion(checked(**labels), draws=200).set_index("item")
    expected = published.set_index("item_id")["match_proportion"]
    assert len(expected) == 62
    assert (table.loc[expected.index, "estimate"] - expected).abs().max() < 0.00501
    assert table.loc[ALL, "estimate"] == pytest.approx(counts.sum() / (15 * 62))
