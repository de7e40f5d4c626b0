"""The effect of a prefix on bias: Faulborn et al. (2025), Figures 2b and 6.

With b_p the bias (Eq. 3) under prefix p and b_0 that under the baseline, without a prefix:

- the shift b_p - b_0, its absolute value, and the mean of the absolute values over all
  prefixes but the baseline (section 4.3, Figure 2b);
- the distance of the other prefixes' bias from a prefix's own (Appendix G, Figure 6): the mean of
  the other prefixes' biases minus b_p, and the bias of all their answers together minus b_p.
  Positive: the prefix is left of the others. The paper's text allows both readings; its figure
  does not match the first, and is consistent with the second, which weights prefixes by their
  valid answers. For a prefix that asks for a number, only answers that are a single integer
  count as its own.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from polbayes.data.dataset import MISSING
from polbayes.errors import UserError
from polbayes.measures.measure import INTERVAL, Job, Measure
from polbayes.measures.resampling import Bootstrap, percentile_interval
from polbayes.measures.sided import SidedCounts, bias_of, count_answers, resample

_BASELINE = "baseline"
_NUMBERED = "likert"
_COLUMNS = (
    *("prefix", "measure", *INTERVAL, "lower_item", "upper_item", "n", "n_excluded"),
    *("n_prefixes", "level", "note"),
)


def prefix_shift(
    data: xr.Dataset,
    *,
    by: Sequence[str] = ("model", "dimension"),
    baseline: str = _BASELINE,
    draws: int = 10_000,
    level: float = 0.95,
    seed: int = 1,
) -> pd.DataFrame:
    """Compute the shift of the bias by each prefix, from the baseline and from the other prefixes.

    Parameters
    ----------
    data, draws, level, seed
        As for `polbayes.measures.bias.bias`; the dataset has at least two prefixes.
    by
        Coordinates that define the groups, not ``prefix``.
    baseline
        The prefix that the others are compared with. If it was not asked, they are only
        compared with each other.

    Returns
    -------
    pandas.DataFrame
        One row per group, ``prefix`` (``all`` for the mean over prefixes) and ``measure``:
        ``shift``, ``absolute_shift``, ``mean_absolute_shift``, ``others_minus_this`` and
        ``pooled_others_minus_this``, all differences of bias, in [-2, 2]. Intervals as from
        `polbayes.measures.bias.bias`; those of absolute values are above 0 even without a shift.
    """
    if "prefix" in by:
        raise UserError("by: 'prefix' is what is compared; leave it out.")
    if data.sizes["prefix"] < 2:
        raise UserError("the dataset has one prefix only; nothing can be compared with it.")
    bootstrap = Bootstrap(draws, level, seed)
    every = count_answers(data, (*by, "prefix"), side_of="item")
    integers = _integers_only(data)
    own = every if integers is None else count_answers(integers, (*by, "prefix"), side_of="item")
    members: dict[tuple[Any, ...], list[int]] = {}
    for g, label in enumerate(every.groups.labels):
        members.setdefault(label[:-1], []).append(g)
    rows = []
    for label, groups in members.items():
        labels = dict(zip(by, label, strict=True))
        found = _of_group(_only(every, groups), _only(own, groups), baseline, bootstrap)
        rows += [{**labels, **row} for row in found]
    return pd.DataFrame(rows, columns=[*by, *_COLUMNS])


def shifts(bias: np.ndarray, baseline: int | None) -> dict[str, np.ndarray]:
    """Compute the measures that need only each prefix's bias."""
    known = ~np.isnan(bias)
    filled = np.where(known, bias, 0.0)
    n_others = known.sum(axis=0) - known
    total = filled.sum(axis=0) - filled
    others = np.full(bias.shape, np.nan)
    np.divide(total, n_others, out=others, where=n_others > 0)
    out = {"others_minus_this": others - bias}
    if baseline is not None:
        shift = bias - bias[baseline]
        shift[baseline] = np.nan
        absolute = np.abs(shift)
        there = ~np.isnan(absolute)
        mean = np.full(bias.shape[1:], np.nan)
        total = np.where(there, absolute, 0.0).sum(axis=0)
        np.divide(total, there.sum(axis=0), out=mean, where=there.any(axis=0))
        out |= {"shift": shift, "absolute_shift": absolute, "mean_absolute_shift": mean}
    return out


def _integers_only(data: xr.Dataset) -> xr.Dataset | None:
    """Drop answers to a numbered scale that are not a single integer; None if there are none."""
    if "coder" not in data or "prefix_answer" not in data.coords:
        return None
    about = data["coder"].attrs
    meanings = str(about.get("flag_meanings", "")).split()
    codes = dict(zip(meanings, np.atleast_1d(about.get("flag_values", [])), strict=False))
    if _NUMBERED not in codes:
        return None
    other = (data["prefix_answer"] == _NUMBERED) & (data["coder"] != codes[_NUMBERED])
    if not bool(other.any()):
        return None
    return data.assign(stance=data["stance"].where(~other, np.int8(MISSING)))


