import numpy as np
import pytest

from polbayes.config.schema import SamplerConfig
from polbayes.roleplay.fit.fit import fit_ratings
from tools.calibration.ratings import simulate

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:Cannot cache compiled function"),
]


def test_judges_and_models_are_recovered(panel):
    ratings, truth = simulate(panel(scenarios=6, stages=3), 5)
    sampler = SamplerConfig(chains=2, tune=400, draws=500, target_accept=0.8)
    fit = fit_ratings(ratings, sampler=sampler, seed=5)
    for name in ("severity", "tilt", "self_level", "self_tilt", "consistency"):
        draws = fit.posterior[name].stack(sample=("chain", "draw"))
        low, high = (draws.quantile(q, "sample").to_numpy() for q in (0.005, 0.995))
        true = truth[name].to_numpy()
        assert ((low <= true) & (true <= high)).all(), name
    fair = fit.posterior["fair"].stack(sample=("chain", "draw"))
    low, high = (fair.quantile(q, "sample") for q in (0.05, 0.95))
    covered = ((low <= truth["fair"]) & (truth["fair"] <= high)).to_numpy()
    assert covered.mean() > 0.75
    assert np.abs((fair.mean("sample") - truth["fair"]).to_numpy()).max() < 1.5
