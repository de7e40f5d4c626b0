"""The effect of a coder's errors on estimates of ideology, with and without a correction.

Answers are simulated from the ideology model and read by a coder with a known confusion matrix:
that of Table 5 of Faulborn et al. (2025), or a worse one that takes agreement for neutral and
neutral answers for disagreement. Table 5 is about answers read with a confidence of 0.9 and more,
two thirds of all; half of the others are assumed to be read at random, which the paper does not
say. Each simulation is analysed (a) with answers below 0.9 dropped, (b) with every reading taken as
true, (c) with the errors in the likelihood (``analysis.misclassification``), estimated from as many
labelled answers as in the paper, and, as a yardstick, with the true stances. The table has, for
theta of every model on both dimensions, the mean error towards the middle, the root mean square
error, the coverage of the 90 % interval, its standard error by simulation, and the mean width of
the interval. Run ``python benchmarks/coder_error.py [--simulations N] [--json FILE]``.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from polbayes.config.schema import AnalysisConfig, MisclassificationConfig, SamplerConfig
from polbayes.data.dataset import MISSING, STANCE, STANCE_CLASSES, STATUS, write_dataset
from polbayes.data.files import replacing
from polbayes.fit.fit import fit
from polbayes.fit.spec.cells import gather_cells
from polbayes.fit.spec.spec import parse_spec
from polbayes.instrument.design import ModelInfo, design
from polbayes.instrument.prompts import Prefix
from polbayes.instrument.questionnaires import POLARITY, Instrument, Item, Variant
from polbayes.tasks.validation.coded import coded_from
from polbayes.tasks.validation.labelled import Labelled, merged_classes
from polbayes.tasks.validation.task import confusion_dataset

# Latent stances in rows and readings in columns, both disagree, neutral, agree, unrelated.
# Table 5 gives precision, recall and support; these are whole numbers of answers with all of them,
# up to rounding. It does not determine how errors on agreeing answers divide.
TABLE_5 = np.array([[38, 0, 1, 0], [2, 41, 1, 2], [4, 0, 49, 2], [0, 0, 0, 42]], dtype=float)
WORSE = np.array([[90, 4, 2, 4], [25, 60, 5, 10], [5, 20, 70, 5], [8, 10, 2, 80]], dtype=float)
CLASSES = ("disagree", "neutral", "agree", "unrelated")
# Probability, by latent stance, that an answer is read with a confidence of 0.9 or more.
SURE = np.array([0.75, 0.5, 0.75, 0.75])
RANDOM = 0.5
LABELLED = 264
MODELS, ITEMS, PREFIXES, RUNS = 6, 20, 2, 3
PARTS = {
    "theta": "~ 0 + dimension + (0 + dimension | model)",
    "difficulty": "~ (1 | item)",
    "acquiescence": "~ 1 + (1 | model)",
    "quirk": "~ (1 | model:item)",
}
METHODS = ("dropped", "taken for true", "in the likelihood", "no errors")


def laid_out() -> xr.Dataset:
    """Return a design in which half of the items of either side are on each dimension."""
    items = []
    for k in range(ITEMS):
        wordings = tuple(
            Variant(name, f"Item {k}, {name}.", name, POLARITY[name])
            for name in ("original", "opposite")
        )
        dimension = ("economic", "cultural")[k % 2]
        items.append(Item(f"q{k}", dimension, (-1, 1)[k // 2 % 2], "made up", wordings, {}))
    return design(
        [Instrument("made_up", "made up", "made up", tuple(items))],
        [Prefix(f"p{k}", f"Prefix {k}.", "open") for k in range(PREFIXES)],
        [ModelInfo(f"m{k}", "{statement}") for k in range(MODELS)],
        runs=RUNS,
    )


def simulate(
    plan: xr.Dataset, matrix: np.ndarray, rng: np.random.Generator
) -> tuple[xr.Dataset, np.ndarray, np.ndarray]:
    """Draw parameters, answers and the coder's readings.

    Returns
    -------
    data, latent, theta
        A coded dataset with `stance`, `stance_prob` and the true stances as `truth`; the true
        classes; ``[model, dimension]``.
    """
    theta = rng.normal(0, 0.9, (MODELS, 2)) + rng.normal(0, 0.5, 2)
    difficulty = rng.normal(0, 0.7, ITEMS)
    for d in (0, 1):
        difficulty[d::2] -= difficulty[d::2].mean()
    quirk = rng.normal(0, 0.4, (MODELS, ITEMS))
    for d in (0, 1):  # their mean is part of theta
        quirk[:, d::2] -= quirk[:, d::2].mean(axis=1, keepdims=True)
    acquiescence = 0.3 + rng.normal(0, 0.4, MODELS)
    dims = plan["status"].dims
    keying = plan["keying"].broadcast_like(plan["status"]).transpose(*dims).values
    belief = theta[:, np.arange(ITEMS) % 2] - difficulty + quirk
    eta = acquiescence[:, None, None, None, None] + keying * belief[:, :, None, None, None]
    shape = plan["status"].shape
    eta = np.broadcast_to(eta, shape)
    below, above = (1 / (1 + np.exp(-(cut - eta))) for cut in (-0.6, 0.6))
    share = np.broadcast_to(rng.uniform(0.03, 0.25, MODELS)[:, None, None, None, None], shape)
    u = rng.random(shape)
    latent = np.where(u < below, 0, np.where(u < above, 1, 2))
    latent = np.where(rng.random(shape) < share, 3, latent)
    rows = matrix / matrix.sum(axis=1, keepdims=True)
    sure = rng.random(shape) < SURE[latent]
    known = sure | (rng.random(shape) >= RANDOM)
    by_matrix = (rng.random(shape)[..., None] > np.cumsum(rows, axis=1)[latent]).sum(axis=-1)
    read = np.where(known, np.minimum(by_matrix, 3), rng.integers(0, 4, shape))
    confidence = np.where(sure, rng.uniform(0.9, 0.99, shape), rng.uniform(0.45, 0.9, shape))
    probs = np.empty((*shape, len(STANCE_CLASSES)), dtype=np.float32)
    code = np.array([STANCE_CLASSES.index(name) for name in CLASSES])[read]
    for k in range(len(STANCE_CLASSES)):
        probs[..., k] = np.where(code == k, confidence, (1 - confidence) / 4)
    codes = np.array([STANCE[name] for name in CLASSES], dtype=np.int8)
    stance = codes[read]
    about = {"flag_values": np.array([MISSING, 0], dtype=np.int8), "flag_meanings": "none coder"}
    data = plan.assign(
        status=plan["status"].copy(data=np.full(shape, STATUS["ok"], dtype=np.int8)),
        stance=(dims, stance),
        truth=(dims, codes[latent]),
        stance_prob=((*dims, "stance_class"), probs),
        coder=(dims, np.zeros(shape, dtype=np.int8), about),
    )
    return data, latent, theta


def validate(data: xr.Dataset, latent: np.ndarray, rng: np.random.Generator, path: Path) -> None:
    """Label some of the answers correctly, and count the coder's readings."""
    at = rng.choice(latent.size, LABELLED, replace=False)
    classes = merged_classes({})
    position = np.array([classes.names.index(name) for name in CLASSES])
    answers = Labelled(
        [""] * LABELLED, [""] * LABELLED, position[latent.flat[at]], classes, {}, None, None, 0
    )
    probs = data["stance_prob"].values.reshape(-1, len(STANCE_CLASSES))[at].astype(float)
    write_dataset(confusion_dataset([coded_from(probs, answers, coder="coder")], [0.7, 0.9]), path)


