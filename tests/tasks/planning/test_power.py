"""The chance of finding the effect of a prefix."""

import numpy as np
import pytest
from scipy.stats import norm

from polbayes.config.schema import PlanConfig
from polbayes.fit.posterior.generalizability import RUN, Plan, Scores, Source
from polbayes.tasks.planning.power import prefix_power

ONE = np.ones((1, 1))


def source(name, variance, facets, *, relative=True, asked=False):
    values = variance * ONE
    return Source(name, frozenset(facets), relative, values, values, values[:, None], asked)


def scores(slope=0.4, steer=0.09):
    return Scores(
        measures=("economic",),
        universe=ONE,
        sources=(
            source("quirk: model:item", 1.0, {"item"}),
            source("steer: model:prefix", steer, {"prefix"}),
            source("acquiescence: model:prefix", 4.0, {"prefix"}, asked=True),
            source("wording: one prompt", 0.8, {"item", "variant", "prefix"}, asked=True),
            source("repetition", 1.2, {"item", "variant", "prefix", RUN}),
        ),
        gain=ONE,
        slope=np.full((1, 2, 1), slope),
    )


def power(numbers=(20, 2, 4, 3), *, rope=0.1, **wanted):
    config = PlanConfig(power=0.8, **wanted)
    return float(prefix_power(scores(), Plan(*numbers), config, level=0.9, rope=rope)[0])


def test_by_hand():
    # Per prefix 40 prompts and 120 answers: 0.8 / 40 + 1.2 / 120 = 0.03.
    effect = 0.2 / 0.4
    spread = 0.09 + effect**2 * 4 / 9
    w, s = spread / (spread + 0.03), np.sqrt(0.03 * 3 / 4)
    z = norm.ppf(0.95)
    assert power(effect=0.2) == pytest.approx(norm.cdf((w * effect - z * np.sqrt(w) * s) / (w * s)))
    beyond = (w * effect - 0.1 / 0.4 - z * np.sqrt(w) * s) / (w * s)
    assert power(effect=0.2, found="verdict") == pytest.approx(norm.cdf(beyond))


def test_it_is_that_of_a_simulated_normal_model():
    """Scores under four prefixes, and the posterior of their effects by matrices."""
    n, v, effect = 4, 0.03, 0.5
    spread = 0.09 + effect**2 * n / (n - 1) ** 2
    rng, z = np.random.default_rng(1), norm.ppf(0.95)
    centre = np.eye(n) - 1 / n
    # With a flat prior of the mean, centred effects given centred scores.
    w = spread / (spread + v)
    sd = np.sqrt((centre * w * v)[0, 0])
    found = []
    for _ in range(20_000):
        rest = rng.normal(0, 0.3, n - 1)
        rest -= rest.mean()
        truth = np.array([effect * n / (n - 1), *rest])
        score = centre @ (truth + rng.normal(0, np.sqrt(v), n))
        found.append(w * score[0] - z * sd > 0)
    assert power(effect=0.2) == pytest.approx(np.mean(found), abs=4 * np.sqrt(0.25 / 20_000))


def test_more_answers_and_larger_effects_are_found_more_often():
    assert power(effect=0.1) < power(effect=0.2) < power(effect=0.3)
    assert power((10, 2, 4, 3), effect=0.2) < power((40, 2, 4, 3), effect=0.2)
    assert power(effect=0.2, found="verdict") < power(effect=0.2)
    assert power((20, 2, 1, 3), effect=0.2) == 0


def test_the_unit_is_the_predictors_on_the_scale_of_theta():
    assert power(effect=0.5, scale="theta") == pytest.approx(power(effect=0.2))
