"""Respondents by their attributes: those that readers know, and populations."""

from collections.abc import Mapping

import numpy as np

from polbayes.errors import UserError
from polbayes.fit.spec.cells import Cells

# Fewer respondents have no spread to speak of.
LEAST = 3


def reference_models(cells: Cells, reference: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Return the models with the attributes of the reference, in the order of the data.

    Raises
    ------
    UserError
        If an attribute is none of models, or fewer than `LEAST` models have these.
    """
    found = _models_with(cells, reference, where="analysis.reference")
    if len(found) < LEAST:
        raise UserError(
            f"analysis.reference: {len(found)} of the models have {_named(reference)}; a scale "
            f"needs at least {LEAST}."
        )
    return found


def population_models(cells: Cells, populations: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Return the models with the attributes of populations, in the order of the data.

    Raises
    ------
    UserError
        If an attribute is none of models, or none or all of the models have these.
    """
    found = _models_with(cells, populations, where="analysis.populations")
    if not found or len(found) == cells.frame["model"].nunique():
        raise UserError(
            f"analysis.populations: {'all' if found else 'none'} of the models have "
            f"{_named(populations)}; name attributes of some."
        )
    return found


def the_population(cells: Cells, populations: Mapping[str, tuple[str, ...]]) -> str:
    """Return the one population whose mean and spread are the scale.

    Raises
    ------
    UserError
        If there are several.
    """
    found = population_models(cells, populations)
    if len(found) > 1:
        raise UserError(
            f"analysis.scale: {len(found)} of the models have {_named(populations)}; the scale of "
            f"a population is that of one, e.g. analysis.populations={{model: {found[0]}}}."
        )
    return found[0]


def absent(reference: Mapping[str, tuple[str, ...]], cells: Cells) -> list[str]:
    """Say which values of the reference nobody has that was asked."""
    there = {name: set(cells.frame[name].astype(str)) for name in reference}
    return [
        f"analysis.reference.{name}: nobody with '{value}' was asked; the reference is the others."
        for name, wanted in reference.items()
        for value in wanted
        if value not in there[name]
    ]


def _named(attributes: Mapping[str, tuple[str, ...]]) -> str:
    return ", ".join(f"{name} {' or '.join(wanted)}" for name, wanted in attributes.items())


def _models_with(
    cells: Cells, attributes: Mapping[str, tuple[str, ...]], *, where: str
) -> list[str]:
    """Return the models with some attributes, in the order of the data."""
    frame = cells.frame.drop_duplicates("model")
    inside = np.ones(len(frame), dtype=bool)
    for name, wanted in attributes.items():
        by_model = cells.frame.groupby("model", observed=True)[name].nunique()
        if by_model.max() > 1:
            raise UserError(f"{where}: '{name}' is no attribute of models.")
        inside &= frame[name].astype(str).isin(wanted).to_numpy()
    found = set(frame["model"][inside])
    return [model for model in cells.order["model"] if model in found]
