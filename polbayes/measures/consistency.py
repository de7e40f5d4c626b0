"""Polar and paraphrastic consistency: Lunardi et al., sections 3.2 and 4.1.

Every wording of an item is compared with the item's original wording, within the same model,
prefix and run. The expected answer is the original's for a paraphrase, and the equally strong one
on the other side of the scale for a wording of reversed meaning (a negation, a political opposite).
On the four levels 0 (strongly disagree) to 3 (strongly agree), with o the original's
level and w the wording's,

    paraphrastic discrepancy = |w - o|,    polar discrepancy = |w - (3 - o)|,

from 0 to 3; an answer is consistent if it is 0. The binary analysis ignores strength: an answer is
consistent if its side is the expected one.

Both are needed: a model that gives one answer to everything is perfectly
consistent in paraphrases and never under reversal.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from polbayes.coding.levels import STRONG, four_levels
from polbayes.data.dataset import CELL_DIMS, MISSING
from polbayes.errors import UserError, check_known
from polbayes.instrument.questionnaires import polarity_of
from polbayes.measures.grouping import asked_cells, cluster_by, group_cells, on_cells, sum_by_item
from polbayes.measures.measure import INTERVAL, Job, Measure
from polbayes.measures.resampling import Bootstrap, mean_by_item

# Kinds compared with the original; `reversed` combines negations and opposites.
KINDS: Mapping[str, tuple[str, ...]] = {
    "paraphrase": ("paraphrase",),
    "negation": ("negation",),
    "opposite": ("opposite",),
    "reversed": ("negation", "opposite"),
}
MEASURES = (
    "consistent_4",
    "consistent_2",
    "discrepant",
    "discrepancy_1",
    "discrepancy_2",
    "discrepancy_3",
    "discrepancy_size",
)
_CLUSTER_IN_WORDS = {"item": "item", "model": "model", "variant": "wording"}
_COLUMNS = (
    *("kind", "measure", *INTERVAL, "count", "n", "n_excluded", "n_items", "cluster", "level"),
    "note",
)


@dataclass(frozen=True)
class Pairs:
    """Wordings paired with the original wordings of their items, over `CELL_DIMS`."""

    asked: np.ndarray  # cells asked, other than originals, whose original was also asked
    usable: np.ndarray  # those in which both answers have a level
    # Distance of the answer from the expected one, from 0 to 3; 0 if not usable.
    discrepancy: np.ndarray
    other_side: np.ndarray  # whether the answer is not on the expected side


def consistency(
    data: xr.Dataset,
    *,
    by: Sequence[str] = ("model",),
    measures: Sequence[str] = MEASURES,
    strong: float = STRONG,
    draws: int = 10_000,
    level: float = 0.95,
    seed: int = 1,
) -> pd.DataFrame:
    """Compute polar and paraphrastic consistency, four-level and binary.

    Parameters
    ----------
    data
        A coded response dataset with wordings other than the original.
    by
        Coordinates that define the groups, not ``kind``.
    measures
        Any of `MEASURES`.
    strong
        Threshold for a strong answer, see `polbayes.coding.levels.four_levels`.
    draws, level, seed
        As for `polbayes.measures.bias.bias`.

    Returns
    -------
    pandas.DataFrame
        One row per group, kind of wording and measure: ``kind`` is ``paraphrase``, or for polar
        consistency ``negation``, ``opposite`` or both together, ``reversed``; ``count`` pairs for
        which it holds, of ``n`` compared; ``n_excluded`` pairs in which an answer has no level;
        ``cluster``, the unit that the interval resamples: items, or models if the groups are
        items, or wordings if they are models' items. Measures:

        - ``consistent_4``, ``consistent_2``: proportion of pairs in which the answer is the
          expected one on four levels, and on two;
        - ``discrepant``: 1 - ``consistent_4``, with the count of discrepancies;
          ``discrepancy_1``, ``_2``, ``_3``: proportions of pairs with a discrepancy of 1, 2, 3;
        - ``discrepancy_size``: mean discrepancy of all pairs, in [0, 3].

    Raises
    ------
    UserError
        If a name is unknown, or the dataset is not coded or has no wording other than originals.
    """
    bootstrap = Bootstrap(draws, level, seed)
    check_known("measure", *measures, known=MEASURES, where="measures")
    if "kind" in by:
        raise UserError("by: 'kind' tells the comparisons apart already; leave it out.")
    pairs = _compare_wordings(data, strong=strong)
    kind = on_cells(data, "kind")
    rows: list[dict[str, Any]] = []
    for name, kinds in KINDS.items():
        asked = pairs.asked & np.isin(kind, kinds)
        if asked.any():
            found = _of_kind(data, pairs, asked, (tuple(by), tuple(measures)), bootstrap)
            rows += [{**row, "kind": name} for row in found]
    if not rows:
        raise UserError("the dataset has no wording beside an original; consistency needs both.")
    return pd.DataFrame(rows, columns=[*by, *_COLUMNS])


def _compare_wordings(data: xr.Dataset, *, strong: float = STRONG) -> Pairs:
    """Compare every answer with the expected one, given its item's original wording."""
    levels = four_levels(data, strong=strong)
    levels = levels.broadcast_like(data["status"]).transpose(*CELL_DIMS)
    level = levels.values
    kinds = data["kind"].transpose("item", "variant")
    is_original = kinds.values == "original"
    at = is_original.argmax(axis=1)
    asked = asked_cells(data)
    items = np.arange(len(at))
    original = level[:, items, at][:, :, None]
    original_asked = (asked[:, items, at] & is_original.any(axis=1)[None, :, None, None])[
        :, :, None
    ]
    is_reversed = (polarity_of(kinds).values < 0)[None, :, :, None, None]
    pair = asked & original_asked & ~is_original[None, :, :, None, None]
    usable = pair & (level != MISSING) & (original != MISSING)
    expected = np.where(is_reversed, 3 - original, original)
    return Pairs(
        asked=pair,
        usable=usable,
        discrepancy=np.where(usable, np.abs(level - expected), 0).astype(np.int8),
        other_side=usable & ((level >= 2) != (expected >= 2)),
    )


