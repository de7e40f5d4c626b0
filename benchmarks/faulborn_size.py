"""Time, memory and convergence of the ideology model at the size of Faulborn et al. (2025).

Eleven respondents answer 89 items (27 of `wvs`, 62 of `pct`, one of them unscored and excluded from
the fit) in three wordings, with ten prefixes, three times; a third of the answers is missing. The
answers are drawn from the model with all of its effects. Each fit runs in a separate process
with empty caches of compiled code, so its time includes compilation. Then the time of one
gradient is measured with three and with thirty runs of the same design, in alternation.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from polbayes.config.ranges import check_ranges
from polbayes.config.resources import folder, read_yaml
from polbayes.config.schema import AnalysisConfig, SamplerConfig
from polbayes.data.dataset import MISSING, NOT_ASKED, STATUS
from polbayes.errors import UserError
from polbayes.instrument.design import ModelInfo, design
from polbayes.instrument.prompts import load_prefixes
from polbayes.instrument.questionnaires import load_instrument

# Fewer draws and longer steps than by default are enough for an R-hat of 1.015 of everything.
SAMPLER = {"backend": "nutpie", "tune": 300, "draws": 600, "target_accept": 0.7}

# The parts of the shipped analysis.
PARTS = read_yaml(folder("conf") / "analysis" / "ideology.yaml")["parts"]


@dataclass(frozen=True)
class Size:
    """The size of the design."""

    models: int = 11
    wvs: int = 27
    pct: int = 62
    prefixes: int = 10
    runs: int = 3
    missing: float = 1 / 3


def simulate(size: Size, *, seed: int) -> Any:
    """Draw a coded dataset from the ideology model with every effect in it."""
    rng = np.random.default_rng(seed)
    instruments = [load_instrument("wvs"), load_instrument("pct")]
    items = [
        item.item
        for instrument, number in zip(instruments, (size.wvs, size.pct), strict=True)
        for item in instrument.items[:number]
    ]
    data = design(
        instruments,
        load_prefixes(None, None)[: size.prefixes],
        [ModelInfo(f"model{k + 1}", "{statement}") for k in range(size.models)],
        items=items,
        runs=size.runs,
    ).sel(variant=["original", "reformulation", "opposite"])
    m, i, v, p, r = (data.sizes[d] for d in ("model", "item", "variant", "prefix", "run"))
    d = (data["dimension"].to_numpy() == "cultural").astype(int)
    s = data["keying"].to_numpy()[None, :, :, None]
    theta = rng.multivariate_normal([-0.4, -0.3], [[0.6, 0.3], [0.3, 0.6]], m)
    disc = np.exp(rng.normal(0, 0.3, i))
    believed = disc[None, :] * (theta[:, d] - rng.normal(0, 0.6, i)) + rng.normal(0, 0.5, (m, i))
    steer = rng.normal(0, 1, (m, p)) * rng.uniform(0.1, 0.4, (m, 1))
    asked_for = rng.normal(0.3, 0.6, m)[:, None] + rng.normal(0, 1, (m, p)) * rng.uniform(
        0.1, 0.6, (m, 1)
    )
    wording = rng.normal(0, 0.3, (i, v)) + rng.normal(0, 1, (m, i, v)) * rng.uniform(
        0.2, 0.8, (m, 1, 1)
    )
    eta = (
        asked_for[:, None, None, :]
        + wording[..., None]
        + s * (believed[:, :, None, None] + steer[:, None, None, :])
    )
    width = np.exp(rng.normal(-0.3, 0.3, m))[:, None, None, None, None]
    draw = eta[..., None] + rng.logistic(size=(m, i, v, p, r))
    stance = np.sign(draw) * (np.abs(draw) > width)
    there = (data["status"].to_numpy() != NOT_ASKED) & (rng.random(draw.shape) > size.missing)
    shape = data["status"].dims
    return data.assign(
        status=(shape, np.where(there, STATUS["ok"], NOT_ASKED).astype(np.int8)),
        stance=(shape, np.where(there, stance, MISSING).astype(np.int8)),
    )


def fit_once(seed: int, sampler: dict[str, Any], size: Size) -> None:
    """Fit, and print one line of JSON: times, convergence and memory."""
    import resource

    from polbayes.fit.fit import fit
    from polbayes.fit.sampling.diagnose import diagnose
    from polbayes.fit.sampling.draws_cache import DrawsCache
    from polbayes.fit.spec.cells import gather_cells
    from polbayes.fit.spec.spec import parse_spec

    data = simulate(size, seed=seed)
    started = time.monotonic()
    spec = parse_spec(AnalysisConfig(parts=PARTS))
    cells = gather_cells(data, spec)
    with tempfile.TemporaryDirectory() as folder:
        cache = DrawsCache(Path(folder) / "draws.nc", "as they are")
        result = fit(spec, cells, SamplerConfig(**sampler), seed=seed, cache=cache)
        seconds = time.monotonic() - started
        of_fit = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        of_report = conclude_and_report(data, spec, SamplerConfig(**sampler), seed, cache)
        all_seconds = time.monotonic() - started
    diagnosis = diagnose(result.posterior, result.sample_stats)
    quantity = diagnosis.table["quantity"].str.split("[").str[0]
    table = diagnosis.table[~quantity.isin(["difficulty", "discrimination", "wording"])]
    print(table.head(8).to_string(), file=sys.stderr)
    print(
        json.dumps(
            {
                "answers": float(cells.counts.sum()),
                "cells": len(cells.frame),
                "seconds": seconds,
                "steps": float(result.sample_stats["n_steps"].mean()),
                "divergences": int(result.sample_stats["diverging"].sum()),
                "r_hat": float(table["r_hat"].max()),
                "bulk": float(table["ess_bulk"].min()),
                "tail": float(table["ess_tail"].min()),
                "gigabytes": of_fit,
                "seconds_with_report": all_seconds,
                **of_report,
                "gigabytes_with_report": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
            }
        )
    )


def conclude_and_report(
    data: Any, spec: Any, sampler: SamplerConfig, seed: int, cache: Any
) -> dict[str, float]:
    """Run the steps after sampling: summaries, checks, PSIS-LOO, measures, the report.

    Returns the seconds of the report alone, and the size of its page. It has all charts, whatever
    the verdict.
    """
    from polbayes.fit.analysis import fit_analysis
    from polbayes.measures import measure_all
    from polbayes.report.results import Results
    from polbayes.report.write import write_report

    found = fit_analysis(spec, data, sampler, level=0.9, seed=seed, cache=cache)
    assert found.from_cache
    measured = measure_all(data, draws=1000)
    results = Results(
        title="Faulborn's size",
        description="Answers drawn from the model.",
        name="faulborn_size",
        command="python benchmarks/faulborn_size.py",
        created="",
        responses=data,
        tables={**measured, **found.tables, "diagnostics": found.diagnosis.table},
        verdict="good",
        verdict_sentences=list(found.diagnosis.sentences),
        exclusions=list(found.notes),
        equation=found.equation,
        priors=list(found.priors),
        level=0.9,
        config_yaml="",
        provenance={},
        citations=[],
    )
    started, used = time.monotonic(), time.process_time()
    page = write_report(results, cache.path.parent / "report")
    return {
        "seconds_of_report": time.monotonic() - started,
        "of_cpu": time.process_time() - used,
        "megabytes_of_page": page.stat().st_size / 1e6,
    }


def in_empty_caches(*arguments: str) -> dict[str, Any]:
    """Run this script again without compiled code; return its output."""
    with tempfile.TemporaryDirectory() as cache:
        caches = {
            "PYTENSOR_FLAGS": f"base_compiledir={cache}",
            "NUMBA_CACHE_DIR": cache,
        }
        done = subprocess.run(
            [sys.executable, __file__, *arguments],
            env={**os.environ, **caches},
            stdout=subprocess.PIPE,
            check=True,
            text=True,
        )
    return dict(json.loads(done.stdout.splitlines()[-1]))


def gradients(seed: int) -> None:
    """Time one evaluation of the likelihood and its gradient as the runs grow tenfold."""
    from polbayes.fit.density import kernel
    from polbayes.fit.density.layout import lay_out
    from polbayes.fit.density.observed import answers_of
    from polbayes.fit.families.kinds import ORDINAL
    from polbayes.fit.spec.cells import gather_cells
    from polbayes.fit.spec.spec import parse_spec
    from polbayes.fit.spec.terms import bind

    spec, calls = parse_spec(AnalysisConfig(parts=PARTS)), []
    for runs in (3, 30):
        # Nothing is missing, so that the cells are the same.
        cells = gather_cells(simulate(Size(runs=runs, missing=0.0), seed=seed), spec)
        layout = lay_out(bind(spec, cells), cells)
        effects = np.random.default_rng(seed).normal(0, 0.3, layout.blocks[-1].stop)
        at, answers = layout.answers, answers_of(spec, cells)
        rest = (ORDINAL, answers, *at.arrays.values())
        calls.append((runs, len(answers), effects, rest))
    seconds: dict[int, list[float]] = {runs: [] for runs, *_ in calls}
    for _ in range(200):
        for runs, _, effects, rest in calls:
            started = time.process_time()
            kernel.evaluate(effects, np.array([1.0]), np.empty(0), *rest)
            seconds[runs].append(time.process_time() - started)
    few, many = (np.median(values[1:]) for values in seconds.values())
    print(f"one gradient of {calls[0][1]:,} cells, 3 runs: {1000 * few:.2f} ms")
    print(f"ten times the runs: {many / few:.3f} of that")


def main() -> None:
    """Print the table."""
    for seed in (1, 2):
        result = in_empty_caches("fit", str(seed), json.dumps(SAMPLER))
        print(f"seed {seed}: " + ", ".join(f"{k} {v:,.4g}" for k, v in result.items()), flush=True)
    gradients(1)


if __name__ == "__main__":
    if sys.argv[1:2] == ["fit"]:
        further = Size(**json.loads(sys.argv[4])) if len(sys.argv) > 4 else Size()
        sampler = json.loads(sys.argv[3])
        try:
            check_ranges(SamplerConfig(**sampler), "sampler")
        except UserError as error:
            sys.exit(str(error))
        fit_once(int(sys.argv[2]), sampler, further)
    else:
        main()
