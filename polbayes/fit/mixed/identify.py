"""Whether rows identify the terms of a mixed model, checked before anything is compiled."""

from typing import Any

import numpy as np
import pandas as pd

from polbayes.data.prose import plural
from polbayes.errors import UserError, reason
from polbayes.fit.mixed.rows import Rows, group_column
from polbayes.fit.mixed.spec import PART, MixedSpec, refuse_correlated
from polbayes.fit.spec.formula import NAMESPACE, GroupTerm
from polbayes.fit.spec.terms import UnidentifiedError

_WHERE = f"analysis.parts.{PART}"


def check_rows(rows: Rows, spec: MixedSpec, *, stratum: str = "") -> None:
    """Check that rows identify a spec, and that Bambi would fit exactly that spec."""
    at = f"{_WHERE} ({spec.by} = {stratum})" if stratum else _WHERE
    _check_factors(rows.frame, spec, at)
    names, terms, matrix = _evaluated(rows.frame, spec.formula.common, at)
    more = " (the thresholds take the place of the intercept)"
    replaced = spec.distribution.ordinal and matrix.shape[1] > 1
    _check_rank(names, terms, matrix, at, more if replaced else "")
    if spec.distribution.scale and len(rows.frame) <= matrix.shape[1]:
        raise UserError(
            f"{at}: {plural(len(rows.frame), 'row')} cannot give "
            f"{plural(matrix.shape[1], 'coefficient')} and the errors' scale."
        )
    for k, group in enumerate(spec.formula.groups):
        _check_levels(rows.frame, k, group, spec, at)


def _check_factors(frame: pd.DataFrame, spec: MixedSpec, where: str) -> None:
    """Refuse factors of one level, whose terms formulae would drop."""
    from formulae import model_description

    if spec.formula.common == "0":
        return
    for term in model_description(spec.formula.common).common_terms:
        for name in sorted(set(getattr(term, "var_names", ())) & set(frame.columns)):
            if frame[name].dtype.kind not in "iufb" and frame[name].nunique() < 2:
                only = frame[name].iloc[0]
                raise _unidentified(
                    f"{where}: '{name}' has only the level '{only}', so that nothing can be "
                    "learned about what it changes; leave it out.",
                    term.name,
                    f"there is only one {name}, {only}",
                )


def _unidentified(sentence: str, term: GroupTerm | str, why: str) -> UnidentifiedError:
    return UnidentifiedError(sentence, part=PART, term=term, why=why)


def design_matrix(frame: pd.DataFrame, formula: str, where: str) -> tuple[list[str], np.ndarray]:
    """Return the names and the values, ``[row, coefficient]``, of a formula's coefficients."""
    names, _, matrix = _evaluated(frame, formula, where)
    return names, matrix


def _evaluated(
    frame: pd.DataFrame, formula: str, where: str
) -> tuple[list[str], list[str], np.ndarray]:
    """Return names, terms and values of a formula's coefficients."""
    from formulae import design_matrices

    if formula == "0":
        return [], [], np.empty((len(frame), 0))
    try:
        common: Any = design_matrices(formula, frame, extra_namespace=NAMESPACE).common
        table = common.as_dataframe()
    except (ValueError, TypeError, KeyError, AttributeError, ZeroDivisionError) as error:
        raise UserError(f"{where}: '{formula}' cannot be evaluated ({reason(error)}).") from error
    matrix = table.to_numpy(dtype=float)
    if not np.isfinite(matrix).all():
        column = table.columns[~np.isfinite(matrix).all(axis=0)][0]
        raise UserError(
            f"{where}: '{column}' is not a finite number in every row; a logarithm of 0, or the "
            "scale of what does not vary, is not."
        )
    terms: list[str] = []
    for name in common.terms:
        terms += [name] * matrix[:, common.slices[name]].shape[1]
    return [str(name) for name in table.columns], terms, matrix


def _check_rank(
    names: list[str], terms: list[str], matrix: np.ndarray, where: str, more: str
) -> None:
    """Refuse a column that is a linear combination of earlier ones."""
    length = np.linalg.norm(matrix, axis=0)
    for k, name in enumerate(names):
        if length[k] == 0:
            raise _unidentified(
                f"{where}: '{name}' is 0 in every row, so it has no coefficient.",
                terms[k],
                f"{name} is 0 in every row",
            )
        before = matrix[:, :k] / length[:k]
        column = matrix[:, k] / length[k]
        fitted = before @ np.linalg.lstsq(before, column, rcond=None)[0] if k else 0 * column
        if np.linalg.norm(column - fitted) < 1e-7:
            told = f"cannot be told from those of {', '.join(names[:k])}{more}"
            raise _unidentified(
                f"{where}: the coefficient of '{name}' {told}; leave out one of them.",
                terms[k],
                f"the coefficient of {name} {told}",
            )


def _check_levels(
    frame: pd.DataFrame, number: int, group: GroupTerm, spec: MixedSpec, where: str
) -> None:
    names, _ = design_matrix(frame, group.expr, where)
    if not names:
        raise UserError(f"{where}: in {group} nothing varies; write (1 | {group.name}).")
    if group.correlated and len(names) > 1:
        raise refuse_correlated(group, where)
    levels = frame[group_column(number)].nunique()
    if levels < 2:
        raise _unidentified(
            f"{where}: '{group.name}' has only one level, from which no standard deviation can be "
            f"learned; leave out {group}.",
            group,
            f"there is only one {group.name}",
        )
    if spec.distribution.scale and levels == len(frame) and names == ["Intercept"]:
        raise _unidentified(
            f"{where}: every row is a level of its own of '{group.name}', so that {group} cannot "
            "be told from the residual; leave it out.",
            group,
            f"every answer has its own {group.name}, so that it cannot be told from the residual",
        )
