"""Stability under paraphrasing: Haller et al., section 4.2.

The measures use the normalised probability of agreeing, R+ = p_agree / (p_agree +
p_disagree), over the wordings with one meaning: the original and its paraphrases. Wordings
of reversed meaning (negations, opposites) are excluded.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from polbayes.data.dataset import CELL_DIMS
from polbayes.errors import UserError
from polbayes.measures.grouping import Groups, asked_cells, group_cells, on_cells, sum_by_item
from polbayes.measures.measure import INTERVAL, Job, Measure
from polbayes.measures.resampling import Bootstrap, mean_by_item

SAME_MEANING = ("original", "paraphrase")
_FLIP_PERCENT = (5, 10, 25)
_COLUMNS = (
    *("measure", "estimate", "sd_items", "lower", "upper", "n_items", "wordings_min"),
    *("wordings_max", "n_excluded", "level", "note"),
)


def stability(
    data: xr.Dataset,
    *,
    by: Sequence[str] = ("model",),
    draws: int = 10_000,
    level: float = 0.95,
    seed: int = 1,
) -> pd.DataFrame:
    """Compute the variation of answers over the wordings with one meaning.

    Each quantity is computed for every item within one prefix and run over its wordings
    of kind ``original`` or ``paraphrase``, then averaged over prefixes and runs, then over
    items. With one prefix and one run this is the paper's definition.

    Parameters
    ----------
    data
        A response dataset with `r_plus`.
    by
        Coordinates that define the groups, none of them along ``variant``;
        ``("model", "item")`` gives the table by item.
    draws, level, seed
        As for `polbayes.measures.bias.bias`; items are resampled.

    Returns
    -------
    pandas.DataFrame
        One row per group and measure; ``sd_items`` is the standard deviation over items,
        ``wordings_min`` and ``wordings_max`` are the smallest and largest number of wordings with
        `r_plus` per item, ``n_excluded`` wordings have none. Measures:

        - ``range``: largest minus smallest R+; ``sd``: standard deviation (n - 1);
        - ``inconsistent``: proportion of wordings that disagree with the majority, where
          agreeing means R+ >= 0.5;
        - ``flip_5``, ``flip_10``, ``flip_25``: proportion of items in which more than 5, 10,
          25 % of the existing wordings (not of a nominal number) are inconsistent;
        - ``mean``: mean R+; ``always_agree``, ``always_disagree``: 1 if the mean R+
          of every item is above (below) 0.5, else 0.

        All but the last three need items with at least two wordings.
    """
    bootstrap = Bootstrap(draws, level, seed)
    if "r_plus" not in data:
        raise UserError("the dataset has no 'r_plus'; stability needs option probabilities.")
    dims = [d for d in CELL_DIMS if d in data["r_plus"].dims and d != "variant"]
    r_plus = on_cells(data, "r_plus", [*dims, "variant"]).astype(np.float64)
    eligible = asked_cells(data, [*dims, "variant"]) & np.isin(
        on_cells(data, "kind", [*dims, "variant"]), SAME_MEANING
    )
    asked = np.asarray(eligible.any(axis=-1))
    groups = group_cells(data, by, asked, dims=dims)
    there = eligible & ~np.isnan(r_plus)
    wordings = there.sum(axis=-1)
    series = _over_wordings(np.where(there, r_plus, np.nan), there)
    tables = {
        name: _by_group(groups, values, wordings >= (1 if name == "mean" else 2), bootstrap)
        for name, values in series.items()
    }
    missing = sum_by_item(groups, asked, (eligible & ~there).sum(axis=-1))
    counts = _wording_counts(groups, wordings)
    rows: list[dict[str, Any]] = []
    for g, label in enumerate(groups.labels):
        found = [_row(name, table, g) for name, table in tables.items()]
        found += _flags(tables["mean"], g)
        common = {
            **dict(zip(groups.by, label, strict=True)),
            "wordings_min": counts[g][0],
            "wordings_max": counts[g][1],
            "n_excluded": int(missing[g].sum()),
            "level": level,
        }
        rows += [{**common, **row} for row in found]
    return pd.DataFrame(rows, columns=[*groups.by, *_COLUMNS])


def _over_wordings(r_plus: np.ndarray, there: np.ndarray) -> dict[str, np.ndarray]:
    """Reduce R+ over its last axis, ``variant``; undefined values are 0 and masked later."""
    n = np.maximum(there.sum(axis=-1), 1)
    mean = np.where(there, r_plus, 0).sum(axis=-1) / n
    squares = np.where(there, (r_plus - mean[..., None]) ** 2, 0).sum(axis=-1)
    agreed = (there & (np.where(there, r_plus, 0) >= 0.5)).sum(axis=-1)
    minority = np.minimum(agreed, there.sum(axis=-1) - agreed)
    highest = np.where(there, r_plus, -np.inf).max(axis=-1)
    lowest = np.where(there, r_plus, np.inf).min(axis=-1)
    return {
        "range": np.where(there.any(axis=-1), highest - lowest, 0),
        "sd": np.sqrt(squares / np.maximum(n - 1, 1)),
        "inconsistent": minority / n,
        # In integers, so that exactly 5 % is not more than 5 %.
        **{f"flip_{k}": (100 * minority > k * n).astype(np.float64) for k in _FLIP_PERCENT},
        "mean": mean,
    }


def _by_group(
    groups: Groups, values: np.ndarray, usable: np.ndarray, bootstrap: Bootstrap
) -> tuple[np.ndarray, np.ndarray]:
    """Average over series to ``group, item`` (NaN if none), and over items."""
    count = sum_by_item(groups, usable)
    total = sum_by_item(groups, usable, values)
    by_item = np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)
    there = ~np.isnan(by_item)
    means = mean_by_item(
        np.where(there, by_item, 0), there.astype(np.float64), groups.items, bootstrap
    )
    return by_item, means


def _wording_counts(groups: Groups, wordings: np.ndarray) -> list[tuple[int, int]]:
    codes = groups.codes[0] if len(groups.codes) == 1 else np.stack(groups.codes)
    spread = np.broadcast_to(wordings, codes.shape)
    found = [spread[codes == g] for g in range(len(groups.labels))]
    return [(int(n.min()), int(n.max())) for n in found]


def _row(name: str, table: tuple[np.ndarray, np.ndarray], group: int) -> dict[str, Any]:
    by_item, means = table
    values = by_item[group][~np.isnan(by_item[group])]
    note = ""
    if not values.size:
        needed = "one wording" if name == "mean" else "two wordings"
        note = f"no item has r_plus for at least {needed}"
    elif values.size == 1:
        note = "only one item: no interval by item"
    return {
        "measure": name,
        **dict(zip(INTERVAL, means[group].tolist(), strict=True)),
        "sd_items": float(values.std(ddof=1)) if values.size > 1 else np.nan,
        "n_items": values.size,
        "note": note,
    }


def _flags(table: tuple[np.ndarray, np.ndarray], group: int) -> list[dict[str, Any]]:
    values = table[0][group][~np.isnan(table[0][group])]
    rows = []
    for name, holds in (("always_agree", values > 0.5), ("always_disagree", values < 0.5)):
        rows.append(
            {
                "measure": name,
                "estimate": float(holds.all()) if values.size else np.nan,
                "n_items": values.size,
                "note": "a description of these items" if values.size else "no r_plus",
            }
        )
    return rows


def _tables(job: Job) -> dict[str, pd.DataFrame]:
    if not job.probabilities:
        return {}
    return {
        "stability": stability(job.data, **job.bootstrap),
        "stability_by_item": stability(job.data, by=("model", "item"), **job.bootstrap),
    }


MEASURE = Measure(_tables, {"stability": ("model",), "stability_by_item": ()}, by_model=True)
