"""Ideal points of the 109th US Senate, beside those of `pscl::ideal` on the same votes.

    python benchmarks/senate.py [--votes 120] [--draws 500]

No vote is keyed: discriminations have either sign, and one Republican is the anchor. Priors are
those of `ideal`, on the logit scale, which is 1.7 times as wide as its probit scale. In every draw
of both, senators have mean 0 and standard deviation 1. A fit to a few votes comes first, because
the first fit after an installation also compiles, as R's packages are when they are built. Needs R
with pscl (Debian: r-cran-pscl).
"""

import argparse
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

from polbayes.config.schema import AnalysisConfig, SamplerConfig
from polbayes.data.dataset import NOT_ASKED, STATUS
from polbayes.fit.fit import Fit, fit
from polbayes.fit.sampling.diagnose import convergence_table
from polbayes.fit.spec.cells import gather_cells
from polbayes.fit.spec.spec import parse_spec
from polbayes.instrument.design import ModelInfo, design
from polbayes.instrument.prompts import Prefix
from polbayes.instrument.questionnaires import Instrument, Item, Variant

SCRIPTS = Path(__file__).parents[1] / "tests" / "fit" / "reference"
DRAW = ("chain", "draw")
_FEW = 20


def in_r(script: str, *arguments: object) -> float:
    """Run an R script, and return the seconds that it took."""
    begun = time.perf_counter()
    subprocess.run(["Rscript", SCRIPTS / script, *map(str, arguments)], check=True)
    return time.perf_counter() - begun


def coded(yea: pd.DataFrame) -> Any:
    """Return a coded dataset of a table of votes, 1, 0 or NaN, by senator and vote."""
    wording = (Variant("original", "a bill", "original", 1),)
    items = tuple(Item(vote, "economic", 1, "pscl", wording, {}) for vote in yea.columns)
    data = design(
        [Instrument("senate", "The 109th Senate", "pscl", items)],
        [Prefix("baseline", "baseline", "open")],
        [ModelInfo(name, "{statement}") for name in yea.index],
        runs=1,
    )
    dims, shape = data["status"].dims, data["status"].shape
    voted = yea.notna().to_numpy().reshape(shape)
    status = np.where(voted, STATUS["ok"], NOT_ASKED).astype(np.int8)
    stance = (2 * yea.fillna(0.5) - 1).to_numpy().astype(np.int8).reshape(shape)
    return data.assign(status=(dims, status), stance=(dims, stance))


def fitted(yea: pd.DataFrame, anchor: str, draws: int) -> Fit:
    """Fit the two-parameter model."""
    settings = yaml.safe_load((SCRIPTS / "ideal.yaml").read_text(encoding="utf-8"))
    spec = parse_spec(AnalysisConfig(**settings, anchor={"economic": anchor}))
    sampler = SamplerConfig(chains=2, tune=300, draws=draws)
    return fit(spec, gather_cells(coded(yea), spec), sampler, seed=1)


def main() -> None:
    """Print agreement, convergence, and how long both took."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--votes", type=int, default=10_000, help="only the most even ones")
    parser.add_argument("--draws", type=int, default=500, help="of each of two chains")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        votes, places, bills = (Path(folder) / f"{name}.csv" for name in ("votes", "x", "beta"))
        in_r("senate.R", votes, given.votes)
        theirs_took = in_r("ideal.R", votes, places, bills)
        table, theirs = pd.read_csv(votes), pd.read_csv(places).set_index("legislator")
        slopes = pd.read_csv(bills).set_index("vote")["discrimination"]
    yea = table.pivot(index="legislator", columns="vote", values="yea")
    republican = table.drop_duplicates("legislator").set_index("legislator")["party"] == "R"
    theirs = theirs.reindex(yea.index)
    anchor = str(yea.index[republican.reindex(yea.index)][0])
    begun = time.perf_counter()
    fitted(yea.iloc[:, :_FEW], anchor, draws=50)
    first = time.perf_counter() - begun
    begun, worked = time.perf_counter(), time.process_time()
    found = fitted(yea, anchor, given.draws)
    took, work = time.perf_counter() - begun, time.process_time() - worked
    theta = found.posterior["theta"].isel(dimension=0, drop=True)
    unit = theta.std("model")
    theta = theta / unit
    sign = np.sign(theirs.loc[anchor, "mean"])  # ideal() leaves it open
    ours = theta.mean(DRAW).to_series().reindex(yea.index)
    spread = theta.std(DRAW).to_series().reindex(yea.index)
    slope = (found.posterior["discrimination"] * unit).mean(DRAW).to_series()
    print(f"{len(yea)} senators, {yea.shape[1]} votes, {int(yea.count().sum())} cast")
    print(f"correlation of positions    {np.corrcoef(ours, sign * theirs['mean'])[0, 1]:.4f}")
    rank = slope.corr(sign * slopes.reindex(slope.index), method="spearman")
    print(f"rank correlation of discriminations {rank:.4f}")
    print(f"ratio of standard deviations {(spread / theirs['sd']).median():.2f} (median)")
    about = convergence_table(theta.to_dataset(name="theta"), ("theta",))
    bulk, tail = about["ess_bulk"].min(), about["ess_tail"].min()
    print(f"R-hat of positions {about['r_hat'].max():.3f}", end=", ")
    print(f"ESS {bulk:.0f} (bulk) and {tail:.0f} (tail)", end=", ")
    print(f"diverged {int(found.sample_stats['diverging'].sum())}")
    print(f"seconds: ours {took:.0f} (processor {work:.0f}), ideal {theirs_took:.0f}", end="; ")
    print(f"before, a fit to {_FEW} votes {first:.0f}")


if __name__ == "__main__":
    main()
