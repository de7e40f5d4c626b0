"""All samplers draw from the same posterior; an approximation says that it is one."""

import numpy as np
import pytest

from polbayes.config.schema import SamplerConfig
from polbayes.fit.fit import fit
from polbayes.fit.posterior.intervals import interval_table
from polbayes.fit.sampling.diagnose import diagnose

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:Cannot cache compiled function"),
]

PARTS = {
    "theta": "~ 0 + dimension + (0 + dimension | model)",
    "difficulty": "~ (1 | item)",
    "acquiescence": "~ 1 + (1 | model)",
    "wording": "~ (1 | item:variant)",
}


@pytest.fixture(scope="module")
def bound_answers(bound, coded):
    rng = np.random.default_rng(4)
    models = ("a", "b", "c", "d")
    leaning = np.array([-1.0, -0.3, 0.4, 1.1])[:, None, None, None, None]
    answers = coded(models=models, prefixes=("baseline", "please"), runs=4)
    keying = answers["keying"].to_numpy()[None, :, :, None, None]
    shape = answers["status"].shape
    latent = keying * leaning + 0.4 + rng.logistic(size=shape)
    stance = np.where(latent > 0.6, 1, np.where(latent < -0.6, -1, 0))
    answers = coded(stance, models=models, prefixes=("baseline", "please"), runs=4)
    spec, cells, _ = bound(PARTS, answers)
    return spec, cells


@pytest.fixture(scope="module")
def by_nutpie(bound_answers):
    return fit(*bound_answers, SamplerConfig(draws=1000, tune=500), seed=1).posterior


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({"backend": "pymc"}, marks=pytest.mark.long),
        {"mass_matrix": "low_rank"},
    ],
)
def test_another_sampler_finds_the_same_posterior(bound_answers, by_nutpie, settings):
    """Means differ by less than a sixth of the standard deviation, standard deviations by 15 %."""
    config = SamplerConfig(draws=1000, tune=500, **settings)
    found = fit(*bound_answers, config, seed=2)
    assert not found.sample_stats["diverging"].mean() > 0.01
    for name in ("theta", "acquiescence", "difficulty", "bias"):
        one, other = (interval_table(p[name], 0.9) for p in (by_nutpie, found.posterior))
        assert (abs(one["estimate"] - other["estimate"]) < one["sd"] / 6).all()
        np.testing.assert_allclose(other["sd"], one["sd"], rtol=0.15)


@pytest.mark.long
def test_a_preview_is_near_and_says_what_it_is(bound_answers, by_nutpie):
    found = fit(*bound_answers, SamplerConfig(backend="advi", tune=20_000), seed=1)
    one, other = (interval_table(p["theta"], 0.9) for p in (by_nutpie, found.posterior))
    assert (abs(one["estimate"] - other["estimate"]) < one["sd"]).all()
    assert (other["sd"] > 0).all()
    verdict = diagnose(found.posterior, found.sample_stats)
    assert verdict.verdict == "preview"
    assert "preview" in verdict.sentences[0]
    assert "sampler=nutpie" in verdict.sentences[0]
    k = float(found.sample_stats["pareto_k"])
    assert f"k = {k:.2f}" in verdict.sentences[1]
