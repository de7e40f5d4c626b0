"""German parties in eight elections: the order of the large ones, election by election and linked.

    python benchmarks/parties.py FOLDER/positions.parquet [--only alone linked walks] [--draws 1000]

`alone` fits every election, `linked` all of them with one position for every party, and `walks` all
of them with a position that changes from election to election. For each fit it prints the large
parties from left to right, with the probability that each is right of the one before; the
probabilities that all of DIE LINKE, GRÜNE and SPD are left of FDP and the Christian democrats
(`left`), and all of these left of the AfD (`AfD`), and of NPD and REP (`NPD, REP`); R-hat and the
least effective sample size, of theta and of all that is reported; divergences; gradients per draw;
and processor seconds. Of `walks` it also counts what is said of the changes of the lean from one
election to the next, and lists those that count.
"""

import argparse
import time
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

from polbayes.config.compose import compose
from polbayes.config.schema import SamplerConfig
from polbayes.fit.fit import fit
from polbayes.fit.posterior.neighbours import neighbours
from polbayes.fit.posterior.over_time import NEXT, over_time_tables
from polbayes.fit.posterior.verdicts import LEFT as TO_LEFT
from polbayes.fit.posterior.verdicts import RIGHT as TO_RIGHT
from polbayes.fit.sampling.diagnose import MODEL_LEVEL, diagnose
from polbayes.fit.spec.cells import gather_cells
from polbayes.fit.spec.reduction import reduced
from polbayes.fit.spec.spec import parse_spec
from polbayes.run.plan import plan

# Whom nobody disputes to be left of whom.
LEFT, MIDDLE = ("DIE LINKE", "GRÜNE", "SPD"), ("FDP", "CDU/CSU", "CDU", "CSU")
RIGHT = {"AfD": ("AfD",), "NPD, REP": ("NPD", "REP")}
LARGE = ("DIE LINKE", "GRÜNE", "SPD", "FDP", "CDU/CSU", "CDU", "AfD")
# Certainly right of the centre on any statements, in the order in which they are looked for.
ANCHORS = ("AfD", "CDU/CSU", "CDU")


@dataclass(frozen=True)
class Found:
    """A fit, and how long it took."""

    posterior: xr.Dataset
    about: dict[str, object]
    changes: pd.DataFrame | None


def fitted(experiment: str, path: Path, sampler: SamplerConfig, *more: str) -> Found:
    """Fit one of the shipped experiments."""
    config = compose([f"+experiment={experiment}", f"imported.path='{path}'", *more])[0]
    data = plan(config).design
    spec = parse_spec(config.analysis)
    cells = gather_cells(data, spec)
    spec = reduced(spec, cells)[0]
    begun = time.process_time()
    found = fit(spec, cells, sampler, seed=config.seed)
    seconds = time.process_time() - begun
    table = diagnose(found.posterior, found.sample_stats).table.set_index("quantity")
    names = table.index.str.split("[").str[0]
    ess = table[["ess_bulk", "ess_tail"]].min(axis=1)
    about: dict[str, object] = {
        "r_hat theta": round(float(table["r_hat"][names == "theta"].max()), 3),
        "r_hat": round(float(table["r_hat"][names.isin(MODEL_LEVEL)].max()), 3),
        "ess theta": int(ess[names == "theta"].min()),
        "ess": int(ess[names.isin(MODEL_LEVEL)].min()),
        "divergences": int(found.sample_stats["diverging"].sum()),
        "gradients": round(float(found.sample_stats["n_steps"].mean()), 1),
        "seconds": round(seconds),
    }
    level, rope = config.analysis.level, config.analysis.rope
    tables = over_time_tables(found.posterior, spec, cells, level=level, rope=rope)
    return Found(found.posterior, about, tables.get("changes"))


def undisputed(posterior: xr.Dataset, party_of: dict[str, str]) -> dict[str, float]:
    """Return the probabilities that all pairs that nobody disputes are in their order."""
    theta = posterior["theta"].isel(dimension=0)
    by_party = {party: theta.sel(model=model) for model, party in party_of.items()}

    def certain(left: tuple[str, ...], right: tuple[str, ...]) -> float:
        pairs = [(a, b) for a, b in product(left, right) if a in by_party and b in by_party]
        each = [(by_party[a] < by_party[b]).to_numpy() for a, b in pairs]
        return round(float(np.all(each, axis=0).mean()), 3) if each else np.nan

    found = {"left": certain(LEFT, MIDDLE)}
    return found | {name: certain((*LEFT, *MIDDLE), far) for name, far in RIGHT.items()}


def order(posterior: xr.Dataset, party_of: dict[str, str]) -> str:
    """List the large parties, each with the probability that it is right of the one before."""
    large = [model for model, party in party_of.items() if party in LARGE]
    pairs = neighbours(posterior, level=0.9, reference=large)
    pairs = pairs[pairs["among"] == "reference"]
    rest = [f"{party_of[row.next]} ({row.p_left:.3f})" for row in pairs.itertuples()]
    return ", ".join([party_of[pairs["model"].iloc[0]], *rest])


def shown(found: Found, party_of: dict[str, str], name: str) -> dict[str, object]:
    """Print the order of the large parties, and return a row about the fit."""
    row = {"fit": name, "parties": len(party_of)}
    row |= undisputed(found.posterior, party_of) | found.about
    print(f"{name}: {order(found.posterior, party_of)}", flush=True)
    print("  " + ", ".join(f"{key} {value}" for key, value in found.about.items()), flush=True)
    return row


def changed(changes: pd.DataFrame) -> None:
    """Print what is said of the changes from one election to the next."""
    changes = changes[changes["span"] == NEXT]
    print(f"{len(changes)} changes: {changes['decision'].value_counts().to_dict()}")
    print(changes[changes["decision"].isin([TO_LEFT, TO_RIGHT])].to_string(index=False), flush=True)


def main() -> None:
    """Print the orders, and a table of the fits."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", type=Path)
    kinds = ("alone", "linked", "walks")
    parser.add_argument("--only", nargs="+", choices=kinds, default=kinds)
    parser.add_argument("--elections", nargs="*", help="alone; all of them by default")
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--tune", type=int, default=500)
    parser.add_argument("--chains", type=int, default=4)
    given = parser.parse_args()
    sampler = SamplerConfig(chains=given.chains, tune=given.tune, draws=given.draws)
    elections = given.elections or sorted(pd.read_parquet(given.path)["election"].unique())
    rows = []
    table = pd.read_parquet(given.path)
    for election in elections if "alone" in given.only else ():
        there = set(table.loc[table["election"] == election, "party"])
        anchor = next(party for party in ANCHORS if party in there)
        one = f"+imported.where={{election: {election}}}"
        anchored = f"analysis.anchor={{political: {anchor}}}"
        found = fitted("parties", given.path, sampler, one, anchored)
        names = {str(model): str(model) for model in found.posterior["model"].values}
        rows.append(shown(found, names, election))
    if "linked" in given.only:
        found = fitted("parties", given.path, sampler)
        names = {str(model): str(model) for model in found.posterior["model"].values}
        rows.append(shown(found, names, "linked"))
    if "walks" in given.only:
        found = fitted("parties_over_time", given.path, sampler)
        models = [str(model).rsplit(" / ", 1) for model in found.posterior["model"].values]
        for election in elections:
            names = {f"{party} / {when}": party for party, when in models if when == election}
            rows.append(shown(found, names, f"walks, {election}"))
        changed(found.changes)
    print(pd.DataFrame(rows).to_string(index=False))


if __name__ == "__main__":
    main()
