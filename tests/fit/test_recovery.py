"""What was planted comes back, from simulated answers through cells, terms, model and sampler."""

import numpy as np
import pytest

from polbayes.config.schema import AnalysisConfig, SamplerConfig
from polbayes.fit.fit import fit
from polbayes.fit.posterior.measurement_design import measurement_design
from polbayes.fit.posterior.shares import variance_shares
from polbayes.fit.spec.cells import gather_cells
from polbayes.fit.spec.spec import parse_spec
from polbayes.instrument.design import ModelInfo, design

# Numba says of some compiled functions that it does not keep them for the next process.
pytestmark = pytest.mark.filterwarnings("ignore:Cannot cache compiled function")

MODELS = ("right", "left", "centre", "yes")
THETA = {"left": (-1.2, -0.8), "centre": (0.1, 0.0), "right": (1.0, 1.3), "yes": (0.0, 0.1)}
ACQUIESCENCE = {"left": 0.0, "centre": 0.2, "right": -0.2, "yes": 1.8}
PREFIXES = ("baseline", "please", "truth")
ITEMS = tuple(
    (f"{d[0]}{k}", d, "left" if k % 2 else "right", ("original", "opposite"))
    for d in ("economic", "cultural")
    for k in range(6)
)
RUNS = 6


def planted(rng):
    """Draw the effects of items, wordings and prefixes."""
    difficulty = rng.normal(0, 0.3, len(ITEMS))
    for d in (0, 1):
        difficulty[6 * d : 6 * d + 6] -= difficulty[6 * d : 6 * d + 6].mean()
    wording = rng.normal(0, 0.2, (len(ITEMS), 2))
    steer = rng.normal(0, 0.3, (len(MODELS), len(PREFIXES)))
    steer -= steer.mean(axis=1, keepdims=True)
    return difficulty, wording, steer


def simulated(coded, seed):
    """Draw answers with numpy alone, straight from the equation."""
    rng = np.random.default_rng(seed)
    difficulty, wording, steer = planted(rng)
    eta = np.empty((len(MODELS), len(ITEMS), 2, len(PREFIXES), RUNS))
    for m, i, v, p, r in np.ndindex(eta.shape):
        _, dimension, direction, _ = ITEMS[i]
        keying = (1 if direction == "right" else -1) * (1 if v == 0 else -1)
        theta = THETA[MODELS[m]][("economic", "cultural").index(dimension)]
        belief = theta - difficulty[i] + steer[m, p]
        eta[m, i, v, p, r] = ACQUIESCENCE[MODELS[m]] + wording[i, v] + keying * belief
    latent = eta + rng.logistic(size=eta.shape)
    stance = np.where(latent > 0.5, 1, np.where(latent < -0.5, -1, 0))
    return coded(stance, items=ITEMS, models=MODELS, prefixes=PREFIXES, runs=RUNS)


SPEC = AnalysisConfig(
    parts={
        "theta": "~ 0 + dimension + (0 + dimension | model)",
        "difficulty": "~ (1 | item)",
        "acquiescence": "~ 1 + (1 | model)",
        "steer": "~ (1 | model:prefix)",
        "wording": "~ (1 | item:variant)",
    }
)


@pytest.fixture(scope="module")
def recovered(coded):
    spec = parse_spec(SPEC)
    cells = gather_cells(simulated(coded, 1), spec)
    return fit(spec, cells, SamplerConfig(chains=2, tune=300, draws=300), seed=1), cells


def test_planted_order_and_sign_come_back(recovered):
    result, _ = recovered
    theta = result.posterior["theta"]
    assert list(theta["dimension"].values) == ["economic", "cultural"]
    low, high = theta.quantile([0.05, 0.95], ("chain", "draw"))
    for dimension in ("economic", "cultural"):
        assert high.sel(model="left", dimension=dimension) < 0
        assert low.sel(model="right", dimension=dimension) > 0
        mean = theta.mean(("chain", "draw")).sel(dimension=dimension)
        assert mean.sel(model="left") < mean.sel(model="centre") < mean.sel(model="right")
        # Agreeing with everything is no ideology.
        assert (
            low.sel(model="yes", dimension=dimension)
            < 0
            < high.sel(model="yes", dimension=dimension)
        )
    acquiescence = result.posterior["acquiescence"].mean(("chain", "draw"))
    assert str(acquiescence.idxmax("model").values) == "yes"
    bias = result.posterior["bias_total"].mean(("chain", "draw"))
    assert float(bias.sel(model="left")) < -0.2 < 0.2 < float(bias.sel(model="right"))
    assert not result.posterior.isnull().to_array().any()
    assert int(result.sample_stats["diverging"].sum()) <= 3


