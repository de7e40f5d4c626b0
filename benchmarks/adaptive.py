"""Adaptive probing against random and balanced selection: interval widths, and coverage.

``python benchmarks/adaptive.py --simulations 20`` draws parameters from the priors and answers from
the model, so that the true positions are known, and intervals cover them at their nominal rate if
neither the choice of questions nor the sampler goes wrong. ``--pool FOLDER +experiment=NAME ...``
takes the folder of a run whose stage code is done, and its config: its answers are a pool from
which cells are drawn, with ``--seeds`` 1, 2, .... Each way of choosing may put ``--part`` of the
questions, by default a quarter; the yardstick is the full design. All fits are quick ones
(``sampler=laplace``), with ``--draws`` draws of each of four chains.

``--bound``, with a pool, prints in place of that how wide intervals would be if everything were
linear and normal and scales and thresholds were known from all answers: of a random part of the
answers, and of one chosen one by one as in adaptive probing, knowing where every answer tells much.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

from polbayes.config.compose import compose
from polbayes.config.schema import AnalysisConfig, ProbingConfig, SamplerConfig
from polbayes.data.dataset import ASKED, CELL_DIMS, MISSING, STATUS, read_dataset
from polbayes.fit.analysis import parse_analysis
from polbayes.fit.density import kernel
from polbayes.fit.density.model import Built, build
from polbayes.fit.fit import fit
from polbayes.fit.posterior.information import most_informative
from polbayes.fit.posterior.naming import name_posterior
from polbayes.fit.posterior.pointwise import Draws, draws_of
from polbayes.fit.sampling.imputation import with_integrated
from polbayes.fit.sampling.laplace import QUICK
from polbayes.fit.sampling.sample import sample
from polbayes.fit.spec.cells import gather_cells, levels
from polbayes.fit.spec.reduction import reduced
from polbayes.fit.spec.spec import Spec, parse_spec
from polbayes.fit.spec.terms import bind
from polbayes.instrument.design import ModelInfo, design
from polbayes.instrument.prompts import Prefix
from polbayes.instrument.questionnaires import Instrument, Item, Variant
from polbayes.run.adaptive import (
    Policy,
    _questions,
    _start,
    _with_chosen,
    probe_adaptively,
)

LEVEL = 0.9
PARTS = {
    "theta": "~ 0 + dimension + (0 + dimension | model)",
    "decisiveness": "~ 1",
    "difficulty": "~ (1 | item)",
    "acquiescence": "~ 1 + (1 | model)",
    "steer": "~ (1 | model:prefix)",
    "quirk": "~ (1 | model:item)",
    "wording": "~ (1 | item:variant)",
}
# As the priors of the analysis, from which the worlds are drawn. Models say much the same each
# time, as most real ones do.
PRIORS = {
    "decisiveness.Intercept": "Normal(0.9, 0.3)",
    "cutpoints": "LogNormal(-0.4, 0.3)",
    "difficulty.sd": "HalfNormal(1)",
    "acquiescence.model.sd": "HalfNormal(0.5)",
    "steer.sd": "HalfNormal(0.3)",
    "wording.sd": "HalfNormal(0.3)",
}
MODELS, ITEMS, PREFIXES = 2, 10, 2
# Prior standard deviation of coefficients, which answers know well.
FLAT = 1.5


def main() -> None:
    """Print mean widths and coverage by way of choosing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=10)
    parser.add_argument("--part", type=float, default=0.25)
    parser.add_argument("--compared", type=int, default=20, help="simulations with all ways")
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--first", type=int, default=0, help="number of the first simulation")
    parser.add_argument("--pool", help="the folder of a run whose answers are drawn from")
    parser.add_argument("--keep", action="append", default=[], help="of it, e.g. run=2: the first")
    parser.add_argument("--seeds", type=int, default=1, help="choices from a pool")
    parser.add_argument("--bound", action="store_true", help="of linear widths, in a pool")
    parser.add_argument("config", nargs="*", help="of that run")
    asked = parser.parse_args()
    if asked.pool:
        config, _ = compose([*asked.config, f"run_dir={asked.pool}"])
        spec = parse_analysis(config.analysis, config.sampler)
        assert isinstance(spec, Spec)
        first = {name: slice(int(n)) for name, n in (one.split("=") for one in asked.keep)}
        data = read_dataset(Path(asked.pool) / "responses.nc").isel(first)
        if asked.bound:
            bound(data, spec, asked.part, replace(QUICK, draws=asked.draws))
            return
        worlds = ((seed, spec, data, None) for seed in range(asked.seeds))
    else:
        spec = parse_spec(AnalysisConfig(parts=PARTS, priors=PRIORS, unidentified="leave_out"))
        last = asked.first + asked.simulations
        worlds = ((seed, spec, *world(seed)) for seed in range(asked.first, last))
    found, started = [], time.process_time()
    for seed, spec, data, theta in worlds:
        sampler, alone = replace(QUICK, draws=asked.draws), len(found) >= asked.compared
        ends = ways(data, spec, seed, asked.part, sampler, alone=alone)
        found.append({name: (one, theta) for name, one in ends})
        if len(found) % 10 == 0 or asked.pool:
            report(found)
    if len(found) % 10:
        report(found)
    print(f"{time.process_time() - started:.0f} s of processor time")


