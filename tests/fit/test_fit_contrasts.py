import numpy as np
import pytest
import xarray as xr

from polbayes.fit.posterior.contrasts import contrasts, prefix_contrasts, summary_of
from polbayes.fit.posterior.verdicts import decide

MODELS, DIMENSIONS = ["a", "b"], ["economic", "cultural"]


def array(values, *dims, **coords):
    return xr.DataArray(np.asarray(values, float), dims=("chain", "draw", *dims), coords=coords)


@pytest.fixture
def posterior():
    """a: -0.3, -0.2, -0.1, 0.05 on both dimensions; b: 0; theta is ten times that, lean half."""
    one = np.array([[-0.3, -0.2], [-0.1, 0.05]])
    values = np.stack([np.stack([one, one], -1), np.zeros((2, 2, 2))], axis=2)
    bias = array(values, "model", "dimension", model=MODELS, dimension=DIMENSIONS)
    total = bias.mean("dimension")
    return xr.Dataset({"bias": bias, "bias_total": total, "theta": 10 * bias, "lean": bias / 2})


@pytest.mark.parametrize(
    ("lower", "upper", "decision"),
    [
        (-0.5, -0.11, "left"),
        (0.11, 0.5, "right"),
        (-0.1, 0.1, "equal"),
        (-0.5, -0.05, "open"),
        (0.05, 0.5, "open"),
        (-0.5, 0.5, "open"),
    ],
)
def test_the_whole_interval_decides(lower, upper, decision):
    assert decide(lower, upper, 0.1) == decision


def test_probabilities_by_hand():
    found = summary_of(np.array([-0.3, -0.2, -0.1, 0.05]), level=0.5, rope=0.1)
    assert found["p_left"] == 0.75
    assert found["p_inside"] == 0.5
    assert found["p_left_of_rope"] == 0.5
    assert found["p_right_of_rope"] == 0
    assert found["estimate"] == pytest.approx(-0.1375)
    assert found["decision"] == "open"
    # Half a step above the second of five quarters: numpy's default, by linear interpolation.
    assert (found["lower"], found["upper"]) == (pytest.approx(-0.225), pytest.approx(-0.0625))


def test_every_pair_once_and_every_model_against_the_centre(posterior):
    table = contrasts(posterior, level=0.9, rope=0.1)
    assert table.groupby(["measure", "against"]).size().to_dict() == {
        ("bias", "centre"): 6,
        ("bias", "model"): 3,
        ("lean", "centre"): 6,
        ("lean", "model"): 3,
        ("theta", "model"): 3,
    }
    assert set(table["dimension"]) == {*DIMENSIONS, "total"}
    pairs = table[table["against"] == "model"]
    assert set(zip(pairs["model_a"], pairs["model_b"], strict=True)) == {("a", "b")}
    np.testing.assert_allclose(pairs.loc[pairs["measure"] == "bias", "estimate"], -0.1375)
    np.testing.assert_allclose(pairs.loc[pairs["measure"] == "lean", "estimate"], -0.06875)
    np.testing.assert_allclose(pairs.loc[pairs["measure"] == "theta", "estimate"], -1.375)
    assert (pairs["p_left"] == 0.75).all()
    still = table[(table["model_a"] == "b") & (table["against"] == "centre")]
    assert (still["decision"] == "equal").all()
    assert (still["p_inside"] == 1).all()


def test_theta_has_no_region(posterior):
    table = contrasts(posterior, level=0.9, rope=0.1)
    theta = table[table["measure"] == "theta"]
    assert theta[["rope", "p_inside", "decision"]].isna().all(axis=None)


def test_a_model_without_estimate_is_undecided(posterior):
    posterior["bias"][:, :, 0, 0] = np.nan
    table = contrasts(posterior, level=0.9, rope=0.1)
    rows = table[(table["dimension"] == "economic") & (table["model_a"] == "a")]
    rows = rows[rows["measure"] == "bias"]
    assert len(rows) == 2
    assert rows[["estimate", "p_left", "decision"]].isna().all(axis=None)


def test_prefix_effects_on_the_bias_scale(posterior):
    """Slopes 0.2 and 0.4 have mean 0.3; effects -1 and 1 become -0.3 and 0.3."""
    slope = np.broadcast_to([0.2, 0.4], (2, 2, 2, 2))
    steer = np.broadcast_to([-1.0, 1.0], (2, 2, 2, 2))
    posterior = posterior.assign(
        answer_slope=array(slope, "model", "dimension"),
        prefix_steer=array(steer, "model", "prefix", model=MODELS, prefix=["p", "q"]),
    )
    table = prefix_contrasts(posterior, level=0.9, rope=0.1)
    assert table["estimate"].tolist() == pytest.approx([-0.3, 0.3] * 2)
    assert table["decision"].tolist() == ["left", "right"] * 2
