"""The verdicts and ratings arranged for the model: by pair, and by judge."""

from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from polbayes.data.prose import form, plural
from polbayes.errors import UserError
from polbayes.instrument.pairs import SIDES
from polbayes.judging.pairs import RATINGS
from polbayes.run.pairs.verdicts import PAIR_DIMS, is_marked

# The dimension of pairs that have none.
OTHER = "other"

_Ids = NDArray[np.int64]


@dataclass(frozen=True)
class Judged:
    """Verdicts and ratings of the pairs whose sides are marked; a pair is of one model."""

    models: list[str]
    dimensions: list[str]
    topics: list[str]
    templates: list[str]
    prefixes: list[str]
    judges: list[str]
    # ``[pair]`` the model, dimension, topic, template and prefix of each pair.
    model: _Ids
    dimension: _Ids
    topic: _Ids
    template: _Ids
    prefix: _Ids
    log2_words: NDArray[np.float64]  # ``[pair, side]`` logarithm of the length
    # ``[judge, pair, order, verdict]`` left, equal, right; zeros where there is none; the left
    # answer is shown first, then the right one.
    verdicts: NDArray[np.float64]
    ratings: NDArray[np.int64]  # ``[scale, judge, pair, side]`` 1 to 5; 0 where there is none
    notes: tuple[str, ...]

    @property
    def log2_length(self) -> NDArray[np.float64]:
        """``[pair]`` of the right answer over the left one."""
        return np.asarray(self.log2_words[:, 1] - self.log2_words[:, 0])

    @property
    def own_length(self) -> NDArray[np.float64]:
        """``[pair, side]`` `log2_words`, less its mean over model and side."""
        number = np.bincount(self.model, minlength=len(self.models))
        totals = [np.bincount(self.model, words, len(number)) for words in self.log2_words.T]
        means = np.stack(totals, axis=1) / np.maximum(number, 1)[:, None]
        return np.asarray(self.log2_words - means[self.model])

    @property
    def mean_length(self) -> NDArray[np.float64]:
        """``[pair]`` the mean of `log2_length` over the pairs of its model and dimension."""
        return self.length_by_cell[self.model, self.dimension]

    @property
    def length_by_cell(self) -> NDArray[np.float64]:
        """``[model, dimension]`` the mean of `log2_length`; 0 where there is no pair."""
        shape = (len(self.models), len(self.dimensions))
        cell = self.model * shape[1] + self.dimension
        total = np.bincount(cell, self.log2_length, minlength=shape[0] * shape[1])
        number = np.bincount(cell, minlength=shape[0] * shape[1])
        return (total / np.maximum(number, 1)).reshape(shape)


def gather(data: xr.Dataset) -> Judged:
    """Arrange a dataset of verdicts; it is a `UserError` if none is on a marked pair."""
    marked = is_marked(data).values
    pairs = data.isel(item=np.flatnonzero(marked))
    prob = pairs["verdict_prob"].transpose("judge", *PAIR_DIMS, "order", "verdict").values
    judges = prob.shape[0]
    prob = prob.reshape(judges, -1, 2, 3).astype(float)
    there = ~np.isnan(prob).any(axis=-1)
    kept = np.flatnonzero(there.any(axis=(0, 2)))
    if not len(kept):
        raise UserError("no pair whose sides are marked left and right has a verdict.")
    names, ids = _labelled(pairs, kept)
    words = pairs["words"].transpose(*PAIR_DIMS, "variant").sel(variant=list(SIDES)).values
    logs = np.log2(np.maximum(words.reshape(-1, 2)[kept], 1.0))
    chosen = pairs["rating"].sel(variant=list(SIDES), scale=list(RATINGS))
    rating = chosen.transpose("scale", "judge", *PAIR_DIMS, "variant").values
    rating = rating.reshape(len(RATINGS), judges, -1, 2)[:, :, kept]
    return Judged(
        models=names["model"],
        dimensions=names["dimension"],
        topics=names["topic"],
        templates=names["template"],
        prefixes=names["prefix"],
        judges=data["judge"].values.astype(str).tolist(),
        **ids,
        log2_words=logs.astype(float),
        verdicts=np.where(there[..., None], prob, 0.0)[:, kept],
        ratings=np.nan_to_num(rating, nan=0.0).astype(np.int64),
        notes=_notes(data, marked, there[:, kept]),
    )


def _labelled(pairs: xr.Dataset, kept: _Ids) -> tuple[dict[str, list[str]], dict[str, _Ids]]:
    """Return the levels of each grouping, and ``[pair]`` the number of that of each pair."""
    labels = {
        "model": pairs["model"].values.astype(str),
        "dimension": np.array([str(d) or OTHER for d in pairs["dimension"].values]),
        "topic": pairs["topic"].values.astype(str),
        "template": pairs["section"].values.astype(str),
        "prefix": pairs["prefix"].values.astype(str),
    }
    of = dict.fromkeys(("dimension", "topic", "template"), "item")
    shape = [pairs.sizes[dim] for dim in PAIR_DIMS]
    names, ids = {}, {}
    for name, values in labels.items():
        axis = PAIR_DIMS.index(of.get(name, name))
        levels = list(dict.fromkeys(values.tolist()))
        number = np.array([levels.index(value) for value in values.tolist()], dtype=np.int64)
        around = [len(values) if k == axis else 1 for k in range(len(shape))]
        names[name] = levels
        ids[name] = np.broadcast_to(number.reshape(around), shape).reshape(-1)[kept]
    return names, ids


def _notes(
    data: xr.Dataset, marked: NDArray[np.bool_], there: NDArray[np.bool_]
) -> tuple[str, ...]:
    notes = []
    if unmarked := int((~marked).sum()):
        have, are = form(unmarked, "has", "have"), form(unmarked, "is", "are")
        notes.append(
            f"{unmarked:,} of {plural(len(marked), 'pair')} {have} no left and right side, "
            f"and {are} not in the model."
        )
    if lacking := int((~there).sum()):
        are = form(lacking, "is", "are")
        notes.append(f"{lacking:,} of {plural(there.size, 'verdict')} {are} missing, and left out.")
    if data.sizes["judge"] == 1:
        notes.append(
            "There is one judge only: whether it prefers a side cannot be told from the models' "
            "tilt."
        )
    return tuple(notes)
