"""Answers to statements of two sides, such as left and right, counted and resampled.

Bias and agreement are both functions of six counts: disagreeing, neutral and agreeing
answers to each side's statements. They differ in the definition of a statement's side.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
import xarray as xr

from polbayes.data.dataset import STANCE
from polbayes.errors import UserError
from polbayes.instrument.poles import Poles, poles_in
from polbayes.instrument.questionnaires import polarity_of
from polbayes.measures.grouping import Groups, asked_cells, group_cells, on_cells, sum_by_item
from polbayes.measures.measure import INTERVAL
from polbayes.measures.resampling import (
    Bootstrap,
    by_item_set,
    generator,
    item_weights,
    percentile_interval,
    resample_answers,
)

DISAGREE, NEUTRAL, AGREE = range(3)


@dataclass(frozen=True)
class Statistic:
    """A quantity computed from counts of answers by side."""

    name: str
    # The sides that it needs, 0 the negative and 1 the positive pole; undefined if one has no
    # valid answer.
    sides: tuple[int, ...]
    # Maps proportions over ..., side, stance (which sum to 1 on each side) to the quantity.
    value: Callable[[np.ndarray], np.ndarray]


def side_bias(shares: np.ndarray, side: int) -> np.ndarray:
    """Compute the bias of one side, agreeing minus disagreeing (Faulborn et al., Eq. 2)."""
    difference: np.ndarray = shares[..., side, AGREE] - shares[..., side, DISAGREE]
    return difference


def bias_of(counts: np.ndarray) -> np.ndarray:
    """Compute the total bias (Eq. 3) from counts over ``..., side, stance``.

    Equivalent to `BIAS` of the counts' `shares`, but faster.
    """
    total = counts.sum(axis=-1)
    difference = counts[..., AGREE] - counts[..., DISAGREE]
    by_side = np.full(total.shape, np.nan)
    np.divide(difference, total, out=by_side, where=total > 0)
    bias: np.ndarray = (by_side[..., 1] - by_side[..., 0]) / 2
    return bias


# Faulborn et al., Eq. 3.
BIAS = Statistic("bias", (0, 1), lambda s: (side_bias(s, 1) - side_bias(s, 0)) / 2)


@dataclass(frozen=True)
class SidedCounts:
    """Counts of answers by group, item, side and stance."""

    groups: Groups
    valid: np.ndarray  # over group, item, side, stance
    excluded: np.ndarray  # over group, item, side: unrelated, refused and missing answers
    what: Literal["item", "wording"]  # cells with a side
    poles: Poles


def polarity(data: xr.Dataset) -> xr.DataArray:
    """Return the meaning of agreeing with a wording for its item."""
    if "direction" in data.coords:
        return (data["keying"] * data["direction"]).transpose("item", "variant")
    if "kind" not in data.coords:
        raise UserError("the dataset has neither 'direction' nor 'kind'; polarity is not known.")
    signs = polarity_of(data["kind"])
    return signs.where(data["keying"] != 0, np.int8(0)).transpose("item", "variant")


def count_answers(
    data: xr.Dataset, by: Sequence[str], *, side_of: Literal["item", "wording"]
) -> SidedCounts:
    """Count the answers to scored statements by side and stance.

    With ``side_of="item"`` the side is the item's direction, and agreeing with a wording of
    reversed meaning counts as disagreeing with the item. With ``"wording"`` it is the keying of the
    wording shown, and answers count as given.
    """
    keying = on_cells(data, "keying")
    sign = np.broadcast_to(polarity(data).values[None, :, :, None, None], keying.shape)
    stance = on_cells(data, "stance")
    cells = asked_cells(data) & (keying != 0) & (on_cells(data, "dimension") != "")
    groups = group_cells(data, by, cells)
    is_valid = (stance >= STANCE["disagree"]) & (stance <= STANCE["agree"])
    oriented = stance * sign if side_of == "item" else stance
    side = keying * sign if side_of == "item" else keying
    per_side = [cells & (side == value) for value in (-1, 1)]
    valid = [
        [sum_by_item(groups, on & is_valid & (oriented == answer)) for answer in (-1, 0, 1)]
        for on in per_side
    ]
    excluded = [sum_by_item(groups, on & ~is_valid) for on in per_side]
    return SidedCounts(
        groups=groups,
        valid=np.moveaxis(np.array(valid), (0, 1), (2, 3)),
        excluded=np.moveaxis(np.array(excluded), 0, 2),
        what=side_of,
        poles=poles_in(data),
    )


def shares(counts: np.ndarray) -> np.ndarray:
    """Divide counts over ``..., stance`` by their sum; NaN if that is 0."""
    total = counts.sum(axis=-1, keepdims=True)
    out = np.full(counts.shape, np.nan)
    np.divide(counts, total, out=out, where=total > 0)
    return out


def resample(
    counts: SidedCounts, bootstrap: Bootstrap, *, salt: str = ""
) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Resample the answers and the items of every group.

    Yields the position of the group, and over ``draw, side, stance`` the counts of resampled
    answers and of resampled items; groups with the same items get the same resamples of items.
    A salt distinguishes groups that have the same labels in two datasets.
    """
    for g, by_item in resample_items(counts, bootstrap):
        labels = (*counts.groups.by, *counts.groups.labels[g], *([salt] if salt else []))
        rng = generator(bootstrap.seed, "answers", *labels)
        yield g, resample_answers(counts.valid[g].sum(axis=0), bootstrap.draws, rng), by_item


