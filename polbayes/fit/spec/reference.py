"""The respondents that readers know, and that others are compared with."""

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
    frame = cells.frame.drop_duplicates("model")
    inside = np.ones(len(frame), dtype=bool)
    for name, wanted in reference.items():
        by_model = cells.frame.groupby("model", observed=True)[name].nunique()
        if by_model.max() > 1:
            raise UserError(f"analysis.reference: '{name}' is no attribute of models.")
        inside &= frame[name].astype(str).isin(wanted).to_numpy()
    found = set(frame["model"][inside])
    if len(found) < LEAST:
        named = ", ".join(f"{name} {' or '.join(wanted)}" for name, wanted in reference.items())
        raise UserError(
            f"analysis.reference: {len(found)} of the models have {named}; a scale needs at least "
            f"{LEAST}."
        )
    return [model for model in cells.order["model"] if model in found]
