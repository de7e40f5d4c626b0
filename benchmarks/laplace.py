"""`sampler=laplace` against nutpie on the shipped experiments: time, means and interval widths.

Arguments are names of experiments; by default, all those that ask embedded models and fit the
ideology model, and with ``--data FOLDER`` those that read published answers there. Each is asked in
a temporary folder, and its posterior is computed by both. ``--share 0.3`` gives nutpie that part of
the experiment's transitions, and scales its time up. ``--sparse 2`` does that many simulated
studies of a sparse design, as in ``benchmarks/plan.py``, and of experiments only those that are
named. Times are processor times of sampling alone, in the same process, after compilation.
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from plan import PARTS, questions, truth

from polbayes.cli import _main
from polbayes.config.compose import compose
from polbayes.config.schema import AnalysisConfig, SamplerConfig
from polbayes.data.dataset import read_dataset
from polbayes.fit.analysis import parse_analysis
from polbayes.fit.density.density import Density
from polbayes.fit.density.model import Built, build
from polbayes.fit.posterior.naming import name_posterior
from polbayes.fit.sampling.diagnose import diagnose
from polbayes.fit.sampling.imputation import with_integrated
from polbayes.fit.sampling.laplace import QUICK
from polbayes.fit.sampling.sample import sample
from polbayes.fit.spec.cells import gather_cells
from polbayes.fit.spec.reduction import reduced
from polbayes.fit.spec.spec import Spec, parse_spec
from polbayes.fit.spec.terms import bind
from polbayes.tasks.planning.simulation import Simulator

EXPERIMENTS = ("wvs_prefixes", "instruments", "pct_masked", "pct_paraphrases")
PUBLISHED = {
    "imported": "rottger/explicit_paraphrase.parquet",
    "rottger": "rottger/*.parquet",
    "eroglu": "eroglu/responses.parquet",
    "parties": "parties/positions.parquet",
    "parties_over_time": "parties/positions.parquet",
}
HEADLINE = ("theta", "lean", "bias", "acquiescence", "decisiveness")


def main() -> None:
    """Print a row of times and one of differences per quantity for each experiment."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("experiments", nargs="*")
    parser.add_argument("--data", type=Path, help="folder of published answers")
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--sparse", type=int, default=0, help="studies of a sparse design")
    asked = parser.parse_args()
    for built in sparse(asked.sparse):
        compare("sparse", built, SamplerConfig(), asked.share)
    every = (*EXPERIMENTS, *(PUBLISHED if asked.data else ()))
    for name in asked.experiments or (() if asked.sparse else every):
        more = [f"imported.path={asked.data / PUBLISHED[name]}"] if name in PUBLISHED else []
        with tempfile.TemporaryDirectory() as folder:
            compare(name, *answered([f"+experiment={name}", *more], Path(folder)), asked.share)


def sparse(number: int) -> Iterator[Built]:
    """Yield the models of studies with one wording, two prefixes and one run, as planned ones."""
    spec = parse_spec(AnalysisConfig(parts=PARTS, unidentified="leave_out"))
    base = questions()
    world = Simulator(truth(base, 1), spec, base, 0.9, 0.1, 1)
    numbers = {"items": 12, "wordings": 1, "prefixes": 2, "runs": 1}
    for study in range(number):
        made = world.world(study, numbers, 4, np.random.default_rng(100 + study))
        cells = gather_cells(made.data, spec)
        own, _ = reduced(spec, cells)
        yield build(own, cells, bind(own, cells))


def answered(arguments: list[str], folder: Path) -> tuple[Built, SamplerConfig]:
    """Ask an experiment's respondents; return the model of the answers, and its sampler."""
    overrides = [*arguments, f"run_dir={folder}", "stages=[probe,code]"]
    _main(overrides)
    config, _ = compose(overrides)
    spec = parse_analysis(config.analysis, config.sampler)
    assert isinstance(spec, Spec)
    cells = gather_cells(read_dataset(folder / "responses.nc"), spec)
    spec, _ = reduced(spec, cells)
    return build(spec, cells, bind(spec, cells)), config.sampler


def compare(name: str, built: Built, own: SamplerConfig, share: float) -> None:
    """Compare both posteriors of a model."""
    density = Density(built)
    density(density.start(0))
    fewer = replace(own, tune=round(own.tune * share), draws=round(own.draws * share))
    drawn, _, exact = timed(built, fewer)
    quick, about, fast = timed(built, QUICK)
    print(
        f"{name}: {len(built.cells.frame):,} cells, {density.size} coordinates; nutpie "
        f"{exact / share:.1f} s, laplace {fast:.1f} s, {exact / share / fast:.0f} times; "
        f"k = {float(about['pareto_k']):.2f}, {int(about['transitions'])} transitions",
        flush=True,
    )
    found = named(built, quick)
    print("  " + diagnose(found, about).sentences[-1])
    differences(named(built, drawn), found)


def timed(built: Any, config: SamplerConfig) -> tuple[xr.Dataset, xr.Dataset, float]:
    """Sample, and return also the processor time."""
    started = time.process_time()
    drawn, stats = sample(built, config, seed=1)
    return drawn, stats, time.process_time() - started


def named(built: Any, drawn: xr.Dataset) -> xr.Dataset:
    """Return the posterior under its public names."""
    return name_posterior(built, with_integrated(built, drawn, seed=1))


def differences(exact: xr.Dataset, quick: xr.Dataset) -> None:
    """Print how far means and 90 % intervals of headline quantities are apart."""
    dims = ("chain", "draw")

    def each(posterior: xr.Dataset, name: str, summary: Callable[[xr.DataArray], Any]) -> Any:
        return np.ravel(summary(posterior[name]))

    for name in HEADLINE:
        if name not in exact:
            continue
        spread = each(exact, name, lambda v: v.std(dims))
        free = spread > 1e-9
        if not free.any():
            continue
        means = [each(p, name, lambda v: v.mean(dims)) for p in (exact, quick)]
        apart = abs(means[1] - means[0])[free] / spread[free]
        widths = [
            each(p, name, lambda v: v.quantile(0.95, dims) - v.quantile(0.05, dims))
            for p in (exact, quick)
        ]
        ratio = widths[1][free] / widths[0][free]
        print(
            f"  {name:<13} means apart by {np.sqrt((apart**2).mean()):.2f} sd (at most "
            f"{apart.max():.2f}), widths {np.median(ratio):.2f} ({ratio.min():.2f} to "
            f"{ratio.max():.2f})",
            flush=True,
        )


if __name__ == "__main__":
    main()
