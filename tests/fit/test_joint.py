"""Clusters of effects from their coordinates, and slopes back."""

import numpy as np
import pytest

from polbayes.fit.density import joint
from polbayes.fit.density.coordinates import hold

# Values: three standard deviations, a correlation. What the effects follow is as far from the mode.
VALUES, LEAD = np.array([0.9, 0.6, 1.3, 0.4]), np.array([0.2, -0.4])
SCALE, COR = np.array([0, 1, 2, 0, 1, 2, 0, 1]), np.array([-1, 3, -1, -1, 3, -1, -1, 3])
# Units: of two models, the common one, and none.
LOGS = np.array([0.4, -0.3, 0.2, 0.0])
TABLE = np.array([[0, 3, 0], [3, 3, 9], [6, 2, 18]])
UNIT = np.array([0, 0, 3, 1, 1, 3, 2, 2])
STRETCHED = np.full((8, 2), -1)
STRETCHED[2], STRETCHED[5] = (0, 2), (1, 3)
MODE_OF_LEAD, UNITED = np.array([0.1, -0.1]), np.array([True, False])
GROUP = np.array([0, 1, -1, 0, 1, -1, 0, 1])
TERMS = np.array([[0, 1, 0, 1, 3]])
COMMON, OF_COMMON = np.array([-1, 1]), np.array([5.0, 0.6])  # the second lead is a mean
EFFECTS = len(SCALE)


def observed(seed, strength=1.0):
    """Precisions of random observations, with the priors of VALUES at the mode."""
    rng = np.random.default_rng(seed)
    precisions, totals = [], []
    for first, size, _ in TABLE:
        root = rng.normal(size=(size, size)) * strength
        precisions.append(root @ root.T)
        totals.append(precisions[-1] + np.diag(VALUES[SCALE[first : first + size]] ** -2.0))
    mode, weight = rng.normal(size=EFFECTS), rng.normal(size=(EFFECTS, 2)) * 0.3
    matrices = [np.concatenate([m.ravel() for m in kind]) for kind in (totals, precisions)]
    return mode, weight, MODE_OF_LEAD, UNITED, *matrices


def expanded(x, values, seen, lead=LEAD, held=(1.5, 0.7), logs=LOGS):
    others, means = np.empty(EFFECTS), np.empty(2)
    rest = (UNIT, STRETCHED, *seen, GROUP, TERMS, np.array(held), COMMON)
    density = joint.expand(x, values, lead, logs, TABLE, SCALE, COR, *rest, others, means)
    return others, density, means


def slopes(x, values, seen, taken, held=(1.5, 0.7)):
    others, _, means = expanded(x, values, seen, held=held)
    found = [np.zeros(n) for n in (len(values), len(LEAD), len(LOGS), EFFECTS)]
    rest = (UNIT, STRETCHED, *seen, GROUP, TERMS, np.array(held), COMMON, others, means)
    joint.pull_back(x, values, LEAD, LOGS, TABLE, SCALE, COR, *rest, taken, OF_COMMON, *found)
    return found


@pytest.mark.parametrize("seed", range(3))
def test_slopes_are_those_of_effects_and_density(seed):
    rng = np.random.default_rng(seed)
    x, taken, seen = rng.normal(size=EFFECTS), rng.normal(size=EFFECTS), observed(seed)
    of_values, of_lead, of_logs, of_x = slopes(x, VALUES, seen, taken)

    def total(x, values, lead=LEAD, logs=LOGS):
        others, density, means = expanded(x, values, seen, lead, logs=logs)
        return taken @ others + density + OF_COMMON[1] * means[1]

    step = 1e-6
    for k, one in enumerate(np.eye(EFFECTS)):
        change = total(x + step * one, VALUES) - total(x - step * one, VALUES)
        assert of_x[k] == pytest.approx(change / (2 * step), rel=1e-5, abs=1e-6)
    for k, one in enumerate(np.eye(len(LEAD))):
        change = total(x, VALUES, LEAD + step * one) - total(x, VALUES, LEAD - step * one)
        assert of_lead[k] == pytest.approx(change / (2 * step), rel=1e-5, abs=1e-6)
    for k, one in enumerate(np.eye(len(LOGS))[:3]):
        both = [total(x, VALUES, logs=LOGS + sign * step * one) for sign in (1, -1)]
        assert of_logs[k] == pytest.approx((both[0] - both[1]) / (2 * step), rel=1e-5, abs=1e-6)
    for k, one in enumerate(np.eye(len(VALUES))):
        change = total(x, VALUES + step * one) - total(x, VALUES - step * one)
        assert of_values[k] == pytest.approx(change / (2 * step), rel=1e-5, abs=1e-6)


