"""Options that are drawn stand for their probabilities: the same leaning, less certain."""

import numpy as np
import pytest

from polbayes.config.schema import AnalysisConfig, SamplerConfig
from polbayes.fit.fit import fit
from polbayes.fit.spec.cells import gather_cells
from polbayes.fit.spec.spec import parse_spec

pytestmark = pytest.mark.filterwarnings("ignore:Cannot cache compiled function")

MODELS = ("left", "centre", "right")
THETA = np.array([-0.8, 0.0, 0.8])
ITEMS, PREFIXES, DRAWS = 16, ("a", "b"), 20
PARTS = {
    "theta": "~ 0 + dimension + (0 + dimension | model)",
    "difficulty": "~ (1 | item)",
    "acquiescence": "~ 1",
}


def theta(data, **how):
    spec = parse_spec(AnalysisConfig(**how))
    cells = gather_cells(data, spec)
    sampler = SamplerConfig(chains=2, tune=300, draws=300)
    found = fit(spec, cells, sampler, seed=1).posterior["theta"].isel(dimension=0)
    return cells, found.mean(("chain", "draw")), found.std(("chain", "draw"))


def test_draws_give_the_leaning_of_the_probabilities_that_they_are_from(coded):
    rng = np.random.default_rng(5)
    sides = ["right", "left"] * (ITEMS // 2)
    items = [(f"e{k:02}", "economic", side, ("original",)) for k, side in enumerate(sides)]
    keying = np.array([1 if side == "right" else -1 for side in sides])
    belief = keying * (THETA[:, None] - rng.normal(0, 0.5, ITEMS))
    # What every single prompt adds, which is no noise of drawing.
    logit = belief[:, :, None, None, None] + rng.normal(0, 0.3, (3, ITEMS, 1, len(PREFIXES), 1))
    p = 1 / (1 + np.exp(-logit))
    drawn = np.where(rng.random((*p.shape[:-1], DRAWS)) < p, 1, -1)
    design = {"items": items, "models": MODELS, "prefixes": PREFIXES}
    read = coded(r_plus=p, **design)
    _, exact, certain = theta(
        read, response="r_plus", family="logit_normal", parts={**PARTS, "sigma": "~ 1"}
    )
    own = {"wording": "~ (1 | gr(model:item:variant:prefix, by = model))"}
    cells, found, wide = theta(
        coded(drawn, runs=DRAWS, **design),
        response="stance",
        family="cumulative",
        parts={**PARTS, **own},
    )
    # One cell for each prompt, with the number of its draws on either side.
    assert cells.counts.shape[0] == p.size
    assert (cells.counts.sum(axis=1) == DRAWS).all()
    assert (abs(exact - THETA) < 3 * certain).all()
    assert (abs(found - exact) < 3 * wide).all()
    assert (wide < 0.25).all()
