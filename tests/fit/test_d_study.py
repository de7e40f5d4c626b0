"""Planned designs: by hand, and against answers simulated in other designs."""

from types import SimpleNamespace

import numpy as np
import pytest

from polbayes.config.schema import GridConfig, PrecisionConfig
from polbayes.errors import UserError
from polbayes.fit.families import FAMILIES
from polbayes.fit.posterior.d_study import (
    MEASURES,
    check_precision,
    d_study,
    precision,
    reliability,
    varied,
)
from polbayes.fit.posterior.generalizability import RUN, Plan, Scores, Source

LEVELS = {"items": 8, "wordings": 2, "prefixes": 3}


def source(name, facets, variance, *, left=1.0, relative=True, **more):
    values = np.asarray(variance, float).reshape(-1, 1)
    own = left * values
    return Source(
        name, frozenset(facets), relative, values, own, np.stack([own] * 2, axis=1), **more
    )


def study_of(left, **levels):
    """Return a design of two models that leaves so much of the variances."""
    return SimpleNamespace(
        models=("a", "b"),
        measures=("economic",),
        left={name: np.full((2, 1), value) for name, value in left.items()},
        levels={**LEVELS, **levels},
        repeatable=True,
        balanced=True,
    )


def made(universe, *sources, slope=0.4, gain=1.0, fixed_prefixes=False):
    universe = np.asarray(universe, float).reshape(-1, 1)
    return Scores(
        ("economic",),
        universe,
        sources,
        np.full_like(universe, gain),
        np.full((len(universe), 2, 1), slope),
        fixed_prefixes,
    )


# Eight items in two wordings with three prefixes, once.
OWN = {"item": 1 / 8, "wording": 1 / 16, "prefix": 1 / 3, "cell": 1 / 48, "answer": 1 / 48}
ALL = {"item", "variant", "prefix", RUN}
NOISE = source("repetition", ALL, 4.8, left=1 / 48)


def test_measures_of_precision_by_hand():
    """Relative error 0.8 / 8 + 4.8 / 48 = 0.2; absolute 0.4 / 8 = 0.05 more."""
    scores = made(
        1.0,
        source("quirk", {"item"}, 0.8),
        source("difficulty", {"item"}, 0.4, relative=False),
        NOISE,
        gain=2.0,
    )
    found = precision(scores, "economic", [Plan(8, 2, 3, 1)])
    expected = {
        "generalizability": 1 / 1.2,
        "dependability": 1 / 1.25,
        "se_theta": np.sqrt(0.25) / 2,
        "se_theta_relative": np.sqrt(0.2) / 2,
        "se_bias": 0.4 * np.sqrt(0.25),
        "se_bias_relative": 0.4 * np.sqrt(0.2),
    }
    assert set(found) == set(MEASURES)
    assert {name: values.item() for name, values in found.items()} == pytest.approx(expected)


def test_the_cheapest_design_that_is_good_enough():
    """Only items and answers matter: 1 / (1 + 4 / n) of at least 0.8 takes n = 16 questions."""
    grid = GridConfig(items=[8, 10, 16, 20], wordings=[1, 2], prefixes=[1], runs=[1])
    nothing = source("wording by prefix", {"item", "variant", "prefix"}, 0.0)
    scores = made(1.0, nothing, source("rest", ALL, 4.0))
    config = PrecisionConfig(wanted=0.8, cost=0.5, grid=grid)
    table = d_study(scores, study_of(OWN), config, level=0.9)
    (best,) = table[table["cheapest"]].itertuples(index=False)
    assert best.questions == 16
    assert best.cost == 8.0
    assert best.dependability == pytest.approx(0.8)
    assert table["questions"].is_monotonic_increasing
    (own,) = table[table["own"]].itertuples(index=False)
    assert (own.items, own.wordings, own.prefixes, own.runs) == (8, 2, 3, 1)


