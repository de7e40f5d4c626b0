"""Whether θ measures positions or decisiveness.

Two worlds, each with ten models, fourteen statements per dimension and ten runs of one prompt:

decisiveness  models differ tenfold in decisiveness and hardly in position
leaning       models differ in position and not in decisiveness

Both are fitted with and without a decisiveness. In the first world the rank correlation of |θ| with
the true decisiveness should be about 0 if the model separates the two; in the second that of
θ with the truth should be about 1. New statements are drawn for every data set.
"""

import argparse
from typing import Any

import numpy as np
import pandas as pd

from polbayes.config.schema import AnalysisConfig, SamplerConfig
from polbayes.data.dataset import STATUS
from polbayes.fit.fit import fit
from polbayes.fit.spec.cells import gather_cells
from polbayes.fit.spec.spec import parse_spec
from polbayes.instrument.design import ModelInfo, design
from polbayes.instrument.prompts import Prefix
from polbayes.instrument.questionnaires import Instrument, Item, Variant

MODELS, ITEMS, RUNS = 10, 14, 10
PARTS = {
    "theta": "~ 0 + dimension + (0 + dimension | model)",
    "difficulty": "~ (1 | item)",
    "acquiescence": "~ 1 + (1 | model)",
    "quirk": "~ (1 | model:item)",
    "threshold": "~ (1 | model)",
}
SPECS = {"with κ": {**PARTS, "decisiveness": "~ 1 + (1 | model)"}, "without κ": PARTS}
WIDTH, ACQUIESCENCE, DIFFICULTY = 0.4, 0.3, 0.7


def simulate(world: str, rng: np.random.Generator) -> tuple[Any, np.ndarray, np.ndarray]:
    """Draw a coded dataset, true positions ``[model, dimension]`` and decisiveness ``[model]``."""
    decided = np.exp(rng.permutation(np.linspace(0, np.log(10), MODELS)))
    places = np.stack([rng.permutation(np.linspace(-2, 2, MODELS)) for _ in range(2)], axis=1)
    theta, kappa = (
        (-0.8 + places / 20, decided) if world == "decisiveness" else (places, np.full(MODELS, 3.0))
    )
    items = tuple(
        Item(
            f"{dimension[0]}{k}",
            dimension,
            1 if k % 2 else -1,
            "made up",
            (Variant("original", f"statement {k} on {dimension} matters", "original", 1),),
            {},
        )
        for dimension in ("economic", "cultural")
        for k in range(ITEMS)
    )
    data = design(
        [Instrument("made_up", "made up", "made up", items)],
        [Prefix("baseline", "baseline", "open")],
        [ModelInfo(f"m{k}", "{statement}") for k in range(MODELS)],
        runs=RUNS,
    )
    keying = np.array([item.direction for item in items])
    at = np.repeat([0, 1], ITEMS)
    belief = (
        theta[:, at] - rng.normal(0, DIFFICULTY, 2 * ITEMS) + rng.normal(0, 1, (MODELS, 2 * ITEMS))
    )
    eta = rng.normal(0, ACQUIESCENCE, MODELS)[:, None] + keying * belief
    noise = rng.logistic(size=(*eta.shape, RUNS)) / kappa[:, None, None]
    latent = eta[..., None] + noise
    stance = (np.sign(latent) * (np.abs(latent) > WIDTH)).astype(np.int8)[:, :, None, None, :]
    dims = data["status"].dims
    asked = np.full(data["status"].shape, STATUS["ok"], dtype=np.int8)
    return data.assign(status=(dims, asked), stance=(dims, stance)), theta, kappa


def correlations(world: str, seed: int, draws: int) -> list[dict[str, Any]]:
    """Fit one data set with both specs."""
    from scipy.stats import spearmanr

    data, theta, kappa = simulate(world, np.random.default_rng(seed))
    rows = []
    for name, parts in SPECS.items():
        spec = parse_spec(AnalysisConfig(parts=parts))
        sampler = SamplerConfig(chains=2, tune=400, draws=draws)
        posterior = fit(spec, gather_cells(data, spec), sampler, seed=seed).posterior
        for number, dimension in enumerate(("economic", "cultural")):
            mean = posterior["theta"].mean(("chain", "draw")).sel(dimension=dimension).values
            lean = posterior["lean"].mean(("chain", "draw")).sel(dimension=dimension).values
            row = {"world": world, "spec": name, "dimension": dimension, "seed": seed}
            # If all models are alike, the correlation is undefined.
            if world == "decisiveness":
                row["|θ| with decisiveness"] = spearmanr(abs(mean), kappa).statistic
            else:
                row["θ with the truth"] = spearmanr(mean, theta[:, number]).statistic
                row["lean with the truth"] = spearmanr(lean, theta[:, number]).statistic
            rows.append(row)
    return rows


def main() -> None:
    """Print the mean rank correlations with their standard errors."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=20, help="data sets a world")
    parser.add_argument("--draws", type=int, default=500)
    given = parser.parse_args()
    rows = []
    for world in ("decisiveness", "leaning"):
        for seed in range(given.sets):
            rows += correlations(world, seed, given.draws)
    table = pd.DataFrame(rows)
    numbers = [c for c in table if " with " in c]
    mean = table.groupby(["world", "spec"])[numbers].mean()
    error = table.groupby(["world", "spec"])[numbers].std() / np.sqrt(2 * given.sets)
    print((mean.round(2).astype(str) + " ± " + error.round(2).astype(str)).to_string())


if __name__ == "__main__":
    main()
