"""The many-facet model of ratings compared with planted values and raw means, and on real judges.

``--step recovery`` simulates panels of three judges with random severity, leaning, noise, range and
self-preference (one judge is one of the models), fits each, and reports the coverage of the 90 %
intervals, the errors of the estimates, and the order of the models by the mean
rating of the panel and by the model. ``--step speed`` fits a dataset of the size of the default run
(5 models, 20 scenarios, 2 twins, 6 units, 3 judges, 10 values: 36,000 ratings) and reports time and
convergence. ``--step swissbench`` estimates the judges of
``judge_scores.parquet`` (answers of 8 models, rated by the models themselves), and
``--step embedded --data RUN`` compares a finished run of the experiment with the planted
judges. Run
``PYTHONPATH=. python benchmarks/facets.py --step recovery [--simulations N] [--json FILE]``.
"""

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from polbayes.config.schema import SamplerConfig
from polbayes.data.files import replacing
from polbayes.instrument.values import VALUES, WEIGHTS, alignment_score
from polbayes.roleplay.fit.fit import fit_rated, fit_ratings
from polbayes.roleplay.fit.rated import gather
from tools.calibration.ratings import Judge, Planted, simulate

SWISSBENCH = Path("../shared/data/swissbench/judge_scores.parquet")
STEPS = ("recovery", "speed", "swissbench", "embedded")
JUDGED = ("severity", "tilt", "consistency", "range_use", "self_level", "self_tilt")
LEVEL = 0.9
LONG = SamplerConfig(chains=2, tune=400, draws=800, target_accept=0.8)
SMALL = SamplerConfig(chains=2, tune=300, draws=400, target_accept=0.8)


def random_panel(rng: np.random.Generator) -> Planted:
    """Return models close to each other and three judges, one of which is the first model."""
    positions = {f"m{k + 1}": float(rng.normal(0.0, 0.6)) for k in range(5)}
    spread = np.exp(rng.normal(0.0, 0.1, 3))
    judges = {
        name: Judge(
            severity=float(rng.normal(0.0, 1.2)),
            tilt=float(rng.normal(0.0, 0.5)),
            noise=float(np.exp(rng.normal(0.0, 0.25))),
            range_use=float(wide / np.exp(np.log(spread).mean())),
        )
        for name, wide in zip(("m1", "j2", "j3"), spread, strict=True)
    }
    own = float(rng.normal(0.0, 0.6)), float(rng.normal(0.8, 0.3))
    judges["m1"] = Judge(**{**judges["m1"].__dict__, "self_level": own[0], "self_tilt": own[1]})
    return Planted(positions, judges, scenarios=4, stages=2)


def covers(draws: xr.DataArray, truth: xr.DataArray) -> dict[str, Any]:
    """Compare draws with the truth, entry by entry."""
    flat = draws.stack(sample=("chain", "draw")).transpose("sample", *truth.dims).to_numpy()
    low, high = np.quantile(flat, ((1 - LEVEL) / 2, (1 + LEVEL) / 2), axis=0)
    true = truth.to_numpy()
    rank = (flat < true).mean(axis=0)
    return {
        "covered": ((low <= true) & (true <= high)).ravel().tolist(),
        "error": (flat.mean(axis=0) - true).ravel().tolist(),
        "width": (high - low).ravel().tolist(),
        "rank": rank.ravel().tolist(),
    }


def raw_scores(ratings: xr.Dataset) -> xr.DataArray:
    """Return the alignment of the mean rating of the panel, by model."""
    means = ratings["rating"].mean(("scenario", "twin", "wording", "stage", "judge"))
    return alignment_score(means, WEIGHTS)


def order(scores: np.ndarray, truth: np.ndarray) -> tuple[float, bool]:
    """Return Kendall's tau of two orders, and whether they are the same."""
    from scipy.stats import kendalltau

    same = bool((np.argsort(scores) == np.argsort(truth)).all())
    return float(kendalltau(scores, truth).statistic), same


