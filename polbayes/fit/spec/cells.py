"""From a coded response dataset to the distinct cells that a model is fitted to.

Identical cells are aggregated, so the cost of the likelihood depends on the number of distinct
cells, not of answers.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import xarray as xr

from polbayes.data.dataset import CELL_DIMS, STANCE, to_frame
from polbayes.data.prose import plural
from polbayes.errors import UserError, check_known
from polbayes.fit.coder_errors.misclassification import (
    Coder,
    Readings,
    load_coder,
    odds_by_model,
    readings,
)
from polbayes.fit.spec import answers
from polbayes.fit.spec.formula import described
from polbayes.fit.spec.spec import Spec
from polbayes.instrument.covariates import check_given
from polbayes.instrument.dimensions import dimensions_of
from polbayes.instrument.questionnaires import agreeing_is_right

if TYPE_CHECKING:
    from polbayes.fit.mixed.spec import MixedSpec

_KEYS = ("model", "item", "variant", "prefix", "dimension", "direction", "keying")
_MASS = "mass"
# Reasons for unusable answers.
_NO_STANCE = "no stance that the model can use"
# Decodings (an attribute of models) whose runs are all one answer.
ONE_ANSWER = ("greedy", "beam", "contrastive", "cached")


@dataclass(frozen=True)
class Cells:
    """Distinct cells, with the answers in each.

    Parameters
    ----------
    frame
        One row per cell: the variables of the spec, and ``keying`` (-1 or +1).
    counts
        ``[cell, point]`` answers at each point from strongest disagreement to strongest
        agreement; empty for continuous answers.
    value
        ``[cell]`` answers in (0, 1), NaN if missing; empty for ordinal answers.
    asked
        ``[cell]`` number of answers received, usable or not.
    points
        Labels of the points.
    notes
        Sentences about what was left out, and how much.
    order
        Labels of every dimension in the order of the dataset.
    read
        Readings of the answers by a coder that may err; None if counts are true.
    mass
        ``[cell]`` total probability of usable answers, in (0, 1), for answers that are
        numbers; empty if it is not modelled.
    copies
        Models whose runs or decoding give one answer.
    once
        Models that answered every statement at most once, whose decisiveness is held
        (`polbayes.fit.spec.terms.bind`).
    single, of
        Where answers that are numbers are summed up: the answers one by one, ``value`` and ``mass``
        being means of theirs, and ``[single answer]`` its cell.
    """

    frame: pd.DataFrame
    counts: np.ndarray
    value: np.ndarray
    asked: np.ndarray
    points: tuple[str, ...]
    notes: tuple[str, ...]
    order: Mapping[str, list[str]]
    read: Readings | None = None
    mass: np.ndarray = field(default_factory=lambda: np.empty(0))
    copies: tuple[str, ...] = ()
    once: tuple[str, ...] = ()
    single: "Cells | None" = None
    of: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int32))

    @property
    def every(self) -> "Cells":
        """The cells whose answers are not summed up: one a question."""
        return self.single or self

    @property
    def times(self) -> np.ndarray:
        """``[cell]`` how many cells of `every` it is."""
        return np.ones(len(self.frame)) if self.single is None else self.asked

    def spread(self, values: np.ndarray) -> np.ndarray:
        """Give every cell of `every` the value of its cell."""
        return values if self.single is None else values[self.of]

    @property
    def answered(self) -> np.ndarray:
        """``[cell]`` usable answers."""
        if self.single is not None:
            return np.bincount(self.of, self.single.answered, len(self.frame))
        if self.counts.size:
            return np.asarray(self.counts.sum(axis=1))
        return np.isfinite(self.value).astype(float)

    @property
    def copied(self) -> np.ndarray:
        """``[cell]`` whether its only answer represents runs that are copies of each other."""
        frame = self.frame[["model"]]
        if not self.copies or not self.counts.size:
            return np.zeros(len(frame), dtype=bool)
        most = frame.assign(n=self.answered).groupby("model", observed=True)["n"].transform("max")
        return np.asarray(frame["model"].isin(self.copies) & (most <= 1))

    @property
    def held(self) -> np.ndarray:
        """``[cell]`` whether the answers say nothing about the model's decisiveness."""
        return np.asarray(self.copied | self.frame["model"].isin(self.once).to_numpy())

    @property
    def part(self) -> np.ndarray:
        """``[cell]`` 1, or less if cells differ only in the coder of the answers."""
        if self.read is None:
            return np.ones(len(self.frame))
        others = [name for name in self.frame.columns if name != "table"]
        size = self.frame.groupby(others, observed=True)["table"].transform("size")
        return 1.0 / size.to_numpy(dtype=float)

    def present(self, dim: str) -> list[str]:
        """Return the labels of a dimension that occur, in the order of the dataset, or sorted."""
        occurring = set(self.frame[dim].unique())
        return [label for label in self.order.get(dim, sorted(occurring)) if label in occurring]