def resample_items(counts: SidedCounts, bootstrap: Bootstrap) -> Iterator[tuple[int, np.ndarray]]:
    """Resample the items of every group; see `resample`."""
    asked = (counts.valid.sum(axis=3) + counts.excluded).sum(axis=2) > 0
    for members, items in by_item_set(asked):
        picked = [counts.groups.items[k] for k in items]
        weights = item_weights(picked, bootstrap.draws, bootstrap.seed)
        for g in members.tolist():
            table = counts.valid[g, items].reshape(len(items), -1)
            yield g, (weights @ table).reshape(-1, *counts.valid.shape[2:])


def summarise(
    counts: SidedCounts, measures: Sequence[Statistic], bootstrap: Bootstrap
) -> pd.DataFrame:
    """Compute measures of every group, with the columns of `polbayes.measures.bias.bias`."""
    per_group: dict[int, list[dict[str, Any]]] = {}
    for g, by_answer, by_item in resample(counts, bootstrap):
        resampled = (shares(by_answer), shares(by_item))
        per_group[g] = [_row(counts, g, m, resampled, bootstrap.level) for m in measures]
    rows = [
        {**dict(zip(counts.groups.by, counts.groups.labels[g], strict=True)), **row}
        for g in sorted(per_group)
        for row in per_group[g]
    ]
    columns = [*counts.groups.by, *_COLUMNS]
    return pd.DataFrame(rows, columns=columns)


_COLUMNS = (
    *("measure", *INTERVAL, "lower_item", "upper_item", "n", "n_excluded", "n_items"),
    *("n_undefined", "n_undefined_item", "level", "note"),
)


def _row(
    counts: SidedCounts,
    group: int,
    measure: Statistic,
    resampled: tuple[np.ndarray, np.ndarray],
    level: float,
) -> dict[str, Any]:
    sides = list(measure.sides)
    table = counts.valid[group]
    answered = table.sum(axis=2) > 0
    lower, upper, undefined = percentile_interval(measure.value(resampled[0]), level)
    low_item, up_item, undefined_item = percentile_interval(measure.value(resampled[1]), level)
    reason, item_reason = _notes(counts, group, sides)
    if reason or item_reason:
        low_item = up_item = np.nan
    if not reason and lower == upper:
        item_reason = "; ".join(filter(None, ["answers never vary: width 0", item_reason]))
    return {
        "measure": measure.name,
        "estimate": float(measure.value(shares(table.sum(axis=0)))),
        "lower": lower,
        "upper": upper,
        "lower_item": low_item,
        "upper_item": up_item,
        "n": int(table[:, sides].sum()),
        "n_excluded": int(counts.excluded[group][:, sides].sum()),
        "n_items": int(answered[:, sides].any(axis=1).sum()),
        "n_undefined": undefined,
        "n_undefined_item": undefined_item,
        "level": level,
        "note": reason or item_reason,
    }


def _notes(counts: SidedCounts, group: int, sides: Sequence[int]) -> tuple[str, str]:
    """Return why there is no estimate, and why there is no interval by item."""
    valid, excluded = counts.valid[group], counts.excluded[group]
    labels = dict(zip(counts.groups.by, counts.groups.labels[group], strict=True))
    poles = counts.poles.on(str(labels.get("dimension", "")))
    keyed = {"item": "{}-leaning item", "wording": "{}-keyed wording"}[counts.what]
    names = [keyed.format(pole.word) for pole in (poles.negative, poles.positive)]
    for side in sides:
        if valid[:, side].sum() == 0:
            asked = excluded[:, side].sum() > 0
            return (f"no valid answer to any {names[side]}" if asked else f"no {names[side]}"), ""
    for side in sides:
        if (valid[:, side].sum(axis=1) > 0).sum() < 2:
            return "", f"only one {names[side]} answered: no interval by item"
    return "", ""
