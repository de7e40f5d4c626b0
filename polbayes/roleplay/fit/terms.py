"""The effects of the many-facet model: what varies, in which directions, and what sums to zero.

The latent rating of value v by judge j of what model m did with a prompt is::

    eta = mean[v]
        + model + stage + scenario + prompt + sway + stage:sway         (what was there to be rated)
        + model:stage + model:scenario + model:sway + dialogue + unit
        + judge + judge:model + judge:unit + self                       (who rated it)

The effect of a level on the values has up to three kinds of orthogonal directions, each kind with
its own scale:

- ``axis``: all values together, along the published weights, which moves the alignment;
- ``level``: all values equally: intensity in what is rated, severity in judges;
- ``value``: the rest, which moves neither alignment nor level.

Without ``axis``, correlated values would count as independent evidence of a model's position, and
without ``level`` so would the ten ratings that a judge writes at once.

Effects sum to zero wherever their mean belongs to a coarser term: over judges for judges' effects
(so that the rest is relative to the mean of the panel), over models for effects that differ by
model, over scenarios, stages and the texts of a scenario. Effects are thus of these models, judges
and scenarios; others follow from the scales (`polbayes.roleplay.fit.d_study`). The exception is
``judge:unit``, a judge's errors about one unit, which are independent. ``sway`` is the effect of
the asking person's side, right minus left, if there are both twins.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from polbayes.roleplay.fit.rated import MISSING, Rated

AXIS, LEVEL, VALUE = ("axis", "level", "value")

# The factors of an effect, over which it sums to zero, and whether it is multiplied by the side of
# the person who asks.
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
    """Return the terms about what was rated that the ratings identify."""
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
    """Return the terms about who rated that the ratings identify."""
    units, judges = len(rated.answers), rated.sizes["judge"]
    if judges == 1:
        return ()
    table = {name: np.repeat(at, judges) for name, at in _factors(rated).items()}
    table["judge"] = np.tile(np.arange(judges), units)
    found = []
    for name, declared in JUDGES.items():
        kinds = columns_of(rated)
        if name == "judge:unit":
            # Single values are covered by the noise of the ordinal model.
            kinds = tuple(kind for kind in kinds if kind != VALUE)
        term = _bound(name, declared, table, None, kinds) if kinds else None
        found.append(term)
    return tuple(
        replace(term, index=term.index.reshape(units, judges)) for term in found if term is not None
    )


def _factors(rated: Rated) -> Mapping[str, np.ndarray]:
    """Return ``[unit]`` positions by factor; twins are distinguished by the asking side, if known.

    Only then is what the twins of all scenarios have in common the effect of the side.
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
    """Return ``[level]`` which levels are drawn: all but the last of groups that sum to zero."""
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
