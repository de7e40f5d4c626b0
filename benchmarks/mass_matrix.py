"""How well nutpie's mass matrices and step sizes sample the answers of an experiment.

Arguments are those of the command line, and of this script, such as

    +experiment=eroglu imported.path=responses.parquet --targets 0.9 0.95

The respondents are asked, or the table is read, in a temporary folder. Then two chains are drawn
with each matrix and target acceptance. ESS is the smallest bulk-ESS of all quantities but those of
single statements; seconds are of processor time for sampling with warm-up, after compilation;
gradients are those of a draw after the warm-up; BFMI is the ratio of the squared changes of the
energy to its variance, of each chain (Betancourt 2016).
"""

import argparse
import itertools
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import xarray as xr
from laplace import answered, named, timed

from polbayes.fit.density.density import Density
from polbayes.fit.sampling.diagnose import diagnose
from polbayes.fit.sampling.sample import MASS_MATRICES

SINGLE = ("difficulty", "discrimination", "wording")
KINDS = ("theta[", "lean[", "decisiveness[", "acquiescence[")


def main() -> None:
    """Print a line for each setting, and how many times as many effective draws a second."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--matrices", nargs="+", choices=MASS_MATRICES, default=MASS_MATRICES)
    parser.add_argument("--targets", nargs="+", type=float, default=[0.9])
    parser.add_argument("--tune", type=int, default=500)
    parser.add_argument("--draws", type=int, default=500)
    asked, arguments = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as folder:
        built, config = answered(arguments, Path(folder))
    density = Density(built)
    density(density.start(0))
    first = 0.0
    print(f"{len(built.cells.frame):,} cells, {density.size} coordinates", flush=True)
    for matrix, target in itertools.product(asked.matrices, asked.targets):
        size = {"chains": 2, "tune": asked.tune, "draws": asked.draws}
        short = replace(config, **size, mass_matrix=matrix, target_accept=target)
        drawn, stats, seconds = timed(built, short)
        table = diagnose(named(built, drawn), stats).table
        table = table[~table["quantity"].str.startswith(SINGLE)]
        rate = table["ess_bulk"].min() / seconds
        first = first or rate
        each = "; ".join(
            f"{kind[:-1]} {part['ess_bulk'].min():.0f}"
            for kind in KINDS
            if len(part := table[table["quantity"].str.startswith(kind)])
        )
        print(
            f"{matrix}, {target}: {seconds:.0f} s, {float(stats['n_steps'].mean()):.0f} "
            f"gradients, BFMI {bfmi(stats)}, ESS {table['ess_bulk'].min():.0f} ({each}), "
            f"R-hat {table['r_hat'].max():.3f}, {int(stats['diverging'].sum())} transitions "
            f"diverged, {rate / first:.2f} times as many effective draws a second",
            flush=True,
        )


def bfmi(stats: xr.Dataset) -> str:
    """Return the ratio of each chain."""
    energy = stats["energy"].to_numpy()
    ratios = (np.diff(energy, axis=1) ** 2).mean(axis=1) / energy.var(axis=1)
    return " and ".join(f"{ratio:.2f}" for ratio in ratios)


if __name__ == "__main__":
    main()