def keyed(data: xr.Dataset, spec: Spec) -> xr.Dataset:
    """Return data with the keys that a spec takes, where a statement has none of its own."""
    return agreeing_is_right(data) if spec.signed else data


def gather_cells(data: xr.Dataset, spec: Spec) -> Cells:
    """Gather the cells of a coded dataset for a spec.

    Parameters
    ----------
    data
        A coded response dataset.
    spec
        Defines the response, the variables and the selection.

    Raises
    ------
    UserError
        If a variable is unknown, the response is not in the data, or nothing usable is left.
    """
    data = keyed(data, spec)
    coder = check_coder(data, spec)
    data = data if coder is None else readings(data, coder)
    frame = cell_frame(data, spec)
    if spec.response not in frame:
        raise UserError(
            f"analysis.response: the data have no '{spec.response}'; they have "
            f"{', '.join(sorted({'stance', 'rating', 'r_plus'} & set(map(str, data.data_vars))))}."
        )
    frame, notes = _drop_unusable(frame)
    copies: tuple[str, ...] = ()
    if spec.sampled_items:
        frame, copies = _first_of_copies(frame, notes)
    if not spec.observation.counts:
        return summed(_continuous(frame, spec, notes, data), spec)
    cells = _with_copies(_ordinal(frame, spec, notes, data, coder), spec, copies)
    return _with_once(cells, spec)


def check_coder(data: xr.Dataset, spec: Spec) -> Coder | None:
    """Load the validation of a dataset's coder; None if the spec does not model its errors."""
    if spec.misclassification is None:
        return None
    models = [str(name) for name in data["model"].values]
    return load_coder(spec.misclassification, _points(spec, data)[1], models)


def cell_frame(data: xr.Dataset, spec: Spec) -> pd.DataFrame:
    """Return one row per asked cell of a dataset, restricted by `spec.select`."""
    source = data
    if spec.response == "agree" and "stance" in data:
        source = data.assign(agree=data["stance"])
    also: tuple[str, ...] = ("reading", "table") if spec.misclassification else ()
    if _has_mass(spec):
        source, also = _with_mass(source), (_MASS,)
    wanted = [v for v in (spec.response, "status", *also) if v in source.data_vars]
    needed = used_variables(spec) | set(spec.select)
    available = {str(c) for c, of in source.coords.items() if set(of.dims) <= set(CELL_DIMS)}
    available -= {spec.response, "status", *also}
    check_known("variable", *needed, known=sorted(available), where="analysis")
    frame = to_frame(source, wanted, columns={*needed, *_KEYS, "run", "decoding"})
    if spec.observation.counts:
        frame = _plain(frame)
    frame = answers.selected(frame, spec.select)
    check_given(data, sorted(used_variables(spec)), sorted(set(frame["model"])))
    return frame.reset_index(drop=True)


