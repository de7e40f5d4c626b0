"""Coverage of 90 % intervals in worlds that violate the model's assumptions.

Five models answer fourteen statements per dimension, with two prefixes, three times; statements and
quirks are drawn anew for every data set. The estimands are θ, differences of θ and the
lean of each model, all on statements like those asked. The true lean is the mean over 100,000 new
statements of the same world. Worlds:

own            the model's own
heavy          quirks with a t distribution of three degrees of freedom, scaled to variance 1
topics         statements in seven topics per dimension; half of the quirks' variance is by topic
topics_known   the same, and the spec has the term (1 | model:topic)
one_decided    one model that never wavers
temperature_0  the three runs of all models are copies of one answer
keyed_wording  wordings add to agreement with statements of the right, but not of the left
missing        three tenths of the answers to statements of the left are missing
two_models     the model's own, with two models
one_model      the same with one model, and the spec for one; difficulties are then part of its
               quirks
"""

import argparse
import multiprocessing
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from polbayes.config.schema import AnalysisConfig, SamplerConfig
from polbayes.data.dataset import NOT_ASKED, STATUS
from polbayes.fit.fit import fit
from polbayes.fit.spec.cells import gather_cells
from polbayes.fit.spec.spec import parse_spec
from polbayes.instrument.design import ModelInfo, design
from polbayes.instrument.prompts import Prefix
from polbayes.instrument.questionnaires import Instrument, Item, Variant

MODELS, ITEMS, PREFIXES, RUNS = 5, 14, 2, 3
WORLDS = (
    *("own", "heavy", "topics", "topics_known", "one_decided", "temperature_0", "keyed_wording"),
    *("missing", "two_models", "one_model"),
)
FEWER = {"two_models": 2, "one_model": 1}
PARTS = {
    "theta": "~ 0 + dimension + (0 + dimension | model)",
    "decisiveness": "~ 1 + (1 | model)",
    "difficulty": "~ (1 | item)",
    "acquiescence": "~ 1 + (1 | model) + (1 | gr(model:prefix, by = model))",
    "steer": "~ (1 | gr(model:prefix, by = model))",
    "quirk": "~ (1 | model:item)",
    "wording": "~ (1 | gr(model:item:variant:prefix, by = model))",
    "threshold": "~ (1 | model)",
}
ALONE = {
    **{name: text for name, text in PARTS.items() if name not in ("difficulty", "threshold")},
    "theta": "~ 0 + dimension",
    "decisiveness": "~ 1",
    "acquiescence": "~ 1 + (1 | gr(model:prefix, by = model))",
}
WIDTH, DIFFICULTY, STEER, PROMPT, KEYED = 0.4, 0.6, 0.2, 0.3, 0.5
SHARP = 1e6


def believed(world: str, models: int, items: int, rng: np.random.Generator) -> np.ndarray:
    """Draw ``[model, item]`` quirks minus difficulties."""
    quirk = rng.normal(0, 1, (models, items))
    if world == "heavy":
        quirk = rng.standard_t(3, (models, items)) / np.sqrt(3)
    if world.startswith("topics"):
        topic = np.arange(items) // 2
        shared = rng.normal(0, 1, (models, topic.max() + 1))[:, topic]
        quirk = np.sqrt(0.5) * (quirk + shared)
    return quirk - rng.normal(0, DIFFICULTY, items)


