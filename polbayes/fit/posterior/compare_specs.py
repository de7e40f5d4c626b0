"""Comparison of specs by how well they predict the same answers."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from polbayes.errors import UserError
from polbayes.fit.posterior.loo import Loo

_CELL = ["model", "item", "variant", "prefix"]
# Differences in elpd below this are small, and their standard error is unreliable (Sivula,
# Magnusson and Vehtari 2020).
_SMALL = 4.0
# Number of standard errors from which a difference counts as one.
_CLEAR = 2.0
_FEW = 0.05


def compare_specs(found: Mapping[str, Loo]) -> pd.DataFrame:
    """Compare specs by how well they predict each cell from all others."""
    names = sorted(found, key=lambda name: found[name].elpd, reverse=True)
    best = found[names[0]]
    rows = []
    for name in names:
        loo = found[name]
        difference = aligned(loo, best, name, names[0]) - best.cells["elpd"].to_numpy()
        difference = best.times * difference
        se = float(np.sqrt(len(difference) * difference.var(ddof=1)))
        rows.append(
            {
                "spec": name,
                "elpd_loo": loo.elpd,
                "se": loo.se,
                "p_loo": loo.times * float(loo.cells["p_loo"].sum()),
                "cells": len(loo.cells),
                "unreliable": loo.unreliable,
                "difference": float(difference.sum()),
                "se_difference": se,
                "reading": _reading(loo, best, float(difference.sum()), se),
            }
        )
    return pd.DataFrame(rows)


def aligned(loo: Loo, reference: Loo, name: str, other: str) -> np.ndarray:
    """Return ``[cell]`` the elpd of one spec in the order of another's cells."""
    left, right = (_keyed(one.cells) for one in (reference, loo))
    keys = [*_CELL, "_number", "observed"]
    merged = left[keys].merge(right[[*keys, "elpd"]], on=keys, how="left")
    if len(left) != len(right) or merged["elpd"].isna().any():
        raise UserError(
            f"specs: {name} and {other} are not fitted to the same answers ({len(right):,} and "
            f"{len(left):,} cells), so that their predictions cannot be compared; give them the "
            "same response and select, and the same variables of the design."
        )
    return merged["elpd"].to_numpy()


def _keyed(cells: pd.DataFrame) -> pd.DataFrame:
    """Assign numbers to cells with the same labels and the same answers."""
    as_text = cells.astype(dict.fromkeys([*_CELL, "observed"], str))
    return as_text.assign(_number=as_text.groupby([*_CELL, "observed"]).cumcount())


def _reading(loo: Loo, best: Loo, difference: float, se: float) -> str:
    if loo is best:
        text = "predicts best"
    elif -difference < _SMALL:
        text = "predicts about as well as the best"
    elif -difference > _CLEAR * se:
        text = "predicts worse than the best"
    else:
        text = "may predict worse than the best, which the answers do not settle"
    if max(loo.unreliable / len(loo.cells), best.unreliable / len(best.cells)) > _FEW:
        text += "; not reliable, too many cells have a Pareto k above 0.7"
    return text


def comparison_text(table: pd.DataFrame) -> str:
    """Write the table of `compare_specs` for a terminal."""
    width = max(len("spec"), *(len(name) for name in table["spec"]))
    lines = [
        f"{'spec':<{width}}  {'elpd':>10}  {'se':>6}  {'difference':>10}  {'se':>6}  "
        f"{'parameters':>10}  {'k > 0.7':>7}"
    ]
    for row in table.to_dict("records"):
        lines.append(
            f"{row['spec']:<{width}}  {row['elpd_loo']:10.1f}  {row['se']:6.1f}  "
            f"{row['difference']:10.1f}  {row['se_difference']:6.1f}  {row['p_loo']:10.1f}  "
            f"{row['unreliable']:7d}"
        )
    lines += [f"{row['spec']} {row['reading']}." for row in table.to_dict("records")]
    return "\n".join(lines)
