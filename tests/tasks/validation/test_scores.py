import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polbayes.data.dataset import STANCE_CLASSES
from polbayes.measures.resampling import Bootstrap, wilson
from polbayes.tasks.validation.scores import confusion, f1_scores, macro_f1, score_table

A, D, N, U, R = "agree", "disagree", "neutral", "unrelated", "refused"
#        label: 4 agree, 3 disagree, 2 neutral, 1 refused; two are not coded.
LABELS = [A, A, A, A, D, D, D, N, N, R]
CODES = [A, A, D, None, D, D, A, N, None, U]


def rows(table):
    return table.set_index(["measure", "label", "answers"])


def test_counts(reading):
    counts = confusion(reading(LABELS, CODES))
    # Classes are disagree, neutral, agree, unrelated, refused, and not coded.
    assert counts.tolist() == [
        [2, 0, 1, 0, 0, 0],
        [0, 1, 0, 0, 0, 1],
        [1, 0, 2, 0, 0, 1],
        [0, 0, 0, 0, 0, 0],
        [0, 0, 0, 1, 0, 0],
    ]


def test_every_score_by_hand(reading, few):
    table = rows(score_table(reading(LABELS, CODES), few))
    found = table["estimate"]
    assert found["share_coded", "", "all"] == pytest.approx(8 / 10)
    assert found["accuracy", "", "coded"] == pytest.approx(5 / 8)
    assert found["accuracy", "", "all"] == pytest.approx(5 / 10)
    assert found["precision", A, "coded"] == pytest.approx(2 / 3)
    assert found["recall", A, "coded"] == pytest.approx(2 / 3)
    assert found["recall", A, "all"] == pytest.approx(2 / 4)
    assert found["f1", A, "coded"] == pytest.approx(2 / 3)
    assert found["f1", A, "all"] == pytest.approx(4 / 7)
    assert found["f1", N, "all"] == pytest.approx(2 / 3)
    assert found["f1", D, "all"] == pytest.approx(2 / 3)
    # Of four labels that occur; nobody labelled "unrelated".
    assert found["macro_f1", "", "coded"] == pytest.approx((2 / 3 + 2 / 3 + 1 + 0) / 4)
    assert found["macro_f1", "", "all"] == pytest.approx((2 / 3 + 2 / 3 + 4 / 7 + 0) / 4)
    # Labels 3 1 3 0 1, codes 3 1 3 1 0 of 8: chance 9 + 1 + 9 of 64.
    assert found["cohen_kappa", "", "coded"] == pytest.approx((5 / 8 - 19 / 64) / (45 / 64))
    assert np.isnan(found["f1", U, "coded"])
    assert table.loc[("recall", U, "all"), "note"] == "no such answer has this label"
    assert found["precision", U, "coded"] == 0
    assert table.loc[("precision", R, "coded"), "note"] == "no answer was coded as this"


def test_intervals(reading, few):
    table = rows(score_table(reading(LABELS, CODES), few))
    share = table.loc[("recall", A, "all")]
    assert (share["lower"], share["upper"]) == pytest.approx(wilson(2, 4, 0.95))
    assert share["interval"] == "wilson"
    # Agree is labelled or coded 4 + 3 - 2 times: F1 = 2 J / (1 + J) with J = 2 / 5.
    low, high = wilson(2, 5, 0.95)
    f1 = table.loc[("f1", A, "all")]
    assert (f1["lower"], f1["upper"]) == pytest.approx((2 * low / (1 + low), 2 * high / (1 + high)))
    macro = table.loc[("macro_f1", "", "all")]
    assert macro["lower"] < macro["estimate"] < macro["upper"]


def test_without_an_error_no_interval_is_made_up(reading, few):
    table = rows(score_table(reading([A, D, D], [A, D, D]), few))
    assert table.loc[("macro_f1", "", "coded"), "estimate"] == 1
    assert np.isnan(table.loc[("macro_f1", "", "coded"), "lower"])
    assert "no answer was coded wrongly" in table.loc[("cohen_kappa", "", "coded"), "note"]
    assert table.loc[("f1", A, "coded"), "lower"] < 0.5


def test_a_coder_that_abstains_throughout(reading, few):
    table = rows(score_table(reading([A, D], [None, None]), few))
    assert table.loc[("share_coded", "", "all"), "estimate"] == 0
    assert table.loc[("accuracy", "", "coded"), "note"] == "no answer was coded"
    assert np.isnan(table.loc[("macro_f1", "", "coded"), "estimate"])
    assert table.loc[("macro_f1", "", "all"), "estimate"] == 0


def test_merged_classes(reading, few):
    merged = reading(["other", A, "other"], [N, R, A], merge={"other": [N, U, R]}, confidence=0.6)
    assert confusion(merged).tolist() == [[0, 0, 0, 0], [0, 1, 1, 0], [0, 1, 0, 0]]
    # Of what is not its class, 0.4, two of four parts belong to the merged class too.
    assert merged.confidence == pytest.approx([0.8, 0.8, 0.6])


def test_intervals_of_f1_cover(reading):
    """F1 of a coder whose true F1 is known, in 400 samples of 60 answers."""
    rng = np.random.default_rng(3)
    cells = np.array([[0.35, 0.05], [0.1, 0.5]])
    truth = 2 * 0.35 / (2 * 0.35 + 0.15)
    covered = 0
    for _ in range(400):
        hits, missed, wrong, _ = rng.multinomial(60, cells.ravel())
        low, high = (2 * j / (1 + j) for j in wilson(hits, hits + missed + wrong, 0.9))
        covered += low <= truth <= high
    assert 0.86 <= covered / 400 <= 0.94


CELLS = st.lists(
    st.tuples(st.sampled_from(STANCE_CLASSES), st.sampled_from([*STANCE_CLASSES, None])),
    min_size=1,
    max_size=25,
)


@settings(max_examples=40)
@given(CELLS, st.permutations(STANCE_CLASSES), st.randoms(use_true_random=False))
def test_neither_the_order_of_answers_nor_the_names_of_classes_matter(
    reading, cells, names, random
):
    counts = confusion(reading(*zip(*cells, strict=True)))
    again = list(cells)
    random.shuffle(again)
    assert (confusion(reading(*zip(*again, strict=True))) == counts).all()
    new = {**dict(zip(STANCE_CLASSES, names, strict=True)), None: None}
    renamed = confusion(reading([new[a] for a, _ in cells], [new[b] for _, b in cells]))
    assert macro_f1(renamed) == pytest.approx(macro_f1(counts))
    at = [STANCE_CLASSES.index(name) for name in names]
    np.testing.assert_allclose(f1_scores(renamed)[at], f1_scores(counts))


def test_seed_fixes_the_intervals(reading):
    one, two, other = (
        score_table(reading(LABELS, CODES), Bootstrap(200, 0.95, seed)) for seed in (1, 1, 2)
    )
    assert one.equals(two)
    assert not one.equals(other)
