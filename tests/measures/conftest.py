"""A builder of tiny coded datasets, whose measures can be worked out by hand."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from polbayes.data.dataset import MISSING, NOT_ASKED, STATUS
from polbayes.instrument.design import ModelInfo, design
from polbayes.instrument.prompts import Prefix
from polbayes.instrument.questionnaires import POLARITY, Instrument, Item, Variant

DIRECTION = {"left": -1, "right": 1, "": 0}


def build_coded(
    items: Sequence[tuple[str, str, str, tuple[str, ...]]],
    stance: object,
    *,
    models: Sequence[str] = ("m",),
    prefixes: Sequence[str] = ("baseline",),
    runs: int = 1,
    instruments: Sequence[str] = ("tiny",),
):
    """Lay out items given as (id, dimension, direction, wordings) and fill in stances.

    `stance` is broadcast to model, item, variant, prefix, run. A wording's kind is its id
    up to a digit. Items are dealt to the instruments in turn.
    """

    def made(entry):
        name, dimension, direction, wordings = entry
        kinds = [w.rstrip("0123456789") for w in wordings]
        variants = tuple(
            Variant(w, f"{name} {w}", kind, POLARITY[kind])
            for w, kind in zip(wordings, kinds, strict=True)
        )
        return Item(name, dimension, DIRECTION[direction], "made up", variants, {})

    chosen = [
        Instrument(name, name, name, tuple(map(made, items[k :: len(instruments)])))
        for k, name in enumerate(instruments)
    ]
    data = design(
        chosen,
        [Prefix(p, p, "open") for p in prefixes],
        [ModelInfo(m, "{statement}") for m in models],
        runs=runs,
    )
    asked = data["status"] != NOT_ASKED
    given = np.broadcast_to(np.asarray(stance, dtype=np.int8), asked.shape)
    data["status"] = data["status"].where(~asked, np.int8(STATUS["ok"]))
    data["stance"] = asked.copy(data=np.where(asked, given, MISSING).astype(np.int8))
    return data


@pytest.fixture(scope="session")
def coded() -> Callable:
    return build_coded