def stances(
    world: str,
    theta: np.ndarray,
    asked: np.ndarray,
    kappa: np.ndarray,
    keying: np.ndarray,
    runs: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """Draw ``[model, item, prefix, run]`` stances of models with these positions on a dimension."""
    models, items = len(theta), len(keying)
    belief = theta[:, None] + believed(world, models, items, rng)
    prefix = rng.normal(0, STEER, (2, models, 1, PREFIXES))
    eta = asked[:, None, None] + prefix[0] + rng.normal(0, PROMPT, (models, items, PREFIXES))
    eta = eta + keying[:, None] * (belief[:, :, None] + prefix[1])
    if world == "keyed_wording":
        eta = eta + KEYED * (keying > 0)[:, None] * rng.normal(1, 0.5, (items, 1))
    noise = rng.logistic(size=(*eta.shape, runs)) / kappa[:, None, None, None]
    latent = eta[..., None] + noise
    return (np.sign(latent) * (np.abs(latent) > WIDTH)).astype(np.int8)


def simulate(world: str, rng: np.random.Generator) -> tuple[Any, np.ndarray, np.ndarray]:
    """Draw a coded dataset, true θ and true lean, both ``[model, dimension]``."""
    models = FEWER.get(world, MODELS)
    theta = rng.normal(-0.4, 0.8, (models, 2))
    asked = rng.normal(0.2, 0.3, models)
    kappa = np.exp(rng.normal(1.0, 0.6, models))
    if world == "one_decided":
        kappa[-1] = SHARP
    if world == "temperature_0":
        kappa[:] = SHARP
    keying = np.where(np.arange(ITEMS) % 2, 1, -1)
    many = np.where(np.arange(1000) % 2, 1, -1)
    answers, lean = [], []
    for d in range(2):
        answers.append(stances(world, theta[:, d], asked, kappa, keying, RUNS, rng))
        new = [
            stances(world, theta[:, d], asked, kappa, many, 1, rng).mean(axis=(2, 3))
            for _ in range(100)  # pairs of prefixes
        ]
        sides = [np.mean([n[:, many == s].mean(axis=1) for n in new], axis=0) for s in (1, -1)]
        lean.append((sides[0] - sides[1]) / 2)
    items = tuple(
        Item(
            f"{dimension[0]}{k}",
            dimension,
            int(keying[k]),
            "made up",
            (Variant("original", f"statement {k} on {dimension} matters", "original", 1),),
            {},
            topic=f"{dimension[0]}{k // 2}",
        )
        for dimension in ("economic", "cultural")
        for k in range(ITEMS)
    )
    data = design(
        [Instrument("made_up", "made up", "made up", items)],
        [Prefix(f"p{k}", f"prefix {k}", "open") for k in range(PREFIXES)],
        [ModelInfo(f"m{k}", "{statement}") for k in range(models)],
        runs=RUNS,
    )
    stance = np.concatenate(answers, axis=1)[:, :, None]
    there = np.ones(stance.shape, dtype=bool)
    if world == "missing":
        left = np.tile(keying, 2) < 0
        there[:, left] = rng.random(there[:, left].shape) > 0.3
    dims = data["status"].dims
    status = np.where(there, STATUS["ok"], NOT_ASKED).astype(np.int8)
    return data.assign(status=(dims, status), stance=(dims, stance)), theta, np.stack(lean, axis=1)


def one(world: str, tune: int, draws: int, seed: int) -> dict[str, Any]:
    """Fit one data set; return coverage and mean width of the intervals."""
    data, theta, lean = simulate(world, np.random.default_rng([WORLDS.index(world), seed]))
    parts = dict(ALONE if world == "one_model" else PARTS)
    if world == "one_model":
        theta = theta / np.hypot(1, DIFFICULTY)  # in units of quirks and difficulties
    if world == "topics_known":
        parts["quirk"] += " + (1 | model:topic)"
        theta = theta / np.sqrt(0.5)  # in units of the spread by statement alone
    spec = parse_spec(AnalysisConfig(parts=parts))
    sampler = SamplerConfig(chains=2, tune=tune, draws=draws, target_accept=0.85)
    posterior = fit(spec, gather_cells(data, spec), sampler, seed=seed).posterior
    posterior = posterior.sel(dimension=["economic", "cultural"])
    found = posterior["theta"].stack(sample=("chain", "draw")).transpose("sample", ...).to_numpy()
    of_lean = posterior["lean"].stack(sample=("chain", "draw")).transpose("sample", ...).to_numpy()
    first, second = np.triu_indices(len(theta), 1)
    differences, true = found[:, first] - found[:, second], theta[first] - theta[second]
    names = ("difference of θ", "lean", "θ")
    row: dict[str, Any] = {"world": world, "seed": seed}
    row |= {key: np.nan for name in names for key in (name, f"width, {name}")}
    compared = [("difference of θ", differences, true)] if len(theta) > 1 else []
    for name, draws_of, truth in (*compared, ("lean", of_lean, lean), ("θ", found, theta)):
        low, high = np.quantile(draws_of, (0.05, 0.95), axis=0)
        row[name] = float(((low < truth) & (truth < high)).mean())
        row[f"width, {name}"] = float((high - low).mean())
    return row


def fitted(path: Path | None, world: str) -> dict[int, dict[str, Any]]:
    """Read the rows of a world from an earlier call, by seed."""
    if path is None or not path.exists():
        return {}
    table = pd.read_csv(path)
    return {row["seed"]: row for row in table[table["world"] == world].to_dict("records")}


def main() -> None:
    """Print coverage with its standard error, by independent data sets."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", type=int, default=200, help="data sets a world")
    parser.add_argument("--tune", type=int, default=250, help="warm-up draws a chain")
    parser.add_argument("--draws", type=int, default=250, help="draws a chain, of two")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--worlds", nargs="+", default=list(WORLDS), choices=WORLDS)
    parser.add_argument("--rows", type=Path, help="CSV with data sets fitted before; grows")
    given = parser.parse_args()
    for world in given.worlds:
        before = fitted(given.rows, world)
        left = [seed for seed in range(given.sets) if seed not in before]
        rows = list(before.values())
        with multiprocessing.get_context("spawn").Pool(given.jobs) as pool:
            fits = pool.imap_unordered(partial(one, world, given.tune, given.draws), left)
            for row in fits:
                rows.append(row)
                if given.rows:
                    new = not given.rows.exists()
                    pd.DataFrame([row]).to_csv(given.rows, mode="a", header=new, index=False)
        table = pd.DataFrame(rows)
        names = [c for c in ("difference of θ", "lean", "θ") if table[c].notna().any()]
        text = ", ".join(
            f"{c} {table[c].mean():.3f} ± {table[c].std() / np.sqrt(len(table)):.3f}"
            f" (width {table[f'width, {c}'].mean():.2f})"
            for c in names
        )
        print(f"{world} ({len(table)} data sets): {text}", flush=True)


if __name__ == "__main__":
    main()