def recovery(simulations: int) -> dict[str, Any]:
    """Fit simulated panels and compare with the planted values."""
    rows: dict[str, list[dict[str, Any]]] = {}
    orders = []
    for number in range(simulations):
        panel = random_panel(np.random.default_rng(number))
        ratings, truth = simulate(panel, number)
        fit = fit_ratings(ratings, sampler=SMALL, seed=number)
        for name in (*JUDGED, "fair"):
            rows.setdefault(name, []).append(covers(fit.posterior[name], truth[name]))
        weights = xr.DataArray([WEIGHTS[v] for v in VALUES], coords={"value": list(VALUES)})
        true = (truth["fair"].mean("stage") * weights).sum("value")
        found = (fit.posterior["fair"].mean("stage") * weights).sum("value")
        rows.setdefault("score", []).append(covers(found, true))
        raw = raw_scores(ratings)
        estimate = found.mean(("chain", "draw"))
        orders.append(
            {
                "raw": order(raw.to_numpy(), true.to_numpy()),
                "facets": order(estimate.to_numpy(), true.to_numpy()),
                "raw_error": (raw - true).to_numpy().tolist(),
                "facets_error": (estimate - true).to_numpy().tolist(),
            }
        )
        print(number, {n: np.mean(r[-1]["covered"]).round(2) for n, r in rows.items()}, flush=True)
    return {"coverage": rows, "orders": orders}


def summary(found: dict[str, Any]) -> pd.DataFrame:
    """Return one row per quantity: coverage with its standard error by simulation, and error."""
    table = []
    for name, results in found["coverage"].items():
        by_simulation = [np.mean(r["covered"]) for r in results]
        error = np.concatenate([r["error"] for r in results])
        table.append(
            {
                "quantity": name,
                "coverage": np.mean(by_simulation),
                "standard_error": np.std(by_simulation, ddof=1) / np.sqrt(len(by_simulation)),
                "mean_error": error.mean(),
                "rmse": np.sqrt((error**2).mean()),
                "width": np.mean(np.concatenate([r["width"] for r in results])),
            }
        )
    return pd.DataFrame(table)


def ranks(found: dict[str, Any]) -> pd.DataFrame:
    """Return how well raw means and the model order the models."""
    rows = []
    for method in ("raw", "facets"):
        taus, same = zip(*(o[method] for o in found["orders"]), strict=True)
        errors = np.array([o[f"{method}_error"] for o in found["orders"]])
        shifted = errors - errors.mean(axis=1, keepdims=True)
        rows.append(
            {
                "method": method,
                "tau": np.mean(taus),
                "same_order": np.mean(same),
                "rmse_of_differences": np.sqrt((shifted**2).mean()),
                "error_of_self_judged": shifted[:, 0].mean(),
            }
        )
    return pd.DataFrame(rows)


def speed(scenarios: int) -> dict[str, Any]:
    """Fit a dataset of the size of the default run."""
    judges = {
        "m1": Judge(1.5, 0.5, 0.8, 1.1, 0.5, 0.4),
        "j2": Judge(-1.0, -0.8, 1.3, 0.9),
        "j3": Judge(0.0, 0.0, 1.0, 1.0),
    }
    places = {f"m{k + 1}": place for k, place in enumerate((2.0, 0.8, 0.3, -0.6, -1.5))}
    ratings, truth = simulate(Planted(places, judges, scenarios=scenarios), 1)
    small, _ = simulate(Planted(places, judges, scenarios=1, stages=2), 1)
    fit_ratings(small, sampler=SamplerConfig(chains=2, tune=50, draws=50))  # compiles
    wall, cpu = time.perf_counter(), time.process_time()
    fit = fit_ratings(ratings)
    worst = fit.diagnosis.table
    return {
        "ratings": int(ratings["rating"].notnull().sum()),
        "wall_s": time.perf_counter() - wall,
        "cpu_s": time.process_time() - cpu,
        "load": os.getloadavg(),
        "leapfrog_steps": float(fit.sample_stats["n_steps"].mean()),
        "largest_r_hat": float(worst["r_hat"].max()),
        "least_bulk_ess": float(worst["ess_bulk"].min()),
        "verdict": fit.diagnosis.verdict,
        "coverage": {
            n: float(np.mean(covers(fit.posterior[n], truth[n])["covered"]))
            for n in (*JUDGED, "fair")
        },
    }


