"""Positions on the Political Compass and how far rewording moves them (Lunardi et al., 4.2).

The test gives each of four answers to an item points on one axis. With the points published
by Röttger et al. (2024),

    economic = sum / 8 + 0.375,    social = sum / 19.5 + 2.4103,

right and authoritarian positive. Answers to other wordings are entered into the test *as given*, as
if the original had been asked. They are compared with

- the original's position, for a paraphrase;
- the position of the *opposite* answers, for a wording of reversed meaning: every answer to
  the original is replaced by the equally strong one on the other side of the scale.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from polbayes.coding.levels import STRONG, four_levels
from polbayes.data.dataset import ASKED, CELL_DIMS, LEVELS, MISSING
from polbayes.data.prose import form, plural
from polbayes.errors import UserError, check_known
from polbayes.instrument.questionnaires import POLARITY
from polbayes.measures.measure import INTERVAL, MANY_WORDINGS, Job, Measure
from polbayes.measures.resampling import Bootstrap, item_weights


@dataclass(frozen=True)
class Axis:
    """Conversion of an axis's points to a coordinate: sum / divisor + offset."""

    divisor: float
    offset: float


AXES: Mapping[str, Axis] = {"economic": Axis(8, 0.375), "social": Axis(19.5, 2.4103)}

OPPOSITE_ANSWERS = "original, opposite answers"
_GROUP_DIMS = ("model", "prefix", "run")
_COLUMNS = ("answers", "kind", "measure", *INTERVAL, "n", "n_excluded", "n_items", "level", "note")


@dataclass(frozen=True)
class _Test:
    """Filled-in tests of one group."""

    names: tuple[str, ...]  # the wordings whose answers fill it in; the opposite answers come last
    kinds: tuple[str, ...]
    points: np.ndarray  # over wording, item, axis: mean points of the answers, 0 without answers
    # Over wording, item: numbers of answers that have a level, and of questions.
    answered: np.ndarray
    asked: np.ndarray


def compass(
    data: xr.Dataset,
    *,
    by: Sequence[str] = ("model",),
    axes: Mapping[str, Axis] = AXES,
    strong: float = STRONG,
    draws: int = 10_000,
    level: float = 0.95,
    seed: int = 1,
) -> pd.DataFrame:
    """Compute positions by wording, and their distances from the expected ones.

    Parameters
    ----------
    data
        A coded response dataset whose items have `points`.
    by
        Any of ``model``, ``prefix``, ``run``; positions are averaged over the others.
    axes
        Conversion of points to coordinates, by axis of `points`.
    strong
        Threshold for a strong answer, see `polbayes.coding.levels.four_levels`.
    draws, level, seed
        As for `polbayes.measures.bias.bias`; the items of each axis are resampled.

    Returns
    -------
    pandas.DataFrame
        One row per group, set of answers and measure: ``answers`` is a wording's id,
        `OPPOSITE_ANSWERS`, or ``all KIND`` for the wordings of a kind together (only these
        beyond `MANY_WORDINGS` wordings); ``n`` answers with a level, ``n_excluded`` questions
        without, which give no points. Measures, in points of the compass:

        - a coordinate for each axis (``economic``, ``social``);
        - ``economic_shift``, ``social_shift``: the coordinate minus that of the answers
          it is compared with, for ``all KIND`` the mean over its wordings;
        - ``distance``: between these two positions (Euclidean), for ``all KIND`` the mean of
          its wordings' distances. It cannot be negative, so its interval is above 0 even
          without a shift: look at the shifts.

        The points of resampled items differ from the test's, so bounds may exceed the test's
        range of -10 to 10.
    """
    bootstrap = Bootstrap(draws, level, seed)
    check_known("dimension", *by, known=_GROUP_DIMS, where="by")
    if "points" not in data.coords:
        raise UserError("no item of the dataset has points; the compass needs those of 'pct'.")
    chosen = [str(a) for a in data["axis"].values if str(a) in axes]
    scored = data.isel(item=np.flatnonzero(_has_points(data, chosen).any(axis=1)))
    per_axis = {name: axes[name] for name in chosen}
    rows = [
        {**labels, **row}
        for labels, test in _tests(scored, by, chosen, strong)
        for row in _positions(scored, test, per_axis, bootstrap)
    ]
    return pd.DataFrame(rows, columns=[*by, *_COLUMNS])


