"""Time and convergence for nineteen models that answer one questionnaire many times.

Nineteen models answer 62 statements, on both dimensions, sixty times on four points: 71,000
answers. Some waver at every answer, some hardly ever, and one never does. Answers are drawn from
the model's equation. The fit's time excludes compilation after an earlier fit.
"""

import argparse
import json
import os
import time
from dataclasses import asdict

import numpy as np

from polbayes.config.schema import AnalysisConfig, SamplerConfig
from polbayes.data.dataset import STATUS
from polbayes.fit.fit import fit
from polbayes.fit.sampling.diagnose import diagnose
from polbayes.fit.spec.cells import gather_cells
from polbayes.fit.spec.spec import parse_spec
from polbayes.instrument.design import ModelInfo, design
from polbayes.instrument.prompts import Prefix
from polbayes.instrument.questionnaires import Instrument, Item, Variant

PARTS = {
    "theta": "~ 0 + dimension + (0 + dimension | model)",
    "decisiveness": "~ 1 + (1 | model)",
    "difficulty": "~ (1 | item)",
    "acquiescence": "~ 1 + (1 | model)",
    "quirk": "~ (1 | model:item)",
    "threshold": "~ (1 | model) + (1 | item)",
}
CUTS, NEVER_WAVERS = (-1.2, 0.0, 1.2), 1e6
POINTS = "strongly disagree; disagree; agree; strongly agree"


def main() -> None:
    """Print one line per seed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, default=19)
    parser.add_argument("--items", type=int, default=62)
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--sampler", default="{}", help="settings that differ, as JSON")
    given = parser.parse_args()
    sampler = SamplerConfig(**json.loads(given.sampler))
    print(f"{os.cpu_count()} cores; {asdict(sampler)}", flush=True)
    spec = parse_spec(AnalysisConfig(response="rating", parts=PARTS))
    for seed in given.seeds:
        rng = np.random.default_rng(seed)
        keying = np.where(np.arange(given.items) % 2, 1, -1)
        side = np.arange(given.items) * 2 // given.items
        items = tuple(
            Item(
                f"i{k:02}",
                ("economic", "cultural")[side[k]],
                int(keying[k]),
                "made up",
                (Variant("original", f"statement {k}", "original", 1),),
                {},
            )
            for k in range(given.items)
        )
        data = design(
            [Instrument("made_up", "made up", "made up", items)],
            [Prefix("baseline", "", "open")],
            [ModelInfo(f"m{k}", "{statement}") for k in range(given.models)],
            runs=given.runs,
        )
        theta = rng.normal(-0.5, 0.7, (given.models, 2))
        believed = theta[:, side] + rng.normal(0, 1, (given.models, given.items))
        believed -= rng.normal(0, 0.6, given.items)
        kappa = np.exp(rng.normal(1.5, 1.2, given.models))
        kappa[-1] = NEVER_WAVERS
        asked = rng.normal(0.2, 0.3, given.models)
        eta = asked[:, None] + keying * believed
        noise = rng.logistic(size=(given.models, given.items, given.runs))
        latent = eta[..., None] + noise / kappa[:, None, None]
        rating = (np.searchsorted(CUTS, latent) + 1).astype(np.int8)[:, :, None, None]
        dims = data["status"].dims
        status = np.full(rating.shape, STATUS["ok"], dtype=np.int8)
        data = data.assign(status=(dims, status), rating=(dims, rating))
        data["rating"].attrs["rating_points"] = POINTS
        started = time.monotonic()
        cells = gather_cells(data, spec)
        found = fit(spec, cells, sampler, seed=seed)
        seconds = time.monotonic() - started
        table = diagnose(found.posterior, found.sample_stats).table
        table = table[~table["quantity"].str.startswith(("difficulty", "discrimination"))]
        estimate = found.posterior["theta"].mean(("chain", "draw"))
        estimate = estimate.sel(dimension=["economic", "cultural"]).to_numpy()
        correlation = np.corrcoef(estimate.ravel(), theta.ravel())[0, 1]
        print(
            f"seed {seed}: {rating.size:,} answers in {len(cells.frame):,} cells, {seconds:.0f} s, "
            f"{float(found.sample_stats['n_steps'].mean()):.0f} gradients a draw, R-hat "
            f"{table['r_hat'].max():.3f}, bulk-ESS {table['ess_bulk'].min():.0f}, "
            f"{int(found.sample_stats['diverging'].sum())} transitions diverged; correlation of "
            f"theta with the truth {correlation:.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