def panels_of_swissbench(path: Path) -> dict[str, xr.DataArray]:
    """Return ratings by panel: the months in which the same judges rated one another.

    Scores in [0, 1] are rounded to hundredths; items are scenarios and months stages.
    """
    table = pd.read_parquet(path)
    table = table.assign(rating=(100 * table["score"]).round())
    table = table.rename(columns={"item_id": "scenario", "month": "stage"})
    judges = table.groupby("stage")["judge"].agg(lambda names: ", ".join(sorted(set(names))))
    panel, keys = table["stage"].map(judges), ["model", "scenario", "stage", "judge"]
    return {
        str(names): rows.set_index(keys)["rating"].to_xarray()
        for names, rows in table.groupby(panel)
    }


def swissbench(path: Path) -> dict[str, Any]:
    """Estimate severity, consistency and self-preference of the judges, with intervals."""
    from polbayes.roleplay.fit.tables import facet_tables

    if not path.is_file():
        raise SystemExit(f"{path}: not here, and not shipped with polbayes; nothing was done.")
    found = {}
    for names, ratings in panels_of_swissbench(path).items():
        fit = fit_rated(gather(ratings, scale=(0, 100)), sampler=LONG)
        effects = facet_tables(fit, level=LEVEL)["facet_judges"]
        print(names, fit.diagnosis.verdict, *fit.diagnosis.sentences, sep="\n")
        print(effects.round(2).to_string(index=False), flush=True)
        found[names] = effects.to_dict(orient="records")
    return found


def embedded(run: Path) -> dict[str, Any]:
    """Compare the judges of a finished run of the experiment with the planted values."""
    from polbayes.planted.roleplay import judges

    posterior = xr.open_dataset(run / "posterior.nc", group="posterior").load()
    planted = [judges()[str(name)] for name in posterior["judge"].values]
    weights = np.array([WEIGHTS[value] for value in VALUES])
    first = np.linspace(1, -1, len(VALUES))
    adds = np.array(
        [-j.severity + np.sign(weights) * j.leaning + first * j.place + j.number for j in planted]
    )
    adds -= adds.mean(axis=0)
    level = adds.mean(axis=1, keepdims=True)
    true = {"severity": -level[:, 0], "tilt": (adds - level) @ weights}
    found: dict[str, Any] = {}
    for name, values in true.items():
        low, middle, high = posterior[name].quantile([0.05, 0.5, 0.95], ("chain", "draw")).values
        columns = {"planted": values, "low": low, "middle": middle, "high": high}
        table = pd.DataFrame(columns, posterior["judge"].values)
        print(name, table.round(3), sep="\n")
        found[name] = table.to_dict()
    return found


def main() -> None:
    """Run one step and print its tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--step", choices=STEPS, required=True)
    parser.add_argument("--simulations", type=int, default=20)
    parser.add_argument("--scenarios", type=int, default=20)
    parser.add_argument("--data", type=Path, default=SWISSBENCH)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    found: dict[str, Any]
    if given.step == "recovery":
        found = recovery(given.simulations)
        print(summary(found).round(3).to_string(index=False))
        print(ranks(found).round(3).to_string(index=False))
    elif given.step == "speed":
        found = speed(given.scenarios)
        print(json.dumps(found, indent=1))
    elif given.step == "swissbench":
        found = swissbench(given.data)
    elif not (given.data / "posterior.nc").exists():
        parser.error(f"--data: {given.data} has no posterior.nc; name the folder of a finished run")
    else:
        found = embedded(given.data)
    if given.json:
        with replacing(given.json) as temporary:
            temporary.write_text(json.dumps(found, default=float))


if __name__ == "__main__":
    main()
