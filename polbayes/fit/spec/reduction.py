"""Reduction of a spec to the terms that the data identify."""

from dataclasses import replace

from polbayes.fit.spec.cells import Cells
from polbayes.fit.spec.formula import Formula, GroupTerm
from polbayes.fit.spec.spec import Spec, without_part
from polbayes.fit.spec.terms import UnidentifiedError, bind


def reduced(spec: Spec, cells: Cells) -> tuple[Spec, tuple[str, ...]]:
    """Drop the terms that the data cannot identify, if the spec allows it.

    Parameters
    ----------
    spec
        The spec.
    cells
        The cells to fit.

    Returns
    -------
    tuple
        The spec that can be bound to the cells, and a sentence for each dropped term.

    Raises
    ------
    UserError
        If the remaining terms are not identified, or a term is not and ``analysis.unidentified`` is
        ``refuse``.
    """
    notes: list[str] = []
    while True:
        try:
            bind(spec, cells)
        except UnidentifiedError as error:
            less = _without(spec, error.part, error.term) if spec.drops else None
            if less is None:
                raise
            notes.append(f"analysis.parts.{error.part} is without {error.term}: {error.why}.")
            spec = less
        else:
            return spec, tuple(notes)


def _without(spec: Spec, part: str, term: GroupTerm) -> Spec | None:
    """Return a spec without a term; None if the spec needs the term."""
    formula = spec.parts[part]
    groups = tuple(g for g in formula.groups if g != term)
    if groups or formula.common != "0":
        text = " + ".join([*([formula.common] if formula.common != "0" else []), *map(str, groups)])
        return replace(
            spec, parts={**spec.parts, part: Formula(f"~ {text}", formula.common, groups)}
        )
    if part in ("theta", "quirk"):
        return None
    return without_part(spec, part)