def before():
    """The covariance of effects that sum to zero: conditioned on their sums."""
    s, t, r = VALUES[[0, 1, 3]]
    pair = np.array([[s * s, r * s * t], [r * s * t, t * t]])
    whole = np.zeros((EFFECTS, EFFECTS))
    whole[[2, 5], [2, 5]] = VALUES[2] ** 2
    for i, one in enumerate((0, 3, 6)):
        for j, two in enumerate((0, 3, 6)):
            whole[one : one + 2, two : two + 2] = pair * ((i == j) - 1 / 3)
    return whole


def gaussian(values, seen):
    """Return precision and mean of the coordinates, whose density is normal, and its integral."""

    def density(x):
        return expanded(x, values, seen)[1]

    unit, zero = np.eye(EFFECTS), density(np.zeros(EFFECTS))
    bend = [[density(a) + density(b) - density(a + b) - zero for a in unit] for b in unit]
    slope = np.array([(density(e) - density(-e)) / 2 for e in unit])
    middle = np.linalg.solve(bend, slope)
    return np.array(bend), middle, zero + slope @ middle / 2 - np.linalg.slogdet(bend)[1] / 2


@pytest.mark.parametrize("strength", [0.0, 1.0, 10.0])
def test_the_density_is_that_of_the_prior_whatever_was_observed(strength):
    """A linear function of the effects is normal, with their covariance before the answers."""
    seen = observed(1, strength)
    zero = expanded(np.zeros(EFFECTS), VALUES, seen)[0]
    matrix = np.stack([expanded(e, VALUES, seen)[0] - zero for e in np.eye(EFFECTS)], axis=1)
    bend, middle, total = gaussian(VALUES, seen)
    np.testing.assert_allclose(zero + matrix @ middle, 0.0, atol=1e-8)
    covariance = matrix @ np.linalg.inv(bend) @ matrix.T
    np.testing.assert_allclose(covariance, before(), atol=1e-8)
    other = np.array([0.2, -1.4, 0.5, -0.8])
    assert gaussian(other, seen)[2] == pytest.approx(total, abs=1e-7)  # whatever the scales


@pytest.mark.parametrize("s", [1e-3, 0.1, 3.0])
def test_the_mean_of_effects_that_sum_to_zero_in_a_cluster_has_a_coordinate_of_its_own(s):
    """In it the density is standard normal, whatever the scale.

    The answers say with precision 8 how two effects differ, and the constraint without bound that
    their sum is 0. Nothing observes the difference here, so its coordinate has the prior's width.
    """
    held, group = np.array([5.0]), np.array([0, 0])
    known = 4.0 * np.array([[1.0, -1.0], [-1.0, 1.0]]) + 1e6
    precision = hold(known, group, held, np.zeros(2))
    total = hold(known + np.eye(2), group, held, np.ones(2))
    np.testing.assert_allclose(total, precision + np.eye(2))
    nobody = np.empty(0), np.empty(0, dtype=bool)
    known_of = np.zeros(2), np.empty((2, 0)), *nobody, total.ravel(), precision.ravel()
    unit = np.array([1, 1]), np.full((2, 2), -1)
    terms, none = np.array([[0, -1, 0, 0, 0]]), np.array([-1])
    rest = (*known_of, group, terms, held, none, np.empty(2), np.empty(1))
    where = np.array([[0, 2, 0]]), np.array([0, 0]), np.array([-1, -1]), *unit

    def density(x):
        return joint.expand(np.array(x), np.array([s]), nobody[0], np.zeros(2), *where, *rest)

    zero = density([0.0, 0.0])
    bend = [[density(a) + density(b) - density(a + b) - zero for a in np.eye(2)] for b in np.eye(2)]
    widths = np.sort(np.linalg.eigvalsh(bend))
    np.testing.assert_allclose(widths, [1 / (1 + 8 * s**2), 1.0], rtol=1e-6)
