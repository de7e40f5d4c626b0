from dataclasses import replace

import numpy as np
import pytest
import xarray as xr

from polbayes.config.schema import SamplerConfig
from polbayes.errors import UserError
from polbayes.fit.sampling.draws_cache import load_draws
from polbayes.instrument.values import WEIGHTS
from polbayes.roleplay.fit.fit import _made_from, fit_rated, fit_ratings
from polbayes.roleplay.fit.rated import gather


def test_names_and_constraints(fitted):
    posterior = fitted.posterior
    assert posterior["fair"].dims == ("chain", "draw", "model", "stage", "value")
    assert posterior["severity"].dims == ("chain", "draw", "judge")
    assert posterior["self_tilt"].coords["self"].values.tolist() == ["m1"]
    assert posterior.attrs["positive"] == "liberal"
    assert np.abs(posterior["severity"].sum("judge")).max() < 1e-9
    assert np.abs(posterior["leaning"].sum("value")).max() < 1e-9
    assert np.abs(posterior["leaning"].sum("judge")).max() < 1e-9
    assert np.abs(np.log(posterior["consistency"]).mean("judge")).max() < 1e-9
    assert ((posterior["fair"] >= 0) & (posterior["fair"] <= 20)).all()


def test_score_is_the_weighted_sum_of_the_fair_ratings(fitted):
    fair = fitted.posterior["fair"].isel(chain=0, draw=3, model=1, stage=0)
    by_hand = sum(WEIGHTS[str(v)] * float(fair.sel(value=v)) for v in fair["value"].values)
    score = fitted.posterior["score"].isel(chain=0, draw=3, model=1).sel(source="baseline")
    assert float(score) == pytest.approx(by_hand)


def test_draws_are_kept_and_loaded(ratings, fitted, quick, kept):
    again = fit_ratings(ratings, sampler=quick, seed=1, kept=kept)
    assert again.from_cache
    assert not fitted.from_cache
    assert again.posterior.identical(fitted.posterior)
    xr.testing.assert_allclose(again.posterior, fitted.posterior)
    assert again.diagnosis.verdict == fitted.diagnosis.verdict


def test_draws_of_something_else_are_not_loaded(fitted, quick, kept):
    model = fitted.model
    own = _made_from(model, quick, 1)
    assert load_draws(kept, own) is not None
    answers = model.rated.answers.copy()
    answers[0, 0, 0] = 0 if answers[0, 0, 0] else 1
    changed = replace(model, rated=replace(model.rated, answers=answers))
    others = [
        _made_from(changed, quick, 1),
        _made_from(model, quick, 2),
        _made_from(model, replace(quick, draws=101), 1),
        _made_from(replace(model, priors={k: 2 * v for k, v in model.priors.items()}), quick, 1),
    ]
    assert len({own, *others}) == 5
    assert load_draws(kept, others[0]) is None


def test_saved_as_arviz_reads_it(fitted, tmp_path):
    import arviz as az

    fitted.save(tmp_path / "posterior.nc")
    found = az.from_netcdf(tmp_path / "posterior.nc")
    assert found.posterior["score"].dims == ("chain", "draw", "model", "source")


def test_commitment_has_no_axis(ratings):
    sampler = SamplerConfig(chains=2, tune=50, draws=50)
    fit = fit_ratings(ratings, variable="commitment", sampler=sampler)
    assert fit.posterior.sizes["value"] == 1
    assert "tilt" not in fit.posterior
    fair = fit.posterior["fair"].squeeze("value")
    assert ((fair >= 0) & (fair <= 5)).all()


def test_one_judge_alone_is_said(ratings):
    sampler = SamplerConfig(chains=2, tune=50, draws=50)
    fit = fit_ratings(ratings.isel(judge=[1]), sampler=sampler)
    assert "severity" not in fit.posterior
    assert any("only one judge" in note for note in fit.notes)


def plain(values):
    dims = ("model", "scenario", "judge")
    coords = {
        dim: [f"{dim}{k}" for k in range(n)] for dim, n in zip(dims, np.shape(values), strict=True)
    }
    return xr.DataArray(np.asarray(values, dtype=float), dims=dims, coords=coords)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.full((2, 2, 2), np.nan), "there is no rating"),
        (np.full((2, 2, 2), 7.0), "7 is out of range; the scale runs from 0 to 5"),
        (np.arange(8).reshape(2, 2, 2) % 2, "only 2 different ratings are used"),
    ],
)
def test_what_cannot_be_fitted_is_refused(values, message):
    with pytest.raises(UserError, match=message):
        gather(plain(values), scale=(0, 5))


def test_settings_that_cannot_work_are_refused(ratings):
    with pytest.raises(UserError, match="sampled with nutpie, not pymc"):
        fit_ratings(ratings, sampler=SamplerConfig(backend="pymc"))
    with pytest.raises(UserError, match="scales"):
        fit_ratings(ratings, scales={"jugde": 0.1})
    with pytest.raises(UserError, match="scales: judge: must be a number of at least 0"):
        fit_ratings(ratings, scales={"judge": -1.0})
    with pytest.raises(UserError, match=r"fit_ratings: .*variable.*'ratings'"):
        fit_ratings(ratings, variable="ratings")


def test_terms_can_be_left_out():
    values = np.random.default_rng(1).integers(0, 6, (3, 5, 2))
    rated = gather(plain(values), scale=(0, 5))
    sampler = SamplerConfig(chains=2, tune=50, draws=50)
    fit = fit_rated(rated, scales={"model:scenario": 0.0}, sampler=sampler)
    assert not any(str(e).startswith("model:scenario") for e in fit.posterior["effect"].values)
