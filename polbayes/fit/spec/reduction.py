"""Reduction of a spec to the terms that the data identify."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from polbayes.errors import UserError
from polbayes.fit.spec.cells import Cells, levels
from polbayes.fit.spec.centring import refines
from polbayes.fit.spec.formula import Formula, GroupTerm
from polbayes.fit.spec.priors import CONSTANT
from polbayes.fit.spec.reference import absent
from polbayes.fit.spec.spec import COPIES, Spec, common_names, without_part
from polbayes.fit.spec.terms import UnidentifiedError, bind

# As many models are named in a note.
_NAMED = 3
# Relative difference of equal answers, and number of answers at a level, some of which may be lost.
_SAME, _TWICE = 1e-6, 1.5


def reduced(spec: Spec, cells: Cells) -> tuple[Spec, tuple[str, ...]]:
    """Drop the terms that the data cannot identify, if the spec allows it.

    A term with a standard deviation for every model gets one for all of them if the data of some
    models, such as those asked with a single prefix, say nothing about theirs. The decisiveness of
    models that were asked every statement once is held (`polbayes.fit.spec.terms.bind`).

    Parameters
    ----------
    spec
        The spec.
    cells
        The cells to fit.

    Returns
    -------
    tuple
        The spec that can be bound to the cells, and a sentence for each changed or dropped term.

    Raises
    ------
    UserError
        If the remaining terms are not identified, or a term is not and ``analysis.unidentified`` is
        ``refuse``.
    """
    spec, pooled = _pooled(spec, cells) if spec.drops else (spec, {})
    notes = [*_held(spec, cells), *absent(spec.reference, cells)]
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
            kept = {(part, term) for part, formula in spec.parts.items() for term in formula.groups}
            return spec, (*(note for at, note in pooled.items() if at in kept), *notes)


def check_scatter(spec: Spec, cells: Cells) -> None:
    """Refuse numbers that do not scatter, where the density of answers has no upper limit.

    If all answers of a model are the same within the levels of a term, its effects explain each of
    them, and the residual of that model can be as small as one likes.

    Raises
    ------
    UserError
        Naming the models and the term.
    """
    if spec.observation.counts:
        return
    there = np.isfinite(cells.every.value)
    frame, value = cells.every.frame[there], cells.every.value[there]
    alone = frame["model"].nunique() == 1
    for part, formula in spec.parts.items():
        position = spec.position(part)
        for term in formula.groups if position in ("asked", "believed") else ():
            if term.expr != "1" or not (alone or "model" in term.factors):
                continue
            agree = (
                value if position == "asked" else np.where(frame["keying"] > 0, value, 1 - value)
            )
            still = _still(frame, term, agree)
            if still:
                raise UserError(
                    f"fit: {_listed(still)} answered every question of the same "
                    f"{':'.join(term.factors)} alike, to the last digit, so that {term} "
                    f"(analysis.parts.{part}) leaves no residual to estimate; leave such models "
                    "out (models), or fit one way to ask, as with analysis.select.prefix=[NAME]."
                )


def _still(frame: pd.DataFrame, term: GroupTerm, agree: np.ndarray) -> list[str]:
    """Name the models that were asked twice at a level on average, and never differ at one."""
    by = ["model", *(name for name in term.factors if name != "model")]
    groups = frame[by].assign(agree=agree).groupby(by, observed=True)["agree"]
    found = groups.agg(["min", "max", "size"]).reset_index()
    # Probabilities are kept in single precision.
    found["same"] = found["max"] - found["min"] <= _SAME * found["max"]
    models = found.groupby("model", observed=True).agg({"same": "all", "size": "mean"})
    return [str(name) for name in models.index[models["same"] & (models["size"] >= _TWICE)]]


def _held(spec: Spec, cells: Cells) -> list[str]:
    """Say whose decisiveness is held, because they were asked every statement once."""
    if not cells.once:
        return []
    where, models = "analysis.parts.decisiveness", cells.frame["model"].nunique()
    nobody = "nobody answered a statement twice"
    nobody += ", except in copies of one answer" if cells.copies else ""
    if cells.held.all() and not spec.drops:
        raise UserError(
            f"{where}: {nobody}, so that the answers do not tell how "
            "sharply anybody answers; ask again, give it a prior of its own "
            "(analysis.priors.decisiveness.Intercept), or set analysis.unidentified=leave_out, "
            f"which holds it at analysis.priors.decisiveness.{COPIES}."
        )
    prior = spec.prior("decisiveness", COPIES)
    value = f"is held at {spec.held_decisiveness:.1f}"
    if prior.name != CONSTANT:
        value = f"has one value with the prior {prior} of its logarithm"
    if len(cells.once) == models:
        return [
            f"{where} {value}, because {nobody}, so that the answers do "
            "not tell how sharply anybody answers."
        ]
    return [
        f"{where} {value} for {_listed(cells.once)}, asked every statement once, because their "
        "answers do not tell how sharply they answer."
    ]


def _listed(models: Sequence[str]) -> str:
    """Name the first models."""
    more = f" and {len(models) - _NAMED} more" if len(models) > _NAMED else ""
    return ", ".join(models[:_NAMED]) + more


def _pooled(spec: Spec, cells: Cells) -> tuple[Spec, dict[tuple[str, GroupTerm], str]]:
    """Give terms one standard deviation for all levels of ``by`` if some levels do not tell theirs.

    Returns the spec, and a note for each term that is changed. If no level tells, the term is left
    as it is.
    """
    notes: dict[tuple[str, GroupTerm], str] = {}
    for part, formula in spec.parts.items():
        for term in formula.groups:
            if term.by is None or spec.position(part) not in ("asked", "believed"):
                continue
            silent, of = _silent(spec, cells, part, term)
            if not 0 < len(silent) < of:
                continue
            one = replace(term, by=None)
            now = spec.parts[part]
            changed = _written(now.common, [one if g == term else g for g in now.groups])
            spec = replace(spec, parts={**spec.parts, part: changed})
            notes[part, one] = (
                f"analysis.parts.{part}: {term} has one standard deviation for every {term.by} "
                f"together, because the answers of {_listed(silent)} do not tell it apart from "
                "another term."
            )
    return spec, notes


def _silent(spec: Spec, cells: Cells, part: str, term: GroupTerm) -> tuple[list[str], int]:
    """Find levels of ``by`` in which a term equals a coarser one; also return their number."""
    frame = cells.frame
    assert term.by is not None
    by, names = levels(frame, [term.by])
    side = (frame["keying"].to_numpy() > 0).astype(int)
    fine = levels(frame, term.factors)[0]
    coarser = [
        (levels(frame, other.factors)[0], spec.position(name) == spec.position(part))
        for name, formula in spec.parts.items()
        if spec.position(name) in ("asked", "believed", "multiplied")
        for other in formula.groups
        if {term.by} <= set(other.factors) < set(term.factors)
    ]
    silent = [
        str(name)
        for k, name in enumerate(names[term.by])
        if any(
            refines(coarse[by == k], fine[by == k])
            and (same or refines(fine[by == k], side[by == k]))
            for coarse, same in coarser
        )
    ]
    return silent, len(names)


def _without(spec: Spec, part: str, term: GroupTerm | str) -> Spec | None:
    """Return a spec without a term; None if the spec needs the term."""
    formula = without(spec.parts[part], term)
    if formula.groups or formula.common != "0":
        return replace(spec, parts={**spec.parts, part: formula})
    if part in ("theta", "quirk"):
        return None
    return without_part(spec, part)


def without(formula: Formula, term: GroupTerm | str) -> Formula:
    """Return a formula without a group-specific term, or a common one, given by its name.

    What is no common term cannot vary over groups either.
    """
    if not isinstance(term, str):
        return _written(formula.common, [g for g in formula.groups if g != term])
    groups = [replace(g, expr=_less(g.expr, term)) for g in formula.groups]
    return _written(_less(formula.common, term), [g for g in groups if g.expr != "0"])


def _less(common: str, term: str) -> str:
    """Return the text of common terms without one."""
    names = common_names(common)
    if term not in names:
        return common
    kept = [name for name in names if name not in ("Intercept", term)]
    return " + ".join(["1" if "Intercept" in names else "0", *kept])


def _written(common: str, groups: Sequence[GroupTerm]) -> Formula:
    """Return the formula of some terms."""
    text = " + ".join([*([common] if common != "0" else []), *map(str, groups)])
    return Formula(f"~ {text}", common, tuple(groups))