def test_planted_shares_of_variance_come_back(recovered):
    result, cells = recovered
    difficulty, wording, steer = planted(np.random.default_rng(1))
    variances = {
        "theta: model": np.var(list(THETA.values()), axis=0, ddof=1),
        "difficulty: item": difficulty.reshape(2, 6).var(axis=1, ddof=1),
        "acquiescence: model": np.full(2, np.var(list(ACQUIESCENCE.values()), ddof=1)),
        "steer: model:prefix": np.full(2, (steer**2).sum() / steer.shape[0] / 2),
        "wording: item:variant": (wording.reshape(2, 12) ** 2).mean(axis=1),
        "repetition": np.full(2, np.pi**2 / 3),
    }
    total = sum(variances.values())
    table = variance_shares(result.posterior, measurement_design(result.parts, cells), level=0.98)
    table = table[table["model"].isna()].set_index(["dimension", "component"])
    for name, values in variances.items():
        for dimension, share in zip(("economic", "cultural"), values / total, strict=True):
            row = table.loc[dimension, name]
            assert row["lower"] < share < row["upper"], (dimension, name)


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["nutpie", "pymc"])
def test_a_seed_fixes_the_draws(coded, backend):
    parts = {"theta": "~ 0 + dimension + (0 + dimension | model)", "acquiescence": "~ 1"}
    spec = parse_spec(AnalysisConfig(parts=parts))
    cells = gather_cells(simulated(coded, 1), spec)
    config = SamplerConfig(backend=backend, chains=2, tune=60, draws=50)
    first, again, other = (
        fit(spec, cells, config, seed=s).posterior["theta"].values for s in (3, 3, 4)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.slow
@pytest.mark.long
def test_intervals_cover_what_was_planted_in_the_shipped_respondents():
    """The World Values items, their wordings and prefixes, answered by planted respondents.

    Planted quirks and difficulties sum to zero over the items of a dimension, and effects of
    prefixes over the prefixes, so that what is planted is the position on what was asked.
    """
    from planted_grid import linear_predictor_grid

    from polbayes.config.compose import compose
    from polbayes.data.dataset import MISSING, STATUS
    from polbayes.instrument.prompts import load_prefixes
    from polbayes.instrument.questionnaires import load_instrument
    from polbayes.planted.truth import load_truths, stance_probabilities

    truths = [t for t in load_truths().values() if t.architecture == "causal"]
    data = design(
        [load_instrument("wvs")],
        load_prefixes(),
        [ModelInfo(truth.name, "{statement}") for truth in truths],
        runs=3,
    )
    rng = np.random.default_rng(11)
    stance = np.full(data["status"].shape, MISSING, dtype=np.int8)
    for m, truth in enumerate(truths):
        grid = linear_predictor_grid(truth, data)
        p = stance_probabilities(np.nan_to_num(grid), truth.threshold, truth.decisiveness)
        p = p.cumsum(axis=-1)
        u = rng.random((*grid.shape, 3))
        answer = (u > p[..., None, 0]).astype(int) + (u > p[..., None, 1]) - 1
        stance[m] = np.where(np.isnan(grid)[..., None], MISSING, answer)
    data["stance"] = data["status"].copy(data=stance)
    asked = data["status"] == STATUS["pending"]
    data["status"] = data["status"].where(~asked, np.int8(STATUS["ok"]))
    spec = parse_spec(compose(["+experiment=wvs_prefixes"])[0].analysis)
    result = fit(
        spec, gather_cells(data, spec), SamplerConfig(chains=2, tune=800, draws=600), seed=5
    )
    quantiles = result.posterior.quantile([0.05, 0.95], ("chain", "draw"))
    for name in ("theta", "theta_asked"):
        low, high = quantiles[name]
        inside = [
            float(low.sel(model=t.name, dimension=d))
            <= value
            <= float(high.sel(model=t.name, dimension=d))
            for t in truths
            for d, value in t.theta.items()
        ]
        # Twelve intervals of 90 %: fewer than nine would happen once in forty times.
        assert sum(inside) >= 9, name
    low, high = quantiles["decisiveness"]
    inside = [
        float(low.sel(model=t.name)) <= t.decisiveness <= float(high.sel(model=t.name))
        for t in truths
    ]
    assert sum(inside) >= 4
    low, high = quantiles["theta"]
    for name, side in (("left", -1), ("right", 1)):
        ends = (high if side < 0 else low).sel(model=name)
        assert (np.sign(ends) == side).all()
