"""What a classifier that was trained here says about itself in its ``config.json``."""

import math
from dataclasses import dataclass

from polbayes.errors import UserError

# The key of a checkpoint's config.json under which a classifier trained here says `Trained`.
TRAINED = "polbayes"


@dataclass(frozen=True)
class Trained:
    """What a classifier that was trained here says about itself."""

    # Templates of what it was given; both empty where it does not say.
    text: str = ""
    pair: str = ""
    # Makes it as sure as it is right: above 1 less sure than it is by itself, below 1 surer.
    temperature: float = 1.0


def trained_as(where: str, about: object) -> Trained:
    """Read what a checkpoint's config says of its training; the defaults where it says nothing."""
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
