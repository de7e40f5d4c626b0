"""Coverage with modes linked: the same models asked in three modes, on one theta.

Twelve models answer thirty statements by forced choice (once, decisively), in open answers and in a
role play (twice each, less decisively). Every mode moves all models, draws them together or spreads
them out, and moves single models. Counted are 90 % intervals that contain the truth: of differences
between neighbouring models in theta, and of positions by mode relative to their mean.
"""

import argparse
from typing import Any

import numpy as np
import pandas as pd

from polbayes.config.compose import compose
from polbayes.config.schema import SamplerConfig
from polbayes.data.dataset import NOT_ASKED, STATUS
from polbayes.fit.fit import fit
from polbayes.fit.posterior.intervals import flat
from polbayes.fit.spec.cells import gather_cells
from polbayes.fit.spec.reduction import reduced
from polbayes.fit.spec.spec import parse_spec
from polbayes.instrument.design import ModelInfo, design
from polbayes.instrument.prompts import Prefix
from polbayes.instrument.questionnaires import Instrument, Item, Variant

MODELS, ITEMS, LEVEL, WIDTH = 12, 30, 0.9, 0.4
# In the order of the runs.
RUNS = ("choice", "open", "open", "role", "role")
MODES = ("choice", "open", "role")


def simulate(rng: np.random.Generator) -> tuple[Any, np.ndarray, np.ndarray]:
    """Draw a coded dataset, theta ``[model]`` over these modes, and positions ``[model, mode]``."""
    wording = (Variant("original", "a statement", "original", 1),)
    items = tuple(
        Item(f"i{k:02}", "economic", 1 if k % 2 else -1, "made up", wording, {})
        for k in range(ITEMS)
    )
    data = design(
        [Instrument("made_up", "made up", "made up", items)],
        [Prefix("baseline", "baseline", "open")],
        [ModelInfo(f"m{k:02}", "{statement}") for k in range(MODELS)],
        runs=len(RUNS),
    )
    data = data.assign_coords(mode=("run", np.array(RUNS, dtype=object)))
    theta = rng.normal(0, 1, MODELS)
    slope = np.exp(_about_zero(rng.normal(0, 0.25, 3)))
    each = rng.normal(0, 0.3, (MODELS, 3))
    own = rng.normal(0, 0.4, 3) + each
    places = slope * theta[:, None] + own
    kappa = np.exp(1.0 + np.array([0.5, 0.0, -0.3])) * np.exp(rng.normal(0, 0.5, MODELS))[:, None]
    keying = np.array([item.direction for item in items])
    at = [MODES.index(mode) for mode in RUNS]
    disc = np.exp(_about_zero(rng.normal(0, 0.25, ITEMS)))[:, None]
    middle = disc * slope[at] * (theta[:, None, None] - rng.normal(0, 0.7, ITEMS)[:, None])
    belief = middle + own[:, None, at] + rng.normal(0, 1, (MODELS, ITEMS))[..., None]
    agreeing = rng.normal(0, 0.3, MODELS)[:, None] + rng.normal(0, 0.3, 3)
    eta = agreeing[:, None, at] + keying[:, None] * belief
    latent = eta + rng.logistic(size=eta.shape) / kappa[:, None, at]
    stance = (np.sign(latent) * (np.abs(latent) > WIDTH)).astype(np.int8)
    dims, shape = data["status"].dims, data["status"].shape
    asked = np.where(data["status"] != NOT_ASKED, STATUS["ok"], NOT_ASKED).astype(np.int8)
    answered = data.assign(status=(dims, asked), stance=(dims, stance.reshape(shape)))
    return answered, theta + each.mean(axis=1), places


def _about_zero(values: np.ndarray) -> np.ndarray:
    return values - values.mean()


def one(seed: int, draws: int) -> list[dict[str, Any]]:
    """Fit one data set, and compare intervals with the truth."""
    data, theta, places = simulate(np.random.default_rng(seed))
    analysis = compose(["+experiment=wvs_prefixes", "analysis=ideology_modes"])[0].analysis
    spec = parse_spec(analysis)
    cells = gather_cells(data, spec)
    spec = reduced(spec, cells)[0]
    sampler = SamplerConfig(chains=2, tune=400, draws=draws)
    posterior = fit(spec, cells, sampler, seed=seed).posterior
    found = flat(posterior["theta"].isel(dimension=0))
    by_mode = flat(posterior["theta_mode"].isel(dimension=0).sel(mode=list(MODES)))
    rows = _counted("theta", found[:, 1:] - found[:, :-1], np.diff(theta))
    apart, true = by_mode[:, 1:] - by_mode[:, :-1], np.diff(places, axis=0)
    for k, mode in enumerate(MODES):
        rows += _counted(mode, apart[:, :, k], true[:, k])
    return [{"seed": seed, **row} for row in rows]


def _counted(what: str, draws: np.ndarray, true: np.ndarray) -> list[dict[str, Any]]:
    lower, upper = np.quantile(draws, ((1 - LEVEL) / 2, (1 + LEVEL) / 2), axis=0)
    inside = (lower < true) & (true < upper)
    return [
        {"difference of": what, "coverage": float(i), "error": e}
        for i, e in zip(inside, draws.mean(axis=0) - true, strict=True)
    ]


def main() -> None:
    """Print coverage with its standard error, over data sets."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=20)
    parser.add_argument("--draws", type=int, default=400)
    given = parser.parse_args()
    table = pd.DataFrame([r for seed in range(given.sets) for r in one(seed, given.draws)])
    by_set = table.groupby(["difference of", "seed"])["coverage"].mean().unstack()
    shown = pd.DataFrame({"coverage": by_set.mean(axis=1)})
    shown["se"] = by_set.std(axis=1) / np.sqrt(given.sets)
    shown["rmse"] = table.groupby("difference of")["error"].apply(lambda e: np.sqrt((e**2).mean()))
    print(shown.round(3).to_string())


if __name__ == "__main__":
    main()
