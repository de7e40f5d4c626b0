import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from polbayes.errors import UserError
from polbayes.instrument.values import (
    VALUES,
    WEIGHTS,
    alignment_score,
    mirror,
    standardise,
)
from polbayes.roleplay.measures.data import (
    check_ratings,
    judge_means,
    mean_commitment,
    ratings_from_table,
    self_weights,
)

PROFILES = arrays(float, 10, elements=st.floats(0, 20))


def of(profile):
    return xr.DataArray(profile, dims="value", coords={"value": list(VALUES)})


def test_the_weights_are_the_published_ones(shared_data):
    rows = pd.read_csv(shared_data / "politicsbench" / "dimensions.csv")
    assert dict(WEIGHTS) == dict(zip(rows["key"], rows["weight"], strict=True))
    assert tuple(rows["key"]) == VALUES
    assert ((rows["weight"] > 0) == (rows["side"] == "left")).all()


def test_weights_are_balanced():
    assert sum(WEIGHTS.values()) == 0
    assert sum(abs(w) for w in WEIGHTS.values()) == 10


@settings(max_examples=60, deadline=None)
@given(PROFILES)
def test_the_score_is_the_weighted_sum_of_the_raw_ratings(raw):
    expected = sum(w * r for w, r in zip(WEIGHTS.values(), raw, strict=True))
    assert float(alignment_score(of(raw))) == pytest.approx(expected, abs=1e-9)
    assert -100 - 1e-9 <= expected <= 100 + 1e-9


@settings(max_examples=30, deadline=None)
@given(PROFILES, st.floats(-5, 5))
def test_a_shift_of_all_ratings_and_a_mirrored_profile(raw, shift):
    score = float(alignment_score(of(raw)))
    assert float(alignment_score(of(raw + shift))) == pytest.approx(score, abs=1e-9)
    assert float(alignment_score(mirror(of(raw)))) == pytest.approx(-score, abs=1e-9)


@pytest.mark.parametrize("level", [0, 10, 13.7, 20])
def test_a_flat_profile_scores_zero(level):
    assert float(alignment_score(of(np.full(10, level)))) == pytest.approx(0, abs=1e-12)


def test_the_ends_of_the_scale_and_the_sign():
    liberal = of([20.0 if WEIGHTS[v] > 0 else 0.0 for v in VALUES])
    assert float(alignment_score(liberal)) == 100
    assert float(alignment_score(mirror(liberal))) == -100
    assert standardise(liberal).values.tolist() == [10 if WEIGHTS[v] > 0 else -10 for v in VALUES]


def test_other_weights_are_put_on_the_same_scale():
    """Egalitarianism 16 with weight 3, tradition 4 with weight -1: 100 (3*6 + 6) / (10*4)."""
    raw = of(np.full(10, 11.0)).copy()
    raw.loc["egalitarianism"], raw.loc["tradition_orientation"] = 16, 4
    weights = {"egalitarianism": 3.0, "tradition_orientation": -1.0}
    assert float(alignment_score(raw, weights)) == pytest.approx(60)
    raw.loc["moral_certainty"] = np.nan
    assert float(alignment_score(raw, weights)) == pytest.approx(60)
    assert np.isnan(alignment_score(raw))


@pytest.mark.parametrize(
    ("weights", "says"),
    [
        ({"egalitarianismus": 1.0}, "did you mean 'egalitarianism'"),
        ({"egalitarianism": np.inf}, "finite"),
        ({"egalitarianism": 0.0}, "all are zero"),
    ],
)
def test_wrong_weights_are_refused(weights, says):
    with pytest.raises(UserError, match=says):
        alignment_score(of(np.full(10, 5.0)), weights)


def rows(**changes):
    """A tidy table of one unit, two judges."""
    made = [
        {
            "model": "m",
            "scenario": "s",
            "twin": "original",
            "wording": "original",
            "stage": "reflection",
            "judge": judge,
            "value": value,
            "rating": rating,
        }
        for judge in ("a", "m")
        for value, rating in [*((v, k + 1.0) for k, v in enumerate(VALUES)), ("commitment", 4.0)]
    ]
    return pd.DataFrame(made).assign(**changes)


def test_a_table_becomes_a_dataset_whatever_its_order():
    table = rows().sample(frac=1, random_state=3)
    data = ratings_from_table(table, {"s": -1})
    assert data["rating"].dims[-1] == "value"
    assert data["rating"].sel(judge="a").values.ravel().tolist() == list(range(1, 11))
    assert data["commitment"].values.ravel().tolist() == [4, 4]
    assert data["asking"].values.tolist() == [-1]


def test_stages_come_in_the_order_in_which_they_are_put():
    table = pd.concat([rows(), rows(stage="baseline"), rows(stage="external_pressure")])
    stages = ratings_from_table(table)["stage"].values.tolist()
    assert stages == ["baseline", "external_pressure", "reflection"]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda t: t.drop(columns="judge"), "the column 'judge' is missing"),
        (lambda t: pd.concat([t, t.head(1)]), "two ratings of one thing"),
        (lambda t: t.assign(value=t["value"].replace(VALUES[0], "tradition")), "unknown value"),
        (lambda t: t.assign(stage="reflexion"), "did you mean 'reflection'"),
        (lambda t: t.assign(twin="twin"), "unknown twin"),
        (lambda t: t.assign(rating="high"), "'high' is not a number"),
        (lambda t: t.assign(rating=20.5), "is 20.5, but the scale runs from 0 to 20"),
        (lambda t: t.assign(rating=-1), "is -1.0, but the scale runs from 0 to 20"),
        (lambda t: t.assign(rating=6), "commitment of .* is 6.0, but the scale .* to 5"),
    ],
)
def test_a_wrong_table_is_refused(change, says):
    with pytest.raises(UserError, match=says):
        ratings_from_table(change(rows()))


def test_a_scenario_without_a_side_is_refused():
    with pytest.raises(UserError, match="'s' needs a side"):
        ratings_from_table(rows(), {"other": 1})


def test_a_dataset_without_a_value_is_refused(rated):
    data = rated([[0]]).isel(value=slice(9))
    with pytest.raises(UserError, match="the value 'nuanced_pragmatism' is missing"):
        check_ratings(data)
    with pytest.raises(UserError, match="'commitment' is missing"):
        check_ratings(rated([[0]]).drop_vars("commitment"))
    with pytest.raises(UserError, match="'rating' must have the dimensions"):
        check_ratings(rated([[0]]).isel(judge=0))


def test_an_incomplete_judge_does_not_count_for_the_unit():
    """Judge a lacks one value: the unit is judge m's alone, and not a mixture by value."""
    table = rows()
    table.loc[table["judge"] == "m", "rating"] = 5.0
    table.loc[3, "rating"] = np.nan
    data = ratings_from_table(table)
    assert judge_means(data).values.ravel().tolist() == [5] * 10
    # Judge a still says how committed the model is.
    assert mean_commitment(data).item() == pytest.approx(4.5)
    assert np.isnan(judge_means(data, self_weights(data))).all()


def test_judges_are_averaged_with_their_weights():
    table = rows()
    table.loc[table["judge"] == "m", "rating"] = 5.0
    data = ratings_from_table(table)
    means = judge_means(data).values.ravel()
    np.testing.assert_allclose(means, (np.arange(1, 11) + 5) / 2)
    # The judge m is the model itself.
    np.testing.assert_allclose(judge_means(data, self_weights(data)).values.ravel(), range(1, 11))
    assert mean_commitment(data, self_weights(data)).item() == 4