def _has_points(data: xr.Dataset, axes: Sequence[str]) -> np.ndarray:
    points = data["points"].sel(axis=list(axes)).transpose("item", "axis", "answer_level")
    return np.asarray(~np.isnan(points.values).any(axis=-1))


def _tests(
    data: xr.Dataset, by: Sequence[str], axes: Sequence[str], strong: float
) -> Iterator[tuple[dict[str, Any], _Test]]:
    """Fill in the test for every group, with each wording's answers and the opposite ones."""
    asked, level = _with_opposite(data, four_levels(data, strong=strong))
    rest = [d for d in _GROUP_DIMS if d not in by]
    n_asked = asked.sum(rest)
    answered = (asked & (level != MISSING)).sum(rest)
    points = data["points"].sel(axis=list(axes)).fillna(0.0)
    # Counts of each answer times its points, to avoid an array of cells times axes.
    total = sum(
        (asked & (level == k)).sum(rest) * points.isel(answer_level=k, drop=True)
        for k in range(len(LEVELS))
    )
    order = (*by, "variant", "item")
    mean = (total / n_asked.clip(min=1)).transpose(*order, "axis").values
    n_asked, answered = n_asked.transpose(*order), answered.transpose(*order)
    names, kinds = [str(v) for v in n_asked["variant"].values], _kinds(data)
    for at in np.ndindex(*mean.shape[: len(by)]):
        there = np.flatnonzero(n_asked.values[at].any(axis=1))
        if there.size:
            labels = {d: data[d].values.tolist()[k] for d, k in zip(by, at, strict=True)}
            yield (
                labels,
                _Test(
                    names=tuple(names[v] for v in there),
                    kinds=tuple(kinds[names[v]] for v in there),
                    points=mean[at][there],
                    answered=answered.values[at][there],
                    asked=n_asked.values[at][there],
                ),
            )


def _with_opposite(data: xr.Dataset, level: xr.DataArray) -> tuple[xr.DataArray, xr.DataArray]:
    """Return the cells asked and the levels, with the opposite answers as a further wording."""
    asked = data["status"] >= ASKED
    level = level.broadcast_like(asked).where(asked, MISSING).astype(np.int8)
    is_original = data["kind"] == "original"
    original = level.where(is_original, MISSING).max("variant")
    opposite = (3 - original).where(original != MISSING, MISSING).astype(np.int8)
    further = {"variant": [OPPOSITE_ANSWERS]}
    bare = [
        array.drop_vars([c for c in array.coords if c not in CELL_DIMS])
        for array in (asked, level, (asked & is_original).any("variant"), opposite)
    ]
    return (
        xr.concat([bare[0], bare[2].expand_dims(further)], "variant"),
        xr.concat([bare[1], bare[3].expand_dims(further)], "variant"),
    )


def _kinds(data: xr.Dataset) -> dict[str, str]:
    """Return the kind of every wording; the opposite answers are the original's."""
    by_item = data["kind"].transpose("item", "variant").values
    names = [str(v) for v in data["variant"].values]
    kinds = [next((str(k) for k in column if k), "") for column in by_item.T]
    return {**dict(zip(names, kinds, strict=True)), OPPOSITE_ANSWERS: "original"}