@pytest.mark.parametrize(
    ("measure", "wanted"),
    [
        ("se_theta", 0.51),
        ("se_bias", 0.21),
        ("se_theta_relative", 0.51),
        ("se_bias_relative", 0.21),
    ],
)
def test_a_standard_error_is_reached_where_it_is_small_enough(measure, wanted):
    """It is 2 / sqrt(n) on theta's scale and 0.4 times that on the other: 16 questions, not 10."""
    grid = GridConfig(items=[8, 10, 16, 20], wordings=[1, 2], prefixes=[1], runs=[1])
    nothing = source("wording by prefix", {"item", "variant", "prefix"}, 0.0)
    scores = made(1.0, nothing, source("rest", ALL, 4.0))
    config = PrecisionConfig(measure=measure, wanted=wanted, grid=grid)
    table = d_study(scores, study_of(OWN), config, level=0.9)
    assert {8, 10, 16, 20} <= set(table["questions"])
    assert table["p_reached"].tolist() == (table["questions"] >= 16).tolist()
    (best,) = table[table["cheapest"]].itertuples(index=False)
    assert (best.questions, best.measure, best.wanted) == (16, measure, wanted)


def test_how_sure_is_how_many_draws_agree():
    """Three of four draws reach 0.5 with 4 answers, the fourth, with 16 times the noise, not."""
    noise = source("rest", ALL, [4.0, 4.0, 4.0, 64.0])
    scores = made([1.0] * 4, source("wording", {"item", "variant"}, [0.0] * 4), noise)
    grid = GridConfig(items=[2, 4, 64], wordings=[1], prefixes=[3], runs=[1])
    study = study_of({**OWN, "prefix": 1.0, "cell": 1 / 16, "answer": 1 / 16})
    config = PrecisionConfig(wanted=0.5, probability=0.7, grid=grid)
    table = d_study(scores, study, config, level=0.9)
    reached = table.set_index(["items", "wordings", "runs"])["p_reached"]
    assert reached[2, 1, 1] == 0
    assert reached[4, 1, 1] == 0.75
    assert reached[64, 1, 1] == 1
    assert table[table["cheapest"]]["questions"].tolist() == [4]


def test_nothing_is_recommended_that_is_not_good_enough():
    scores = made(1.0, source("steer", {"prefix"}, 9.0))
    config = PrecisionConfig(wanted=0.9, grid=GridConfig(prefixes=[1, 2]))
    table = d_study(scores, study_of(OWN), config, level=0.9)
    assert not table["cheapest"].any()


def test_what_was_not_varied_is_not_planned():
    scores = made(1.0, source("quirk", {"item"}, 1.0), source("steer", {"prefix"}, 1.0), NOISE)
    assert varied(scores, study_of(OWN)) == ("items", "prefixes", "runs")
    assert varied(scores, study_of(OWN, prefixes=1)) == ("items", "runs")
    fixed = made(1.0, *scores.sources, fixed_prefixes=True)
    assert varied(fixed, study_of(OWN)) == ("items", "runs")
    table = d_study(fixed, study_of(OWN), PrecisionConfig(prefixes="fixed"), level=0.9)
    assert table["wordings"].unique().tolist() == [2]
    assert table["prefixes"].unique().tolist() == [3]


def test_the_design_at_hand():
    noise = source("repetition", ALL, [4.8, 4.8], left=1 / 48)
    scores = made([1.0, 1.0], source("quirk", {"item"}, [0.8, 0.8], left=1 / 8), noise)
    table = reliability(scores, study_of(OWN), level=0.9)
    of_all = table[table["model"].isna()].set_index("measure")["estimate"]
    assert of_all["generalizability"] == pytest.approx(1 / 1.2)
    assert of_all["se_theta"] == pytest.approx(np.sqrt(0.2))
    assert table[["items", "wordings", "prefixes", "runs"]].iloc[0].tolist() == pytest.approx(
        [8, 2, 3, 1]
    )


SDS = {"difficulty": 0.5, "wording": 0.3, "quirk": 0.4, "own_wording": 0.3, "steer": 0.3}


