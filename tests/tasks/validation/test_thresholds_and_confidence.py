import numpy as np
import pytest

from polbayes.measures.resampling import Bootstrap, generator, wilson
from polbayes.tasks.validation.coded import tempered
from polbayes.tasks.validation.confidence import (
    bin_of,
    calibration_error,
    calibration_rows,
    calibration_table,
    curve_table,
)
from polbayes.tasks.validation.temperature import fit_temperature, log_loss, temperature_table
from polbayes.tasks.validation.thresholds import threshold_table

A, D, N = "agree", "disagree", "neutral"


def test_thresholds_by_hand(reading, few):
    """At 0.5 all four coded answers are kept, at 0.7 three, at 0.9 two, at 0.95 none."""
    coded = reading([A, A, D, D, D], [A, D, D, D, None], confidence=[0.9, 0.7, 0.6, 0.9, 0.9])
    table = threshold_table(coded, few, [0.5, 0.7, 0.9, 0.95, 0.9])
    wide = table.pivot(index="threshold", columns="measure", values="estimate")
    assert wide["share_kept"].tolist() == pytest.approx([4 / 5, 3 / 5, 2 / 5, 0])
    # All four: agree 2/3, disagree 4/5. Without the third: agree 2/3, disagree 2/3.
    assert wide["macro_f1"].tolist()[:3] == pytest.approx([(2 / 3 + 4 / 5) / 2, 2 / 3, 1])
    assert np.isnan(wide["macro_f1"].iloc[3])
    kept = table[(table["measure"] == "share_kept") & (table["threshold"] == 0.7)].iloc[0]
    assert (kept["lower"], kept["upper"]) == pytest.approx(wilson(3, 5, 0.95))


def test_fewer_are_kept_the_more_is_asked_for(reading, few):
    rng = np.random.default_rng(1)
    names = rng.choice([A, D, N], size=80)
    coded = reading(names, np.where(rng.random(80) < 0.7, names, A), confidence=rng.random(80))
    table = threshold_table(coded, few)
    kept = table.loc[table["measure"] == "share_kept", "estimate"]
    assert (np.diff(kept) <= 0).all()


def test_bins_hold_their_upper_end():
    assert bin_of(np.array([0.0, 0.1, 0.1000001, 0.7, 0.70001, 1.0]), 10).tolist() == [
        *(0, 0, 1, 6, 7, 9)
    ]


def test_calibration_by_hand(reading, few):
    """Bin (0.5, 0.6]: 2 of 4 right, sure 0.6; bin (0.8, 0.9]: 5 of 6 right, sure 0.9.

    Gaps 0.1 and 0.9 - 5/6: error (4 * 0.1 + 6 * 0.0667) / 10 = 0.08.
    """
    codes = [A, A, D, D, *[A] * 5, D]
    coded = reading([A] * 10, codes, confidence=[0.6] * 4 + [0.9] * 6)
    curve = curve_table(coded, few)
    assert curve["n"].tolist() == [4, 6]
    assert curve["confidence"].tolist() == pytest.approx([0.6, 0.9])
    assert curve["estimate"].tolist() == pytest.approx([1 / 2, 5 / 6])
    assert curve["low"].tolist() == pytest.approx([0.5, 0.8])
    table = calibration_table(coded, few).set_index("measure")
    assert table.loc["ece", "estimate"] == pytest.approx(0.08)
    assert table.loc["overconfidence", "estimate"] == pytest.approx((4 * 0.6 + 6 * 0.9 - 7) / 10)