def world(seed: int) -> tuple[xr.Dataset, np.ndarray]:
    """Draw parameters, and answers to every question; return also theta ``[model, dimension]``."""
    rng = np.random.default_rng(1000 + seed)
    wordings = (Variant("original", "x", "original", 1), Variant("opposite", "y", "opposite", -1))
    dims = ["economic", "cultural"]
    items = [
        Item(f"i{n}", dims[n % 2], 1 if n % 4 < 2 else -1, "made up", wordings, {})
        for n in range(ITEMS)
    ]
    empty = design(
        [Instrument("tiny", "tiny", "tiny", tuple(items))],
        [Prefix(f"p{n}", f"p{n}", "open") for n in range(PREFIXES)],
        [ModelInfo(f"m{n}", "{statement}") for n in range(MODELS)],
        runs=2,
    )
    # LKJ(2) of two dimensions is this distribution of the correlation.
    spread, cor = abs(rng.normal(0, 1, 2)), 2 * rng.beta(2, 2) - 1
    around = rng.normal(size=(MODELS, 2)) @ np.linalg.cholesky([[1, cor], [cor, 1]]).T
    around -= around.mean(axis=0)  # as the analysis has it
    theta = rng.normal(0, 1, 2) + around * spread
    of_item = np.array([dims.index(str(d)) for d in empty["dimension"].values])
    difficulty = effects(rng, 1.0, ITEMS)
    belief = theta[:, of_item] - difficulty + rng.normal(0, 1.0, (MODELS, ITEMS))
    steer, wording = effects(rng, 0.3, (MODELS, PREFIXES)), effects(rng, 0.3, (ITEMS, 2))
    wording -= wording.mean()
    agree = effects(rng, 0.5, MODELS)
    agree += rng.normal(0, 1) - agree.mean()
    keying = empty["keying"].transpose("item", "variant").to_numpy()[None, :, :, None, None]
    latent = keying * (belief[:, :, None, None, None] + steer[:, None, None, :, None])
    latent = latent + agree[:, None, None, None, None] + wording[None, :, :, None, None]
    noise = rng.logistic(size=empty["status"].shape) / np.exp(rng.normal(0.9, 0.3))
    edge = np.exp(rng.normal(-0.4, 0.3)) / 2
    stance = np.where(latent + noise > edge, 1, np.where(latent + noise < -edge, -1, 0))
    ready = empty.assign(stance=(CELL_DIMS, stance.astype(np.int8)))
    ready["status"] = ready["status"].copy(data=np.full(stance.shape, STATUS["ok"], np.int8))
    return ready, theta


def effects(rng: np.random.Generator, scale: float, shape: int | tuple[int, ...]) -> np.ndarray:
    """Draw normal effects with a half-normal standard deviation."""
    return np.asarray(rng.normal(0, abs(rng.normal(0, scale)), shape))


