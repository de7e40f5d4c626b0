"""Yes-or-no answers row by row: the same as in a loop over cells."""

import numpy as np
import pytest

from polbayes.fit.density.crossed import crossed
from polbayes.fit.density.density import Density
from polbayes.fit.density.kernel import ASKED, BELIEVED, DISCRIMINATED
from polbayes.fit.density.model import build
from polbayes.fit.density.observed import likelihood_parts

MODELS = tuple(f"m{k}" for k in range(12))
ITEMS = tuple(
    (f"{dimension[0]}{k}", dimension, side, ("original", "opposite"))
    for dimension in ("economic", "cultural")
    for k, side in enumerate(("left", "right", "right"))
)
BINARY = {"response": "agree", "family": "bernoulli"}
POINTS = {
    "theta": "~ (0 + dimension | model)",
    "difficulty": "~ 1 + (1 | item)",
    "discrimination": "~ (1 | item)",
}
KEYED = {
    **POINTS,
    "theta": "~ 0 + dimension + (0 + dimension | model)",
    "difficulty": "~ (1 | item)",
}
AGREEING = {
    "theta": "~ 0 + dimension",
    "acquiescence": "~ 1 + (1 | model)",
    "difficulty": "~ (1 | item)",
    "discrimination": "~ (1 | item)",
}
STEERED = {**AGREEING, "acquiescence": "~ 1", "steer": "~ (1 | model:prefix)"}
SIGNED = {"anchor": {"economic": "m1", "cultural": "m2"}}


@pytest.fixture(scope="module")
def data(coded):
    """Answers at random, of which some are neutral and not counted."""
    rng = np.random.default_rng(5)
    stance = rng.choice([-1, 0, 1], (len(MODELS), len(ITEMS), 2, 2, 3), p=[0.4, 0.1, 0.5])
    return coded(stance, items=ITEMS, models=MODELS, runs=3)


@pytest.mark.parametrize(
    ("parts", "settings", "role"),
    [
        (POINTS, SIGNED, DISCRIMINATED),
        (KEYED, {}, DISCRIMINATED),
        (AGREEING, {}, ASKED),
        (STEERED, {}, BELIEVED),
    ],
)
def test_yes_or_no_answers_are_as_in_a_loop_over_cells(
    data, bound, scored_alike, parts, settings, role
):
    spec, cells, terms = bound(parts, data, **BINARY, **settings)
    built = build(spec, cells, terms)
    kind, answers, at = likelihood_parts(built.layout, spec, cells)[0]
    found = crossed(built.layout, kind, answers, at, fewer=1.5)
    assert found is not None
    assert found.role == role
    assert found.n.sum() == answers.sum()
    # The last with probabilities that are nearly 0 or 1.
    scored_alike(found, built, kind, answers, at, sizes=(0.5, 0.5, 30.0))


def test_the_density_goes_row_by_row_where_there_are_few(data, bound):
    spec, cells, terms = bound(POINTS, data, **BINARY, **SIGNED)
    built = build(spec, cells, terms)
    short, by_cell = Density(built), Density(built, by_cell=True)
    kind, answers, at = likelihood_parts(built.layout, spec, cells)[0]
    found = crossed(built.layout, kind, answers, at)
    assert found is not None
    # Of each statement two wordings, turned and not.
    assert len(found.answers) == 2 * len(ITEMS)
    x = short.start(1)
    (one, of_one), (other, of_other) = short(x), by_cell(x)
    assert one == pytest.approx(other, rel=1e-11)
    np.testing.assert_allclose(of_one, of_other, rtol=1e-9, atol=1e-9 * np.abs(of_one).max())


def test_more_than_two_points_take_a_loop_over_cells(data, bound):
    spec, cells, terms = bound(POINTS, data, response="stance", **SIGNED)
    built = build(spec, cells, terms)
    kind, answers, at = likelihood_parts(built.layout, spec, cells)[0]
    assert answers.shape[1] == 3
    assert crossed(built.layout, kind, answers, at, fewer=0) is None
