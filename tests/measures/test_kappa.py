import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from statsmodels.stats import inter_rater

from polbayes.errors import UserError
from polbayes.measures.kappa import annotator_agreement, cohen_kappa, fleiss_kappa, quadratic_kappa


def test_cohen_by_hand():
    """35 of 50 agree; by chance 0.5 * 0.6 + 0.5 * 0.4 = 0.5: (0.7 - 0.5) / 0.5."""
    assert cohen_kappa(np.array([[20, 5], [10, 15]])) == pytest.approx(0.4)
    assert cohen_kappa(np.eye(3) * 4) == 1
    assert cohen_kappa(np.array([[0, 5], [5, 0]])) == -1
    assert np.isnan(cohen_kappa(np.array([[9, 0], [0, 0]])))


def test_fleiss_by_hand():
    """Three annotators, two things. Pairs that agree: 3 of 3 and 1 of 3, mean 2 / 3.

    Labels: 4 of 6 and 2 of 6, so that chance gives 5 / 9: (2/3 - 5/9) / (4/9) = 1/4.
    """
    counts = np.array([[3, 0], [1, 2]])
    assert fleiss_kappa(counts) == pytest.approx(1 / 4)
    twice = fleiss_kappa(counts, np.array([[1, 1], [2, 2], [1, 0]]))
    assert twice[:2] == pytest.approx([1 / 4, 1 / 4])
    assert np.isnan(twice[2])


TABLES = arrays(int, (4, 4), elements=st.integers(0, 9))


@settings(max_examples=60)
@given(TABLES.filter(lambda table: ((table.sum(axis=0) + table.sum(axis=1)) > 0).sum() > 1))
def test_cohen_in_another_implementation(table):
    plain = inter_rater.cohens_kappa(table, return_results=False)
    assert cohen_kappa(table) == pytest.approx(plain)
    weighted = inter_rater.cohens_kappa(table, wt="quadratic", return_results=False)
    assert quadratic_kappa(table) == pytest.approx(weighted)


@settings(max_examples=60)
@given(arrays(int, (9, 5), elements=st.integers(0, 3)).filter(lambda labels: np.ptp(labels) > 0))
def test_fleiss_in_another_implementation(labels):
    counts, _ = inter_rater.aggregate_raters(labels)
    assert fleiss_kappa(counts) == pytest.approx(inter_rater.fleiss_kappa(counts))


def test_table_counts_what_is_left_out():
    labels = pd.DataFrame(
        {
            "ann": ["l", "l", "r", "r", "l", None],
            "bob": ["l", "r", "r", "r", None, "l"],
            "cy": ["l", "l", "r", "l", "r", "r"],
        }
    )
    table = annotator_agreement(labels, draws=200).set_index(["first", "second", "measure"])
    one = table.loc[("ann", "bob", "agreement")]
    assert one[["estimate", "n", "n_excluded"]].tolist() == [0.75, 4, 2]
    # Of four: 3 agree; by chance 2/4 * 1/4 + 2/4 * 3/4 = 1/2.
    assert table.loc[("ann", "bob", "cohen_kappa"), "estimate"] == pytest.approx(0.5)
    every = table.loc[("all", "all", "fleiss_kappa")]
    # lll, lrl, rrr, rrl: 3, 1, 3, 1 of 3 pairs; l 6 and r 6 of 12.
    assert every["estimate"] == pytest.approx((2 / 3 - 1 / 2) / (1 / 2))
    assert every["lower"] < every["estimate"] < every["upper"]
    assert every["n"] == 4


def test_one_label_throughout_and_nobody_in_common():
    same = annotator_agreement(pd.DataFrame({"a": ["x"] * 3, "b": ["x"] * 3}), draws=9)
    rows = same.set_index("measure")
    assert rows.loc["agreement", "estimate"] == 1
    assert rows.loc["agreement", ["lower", "upper", "note"]].tolist() == [1, 1, ""]
    assert rows.loc["cohen_kappa", "note"].startswith("only one label")
    assert rows.loc["cohen_kappa", ["lower", "upper"]].isna().all()
    apart = annotator_agreement(pd.DataFrame({"a": ["x", None], "b": [None, "x"]}), draws=9)
    assert apart[["estimate", "lower", "upper"]].isna().all(axis=None)
    assert set(apart["note"]) == {"nothing was labelled by all of them"}
    with pytest.raises(UserError, match="two annotators"):
        annotator_agreement(pd.DataFrame({"a": ["x"]}))


LABELS = pd.DataFrame({"a": list("xyzxyzxx"), "b": list("xyyxzzxy")})


def test_the_interval_is_that_of_the_resamples_alone():
    """Of a single resample both bounds are its value, which is not that of the data."""
    found = annotator_agreement(LABELS, draws=1, seed=4)
    assert (found["lower"] == found["upper"]).all()
    assert (found["lower"] != found["estimate"]).all()


def test_the_level_is_that_asked_for():
    wide, narrow = (annotator_agreement(LABELS, draws=400, level=level) for level in (0.9, 0.5))
    assert set(wide["level"]) == {0.9}
    assert (wide["lower"] < narrow["lower"]).all()
    assert (narrow["upper"] < wide["upper"]).all()


def test_labels_may_be_numbers():
    """Of three that both labelled two agree; by chance 1/3 · 2/3 + 2/3 · 1/3 = 4/9."""
    labels = pd.DataFrame({"a": [1, 2, 2, 1], "b": [1, 2, 1, None]})
    found = annotator_agreement(labels, draws=5).set_index("measure")["estimate"]
    assert found["agreement"] == pytest.approx(2 / 3)
    assert found["cohen_kappa"] == pytest.approx((2 / 3 - 4 / 9) / (5 / 9))


@settings(max_examples=40)
@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), min_size=1, max_size=30))
def test_against_the_definition_and_relabelling(pairs):
    labels = pd.DataFrame(pairs, columns=["x", "y"])
    found = annotator_agreement(labels, draws=3).set_index("measure")["estimate"]
    agree = np.mean([x == y for x, y in pairs])
    chance = sum((labels["x"] == c).mean() * (labels["y"] == c).mean() for c in "abc")
    pooled = sum(((labels == c).to_numpy().mean()) ** 2 for c in "abc")
    if chance < 1 - 1e-12:
        assert found["cohen_kappa"] == pytest.approx((agree - chance) / (1 - chance))
    if pooled < 1 - 1e-12:
        # For two annotators Fleiss' kappa is Scott's pi.
        assert found["fleiss_kappa"] == pytest.approx((agree - pooled) / (1 - pooled))
    other = annotator_agreement(labels.replace({"a": "c", "c": "a"}), draws=3)
    assert other.set_index("measure")["estimate"].to_dict() == pytest.approx(
        found.to_dict(), nan_ok=True
    )


def test_published_annotations(shared_data):
    """Röttger et al.: two annotators of 100 open answers, almost always of one mind."""
    rows = pd.read_parquet(shared_data / "rottger" / "annot_agreement.parquet")
    labels = rows[["annot1_label", "annot2_label"]]
    table = annotator_agreement(labels, draws=500).set_index("measure")
    assert table.loc["cohen_kappa", "estimate"] == pytest.approx(
        table.loc["fleiss_kappa", "estimate"], abs=0.01
    )
    assert table.loc["cohen_kappa", "lower"] > 0.7
