"""Shares of variance, by hand from given effects, and variances of effects from loops."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from polbayes.fit.density.kernel import forward
from polbayes.fit.density.model import build
from polbayes.fit.families import FAMILIES
from polbayes.fit.posterior import measurement_design as measurement
from polbayes.fit.posterior.components import with_variances
from polbayes.fit.posterior.measurement_design import measurement_design, shares, weigh
from polbayes.fit.posterior.naming import name_posterior
from polbayes.fit.posterior.shares import variance_shares

CHAINS, DRAWS = 2, 3
MODELS, PREFIXES = ("m2", "m1", "m3"), ("please", "baseline", "name")
ITEMS = (
    ("e1", "economic", "left", ("original", "opposite")),
    ("e2", "economic", "right", ("original", "opposite")),
    ("e3", "economic", "right", ("original",)),
    ("c1", "cultural", "left", ("original", "opposite")),
    ("c2", "cultural", "right", ("original", "opposite")),
)


def design(names, models=("a", "b"), dimensions=("economic",)):
    """Return terms by name, each with its facets."""
    terms = [SimpleNamespace(name=n, facets=frozenset(f), planned=True) for n, f in names.items()]
    total = ("total",) if len(dimensions) > 1 else ()
    return SimpleNamespace(
        models=models,
        dimensions=dimensions,
        measures=(*dimensions, *total),
        terms=terms,
        items=dict.fromkeys(dimensions, ()),
    )


def posterior(theta, effects, noise, dimensions=("economic",)):
    """Return two equal draws of these values."""
    twice = {
        "theta": (("model", "dimension"), theta),
        "effect_variance": (("component", "model", "dimension"), effects),
        "answer_noise": (("model", "dimension"), noise),
    }
    data = {
        name: (("chain", "draw", *dims), np.stack([np.asarray(values, float)] * 2)[None])
        for name, (dims, values) in twice.items()
    }
    return xr.Dataset(data, coords={"dimension": list(dimensions)})


TERMS = {"difficulty: item": {"item"}, "acquiescence: model": (), "steer: model:prefix": {"prefix"}}


def test_shares_by_hand():
    """Of 10: theta (-1 and 1) has 2, items 1, agreeing 3, prefixes (0.5 + 1.5) / 2, noise 3."""
    drawn = posterior(
        [[-1.0], [1.0]], [[[1.0], [1.0]], [[3.0], [3.0]], [[0.5], [1.5]]], [[2.0], [4.0]]
    )
    table = variance_shares(drawn, design(TERMS), level=0.9)
    every = table[table["model"].isna()].set_index("component")
    assert every["estimate"].to_dict() == pytest.approx(
        {
            "theta: model": 0.2,
            "difficulty: item": 0.1,
            "acquiescence: model": 0.3,
            "steer: model:prefix": 0.1,
            "repetition": 0.3,
        }
    )
    assert every["variance"].sum() == pytest.approx(10)


def test_within_a_model_by_hand():
    """What is the same for all answers of a model is no difference between them."""
    drawn = posterior(
        [[-1.0], [1.0]], [[[1.0], [1.0]], [[3.0], [3.0]], [[0.5], [1.5]]], [[2.5], [2.5]]
    )
    table = variance_shares(drawn, design(TERMS), level=0.9)
    b = table[table["model"] == "b"].set_index("component")["estimate"].to_dict()
    assert b == pytest.approx(
        {"difficulty: item": 0.2, "steer: model:prefix": 0.3, "repetition": 0.5}
    )


def test_one_model_alone_has_no_variance_between_models():
    drawn = posterior([[1.0]], [[[1.0]], [[3.0]], [[1.0]]], [[2.0]])
    table = variance_shares(drawn, design(TERMS, models=("a",)), level=0.9)
    assert set(table["component"]) == {"difficulty: item", "steer: model:prefix", "repetition"}


@given(
    st.lists(st.floats(0.01, 100), min_size=12, max_size=12),
    st.lists(st.floats(-5, 5), min_size=4, max_size=4),
)
def test_shares_sum_to_one(variances, theta):
    dimensions = ("economic", "cultural")
    drawn = posterior(
        np.reshape(theta, (2, 2)),
        np.reshape(variances, (3, 2, 2)),
        np.full((2, 2), 3.3),
        dimensions,
    )
    table = variance_shares(drawn, design(TERMS, dimensions=dimensions), level=0.9)
    sums = table.groupby(["model", "dimension"], dropna=False)["estimate"].sum()
    assert len(sums) == 9
    np.testing.assert_allclose(sums, 1)
    assert (table["estimate"] >= 0).all()


@pytest.fixture(scope="module")
def full(coded, bound, full_parts):
    rng = np.random.default_rng(1)
    data = coded(
        rng.integers(-1, 2, (3, 5, 2, 3, 2)), items=ITEMS, models=MODELS, prefixes=PREFIXES, runs=2
    )
    spec, cells, parts = bound(full_parts, data)
    built = build(spec, cells, parts)
    size = built.layout.blocks[-1].stop
    vectors = {
        "effects": rng.normal(0, 0.8, (CHAINS, DRAWS, size)),
        "sd": rng.uniform(0.1, 1, (CHAINS, DRAWS, len(built.layout.scales))),
        "gap": rng.uniform(0.3, 2, (CHAINS, DRAWS, 1)),
        "b": rng.normal(size=(CHAINS, DRAWS, len(built.layout.coefficients))),
    }
    drawn = xr.Dataset(
        {name: (("chain", "draw", f"{name}_dim"), values) for name, values in vectors.items()}
    )
    drawn = drawn.assign_coords(chain=range(CHAINS), draw=range(DRAWS))
    named = with_variances(name_posterior(built, drawn), built, drawn)
    return SimpleNamespace(
        built=built,
        drawn=drawn,
        posterior=named,
        cells=cells,
        design=measurement_design(parts, cells),
    )


def effects_of(full, part, factors, **level):
    """Look up the effects of the levels that have these labels: ``[chain, draw, effect]``."""
    (block,) = [
        b
        for b in full.built.layout.blocks
        if b.part == part and b.group and b.group.term.factors == factors
    ]
    inside = np.ones(block.size, dtype=bool)
    for name, value in level.items():
        inside &= (block.group.levels[name] == value).to_numpy()
    return full.drawn["effects"].values[..., block.start : block.stop][..., inside]


def test_variances_of_effects_are_mean_squares_of_the_free_ones(full):
    """Three prefix effects of a model that sum to zero are two; 15 quirks in six groups nine."""
    found = full.posterior["effect_variance"]
    for model in MODELS:
        steer = effects_of(full, "steer", ("model", "prefix"), model=model)
        np.testing.assert_allclose(
            found.sel(component="steer: model:prefix", model=model, dimension="cultural"),
            (steer**2).sum(axis=-1) / 2,
        )
        quirks = [
            effects_of(full, "quirk", ("model", "item"), model=model, item=f"c{k}") for k in (1, 2)
        ]
        np.testing.assert_allclose(
            found.sel(component="quirk: model:item", model=model, dimension="cultural"),
            np.mean(np.concatenate(quirks, axis=-1) ** 2, axis=-1) * 15 / 9,
        )


def test_moments_of_answers_are_averaged_over_what_a_model_was_asked(full):
    weights = weigh(full.cells)
    gaps = full.drawn["gap"].values.reshape(-1, 1)
    of = (full.cells.frame["model"] == "m1") & (full.cells.frame["dimension"] == "economic")
    effects = full.drawn["effects"].values.reshape(len(gaps), -1)
    for draw, row in enumerate(effects):
        eta, own = forward(row, *full.built.layout.answers.plain)
        moments = FAMILIES["cumulative"].moments(eta, own, gaps[draw])
        for name in ("slope", "variance", "noise"):
            expected = (getattr(moments, name) * weights.weight)[of].sum()
            found = full.posterior[f"answer_{name}"].sel(model="m1", dimension="economic")
            assert found.values.ravel()[draw] == pytest.approx(expected)


def test_discriminations_divide_the_believed_part_like_a_table_of_models_by_items(full):
    """Models, items and what is left of discrimination · (theta - difficulty), two ways."""
    table = variance_shares(full.posterior, full.design, level=0.9)
    every = table[table["model"].isna() & (table["dimension"] == "economic")]
    found = every.set_index("component")["variance"]
    p = full.posterior
    items = ["e1", "e2", "e3"]
    a = p["discrimination"].sel(item=items).values.reshape(-1, 3)
    b = p["difficulty"].sel(item=items).values.reshape(-1, 3)
    theta = p["theta"].sel(dimension="economic").values.reshape(-1, 3)
    believed = a[:, None] * (theta[:, :, None] - b[:, None])
    by_model, by_item = believed.mean(axis=2), believed.mean(axis=1)
    rest = believed - by_model[:, :, None] - by_item[:, None] + believed.mean((1, 2))[:, None, None]
    assert found["theta: model"] == pytest.approx(by_model.var(axis=1, ddof=1).mean())
    assert found["difficulty: item"] == pytest.approx(by_item.var(axis=1, ddof=1).mean())
    assert found["discrimination: item"] == pytest.approx(((rest**2).sum((1, 2)) / 4).mean())


def test_what_is_left_of_a_variance_does_not_depend_on_how_pairs_are_found(full, monkeypatch):
    monkeypatch.setattr(measurement, "_FEW", 0)
    other = measurement_design(full.built.parts, full.cells)
    for one, again in zip(full.design.terms, other.terms, strict=True):
        np.testing.assert_allclose(one.left, again.left)
    for name, left in full.design.left.items():
        np.testing.assert_allclose(left, other.left[name])


def test_weights_of_answers_by_hand():
    """Sides, then items, wordings and prefixes have the same weight, and answers the rest."""
    frame = pd.DataFrame(
        [
            ("m", "d", 1, "i", "original", "p"),
            ("m", "d", 1, "i", "original", "p"),
            ("m", "d", 1, "i", "original", "q"),
            ("m", "d", 1, "i", "other", "p"),
            ("m", "d", 1, "j", "original", "p"),
            ("m", "d", -1, "k", "original", "p"),
            ("n", "d", 1, "i", "original", "p"),
        ],
        columns=["model", "dimension", "keying", "item", "variant", "prefix"],
    )
    expected = [1 / 32, 1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1]
    assert shares(frame) == pytest.approx(expected)
    assert shares(frame.iloc[::-1])[::-1] == pytest.approx(expected)
