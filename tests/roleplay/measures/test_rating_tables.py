import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polbayes.errors import UserError
from polbayes.instrument.scenarios import STAGES, UNITS
from polbayes.instrument.values import RATING_MAX, VALUES, WEIGHTS
from polbayes.roleplay.measures import (
    ablation,
    alignment,
    profiles,
    stage_curves,
    twin_symmetry,
    weight_sensitivity,
    wording_spread,
)
from polbayes.roleplay.measures.units import unit_measures

# Over model, scenario, twin, wording, stage, judge.
TWIN, STAGE, WORDING = (2, 1, 1, 1), (6, 1), (3, 1, 1)
FEW = {"draws": 50}


def test_alignment_from_reflection_and_from_all_stages(rated):
    """Stages score 8, 12, 16 and 20 more than the scenario; the reflection scores 40 more."""
    scenario = np.array([0.0, 10, 20]).reshape(1, 3, 1, 1, 1, 1)
    stage = np.array([0.0, 8, 12, 16, 20, 40]).reshape(STAGE)
    table = alignment(rated(scenario + stage), **FEW)
    assert set(table["positive"]) == {"liberal"}
    found = table.set_index(["source", "twin"])
    assert found["estimate"].loc["reflection"].tolist() == pytest.approx([50] * 3)
    assert found["estimate"].loc["stages"].tolist() == pytest.approx([24] * 3)
    row = found.loc[("reflection", "both")]
    assert (row["sd"], row["n"], row["n_excluded"]) == (pytest.approx(10), 3, 0)
    # t = 50 / (10 / sqrt(3)); with 2 degrees of freedom p = 1 - t / sqrt(2 + t^2).
    t = 5 * np.sqrt(3)
    assert (row["t"], row["df"], row["effect_size"]) == pytest.approx((t, 2, 5))
    assert row["p"] == pytest.approx(1 - t / np.sqrt(2 + t * t))


def test_what_has_no_rating_is_left_out_and_counted(rated):
    data = rated(np.array([0.0, 10, 20]).reshape(1, 3, 1, 1, 1, 1))
    data["rating"] = data["rating"].copy()
    reflection = UNITS.index("reflection")
    data["rating"][0, 2, 1, :, reflection, 0, 4] = np.nan
    data["rating"][0, 0, 0, 1, 2, 0, 0] = np.nan
    found = alignment(data, **FEW).set_index(["source", "twin"])
    assert found.loc[("reflection", "mirrored"), ["estimate", "n", "n_excluded"]].tolist() == [
        pytest.approx(5),
        2,
        3,
    ]
    # Without its mirrored twin a scenario does not count for both.
    assert found.loc[("reflection", "both"), ["n", "n_excluded"]].tolist() == [2, 3]
    # One of the four stages is missing in one wording; the other two wordings are left.
    assert found.loc[("stages", "original"), ["estimate", "n", "n_excluded"]].tolist() == [
        pytest.approx(10),
        3,
        1,
    ]


def test_profiles_have_the_standardised_ratings(rated):
    table = profiles(rated([[[[[[30.0]]]]], [[[[[-50.0]]]]]]), **FEW).query("twin == 'both'")
    for model, size in (("m0", 3), ("m1", -5)):
        rows = table[(table["model"] == model) & (table["source"] == "reflection")]
        found = rows.set_index("value")
        for value in VALUES:
            assert found.loc[value, "estimate"] == pytest.approx(size * np.sign(WEIGHTS[value]))
            side = "liberal" if WEIGHTS[value] > 0 else "conservative"
            assert found.loc[value, "positive"] == side


def test_activated_values_commitment_and_entropy(rated):
    """At alignment 40 the liberal values are rated 14 and the others 6: five are activated."""
    data = rated(np.array([39.0, 40]).reshape(2, 1, 1, 1, 1, 1), commitment=4.0)
    found = unit_measures(data)
    assert found["activated"].sel(model="m1").values.ravel().tolist() == [5.0] * 36
    assert (found["activated"].sel(model="m0") == 0).all()
    assert (unit_measures(data, threshold=6)["activated"].sel(model="m1") == 10).all()
    assert (found["commitment"] == 4).all()
    shares = np.repeat([0.14, 0.06], 5)
    np.testing.assert_allclose(found["entropy"].sel(model="m1"), -(shares * np.log(shares)).sum())
    flat = unit_measures(rated([[0.0]]))["entropy"]
    np.testing.assert_allclose(flat, np.log(10))


def test_activation_takes_the_mean_over_judges(rated):
    """Judges at 13 and 15 activate together, at 13 and 14 they do not."""
    close = rated(np.array([30.0, 40]).reshape(1, 1, 1, 1, 1, 2), judges=("a", "b"))
    apart = rated(np.array([30.0, 50]).reshape(1, 1, 1, 1, 1, 2), judges=("a", "b"))
    assert (unit_measures(close)["activated"] == 0).all()
    assert (unit_measures(apart)["activated"] == 5).all()