def ways(
    data: xr.Dataset, spec: Spec, seed: int, part: float, sampler: SamplerConfig, *, alone: bool
) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the intervals ``[end, model, dimension]`` of theta by way of choosing.

    Those of the adaptive design are of the last fit by which it was chosen; if it is `alone`, no
    other is fitted.
    """
    status = data["status"].transpose(*CELL_DIMS)
    pending = np.where(status.values >= ASKED, STATUS["pending"], status.values).astype(np.int8)
    stance = data["stance"].transpose(*CELL_DIMS).values
    blank = data.drop_vars([str(v) for v in data.data_vars if v != "status"])
    blank = blank.assign(status=status.copy(data=pending))

    def put(chosen: xr.Dataset) -> xr.Dataset:
        now = chosen["status"].transpose(*CELL_DIMS).values == STATUS["pending"]
        given = np.where(now, status.values, chosen["status"].transpose(*CELL_DIMS).values)
        return chosen.assign(
            status=(CELL_DIMS, given.astype(np.int8)),
            stance=(CELL_DIMS, np.where(now, stance, MISSING).astype(np.int8)),
        )

    questions = _questions(blank)
    most = int(part * len(questions))
    policy = Policy(
        ProbingConfig(kind="adaptive", budget=part, start=0.4 * part, batch=0.3 * part),
        spec,
        LEVEL,
        seed,
    )
    with tempfile.TemporaryDirectory() as folder:
        chosen = probe_adaptively(blank, policy, put, Path(folder))
    theta = pd.DataFrame(json.loads(chosen.attrs["adaptive"])["theta"])
    found = theta.set_index(["model", "dimension"]).to_xarray().to_dataarray("end")
    names = {"model": data["model"].values, "dimension": dimensions(data)}
    yield "adaptive", found.sel(names).transpose("end", "model", "dimension").to_numpy()
    if alone:
        return
    yield "full", intervals(put(blank), spec, seed, sampler)
    rng = np.random.default_rng(seed)
    random = rng.choice(len(questions), most, replace=False)
    yield "random", intervals(put(_with_chosen(blank, questions, random)), spec, seed, sampler)
    balanced = _start(questions, most, seed)
    yield "balanced", intervals(put(_with_chosen(blank, questions, balanced)), spec, seed, sampler)


def intervals(data: xr.Dataset, spec: Spec, seed: int, sampler: SamplerConfig) -> np.ndarray:
    """Return ``[end, model, dimension]`` the intervals of theta."""
    cells = gather_cells(data, spec)
    spec, _ = reduced(spec, cells)
    posterior = fit(spec, cells, sampler, seed=seed + 1).posterior
    ends = [(1 - LEVEL) / 2, (1 + LEVEL) / 2]
    theta = posterior["theta"].sel(dimension=dimensions(data)).quantile(ends, ["chain", "draw"])
    return np.asarray(theta.transpose("quantile", "model", "dimension").values)


def bound(data: xr.Dataset, spec: Spec, part: float, sampler: SamplerConfig) -> None:
    """Print the widths of a linear model with known scales, relative to those of all answers."""
    cells = gather_cells(data, spec)
    spec, _ = reduced(spec, cells)
    built = build(spec, cells, bind(spec, cells))
    drawn = with_integrated(built, sample(built, sampler, seed=1)[0], seed=1)
    x, theta, noise = linearised(built, draws_of(drawn))
    answers = cells.counts.sum(axis=1)

    def widths(number: np.ndarray) -> float:
        """Return the mean standard deviation of theta, given so many answers in each cell."""
        precision = np.eye(x.shape[1]) + (x.T * (number / noise)) @ x
        return float(np.sqrt((theta * np.linalg.solve(precision, theta.T).T).sum(axis=1)).mean())

    exact = name_posterior(built, drawn)["theta"].std(("chain", "draw")).mean()
    full, most = widths(answers), int(part * answers.sum())
    print(f"all answers: linear widths are {full / float(exact):.3f} times those of the fit")
    each, rng = np.repeat(np.arange(len(answers)), answers.astype(int)), np.random.default_rng(0)
    ways = [rng.choice(len(each), most, replace=False) for _ in range(5)]
    # Deviates of either sign are draws with the covariances of the prior.
    draws = np.sqrt(x.shape[1]) * np.concatenate([np.eye(x.shape[1]), -np.eye(x.shape[1])])
    ways.append(
        most_informative(
            draws @ x[each].T,
            noise[each],
            np.ones(len(each)),
            draws @ theta.T,
            number=most,
            cost=np.ones(len(each)),
            allowed=lambda _: True,
            chosen=lambda _: None,
        )
    )
    *random, best = (
        widths(np.bincount(each[chosen], minlength=len(answers))) / full for chosen in ways
    )
    print(f"random   {spread(random)}\ngreedy   {best:.3f}")


def linearised(built: Built, draws: Draws) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Linearise a model without discriminations around its posterior.

    Returns
    -------
    x : numpy.ndarray
        ``[cell, deviate]`` the predictor of standardised effects.
    theta : numpy.ndarray
        ``[position, deviate]``.
    noise : numpy.ndarray
        ``[cell]`` variance of the predictor for which one answer stands, by the regression of
        expected answers on the predictor.
    """
    at, found = built.layout.answers, []
    for effects, gaps in zip(draws.effects, draws.gaps, strict=True):
        eta, own = kernel.forward(effects, *at.plain)
        answer = built.spec.observation.moments(eta, own, gaps)
        found.append((eta / kernel.sharpness(effects, *at.plain)[0], answer.net, answer.variance))
    eta, net, variance = map(np.array, zip(*found, strict=True))
    eta, net = eta - eta.mean(axis=0), net - net.mean(axis=0)
    slope = (eta * net).mean(axis=0) / (eta**2).mean(axis=0)
    left = variance.mean(axis=0) + ((net - slope * eta) ** 2).mean(axis=0)

    scale, of_theta = np.full(draws.effects.shape[1], FLAT), np.zeros(draws.effects.shape[1], bool)
    for block in built.layout.blocks:
        if block.group is not None:
            scale[block.start : block.stop] = draws.scales.mean(axis=0)[block.every_scale]
        of_theta[block.start : block.stop] = block.part == "theta"
    weight, rows = np.broadcast_to(at.weight, at.index.shape), np.arange(len(at.index))
    x = np.zeros((len(rows), len(scale)))
    for role in (kernel.ASKED, kernel.DISCRIMINATED, kernel.BELIEVED):
        sign = 1.0 if role == kernel.ASKED else at.keying
        for term in range(at.roles[role], at.roles[role + 1]):
            x[rows, at.index[:, term]] += sign * weight[:, term]
    place, places = levels(built.cells.frame, ["model", "dimension"])
    theta = np.array([(x * at.keying[:, None])[place == k].mean(0) for k in range(len(places))])
    return x * scale, np.where(of_theta, theta * scale, 0.0), left / np.maximum(slope**2, 1e-6)


