"""Positions among respondents that readers know: scale, neighbours and agreement."""

import numpy as np
import pytest
import xarray as xr

from polbayes.data.dataset import MISSING
from polbayes.errors import UserError
from polbayes.fit.posterior.reference import agreement, reference_tables
from polbayes.fit.spec.cells import gather_cells
from polbayes.fit.spec.reduction import reduced
from polbayes.fit.spec.reference import reference_models
from polbayes.fit.spec.terms import bind

ITEMS = (
    ("e1", "economic", "right", ("original", "opposite")),
    ("e2", "economic", "left", ("original",)),
    ("e3", "economic", "right", ("original",)),
)
MODELS = ("bot", "red", "blue", "gold")
# Model, item, wording; the opposite of e1 has answers that contradict those to the original.
STANCE = np.array(
    [
        [[1, -1], [0, MISSING], [-1, MISSING]],
        [[-1, 1], [0, MISSING], [MISSING, MISSING]],
        [[1, 0], [1, MISSING], [-1, MISSING]],
        [[1, -1], [-1, MISSING], [1, MISSING]],
    ]
)[..., None, None]
PARTS = {"theta": "~ 0 + dimension + (0 + dimension | model)"}


@pytest.fixture
def answered(coded):
    data = coded(STANCE, items=ITEMS, models=MODELS, prefixes=("baseline",))
    return data.assign_coords(who=("model", ["model", "party", "party", "party"]))


@pytest.fixture
def cells(answered, spec_of):
    return gather_cells(answered, spec_of(PARTS, reference={"who": "party"}))


def test_agreement_is_that_of_voting_advice_applications(cells):
    """One for the same answer, a half for a neutral beside a decided one, by hand.

    The wordings of e1 are one statement: what a model says to its opposite is turned round.
    """
    found = agreement(cells)
    assert found["bot", "red"] == (pytest.approx((0 + 1) / 2), 2)
    # Of e1 blue agrees once and is neutral once: (1 + 1/2) / 2.
    assert found["bot", "blue"] == (pytest.approx((0.75 + 0.5 + 1) / 3), 3)
    assert found["bot", "gold"] == (pytest.approx((1 + 0.5 + 0) / 3), 3)
    assert found["red", "gold"] == (pytest.approx((0 + 0.5) / 2), 2)
    assert found["gold", "red"] == found["red", "gold"]


def test_agreement_of_probabilities(coded, spec_of):
    """Of answers that are numbers: the probability that two of them are the same."""
    value = np.array([0.75, 0.5, 1.0])[:, None, None, None, None]
    data = coded(1, items=ITEMS[1:], models=MODELS[:3], prefixes=("baseline",), r_plus=value)
    parts = {**PARTS, "sigma": "~ 1"}
    spec = spec_of(parts, response="r_plus", family="logit_normal")
    found = agreement(gather_cells(data, spec))
    assert found["bot", "red"][0] == pytest.approx(0.5)
    assert found["bot", "blue"][0] == pytest.approx(0.75, abs=1e-3)


def test_scale_and_neighbours(cells):
    """Two draws; the reference's mean and standard deviation are (1, 1) and (0, 2)."""
    theta = np.array([[[0.0, 0.0, 1.0, 2.0], [3.0, -2.0, 0.0, 2.0]]])[..., None]
    coords = {"model": list(MODELS), "dimension": ["economic"]}
    posterior = xr.Dataset({"theta": (("chain", "draw", "model", "dimension"), theta)}, coords)
    known = reference_models(cells, {"who": ("party",)})
    assert known == ["red", "blue", "gold"]
    tables = reference_tables(posterior, cells, known, level=0.9)
    scale = tables["reference_scale"].set_index("model")
    assert scale.loc["bot", "estimate"] == pytest.approx((-1 + 1.5) / 2)
    assert scale.loc["gold", "estimate"] == pytest.approx((1 + 1) / 2)
    assert scale["reference"].tolist() == [False, True, True, True]
    nearest = tables["nearest"].set_index(["model", "reference"])
    assert nearest.loc["bot", "p_nearest"].to_dict() == {"red": 0.5, "blue": 0, "gold": 0.5}
    assert nearest.loc[("bot", "gold"), "estimate"] == pytest.approx((2 + 1) / 2)
    # A member of the reference is compared with the others of it.
    assert nearest.loc["blue", "p_nearest"].index.tolist() == ["red", "gold"]
    assert nearest.loc[("bot", "red"), ["agreement", "n_items"]].tolist() == [0.5, 2]


def test_an_unknown_reference_is_refused(answered, spec_of):
    spec = spec_of(PARTS, reference={"who": "person"})
    with pytest.raises(UserError, match="0 of the models have who person; a scale needs at least"):
        bind(spec, gather_cells(answered, spec))
    cells = gather_cells(answered, spec_of(PARTS, reference={"item": "e1"}))
    with pytest.raises(UserError, match="'item' is no attribute of models"):
        reference_models(cells, {"item": ("e1",)})
    with pytest.raises(UserError, match="unknown variable 'sort'"):
        gather_cells(answered, spec_of(PARTS, reference={"sort": "party"}))


def test_whom_nobody_asked_is_named(answered, spec_of):
    spec = spec_of(PARTS, reference={"model": ["red", "blue", "bot", "glod"]})
    cells = gather_cells(answered, spec)
    assert reference_models(cells, spec.reference) == ["bot", "red", "blue"]
    assert [note for note in reduced(spec, cells)[1] if "reference" in note] == [
        "analysis.reference.model: nobody with 'glod' was asked; the reference is the others."
    ]


def test_an_attribute_set_to_null_is_no_part_of_the_reference(spec_of):
    spec = spec_of(PARTS, reference={"model": None, "who": ["party", "person"]})
    assert spec.reference == {"who": ("party", "person")}
