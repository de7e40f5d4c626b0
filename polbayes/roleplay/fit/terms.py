"""The effects of the many-facet model: what varies, in which directions, and what sums to zero.

The latent rating of value v by judge j of what model m did with a prompt is::

    eta = mean[v]
        + model + stage + scenario + prompt + sway + stage:sway         (what was there to be rated)
        + model:stage + model:scenario + model:sway + dialogue + unit
        + judge + judge:model + judge:unit + self                       (who rated it)

What a level of a term does to the values has up to three kinds of directions, at right angles to
one another, each kind with a scale of its own:

- ``axis``: all values together, along the published weights: what moves the alignment;
- ``level``: all values alike: intensity in what is rated, severity in judges;
- ``value``: all else, which moves neither alignment nor level.

Without ``axis``, values that go together would be taken for as many independent witnesses of where
a model stands, and without ``level`` so would the ten ratings that a judge writes in one go.

Effects sum to zero wherever their mean belongs to a coarser term: over judges for the judges' (so
that what remains is as the mean of the panel has it), over models for all that differs by model,
over scenarios, stages and the texts of a scenario. So an effect is that of these models, judges and
scenarios; what others would do follows from the scales (`polbayes.roleplay.fit.d_study`). The
exception is ``judge:unit``, the slips of a judge about one unit, which are taken for independent.
``sway`` is what the side of the person who asks does, right minus left; it is there where both
twins are.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from polbayes.roleplay.fit.rated import MISSING, Rated

AXIS, LEVEL, VALUE = ("axis", "level", "value")

# What an effect differs by, over what it sums to zero, and whether it is multiplied with the side
# of the person who asks.
_Declared = tuple[tuple[str, ...], tuple[tuple[str, ...], ...], bool]
_TEXT = ("scenario", "side", "wording")
_UNIT = ("model", *_TEXT, "stage")
TRUTH: Mapping[str, _Declared] = {
    "model": (("model",), (("model",),), False),
    "stage": (("stage",), (("stage",),), False),
    "scenario": (("scenario",), (("scenario",),), False),
    "prompt": ((*_TEXT, "stage"), (("side", "wording", "stage"), ("scenario",)), False),
    "sway": ((), (), True),
    "stage:sway": (("stage",), (("stage",),), True),
    "model:stage": (("model", "stage"), (("model",), ("stage",)), False),
    "model:scenario": (("model", "scenario"), (("model",), ("scenario",)), False),
    "model:sway": (("model",), (("model",),), True),
    "dialogue": (("model", *_TEXT), (("model",), ("side", "wording"), ("scenario",)), False),
    "unit": (_UNIT, (("model",), ("stage",), _TEXT), False),
}
JUDGES: Mapping[str, _Declared] = {
    "judge": (("judge",), (("judge",),), False),
    "judge:model": (("judge", "model"), (("judge",), ("model",)), False),
    "judge:unit": (("judge", *_UNIT), (), False),
}

# Scales of half-normal priors, as shares of the length of the rating scale.
SCALES: Mapping[str, float] = {
    **dict.fromkeys((*TRUTH, *JUDGES), 0.1),
    "model": 0.2,
    "scenario": 0.15,
}


@dataclass(frozen=True)
class Term:
    """One term on given ratings."""

    name: str
    factors: tuple[str, ...]  # what the levels are combinations of
    levels: np.ndarray  # ``[level, factor]`` positions of the labels
    index: np.ndarray  # ``[unit]`` level, or ``[unit, judge]`` for terms of judges
    weight: np.ndarray | None  # ``[unit]`` multiplies the effects; None: 1
    # For every constraint ``[level]`` the group in which effects sum to zero.
    groups: tuple[np.ndarray, ...]
    kinds: tuple[str, ...]  # ``[column]`` of each direction, the first of `Rated.basis`

    @property
    def of_judges(self) -> bool:
        """Whether the term is about who rated."""
        return self.index.ndim == 2


def truth_terms(rated: Rated) -> tuple[Term, ...]:
    """Return the terms about what was rated that the ratings can tell apart."""
    found = []
    for name, declared in TRUTH.items():
        if name == "unit" and rated.sizes["judge"] == 1:
            continue  # the same as the judge's own error
        if declared[2] and not rated.side.any():
            continue
        side = rated.side if declared[2] else None
        found.append(_bound(name, declared, _factors(rated), side, columns_of(rated)))
    return tuple(term for term in found if term is not None)


def judge_terms(rated: Rated) -> tuple[Term, ...]:
    """Return the terms about who rated that the ratings can tell apart."""
    units, judges = len(rated.answers), rated.sizes["judge"]
    if judges == 1:
        return ()
    table = {name: np.repeat(at, judges) for name, at in _factors(rated).items()}
    table["judge"] = np.tile(np.arange(judges), units)
    found = []
    for name, declared in JUDGES.items():
        kinds = columns_of(rated)
        if name == "judge:unit":
            # Each value by itself is what the ordinal model has its noise for.
            kinds = tuple(kind for kind in kinds if kind != VALUE)
        term = _bound(name, declared, table, None, kinds) if kinds else None
        found.append(term)
    return tuple(
        replace(term, index=term.index.reshape(units, judges)) for term in found if term is not None
    )


def _factors(rated: Rated) -> Mapping[str, np.ndarray]:
    """Return ``[unit]`` positions by factor; twins are told apart by the side that asks, if known.

    Only then is what the twins of all scenarios have in common what the side does.
    """
    side = rated.side > 0 if rated.side.any() else rated.units["twin"]
    return {**rated.units, "side": np.asarray(side, dtype=np.int64)}


def columns_of(rated: Rated) -> tuple[str, ...]:
    """Return the kind of each column of `Rated.basis`."""
    values = rated.sizes["value"]
    if values == 1:
        return (VALUE,)
    axis = (AXIS,) if rated.weights is not None else ()
    level = (LEVEL,) if not axis or np.ptp(rated.basis[:, 0]) > 0 else ()
    return (*axis, *level, *[VALUE] * (values - len(axis) - len(level)))


def _bound(
    name: str,
    declared: _Declared,
    table: Mapping[str, np.ndarray],
    weight: np.ndarray | None,
    kinds: tuple[str, ...],
) -> Term | None:
    factors, constraints, _ = declared
    rows = len(table["model"])
    if not factors:
        return Term(name, (), np.zeros((1, 0), int), np.zeros(rows, int), weight, (), kinds)
    combined = np.column_stack([table[factor] for factor in factors])
    levels, index = np.unique(combined, axis=0, return_inverse=True)
    groups = []
    for over in constraints:
        within = [k for k, factor in enumerate(factors) if factor not in over]
        group = np.zeros(len(levels), dtype=np.int64)
        if within:
            group = np.unique(levels[:, within], axis=0, return_inverse=True)[1].ravel()
        if np.bincount(group).max() == 1:
            return None  # one alone that sums to zero is zero
        groups.append(group.astype(np.int64))
    return Term(name, factors, levels, index.ravel(), weight, tuple(groups), kinds)


def free(term: Term) -> np.ndarray:
    """Tell ``[level]`` which levels are drawn: not the last of any group that sums to zero."""
    kept = np.ones(len(term.levels), dtype=bool)
    for group in term.groups:
        last = len(group) - 1 - np.unique(group[::-1], return_index=True)[1]
        kept[last] = False
    return kept


def informed(term: Term, rated: Rated) -> np.ndarray:
    """Count ``[level, column, judge]`` ratings that inform an effect, by its weight squared."""
    by = (rated.answers != MISSING).astype(float)
    if term.weight is not None:
        by = by * term.weight[:, None, None] ** 2
    judges, values = by.shape[1:]
    index = term.index if term.of_judges else np.repeat(term.index[:, None], judges, axis=1)
    by_value = np.zeros((len(term.levels), judges, values))
    np.add.at(by_value, (index, np.arange(judges)), by)
    return np.asarray(by_value @ rated.basis[:, : len(term.kinds)] ** 2).transpose(0, 2, 1)