def test_a_zero_profile_has_no_entropy(rated):
    data = rated([[0.0]])
    data["rating"] = data["rating"] * 0.0
    found = unit_measures(data)
    assert found["entropy"].isnull().all()
    assert (found["alignment"] == 0).all()


def test_stage_curves_and_ablation(rated):
    scenario = np.array([0.0, 10, 20]).reshape(1, 3, 1, 1, 1, 1)
    steps = np.array([0.0, 4, 8, 12, 8, -20])
    gain = steps.reshape(STAGE) * np.array([1.0, 2]).reshape(2, 1, 1, 1, 1, 1)
    commitment = np.array([1.0, 2, 3, 5, 4, 4]).reshape(STAGE)
    data = rated(scenario + gain, commitment=commitment)
    curves = stage_curves(data, **FEW).query("twin == 'both' and model == 'm0'")
    found = curves.set_index(["measure", "stage"])["estimate"]
    assert [found["alignment", u] for u in UNITS] == pytest.approx((10 + steps).tolist())
    assert found["alignment", "stages"] == pytest.approx(18)
    assert [found["commitment", u] for u in UNITS] == [1, 2, 3, 5, 4, 4]
    assert found["commitment", "stages"] == 3.5
    assert curves.query("measure == 'commitment'")["p"].isna().all()
    gains = ablation(data, **FEW).query("twin == 'both'")
    found = gains.set_index(["measure", "model", "stage"])
    assert "baseline" not in set(gains["stage"])
    assert found.loc[("alignment", "m1", "external_pressure"), "estimate"] == pytest.approx(24)
    # The gain is the same in every scenario, however different these are.
    assert found.loc[("alignment", "m0", "stages"), "sd"] == 0
    assert found.loc[("commitment", "m0", "stages"), "estimate"] == 2.5
    # The two models gain 8 and 16: mean 12, sd sqrt(32), t = 12 / (sqrt(32) / sqrt(2)) = 3.
    row = found.loc[("alignment", "all", "stages")]
    assert (row["estimate"], row["n"], row["t"]) == (pytest.approx(12), 2, pytest.approx(3))


def test_an_ablation_needs_a_baseline(rated):
    with pytest.raises(UserError, match="no 'baseline'"):
        ablation(rated([[0.0]]).sel(stage=list(STAGES)), **FEW)


def test_spread_over_wordings_by_stage(rated):
    """Wordings 0, 3 and 6 points apart in the first stage, not at all in the last."""
    wording = np.array([0.0, 3, 6]).reshape(WORDING)
    weight = np.array([0.0, 1, 2 / 3, 1 / 3, 0, 1]).reshape(STAGE)
    scenario = np.array([1.0, 2, 3]).reshape(1, 3, 1, 1, 1, 1)
    table = wording_spread(rated(wording * weight * scenario), **FEW)
    found = table.query("twin == 'original'").set_index(["measure", "stage"])
    # Within scenarios the SDs are 3, 6 and 9, the variances 9, 36 and 81, the IQRs 3, 6 and 9.
    assert found.loc[("sd", STAGES[0]), "estimate"] == pytest.approx(6)
    assert found.loc[("variance", STAGES[0]), "estimate"] == pytest.approx(42)
    assert found.loc[("iqr", STAGES[0]), "estimate"] == pytest.approx(6)
    assert found.loc[("sd", STAGES[2]), "estimate"] == pytest.approx(2)
    assert found.loc[("sd", STAGES[3]), "estimate"] == pytest.approx(0, abs=1e-12)
    change = found.loc[("sd", "first_minus_last")]
    # All three differences are positive: 1 of the 8 patterns of signs is as extreme.
    assert (change["estimate"], change["wilcoxon"]) == pytest.approx((6, 6))
    assert change["p"] == pytest.approx(1 / 8)
    assert found.drop(index=("sd", "first_minus_last"))["p"].isna().all()


def test_a_missing_wording_leaves_the_scenario_out_of_the_spread(rated):
    data = rated(np.array([0.0, 3, 6]).reshape(1, 1, 1, 3, 1, 1) * np.ones((1, 2, 1, 1, 1, 1)))
    data["rating"] = data["rating"].copy()
    data["rating"][0, 1, 0, 2] = np.nan
    found = wording_spread(data, **FEW).set_index(["measure", "stage", "twin"])
    assert found.loc[("sd", STAGES[0], "original"), ["n", "n_excluded"]].tolist() == [1, 1]
    assert found.loc[("sd", STAGES[0], "mirrored"), "n"] == 2
    alone = wording_spread(data.isel(wording=[0]), **FEW)
    assert alone["estimate"].isna().all()


