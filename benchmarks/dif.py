"""Statements that mean something else to one group: found, and positions with and without them.

Models and parties, twenty each, answer thirty statements on three points, with logistic noise; with
`--quirks`, respondents also have views of their own on single statements. A fifth of the statements
means something else to the models: their answers are shifted by an effect of one size, all of them
to the same side, the hardest case for positions. Fitted are the part ``dif`` with its sparse prior,
normal effects, and none.

power             share of the shifted statements with P(|effect| > 0.5) above one half
false             share of the statements found that are not shifted
bias, coverage    of the models' mean position relative to that of the parties
"""

import argparse
from typing import Any

import numpy as np
import pandas as pd

from polbayes.config.schema import AnalysisConfig, SamplerConfig
from polbayes.data.dataset import STATUS
from polbayes.fit.fit import fit
from polbayes.fit.posterior.dif import dif_table
from polbayes.fit.posterior.intervals import flat
from polbayes.fit.spec.cells import gather_cells
from polbayes.fit.spec.spec import parse_spec
from polbayes.instrument.design import ModelInfo, design
from polbayes.instrument.prompts import Prefix
from polbayes.instrument.questionnaires import Instrument, Item, Variant

ITEMS, SHIFTED, WIDTH, KAPPA, DIFFICULTY = 30, 6, 0.4, 2.5, 0.7
PARTS = {
    "theta": "~ 1 + (1 | model)",
    "difficulty": "~ (1 | item)",
    "acquiescence": "~ 1 + (1 | model)",
}
QUIRKS = {"decisiveness": "~ 1 + (1 | model)", "quirk": "~ (1 | model:item)"}
SPECS = {
    "sparse": {"dif": "~ (1 | gr(item:who, dist = student))"},
    "normal": {"dif": "~ (1 | item:who)"},
    "none": {},
}


def simulate(
    size: float, rng: np.random.Generator, *, each: int, quirks: bool
) -> tuple[Any, np.ndarray, np.ndarray]:
    """Draw a coded dataset, true positions ``[model]`` and effects on models ``[item]``."""
    wording = (Variant("original", "a statement", "original", 1),)
    items = tuple(
        Item(f"i{k:02}", "economic", 1 if k % 2 else -1, "made up", wording, {})
        for k in range(ITEMS)
    )
    names = [f"{who}{k:02}" for who in ("model", "party") for k in range(each)]
    data = design(
        [Instrument("made_up", "made up", "made up", items)],
        [Prefix("baseline", "baseline", "open")],
        [ModelInfo(name, "{statement}") for name in names],
        runs=1,
    )
    data = data.assign_coords(who=("model", [name[:5] for name in names]))
    theta = rng.normal(0, 1, 2 * each)
    effects = np.zeros(ITEMS)
    effects[rng.permutation(ITEMS)[:SHIFTED]] = size
    is_model = np.arange(2 * each) < each
    belief = theta[:, None] - rng.normal(0, DIFFICULTY, ITEMS) + is_model[:, None] * effects
    if quirks:
        belief += rng.normal(0, 1, belief.shape)
    keying = np.array([item.direction for item in items])
    eta = rng.normal(0, 0.3, 2 * each)[:, None] + keying * belief
    latent = eta + rng.logistic(size=eta.shape) / (KAPPA if quirks else 1.0)
    stance = (np.sign(latent) * (np.abs(latent) > WIDTH)).astype(np.int8)
    dims, shape = data["status"].dims, data["status"].shape
    asked = np.full(shape, STATUS["ok"], dtype=np.int8)
    return data.assign(status=(dims, asked), stance=(dims, stance.reshape(shape))), theta, effects


def one(size: float, seed: int, *, draws: int, each: int, quirks: bool) -> list[dict[str, Any]]:
    """Fit one data set with every spec."""
    rng = np.random.default_rng([seed, int(10 * size)])
    data, theta, effects = simulate(size, rng, each=each, quirks=quirks)
    true = theta[:each].mean() - theta[each:].mean()
    rows = []
    for name, parts in SPECS.items():
        whole = {**PARTS, **(QUIRKS if quirks else {}), **parts}
        spec = parse_spec(AnalysisConfig(parts=whole, reference={"who": "party"}))
        sampler = SamplerConfig(chains=2, tune=400, draws=draws)
        posterior = fit(spec, gather_cells(data, spec), sampler, seed=seed).posterior
        places = flat(posterior["theta"].isel(dimension=0))
        apart = places[:, :each].mean(axis=1) - places[:, each:].mean(axis=1)
        lower, upper = np.quantile(apart, (0.05, 0.95))
        row = {"size": size, "spec": name, "bias": apart.mean() - true}
        row |= {"coverage": float(lower < true < upper), "width": upper - lower}
        if name != "none":
            table = dif_table(posterior, size=0.5, level=0.9).set_index("item")
            found = table["p_differs"].to_numpy() > 0.5
            planted = effects[[int(item[1:]) for item in table.index]] != 0
            row |= {"found": found.sum(), "hits": (found & planted).sum()}
        rows.append(row)
    return rows


def main() -> None:
    """Print power, false discoveries, bias and coverage."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=10, help="data sets of each size")
    parser.add_argument("--sizes", type=float, nargs="+", default=[1.0, 2.0])
    parser.add_argument("--draws", type=int, default=400)
    parser.add_argument("--each", type=int, default=20, help="models, and parties")
    parser.add_argument("--quirks", action="store_true", help="with quirks and a decisiveness")
    given = parser.parse_args()
    sets = [(size, seed) for size in given.sizes for seed in range(given.sets)]
    settings = {"draws": given.draws, "each": given.each, "quirks": given.quirks}
    table = pd.DataFrame([row for size, seed in sets for row in one(size, seed, **settings)])
    groups = table.groupby(["size", "spec"], sort=False)
    shown = groups[["bias", "coverage", "width"]].mean()
    shown.insert(1, "se", groups["bias"].std() / np.sqrt(given.sets))
    shown["power"] = groups["hits"].sum() / (SHIFTED * given.sets)
    shown["false"] = 1 - groups["hits"].sum() / groups["found"].sum()
    print(shown.round(3).to_string())


if __name__ == "__main__":
    main()
