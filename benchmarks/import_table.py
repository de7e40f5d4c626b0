"""What importing a table takes, in time and memory, from the file to the classical measures.

Run with ``python benchmarks/import_table.py [--answers 89280] [--kind parquet] [--fit]``. The table
has ratings on four points of 62 items by 19 models in up to five prefixes, 60 times (89,280
answers), or, from two million on, by 20 models in five prefixes as often as it takes. Every stage
is a process of its own; its memory is the most that it held at any time, imports included.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from polbayes.cli import _main
from polbayes.instrument.questionnaires import load_instrument

LARGE = 2_000_000


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answers", type=int, default=89_280)
    parser.add_argument("--kind", choices=["parquet", "csv", "jsonl"], default="parquet")
    parser.add_argument("--fit", action="store_true", help="fit and report, too")
    parser.add_argument("--stage", nargs=2, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.stage:
        print(json.dumps(_measured(*chosen.stage, chosen.kind)))
        return
    with tempfile.TemporaryDirectory() as folder:
        table = _table(chosen.answers)
        _write(table, Path(folder) / f"answers.{chosen.kind}")
        print(f"{len(table):,} answers in {chosen.kind}")
        print("| stage | seconds | CPU seconds | GB |\n|---|---|---|---|")
        for stage in ("probe", "code", "measure", *(("fit", "report") if chosen.fit else ())):
            command = [sys.executable, __file__, "--kind", chosen.kind, "--stage", stage, folder]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
            took = json.loads(done.stdout.splitlines()[-1])
            print(f"| {stage} | {took['seconds']:.1f} | {took['cpu']:.1f} | {took['peak']:.2f} |")


def _table(answers: int) -> pd.DataFrame:
    """Make ratings of models that differ in leaning, agreement, prefixes, prompts and noise."""
    rng = np.random.default_rng(7)
    items = [item.item for item in load_instrument("pct").items]
    if answers >= LARGE:
        pairs = [(m, p) for m in range(20) for p in range(5)]
    else:
        pairs = [(m, p) for m in range(19) for p in range({0: 5, 1: 2}.get(m, 1))]
    runs = answers // (len(pairs) * len(items))
    pair, item, run = np.indices((len(pairs), len(items), runs)).reshape(3, -1)
    model, prefix = np.array(pairs).T[:, pair]
    leaning, quirk = rng.normal(size=20), rng.normal(size=(20, len(items)))
    agreeing, sharp = rng.normal(0, 0.4, size=20), np.exp(rng.normal(0.7, 0.5, size=20))
    moved, steered = rng.normal(0, 0.3, size=(2, 20, 5))
    prompt = rng.normal(0, 0.4, size=(20, len(items), 5))
    keying = np.array([item.direction for item in load_instrument("pct").items], dtype=float)
    believed = leaning[model] + quirk[model, item] + steered[model, prefix]
    eta = agreeing[model] + moved[model, prefix] + prompt[model, item, prefix]
    eta += (
        np.where(keying[item] < 0, -1, 1) * believed + rng.logistic(size=model.size) / sharp[model]
    )
    return pd.DataFrame(
        {
            "model": np.array([f"model-{m:02d}" for m in range(20)], dtype=object)[model],
            "item": np.array(items, dtype=object)[item],
            "prefix": np.array([f"prefix-{p}" for p in range(5)], dtype=object)[prefix],
            "run": run + 1,
            "rating": np.digitize(eta, [-1, 0, 1]) + 1,
        }
    )


def _write(table: pd.DataFrame, path: Path) -> None:
    if path.suffix == ".parquet":
        table.to_parquet(path, index=False)
    elif path.suffix == ".csv":
        table.to_csv(path, index=False)
    else:
        table.to_json(path, orient="records", lines=True)


def _measured(stage: str, folder: str, kind: str) -> dict[str, float]:
    """Do one stage of the run, and say what it took."""
    begun = time.perf_counter()
    columns = ",".join(f"{c}:{c}" for c in ("model", "item", "prefix", "run", "rating"))
    status = _main(
        [
            *("name=table", "instruments=[pct]", "respondents=none", f"stages=[{stage}]"),
            *(f"run_dir={folder}/out", f"+imported.path={folder}/answers.{kind}"),
            f"+imported.columns={{{columns}}}",
            "+imported.points=[Strongly disagree,Disagree,Agree,Strongly agree]",
        ]
    )
    if status:
        raise SystemExit(status)
    used = resource.getrusage(resource.RUSAGE_SELF)
    # Kilobytes, but on macOS bytes.
    peak = used.ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e9
    seconds = time.perf_counter() - begun
    return {"seconds": seconds, "cpu": used.ru_utime + used.ru_stime, "peak": peak}


if __name__ == "__main__":
    main()
