import numpy as np
import pytest
import xarray as xr
from scipy import stats

from polbayes.fit.posterior.derived_quantities import correlations

DIMENSIONS = ["economic", "cultural"]


def posterior(theta, **more):
    values = np.asarray(theta, float)
    dims = ("chain", "draw", "model", "dimension")
    return xr.Dataset(
        {"theta": (dims, values), **{k: (("chain", "draw"), v) for k, v in more.items()}},
        coords={"dimension": DIMENSIONS},
    )


def test_the_models_at_hand_draw_by_draw():
    rng = np.random.default_rng(1)
    theta = rng.normal(size=(2, 50, 5, 2))
    table = correlations(posterior(theta), level=0.8)
    (row,) = table.itertuples(index=False)
    assert (row.first, row.second, row.of, row.n_models) == ("economic", "cultural", "models", 5)
    found = [stats.pearsonr(*draw.T).statistic for draw in theta.reshape(-1, 5, 2)]
    assert row.estimate == pytest.approx(np.mean(found))
    assert row.lower == pytest.approx(np.quantile(found, 0.1))
    assert row.p_positive == pytest.approx(np.mean(np.array(found) > 0))


def test_two_models_always_lie_on_a_line():
    theta = np.random.default_rng(1).normal(size=(1, 20, 2, 2))
    assert correlations(posterior(theta), level=0.9).empty
    table = correlations(
        posterior(theta, cor_theta_model=np.full((1, 20), 0.3)), level=0.9, concentration=1.0
    )
    assert table["of"].tolist() == ["population"]
    assert table["n_models"].tolist() == [2]


def test_the_prior_says_what_was_known_before():
    """LKJ(1) of one correlation is uniform on (-1, 1)."""
    drawn = posterior(np.ones((1, 20, 2, 2)), cor_theta_model=np.linspace(-1, 1, 20)[None])
    table = correlations(drawn, level=0.9, concentration=1.0)
    assert table["prior_lower"].item() == pytest.approx(-0.9)
    assert table["prior_upper"].item() == pytest.approx(0.9)
    assert table["p_positive"].item() == 0.5


def test_a_correlation_of_something_else_is_not_taken_for_it():
    drawn = posterior(np.ones((1, 20, 2, 2)), cor_theta_model=np.zeros((1, 20)))
    assert correlations(drawn, level=0.9).empty


def test_models_without_one_dimension_are_left_out():
    theta = np.random.default_rng(1).normal(size=(1, 20, 4, 2))
    theta[:, :, 0, 1] = np.nan
    table = correlations(posterior(theta), level=0.9)
    assert table["n_models"].tolist() == [3]
    assert np.isfinite(table["estimate"]).all()
