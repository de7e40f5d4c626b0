"""The proportion of generated wordings with the intended meaning: Haller et al. (2024), Table 4."""

from typing import Any

import numpy as np
import pandas as pd

from polbayes.measures.resampling import Bootstrap, mean_by_item, share

ALL = "all items"


def match_proportion(
    checked: pd.DataFrame, *, draws: int = 10_000, level: float = 0.95, seed: int = 1
) -> pd.DataFrame:
    """Compute the proportion of checked wordings that match, by item and on average."""
    bootstrap = Bootstrap(draws, level, seed)
    rows: list[dict[str, Any]] = []
    for (name, kind), group in checked.groupby(["set", "kind"], sort=False):
        own = [
            {"set": name, "kind": kind, "item": item, **_share(of_item, level)}
            for item, of_item in group.groupby("item", sort=False)
        ]
        there = sorted((row for row in own if row["n"]), key=lambda row: str(row["item"]))
        estimates = np.array([[row["estimate"] for row in there]])
        mean: list[float] = [np.nan] * 3
        if there:
            items = [str(row["item"]) for row in there]
            mean = mean_by_item(estimates, np.ones_like(estimates), items, bootstrap)[0].tolist()
        counts = {key: sum(row[key] for row in own) for key in ("n", "n_excluded")}
        note = "" if len(there) > 1 else "only one item: no interval" if there else "none decided"
        overall = dict(zip(("estimate", "lower", "upper"), mean, strict=True))
        rows += [*own, {"set": name, "kind": kind, "item": ALL, **overall, **counts, "note": note}]
    columns = ["set", "kind", "item", "measure", "estimate", "lower", "upper", "n", "n_excluded"]
    table = pd.DataFrame(rows).assign(measure="match_proportion", level=level)
    return table.reindex(columns=[*columns, "level", "note"])


def _share(of_item: pd.DataFrame, level: float) -> dict[str, Any]:
    decided = [match for match in of_item["match"] if match is not None]
    about = {"n": len(decided), "n_excluded": len(of_item) - len(decided), "note": ""}
    if not decided:
        nothing = dict.fromkeys(("estimate", "lower", "upper"), np.nan)
        return {**nothing, **about, "note": "none decided"}
    return {**share(sum(decided), len(decided), level), **about}
