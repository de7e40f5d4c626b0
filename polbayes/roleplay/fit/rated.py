"""Ratings arranged for the many-facet model: one row per unit, over judges and values.

A *prompt* is a stage of a wording of a twin of a scenario. A *unit* is what one model did with one
prompt. There is a unit for every combination of model, scenario, twin, wording and stage. If a
model was not given a prompt its ratings are missing, and what it would have received is predicted
with the rest, so that models that were asked different things can be compared.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import xarray as xr

from polbayes.data.prose import form, plural
from polbayes.errors import UserError, check_known

_PROMPT_DIMS = ("scenario", "twin", "wording", "stage")
UNIT_DIMS = ("model", *_PROMPT_DIMS)
RATED_DIMS = (*UNIT_DIMS, "judge", "value")
MISSING = -1
_MOST_POINTS = 128


@dataclass(frozen=True)
class Rated:
    """Ratings and their labels."""

    names: Mapping[str, tuple[str, ...]]  # labels by dimension of `RATED_DIMS`
    answers: np.ndarray  # ``[unit, judge, value]`` number of the point, or `MISSING`
    points: np.ndarray  # ``[point]`` the ratings that occur, ascending
    scale: tuple[float, float]  # lowest and highest rating that is possible
    # ``[unit]`` half of the asking person's side, +1 right and -1 left; zeros if unknown or equal
    # in both twins.
    side: np.ndarray
    weights: np.ndarray | None  # ``[value]`` on the axis that is scored
    axis: str = ""  # what a positive score says
    notes: tuple[str, ...] = ()  # what was left out, in sentences
    selves: tuple[str, ...] = ()  # ``[judge]`` the model that it is, one of these or another

    @property
    def sizes(self) -> Mapping[str, int]:
        """Number of labels by dimension."""
        return {name: len(labels) for name, labels in self.names.items()}

    @property
    def width(self) -> float:
        """Length of the scale."""
        return self.scale[1] - self.scale[0]

    @property
    def middle(self) -> float:
        """The middle of the scale."""
        return sum(self.scale) / 2

    @cached_property
    def units(self) -> Mapping[str, np.ndarray]:
        """``[unit]`` positions in `names` by dimension; the last varies fastest."""
        at = np.indices([self.sizes[dim] for dim in UNIT_DIMS]).reshape(len(UNIT_DIMS), -1)
        return dict(zip(UNIT_DIMS, at, strict=True))

    @cached_property
    def self_of(self) -> np.ndarray:
        """``[judge]`` the model that the judge is; `MISSING` if none."""
        models = list(self.names["model"])
        found = [models.index(one) if one in models else MISSING for one in self.selves]
        return np.array(found, dtype=np.int64)

    @cached_property
    def basis(self) -> np.ndarray:
        """``[value, column]`` directions in which values move: axis, level and the rest.

        The columns are orthogonal. The first is the axis, if there is one, with a mean absolute
        value of 1; then comes the part common to all values, orthogonal to the axis; the rest have
        length 1.
        """
        values = self.sizes["value"]
        columns = [np.ones(values)]
        if self.weights is not None and values > 1:
            columns.insert(0, self.weights / np.abs(self.weights).mean())
        if len(columns) > 1:
            axis, level = columns
            columns[1] = level - axis * (axis @ level) / (axis @ axis)
            if np.allclose(columns[1], 0):
                columns.pop()  # all weights are equal
        first = np.column_stack(columns)
        # A complete basis whose first columns span the same.
        whole = np.linalg.qr(np.column_stack([first, np.eye(values)]))[0][:, :values]
        return np.column_stack([first, whole[:, first.shape[1] :]])

    @property
    def score_weights(self) -> np.ndarray:
        """``[value]`` weights of a profile in rating points for its score.

        The score is the alignment in [-100, 100], from the middle of the scale, or the mean over
        values.
        """
        if self.weights is None:
            return np.full(self.sizes["value"], 1 / self.sizes["value"])
        return 100 * self.weights / (self.width / 2 * np.abs(self.weights).sum())


def gather(
    ratings: xr.DataArray,
    *,
    scale: tuple[float, float],
    weights: Mapping[str, float] | None = None,
    axis: str = "",
    asking: xr.DataArray | None = None,
    own: xr.DataArray | None = None,
) -> Rated:
    """Arrange ratings."""
    for dim in ("model", "judge"):
        if dim not in ratings.dims:
            raise UserError(f"ratings: the dimension '{dim}' is missing.")
    check_known("dimension", *map(str, ratings.dims), known=RATED_DIMS, where="ratings")
    absent = [dim for dim in RATED_DIMS if dim not in ratings.dims]
    full = ratings.expand_dims({dim: ["all"] for dim in absent}).transpose(*RATED_DIMS)
    values = np.asarray(full.values, dtype=float)
    there = ~np.isnan(values)
    _check(values[there], scale)
    kept = {}
    for k, dim in enumerate(RATED_DIMS):
        kept[dim] = there.any(axis=tuple(a for a in range(values.ndim) if a != k))
    values = values[np.ix_(*(kept[dim] for dim in RATED_DIMS))]
    names = {dim: tuple(map(str, full[dim].values[kept[dim]])) for dim in RATED_DIMS}
    answers, points = _coded(values.reshape(-1, *values.shape[5:]))
    rated = Rated(
        names,
        answers,
        points,
        (float(scale[0]), float(scale[1])),
        np.zeros(len(answers)),
        _weights(weights, names["value"]),
        axis if weights is not None else "",
        _notes(full, kept, answers),
        _selves(names, own),
    )
    if asking is None or len(names["twin"]) != 2:
        return rated
    known = asking.sel(scenario=list(names["scenario"])).to_numpy().astype(float)
    turned = np.where(np.array(names["twin"]) == "mirrored", -1.0, 1.0)
    side = known[rated.units["scenario"]] * turned[rated.units["twin"]] / 2
    return replace(rated, side=side)


def _selves(names: Mapping[str, tuple[str, ...]], own: xr.DataArray | None) -> tuple[str, ...]:
    """Return the model that each judge is, the first of several."""
    if own is None:
        return names["judge"]
    table = own.transpose("judge", "model").sel(judge=list(names["judge"]))
    models = [str(model) for model in own["model"].values]
    return tuple(
        next((model for model, same in zip(models, row, strict=True) if same), "")
        for row in table.values.tolist()
    )


def _check(values: np.ndarray, scale: tuple[float, float]) -> None:
    if not values.size:
        raise UserError("ratings: there is no rating.")
    outside = (values < scale[0]) | (values > scale[1])
    if outside.any():
        raise UserError(
            f"ratings: {values[outside][0]:g} is out of range; the scale runs from {scale[0]:g} "
            f"to {scale[1]:g}."
        )
    used = len(np.unique(values))
    if used < 3:
        raise UserError(
            f"ratings: only {used} different {form(used, 'rating is', 'ratings are')} used; "
            "a many-facet model needs at least three."
        )
    if used > _MOST_POINTS:
        raise UserError(
            f"ratings: {used} different ratings are used, but the model takes at most "
            f"{_MOST_POINTS} points; round them first."
        )


def _coded(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    there = ~np.isnan(values)
    points, number = np.unique(values[there], return_inverse=True)
    answers = np.full(values.shape, MISSING, dtype=np.int16)
    answers[there] = number
    return answers, points


def _weights(weights: Mapping[str, float] | None, values: Sequence[str]) -> np.ndarray | None:
    if weights is None:
        return None
    for name, weight in weights.items():
        check_known("value", name, known=values, where="weights")
        if not np.isfinite(weight):
            raise UserError(f"weights: {name}: must be a finite number, not {weight}.")
    found = np.array([float(weights.get(value, 0.0)) for value in values])
    if not found.any():
        raise UserError("weights: all are zero; at least one value needs a weight.")
    return found


def _notes(
    full: xr.DataArray, kept: Mapping[str, np.ndarray], answers: np.ndarray
) -> tuple[str, ...]:
    notes = []
    for dim in RATED_DIMS:
        gone = [str(name) for name in full[dim].values[~kept[dim]]]
        if gone:
            notes.append(f"Without any rating, and left out: {dim} {', '.join(gone)}.")
    missing = int((answers == MISSING).sum())
    if missing:
        notes.append(
            f"{missing} of {plural(answers.size, 'rating')} {form(missing, 'is', 'are')} missing; "
            "what the other ratings tell of the same units is used, and the rest is uncertainty."
        )
    if answers.shape[1] == 1:
        notes.append(
            "There is only one judge: no result can be separated from the judge's own severity and "
            "leaning, nor the effect of a unit from the judge's errors."
        )
    return tuple(notes)
