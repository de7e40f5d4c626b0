"""Effective draws per second of nutpie's two mass matrices, on an experiment's answers.

Arguments are those of the command line, such as

    +experiment=eroglu imported.path=responses.parquet

The respondents are asked, or the table is read, in a temporary folder. Then two chains of 500 + 500
are drawn with each matrix. ESS is the smallest bulk-ESS of all quantities but those of single
statements; seconds are of processor time for sampling with warm-up, after compilation.
"""

import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from laplace import answered, named, timed

from polbayes.fit.density.density import Density
from polbayes.fit.sampling.diagnose import diagnose
from polbayes.fit.sampling.sample import MASS_MATRICES

SINGLE = ("difficulty", "discrimination", "wording")


def main() -> None:
    """Print a line for each matrix, and how many times as many effective draws a second."""
    with tempfile.TemporaryDirectory() as folder:
        built, config = answered(sys.argv[1:], Path(folder))
    density = Density(built)
    density(density.start(0))
    rates = []
    for matrix in MASS_MATRICES:
        short = replace(config, chains=2, tune=500, draws=500, mass_matrix=matrix)
        drawn, stats, seconds = timed(built, short)
        table = diagnose(named(built, drawn), stats).table
        table = table[~table["quantity"].str.startswith(SINGLE)]
        rates.append(table["ess_bulk"].min() / seconds)
        print(
            f"{matrix}: {density.size} coordinates, {seconds:.0f} s, ESS "
            f"{table['ess_bulk'].min():.0f}, R-hat {table['r_hat'].max():.3f}, "
            f"{int(stats['diverging'].sum())} transitions diverged",
            flush=True,
        )
    print(f"{rates[1] / rates[0]:.1f} times as many effective draws a second")


if __name__ == "__main__":
    main()
