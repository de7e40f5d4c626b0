"""The raw share of "equal" against the model's tilt, where judges favour an order or a side.

Three models, one of them even-handed, are judged by panels of three judges: fair ones, ones that
favour whatever is shown first, and ones of which each favours a side. For each panel the script
reports the share of pairs that are even-handed as published (by one judge in one order, and by the
panel in both), the difference between the shares of verdicts for the right and for the left, and
the tilt, with the coverage of its 90 % intervals. Run
``PYTHONPATH=. python benchmarks/even_handedness.py [--simulations N] [--json F] [--figure F]``.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from polbayes.config.schema import SamplerConfig
from polbayes.run.pairs.fit import fit_pairs
from polbayes.run.pairs.measures import CUT
from tools.calibration.verdicts import simulate

TILT = {"left": -0.7, "even": 0.0, "right": 0.7}
# Side and order effects of the judges; sides add up to 0 over a panel.
PANELS: dict[str, dict[str, tuple[float, ...]]] = {
    "fair": {"side": (0.0, 0.0, 0.0), "first": (0.0, 0.0, 0.0)},
    "favour the first": {"side": (0.0, 0.0, 0.0), "first": (1.5, 1.0, 1.25)},
    "favour a side": {"side": (-1.2, 0.2, 1.0), "first": (0.0, 0.0, 0.0)},
    "both": {"side": (-1.2, 0.2, 1.0), "first": (1.5, 1.0, 1.25)},
}
SAMPLER = SamplerConfig(chains=2, tune=300, draws=300, target_accept=0.8)
LEVEL = 0.9


def raw(data: xr.Dataset, judges: list[str], orders: list[str]) -> pd.DataFrame:
    """Return the published share, and the difference of verdicts, by model."""
    prob = data["verdict_prob"].sel(judge=judges, order=orders).mean(("judge", "order"))
    even = (prob.sel(verdict="equal") >= CUT).mean(("item", "prefix", "run"))
    score = (prob.sel(verdict="b") - prob.sel(verdict="a")).mean(("item", "prefix", "run"))
    return pd.DataFrame({"model": list(TILT), "even": even.values, "difference": score.values})


def one(panel: str, seed: int) -> pd.DataFrame:
    """Simulate, measure and fit one study."""
    data = simulate(
        np.random.default_rng([seed, list(PANELS).index(panel)]),
        tilt=list(TILT.values()),
        threshold=(0.9, 0.9, 0.9),
        topics=30,
        templates=2,
        rated=False,
        length=0.0,
        **PANELS[panel],
    )
    fit = fit_pairs(data, sampler=SAMPLER, joint=False, seed=seed)
    draws = fit.posterior["tilt"].isel(dimension=0).stack(sample=("chain", "draw"))
    lower, upper = draws.quantile([(1 - LEVEL) / 2, (1 + LEVEL) / 2], "sample").values
    single = raw(data, ["j0"], ["a_first"]).add_prefix("single_")
    table = raw(data, list(data["judge"].values), list(data["order"].values)).join(single)
    truth = np.array(list(TILT.values()))
    return table.assign(
        panel=panel,
        truth=truth,
        tilt=draws.mean("sample").values,
        equal=fit.posterior["equal"].mean(("chain", "draw")).values[:, 0],
        inside=(lower <= truth) & (truth <= upper),
        width=upper - lower,
    )


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """Average over simulations."""
    columns = ["single_even", "even", "single_difference", "difference", "tilt", "equal", "inside"]
    order = pd.Categorical(table["panel"], list(PANELS), ordered=True)
    ordered = table.assign(panel=order, model=pd.Categorical(table["model"], list(TILT)))
    return ordered.groupby(["panel", "model"], observed=True)[[*columns, "width"]].mean().round(3)


def draw(table: pd.DataFrame, path: Path) -> None:
    """Draw the share of even-handed pairs, and the tilt, of every simulation."""
    from polbayes.report.figures import style

    panels = {"even": "Even-handed pairs, as published", "tilt": "Tilt by the model, in logits"}
    with style.drawing(style.WIDTH, 3.6) as figure:
        for axes, (name, title) in zip(figure.subplots(1, 2), panels.items(), strict=True):
            for k, (model, rows) in enumerate(table.groupby("model", sort=False)):
                at = rows["panel"].map(list(PANELS).index) + 0.18 * (k - 1)
                look = style.series_look(k)
                colour, marker = look.values()
                style.marks(
                    axes, at, rows[name], colour=colour, marker=marker, markersize=4, label=model
                )
                if name == "tilt":
                    axes.axhline(rows["truth"].iloc[0], color=colour, linewidth=0.9, alpha=0.6)
            axes.set_xticks(range(len(PANELS)), [panel.replace(" ", "\n") for panel in PANELS])
            axes.set_xlabel("judges")
            axes.set_title(title)
            style.faint_grid(axes, "y")
        style.legend_above(figure, 3)
        figure.savefig(path, dpi=110)


def main() -> None:
    """Run the simulations."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=6)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--figure", type=Path)
    given = parser.parse_args()
    studies = [one(panel, seed) for panel in PANELS for seed in range(given.simulations)]
    table = pd.concat(studies, ignore_index=True)
    found = summary(table)
    print(found.to_string())
    print(f"coverage of {LEVEL:.0%} intervals: {table['inside'].mean():.3f} of {len(table)}")
    if given.json:
        rows: list[dict[str, Any]] = found.reset_index().to_dict("records")
        given.json.write_text(json.dumps(rows, indent=1, default=str) + "\n", encoding="utf-8")
    if given.figure:
        draw(table, given.figure)


if __name__ == "__main__":
    main()
