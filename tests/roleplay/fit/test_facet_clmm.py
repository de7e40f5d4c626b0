"""Severity and positions against those of R's ordinal::clmm (`reference/facets.R`)."""

import numpy as np
import pytest
import xarray as xr
from scipy.stats import norm

from polbayes.config.schema import SamplerConfig
from polbayes.roleplay.fit.fit import fit_rated
from polbayes.roleplay.fit.rated import gather

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:Cannot cache compiled function"),
]

POSITION, SEVERE = (2.2, 2.6, 3.1, 1.7), (0.5, -0.4, -0.1)
MODELS, SCENARIOS, STAGES, JUDGES = 4, 30, 4, 3
# As the script prints them: estimate and standard error, in units of the logistic noise; the
# effects of the last model and judge are minus the sum of the others.
CLMM_MODELS = ((-0.272695, 0.146760), (0.324227, 0.146508), (1.387282, 0.151807))
CLMM_JUDGES = ((-0.954235, 0.074944), (0.833980, 0.073471))
# How far posterior means may be from the estimates, in standard errors of the latter; clmm has one
# noise for all judges, and a normal approximation of the likelihood.
TOLERANCE = 1.0


def uniform():
    """Draw the numbers that the script draws."""
    x = 1
    while True:
        x = (1229 * x + 351750) % 1664501
        yield (x + 0.5) / 1664501


def ratings():
    u = uniform()
    found = np.empty((MODELS, SCENARIOS, STAGES, JUDGES))
    for m in range(MODELS):
        for s in range(SCENARIOS):
            both = 0.35 * norm.ppf(next(u))
            for g in range(STAGES):
                unit = 0.45 * norm.ppf(next(u))
                for j in range(JUDGES):
                    p = next(u)
                    eta = POSITION[m] + 0.4 * np.sin(2.3 * (s + 1)) + both + unit - SEVERE[j]
                    found[m, s, g, j] = np.clip(np.round(eta + 0.5 * np.log(p / (1 - p))), 0, 5)
    labels = {"model": MODELS, "scenario": SCENARIOS, "stage": STAGES, "judge": JUDGES}
    coords = {name: [f"{name}{k}" for k in range(size)] for name, size in labels.items()}
    return xr.DataArray(found, dims=list(labels), coords=coords)


def test_as_clmm():
    sampler = SamplerConfig(chains=2, tune=400, draws=600)
    # The terms that clmm was given.
    without = dict.fromkeys(("prompt", "stage", "model:stage", "judge:model"), 0.0)
    fit = fit_rated(gather(ratings(), scale=(0, 5)), scales=without, sampler=sampler)
    posterior = fit.posterior
    noise = np.exp(np.log(posterior["noise"]).mean("judge"))
    latent = posterior["latent"].squeeze("value")
    models = ((latent - latent.mean("model")) / noise).mean(("chain", "draw")).to_numpy()
    judges = (-posterior["severity"] / noise).mean(("chain", "draw")).to_numpy()
    for found, expected in ((models, CLMM_MODELS), (judges, CLMM_JUDGES)):
        for value, (estimate, error) in zip(found, expected, strict=False):
            assert abs(value - estimate) < TOLERANCE * error, (value, estimate, error)