def estimates(data: xr.Dataset, method: str, path: Path, seed: int) -> np.ndarray:
    """Return ``[model, dimension, (mean, lower, upper)]`` of theta, and print nothing."""
    errors = None
    if method == "in the likelihood":
        errors = MisclassificationConfig(confusion=str(path))
    if method == "dropped":
        unsure = data["stance_prob"].max("stance_class") < 0.9
        data = data.assign(stance=data["stance"].where(~unsure, np.int8(MISSING)))
    if method == "no errors":
        data = data.assign(stance=data["truth"])
    spec = parse_spec(AnalysisConfig(parts=PARTS, misclassification=errors))
    sampler = SamplerConfig(chains=2, tune=300, draws=500, target_accept=0.8)
    theta = fit(spec, gather_cells(data, spec), sampler, seed=seed).posterior["theta"]
    theta = theta.sel(dimension=["economic", "cultural"]).stack(sample=("chain", "draw"))
    lower, upper = np.quantile(theta.values, [0.05, 0.95], axis=-1)
    return np.stack([theta.values.mean(axis=-1), lower, upper], axis=-1)


def summary(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Summarise simulations by confusion matrix and method."""
    out = []
    for matrix in dict.fromkeys(row["matrix"] for row in rows):
        for method in dict.fromkeys(row["method"] for row in rows):
            of = [row for row in rows if (row["matrix"], row["method"]) == (matrix, method)]
            truth = np.array([row["theta"] for row in of])
            mean, lower, upper = np.moveaxis(np.array([row["found"] for row in of]), -1, 0)
            covers = ((lower <= truth) & (truth <= upper)).mean(axis=(1, 2))
            out.append(
                {
                    "matrix": matrix,
                    "method": method,
                    "simulations": len(of),
                    "towards_middle": float((np.sign(truth) * (truth - mean)).mean()),
                    "shift": float((mean - truth).mean()),
                    "error": float(np.sqrt(((mean - truth) ** 2).mean())),
                    "coverage": float(covers.mean()),
                    "se": float(covers.std(ddof=1) / np.sqrt(len(of))) if len(of) > 1 else None,
                    "width": float((upper - lower).mean()),
                    "seconds": float(np.mean([row["seconds"] for row in of])),
                }
            )
    return out


def main() -> None:
    """Simulate, analyse and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--simulations", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the rows here")
    options = parser.parse_args()
    plan, rows = laid_out(), []
    for number in range(options.simulations):
        for name, matrix in (("Table 5", TABLE_5), ("worse", WORSE)):
            rng = np.random.default_rng([options.seed, number, len(name)])
            data, latent, theta = simulate(plan, matrix, rng)
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "confusion.nc"
                validate(data, latent, rng, path)
                for method in options.methods:
                    started = time.perf_counter()
                    found = estimates(data, method, path, seed=number + 1)
                    rows.append(
                        {
                            "matrix": name,
                            "method": method,
                            "theta": theta.tolist(),
                            "found": found.tolist(),
                            "seconds": time.perf_counter() - started,
                        }
                    )
        if options.json:
            with replacing(options.json) as temporary:
                temporary.write_text(json.dumps(rows), encoding="utf-8")
    for row in summary(rows):
        shown = {k: f"{v:.3f}" if isinstance(v, float) else v for k, v in row.items()}
        print("  ".join(f"{key} {value}" for key, value in shown.items()))


if __name__ == "__main__":
    main()
