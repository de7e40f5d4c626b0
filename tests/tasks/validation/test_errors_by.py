import numpy as np
import pytest

from polbayes.measures.resampling import Bootstrap
from polbayes.report.keying_errors import keying_sentences
from polbayes.tasks.validation.errors_by import errors_table, keying_table, newcombe

A, D, N, U = "agree", "disagree", "neutral", "unrelated"


def test_newcombe_against_his_own_example():
    """Newcombe (1998), Table II, method 10: 56/70 - 48/80 has (0.0524, 0.3339)."""
    assert newcombe((56, 70), (48, 80), 0.95) == pytest.approx((0.2, 0.0524, 0.3339), abs=5e-5)
    # And 0/10 - 0/20: (-0.1611, 0.2775).
    assert newcombe((0, 10), (0, 20), 0.95) == pytest.approx((0, -0.1611, 0.2775), abs=5e-5)
    assert np.isnan(newcombe((0, 0), (1, 2), 0.95)).all()


def test_errors_by_group(reading, few):
    coded = reading(
        [A, A, D, D],
        [A, D, D, None],
        groups={"model": ["m", "m", "m", "n"], "prefix": ["p", "q", "q", "q"]},
        keying=[1, 1, -1, 0],
    )
    table = errors_table(coded, few).set_index(["group", "value", "measure"])
    assert table.loc[("model", "m", "error_rate"), "estimate"] == pytest.approx(1 / 3)
    assert table.loc[("model", "n", "share_not_coded"), "estimate"] == 1
    assert table.loc[("model", "n", "error_rate"), "n"] == 0
    assert table.loc[("prefix", "q", "error_rate"), "count"] == 1
    assert table.loc[("keying", "right", "error_rate"), "estimate"] == pytest.approx(1 / 2)
    assert table.loc[("keying", "none", "share_not_coded"), "estimate"] == 1


def test_bias_and_its_shift_by_hand(reading, few):
    """Right-keyed: labels A A D U, codes A D D A; left-keyed: A D, codes A and none.

    Net agreement by labels: right (1 + 1 - 1) / 3, left 0; bias 1/6.
    By codes: right (1 - 1 - 1 + 1) / 4 = 0, left 1; bias -1/2; shift -2/3.
    """
    coded = reading([A, A, D, U, A, D], [A, D, D, A, A, None], keying=[1, 1, 1, 1, -1, -1])
    table = keying_table(coded, few).set_index("measure")
    assert table.loc["bias_labels", "estimate"] == pytest.approx(1 / 6)
    assert table.loc["bias_coded", "estimate"] == pytest.approx(-1 / 2)
    assert table.loc["bias_shift", "estimate"] == pytest.approx(-2 / 3)
    assert table.loc["error_rate_difference", "estimate"] == pytest.approx(2 / 4 - 0 / 1)
    assert table.loc["not_coded_difference", "estimate"] == pytest.approx(0 / 4 - 1 / 2)
    assert table.loc["bias_shift", "interval"] == "bootstrap of answers"


def sided(reading, flipped, *, n=60, seed=1):
    """Answers to statements of either side, of which a coder turns a share round on the right."""
    rng = np.random.default_rng(seed)
    keying = np.tile([1, -1], n)
    labels = rng.choice([A, D], size=2 * n)
    turned = (keying == 1) & (labels == A) & (rng.random(2 * n) < flipped)
    return reading(
        labels,
        np.where(turned, D, labels),
        keying=keying,
        items=[f"q{k // 4}" for k in range(2 * n)],
    )


def test_a_coder_that_errs_on_one_side_is_warned_of(reading, few):
    table = keying_table(sided(reading, 0.5), few)
    ((name, sentence),) = keying_sentences(table)
    assert name == "made up:"
    assert sentence.startswith("Warning: ")
    assert "to the left by" in sentence
    assert "right-keyed statements are coded wrongly more often than those to left" in sentence
    rows = table.set_index("measure")
    # A quarter of the right-keyed answers turned moves the net agreement there by a half.
    assert rows.loc["bias_shift", "lower"] < -0.25 < rows.loc["bias_shift", "upper"] < 0
    assert rows.loc["bias_shift", "interval"] == "bootstrap of items"


def test_no_difference_is_no_warning(reading, few):
    ((_, sentence),) = keying_sentences(keying_table(sided(reading, 0.0), few))
    assert sentence.startswith("No difference between the sides was found")
    assert "no error was seen" in sentence


def test_sides_exchanged_change_the_sign(reading):
    bootstrap = Bootstrap(300, 0.95, 1)
    coded = sided(reading, 0.4)
    other = reading(
        [["disagree", "neutral", "agree"][k] for k in coded.answers.labels],
        [["disagree", "neutral", "agree"][k] for k in coded.coded_as],
        keying=-coded.answers.keying,
    )
    one, two = (keying_table(c, bootstrap).set_index("measure") for c in (coded, other))
    for name in ("bias_labels", "bias_shift", "error_rate_difference"):
        assert one.loc[name, "estimate"] == pytest.approx(-two.loc[name, "estimate"])


def test_items_are_resampled_as_wholes(reading):
    """Ten answers of every item alike: the interval is that of items, about √10 as wide."""
    rng = np.random.default_rng(2)
    wrong = np.repeat(rng.random(40) < 0.3, 10)
    labels = np.where(np.repeat(rng.random(40) < 0.5, 10), A, D)
    codes = np.where(wrong, N, labels)
    keying = np.repeat(np.tile([1, -1], 20), 10)
    items = np.repeat([f"q{k}" for k in range(40)], 10)
    how = Bootstrap(2000, 0.95, 1)
    by_item, by_answer = (
        keying_table(reading(labels, codes, keying=keying, items=i), how).set_index("measure")
        for i in (items, None)
    )
    widths = [
        t.loc["bias_labels", "upper"] - t.loc["bias_labels", "lower"] for t in (by_item, by_answer)
    ]
    assert widths[0] / widths[1] == pytest.approx(10**0.5, rel=0.15)


def test_where_there_is_nothing_to_compare(reading, few):
    assert keying_table(reading([A, D], [A, D]), few) is None
    assert keying_table(reading([A, D], [A, D], keying=[1, 0]), few) is None
    merged = reading(["x", D], [A, D], keying=[1, -1], merge={"x": [A, N]})
    table = keying_table(merged, few).set_index("measure")
    assert table.loc["bias_shift", "note"].startswith("the classes do not tell agreeing")
    silent = keying_table(reading([A, D], [None, D], keying=[1, -1]), few)
    ((_, sentence),) = keying_sentences(silent)
    assert sentence.startswith("No answer of one side was coded")
