"""Differential item functioning: statements that mean something else to a group of respondents.

The part ``dif`` has effects by item and group, ``(1 | gr(item:GROUP, dist = student))``. They are
relative to a group without such effects, the baseline (the reference group of the literature), and
sparse: most statements mean the same to everybody, a few do not.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from polbayes.errors import UserError
from polbayes.fit.spec.cells import Cells, label, levels
from polbayes.fit.spec.formula import GroupTerm
from polbayes.fit.spec.spec import Spec

DIF = "dif"


def check_term(term: GroupTerm, *, where: str) -> None:
    """Refuse a term that has no effects of statements on groups."""
    if term.expr != "1" or term.walk or "item" not in term.factors or len(term.factors) < 2:
        raise UserError(
            f"{where}: {term} is no effect of statements on groups of respondents; write "
            "(1 | gr(item:GROUP, dist = student)) with an attribute of respondents as GROUP."
        )


def grouping(term: GroupTerm) -> list[str]:
    """Return the variables whose combinations are the groups of a term."""
    return [name for name in term.factors if name != "item"]


def baseline(term: GroupTerm, spec: Spec, cells: Cells) -> list[str]:
    """Return the labels of the groups without effects, in the order of the data.

    That is the reference of the analysis, if the groups are those of one of its attributes, or else
    the group with the most answers, the first one if there are several.
    """
    names = grouping(term)
    index, table = levels(cells.frame, names)
    labels = labels_of(table)
    known = spec.reference.get(names[0], ()) if len(names) == 1 else ()
    found = [name for name in labels if name in known]
    return found or [labels[int(np.bincount(index, cells.answered).argmax())]]


def labels_of(table: pd.DataFrame) -> list[str]:
    """Return a label for each combination."""
    return [label(row) for row in table.to_dict("records")]


def focal(
    term: GroupTerm, spec: Spec, cells: Cells
) -> tuple[np.ndarray, pd.DataFrame, np.ndarray, str]:
    """Find the effects of a term.

    Returns
    -------
    tuple
        ``[cell]`` levels (0 for the baseline), the levels outside of the baseline, ``[cell]``
        whether there is an effect, and why there is none at all ("" if there are some).
    """
    frame, names = cells.frame, grouping(term)
    group, groups = levels(frame, names)
    labels = labels_of(groups)
    without = np.isin(labels, baseline(term, spec, cells))
    inside = ~without[group]
    index, table = levels(frame[inside].reset_index(drop=True), term.factors)
    whole = np.zeros(len(frame), dtype=int)
    whole[inside] = index
    return whole, table, inside, _why_not(frame, group, labels, without)


def _why_not(
    frame: pd.DataFrame, group: np.ndarray, labels: Sequence[str], without: np.ndarray
) -> str:
    """Say why the effects cannot be told from other terms; "" if they can."""
    if without.all():
        return f"there is only one group, {labels[0]}"
    sizes = frame.groupby(group)["model"].nunique()
    alone = [labels[k] for k in range(len(labels)) if not without[k] and sizes[k] < 2]
    if alone:
        return (
            f"{alone[0]} is one respondent, whose views of single statements are like such effects"
        )
    return ""
