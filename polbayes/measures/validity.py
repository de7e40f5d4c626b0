"""Validity: the outcome of every question asked, and the proportion that is usable."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from polbayes.data.dataset import CELL_DIMS, STANCE, STATUS, UNREADABLE
from polbayes.measures.grouping import Groups, asked_cells, group_cells, on_cells, sum_by_item
from polbayes.measures.measure import Job, Measure
from polbayes.measures.resampling import Bootstrap, mean_by_item, share

# Every asked cell has exactly one outcome.
_OUTCOMES = (
    "agree",
    "neutral",
    "disagree",
    "unrelated",
    "refused",
    *UNREADABLE,
    "uncoded",
    "error",
    "pending",
)
_NO_ANSWER = ("error", "pending")
_USABLE = ("agree", "neutral", "disagree")
_COLUMNS = ("measure", "estimate", "lower", "upper", "count", "n", "base", "level", "note")


def validity(
    data: xr.Dataset,
    *,
    by: Sequence[str] = ("model",),
    draws: int = 10_000,
    level: float = 0.95,
    seed: int = 1,
) -> pd.DataFrame:
    """Count the outcomes of questions, by status and stance.

    Parameters
    ----------
    data
        A coded response dataset. All its cells count, including those of unscored items.
    by
        Coordinates that define the groups.
    draws, level, seed
        As for `polbayes.measures.bias.bias`; draws and seed are for ``mass``.

    Returns
    -------
    pandas.DataFrame
        One row per group and measure, a proportion of ``base``:

        - of the ``asked``: ``answered``, ``error`` (the respondent failed), ``pending``;
        - of the ``answered``: ``agree``, ``neutral``, ``disagree`` and their sum
          ``usable``; ``unrelated``, ``refused`` (by status or coder); unreadable answers:
          ``empty``, ``truncated`` (cut off before saying anything) and ``invalid`` (all others);
          ``uncoded`` (no coder decided);
        - ``mass``, if the dataset has option probabilities: the mean of p_agree +
          p_disagree over the cells that have them (Haller et al., section 4.1), with their
          number as ``count``.

        Intervals are Wilson's, which treat answers as independent; for ``mass`` the
        percentile bootstrap over items.
    """
    bootstrap = Bootstrap(draws, level, seed)
    asked = asked_cells(data)
    groups = group_cells(data, by, asked)
    outcome = _outcomes(data)
    counts = {
        name: sum_by_item(groups, asked & (outcome == code)).sum(axis=1)
        for code, name in enumerate(_OUTCOMES)
    }
    mass = _mass(data, by, bootstrap)
    rows: list[dict[str, Any]] = []
    for g, label in enumerate(groups.labels):
        names = dict(zip(groups.by, label, strict=True))
        found = [*_shares({k: int(v[g]) for k, v in counts.items()}, level), *mass.get(label, [])]
        rows += [{**names, **row, "level": level} for row in found]
    return pd.DataFrame(rows, columns=[*groups.by, *_COLUMNS])


def _outcomes(data: xr.Dataset) -> np.ndarray:
    """Return every cell's position in `_OUTCOMES`; a coded stance outranks the status."""
    status, stance = on_cells(data, "status"), on_cells(data, "stance")
    conditions = {
        **{name: stance == STANCE[name] for name in ("agree", "neutral", "disagree", "unrelated")},
        "refused": (stance == STANCE["refused"]) | (status == STATUS["refused"]),
        **{name: status == STATUS[name] for name in (*UNREADABLE, "error", "pending")},
    }
    codes = [_OUTCOMES.index(name) for name in conditions]
    return np.select(list(conditions.values()), codes, default=_OUTCOMES.index("uncoded"))


def _shares(counts: dict[str, int], level: float) -> list[dict[str, Any]]:
    asked = sum(counts.values())
    answered = asked - sum(counts[name] for name in _NO_ANSWER)
    of_answers = {name: count for name, count in counts.items() if name not in _NO_ANSWER}
    of_answers = {"usable": sum(counts[name] for name in _USABLE), **of_answers}
    of_asked = {"answered": answered, **{name: counts[name] for name in _NO_ANSWER}}
    bases = (("asked", asked, of_asked), ("answered", answered, of_answers))
    rows = []
    for base, n, shares in bases:
        for name, count in shares.items():
            note = "" if n else "nothing was answered"
            rows.append({"measure": name, **share(count, n, level), "base": base, "note": note})
    return rows


def _mass(
    data: xr.Dataset, by: Sequence[str], bootstrap: Bootstrap
) -> dict[tuple[Any, ...], list[dict[str, Any]]]:
    """Average the probability mass of usable options; empty without probabilities."""
    if "p_agree" not in data or "p_disagree" not in data:
        return {}
    dims = [d for d in CELL_DIMS if d in data["p_agree"].dims]
    mass = on_cells(data, "p_agree", dims).astype(np.float64) + on_cells(data, "p_disagree", dims)
    asked = asked_cells(data, dims)
    groups: Groups = group_cells(data, by, asked, dims=dims)
    there = asked & ~np.isnan(mass)
    counts = sum_by_item(groups, there)
    means = mean_by_item(sum_by_item(groups, there, mass), counts, groups.items, bootstrap)
    n_asked = sum_by_item(groups, asked).sum(axis=1)
    rows = {}
    for g, label in enumerate(groups.labels):
        estimate, lower, upper = means[g].tolist()
        note = "only one item: no interval by item" if np.isnan(lower) else ""
        note = "no option probabilities" if np.isnan(estimate) else note
        rows[label] = [
            {
                "measure": "mass",
                "estimate": estimate,
                "lower": lower,
                "upper": upper,
                "count": int(counts[g].sum()),
                "n": int(n_asked[g]),
                "base": "asked",
                "note": note,
            }
        ]
    return rows


def _tables(job: Job) -> dict[str, pd.DataFrame]:
    by: dict[str, tuple[str, ...]] = {
        "validity": ("model",),
        "validity_by_prefix": ("model", "prefix"),
    }
    if job.probabilities:
        by["validity_by_item"] = ("model", "item")
    return {name: validity(job.data, by=over, **job.bootstrap) for name, over in by.items()}


MEASURE = Measure(
    _tables,
    {"validity": ("model",), "validity_by_prefix": (), "validity_by_item": ()},
    by_model=True,
)
