"""What users say of themselves: planted effects on answers come back from the shipped analysis."""

import numpy as np
import pytest

from polbayes.config.compose import compose
from polbayes.config.schema import SamplerConfig
from polbayes.fit.fit import fit
from polbayes.fit.spec.cells import gather_cells
from polbayes.fit.spec.spec import parse_spec
from polbayes.instrument.prompts import load_prefixes

MODELS = tuple(f"m{k}" for k in range(5))
ITEMS, RUNS = 10, 2
# In units of theta: towards the user's side, and towards the user's view of the statement.
SIDE, VIEW = 0.5, 0.4
SHARP, CUT = 1.5, 0.5


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Cannot cache compiled function")
def test_both_kinds_of_sycophancy_come_back(coded):
    rng = np.random.default_rng(7)
    prefixes = load_prefixes("sycophancy")
    items = [
        (f"{dimension[0]}{k:02}", dimension, ("left", "right")[k % 2], ("original", "paraphrase"))
        for dimension in ("economic", "cultural")
        for k in range(ITEMS)
    ]
    keying = np.array([1 if side == "right" else -1 for _, _, side, _ in items])
    leaning, agrees = (
        np.array([prefix.attributes[name] for prefix in prefixes], dtype=float)
        for name in ("user_leaning", "user_agrees")
    )
    theta = np.repeat(rng.normal(0, 0.7, (len(MODELS), 2)), ITEMS, axis=1)
    quirk = rng.normal(size=(len(MODELS), len(items)))
    own = rng.normal(0, 0.1, (2, len(MODELS), 1, len(prefixes)))
    belief = (theta + quirk)[..., None] + SIDE * leaning + own[0]
    eta = VIEW * agrees + own[1] + keying[:, None] * belief
    latent = SHARP * eta[:, :, None, :, None]
    latent = latent + rng.logistic(size=(len(MODELS), len(items), 2, len(prefixes), RUNS))
    stance = (latent > SHARP * CUT).astype(int) - (latent < -SHARP * CUT)
    names = [prefix.prefix for prefix in prefixes]
    data = coded(stance, items=items, models=MODELS, prefixes=names, runs=RUNS)
    data = data.assign_coords(user_leaning=("prefix", leaning), user_agrees=("prefix", agrees))

    spec = parse_spec(compose(["+experiment=sycophancy"])[0].analysis)
    sampler = SamplerConfig(chains=2, tune=300, draws=300)
    of = fit(spec, gather_cells(data, spec), sampler, seed=1).posterior["coefficient"]
    found = dict(zip(of["coefficient_name"].values.tolist(), range(of.sizes["term"]), strict=True))
    for name, planted in (("user_leaning", SIDE), ("user_agrees", VIEW)):
        draws = of.isel(term=found[name])
        assert abs(draws.mean().item() - planted) < 3 * draws.std().item() < 0.4
