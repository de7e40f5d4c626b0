"""The parts of the likelihood, and the answers as the kernel takes them."""

from collections.abc import Mapping

import numpy as np

from polbayes.fit import kernel
from polbayes.fit.cells import Cells
from polbayes.fit.layout import Gathering, Layout
from polbayes.fit.misclassification import Readings
from polbayes.fit.spec import Spec

# The observation model of each family of the spec.
KINDS: Mapping[str, int] = {
    "cumulative": kernel.ORDINAL,
    "bernoulli": kernel.ORDINAL,
    "logit_normal": kernel.LOGIT_NORMAL,
    "beta": kernel.BETA,
}


def answers_of(family: str, cells: Cells) -> np.ndarray:
    """Return ``[cell, column]`` the answers as the family's function takes them.

    For ordinal families the counts at each point; for continuous ones the logarithms of
    the answer and of one minus the answer, NaN where there is none.
    """
    if KINDS[family] == kernel.ORDINAL:
        return np.ascontiguousarray(cells.counts, dtype=float)
    return _logs(cells.value)


def _logs(numbers: np.ndarray) -> np.ndarray:
    """Return ``[cell, 2]`` the logarithms of numbers in (0, 1) and of one minus them."""
    return np.stack([np.log(numbers), np.log1p(-numbers)], axis=1)


def validity_answers(cells: Cells) -> np.ndarray:
    """Return ``[cell, 2]`` unusable and usable answers, or logarithms of the mass and the rest."""
    if cells.mass.size:
        return _logs(cells.mass)
    return np.stack([cells.asked - cells.answered, cells.answered], axis=1)


def read_answers(read: Readings) -> np.ndarray:
    """Return ``[cell, column]`` which confusion matrix holds, the odds of none, and the counts."""
    return np.column_stack([read.table, read.odds, read.counts])


def likelihood_parts(
    layout: Layout, spec: Spec, cells: Cells, *, naive: bool = False
) -> list[tuple[int, np.ndarray, Gathering]]:
    """Return observation model, answers and gathering of each part of the likelihood.

    Parameters
    ----------
    layout
        Where the effects are.
    spec
        The analysis spec.
    cells
        Distinct cells and their answers.
    naive
        Whether what a coder read is taken for true.

    Returns
    -------
    list of tuple
        That of the answers first, then that of their validity where the spec has one.
    """
    kind, answers = KINDS[spec.family], answers_of(spec.family, cells)
    if cells.read is not None and not naive:
        kind, answers = kernel.READ, read_answers(cells.read)
    parts = [(kind, answers, layout.answers)]
    if layout.validity is not None:
        kind = KINDS[spec.family] if cells.mass.size else kernel.BINOMIAL
        parts.append((kind, validity_answers(cells), layout.validity))
    return parts
