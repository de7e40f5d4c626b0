"""Planned against achieved interval widths.

A pilot of four models is simulated from known parameters and fitted. For each of a list of designs
three widths of the 90 % intervals of leans, and of differences of two models, are compared: that
which the D-study of the pilot plans, that of studies simulated from the pilot's posterior, as
``plan.simulate=true`` does, and that achieved by studies whose models, statements and prompts are
drawn from the known parameters. ``--quick`` studies of some designs are also fitted quickly
(``sampler=laplace``), and the ratio of the widths is printed.

By default that takes some fifteen minutes of processor time.
"""

import argparse
import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

import numpy as np
import pandas as pd
import xarray as xr
from scipy.stats import norm

from polbayes.config.schema import AnalysisConfig, PlanConfig, SamplerConfig
from polbayes.fit.fit import fit
from polbayes.fit.posterior.d_study import precision
from polbayes.fit.posterior.generalizability import Plan, Scores
from polbayes.fit.sampling.laplace import QUICK
from polbayes.fit.spec.cells import gather_cells
from polbayes.fit.spec.spec import Spec, parse_spec
from polbayes.instrument.design import ModelInfo, design
from polbayes.instrument.prompts import Prefix
from polbayes.instrument.questionnaires import Instrument, Item, Variant
from polbayes.tasks.planning.basis import assumption, scores_of_fit
from polbayes.tasks.planning.populations import Population
from polbayes.tasks.planning.power import prefix_power
from polbayes.tasks.planning.simulation import Outcome, Simulator

LEVEL = 0.9
PARTS = {
    "theta": "~ 0 + dimension + (0 + dimension | model)",
    "decisiveness": "~ 1 + (1 | model)",
    "difficulty": "~ (1 | item)",
    "acquiescence": "~ 1 + (1 | model)",
    "steer": "~ (1 | gr(model:prefix, by = model))",
    "quirk": "~ (1 | model:item)",
    "wording": "~ (1 | item:variant)",
    "threshold": "~ (1 | model)",
}
# Models that repeat themselves, lean to either side and agree too much, as real ones do.
TRUTH = {
    "theta": {"common": "Normal(0, 0.01)", "sd": "Constant(0.8)"},
    "decisiveness": {"common": "Normal(1.2, 0.01)", "sd": "Constant(0.3)"},
    "acquiescence": {"common": "Normal(0.3, 0.01)", "model": {"sd": "Constant(0.4)"}},
    "difficulty": {"sd": "Constant(0.7)"},
    "steer": {"sd": "Constant(0.25)"},
    "wording": {"sd": "Constant(0.3)"},
    "threshold": {"sd": "Constant(0.1)"},
}
PILOT = {"items": 16, "wordings": 2, "prefixes": 3, "runs": 2}
# Models; statements on each dimension, wordings, prefixes and runs.
DESIGNS = (
    *((2, n, 1, 2, 1) for n in (8, 12, 20, 40)),
    *((2, 12, 2, 3, 1), (2, 20, 2, 2, 2), (2, 8, 2, 5, 1)),
    *((3, n, 2, 2, 1) for n in (8, 12, 20)),
    *((4, n, 1, 2, 1) for n in (8, 12, 20, 40)),
    *((4, 12, 1, 1, 3), (4, 12, 2, 3, 2), (4, 16, 3, 2, 1)),
    *((6, 8, 2, 2, 1), (6, 20, 1, 3, 1)),
    *((8, n, 1, 2, 1) for n in (8, 12, 20)),
)
NAMES = ("models", "items", "wordings", "prefixes", "runs")


