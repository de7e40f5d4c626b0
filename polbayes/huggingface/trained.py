"""The description of a classifier trained here in its ``config.json``."""

import math
from dataclasses import dataclass

from polbayes.errors import UserError

# The key of `Trained` in a checkpoint's config.json.
TRAINED = "polbayes"


@dataclass(frozen=True)
class Trained:
    """The description of a classifier trained here."""

    # Templates of its input; both empty if not recorded.
    text: str = ""
    pair: str = ""
    # Calibrates it: above 1 lowers its confidence, below 1 raises it.
    temperature: float = 1.0


def trained_as(where: str, about: object) -> Trained:
    """Read a checkpoint's record of its training; the defaults if there is none."""
    said = getattr(about, TRAINED, None)
    if said is None:
        return Trained()
    try:
        found = Trained(said["text"], said["pair"], float(said["temperature"]))
    except (KeyError, TypeError, ValueError):
        found = None
    texts = () if found is None else (found.text, found.pair)
    texts_read = all(isinstance(x, str) for x in texts)
    if found is None or not texts_read or not 0 < found.temperature < math.inf:
        raise UserError(
            f"{where}: checkpoint: the entry '{TRAINED}' of its config.json cannot be read; it "
            "holds text, pair and a temperature above 0."
        )
    return found