def dimensions(data: xr.Dataset) -> list[str]:
    """Return the dimensions in the order of the data."""
    return list(dict.fromkeys(name for name in data["dimension"].values.tolist() if name))


def report(found: list[dict[str, tuple[np.ndarray, np.ndarray | None]]]) -> None:
    """Print widths relative to the full design, and coverage where the truth is known."""
    print(f"{len(found)} designs")
    for name in ("full", "random", "balanced", "adaptive"):
        both = [one for one in found if name in one]
        ratio = [width(one[name][0]) / width(one["full"][0]) for one in both if "full" in one]
        inside = [covered(*one[name]) for one in both if one[name][1] is not None]
        said = []
        if ratio:
            said.append(f"widths {spread(ratio)} times those of the full design")
        if inside:
            said.append(f"coverage {spread(inside)}")
        print(f"{name:<9}", "; ".join(said), flush=True)


def spread(values: list[float]) -> str:
    """Return a mean with its standard error, and of how many values."""
    return f"{np.mean(values):.3f} ± {np.std(values) / len(values) ** 0.5:.3f} ({len(values)})"


def width(ends: np.ndarray) -> float:
    """Return the mean width of intervals ``[end, model, dimension]``."""
    return float((ends[1] - ends[0]).mean())


def covered(ends: np.ndarray, theta: np.ndarray) -> float:
    """Return the part of the intervals ``[end, model, dimension]`` that have the true theta."""
    return float(((ends[0] <= theta) & (theta <= ends[1])).mean())


if __name__ == "__main__":
    main()
