"""Builders of small coded datasets, and of specs bound to them."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest

from polbayes.config.schema import AnalysisConfig
from polbayes.data.dataset import MISSING, NOT_ASKED, STATUS
from polbayes.fit.density import kernel
from polbayes.fit.density.crossed import evaluate
from polbayes.fit.spec.cells import gather_cells
from polbayes.fit.spec.spec import parse_spec
from polbayes.fit.spec.terms import bind
from polbayes.instrument.design import ModelInfo, design
from polbayes.instrument.prompts import Prefix
from polbayes.instrument.questionnaires import POLARITY, Instrument, Item, Variant

DIRECTION = {"left": -1, "right": 1, "": 0}

# Item, dimension, direction, wordings; agreeing is right-leaning where the direction is right and
# the wording means the same as the original, or where both are reversed.
ITEMS = (
    ("e1", "economic", "left", ("original", "opposite")),
    ("e2", "economic", "right", ("original", "paraphrase")),
    ("c1", "cultural", "right", ("original", "opposite")),
    ("c2", "cultural", "left", ("original", "negation")),
)

FULL = {
    "theta": "~ 0 + dimension + (0 + dimension | model)",
    "difficulty": "~ (1 | item)",
    "discrimination": "~ (1 | item)",
    "acquiescence": "~ 1 + (1 | model) + (1 | gr(model:prefix, by = model))",
    "steer": "~ (1 | gr(model:prefix, by = model))",
    "quirk": "~ (1 | model:item)",
    "wording": "~ (1 | item:variant) + (1 | gr(model:item:variant, by = model))",
    "threshold": "~ (1 | model)",
}


def build_coded(
    stance: object = 1,
    *,
    items: Sequence[tuple[str, str, str, tuple[str, ...]]] = ITEMS,
    models: Sequence[str] = ("m1", "m2"),
    prefixes: Sequence[str] = ("baseline", "please"),
    runs: int = 1,
    instruct: Sequence[bool] | None = None,
    **further: object,
):
    """Lay out a design in which everything was answered.

    `stance` and each of `further` (``r_plus``, ``rating``) are broadcast to model, item,
    variant, prefix, run, and blanked where a wording does not exist.
    """

    def made(entry):
        name, dimension, direction, wordings = entry
        kinds = [w.rstrip("0123456789_") for w in wordings]
        variants = tuple(
            Variant(w, f"{name} {w}", kind, POLARITY[kind])
            for w, kind in zip(wordings, kinds, strict=True)
        )
        return Item(name, dimension, DIRECTION[direction], "made up", variants, {})

    chat = instruct or [False] * len(models)
    data = design(
        [Instrument("tiny", "tiny", "tiny", tuple(map(made, items)))],
        [Prefix(p, p, "open") for p in prefixes],
        [ModelInfo(m, "{statement}", instruct=c) for m, c in zip(models, chat, strict=True)],
        runs=runs,
    )
    asked = data["status"] != NOT_ASKED
    data["status"] = data["status"].where(~asked, np.int8(STATUS["ok"]))
    for name, value in {"stance": stance, **further}.items():
        given = np.broadcast_to(np.asarray(value), asked.shape)
        continuous = given.dtype.kind == "f"
        blank, dtype = (np.nan, np.float32) if continuous else (MISSING, np.int8)
        data[name] = asked.copy(data=np.where(asked, given, blank).astype(dtype))
    return data


def build_spec(parts: Mapping[str, str], **settings: object):
    return parse_spec(AnalysisConfig(parts=dict(parts), **settings))


def build_bound(parts: Mapping[str, str], data, **settings: object):
    spec = build_spec(parts, **settings)
    cells = gather_cells(data, spec)
    return spec, cells, bind(spec, cells)


def assert_scored_alike(found, built, kind, answers, at, sizes):
    """Compare rows (`crossed`) with a loop over cells, at random effects of some sizes."""
    rng, none = np.random.default_rng(3), np.empty(0)
    for size in sizes:
        effects = rng.normal(0, size, built.layout.size)
        one, slopes = evaluate(effects, *found.arrays)
        other, expected, _, _ = kernel.evaluate(
            effects, none, none, kind, answers, *at.arrays.values()
        )
        assert one == pytest.approx(other, rel=1e-11)
        np.testing.assert_allclose(slopes, expected, rtol=1e-9, atol=1e-9 * abs(expected).max())


@pytest.fixture(scope="session")
def coded() -> Callable:
    return build_coded


@pytest.fixture(scope="session")
def spec_of() -> Callable:
    return build_spec


@pytest.fixture(scope="session")
def bound() -> Callable:
    return build_bound


@pytest.fixture(scope="session")
def full_parts() -> dict[str, str]:
    return dict(FULL)


@pytest.fixture(scope="session")
def scored_alike() -> Callable:
    return assert_scored_alike
