"""Differences of bias between two ways of asking, with intervals.

Faulborn et al. (2025) compare instruments (Appendix F, Figure 4) and two sets of reformulations
by different language models (Appendix H, Table 6). A difference is of the measure of Eq. 3.
"""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from polbayes.errors import UserError, unknown
from polbayes.measures.grouping import check_by
from polbayes.measures.measure import INTERVAL, Job, Measure
from polbayes.measures.paraphrases import wordings_of_sets
from polbayes.measures.resampling import Bootstrap, percentile_interval
from polbayes.measures.sided import SidedCounts, bias_of, count_answers, resample

_COLUMNS = (
    *("first", "second", "measure", *INTERVAL, "lower_item", "upper_item", "n_first"),
    *("n_second", "n_excluded", "n_undefined", "n_undefined_item", "level", "note"),
)
# A group's bias from all answers, and from the resamples of answers and of items.
_Series = tuple[float, np.ndarray, np.ndarray]


def bias_difference(
    data: xr.Dataset,
    *,
    over: str = "instrument",
    by: Sequence[str] = ("model", "dimension"),
    pairs: Sequence[tuple[str, str]] | None = None,
    draws: int = 10_000,
    level: float = 0.95,
    seed: int = 1,
) -> pd.DataFrame:
    """Compute differences of bias between the levels of a coordinate.

    Parameters
    ----------
    data, draws, level, seed
        As for `polbayes.measures.bias.bias`.
    over
        The coordinate to compare: ``"instrument"``, ``"prefix"``, ``"kind"``, ``"variant"``,
        ``"model"``.
    by
        Coordinates that define the groups, not `over`.
    pairs
        Levels of `over` to compare, first minus second; by default all pairs, in the
        order of the dataset.

    Returns
    -------
    pandas.DataFrame
        The columns of `polbayes.measures.bias.bias`, for ``first`` minus ``second``, in [-2, 2],
        with ``n_first`` and ``n_second`` valid answers. Items are resampled in pairs if both
        levels have the same items, independently if they have none in common.
    """
    check_by(data, [*by, over])
    bootstrap = Bootstrap(draws, level, seed)
    counts = count_answers(data, (*by, over), side_of="item")
    labels = counts.groups.labels
    known = list(dict.fromkeys(label[-1] for label in labels))
    for name in (name for pair in pairs or () for name in pair):
        if name not in known:
            raise unknown(over, name, map(str, known), where="pairs")
    series = _series(counts, bootstrap)
    place = {label: g for g, label in enumerate(labels)}
    rows = []
    for group in dict.fromkeys(label[:-1] for label in labels):
        for a, b in pairs or combinations(known, 2):
            if (*group, a) in place and (*group, b) in place:
                at = (place[*group, a], place[*group, b])
                row = _row((counts, counts), (series[at[0]], series[at[1]]), at, level)
                names = dict(zip(by, group, strict=True))
                rows.append({**names, "first": a, "second": b, **row})
    return pd.DataFrame(rows, columns=[*by, *_COLUMNS])


def reformulation_robustness(
    first: xr.Dataset,
    second: xr.Dataset,
    *,
    by: Sequence[str] = ("model", "kind"),
    names: tuple[str, str] = ("first", "second"),
    draws: int = 10_000,
    level: float = 0.95,
    seed: int = 1,
) -> pd.DataFrame:
    """Compare bias under two sets of reformulations of the same items.

    Parameters
    ----------
    first, second
        Coded response datasets of the same models, each with one set of wordings; two
        selections of variants of one dataset are two such datasets.
    by
        Coordinates that define the groups; with ``kind`` opposites and paraphrases have
        separate rows, as in the paper's Table 6, and originals are excluded.
    names
        Names of the two sets in the table.
    draws, level, seed
        As for `polbayes.measures.bias.bias`.

    Returns
    -------
    pandas.DataFrame
        As from `bias_difference`, for the groups that both have.
    """
    bootstrap = Bootstrap(draws, level, seed)
    counts = tuple(count_answers(data, by, side_of="item") for data in (first, second))
    places = [{label: g for g, label in enumerate(c.groups.labels)} for c in counts]
    shared = [label for label in places[0] if label in places[1]]
    if "kind" in by:
        shared = [label for label in shared if label[list(by).index("kind")] != "original"]
    if not shared:
        raise UserError(f"the two datasets have no {' and '.join(by)} in common to compare.")
    series = [_series(c, bootstrap, salt) for c, salt in zip(counts, ("", "second"), strict=True)]
    rows = []
    for label in shared:
        at = (places[0][label], places[1][label])
        row = _row((counts[0], counts[1]), (series[0][at[0]], series[1][at[1]]), at, level)
        labels = dict(zip(by, label, strict=True))
        rows.append({**labels, "first": names[0], "second": names[1], **row})
    return pd.DataFrame(rows, columns=[*by, *_COLUMNS])


def _series(counts: SidedCounts, bootstrap: Bootstrap, salt: str = "") -> dict[int, _Series]:
    estimates = bias_of(counts.valid.sum(axis=1))
    return {
        g: (float(estimates[g]), bias_of(by_answer), bias_of(by_item))
        for g, by_answer, by_item in resample(counts, bootstrap, salt=salt)
    }


def _row(
    counts: tuple[SidedCounts, SidedCounts],
    series: tuple[_Series, _Series],
    at: tuple[int, int],
    level: float,
) -> dict[str, Any]:
    estimate = series[0][0] - series[1][0]
    lower, upper, undefined = percentile_interval(series[0][1] - series[1][1], level)
    low_item, up_item, undefined_item = percentile_interval(series[0][2] - series[1][2], level)
    items = [
        int((c.valid[g].sum(axis=2) > 0).sum(axis=0).min()) for c, g in zip(counts, at, strict=True)
    ]
    note = ""
    if np.isnan(estimate):
        note = "no valid answer on one side of one of the two"
        lower = upper = np.nan
    elif min(items) < 2:
        note = "only one item on a side: no interval by item"
    if note:
        low_item = up_item = np.nan
    return {
        "measure": "bias_difference",
        "estimate": estimate,
        "lower": lower,
        "upper": upper,
        "lower_item": low_item,
        "upper_item": up_item,
        "n_first": int(counts[0].valid[at[0]].sum()),
        "n_second": int(counts[1].valid[at[1]].sum()),
        "n_excluded": int(sum(c.excluded[g].sum() for c, g in zip(counts, at, strict=True))),
        "n_undefined": undefined,
        "n_undefined_item": undefined_item,
        "level": level,
        "note": note,
    }


def _tables(job: Job) -> dict[str, pd.DataFrame]:
    tables = {}
    if job.several("instrument"):
        tables["bias_difference_by_instrument"] = bias_difference(job.data, **job.bootstrap)
    sets = job.reformulation_sets
    if sets:
        found = wordings_of_sets(job.data, sets, key="measures.reformulation_sets")
        first, second = (job.data.isel(variant=places) for places in found)
        names = tuple(sets)
        tables["reformulation_robustness"] = reformulation_robustness(
            first, second, names=(names[0], names[1]), **job.bootstrap
        )
    return tables


MEASURE = Measure(
    _tables,
    {
        "bias_difference_by_instrument": ("model", "first", "second", *INTERVAL),
        "reformulation_robustness": ("model", "kind", "first", "second", *INTERVAL),
    },
)
