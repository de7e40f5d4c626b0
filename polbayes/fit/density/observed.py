"""The parts of the likelihood, and the answers in the kernel's format."""

import numpy as np

from polbayes.fit.coder_errors.misclassification import Readings
from polbayes.fit.density.layout import Gathering, Layout
from polbayes.fit.families import kinds
from polbayes.fit.spec.cells import Cells
from polbayes.fit.spec.spec import Spec


def answers_of(spec: Spec, cells: Cells) -> np.ndarray:
    """Return ``[cell, column]`` the answers as the family's compiled likelihood takes them."""
    if cells.single is None:
        return spec.observation.answers(cells.counts, cells.value)
    single = answers_of(spec, cells.single)
    return spec.observation.sums(single, cells.of, len(cells.frame))


def validity_answers(spec: Spec, cells: Cells) -> np.ndarray:
    """Return ``[cell, column]`` unusable and usable answers, or those of the mass of all usable."""
    if cells.single is not None and cells.mass.size:
        mass = validity_answers(spec, cells.single)
        return spec.observation.sums(mass, cells.of, len(cells.frame))
    if cells.mass.size:
        return spec.observation.answers(cells.counts, cells.mass)
    return np.stack([cells.asked - cells.answered, cells.answered], axis=1)


def _read_answers(read: Readings) -> np.ndarray:
    """Return ``[cell, column]`` confusion matrix number, odds of none, and counts."""
    return np.column_stack([read.table, read.odds, read.counts])


def likelihood_parts(
    layout: Layout, spec: Spec, cells: Cells, *, naive: bool = False
) -> list[tuple[int, np.ndarray, Gathering]]:
    """Return observation model, answers and gathering of each part of the likelihood.

    The answers come first, then their validity if the spec has that part; `naive` takes a coder's
    readings as true.
    """
    kind, answers = spec.observation.kind, answers_of(spec, cells)
    if cells.read is not None and not naive:
        kind, answers = kinds.READ, _read_answers(cells.read)
    parts = [(kind, answers, layout.answers)]
    if layout.validity is not None:
        kind = spec.observation.kind if cells.mass.size else kinds.BINOMIAL
        parts.append((kind, validity_answers(spec, cells), layout.validity))
    return parts
