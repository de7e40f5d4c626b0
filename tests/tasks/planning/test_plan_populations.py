"""Effects of studies that were not made."""

import numpy as np
import pytest

from polbayes.fit.density.layout import lay_out
from polbayes.fit.spec.cells import gather_cells
from polbayes.fit.spec.terms import bind
from polbayes.tasks.planning.layouts import as_if_answered, laid_out
from polbayes.tasks.planning.populations import (
    Likeness,
    Population,
    likeness,
    study_effects,
    study_scales,
)

LABELS = ("x", "y", "z", "w")
NUMBERS = {"items": 20, "wordings": 2, "prefixes": 3, "runs": 2}


@pytest.fixture(scope="module")
def study(questions, spec, assumed):
    """A layout of four models, of which two are known."""
    rng = np.random.default_rng(0)
    sources = dict(zip(LABELS, ("m2", "m0", "m1", "m1"), strict=True))
    data = as_if_answered(laid_out(questions, NUMBERS, sources, rng), spec)
    cells = gather_cells(data, spec)
    population = Population(assumed.population.built, assumed.whole, ("m0", "m2"))
    like = Likeness(sources, sources, frozenset({"x", "y"}))
    return population, lay_out(bind(spec, cells), cells), like, cells.frame


def block_of(layout, part, *factors):
    return next(
        b
        for b in layout.blocks
        if b.part == part and b.group is not None and b.group.term.factors == factors
    )


def effects(study, draw, seed=1):
    population, layout, like, frame = study
    return study_effects(population, draw, layout, like, frame, np.random.default_rng(seed))


def test_known_models_keep_what_is_theirs(study):
    population, layout, _, _ = study
    own, before = (block_of(one, "acquiescence", "model") for one in (layout, population.layout))
    found = effects(study, 3)[own.start : own.stop]
    known = population.draws.effects[3, before.start : before.stop]
    place = {m: k for k, m in enumerate(own.group.levels["model"])}
    there = {m: k for k, m in enumerate(before.group.levels["model"])}
    assert found[place["x"]] == known[there["m2"]]
    assert found[place["y"]] == known[there["m0"]]
    assert found[place["z"]] != known[there["m1"]]


def test_scales_are_those_of_the_model_that_one_is_like(study):
    population, layout, like, _ = study
    scales = study_scales(population, 7, layout, like)
    own, before = (block_of(o, "steer", "model", "prefix") for o in (layout, population.layout))
    source = dict(
        zip(before.group.scales, population.draws.scales[7][before.scales[0] :], strict=False)
    )
    for k, name in enumerate(own.group.scales):
        assert scales[own.scales[0] + k] == source[like.source[name]]


def test_new_effects_have_their_spread(study):
    population, layout, like, _ = study
    own = block_of(layout, "quirk", "model", "item")
    steer = block_of(layout, "steer", "model", "prefix")
    quirks, ratios = [], []
    for draw in range(60):
        found = effects(study, draw, seed=draw)
        quirks.append(found[own.start : own.stop])
        scales = study_scales(population, draw, layout, like)
        ratios.append(found[steer.start : steer.stop] / scales[steer.every_scale])
    # The unit of the predictor is the spread of quirks.
    n = np.size(quirks)
    assert np.std(quirks) == pytest.approx(1, abs=4 / np.sqrt(2 * n))
    assert np.std(ratios) == pytest.approx(1, abs=4 / np.sqrt(2 * np.size(ratios)))


def test_discriminations_have_the_geometric_mean_one(study):
    own = block_of(study[1], "discrimination", "item")
    found, within = effects(study, 2)[own.start : own.stop], own.within()
    for one in np.unique(within):
        assert found[within == one].sum() == pytest.approx(0, abs=1e-9)


def test_positions_of_new_models_are_correlated_as_the_draw_says(study):
    population, layout, _, _ = study
    own = block_of(layout, "theta", "model")
    draw = int(np.argmax(np.abs(population.drawn["cor_theta_model"].values)))
    wanted = float(population.drawn["cor_theta_model"].values.ravel()[draw])
    place = [k for k, m in enumerate(own.group.levels["model"]) if m in ("z", "w")]
    pairs = np.concatenate(
        [
            effects(study, draw, seed=s)[own.start : own.stop].reshape(-1, 2)[place]
            for s in range(150)
        ]
    )
    assert np.corrcoef(pairs.T)[0, 1] == pytest.approx(wanted, abs=4 / np.sqrt(len(pairs)))


def test_further_models_are_like_different_ones(assumed):
    population = Population(assumed.population.built, assumed.whole, ("m0", "m2"))
    like = likeness(population, ["m0", "m1", "m2"], LABELS, np.random.default_rng(3))
    assert sorted(like.source[name] for name in like.own) == ["m0", "m2"]
    assert set(like.spreads.values()) <= {"m0", "m1", "m2"}
    none = likeness(assumed.population, ["m0"], LABELS[:3], np.random.default_rng(3))
    assert not none.own
    assert sorted(none.spreads.values()) == ["m0", "m1", "m2"]
