import numpy as np
import pytest

from polbayes.fit.density.kernel import forward
from polbayes.fit.density.layout import lay_out


@pytest.fixture(scope="module")
def laid(coded, bound, full_parts):
    _, cells, parts = bound({**full_parts, "validity": "~ 1 + (1 | model)"}, coded(runs=3))
    return cells, parts, lay_out(parts, cells)


def blocks_of(layout, part):
    return [b for b in layout.blocks if b.part == part]


def test_blocks_are_side_by_side(laid):
    _, parts, layout = laid
    assert layout.blocks[0].start == 0
    for left, right in zip(layout.blocks, layout.blocks[1:], strict=False):
        assert left.stop == right.start
    common = [b for b in layout.blocks if b.group is None]
    assert [b.part for b in common] == ["theta", "acquiescence", "validity"]
    assert layout.blocks[: len(common)] == tuple(common)
    assert sum(b.size for b in common) == len(layout.matrix) == 2 + 1 + 1
    groups = sum(len(p.groups) for p in parts.values())
    assert len(layout.blocks) == len(common) + groups


def test_the_common_design_is_block_diagonal(laid):
    _, _, layout = laid
    assert [c[:2] for c in layout.coefficients] == [
        ("theta", "dimension"),
        ("theta", "dimension"),
        ("acquiescence", "Intercept"),
        ("validity", "Intercept"),
    ]
    for part in ("theta", "acquiescence", "validity"):
        (block,) = [b for b in blocks_of(layout, part) if b.group is None]
        own = [k for k, c in enumerate(layout.coefficients) if c[0] == part]
        rows = layout.matrix[block.start : block.stop]
        assert not np.delete(rows, own, axis=1).any()
        assert (rows[:, own].sum(axis=1) == 1).all()


def test_scales_are_labelled(laid):
    _, _, layout = laid
    assert set(layout.scales) == {
        ("theta", "model", "dimension[economic]"),
        ("theta", "model", "dimension[cultural]"),
        ("difficulty", "item", ""),
        ("discrimination", "item", ""),
        ("acquiescence", "model", ""),
        ("acquiescence", "model:prefix", "m1"),
        ("acquiescence", "model:prefix", "m2"),
        ("steer", "model:prefix", "m1"),
        ("steer", "model:prefix", "m2"),
        ("quirk", "model:item", ""),
        ("wording", "item:variant", ""),
        ("wording", "model:item:variant", "m1"),
        ("wording", "model:item:variant", "m2"),
        ("threshold", "model", ""),
        ("validity", "model", ""),
    }
    assert len(layout.scales) == 15
    for block in layout.blocks:
        if block.group is not None:
            first, count = block.scales
            assert {s[:2] for s in layout.scales[first : first + count]} == {
                (block.part, block.group.term.name)
            }


def set_effect(layout, effects, part, label, value, *, column=0, factors=None):
    """Set the effect of one level, found by the label of its levels."""
    for block in blocks_of(layout, part):
        if block.group is None or (factors and block.group.term.factors != factors):
            continue
        if label in block.group.labels:
            width = len(block.group.columns)
            effects[block.start + block.group.labels.index(label) * width + column] = value
            return
    raise AssertionError(f"{part} has no level {label}")


def through(layout, effects, *, validity=False):
    g = layout.validity if validity else layout.answers
    return forward(effects, g.index, g.weight.astype(float), g.roles, g.keying)


def inside(cells, **where):
    return np.logical_and.reduce([cells.frame[k] == v for k, v in where.items()])


@pytest.mark.parametrize(
    ("part", "label", "where", "sign"),
    [
        ("acquiescence", "m1", {"model": "m1"}, "asked"),
        ("acquiescence", "m2|please", {"model": "m2", "prefix": "please"}, "asked"),
        ("wording", "e1|opposite", {"item": "e1", "variant": "opposite"}, "asked"),
        ("steer", "m2|please", {"model": "m2", "prefix": "please"}, "believed"),
        ("quirk", "m1|c2", {"model": "m1", "item": "c2"}, "believed"),
        ("difficulty", "e2", {"item": "e2"}, "against"),
    ],
)
def test_an_effect_enters_the_cells_it_belongs_to(laid, part, label, where, sign):
    cells, _, layout = laid
    effects = np.zeros(layout.blocks[-1].stop)
    set_effect(layout, effects, part, label, 0.7)
    keying = cells.frame["keying"].to_numpy()
    factor = {"asked": 1.0, "believed": keying, "against": -keying}[sign]
    eta, own = through(layout, effects)
    np.testing.assert_allclose(eta, np.where(inside(cells, **where), 0.7 * factor, 0))
    assert not own.any()


