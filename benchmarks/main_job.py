"""Time of the main job by stage, and convergence of its fit.

Runs `polbayes +experiment=wvs_prefixes` once from scratch in a temporary folder, or in `--folder`,
where the results stay. Further arguments are overrides.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pandas as pd
import xarray as xr


def main() -> None:
    """Run the main job and print its times and diagnostics."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, help="empty of outputs/wvs_prefixes")
    known, overrides = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = known.folder or Path(temporary)
        run = folder / "outputs" / "wvs_prefixes"
        if run.exists():
            parser.error(f"{run} exists: what it holds would not be computed again")
        command = [sys.executable, "-m", "polbayes", "+experiment=wvs_prefixes", *overrides]
        started = time.monotonic()
        subprocess.run(command, cwd=folder, check=True)
        total = time.monotonic() - started
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        stages = json.loads((run / "manifest.json").read_text())["stages"]
        for stage, record in stages.items():
            print(f"{stage:<8} {record['seconds']:>7.1f} s")
        print(f"{'in all':<8} {total:>7.1f} s, of processors {used.ru_utime + used.ru_stime:.0f} s")
        table = pd.read_csv(run / "estimates" / "diagnostics.csv")
        names = table["quantity"].str.split("[").str[0]
        table = table[~names.isin(["difficulty", "discrimination", "wording"])]
        print(f"largest R-hat {table['r_hat'].max():.4f}")
        print(f"smallest effective draws {table['ess_bulk'].min():.0f} for centres, ", end="")
        print(f"{table['ess_tail'].min():.0f} for interval ends")
        with xr.open_dataset(run / "posterior.nc", group="sample_stats") as stats:
            diverging = stats["diverging"]
            print(f"{int(diverging.sum())} of {diverging.size} transitions diverged: ", end="")
        print(stages["fit"]["verdict"])
        started = time.monotonic()
        subprocess.run(command, cwd=folder, check=True)
        print(f"again    {time.monotonic() - started:>7.1f} s")


if __name__ == "__main__":
    main()
