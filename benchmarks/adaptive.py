"""Adaptive probing against random and balanced selection: interval widths, and coverage.

``python benchmarks/adaptive.py --simulations 20`` draws answers from the model, so that the true
positions are known. ``--pool FOLDER +experiment=NAME ...`` takes the folder of a run whose stage
code is done, and its config: its answers are a pool from which cells are drawn. Each way of
choosing may put ``--part`` of the questions, by default a quarter; the yardstick is the full
design. All fits are Laplace approximations.
"""

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import xarray as xr

from polbayes.config.compose import compose
from polbayes.config.schema import AnalysisConfig, ProbingConfig, SamplerConfig
from polbayes.data.dataset import ASKED, CELL_DIMS, MISSING, STATUS, read_dataset
from polbayes.fit.analysis import parse_analysis
from polbayes.fit.fit import fit
from polbayes.fit.spec.cells import gather_cells
from polbayes.fit.spec.reduction import reduced
from polbayes.fit.spec.spec import Spec, parse_spec
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
MODELS, ITEMS, PREFIXES = 4, 24, 3
SHARP = 2.5  # decisiveness: models say much the same each time, as most real ones do


def main() -> None:
    """Print mean widths and coverage by way of choosing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=10)
    parser.add_argument("--part", type=float, default=0.25)
    parser.add_argument("--pool", help="the folder of a run whose answers are drawn from")
    parser.add_argument("config", nargs="*", help="of that run")
    asked = parser.parse_args()
    if asked.pool:
        config, _ = compose([*asked.config, f"run_dir={asked.pool}"])
        spec = parse_analysis(config.analysis, config.sampler)
        assert isinstance(spec, Spec)
        data = read_dataset(Path(asked.pool) / "responses.nc")
        report([{name: (w, None) for name, w in ways(data, spec, config.seed, asked.part)}])
        return
    spec, found = parse_spec(AnalysisConfig(parts=PARTS)), []
    for seed in range(asked.simulations):
        data, theta = world(seed)
        found.append({name: (ends, theta) for name, ends in ways(data, spec, seed, asked.part)})
        report(found)


def world(seed: int) -> tuple[xr.Dataset, np.ndarray]:
    """Draw answers to every question; return also theta ``[model, dimension]``."""
    rng = np.random.default_rng(1000 + seed)
    wordings = (Variant("original", "x", "original", 1), Variant("opposite", "y", "opposite", -1))
    sides = ("economic", "cultural")
    items = [
        Item(f"i{n}", sides[n % 2], 1 if n % 4 < 2 else -1, "made up", wordings, {})
        for n in range(ITEMS)
    ]
    empty = design(
        [Instrument("tiny", "tiny", "tiny", tuple(items))],
        [Prefix(f"p{n}", f"p{n}", "open") for n in range(PREFIXES)],
        [ModelInfo(f"m{n}", "{statement}") for n in range(MODELS)],
        runs=2,
    )
    dims = ["economic", "cultural"]
    theta = rng.normal(0, 0.8, (MODELS, 2))
    of_item = np.array([dims.index(str(d)) for d in empty["dimension"].values])
    difficulty, wording = rng.normal(0, 0.7, ITEMS), rng.normal(0, 0.3, (ITEMS, 2))
    for d in range(2):
        difficulty[of_item == d] -= difficulty[of_item == d].mean()
    belief = theta[:, of_item] - difficulty + rng.normal(0, 1.0, (MODELS, ITEMS))
    steer, agree = rng.normal(0, 0.3, (MODELS, PREFIXES)), rng.normal(0.3, 0.4, MODELS)
    steer -= steer.mean(axis=1, keepdims=True)
    wording -= wording.mean()
    keying = empty["keying"].transpose("item", "variant").to_numpy()[None, :, :, None, None]
    latent = keying * (belief[:, :, None, None, None] + steer[:, None, None, :, None])
    latent = latent + agree[:, None, None, None, None] + wording[None, :, :, None, None]
    latent = SHARP * latent + rng.logistic(size=empty["status"].shape)
    stance = np.where(latent > SHARP / 3, 1, np.where(latent < -SHARP / 3, -1, 0)).astype(np.int8)
    ready = empty.assign(stance=(CELL_DIMS, stance))
    ready["status"] = ready["status"].copy(data=np.full(stance.shape, STATUS["ok"], np.int8))
    return ready, theta


def ways(data: xr.Dataset, spec: Spec, seed: int, part: float) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the intervals ``[end, model, dimension]`` of theta by way of choosing."""
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
    yield "full", intervals(put(blank), spec, seed)
    rng = np.random.default_rng(seed)
    random = rng.choice(len(questions), most, replace=False)
    yield "random", intervals(put(_with_chosen(blank, questions, random)), spec, seed)
    balanced = _start(questions, most, seed)
    yield "balanced", intervals(put(_with_chosen(blank, questions, balanced)), spec, seed)
    policy = Policy(
        ProbingConfig(kind="adaptive", budget=part, start=part / 5, batch=part / 5),
        spec,
        LEVEL,
        seed,
    )
    with tempfile.TemporaryDirectory() as folder:
        chosen = probe_adaptively(blank, policy, put, Path(folder))
    yield "adaptive", intervals(put(chosen), spec, seed)


def intervals(data: xr.Dataset, spec: Spec, seed: int) -> np.ndarray:
    """Return ``[end, model, dimension]`` the intervals of theta."""
    cells = gather_cells(data, spec)
    spec, _ = reduced(spec, cells)
    posterior = fit(spec, cells, SamplerConfig(backend="laplace"), seed=seed + 1).posterior
    ends = [(1 - LEVEL) / 2, (1 + LEVEL) / 2]
    dimensions = list(dict.fromkeys(data["dimension"].values.tolist()))
    theta = posterior["theta"].sel(dimension=dimensions).quantile(ends, ["chain", "draw"])
    return np.asarray(theta.transpose("quantile", "model", "dimension").values)


def report(found: list[dict[str, tuple[np.ndarray, np.ndarray | None]]]) -> None:
    """Print widths relative to the full design, and coverage where the truth is known."""
    print(f"{len(found)} worlds")
    for name in found[0]:
        ratio, inside = [], []
        for world_ in found:
            (low, high), theta = world_[name]
            full = world_["full"][0]
            ratio.append(((high - low) / (full[1] - full[0])).mean())
            if theta is not None:
                inside.append(((low <= theta) & (theta <= high)).mean())
        said = f"{name:<9} width {np.mean(ratio):.2f} of that of the full design"
        if inside:
            said += f", coverage {np.mean(inside):.3f} ± {np.std(inside) / len(inside) ** 0.5:.3f}"
        print(said, flush=True)


if __name__ == "__main__":
    main()