def main() -> None:
    """Print a table of ratios of planned and achieved widths."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--planned", type=int, default=8, help="simulated studies of a design")
    parser.add_argument("--achieved", type=int, default=6, help="studies of known parameters")
    parser.add_argument("--quick", type=int, default=4, help="studies fitted by Laplace, too")
    parser.add_argument("--power", type=int, default=12, help="studies with effects of prefixes")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    spec, base = parse_spec(AnalysisConfig(parts=PARTS, unidentified="leave_out")), questions()
    known = truth(base, asked.seed)
    world = Simulator(known, spec, base, LEVEL, 0.1, asked.seed)
    posterior, scores = pilot(world, spec, asked.seed)
    plan = Simulator(posterior, spec, posterior_base(base), LEVEL, 0.1, asked.seed + 1)
    rows, started = [], time.process_time()
    for values in DESIGNS:
        numbers = dict(zip(NAMES, values, strict=True))
        models = numbers.pop("models")
        wanted = PlanConfig(width=1)
        simulated = widths(list(islice(plan.studies(numbers, models, wanted), asked.planned)))
        achieved = widths(list(islice(world.studies(numbers, models, wanted), asked.achieved)))
        said = d_study(scores, numbers)
        row = {"models": models, **numbers}
        for k, name in enumerate(("width", "difference")):
            row[name] = achieved[k]
            row[f"{name}_d_study"] = said[k] / achieved[k]
            row[f"{name}_simulated"] = simulated[k] / achieved[k]
        rows.append(row)
        print(pd.DataFrame([row]).round(2).to_string(index=False), flush=True)
    report(pd.DataFrame(rows))
    print(f"{time.process_time() - started:.0f} s of processor time", flush=True)
    compared(world, asked.quick)
    power(world, plan, scores, asked.power)


def questions() -> xr.Dataset:
    """Return the design that those of all studies are like: both keys, and reversed wordings."""
    wordings = (Variant("original", "x", "original", 1), Variant("opposite", "y", "opposite", -1))
    sides = ("economic", "cultural")
    items = [
        Item(f"i{n}", sides[n % 2], 1 if n % 4 < 2 else -1, "made up", wordings, {})
        for n in range(8)
    ]
    return design(
        [Instrument("tiny", "tiny", "tiny", tuple(items))],
        [Prefix("p", "p", "open")],
        [ModelInfo(f"m{n}", "{statement}") for n in range(8)],
        runs=2,
    )


def truth(base: xr.Dataset, seed: int) -> Population:
    """Return known parameters of eight models: one draw of the priors in `TRUTH`."""
    config = AnalysisConfig(parts=PARTS, priors=TRUTH)
    found = assumption(parse_spec(config), base, models=8, seed=seed)
    one = found.whole.isel(draw=[0])
    draws = xr.concat([one] * 100, dim="draw")
    models = tuple(str(name) for name in found.population.built.cells.order["model"])
    return Population(found.population.built, draws, models)


def pilot(world: Simulator, spec: Spec, seed: int) -> tuple[Population, Scores]:
    """Simulate and fit a pilot of four models."""
    rng = np.random.default_rng(seed)
    made = world.world(0, PILOT, 4, rng)
    cells = gather_cells(made.data, spec)
    fitted = fit(spec, cells, SamplerConfig(chains=2, draws=500), seed=seed)
    names = tuple(str(name) for name in cells.order["model"])
    population = Population(fitted.built, fitted.drawn, names)
    return population, scores_of_fit(fitted.built, fitted.drawn)


def posterior_base(base: xr.Dataset) -> xr.Dataset:
    """Return the questions of the pilot's models."""
    return base.isel(model=slice(4))


def widths(outcomes: Sequence[Outcome]) -> tuple[float, float]:
    """Return the mean widths of intervals of positions, and of differences."""
    own = np.mean([(one.upper - one.lower).mean(axis=0) for one in outcomes], axis=0)
    between = np.mean([one.between.mean(axis=0) for one in outcomes], axis=0)
    return float(own.max()), float(between.max())


def d_study(scores: Scores, numbers: dict[str, int]) -> tuple[float, float]:
    """Return the widths that the D-study plans."""
    z, plan = float(norm.ppf((1 + LEVEL) / 2)), Plan(**numbers)
    found = [precision(scores, name, [plan]) for name in scores.measures if name != "total"]
    own = max(float(one["se_bias"].mean()) for one in found)
    relative = max(float(one["se_bias_relative"].mean()) for one in found)
    return 2 * z * own, 2 * z * np.sqrt(2) * relative


def report(table: pd.DataFrame) -> None:
    """Print how far planned widths are from those achieved."""
    print(table.round(2).to_string(index=False))
    for column in (c for c in table if c.endswith(("_d_study", "_simulated"))):
        off = np.abs(table[column] - 1)
        print(
            f"{column:<22} ratio {table[column].mean():.2f} ({table[column].min():.2f} to "
            f"{table[column].max():.2f}), within 15 %: {(off <= 0.15).sum()} of {len(table)}"
        )


def compared(world: Simulator, number: int) -> None:
    """Compare the Laplace approximation with the sampler in the same studies of some designs."""
    wanted = PlanConfig(width=1)
    laplace = replace(world, sampler=QUICK)
    for values in (DESIGNS[1], DESIGNS[12], DESIGNS[15]):
        numbers = dict(zip(NAMES, values, strict=True))
        models = numbers.pop("models")
        full, quick = (
            widths(list(islice(one.studies(numbers, models, wanted), number)))
            for one in (world, laplace)
        )
        ratio = np.array(quick) / np.array(full)
        print(f"{values}: laplace / nutpie, width and difference: {ratio.round(2)}", flush=True)


def power(world: Simulator, plan: Simulator, scores: Scores, number: int) -> None:
    """Compare planned and achieved chances of finding the effect of a prefix."""
    for numbers in (
        {"items": 8, "wordings": 2, "prefixes": 3, "runs": 1},
        {"items": 16, "wordings": 2, "prefixes": 4, "runs": 2},
    ):
        wanted = PlanConfig(power=0.8, effect=0.2)
        whole = Plan(**{**numbers, "items": 2 * numbers["items"]})
        said = prefix_power(scores, whole, wanted, level=LEVEL, rope=0.1).mean()
        simulated, achieved = (
            np.mean([one.found for one in islice(several, number)])
            for several in (s.studies(numbers, 4, wanted, planted=True) for s in (plan, world))
        )
        print(
            f"{tuple(numbers.values())}: effect of 0.2 found, D-study {said:.2f}, simulated "
            f"{simulated:.2f}, achieved {achieved:.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