def used_variables(spec: "Spec | MixedSpec") -> set[str]:
    """Return the names of the variables that the formulas of a spec use."""
    names = {*getattr(spec, "reference", ()), *getattr(spec, "populations", ())}
    for part, formula in spec.parts.items():
        for group in formula.groups:
            names |= set(group.factors)
        for text in (formula.common, *(group.expr for group in formula.groups)):
            if text != "0":
                names |= set(described(text, "var_names", where=f"analysis.parts.{part}"))
    return names - {""}  # formulae's name for a constant in a call


def _drop_unusable(frame: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    notes: list[str] = []
    items = ", ".join(sorted(frame.loc[frame["keying"] == 0, "item"].unique()))
    frame = answers.came_back(frame, notes)
    scored = frame["keying"] != 0
    if scored.all():
        return frame, notes
    if items:
        left_out = int((~scored).sum())
        notes.append(f"Left out: {plural(left_out, 'answer')} to unscored items ({items}).")
    return frame[scored], notes


def _ordinal(
    frame: pd.DataFrame, spec: Spec, notes: list[str], data: xr.Dataset, coder: Coder | None
) -> Cells:
    codes, points = _points(spec, data)
    position = {code: k for k, code in enumerate(codes)}
    point = frame[spec.response].map(position)
    usable = point.notna()
    answers.note_unusable(usable, frame["model"], notes, response=spec.response, why=_NO_STANCE)
    odds = odds_by_model(frame, coder) if coder else {}
    if "validity" not in spec.parts:
        frame, point, usable = frame[usable], point[usable], usable[usable]
    # The factor with the most levels varies fastest, so that the terms without it stay the same
    # from one cell to the next (`polbayes.fit.density.kernel.evaluate`), and the model slowest, as
    # cells with one decisiveness are worked on together (`polbayes.fit.density.shifts`).
    last = max(("variant", "prefix"), key=lambda name: frame[name].nunique())
    first = ["table", "model"] if coder else ["model"]
    keys = [*first, *sorted((used_variables(spec) | {*_KEYS}) - {"model", last}), last]
    cell = frame.groupby(keys, sort=True, observed=True).ngroup().to_numpy()
    counts = np.zeros((cell.max() + 1, len(points)))
    np.add.at(counts, (cell[usable], point[usable].astype(int)), 1)
    distinct = frame[keys].assign(_cell=cell).drop_duplicates("_cell").sort_values("_cell")
    read = None
    if coder:
        made = np.zeros((len(counts), coder.sizes[1] * coder.sizes[2]))
        np.add.at(made, (cell[usable], frame.loc[usable, "reading"]), 1)
        table = distinct["table"].to_numpy()
        none = distinct["model"].map(odds).to_numpy(dtype=float)
        read = Readings(coder, made, table, np.where(table < len(coder.tables), none, 0.0))
    return Cells(
        frame=distinct[keys].reset_index(drop=True),
        counts=counts,
        value=np.empty(0),
        asked=np.bincount(cell).astype(float),
        points=points,
        notes=tuple(notes),
        order=_order(data),
        read=read,
    )


def _first_of_copies(frame: pd.DataFrame, notes: list[str]) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Keep only the first run of models whose decoding gives one answer."""
    if "decoding" not in frame:
        return frame, ()
    same = frame["decoding"].isin(ONE_ANSWER)
    again = same & frame.duplicated(["model", "item", "variant", "prefix"])
    if again.any():
        models = map(str, frame.loc[again, "model"].unique())
        notes.append(
            f"{', '.join(models)}: runs are no independent answers (decoding: "
            f"{', '.join(sorted(frame.loc[again, 'decoding'].unique()))}), so that the first of "
            f"each question counts alone; {again.sum():,} others are left out."
        )
    return frame[~again], tuple(map(str, frame.loc[same, "model"].unique()))


def _with_copies(cells: Cells, spec: Spec, known: tuple[str, ...]) -> Cells:
    """Find the models whose runs are all identical, and count these runs once.

    They are added to `known`, which already have one run each. A model that always repeats itself
    gives one opinion, whatever the number of runs. With one cell per statement, whose quirk is
    integrated out, the likelihood accounts for this itself, and estimates how decided the model is.
    """
    if not spec.sampled_items:
        return cells
    cells = replace(cells, copies=known)
    model, names = levels(cells.frame, ["model"])
    # One question may have several cells, if its runs differ in something (their administration).
    question, questions = levels(cells.frame, ["model", "item", "variant", "prefix"])
    asker = levels(questions, ["model"])[0]
    counts = np.stack([np.bincount(question, column) for column in cells.counts.T], axis=1)
    asked, size = np.bincount(question, cells.asked), len(names)
    kinds = (counts > 0).sum(axis=1) + (asked > counts.sum(axis=1))
    varied = np.bincount(asker, weights=kinds > 1, minlength=size) > 0
    repeated = np.bincount(asker, weights=asked > 1, minlength=size) > 0
    copied = repeated & ~varied
    if not copied.any():
        return cells
    labels = [str(name) for name in names["model"][copied]]
    listed = ", ".join(labels)
    what = "rating" if spec.response == "rating" else "stance"
    note = (
        f"{listed}: all runs of every question have the same {what}, so that they count as one "
        "opinion (as copies of one answer would: a temperature of 0, beams, a cache)."
    )
    cells = replace(cells, copies=(*known, *labels), notes=(*cells.notes, note))
    read = cells.read
    if read is None and not cells.frame.duplicated(["model", "item"]).any():
        return cells
    once = copied[model]
    first = ~cells.frame.duplicated(["model", "item", "variant", "prefix"]).to_numpy()
    if read is not None:
        first[:] = True  # cells of a question also differ in the coder of the answers
    most = np.where(first, 1.0, 0.0)
    counts = np.where(once[:, None], np.minimum(cells.counts, most[:, None]), cells.counts)
    asked = np.where(once, np.minimum(cells.asked, most), cells.asked)
    if read is not None:
        least = np.where(once[:, None], np.minimum(read.counts, 1.0), read.counts)
        read = replace(read, counts=least)
    return replace(cells, counts=counts, asked=asked, read=read)


def _with_once(cells: Cells, spec: Spec) -> Cells:
    """Find the models that answered every statement at most once.

    If all did, but for those whose runs are copies, and the spec has a prior of decisiveness of its
    own, that prior holds.
    """
    if not spec.sampled_items:
        return cells
    statement, table = levels(cells.frame, ["model", "item"])
    model, names = levels(table, ["model"])
    most = np.zeros(len(names))
    np.maximum.at(most, model, np.bincount(statement, cells.answered))
    copies = names["model"].isin(cells.copies).to_numpy()
    once = (most <= 1) & ~copies
    if (once | copies).all() and spec.own_decisiveness:
        return cells
    return replace(cells, once=tuple(str(name) for name in names["model"][once]))


def _points(spec: Spec, data: xr.Dataset) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Return codes and labels of the points of the response, in order."""
    if spec.response == "agree":
        return (STANCE["disagree"], STANCE["agree"]), ("disagree", "agree")
    if spec.response == "stance":
        return tuple(STANCE[p] for p in answers.STANCE_POINTS), answers.STANCE_POINTS
    labels = answers.rating_points(data)
    return tuple(range(len(labels))), labels


def _order(data: xr.Dataset) -> dict[str, list[str]]:
    names = ("model", "item", "variant", "prefix")
    return {d: [str(v) for v in data[d].values] for d in names} | {
        "dimension": [one.dimension for one in dimensions_of(data)],
        "instrument": list(dict.fromkeys(str(v) for v in data["instrument"].values)),
    }


def _continuous(frame: pd.DataFrame, spec: Spec, notes: list[str], data: xr.Dataset) -> Cells:
    value = frame[spec.response].to_numpy(dtype=float)
    usable, there = np.isfinite(value), frame[spec.response].notna()
    answers.note_unusable(there, frame["model"], notes, response=spec.response, why=_NO_STANCE)
    kept, mass = usable, np.empty(0)
    if _has_mass(spec):
        mass = frame[_MASS].to_numpy(dtype=float)
        kept = np.isfinite(mass)
        mass = answers.squeezed(np.clip(mass[kept], 0.0, 1.0))
    keys = sorted(used_variables(spec) | {*_KEYS})
    return Cells(
        frame=frame.loc[kept, keys].reset_index(drop=True),
        counts=np.empty((0, 0)),
        value=answers.squeezed(np.where(usable, value, np.nan)[kept]),
        asked=np.ones(int(kept.sum())),
        mass=mass,
        points=(),
        notes=tuple(notes),
        order=_order(data),
    )


def _plain(frame: "pd.DataFrame") -> "pd.DataFrame":
    """Turn categories into what they stand for."""
    texts = [c for c in frame if isinstance(frame[c].dtype, pd.CategoricalDtype)]
    return frame.assign(**{c: frame[c].astype(frame[c].cat.categories.dtype) for c in texts})


def summed(cells: Cells, spec: Spec) -> Cells:
    """Sum up the answers to questions that a spec tells apart by nothing that it has.

    That is exact where the family says so: of a normal distribution the number of answers, their
    mean and their squares around it say all. The cost of the likelihood follows the combinations of
    effects that occur.
    """
    frame = cells.frame
    if not spec.observation.summed or not len(frame):
        return replace(cells, frame=_plain(frame))
    apart = spec.fixed_prefixes or "prefix" in used_variables(spec)
    keys = [name for name in frame if apart or name != "prefix"]
    of = (
        frame.groupby(keys, sort=False, observed=True, dropna=False)
        .ngroup()
        .to_numpy(dtype=np.int32)
    )
    size = int(of.max()) + 1
    if size == len(frame):
        return replace(cells, frame=_plain(frame))
    first = np.flatnonzero(~frame.duplicated(keys).to_numpy())
    there = np.isfinite(cells.value)
    total = np.bincount(of[there], cells.value[there], size)
    with np.errstate(invalid="ignore"):  # 0 / 0 where nothing was usable
        value = total / np.bincount(of[there], minlength=size)
    asked = np.bincount(of, cells.asked, size)
    mass = np.bincount(of, cells.mass, size) / asked if cells.mass.size else cells.mass
    return replace(
        cells,
        frame=_plain(frame.loc[first, keys].reset_index(drop=True)),
        value=value,
        asked=asked,
        mass=mass,
        single=cells,
        of=of,
    )


def _has_mass(spec: Spec) -> bool:
    """Whether the total probability of usable answers is modelled."""
    return not spec.observation.counts and "validity" in spec.parts


def _with_mass(data: xr.Dataset) -> xr.Dataset:
    for name in ("p_agree", "p_disagree"):
        if name not in data:
            raise UserError(
                f"analysis.parts.validity: the data have no '{name}', and the validity of answers "
                "that are probabilities is the sum of p_agree and p_disagree; leave the part out."
            )
    return data.assign({_MASS: data["p_agree"] + data["p_disagree"]})


def levels(frame: pd.DataFrame, names: Iterable[str]) -> tuple[np.ndarray, pd.DataFrame]:
    """Find and number the occurring combinations of some variables.

    Returns ``[cell]`` the number of the cell's combination, and ``[level, variable]`` the
    sorted combinations.
    """
    columns = list(names)
    index = frame.groupby(columns, sort=True, observed=True).ngroup().to_numpy()
    first = np.zeros(index.max(initial=-1) + 1, dtype=int)
    first[index[::-1]] = np.arange(len(index))[::-1]
    return index, _plain(frame[columns].iloc[first].reset_index(drop=True))


def label(row: Mapping[str, object]) -> str:
    """Name one combination of levels, for messages and coordinates."""
    return "|".join(str(value) for value in row.values())
