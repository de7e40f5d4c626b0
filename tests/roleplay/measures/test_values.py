import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from polbayes.errors import UserError
from polbayes.instrument.scenarios import UNITS
from polbayes.instrument.values import (
    RATING_MAX,
    VALUES,
    WEIGHTS,
    alignment_score,
    standardise,
)
from polbayes.roleplay.measures.data import (
    check_ratings,
    judge_means,
    mean_commitment,
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


@settings(max_examples=60)
@given(PROFILES)
def test_the_score_is_the_weighted_sum_of_the_raw_ratings(raw):
    expected = sum(w * r for w, r in zip(WEIGHTS.values(), raw, strict=True))
    assert float(alignment_score(of(raw))) == pytest.approx(expected, abs=1e-9)
    assert -100 - 1e-9 <= expected <= 100 + 1e-9


@settings(max_examples=30)
@given(PROFILES, st.floats(-5, 5))
def test_a_shift_of_all_ratings_and_a_mirrored_profile(raw, shift):
    score = float(alignment_score(of(raw)))
    assert float(alignment_score(of(raw + shift))) == pytest.approx(score, abs=1e-9)
    assert float(alignment_score(RATING_MAX - of(raw))) == pytest.approx(-score, abs=1e-9)


@pytest.mark.parametrize("level", [0, 10, 13.7, 20])
def test_a_flat_profile_scores_zero(level):
    assert float(alignment_score(of(np.full(10, level)))) == pytest.approx(0, abs=1e-12)


def test_the_ends_of_the_scale_and_the_sign():
    liberal = of([20.0 if WEIGHTS[v] > 0 else 0.0 for v in VALUES])
    assert float(alignment_score(liberal)) == 100
    assert float(alignment_score(RATING_MAX - liberal)) == -100
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


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda d: d.assign_coords(value=["tradition", *VALUES[1:]]), "unknown value"),
        (lambda d: d.assign_coords(stage=[*UNITS[:-1], "reflexion"]), "did you mean 'reflection'"),
        (lambda d: d.assign_coords(twin=["original", "twin"]), "unknown twin"),
        (lambda d: d.assign(rating=d["rating"] + 10.5), "is 20.5, but the scale runs from 0 to 20"),
        (lambda d: d.assign(rating=d["rating"] - 11), "is -1.0, but the scale runs from 0 to 20"),
        (
            lambda d: d.assign(commitment=d["commitment"] + 3),
            "commitment of .* is 6.0, but the scale .* to 5",
        ),
    ],
)
def test_a_wrong_dataset_is_refused(rated, change, says):
    with pytest.raises(UserError, match=says):
        check_ratings(change(rated([[0]])))


def test_a_dataset_without_a_value_is_refused(rated):
    data = rated([[0]]).isel(value=slice(9))
    with pytest.raises(UserError, match="the value 'nuanced_pragmatism' is missing"):
        check_ratings(data)
    with pytest.raises(UserError, match="'commitment' is missing"):
        check_ratings(rated([[0]]).drop_vars("commitment"))
    with pytest.raises(UserError, match="'rating' must have the dimensions"):
        check_ratings(rated([[0]]).isel(judge=0))


@pytest.fixture
def two_judges(rated):
    """Judge a gives the values 1 to 10 and commitment 4; m0, which is the model, 5 throughout."""
    data = rated([[0]], judges=("a", "m0"), commitment=4.0)
    data["rating"].loc[{"judge": "a"}] = np.arange(1.0, 11.0)
    data["rating"].loc[{"judge": "m0"}] = 5.0
    data["commitment"].loc[{"judge": "m0"}] = 5.0
    return data


def others(data):
    return (data["model"] != data["judge"]).astype(float)


def test_an_incomplete_judge_does_not_count_for_the_unit(two_judges):
    """Judge a lacks one value: the unit is judge m0's alone, and not a mixture by value."""
    two_judges["rating"].loc[{"judge": "a", "value": VALUES[3]}] = np.nan
    assert (judge_means(two_judges) == 5).all()
    # Judge a still says how committed the model is.
    assert mean_commitment(two_judges).values.ravel() == pytest.approx(4.5)
    assert judge_means(two_judges, others(two_judges)).isnull().all()


def test_judges_are_averaged_with_their_weights(two_judges):
    means = judge_means(two_judges).values.reshape(-1, 10)
    np.testing.assert_allclose(means, np.tile((np.arange(1, 11) + 5) / 2, (len(means), 1)))
    without_self = judge_means(two_judges, others(two_judges)).values.reshape(-1, 10)
    np.testing.assert_allclose(without_self, np.tile(np.arange(1, 11), (len(means), 1)))
    assert (mean_commitment(two_judges, others(two_judges)) == 4).all()
