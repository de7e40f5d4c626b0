"""Group-level coefficients against those of lme4 (`reference/group_effects.R`)."""

import numpy as np
import pytest

from polbayes.config.schema import AnalysisConfig, SamplerConfig
from polbayes.fit.fit import fit
from polbayes.fit.spec.cells import gather_cells
from polbayes.fit.spec.spec import parse_spec

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:Cannot cache compiled function"),
]

ITEMS = tuple(
    (f"{d[0]}{k}", d, ("left", "right")[k], ("original", "opposite"))
    for d in ("economic", "cultural")
    for k in (0, 1)
)
# Of REML, as the script prints them: estimate and standard error.
INSTRUCT = {"cultural": (0.593743, 0.103040), "economic": (-0.812360, 0.103040)}
INTERCEPT = (0.212496, 0.010642)
RESIDUAL, MODEL_SD, FAMILY_SD = 0.208544, 0.241386, 0.383030


@pytest.fixture(scope="module")
def posterior(coded):
    m, i, w, p = np.ogrid[:24, :4, :2, :2]
    cultural, instruct, family = i >= 2, m % 2, m // 4
    s = np.where(i % 2 == 0, -1, 1) * np.where(w == 0, 1, -1)
    theta = 0.3 * np.sin(2.1 * m + 5 * cultural) + 0.5 * np.sin(3 * family + 2 * cultural)
    theta = theta + instruct * np.where(cultural, 0.6, -0.8)
    n = ((m * 4 + i) * 2 + w) * 2 + p
    y = 0.2 + s * theta + 0.3 * np.sin(0.37 * n**2 + 0.1 * n)
    data = coded(
        items=ITEMS,
        models=[f"m{k:02d}" for k in range(24)],
        r_plus=(1 / (1 + np.exp(-y)))[..., None],
        instruct=[bool(k % 2) for k in range(24)],
    )
    names = np.array([f"f{k // 4}" for k in range(24)], dtype=object)
    data = data.assign_coords(family=("model", names))
    config = AnalysisConfig(
        response="r_plus",
        family="logit_normal",
        parts={
            "theta": "~ 0 + dimension + instruct:dimension + (1 | family:dimension)"
            " + (1 | model:dimension)",
            "acquiescence": "~ 1",
            "sigma": "~ 1",
        },
        priors={"common": "Normal(0, 5)", "theta": {"sd": "HalfNormal(2)"}},
    )
    spec = parse_spec(config)
    sampler = SamplerConfig(chains=4, tune=600, draws=1000)
    return fit(spec, gather_cells(data, spec), sampler, seed=2).posterior


@pytest.mark.parametrize("dimension", list(INSTRUCT))
def test_the_difference_between_kinds_is_that_of_lme4(posterior, dimension):
    estimate, error = INSTRUCT[dimension]
    draws = posterior["coefficient"].sel(term=f"theta: instruct:dimension[{dimension}]")
    assert float(draws.mean()) == pytest.approx(estimate, abs=0.15 * error)
    # lme4 takes the standard deviations as known, so that its errors are a little too small.
    assert 0.95 * error < float(draws.std()) < 1.25 * error


def test_acquiescence_and_the_residual_are_those_of_lme4(posterior):
    draws = posterior["coefficient"].sel(term="acquiescence: Intercept")
    assert float(draws.mean()) == pytest.approx(INTERCEPT[0], abs=0.15 * INTERCEPT[1])
    assert float(draws.std()) == pytest.approx(INTERCEPT[1], rel=0.1)
    sigma = np.exp(posterior["coefficient"].sel(term="sigma: Intercept"))
    assert float(sigma.mean()) == pytest.approx(RESIDUAL, rel=0.03)


def test_the_standard_deviations_of_models_and_families_are_those_of_lme4(posterior):
    mean = posterior["scale"].mean(("chain", "draw")).to_series()
    assert mean["theta: model:dimension"] == pytest.approx(MODEL_SD, rel=0.15)
    assert MODEL_SD < mean["theta: family:dimension"] < 1.6 * FAMILY_SD