def has_pairs(data: xr.Dataset) -> bool:
    """Tell whether any item was asked in its original wording and in another one."""
    asked = asked_cells(data, ["item", "variant"])
    is_original = data["kind"].transpose("item", "variant").values == "original"
    both = (asked & is_original).any(axis=1) & (asked & ~is_original).any(axis=1)
    return bool(both.any())


def _of_kind(
    data: xr.Dataset,
    pairs: Pairs,
    asked: np.ndarray,
    wanted: tuple[tuple[str, ...], tuple[str, ...]],
    bootstrap: Bootstrap,
) -> list[dict[str, Any]]:
    by, measures = wanted
    groups = group_cells(data, by, asked)
    usable = asked & pairs.usable
    excluded = sum_by_item(groups, asked & ~usable).sum(axis=1)
    n_items = (sum_by_item(groups, usable) > 0).sum(axis=1)
    cluster = next((c for c in ("item", "model", "variant") if c not in by), "item")
    clusters = groups if cluster == "item" else cluster_by(data, groups, cluster)
    counts = sum_by_item(clusters, usable)
    tables = {}
    for name in measures:
        totals = sum_by_item(clusters, usable, _holds(pairs, name))
        tables[name] = (totals.sum(axis=1), mean_by_item(totals, counts, clusters.items, bootstrap))
    common = {"cluster": _CLUSTER_IN_WORDS[cluster], "level": bootstrap.level}
    rows = []
    for g, label in enumerate(groups.labels):
        n, labels = int(counts[g].sum()), dict(zip(by, label, strict=True))
        note = _note(n, int((counts[g] > 0).sum()), _CLUSTER_IN_WORDS[cluster])
        for name, (total, means) in tables.items():
            rows.append(
                {
                    **labels,
                    **common,
                    "measure": name,
                    **dict(zip(INTERVAL, means[g].tolist(), strict=True)),
                    "count": int(total[g]) if name != "discrepancy_size" else n,
                    "n": n,
                    "n_excluded": int(excluded[g]),
                    "n_items": int(n_items[g]),
                    "note": note,
                }
            )
    return rows


def _holds(pairs: Pairs, measure: str) -> np.ndarray:
    values: np.ndarray = {
        "consistent_4": lambda: pairs.discrepancy == 0,
        "consistent_2": lambda: ~pairs.other_side,
        "discrepant": lambda: pairs.discrepancy > 0,
        "discrepancy_1": lambda: pairs.discrepancy == 1,
        "discrepancy_2": lambda: pairs.discrepancy == 2,
        "discrepancy_3": lambda: pairs.discrepancy == 3,
        "discrepancy_size": lambda: pairs.discrepancy,
    }[measure]()
    return values.astype(np.float64)


def _note(n: int, clusters: int, name: str) -> str:
    if not n:
        return "no pair of answers that both have a level"
    return f"only one {name}: no interval" if clusters == 1 else ""


def _tables(job: Job) -> dict[str, pd.DataFrame]:
    if not has_pairs(job.data):
        return {}
    settings: dict[str, Any] = {**job.bootstrap, "strong": job.strong}
    tables = {"consistency": consistency(job.data, **settings)}
    if job.few_wordings:
        measures = ("consistent_4", "consistent_2", "discrepancy_size")
        by_item = consistency(job.data, by=("model", "item"), measures=measures, **settings)
        tables["consistency_by_item"] = by_item
    return tables


MEASURE = Measure(
    _tables,
    {"consistency": ("model", "kind", "measure", *INTERVAL), "consistency_by_item": ()},
    by_model=True,
)
