"""A spec bound to data: the levels, design matrices and constraints of every term.

This module also checks whether the data identify the spec.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np
import pandas as pd

from polbayes.errors import UserError, check_known
from polbayes.fit.spec.cells import Cells, label, levels
from polbayes.fit.spec.centring import centring, holds_mean, mean_is_common, refines
from polbayes.fit.spec.dif import DIF, check_term, focal
from polbayes.fit.spec.formula import NAMESPACE, GroupTerm
from polbayes.fit.spec.reference import population_models, reference_models, the_population
from polbayes.fit.spec.spec import COPIES, POPULATION, POSITIONS, WALK, Spec, common_names


class UnidentifiedError(UserError):
    """The data cannot identify a term.

    Parameters
    ----------
    sentence
        What cannot be identified, and what to do.
    part, term
        The term to drop; a common one by its name.
    why
        The reason, as a clause.
    """

    def __init__(self, sentence: str, *, part: str, term: GroupTerm | str, why: str) -> None:
        super().__init__(sentence)
        self.part, self.term, self.why = part, term, why


@dataclass(frozen=True)
class BoundCommon:
    """The common part of a formula on given data."""

    names: tuple[str, ...]  # columns of the design matrix, e.g. "dimension[economic]"
    terms: tuple[str, ...]  # the term of each column
    matrix: np.ndarray  # [row, column] one row for each distinct combination of predictors
    index: np.ndarray  # [cell] row of each cell


@dataclass(frozen=True)
class BoundGroup:
    """A group-specific term on given data."""

    term: GroupTerm  # the declaration
    levels: pd.DataFrame  # [level, factor] the occurring combinations of the grouping factors
    index: np.ndarray  # [cell] level of each cell
    columns: tuple[str, ...]  # names of the varying coefficients
    matrix: np.ndarray | None  # [cell, column] their multipliers; None for a varying intercept
    centred_in: np.ndarray | None  # [level] group in which effects sum to zero, if any
    scale_of: np.ndarray  # [level] number of a level's standard deviation (all 0 without by)
    scales: tuple[str, ...]  # labels of standard deviations, one for each level of by
    answers: np.ndarray  # [level] number of answers at a level
    integrated: bool = False  # whether effects, one per cell, are integrated out
    first: np.ndarray | None = None  # [level] first level of its random walk, if it is of one
    entering: np.ndarray | None = None  # [cell] whether an effect enters; None if always

    @property
    def labels(self) -> list[str]:
        """One label per level."""
        return [label(row) for row in self.levels.to_dict("records")]


@dataclass(frozen=True)
class BoundPart:
    """One part of the predictor on given data."""

    name: str
    common: BoundCommon | None
    groups: tuple[BoundGroup, ...]
    signed: bool = False  # whether discriminations have either sign
    widens: bool = False  # also multiplies the family's own parameter


def bind(spec: Spec, cells: Cells) -> dict[str, BoundPart]:
    """Bind every part of a spec to the cells, or raise an error about an unidentified term."""
    _check_keying(spec, cells.frame)
    _check_anchors(spec, cells.frame)
    if spec.reference:
        reference_models(cells, spec.reference)
    if spec.populations:
        population_models(cells, spec.populations)
    if spec.scale == POPULATION:
        the_population(cells, spec.populations)
    parts = {name: _bind_part(name, spec, cells) for name in spec.parts}
    _check_aliases(spec, parts, cells.frame)
    if not spec.observation.counts:
        _check_residual(parts, len(cells.every.frame))
    return parts


def _bind_part(name: str, spec: Spec, cells: Cells) -> BoundPart:
    formula = spec.parts[name]
    held = cells.held if name == "decisiveness" else np.zeros(len(cells.frame), dtype=bool)
    common = None
    if formula.common != "0" and not held.all():
        common = _bind_common(name, formula.common, cells.frame[~held].reset_index(drop=True))
    if held.any():
        common = _with_held(common, held)
    groups = tuple(
        group
        for group in (_bind_group(name, term, common, spec, cells) for term in formula.groups)
        if not _unrepeated(name, group, cells) and not held.all()
    )
    widens = name == "decisiveness" and spec.observation.widened
    return BoundPart(name, common, groups, spec.position(name) == "multiplier", widens)


def _matrix(part: str, text: str, frame: pd.DataFrame) -> tuple[np.ndarray, list[str], list[str]]:
    """Build a design matrix with formulae: matrix, column names, the term of each column."""
    from formulae import design_matrices

    where = f"analysis.parts.{part}"
    try:
        with np.errstate(all="ignore"):
            common = design_matrices(text, frame, extra_namespace=NAMESPACE).common
    except (KeyError, ValueError, TypeError) as error:
        raise UserError(f"{where}: '{text}' cannot be evaluated on the data: {error}.") from error
    matrix = np.asarray(common.design_matrix, dtype=float)
    if not np.isfinite(matrix).all():
        raise UserError(f"{where}: '{text}' is not a finite number for all of the data.")
    terms: list[str] = []
    for term in common.terms.values():
        terms += [term.name] * (matrix[:, common.slices[term.name]].shape[1])
    return matrix, [str(c) for c in common.as_dataframe().columns], terms


def _bind_common(part: str, text: str, frame: pd.DataFrame) -> BoundCommon:
    matrix, names, terms = _matrix(part, text, frame)
    for term in common_names(text):
        if term not in terms:  # formulae drops factors of one level
            why = f"there is only one {term}"
            sentence = f"analysis.parts.{part}: {term} needs at least two levels in the data, but "
            raise UnidentifiedError(
                f"{sentence}{why}; add more, or leave it out.", part=part, term=term, why=why
            )
    # Combinations that do not occur, such as an instrument without one of the dimensions, have no
    # coefficient; a term of zeros alone is a predictor that does not vary.
    there = np.asarray(matrix.any(axis=0))
    there = there | ~np.isin(terms, [*compress(terms, there)])
    matrix, names, terms = matrix[:, there], [*compress(names, there)], [*compress(terms, there)]
    rows, first, index = np.unique(matrix, axis=0, return_index=True, return_inverse=True)
    if np.linalg.matrix_rank(rows) < rows.shape[1]:
        at = _dependent(rows)
        term, why = terms[at], _why(rows[:, at], [t for t in terms[:at] if t != terms[at]])
        raise UnidentifiedError(
            f"analysis.parts.{part}: the data cannot tell the terms of '{text}' apart "
            f"({rows.shape[1]} coefficients, {np.linalg.matrix_rank(rows)} of them independent); "
            f"leave out {term}, because {why}.",
            part=part,
            term=term,
            why=why,
        )
    return BoundCommon(tuple(names), tuple(terms), matrix[first], index.reshape(-1))


def _dependent(rows: np.ndarray) -> int:
    """Return the first column that earlier ones explain."""
    return next(k for k in range(rows.shape[1]) if np.linalg.matrix_rank(rows[:, : k + 1]) <= k)


def _why(column: np.ndarray, earlier: Sequence[str]) -> str:
    """Say why a common term is not identified, as a clause."""
    if np.ptp(column) == 0:
        return f"it is {column[0]:g} for every answer"
    if not earlier:
        return "its coefficients cannot be told apart"
    return f"it cannot be told from {' and '.join(dict.fromkeys(earlier))}"


def _with_held(common: BoundCommon | None, held: np.ndarray) -> BoundCommon:
    """Give models whose answers do not show it a separate term, in place of the formula's.

    Copies do not show how sharply the model repeats itself, only the spread of its answers
    to one statement, which is due to prompts. Nor does one answer to each statement.
    """
    rows = np.empty((0, 0)) if common is None else common.matrix
    matrix = np.zeros((rows.shape[0] + 1, rows.shape[1] + 1))
    matrix[:-1, :-1], matrix[-1, -1] = rows, 1.0
    index = np.full(len(held), len(rows))
    if common is None:
        return BoundCommon((COPIES,), (COPIES,), matrix, index)
    index[~held] = common.index
    return BoundCommon((*common.names, COPIES), (*common.terms, COPIES), matrix, index)


def _bind_group(
    part: str, term: GroupTerm, common: BoundCommon | None, spec: Spec, cells: Cells
) -> BoundGroup:
    where = f"analysis.parts.{part}"
    frame = cells.frame
    index, table = levels(frame, term.factors)
    first, entering = None, None
    if term.walk:
        index, table, first = walks(index, table, where=f"{where}: {term}")
    if part == DIF:
        check_term(term, where=where)
        index, table, entering, why = focal(term, spec, cells)
        if why:
            raise _no_dif(term, why)
    columns: tuple[str, ...] = ("Intercept",)
    matrix = None
    if term.expr != "1":
        if term.by:
            raise UserError(
                f"{where}: in {term}, by = {term.by} can only be used with a varying intercept, "
                f"(1 | gr(...)); write ({term.expr} | {term.name}) for the coefficients."
            )
        matrix, names, _ = _matrix(part, term.expr, frame)
        columns = tuple(names)
    if term.walk or entering is not None:
        within = None  # a start and the sum of steps from there; effects relative to a baseline
    elif matrix is None:
        within = centring(part, term, spec, frame, index=index)
    else:
        own = None if common is None else common.matrix[common.index]
        # The mean of a factor of a discrimination of either sign is in the difficulties.
        free = spec.position(part) == "multiplied"
        within = mean_is_common(matrix, matrix if free else own, index=index)
    if spec.sampled_items and _of_the_domain(part, term, len(table) == len(cells.every.frame)):
        within = None  # the mean over the statements asked is no mean of the domain
    sampled = spec.sampled_items and not spec.fixed_prefixes and _of_prefixes(term)
    if sampled and not term.by:
        within = None  # nor is the mean over the prefixes asked that of all prefixes
    if _levels_within(index, within).min() < 2:
        raise _too_few(part, term, table, within is not None)
    if sampled:
        within = None  # but each standard deviation needs several prefixes
    if term.heavy:
        within = None  # conditioned on their sum, t variables no longer have a t distribution
    scale_of = np.zeros(len(table), dtype=int)
    scales: tuple[str, ...] = ()
    if term.by:
        scale_of, names_by = levels(table, [term.by])
        scales = tuple(str(v) for v in names_by[term.by])
        if within is not None and not refines(within, scale_of):
            within = None  # effects of different scales have no meaningful mean
    if first is not None:
        scale_of, scales = (first < np.arange(len(table))).astype(int), WALK
    return BoundGroup(
        term=term,
        levels=table,
        index=index,
        columns=columns,
        matrix=matrix,
        centred_in=within,
        scale_of=scale_of,
        scales=scales,
        answers=np.bincount(
            index,
            weights=cells.answered if entering is None else cells.answered * entering,
            minlength=len(table),
        ),
        first=first,
        entering=entering,
        integrated=spec.sampled_items
        and spec.observation.counts
        and cells.read is None
        and spec.position(part) in ("asked", "believed")
        and matrix is None
        and within is None
        and not term.heavy
        and not term.walk
        and len(table) == len(frame),
    )


def walks(
    index: np.ndarray, table: pd.DataFrame, *, where: str
) -> tuple[np.ndarray, pd.DataFrame, np.ndarray]:
    """Give every random walk a level for each time from its first to its last.

    Times are the sorted values of the last factor. Returns ``[cell]`` levels, the levels by
    walk and time, and ``[level]`` the first level of its walk.
    """
    *factors, last = table.columns
    times = sorted(table[last].unique())
    if len(times) < 2:
        raise UserError(f"{where} needs at least two values of {last}; there is only {times[0]}.")
    time = table[last].map({value: k for k, value in enumerate(times)}).to_numpy()
    walk = levels(table, factors)[0] if factors else np.zeros(len(table), dtype=int)
    names = table[factors].groupby(walk).first()
    start = np.array([time[walk == w].min() for w in range(walk.max() + 1)])
    length = np.array([time[walk == w].max() + 1 for w in range(len(start))]) - start
    place = np.cumsum(length) - length
    owner = np.repeat(np.arange(len(start)), length)
    step = np.arange(len(owner)) - place[owner]
    filled = names.iloc[owner].reset_index(drop=True)
    filled[last] = [times[k] for k in start[owner] + step]
    return (place[walk] + time - start[walk])[index], filled[list(table.columns)], place[owner]


def _unrepeated(part: str, group: BoundGroup, cells: Cells) -> bool:
    """Tell whether a term is confounded with decisiveness, because nothing was asked twice."""
    once = cells.answered.max() <= 1 and not cells.copied.any()
    return part != "quirk" and group.integrated and bool(once)


def _of_the_domain(part: str, term: GroupTerm, single: bool) -> bool:
    """Tell whether effects are a sample of those of a domain, whatever their mean."""
    if part == "decisiveness":
        return True  # a model that never wavers says nothing about the others
    of_items = part in ("difficulty", "quirk") and {"item", "topic", "section"} & set(term.factors)
    return bool(of_items) or single


def _of_prefixes(term: GroupTerm) -> bool:
    """Tell whether effects are those of prefixes on all statements."""
    return "prefix" in term.factors and not {"item", "variant"} & set(term.factors)


def _too_few(part: str, term: GroupTerm, table: pd.DataFrame, within: bool) -> UnidentifiedError:
    alone = " and ".join(f for f in term.factors if table[f].nunique() == 1)
    one = alone or term.name
    place = "within a group that it must sum to zero in" if within else "in the data"
    return UnidentifiedError(
        f"analysis.parts.{part}: {term} needs at least two levels {place}, but there is only one "
        f"{one}; add more, or leave the term out (see `task=explain`, or choose "
        "analysis=ideology_one_model for a single model).",
        part=part,
        term=term,
        why=f"there is only one {one}" + ("" if alone else f" {place}"),
    )


def _no_dif(term: GroupTerm, why: str) -> UnidentifiedError:
    return UnidentifiedError(
        f"analysis.parts.{DIF}: {term} needs at least two groups of several respondents, but "
        f"{why}; add more, or leave the term out.",
        part=DIF,
        term=term,
        why=why,
    )


def _levels_within(index: np.ndarray, within: np.ndarray | None) -> np.ndarray:
    """Count the levels in each group that sums to zero."""
    if within is None:
        return np.array([index.max() + 1])
    return np.bincount(within)


def _check_keying(spec: Spec, frame: pd.DataFrame) -> None:
    asked = [p for p in spec.parts if POSITIONS[p] == "asked"]
    if asked and frame["keying"].nunique() == 1:
        pole = "positive" if frame["keying"].iloc[0] > 0 else "negative"
        raise UserError(
            f"analysis.parts: every statement is keyed to the {pole} pole, so agreeing with "
            "everything cannot be told from leaning to it; add statements keyed the other way, or "
            f"leave out {' and '.join(asked)}."
        )


def by_item(term: GroupTerm) -> bool:
    """Tell whether a term has one effect per item."""
    return term.factors == ("item",) and term.expr == "1"


def _check_anchors(spec: Spec, frame: pd.DataFrame) -> None:
    """Refuse anchors that are not in the data or leave an orientation undetermined."""
    if not spec.signed:
        return
    dimensions = list(dict.fromkeys(frame["dimension"]))
    for dimension, model in spec.anchors.items():
        check_known("dimension", dimension, known=dimensions, where="analysis.anchor")
        here = set(frame.loc[frame["dimension"] == dimension, "model"])
        check_known("model", model, known=here, where=f"analysis.anchor.{dimension}")
    for dimension in dimensions:
        if dimension not in spec.anchors:
            raise UserError(
                f"analysis.anchor: without an anchor for {dimension} its left and right cannot be "
                f"told apart; name a model that is right of the middle, analysis.anchor.{dimension}"
                "=MODEL."
            )
    if not any(map(by_item, spec.parts["discrimination"].groups)):
        raise UserError(
            "analysis.parts.discrimination: discriminations of either sign need a term (1 | item)."
        )
    if holds_mean(spec.parts["theta"].common, frame):
        raise UserError(
            "analysis.parts.theta: where discriminations may have either sign, the data cannot "
            "tell a mean of theta from difficulties; leave the intercept out, e.g. "
            "'~ (0 + dimension | model)'."
        )


def _check_aliases(spec: Spec, parts: Mapping[str, BoundPart], frame: pd.DataFrame) -> None:
    """Refuse two terms of the predictor whose effects are confounded."""
    keying = frame["keying"].to_numpy()
    if spec.sampled_items and "discrimination" in parts and frame["model"].nunique() == 1:
        _check_discriminations(parts["discrimination"])
    predictor = [p for name, p in parts.items() if spec.position(name) in ("asked", "believed")]
    _check_common_parts(predictor, keying)
    side = (keying > 0).astype(int)
    seen: list[tuple[str, BoundGroup]] = []
    for part in predictor:
        for group in part.groups:
            for other_part, other in seen:
                same_side = POSITIONS[part.name] == POSITIONS[other_part]
                if not same_side and not refines(group.index, side):
                    continue  # the keying identifies them
                if _confounded(group, other):
                    raise _alias(part.name, group, other_part, other, frame)
            seen.append((part.name, group))


def _check_discriminations(part: BoundPart) -> None:
    """Refuse discriminations of statements if only one model answered."""
    for group in part.groups:
        if "item" in group.term.factors:
            why = "with one model it cannot be told from what the model thinks of single statements"
            raise UnidentifiedError(
                f"analysis.parts.discrimination: {group.term} needs several models; {why}, so add "
                "models or leave it out.",
                part="discrimination",
                term=group.term,
                why=why,
            )


def _alias(
    part: str, group: BoundGroup, other_part: str, other: BoundGroup, frame: pd.DataFrame
) -> UnidentifiedError:
    """Return the error for two identical terms, with the one to leave out.

    That is the finer one if one of its additional factors has one level. With one model it is the
    coarser one, because the question is about the model.
    """
    both = ((part, group.term), (other_part, other.term))
    go, stays = both
    reason, advice = "they have the same levels here", "leave one of them out"
    for one, rest in (both, both[::-1]):
        single = [f for f in one[1].factors if frame[f].nunique() == 1]
        single = [f for f in single if f not in rest[1].factors]
        if single:
            go, stays = (rest, one) if "model" in single else (one, rest)
            reason = f"there is only one {single[0]}, {frame[single[0]].iloc[0]}"
            advice = f"ask for more, or leave {go[1]} out of analysis.parts.{go[0]}"
    if go[0] == "quirk":
        go, stays = stays, go  # without it there is no unit
    return UnidentifiedError(
        f"analysis.parts: the data cannot tell {part}'s {group.term} from {other_part}'s "
        f"{other.term}, because {reason}; {advice}.",
        part=go[0],
        term=go[1],
        why=f"it cannot be told from {stays[0]}'s {stays[1]}, as {reason}",
    )


def _confounded(one: BoundGroup, other: BoundGroup) -> bool:
    """Tell whether two terms, or parts of them, can have the same effects on all cells."""
    if any(_same(a, b) for a in _partitions(one) for b in _partitions(other)):
        return True
    if one.matrix is None or other.matrix is None or not _same(one.index, other.index):
        return False
    ranks = [_rank(m) for m in (one.matrix, other.matrix, np.hstack([one.matrix, other.matrix]))]
    return ranks[0] == ranks[1] == ranks[2]


def _partitions(group: BoundGroup) -> list[np.ndarray]:
    """Return the partitions of the cells by which a term can have any effect that is constant.

    Coefficients of dummy variables for all levels of a factor contain their mean, which is an
    effect of the term's own levels, and differ by level of the factor in any way. The slope of a
    number does neither.
    """
    if group.matrix is None:
        return [group.index]
    rows, within = np.unique(group.matrix, axis=0, return_inverse=True)
    rank, found = _rank(rows), []
    if _rank(np.column_stack([rows, np.ones(len(rows))])) == rank:
        found.append(group.index)
    if rank == len(rows):
        found.append(group.index * len(rows) + within.reshape(-1))
    return found


def _rank(matrix: np.ndarray) -> int:
    return int(np.linalg.matrix_rank(np.unique(matrix, axis=0)))


def _same(one: np.ndarray, other: np.ndarray) -> bool:
    return refines(one, other) and refines(other, one)


def _check_common_parts(parts: Sequence[BoundPart], keying: np.ndarray) -> None:
    """Refuse common terms of different parts whose sums are equal."""
    # What is estimated is theta, so that a term of another part is the one to leave out.
    having = sorted((p for p in parts if p.common), key=lambda part: part.name != "theta")
    values, signed, terms = [], [], []
    for part in having:
        assert part.common is not None
        values.append(part.common.matrix[part.common.index])
        sign = keying if POSITIONS[part.name] == "believed" else np.ones(len(keying))
        signed.append(values[-1] * sign[:, None])
        terms += [(part.name, term) for term in part.common.terms]
    if len(having) < 2:
        return
    joint = np.unique(np.concatenate(signed, axis=1), axis=0)
    if np.linalg.matrix_rank(joint) == joint.shape[1]:
        return
    at = _dependent(joint)
    name, term = terms[at]
    names = " and ".join(p.name for p in parts if p.common)
    sentence = f"analysis.parts: the data cannot tell the common terms of {names} apart; "
    if term == "Intercept":
        # Without it, agreeing with everything would be a leaning.
        raise UserError(f"{sentence}leave the intercept or the shared term out of one of them.")
    why = _why(np.hstack(values)[:, at], [f"{p}'s {t}" for p, t in terms[:at]])
    raise UnidentifiedError(
        f"{sentence}leave {term} out of {name}, because {why}.", part=name, term=term, why=why
    )


def _check_residual(parts: Mapping[str, BoundPart], answers: int) -> None:
    for part in parts.values():
        if POSITIONS[part.name] not in ("asked", "believed"):
            continue
        for group in part.groups:
            if len(group.levels) == answers:
                leave = "leave it out (the scale sigma, which may differ by model, measures the"
                leave += " same)"
                if part.name == "quirk" and "decisiveness" in parts:
                    leave = "ask with several wordings or prefixes, or leave out the unit as well, "
                    leave += "with analysis.parts.quirk=null analysis.parts.decisiveness=null"
                raise UnidentifiedError(
                    f"analysis.parts.{part.name}: {group.term} has one level for every answer, so "
                    f"it cannot be told from the residual; {leave}.",
                    part=part.name,
                    term=group.term,
                    why="it has one level for every answer, and cannot be told from the residual",
                )