def test_position_and_sway(rated):
    """m0 is liberal by 30 whoever asks; m1 goes 40 points with whoever asks."""
    asking = np.array([-1, 1, -1])
    who = np.stack([asking, -asking], axis=1).reshape(1, 3, 2, 1, 1, 1)
    data = rated(np.concatenate([np.full(who.shape, 30.0), -40.0 * who]), asking=asking)
    table = twin_symmetry(data, **FEW).query("stage == 'reflection'")
    found = table.set_index(["measure", "model"])["estimate"]
    assert found["position", "m0"] == pytest.approx(30)
    assert found["sway", "m0"] == pytest.approx(0, abs=1e-9)
    assert found["asymmetry", "m0"] == pytest.approx(0, abs=1e-9)
    assert found["position", "m1"] == pytest.approx(0, abs=1e-9)
    assert found["sway", "m1"] == pytest.approx(40)
    assert found["asymmetry", "m1"] == pytest.approx(40)
    unknown_sides = twin_symmetry(data.drop_vars("asking"), **FEW)
    assert set(unknown_sides["measure"]) == {"position", "asymmetry"}
    with pytest.raises(UserError, match="no 'mirrored' twin"):
        twin_symmetry(data.sel(twin=["original"]), **FEW)


@settings(max_examples=6)
@given(seed=st.integers(0, 10_000))
def test_mirrored_answers_to_mirrored_twins_sum_to_zero(rated, seed):
    data = rated(np.zeros((1, 2, 1, 1, 1, 1)))
    original = data["rating"].sel(twin="original", drop=True)
    drawn = original + np.random.default_rng(seed).uniform(-10, 10, original.shape)
    import xarray as xr

    both = xr.concat([drawn, RATING_MAX - drawn], dim="twin").assign_coords(twin=data["twin"])
    data["rating"] = both.transpose(*data["rating"].dims)
    found = twin_symmetry(data, draws=5).query("measure == 'position'")
    np.testing.assert_allclose(found["estimate"], 0, atol=1e-9)
    both_twins = alignment(data, draws=5).query("twin == 'both'")
    np.testing.assert_allclose(both_twins["estimate"], 0, atol=1e-9)


def test_judges_of_themselves_can_be_left_out(rated):
    scores = np.array([[50.0, 10], [-50, -10]]).reshape(2, 1, 1, 1, 1, 2)
    data = rated(scores, judges=("m0", "m1"))
    others = (data["model"] != data["judge"]).astype(float)
    found = alignment(data, judge_weights=others, **FEW)
    estimates = found.query("source == 'reflection' and twin == 'both'")["estimate"]
    assert estimates.tolist() == pytest.approx([10, -50])


def test_weight_sensitivity(rated):
    table = weight_sensitivity(rated(np.array([[-20.0], [0], [35]]).reshape(3, 1, 1, 1, 1, 1)))
    found = table.set_index(["weights", "measure"])
    # All values move together in these profiles: no weights change order or score.
    assert found.xs("kendall", level="measure")["estimate"].tolist() == pytest.approx([1] * 12)
    assert found.xs("largest_change", level="measure")["estimate"].max() < 1e-9
    assert found.loc[("random", "spearman"), ["lower", "upper"]].tolist() == pytest.approx([1, 1])
    assert set(table["n_models"]) == {3}


def test_a_value_on_which_the_order_hangs_is_found(rated):
    """m0 owes 11.25 to egalitarianism alone, m1 has 8.75 from another: without it they swap."""
    data = rated(np.zeros((2, 1, 1, 1, 1, 1)))
    rating = data["rating"].copy()
    rating.loc[{"model": "m0", "value": "egalitarianism"}] = 20
    rating.loc[{"model": "m1", "value": "nuanced_pragmatism"}] = 20
    data["rating"] = rating
    found = weight_sensitivity(data, draws=20).set_index(["weights", "measure"])["estimate"]
    assert found["without_egalitarianism", "kendall"] == -1
    assert found["without_nuanced_pragmatism", "kendall"] == 1
    # Equal weights: both 100 * 10 / (10 * 10) = 10, a tie, so that no correlation is defined.
    assert np.isnan(found["equal", "kendall"])
    assert found["equal", "largest_change"] == pytest.approx(1.25)
    # 100 * 0.875 * 10 / (10 * 8.875) for m1; m0 falls from 11.25 to 0.
    assert found["without_egalitarianism", "largest_change"] == pytest.approx(11.25)
    alone = weight_sensitivity(data.isel(model=[0]), draws=3)
    assert alone.query("measure == 'kendall'")["note"].str.startswith("fewer than two").all()


@pytest.mark.parametrize(
    ("settings", "says"),
    [({"source": "reflexion"}, "did you mean 'reflection'"), ({"spread": 1.0}, "spread")],
)
def test_wrong_settings_of_the_weights_are_refused(rated, settings, says):
    with pytest.raises(UserError, match=says):
        weight_sensitivity(rated([[0.0]]), **settings)