def _only(counts: SidedCounts, groups: list[int]) -> SidedCounts:
    labels = tuple(counts.groups.labels[g] for g in groups)
    return replace(
        counts,
        groups=replace(counts.groups, labels=labels),
        valid=counts.valid[groups],
        excluded=counts.excluded[groups],
    )


def _of_group(
    every: SidedCounts, own: SidedCounts, baseline: str, bootstrap: Bootstrap
) -> Iterator[dict[str, Any]]:
    """Return the rows of one group, whose prefixes are the groups of the counts."""
    names = [str(label[-1]) for label in every.groups.labels]
    drawn = _drawn(every, bootstrap)
    changed = [p for p in range(len(names)) if not np.array_equal(every.valid[p], own.valid[p])]
    drawn_own = _drawn(_only(own, changed), bootstrap, salt="integers") if changed else drawn
    at = names.index(baseline) if baseline in names else None
    values: list[dict[str, np.ndarray]] = []
    for resampled, resampled_own in zip(drawn, drawn_own, strict=True):
        bias = bias_of(resampled)
        bias_own = bias.copy()
        if changed:
            bias_own[changed] = bias_of(resampled_own)
        pooled = bias_of(resampled.sum(axis=0) - resampled)
        found = shifts(bias, at)
        # The others' bias does not depend on which of its own answers a prefix keeps.
        found["others_minus_this"] += bias - bias_own
        values.append({**found, "pooled_others_minus_this": pooled - bias_own})
    answered = (every.valid.sum(axis=3) > 0).sum(axis=1).min(axis=1)
    for name in values[0]:
        base = own if name.endswith("this") else every
        for p in range(len(names)) if values[0][name].ndim > 1 else [None]:
            if p == at and "shift" in name and p is not None:
                continue
            pair = [v[name] if p is None else v[name][p] for v in values]
            by_item = bool((answered[answered > 0] > 1).all())
            yield {
                **_about(base, p, names),
                "measure": name,
                "n_prefixes": int((~np.isnan(values[0]["others_minus_this"][:, 0])).sum()),
                **_bounds(pair[0], pair[1] if by_item else None, bootstrap),
            }


def _drawn(
    counts: SidedCounts, bootstrap: Bootstrap, salt: str = ""
) -> tuple[np.ndarray, np.ndarray]:
    """Resample answers and items, each over ``prefix, draw, side, stance``.

    The first draw of each is the data.
    """
    shape = (len(counts.valid), 1 + bootstrap.draws, *counts.valid.shape[2:])
    by_answer, by_item = np.zeros(shape), np.zeros(shape)
    by_answer[:, 0] = by_item[:, 0] = counts.valid.sum(axis=1)
    for g, answers, items in resample(counts, bootstrap, salt=salt):
        by_answer[g, 1:], by_item[g, 1:] = answers, items
    return by_answer, by_item


def _about(counts: SidedCounts, at: int | None, names: Sequence[str]) -> dict[str, Any]:
    which = slice(None) if at is None else slice(at, at + 1)
    return {
        "prefix": "all" if at is None else names[at],
        "n": int(counts.valid[which].sum()),
        "n_excluded": int(counts.excluded[which].sum()),
    }


def _bounds(
    by_answer: np.ndarray, by_item: np.ndarray | None, bootstrap: Bootstrap
) -> dict[str, Any]:
    estimate, missing = float(by_answer[0]), (np.nan, np.nan)
    answers, items, note = missing, missing, ""
    if np.isnan(estimate):
        note = "no bias under the prefix, or under what it is compared with"
    else:
        answers = percentile_interval(by_answer[1:], bootstrap.level)[:2]
        if by_item is None:
            note = "only one item on a side: no interval by item"
        else:
            items = percentile_interval(by_item[1:], bootstrap.level)[:2]
    return {
        "estimate": estimate,
        "lower": answers[0],
        "upper": answers[1],
        "lower_item": items[0],
        "upper_item": items[1],
        "level": bootstrap.level,
        "note": note,
    }


def _tables(job: Job) -> dict[str, pd.DataFrame]:
    if not job.several("prefix"):
        return {}
    return {"prefix_shift": prefix_shift(job.data, **job.bootstrap)}


MEASURE = Measure(
    _tables, {"prefix_shift": ("model", "prefix", "measure", *INTERVAL)}, by_model=True
)
