"""Coefficients of the ideology model: common terms and groups of models."""

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from polbayes.fit.density.model import Built
from polbayes.fit.posterior.intervals import coverage_table
from polbayes.fit.spec.centring import attributes_of
from polbayes.fit.spec.dif import DIF
from polbayes.fit.spec.priors import CONSTANT


def read_coefficients(built: Built, drawn: xr.Dataset) -> dict[str, Any]:
    """Name the coefficients of common terms, and the effects of groups of models.

    ``coefficient[term]``, with the coordinates ``coefficient_part`` and ``coefficient_name``, are
    the coefficients of each part's formula, on the part's own scale;
    ``group_effect[group_level]``, with ``part``, ``group``, ``varying`` and ``group_name``, is the
    effect of every level of a term whose grouping factors are attributes of the models (such as
    family), but not the models themselves.
    """
    out: dict[str, Any] = {}
    columns = enumerate(built.layout.coefficients)
    free = {k: c for k, c in columns if built.spec.prior(*c[:2]).name != CONSTANT}
    if free:
        parts, _, names = zip(*free.values(), strict=True)
        labels = [f"{part}: {name}" for part, name in zip(parts, names, strict=True)]
        beside = {"coefficient_part": parts, "coefficient_name": names}
        out["coefficient"] = _array(drawn["b"].to_numpy()[..., list(free)], "term", labels, beside)
    rows, positions = _group_levels(built)
    if rows:
        part, group, varying, level = zip(*rows, strict=True)
        labels = [f"{p}: {g} [{x}]" + (f" {v}" if v else "") for p, g, v, x in rows]
        beside = {"part": part, "group": group, "varying": varying, "group_name": level}
        values = _walked(built, drawn["effects"].to_numpy())[..., positions]
        out["group_effect"] = _array(values, "group_level", labels, beside)
    return out


def _walked(built: Built, effects: np.ndarray) -> np.ndarray:
    """Replace the steps of random walks, on the last axis, by their sums."""
    out = effects.copy()
    for block in built.layout.blocks:
        if block.group is not None and block.group.first is not None:
            total = np.cumsum(effects[..., block.start : block.stop], axis=-1)
            before = np.concatenate([np.zeros_like(total[..., :1]), total], axis=-1)
            out[..., block.start : block.stop] = total - before[..., block.group.first]
    return out


def _group_levels(built: Built) -> tuple[list[tuple[str, str, str, str]], list[int]]:
    """Return part, group, column, level and position of the effects of groups of models."""
    attributes = attributes_of(built.cells.frame)
    rows, positions = [], []
    for block in built.layout.blocks:
        group = block.group
        if group is None or "model" in group.term.factors or block.part == DIF:
            continue
        if not attributes & set(group.term.factors):
            continue
        columns = ("",) if group.matrix is None else group.columns
        for at, level in enumerate(group.labels):
            for k, column in enumerate(columns):
                rows.append((block.part, group.term.name, column, level))
                positions.append(block.start + at * len(columns) + k)
    return rows, positions


def _array(values: np.ndarray, dim: str, labels: list[str], beside: dict[str, Any]) -> Any:
    coords: dict[str, Any] = {dim: np.array(labels, dtype=object)}
    coords |= {name: (dim, np.array(texts, dtype=object)) for name, texts in beside.items()}
    return xr.DataArray(values, dims=("chain", "draw", dim), coords=coords)


def coefficient_tables(posterior: xr.Dataset, level: float) -> dict[str, pd.DataFrame]:
    """Summarise the results of `read_coefficients`."""
    tables = {}
    if "coefficient" in posterior:
        names = {"coefficient_part": "part", "coefficient_name": "term"}
        tables["coefficients"] = _table(posterior["coefficient"], names, level)
    if "group_effect" in posterior:
        names = {"part": "part", "group": "group", "varying": "varying", "group_name": "level"}
        tables["group_effects"] = _table(posterior["group_effect"], names, level)
    return tables


def _table(values: xr.DataArray, names: dict[str, str], level: float) -> pd.DataFrame:
    table = coverage_table(values, level)
    about = pd.DataFrame({new: values[old].values for old, new in names.items()})
    numbers = ["estimate", "sd", "lower", "upper", "p_positive", "coverage"]
    return pd.concat([about, table[numbers]], axis=1)
