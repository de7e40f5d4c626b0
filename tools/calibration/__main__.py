"""Calibrate the ideology model: ``python -m tools.calibration [CASE ...]``."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from polbayes.errors import UserError, unknown
from tools.calibration.breaking import BREAKS
from tools.calibration.designs import CASES, case_named, lay_out_design, spec_of

if TYPE_CHECKING:
    import pandas as pd


def main(arguments: Sequence[str] | None = None) -> int:
    """Simulate, fit and rank; then write tables and figures.

    Data sets already in the folder are not fitted again.

    Parameters
    ----------
    arguments
        Command-line arguments.

    Returns
    -------
    int
        Exit status: 1 if a quantity is flagged, 2 for invalid arguments.
    """
    parser = argparse.ArgumentParser(prog="python -m tools.calibration", description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"of {', '.join(CASES)}")
    parser.add_argument("--simulations", type=int, default=200, help="data sets a case")
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--out", type=Path, default=Path("docs/calibration"))
    parser.add_argument("--broken", metavar="ERROR", help=f"put in: {', '.join(BREAKS)}")
    parser.add_argument("--tables", action="store_true", help="only tables and figures, no fits")
    options = parser.parse_args(arguments)
    try:
        if options.broken and options.broken not in BREAKS:
            raise unknown("error to put in", options.broken, BREAKS, where="--broken")
        for name in options.cases or CASES:
            if not options.tables:
                _simulate(name, options)
        return _report(options)
    except UserError as error:
        print(error, file=sys.stderr)
        return 2


def _stem(case: str, broken: str | None) -> str:
    return f"{case}-{broken}" if broken else case


def _simulate(name: str, options: argparse.Namespace) -> None:
    from polbayes.config.schema import SamplerConfig
    from tools.calibration.results import append, load
    from tools.calibration.sbc import pose, simulate_in_parallel

    case = case_named(name)
    path = options.out / f"ranks-{_stem(name, options.broken)}.csv"
    done = set(load(path)["simulation"])
    numbers = [k for k in range(options.simulations) if k not in done]
    if not numbers:
        return
    print(f"{path}: {len(numbers)} data sets to fit", flush=True)
    problem = pose(spec_of(case), lay_out_design(case), case.runs)
    config = SamplerConfig(chains=2, tune=300, draws=300)
    broken = BREAKS[options.broken] if options.broken else None
    for ranked in simulate_in_parallel(
        problem, config, numbers, jobs=options.jobs, seed=options.seed, broken=broken
    ):
        append(path, ranked)


def _report(options: argparse.Namespace) -> int:
    """Write tables and figures of the cases that have ranks, and report flagged quantities."""
    import pandas as pd

    from tools.calibration.judge import by_group, by_quantity, flagged
    from tools.calibration.plots import plot_coverage, plot_ranks
    from tools.calibration.results import load
    from tools.calibration.sbc import KEPT

    quantities, groups, lines, wrong = [], [], [], False
    for stem in (_stem(case, options.broken) for case in options.cases or CASES):
        table = load(options.out / f"ranks-{stem}.csv")
        if len(table) < 2:
            continue
        each, pooled = by_quantity(table, KEPT), by_group(table, KEPT)
        out = flagged(each, pooled)
        wrong |= bool(out)
        quantities.append(each.assign(case=stem))
        groups.append(pooled.assign(case=stem))
        lines.append(_summary(stem, table, each, pooled, out))
        plot_ranks(table, KEPT, options.out / f"ranks-{stem}.png")
    if not lines:
        raise UserError(f"{options.out}: there are no ranks yet; leave --tables out.")
    end = f"-{options.broken}" if options.broken else ""
    together = pd.concat(groups)
    summary = pd.DataFrame(lines)
    summary.to_csv(options.out / f"summary{end}.csv", index=False)
    pd.concat(quantities).round(4).to_csv(options.out / f"quantities{end}.csv", index=False)
    together.round(4).to_csv(options.out / f"kinds{end}.csv", index=False)
    plot_coverage(together, options.out / f"coverage{end}.png")
    print(summary.to_string(index=False))
    return int(wrong)


def _summary(
    stem: str,
    table: "pd.DataFrame",
    each: "pd.DataFrame",
    pooled: "pd.DataFrame",
    out: list[str],
) -> dict[str, object]:
    return {
        "case": stem,
        "simulations": len(table),
        "quantities": len(each),
        "outside_95": int(each["outside"].sum()),
        "least_p": round(float(pooled["p"].min()), 4),
        "kinds": len(pooled),
        **{
            f"coverage_{k}": round(100 * float(each[f"coverage_{k}"].mean()), 1)
            for k in (50, 80, 90)
        },
        "r_hat_95_percent": round(float(table["r_hat"].quantile(0.95)), 3),
        "least_ess_median": round(float(table["ess"].median())),
        "sampled_anew": int(table["repeated"].sum()),
        "flagged": "; ".join(out) or "nothing",
    }


if __name__ == "__main__":
    sys.exit(main())
