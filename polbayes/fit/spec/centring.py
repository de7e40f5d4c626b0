"""Sum-to-zero constraints: effects whose mean would be confounded with another term."""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from polbayes.fit.spec.cells import levels
from polbayes.fit.spec.formula import GroupTerm
from polbayes.fit.spec.spec import Spec


def mean_is_common(
    matrix: np.ndarray, common: np.ndarray | None, *, index: np.ndarray
) -> np.ndarray | None:
    """Let varying coefficients sum to zero over all levels if common terms contain their means.

    That is so if the varying columns, ``[cell, column]``, are sums of columns of the common part.
    Returns ``[level]`` zeros for the single group that sums to zero, or None.
    """
    if common is None:
        return None
    whole = np.unique(np.hstack([common, matrix]), axis=0)
    own, varying = np.split(whole, [common.shape[1]], axis=1)
    rest = varying - own @ np.linalg.lstsq(own, varying, rcond=None)[0]
    return np.zeros(index.max() + 1, dtype=int) if np.allclose(rest, 0, atol=1e-8) else None


def centring(
    part: str, term: GroupTerm, spec: Spec, frame: pd.DataFrame, *, index: np.ndarray
) -> np.ndarray | None:
    """Find ``[level]`` groups in which the mean would be confounded with another term, if any.

    The effects of a varying intercept sum to zero within the levels of the finest coarser
    term in the same position, terms of the respondent first, because there the confounded
    mean would be part of the estimand. Models do not sum to zero within groups defined by
    their attributes: such a group (a family) represents more models than were
    asked, and its effect is as uncertain as the mean of a sample of them.
    """
    attributes = attributes_of(frame)
    candidates: list[tuple[bool, int, np.ndarray]] = []
    for other_part, formula in spec.parts.items():
        if spec.position(other_part) != spec.position(part):
            continue
        variable_sets = _common_sets(formula.common)
        if holds_mean(formula.common, frame):
            variable_sets.append(())
        for group in formula.groups:
            if (other_part, group) != (part, term):
                variable_sets += [group.factors, (*group.factors, *_variables(group.expr))]
        for names in variable_sets:
            finer = ({"model"} | attributes) & set(term.factors) - set(names)
            if finer and attributes & set(names):
                continue
            coarse = (
                levels(frame, dict.fromkeys(names))[0] if names else np.zeros(len(frame), dtype=int)
            )
            if refines(index, coarse) and coarse.max() < index.max():
                candidates.append(("model" in names, int(coarse.max()), coarse))
    if spec.position(part) in ("discrimination", "multiplied", "threshold") and not candidates:
        candidates.append((False, 0, _units(part, spec, frame, index)))
    if not candidates:
        return None
    coarse = max(candidates, key=lambda c: c[:2])[2]
    first = np.unique(index, return_index=True)[1]
    return np.unique(coarse[first], return_inverse=True)[1]


def _units(part: str, spec: Spec, frame: pd.DataFrame, index: np.ndarray) -> np.ndarray:
    """Return the groups in which the geometric mean of discriminations or widths is 1.

    For discriminations, the groups in which theta has its own unit: each dimension, and each
    instrument if theta differs by instrument. The mean is in theta, and for widths in the
    distances of the cutpoints.
    """
    if spec.position(part) == "discrimination":
        names = ["dimension"]
        if "instrument" in theta_variables(spec):
            names.append("instrument")
        unit = levels(frame, names)[0]
        if refines(index, unit):
            return unit
    return np.zeros(len(frame), dtype=int)


def attributes_of(frame: pd.DataFrame) -> set[str]:
    """Return the variables that distinguish groups of models."""
    by_model = frame.groupby("model", observed=True).nunique().max()
    return {str(n) for n in by_model.index[by_model == 1] if frame[n].nunique() > 1}


def theta_variables(spec: Spec) -> set[str]:
    """Return all variables in the formula of theta."""
    formula = spec.parts["theta"]
    names = {n for one in _common_sets(formula.common) for n in one}
    for group in formula.groups:
        names |= {*group.factors, *_variables(group.expr)}
    return names


def _variables(expr: str) -> tuple[str, ...]:
    from formulae import model_description

    return _named(model_description(expr).var_names) if expr not in ("0", "1") else ()


def _common_sets(common: str) -> list[tuple[str, ...]]:
    from formulae import model_description

    if common == "0":
        return []
    sets = []
    for term in model_description(common).common_terms:
        sets.append(_named(getattr(term, "var_names", set())))
    return sets


def _named(variables: Iterable[str]) -> tuple[str, ...]:
    """Return names of variables without "", formulae's for a constant in a call."""
    return tuple(sorted(name for name in variables if name))


def holds_mean(common: str, frame: pd.DataFrame) -> bool:
    """Whether common terms contain a mean, even without an intercept as in ``0 + dimension``."""
    from formulae import design_matrices

    if common == "0":
        return False
    names = [name for names in _common_sets(common) for name in names if name in frame]
    rows = frame[list(dict.fromkeys(names))].drop_duplicates() if names else frame[:1]
    try:
        terms = design_matrices(common, rows.reset_index(drop=True)).common
    except (KeyError, ValueError, TypeError):
        return False  # it is refused when its own part is bound
    matrix = np.asarray(terms.design_matrix, dtype=float)
    one = np.ones(len(matrix))
    rest = one - matrix @ np.linalg.lstsq(matrix, one, rcond=None)[0]
    return bool(np.allclose(rest, 0, atol=1e-8))


def refines(fine: np.ndarray, coarse: np.ndarray) -> bool:
    """Tell whether every level of `fine` is within one level of `coarse`, both by cell."""
    last = np.zeros(fine.max() + 1, dtype=coarse.dtype)
    last[fine] = coarse
    return bool((last[fine] == coarse).all())
