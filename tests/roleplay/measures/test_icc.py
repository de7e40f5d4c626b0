import numpy as np
import pandas as pd
import pingouin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from polbayes.errors import UserError
from polbayes.roleplay.measures.icc import FORMS, intraclass_correlations

# Shrout and Fleiss (1979), Table 2.
SIX_BY_FOUR = np.array(
    [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], float
)


def test_the_published_example():
    """Shrout and Fleiss, Table 4: .17, .29, .71, .44, .62, .91."""
    table = intraclass_correlations(SIX_BY_FOUR)
    assert table["form"].tolist() == list(FORMS)
    np.testing.assert_allclose(table["estimate"], [0.17, 0.29, 0.71, 0.44, 0.62, 0.91], atol=0.005)
    assert (table["n"] == 6).all()
    assert (table["n_judges"] == 4).all()


def _varies(ratings):
    """Tell whether the ratings vary by thing, by judge, and by what neither explains."""
    by_thing = ratings.mean(axis=1, keepdims=True)
    by_judge = ratings.mean(axis=0, keepdims=True)
    left = ratings - by_thing - by_judge
    return min(np.ptp(by_thing), np.ptp(by_judge), np.ptp(left)) > 0.1


RATINGS = arrays(float, (7, 3), elements=st.integers(0, 20).map(float))


@pytest.mark.filterwarnings("ignore:The inplace keyword")
@settings(max_examples=10)
@given(RATINGS.filter(_varies))
def test_the_same_in_another_implementation(ratings):
    long = pd.DataFrame(ratings).reset_index().melt("index")
    expected = pingouin.intraclass_corr(long, "index", "variable", "value")
    table = intraclass_correlations(ratings)
    np.testing.assert_allclose(table["estimate"], expected["ICC"], atol=1e-9)
    bounds = np.stack(expected["CI95"])
    # Pingouin rounds them to two decimals.
    np.testing.assert_allclose(table[["lower", "upper"]], bounds, atol=0.0051)


@settings(max_examples=30)
@given(RATINGS, st.floats(-5, 5), st.floats(0.1, 5))
def test_severity_and_units_of_measurement(ratings, severity, scale):
    """Consistency ignores a judge's severity; nothing hangs on the unit or the zero."""
    found = intraclass_correlations(ratings).set_index("form")["estimate"]
    moved = intraclass_correlations(ratings + np.array([0, 0, severity])).set_index("form")
    for form in ("ICC(3,1)", "ICC(3,k)"):
        assert moved.loc[form, "estimate"] == pytest.approx(found[form], abs=1e-6, nan_ok=True)
    scaled = intraclass_correlations(3 + scale * ratings)["estimate"]
    np.testing.assert_allclose(scaled, found, atol=1e-6)


def test_missing_ratings_and_what_does_not_vary():
    gaps = np.vstack([SIX_BY_FOUR, [[1, np.nan, 2, 3]]])
    table = intraclass_correlations(gaps)
    assert table["estimate"].tolist() == intraclass_correlations(SIX_BY_FOUR)["estimate"].tolist()
    assert set(table["n_excluded"]) == {1}
    assert intraclass_correlations(np.full((4, 2), 3.0))["note"].eq("nothing varies").all()
    assert intraclass_correlations(np.full((1, 2), 3.0))["estimate"].isna().all()
    assert intraclass_correlations(np.empty((0, 2)))["estimate"].isna().all()
    perfect = intraclass_correlations(np.array([[1, 1], [2, 2], [4, 4]], float))
    assert perfect["estimate"].tolist() == [1] * 6
    assert perfect["note"].str.contains("mean square").all()


def test_settings_out_of_range_are_refused():
    with pytest.raises(UserError, match="at least two judges"):
        intraclass_correlations(SIX_BY_FOUR[:, :1])
    with pytest.raises(UserError, match="between 0 and 1"):
        intraclass_correlations(SIX_BY_FOUR, level=1.0)


@pytest.fixture(scope="module")
def swissbench(shared_data):
    folder = shared_data / "swissbench"
    return pd.read_parquet(folder / "judge_scores.parquet"), pd.read_parquet(
        folder / "scores.parquet"
    )


def test_published_means_of_judges_are_reproduced(swissbench):
    """Judges do not count for themselves: the published means, by answer and by month."""
    scores, published = swissbench
    keys = ["month", "model", "item_id"]
    worst = 0.0
    months = {}
    for month, rows in scores.groupby("month"):
        given = rows.set_index([*keys[1:], "judge"])["score"].to_xarray()
        weights = (given["model"] != given["judge"]) * given.notnull()
        means = (given.fillna(0.0) * weights).sum("judge") / weights.sum("judge")
        expected = (
            published[published["month"] == month]
            .set_index(keys[1:])["weighted_score"]
            .to_xarray()
            .reindex_like(means)
        )
        worst = max(worst, float(abs(means - expected).max()))
        months[month] = (means.mean("item_id").to_series(), expected.mean("item_id").to_series())
    # Published to four decimals.
    assert worst < 5.1e-5
    for found, expected in months.values():
        np.testing.assert_allclose(found, expected, atol=5e-5)


def test_judges_of_a_published_study_agree(swissbench):
    """Its month by month ICC(2,1) lies between .92 and .95."""
    scores, _ = swissbench
    for _, rows in scores.groupby("month"):
        table = rows.pivot_table(index=["model", "item_id"], columns="judge", values="score")
        found = intraclass_correlations(table.to_numpy()).set_index("form")
        assert 0.915 < found.loc["ICC(2,1)", "estimate"] < 0.955
        assert found.loc["ICC(2,1)", "lower"] < found.loc["ICC(2,1)", "estimate"]
        assert found.loc["ICC(2,1)", "n"] + found.loc["ICC(2,1)", "n_excluded"] == 320
