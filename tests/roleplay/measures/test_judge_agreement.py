import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polbayes.errors import UserError
from polbayes.measures.kappa import cohen_kappa, quadratic_kappa
from polbayes.roleplay.measures import judge_agreement, judge_icc
from polbayes.roleplay.measures.agreement import bin_scores


def test_quadratic_kappa_in_another_implementation():
    """cohen_kappa_score(a, b, weights="quadratic") of scikit-learn gives 0.7906976744186046."""
    a = [0, 1, 2, 3, 4, 4, 2, 1, 0, 3, 3, 2]
    b = [0, 2, 2, 3, 3, 4, 1, 1, 1, 4, 3, 0]
    table = np.zeros((5, 5))
    np.add.at(table, (a, b), 1)
    assert float(quadratic_kappa(table)) == pytest.approx(0.7906976744186046, abs=1e-12)


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=20))
def test_two_labels_have_no_degrees_of_disagreement(pairs):
    table = np.zeros((2, 2))
    np.add.at(table, tuple(np.array(pairs).T), 1)
    assert float(quadratic_kappa(table)) == pytest.approx(float(cohen_kappa(table)), nan_ok=True)


def test_bins_of_both_grids():
    """Borders of the published grid lie at -24 + 48/11 k: the middle bin is within 24/11."""
    scores = np.array([-100, -24, -2.2, -2.1, 0, 2.1, 2.2, 23.9, 24, 100])
    assert bin_scores(scores, 24).tolist() == [0, 0, 4, 5, 5, 5, 6, 10, 10, 10]
    assert bin_scores(scores, 100).tolist() == [0, 4, 5, 5, 5, 5, 5, 6, 6, 10]


def test_the_published_grid_hides_what_judges_disagree_on(rated):
    """Judge b halves what a gives; all scores lie beyond 24 points, on the same side for both."""
    a = np.array([-90.0, -60, 60, 90]).reshape(1, 4, 1, 1, 1)
    data = rated(np.stack([a, a / 2], axis=-1), judges=("a", "b"))
    table = judge_agreement(data, draws=50).set_index(["grid", "measure", "first"])
    published = table.loc[("published", "quadratic_kappa", "a")]
    assert published["estimate"] == 1
    assert table.loc[("published", "share_outer", "all"), "estimate"] == 1
    # Bins of a: 0, 2, 8, 10 and of b: 3, 3, 7, 7, both around 5. Mean squared difference
    # (9 + 1 + 1 + 9) / 4 = 5; by chance, with equal means, var a + var b = 17 + 4 = 21.
    scale = table.loc[("scale", "quadratic_kappa", "a")]
    assert scale["estimate"] == pytest.approx(1 - 5 / 21)
    # a is in an outer bin for two of four scenarios, b never.
    assert table.loc[("scale", "share_outer", "all"), "estimate"] == pytest.approx(1 / 4)
    # Variances of two: (45^2 / 2 + 30^2 / 2) / 2.
    assert table.loc[("", "variance", "all"), "estimate"] == pytest.approx((2025 + 900) / 4)
    assert (scale["n"], scale["n_scenarios"], scale["n_excluded"]) == (4 * 36, 4, 0)
    # No unit is in one bin for both judges, and chance would put some there.
    assert table.loc[("scale", "fleiss_kappa", "all"), "estimate"] < 0


def test_the_mean_over_pairs_of_judges(rated):
    a = np.array([-90.0, -60, 60, 90]).reshape(1, 4, 1, 1, 1)
    data = rated(np.stack([a, a, a / 2], axis=-1), judges=("a", "b", "c"))
    table = judge_agreement(data, draws=20).query("grid == 'scale'")
    found = table.query("measure == 'quadratic_kappa'").set_index(["first", "second"])["estimate"]
    assert found["a", "b"] == 1
    assert found["all", "all"] == pytest.approx((1 + 2 * (1 - 5 / 21)) / 3)


def test_incomplete_units_and_wordings(rated):
    a = np.array([-90.0, 90]).reshape(1, 2, 1, 1, 1)
    data = rated(np.stack([a, a], axis=-1), judges=("a", "b"))
    data["rating"] = data["rating"].copy()
    data["rating"][0, 0, 0, 0, 0, 0, 3] = np.nan
    data["rating"][0, 0, 0, 1, 0] = np.nan
    row = judge_agreement(data, draws=5).iloc[0]
    # One unit lacks a judge; nobody has rated another, which says nothing of agreement.
    assert (row["n"], row["n_excluded"]) == (70, 1)
    row = judge_agreement(data, wordings=("original",), draws=5).iloc[0]
    assert (row["n"], row["n_excluded"]) == (23, 1)
    with pytest.raises(UserError, match="unknown wording 'og'"):
        judge_agreement(data, wordings=("og",))
    with pytest.raises(UserError, match="at least two judges"):
        judge_agreement(data.isel(judge=[0]))


def test_judges_who_give_one_score_and_judges_who_give_none(rated):
    same = judge_agreement(rated(np.zeros((1, 2, 1, 1, 1, 2)), judges=("a", "b")), draws=5)
    kappas = same[same["measure"].str.endswith("kappa")]
    assert kappas["note"].str.startswith("all fall into one bin").all()
    nothing = rated(np.full((1, 2, 1, 1, 1, 2), np.nan), judges=("a", "b"))
    assert judge_agreement(nothing, draws=5)["estimate"].isna().all()


def test_intraclass_correlations_of_severe_judges(rated):
    """Judge b is 20 points more liberal throughout: consistent, and not in absolute agreement."""
    a = np.linspace(-60, 60, 5).reshape(1, 5, 1, 1, 1)
    data = rated(np.stack([a, a + 20], axis=-1), judges=("a", "b"))
    found = judge_icc(data).set_index(["rated", "form"])["estimate"]
    assert found["alignment", "ICC(3,1)"] == pytest.approx(1)
    assert found["alignment", "ICC(2,1)"] < 1
    assert found["egalitarianism", "ICC(3,1)"] == pytest.approx(1)
    assert np.isnan(found["commitment", "ICC(3,1)"])