def test_theta_enters_its_model_and_dimension_times_the_discrimination(laid):
    cells, _, layout = laid
    effects = np.zeros(layout.blocks[-1].stop)
    (theta,) = [b for b in blocks_of(layout, "theta") if b.group is not None]
    column = theta.group.columns.index("dimension[cultural]")
    set_effect(layout, effects, "theta", "m2", 1.5, column=column)
    set_effect(layout, effects, "discrimination", "c1", np.log(2))
    eta, _ = through(layout, effects)
    keying = cells.frame["keying"].to_numpy()
    slope = np.where(cells.frame["item"] == "c1", 2.0, 1.0)
    here = inside(cells, model="m2", dimension="cultural")
    np.testing.assert_allclose(eta, np.where(here, 1.5 * slope * keying, 0))


def test_a_threshold_is_no_part_of_the_predictor(laid):
    cells, _, layout = laid
    effects = np.zeros(layout.blocks[-1].stop)
    set_effect(layout, effects, "threshold", "m1", 0.3)
    eta, own = through(layout, effects)
    assert not eta.any()
    np.testing.assert_allclose(own, np.where(inside(cells, model="m1"), 0.3, 0))


def test_validity_has_a_predictor_of_its_own(laid):
    cells, _, layout = laid
    effects = np.zeros(layout.blocks[-1].stop)
    set_effect(layout, effects, "validity", "m2", -0.4)
    (common,) = [b for b in blocks_of(layout, "validity") if b.group is None]
    effects[common.start] = 2.0
    logit, _ = through(layout, effects, validity=True)
    np.testing.assert_allclose(logit, np.where(inside(cells, model="m2"), 1.6, 2.0))
    assert not through(layout, effects)[0].any()


def test_slopes_on_numbers_are_weighted(coded, bound):
    data = coded()
    data = data.assign_coords(size=("model", np.array([0.5, 2.0])))
    _, cells, parts = bound({"theta": "~ 0 + dimension", "steer": "~ (1 + size | prefix)"}, data)
    layout = lay_out(parts, cells)
    effects = np.zeros(layout.blocks[-1].stop)
    (steer,) = blocks_of(layout, "steer")
    assert steer.group.columns == ("Intercept", "size")
    set_effect(layout, effects, "steer", "please", 3.0, column=1)
    set_effect(layout, effects, "steer", "please", 0.1, column=0)
    eta, _ = through(layout, effects)
    size = np.where(cells.frame["model"] == "m1", 0.5, 2.0)
    keying = cells.frame["keying"].to_numpy()
    here = inside(cells, prefix="please")
    np.testing.assert_allclose(eta, np.where(here, keying * (0.1 + 3 * size), 0))


def test_a_gathering_of_some_cells(laid):
    _, _, layout = laid
    effects = np.random.default_rng(3).normal(size=layout.blocks[-1].stop)
    eta, _ = through(layout, effects)
    chosen = np.array([5, 0, 9])
    part = layout.answers.at(chosen)
    again, _ = forward(effects, part.index, part.weight, part.roles, part.keying)
    np.testing.assert_allclose(again, eta[chosen])
    flipped = layout.answers.at(chosen, keying=-layout.answers.keying[chosen])
    assert (flipped.keying == -part.keying).all()
    assert (flipped.index == part.index).all()


def test_a_constraint_takes_one_free_effect_of_each_group(laid):
    _, _, layout = laid
    free = {(b.part, b.group.term.factors): len(b.free) for b in layout.blocks if b.group}
    assert free == {
        ("theta", ("model",)): 2,  # two columns, one of two models
        ("difficulty", ("item",)): 4 - 2,
        ("discrimination", ("item",)): 4 - 2,
        ("acquiescence", ("model",)): 2 - 1,
        ("acquiescence", ("model", "prefix")): 4 - 2,
        ("steer", ("model", "prefix")): 4 - 2,
        ("quirk", ("model", "item")): 8 - 4,
        ("wording", ("item", "variant")): 8 - 1,
        ("wording", ("model", "item", "variant")): 16 - 2,
        ("threshold", ("model",)): 2 - 1,
        ("validity", ("model",)): 2 - 1,
    }