def test_what_a_calibrated_coder_has_by_chance():
    """100 answers at 0.8 in one bin: |binomial - 80| / 100 has the mean 0.0319 (by its sum)."""
    from scipy.stats import binom

    k = np.arange(101)
    exact = (np.abs(k - 80) / 100 * binom.pmf(k, 100, 0.8)).sum()
    right = np.repeat([1.0, 0.0], [80, 20])
    rows = calibration_rows(np.full(100, 0.8), right, Bootstrap(500, 0.95, 1), 10)
    found = {row["measure"]: row for row in rows}
    # 2,000 draws of a spread of 0.024 know their mean to 0.0005.
    assert found["ece_if_calibrated"]["estimate"] == pytest.approx(exact, abs=0.0025)
    assert found["ece"]["estimate"] == pytest.approx(0)
    assert np.isnan(calibration_error(np.array([]), np.array([]), 10))


def test_tempered():
    """(1/2, 1/4, 1/4) at T = 1/2 is (4, 1, 1) / 6; at T = 2 it is (√2, 1, 1) / (2 + √2)."""
    probs = np.array([0.5, 0.25, 0.25])
    assert tempered(probs, 0.5) == pytest.approx([4 / 6, 1 / 6, 1 / 6])
    assert tempered(probs, 2.0) == pytest.approx(np.array([2**0.5, 1, 1]) / (2 + 2**0.5))
    assert tempered(np.array([1.0, 0.0, 0.0]), 3.0).sum() == pytest.approx(1)


def test_temperature_by_hand(reading):
    """Sure 0.9 (others 0.025), right 3 of 4 times: fitted, it is sure 3/4.

    36^(1/T) = 4 p / (1 - p) = 12, so that T = log 36 / log 12.
    """
    coded = reading([A] * 40, [A, A, A, D] * 10, confidence=0.9)
    fit = fit_temperature(coded.probs, coded.answers, np.arange(40), 0.95)
    assert fit.value == pytest.approx(np.log(36) / np.log(12), rel=1e-3)
    assert fit.lower < fit.value < fit.upper
    assert not fit.at_end
    # The ends are where the log-likelihood is 1.92 below its highest, to a step of the grid.
    labels = coded.answers.labels
    least = log_loss(coded.probs, labels, coded.answers, fit.value).sum()
    for end in (fit.lower, fit.upper):
        drop = log_loss(coded.probs, labels, coded.answers, end).sum() - least
        assert 1.4 < drop <= 1.93


def test_scaling_is_tried_on_the_other_half(reading):
    rng = np.random.default_rng(5)
    names = rng.choice([A, D], size=600)
    codes = np.where(rng.random(600) < 0.7, names, np.where(names == A, D, A))
    coded = reading(names, codes, confidence=0.97)
    table = temperature_table(coded, Bootstrap(300, 0.95, 1)).set_index("measure")
    # Fitted, it is as sure as its half is right: (4 * 0.97 / 0.03)^(1/T) = 4 p / (1 - p).
    half = generator(1, "held out").permutation(600)[:300]
    p = (names == codes)[half].mean()
    wanted = np.log(4 * 0.97 / 0.03) / np.log(4 * p / (1 - p))
    assert table.loc["temperature", "estimate"] == pytest.approx(wanted, rel=1e-3)
    assert table.loc["log_loss_change", "upper"] < 0
    assert table.loc["ece_scaled", "estimate"] < 0.1 < table.loc["ece", "estimate"]
    assert (table["n"] == 300).all()
    again = temperature_table(coded, Bootstrap(300, 0.95, 1)).set_index("measure")
    assert again.equals(table)
    other = temperature_table(coded, Bootstrap(300, 0.95, 2)).set_index("measure")
    assert other.loc["ece", "estimate"] != table.loc["ece", "estimate"]


def test_too_few_answers_or_no_error(reading, few):
    table = temperature_table(reading([A, D], [A, D]), few)
    assert table["estimate"].isna().all()
    assert set(table["note"]) == {"fewer than 10 coded answers in a half"}
    table = temperature_table(reading([A] * 40, [A] * 40), few).set_index("measure")
    assert table.loc["temperature", "note"].startswith("at the end")
    assert np.isnan(table.loc["log_loss_change", "lower"])
