"""The order of options: its effect is found where it is a factor, and a bias where it is not."""

import numpy as np
import pytest

from polbayes.config.schema import AnalysisConfig, SamplerConfig
from polbayes.data.dataset import CELL_DIMS, STATUS
from polbayes.fit.fit import fit
from polbayes.fit.spec.cells import gather_cells
from polbayes.fit.spec.spec import parse_spec
from polbayes.instrument.design import ModelInfo, design
from polbayes.instrument.prompts import load_prefixes
from polbayes.instrument.questionnaires import Instrument, Item, Variant

pytestmark = pytest.mark.filterwarnings("ignore:Cannot cache compiled function")

MODELS = ("left", "centre", "right")
THETA = np.array([-0.8, 0.0, 0.8])
# Logits by which agreeing is likelier where yes is first, and less likely where it is second.
ORDER = 0.7
FIRST = np.array([1.0, -1.0])
ITEMS, RUNS = 16, 20


def answered(coded, sides):
    """Draw answers with numpy alone; `sides` are the directions of the items, in turn."""
    rng = np.random.default_rng(3)
    items = [(f"e{k:02}", "economic", sides[k % len(sides)], ("original",)) for k in range(ITEMS)]
    keying = np.array([1 if side == "right" else -1 for _, _, side, _ in items])
    difficulty = rng.normal(0, 0.5, ITEMS)
    belief = keying * (THETA[:, None] - difficulty + difficulty.mean())
    eta = belief[:, :, None, None, None] + ORDER * FIRST[:, None]
    latent = eta + rng.logistic(size=(len(MODELS), ITEMS, 1, 2, RUNS))
    prefixes = ("yes_first", "no_first")
    data = coded(
        np.where(latent > 0, 1, -1), items=items, models=MODELS, prefixes=prefixes, runs=RUNS
    )
    return data.assign_coords(first=("prefix", FIRST))


def fitted(data, **parts):
    spec = parse_spec(
        AnalysisConfig(
            response="agree",
            family="bernoulli",
            parts={
                "theta": "~ 0 + dimension + (0 + dimension | model)",
                "difficulty": "~ (1 | item)",
                **parts,
            },
        )
    )
    sampler = SamplerConfig(chains=2, tune=300, draws=300)
    return fit(spec, gather_cells(data, spec), sampler, seed=1).posterior


def test_a_planted_effect_of_order_comes_back(coded):
    posterior = fitted(answered(coded, ("right", "left")), acquiescence="~ 1 + first")
    of = posterior["coefficient"]
    (at,) = np.flatnonzero(of["coefficient_name"].values == "first")
    draws = of.isel(term=at)
    assert abs(draws.mean().item() - ORDER) < 3 * draws.std().item() < 0.3
    theta = posterior["theta"].isel(dimension=0)
    assert (abs(theta.mean(("chain", "draw")) - THETA) < 0.3).all()


def test_one_order_alone_makes_a_one_sided_questionnaire_biased(coded):
    data = answered(coded, ("right",))
    mean = {
        name: fitted(some)["theta"].isel(dimension=0).mean(("chain", "draw"))
        for name, some in (("both", data), ("one", data.isel(prefix=[0])))
    }
    assert (abs(mean["both"] - THETA) < 0.3).all()
    assert (mean["one"] - THETA > 0.4).all()


def test_the_order_that_a_shipped_scale_draws_is_a_predictor():
    """Which end comes first is drawn for every cell of the design, and its effect comes back."""
    rng = np.random.default_rng(4)
    keying = np.tile([1, -1], ITEMS // 2)
    items = tuple(
        Item(f"e{k:02}", "economic", d, "s", (Variant("original", f"S{k}", "original", 1),), {})
        for k, d in enumerate(keying.tolist())
    )
    data = design(
        [Instrument("tiny", "Tiny", "s", items)],
        load_prefixes("scale5", ["numbers"]),
        [ModelInfo(model, "{statement}") for model in MODELS],
        runs=RUNS,
    )
    first = data["agree_first"].transpose("item", "variant", "prefix", "run").values
    assert 0.4 < first.mean() < 0.6
    belief = (keying * THETA[:, None])[:, :, None, None, None]
    latent = belief + 2 * ORDER * (first - 0.5) + rng.logistic(size=data["status"].shape)
    data["stance"] = (CELL_DIMS, np.where(latent > 0, 1, -1).astype(np.int8))
    data["status"] = (CELL_DIMS, np.full(latent.shape, STATUS["ok"], dtype=np.int8))
    posterior = fitted(data, acquiescence="~ 1 + agree_first")
    of = posterior["coefficient"]
    (at,) = np.flatnonzero(of["coefficient_name"].values == "agree_first")
    draws = of.isel(term=at)
    assert abs(draws.mean().item() - 2 * ORDER) < 3 * draws.std().item() < 0.6
