"""The coders by name."""

from collections.abc import Sequence
from importlib import import_module
from typing import Protocol

import numpy as np

from polbayes.dataset import STANCE_CLASSES
from polbayes.errors import unknown


class Coder(Protocol):
    """Read the stance of responses to statements."""

    def __call__(self, statements: Sequence[str], responses: Sequence[str]) -> np.ndarray:
        """Code responses.

        Parameters
        ----------
        statements
            For each response the statement that was put.
        responses
            Raw answers, of the same length.

        Returns
        -------
        numpy.ndarray
            float32 of shape (response, stance_class): probabilities in the order of
            `polbayes.dataset.STANCE_CLASSES`, or a row of NaN where the coder abstains.
        """
        ...


# Where each coder is, so that one which needs a heavy library is imported only when it is used.
CODERS: dict[str, str] = {
    "likert": "polbayes.coding.likert:code",
    "lexical": "polbayes.coding.lexical:code",
}

# The probability that a rule puts on the class it decides for. Nominal: it is above what the
# rules were required to reach and is to be replaced by what a validation finds.
NOMINAL = 0.98


def get_coder(name: str) -> Coder:
    """Return a coder by name.

    Raises
    ------
    UserError
        If there is no coder of that name.
    """
    if name not in CODERS:
        raise unknown("coder", name, CODERS, where="coding.coders")
    module, function = CODERS[name].split(":")
    coder: Coder = getattr(import_module(module), function)
    return coder


def nominal_probabilities(classes: Sequence[str | None]) -> np.ndarray:
    """Turn decisions into probabilities: `NOMINAL` on the class, the rest shared equally.

    Parameters
    ----------
    classes
        For each response a name out of `polbayes.dataset.STANCE_CLASSES`, or None.

    Returns
    -------
    numpy.ndarray
        float32 of shape (response, stance_class); a row of NaN for None.
    """
    rest = (1.0 - NOMINAL) / (len(STANCE_CLASSES) - 1)
    out = np.full((len(classes), len(STANCE_CLASSES)), rest, dtype=np.float32)
    for row, name in enumerate(classes):
        if name is None:
            out[row] = np.nan
        else:
            out[row, STANCE_CLASSES.index(name)] = NOMINAL
    return out
