import krippendorff
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from polbayes.errors import UserError
from polbayes.measures import krippendorff as module
from polbayes.measures.kappa import fleiss_kappa
from polbayes.measures.krippendorff import alpha_table, krippendorff_alpha

# The four observers and twelve units of Krippendorff (2011), section C, with gaps.
DATA = {
    "A": [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
    "B": [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
    "C": [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
    "D": [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
}


def counts_of(data, values=range(1, 6)):
    rows = zip(*data.values(), strict=True)
    return np.array([[row.count(v) for v in values] for row in map(list, rows)])


def test_published_values_with_gaps():
    """Krippendorff (2011), C: 0.743 nominal, 0.815 ordinal; unit 12 has one label only."""
    counts = counts_of(DATA)
    assert krippendorff_alpha(counts) == pytest.approx(0.743, abs=5e-4)
    assert krippendorff_alpha(counts, metric="ordinal") == pytest.approx(0.815, abs=5e-4)


def test_published_value_of_two_observers():
    """Krippendorff (2011), B: twelve items of five labels, alpha 0.692.

    Labels of the two: a 4, b 6, c 6, d 6, e 2 of 24; three items differ, so that alpha is
    1 - 23 * 6 / (24² - (16 + 36 + 36 + 36 + 4)) = 1 - 138 / 448.
    """
    first, second = "aabbdcccedda", "babbbccceddd"
    counts = np.array(
        [[pair.count(v) for v in "abcde"] for pair in map("".join, zip(first, second, strict=True))]
    )
    assert krippendorff_alpha(counts) == pytest.approx(1 - 138 / 448)


def test_by_hand():
    """Two annotators, three units: aa, bb, ab.

    Coincidences: aa 2, bb 2, ab 1, ba 1; n_a = n_b = 3. D_o = 2 / 6, D_e = 2 * 9 / 30:
    alpha = 1 - (1/3) / (3/5) = 4/9. With two labels the ordinal alpha is the same.
    """
    counts = np.array([[2, 0], [0, 2], [1, 1]])
    assert krippendorff_alpha(counts) == pytest.approx(4 / 9)
    assert krippendorff_alpha(counts, metric="ordinal") == pytest.approx(4 / 9)
    weighted = krippendorff_alpha(counts, np.array([[1, 1, 1], [1, 1, 0], [2, 0, 0]]))
    assert weighted[:2] == pytest.approx([4 / 9, 1])
    assert np.isnan(weighted[2])


def test_ordinal_by_hand():
    """Units xx, zz, xz, yy with x < y < z: n = (3, 2, 3).

    delta²(x, z) = (3/2 + 2 + 3/2)² = 25, delta²(x, y) = (3/2 + 1)² = delta²(y, z) = 25/4.
    Observed: xz and zx, 50. Expected: 2 (3·2·25/4 + 2·3·25/4 + 3·3·25) = 600.
    alpha = 1 - 7 · 50 / 600 = 5/12; nominal: 1 - 7 · 2 / (64 - 22) = 2/3.
    """
    counts = np.array([[2, 0, 0], [0, 0, 2], [1, 0, 1], [0, 2, 0]])
    assert krippendorff_alpha(counts, metric="ordinal") == pytest.approx(5 / 12)
    assert krippendorff_alpha(counts) == pytest.approx(2 / 3)


COUNTS = arrays(int, (8, 4), elements=st.integers(0, 3))


@pytest.mark.parametrize("metric", ["nominal", "ordinal"])
@settings(max_examples=60)
@given(COUNTS.filter(lambda counts: (counts[counts.sum(axis=1) > 1].sum(axis=0) > 0).sum() > 1))
def test_the_same_in_another_implementation(metric, counts):
    expected = krippendorff.alpha(value_counts=counts, level_of_measurement=metric)
    assert krippendorff_alpha(counts, metric=metric) == pytest.approx(expected)


def test_table_says_what_is_left_out():
    names = {-1: "disagree", 0: "neutral", 1: "agree", 9: "refused"}
    codes = {"ann": [1, 1, 0, -1, 9, -1, 1], "bob": [1, 0, 0, -1, 9, None, 9]}
    labels = pd.DataFrame({k: [names.get(v) for v in vs] for k, vs in codes.items()})
    order = ("disagree", "neutral", "agree")
    table = alpha_table(labels, order=order, draws=300).set_index("measure")
    nominal, ordinal = (table.loc[f"krippendorff_alpha_{m}"] for m in ("nominal", "ordinal"))
    # Refusals are not on the scale, so that the ordinal alpha rests on the first four units.
    assert (nominal["n"], nominal["n_excluded"]) == (6, 1)
    assert (ordinal["n"], ordinal["n_excluded"]) == (4, 3)
    assert nominal["lower"] <= nominal["estimate"] <= nominal["upper"] <= 1
    again = alpha_table(labels, order=order, draws=300).set_index("measure")
    pd.testing.assert_frame_equal(table, again)


def test_labels_may_be_numbers():
    numbers = pd.DataFrame({"a": [1, 2, 3, 1], "b": [1, 2, 2, None], "c": [3, 2, 3, 1]})
    texts = numbers.map(lambda x: {1: "p", 2: "q", 3: "r"}.get(x))
    expected = alpha_table(texts, draws=50)
    # The four units: pp r, qq q, rq r, p p.
    assert expected["estimate"].item() == pytest.approx(
        krippendorff_alpha(np.array([[2, 0, 1], [0, 3, 0], [0, 1, 2], [2, 0, 0]]))
    )
    found = alpha_table(numbers, draws=50)
    assert found["n"].item() == 4
    assert found["estimate"].item() == expected["estimate"].item()


LABELS = pd.DataFrame({"a": list("xyzxyzxx"), "b": list("xyyxzzxy")})


def test_the_interval_is_that_of_the_resamples_alone():
    """Of a single resample both bounds are its value, which is not that of the data."""
    found = alpha_table(LABELS, order="xyz", draws=1, seed=3)
    assert (found["lower"] == found["upper"]).all()
    assert (found["lower"] != found["estimate"]).all()


def test_the_level_is_that_asked_for():
    wide, narrow = (alpha_table(LABELS, draws=400, level=level) for level in (0.9, 0.5))
    assert wide["level"].tolist() == [0.9]
    assert (wide["lower"] < narrow["lower"]).all()
    assert (narrow["upper"] < wide["upper"]).all()


def test_how_many_resamples_are_worked_on_at_once_changes_nothing(monkeypatch):
    expected = alpha_table(LABELS, order="xyz", draws=7)
    monkeypatch.setattr(module, "_AT_ONCE", 3)
    pd.testing.assert_frame_equal(alpha_table(LABELS, order="xyz", draws=7), expected)


def test_nothing_to_compare():
    one = alpha_table(pd.DataFrame({"a": ["x", None], "b": [None, "x"]}), draws=9)
    assert one["note"].tolist() == ["no unit has two labels"]
    assert one[["estimate", "lower", "upper"]].isna().all(axis=None)
    same = alpha_table(pd.DataFrame({"a": ["x"] * 3, "b": ["x"] * 3}), draws=9)
    assert same["note"].iloc[0].startswith("only one label occurs")
    assert same[["estimate", "lower", "upper"]].isna().all(axis=None)
    assert alpha_table(pd.DataFrame({"a": [], "b": []}), draws=9)["n"].tolist() == [0]
    with pytest.raises(UserError, match="two annotators"):
        alpha_table(pd.DataFrame({"a": ["x"]}))


TABLES = st.lists(
    st.lists(st.sampled_from(["a", "b", "c", None]), min_size=3, max_size=3),
    min_size=1,
    max_size=20,
)


@settings(max_examples=60)
@given(TABLES, st.randoms(use_true_random=False))
def test_neither_names_nor_orders_matter(rows, random):
    labels = pd.DataFrame(rows, columns=list("xyz"), dtype=object)
    found = alpha_table(labels, order="abc", draws=5)["estimate"].to_numpy()
    shuffled = list(rows)
    random.shuffle(shuffled)
    moved = pd.DataFrame(shuffled, columns=list("xyz"), dtype=object)[["z", "x", "y"]]
    other = alpha_table(moved, order="abc", draws=5)["estimate"].to_numpy()
    np.testing.assert_allclose(other, found)
    swap = {"a": "c", "c": "a", "b": "b", None: None}
    renamed = pd.DataFrame([[swap[x] for x in row] for row in rows], dtype=object)
    # Turning the scale round changes the ordinal alpha as little as the nominal one.
    turned = alpha_table(renamed, order="abc", draws=5)["estimate"].to_numpy()
    np.testing.assert_allclose(turned, found)


@settings(max_examples=40)
@given(st.lists(st.lists(st.sampled_from("abc"), min_size=3, max_size=3), min_size=2, max_size=30))
def test_without_gaps_it_is_fleiss_corrected_for_size(rows):
    """D_e draws without replacement: 1 - alpha = (1 - kappa) (n - 1) / n with n labels."""
    counts = np.array([[row.count(v) for v in "abc"] for row in rows])
    alpha, kappa = krippendorff_alpha(counts), fleiss_kappa(counts)
    n = counts.sum()
    assert 1 - alpha == pytest.approx((1 - kappa) * (n - 1) / n, nan_ok=True)
