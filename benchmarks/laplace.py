"""`sampler=laplace` against nutpie on the shipped experiments: time, means and interval widths.

Arguments are names of experiments; by default, all those that ask embedded models and fit the
ideology model. Each is asked in a temporary folder, and its posterior is computed by both.
``--share 0.3`` gives nutpie that part of the experiment's transitions, and scales its time up.
Times are processor times of sampling alone, in the same process, after compilation.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from polbayes.cli import _main
from polbayes.config.compose import compose
from polbayes.config.schema import SamplerConfig
from polbayes.data.dataset import read_dataset
from polbayes.fit.analysis import parse_analysis
from polbayes.fit.density.density import Density
from polbayes.fit.density.model import build
from polbayes.fit.posterior.naming import name_posterior
from polbayes.fit.sampling.imputation import with_integrated
from polbayes.fit.sampling.sample import sample
from polbayes.fit.spec.cells import gather_cells
from polbayes.fit.spec.reduction import reduced
from polbayes.fit.spec.terms import bind

EXPERIMENTS = ("wvs_prefixes", "instruments", "pct_masked", "pct_paraphrases")
HEADLINE = ("theta", "lean", "bias", "acquiescence", "decisiveness")


def main() -> None:
    """Print a row of times and one of differences per quantity for each experiment."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("experiments", nargs="*", default=list(EXPERIMENTS))
    parser.add_argument("--share", type=float, default=1.0)
    asked = parser.parse_args()
    for name in asked.experiments:
        with tempfile.TemporaryDirectory() as folder:
            compare(name, Path(folder), asked.share)


def compare(name: str, folder: Path, share: float) -> None:
    """Ask an experiment's respondents and compare both posteriors."""
    overrides = [f"+experiment={name}", f"run_dir={folder}", "stages=[probe,code]"]
    _main(overrides)
    config, _ = compose(overrides)
    spec = parse_analysis(config.analysis, config.sampler)
    cells = gather_cells(read_dataset(folder / "responses.nc"), spec)
    spec, _ = reduced(spec, cells)
    built = build(spec, cells, bind(spec, cells))
    density = Density(built)
    density(density.start(0))
    own = config.sampler
    fewer = replace(own, tune=round(own.tune * share), draws=round(own.draws * share))
    drawn, stats, exact = timed(built, fewer)
    quick, about, fast = timed(built, SamplerConfig(backend="laplace"))
    del stats
    print(
        f"{name}: {len(cells.frame):,} cells, {density.size} coordinates; nutpie "
        f"{exact / share:.0f} s, laplace {fast:.1f} s, {exact / share / fast:.0f} times; "
        f"k = {float(about['pareto_k']):.2f}, {int(about['transitions'])} transitions",
        flush=True,
    )
    differences(named(built, drawn), named(built, quick))


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