def _positions(
    data: xr.Dataset, test: _Test, axes: Mapping[str, Axis], bootstrap: Bootstrap
) -> Iterator[dict[str, Any]]:
    """Return the rows of one group."""
    drawn = _drawn(data, test, axes, bootstrap)
    by_wording = len(test.names) <= MANY_WORDINGS
    for v, (name, kind) in enumerate(zip(test.names, test.kinds, strict=True)):
        if by_wording or kind == "original":
            against = _against(test, kind) if kind != "original" else None
            yield from _rows(test, [v], against, (name, kind), drawn, axes, bootstrap)
    for kind in dict.fromkeys(test.kinds):
        members = [v for v, k in enumerate(test.kinds) if k == kind]
        if kind != "original":
            label = (f"all {kind}", kind)
            yield from _rows(test, members, _against(test, kind), label, drawn, axes, bootstrap)


def _against(test: _Test, kind: str) -> int | None:
    """Return the index of the answers that a kind of wording is compared with."""
    wanted = OPPOSITE_ANSWERS if POLARITY.get(kind, 1) < 0 else "original"
    if wanted in test.names:
        return test.names.index(wanted)
    return None


def _drawn(
    data: xr.Dataset, test: _Test, axes: Mapping[str, Axis], bootstrap: Bootstrap
) -> np.ndarray:
    """Compute the positions over ``axis, wording, draw``; the first draw is the data.

    The items of each axis are resampled separately: the number of items is part of the test.
    """
    out = np.empty((len(axes), len(test.names), 1 + bootstrap.draws))
    has_points = _has_points(data, list(axes))
    ids = np.asarray(data["item"].values, dtype=str)
    for a, axis in enumerate(axes.values()):
        members = np.flatnonzero(has_points[:, a])
        members = members[np.argsort(ids[members])]
        weights = np.ones((1 + bootstrap.draws, members.size))
        if members.size:
            picked = ids[members].tolist()
            weights[1:] = item_weights(picked, bootstrap.draws, bootstrap.seed)
        sums = test.points[:, members, a] @ weights.T
        out[a] = sums / axis.divisor + axis.offset
    return out


def _rows(
    test: _Test,
    members: list[int],
    against: int | None,
    label: tuple[str, str],
    drawn: np.ndarray,
    axes: Mapping[str, Axis],
    bootstrap: Bootstrap,
) -> Iterator[dict[str, Any]]:
    """Return the rows of one set of answers: of one wording, or several together."""
    values = {name: drawn[a, members].mean(axis=0) for a, name in enumerate(axes)}
    if against is not None:
        centre = {name: drawn[a, against] for a, name in enumerate(axes)}
        shifts = {f"{name}_shift": values[name] - centre[name] for name in axes}
        # One wording at a time: there may be hundreds.
        apart = sum(np.sqrt(((drawn[:, v] - drawn[:, against]) ** 2).sum(axis=0)) for v in members)
        values |= {**shifts, "distance": apart / len(members)}
    n, asked = int(test.answered[members].sum()), int(test.asked[members].sum())
    n_items = int(test.answered[members].any(axis=0).sum())
    out = {
        "answers": label[0],
        "kind": label[1],
        "n": n,
        "n_excluded": asked - n,
        "n_items": n_items,
        "level": bootstrap.level,
        "note": _note(test, members, n_items),
    }
    for name, series in values.items():
        lower, upper = (
            np.quantile(series[1:], bootstrap.quantiles) if n_items > 1 else (np.nan, np.nan)
        )
        estimate = float(series[0]) if n else np.nan
        yield {**out, "measure": name, "estimate": estimate, "lower": lower, "upper": upper}


def _note(test: _Test, members: list[int], n_items: int) -> str:
    if n_items < 2:
        return "no answer to an item with points" if not n_items else "only one item: no interval"
    missing = test.points.shape[1] - int(test.asked[members].any(axis=0).sum())
    have = form(missing, "has", "have")
    return f"{plural(missing, 'item')} with points {have} no such wording" if missing else ""


def _tables(job: Job) -> dict[str, pd.DataFrame]:
    if "points" not in job.data.coords:
        return {}
    return {"compass": compass(job.data, **job.bootstrap, strong=job.strong)}


MEASURE = Measure(
    _tables, {"compass": ("model", "answers", "kind", "measure", *INTERVAL)}, by_model=True
)
