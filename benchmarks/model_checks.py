"""Time and memory of the checks of a fit, at the size of Faulborn et al.'s design.

Run ``python benchmarks/model_checks.py``. 11 models, 89 items in three wordings, ten prefixes and
three runs are 29,370 cells; a third of the answers is missing. The 4,000 draws are simulated, which
does not affect the time. For comparison ArviZ's `loo` gets the log-likelihoods of every tenth cell
at once; for all cells they would take a gigabyte.
"""

import argparse
import resource
import time

import numpy as np
import xarray as xr
from bootstrap import simulate

from polbayes.config.compose import compose
from polbayes.fit.density.model import build
from polbayes.fit.posterior.loo import leave_one_out
from polbayes.fit.posterior.pointwise import draws_of, likelihoods, log_likelihood
from polbayes.fit.posterior.predictive import posterior_predictive
from polbayes.fit.spec.cells import gather_cells
from polbayes.fit.spec.spec import parse_spec
from polbayes.fit.spec.terms import bind


def main() -> None:
    """Print the time and the memory of LOO and of the predictive checks."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=1000, help="in each of four chains")
    draws = parser.parse_args().draws
    spec = parse_spec(compose(["+experiment=wvs_prefixes"])[0].analysis)
    cells = gather_cells(simulate(seed=1), spec)
    built = build(spec, cells, bind(spec, cells))
    drawn = _made_up(built, draws)
    leave_one_out(built, drawn.isel(draw=slice(20)), at_once=2000)  # compile before timing
    print(f"{len(cells.frame):,} cells, {4 * draws:,} draws, {_memory():,.0f} MB before")
    with _timed("LOO"):
        (loo,) = leave_one_out(built, drawn)
    print(f"  {loo.unreliable} cells with a Pareto k above 0.7")
    with _timed("predictive checks"):
        posterior_predictive(built, drawn, seed=1)
    some = np.arange(0, len(cells.frame), 10)
    with _timed("ArviZ's loo of a tenth of the cells"):
        _by_arviz(built, drawn, some, loo)


def _made_up(built, draws: int) -> xr.Dataset:
    rng = np.random.default_rng(0)
    sizes = {"effects": built.layout.blocks[-1].stop, "sd": len(built.layout.scales), "gap": 1}
    vectors = {
        "effects": rng.normal(0, 0.15, (4, draws, sizes["effects"])),
        "sd": rng.uniform(0.2, 0.4, (4, draws, sizes["sd"])),
        "gap": rng.uniform(0.9, 1.1, (4, draws, 1)),
    }
    return xr.Dataset({k: (("chain", "draw", k), v) for k, v in vectors.items()})


def _by_arviz(built, drawn: xr.Dataset, some: np.ndarray, loo) -> None:
    from arviz_stats import loo as arviz_loo

    part = likelihoods(built)["answers"]
    some = some[some < len(part.at)]
    logp = log_likelihood(part, draws_of(drawn), some).T
    logp = logp.reshape(*drawn["effects"].shape[:2], len(some))
    values = xr.Dataset({"y": (("chain", "draw", "cell"), logp)})
    data = xr.DataTree.from_dict({"log_likelihood": values})
    found = arviz_loo(data, pointwise=True, reff=1.0)
    difference = np.abs(found.elpd_i.to_numpy() - loo.cells["elpd"].to_numpy()[some])
    # Not 0, because the length of the smoothed tail depends on the efficiency of the draws.
    print(f"  largest difference in elpd of a cell {difference.max():.4f}")


class _timed:  # noqa: N801 (used like a function)
    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> None:
        self.before = time.perf_counter(), time.process_time()

    def __exit__(self, *error: object) -> None:
        wall, cpu = time.perf_counter() - self.before[0], time.process_time() - self.before[1]
        print(f"{self.name:<36} {wall:6.1f} s, {cpu:6.1f} s CPU, peak {_memory():,.0f} MB")


def _memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
