"""Time of the main job by stage, and convergence of its fit.

Runs `polbayes +experiment=wvs_prefixes` once from scratch in a temporary folder. Arguments are
further overrides.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pandas as pd


def main() -> None:
    """Run the main job and print its times and diagnostics."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "polbayes", "+experiment=wvs_prefixes", *sys.argv[1:]]
        started = time.monotonic()
        subprocess.run(command, cwd=folder, check=True)
        total = time.monotonic() - started
        run = Path(folder) / "outputs" / "wvs_prefixes"
        stages = json.loads((run / "manifest.json").read_text())["stages"]
        for stage, record in stages.items():
            print(f"{stage:<8} {record['seconds']:>7.1f} s")
        print(f"{'in all':<8} {total:>7.1f} s")
        table = pd.read_csv(run / "estimates" / "diagnostics.csv")
        names = table["quantity"].str.split("[").str[0]
        table = table[~names.isin(["difficulty", "discrimination", "wording"])]
        print(f"largest R-hat {table['r_hat'].max():.4f}")
        print(f"smallest bulk-ESS {table['ess_bulk'].min():.0f}")
        started = time.monotonic()
        subprocess.run(command, cwd=folder, check=True)
        print(f"again    {time.monotonic() - started:>7.1f} s")


if __name__ == "__main__":
    main()