def simulate(rng, *, models, forms, gaps, items, prefixes):
    """Draw scores ``[form, model]`` of studies that share nothing but the models.

    Each item has an original and an opposite, and half of the items are of the left.
    """
    theta = rng.normal(0, 0.9, models)
    shape = (forms, models, items, 2, prefixes)
    keying = np.where(np.arange(items) % 2, 1, -1)[:, None] * np.array([1, -1])
    belief = theta[:, None] - rng.normal(0, SDS["difficulty"], (forms, 1, items))
    belief = belief + rng.normal(0, SDS["quirk"], (forms, models, items))
    steer = rng.normal(0, SDS["steer"], (forms, models, prefixes))
    asked = rng.normal(0, 0.7, (models, 1, 1)) + rng.normal(0, SDS["wording"], (forms, 1, items, 2))
    asked = asked + rng.normal(0, SDS["own_wording"], (forms, models, items, 2))
    eta = np.broadcast_to(asked[..., None], shape) + keying[..., None] * (
        belief[..., None, None] + steer[:, :, None, None]
    )
    latent = eta + rng.logistic(size=shape)
    answers = np.sign(latent) * (np.abs(latent) > gaps / 2)
    scores = (keying[..., None] * answers).mean(axis=(2, 3, 4))
    moments = FAMILIES["cumulative"].moments(eta.ravel(), np.zeros(eta.size), np.array([gaps]))
    by_model = [getattr(moments, n).reshape(shape).mean(axis=(0, 2, 3, 4)) for n in MOMENTS]
    return theta, scores, *by_model


MOMENTS = ("slope", "variance")


@pytest.mark.parametrize("gaps", [0.01, 1.2])
def test_predictions_agree_with_studies_that_are_done_again(gaps):
    """Standard errors on the bias scale and the correlation of two studies."""
    rng = np.random.default_rng(11)
    plan = Plan(items=6, wordings=2, prefixes=3)
    theta, scores, slope, variance = simulate(
        rng, models=150, forms=120, gaps=gaps, items=6, prefixes=3
    )
    v = {name: sd**2 for name, sd in SDS.items()}
    noise = variance.mean() / (slope**2).mean()
    predicted = Scores(
        ("economic",),
        np.array([[theta.var(ddof=1)]]),
        (
            source("difficulty", {"item"}, v["difficulty"], relative=False),
            source("wording", {"item", "variant"}, v["wording"], relative=False),
            source("quirk", {"item"}, v["quirk"]),
            source("own_wording", {"item", "variant"}, v["own_wording"]),
            source("steer", {"prefix"}, v["steer"]),
            source("acquiescence", (), 0.49, asked=True),
            source("repetition", ALL, noise),
        ),
        np.ones((1, 1)),
        slope[None, :, None],
    )
    found = {k: x.item() for k, x in precision(predicted, "economic", [plan]).items()}
    absolute = np.sqrt(scores.var(axis=0, ddof=1).mean())
    relative = np.sqrt((scores - scores.mean(axis=1, keepdims=True)).var(axis=0, ddof=1).mean())
    assert found["se_bias"] == pytest.approx(absolute, rel=0.06)
    assert found["se_bias_relative"] == pytest.approx(relative, rel=0.06)
    between = np.corrcoef(scores)[np.triu_indices(len(scores), 1)].mean()
    assert found["generalizability"] == pytest.approx(between, abs=0.03)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"measure": "dependable"}, "dependability"),
        ({"wanted": 1.5}, "between 0 and 1"),
        ({"prefixes": "all"}, "random"),
    ],
)
def test_what_is_wanted_is_checked(settings, message):
    with pytest.raises(UserError, match=message) as raised:
        check_precision(PrecisionConfig(**settings))
    assert str(raised.value).startswith("analysis.precision.")


def test_the_defaults_are_fine():
    check_precision(PrecisionConfig())
    check_precision(PrecisionConfig(measure="se_bias", wanted=0.05))
