"""Effects from the numbers that are sampled, and slopes back."""

import numpy as np
import pytest

from polbayes.fit.density import expansion, units

# Two models. The effects, at their positions: two of decisiveness (0, 1), of which the mean has a
# coordinate; three that lead and sum to zero (2 to 4); one on a width (5); a view (6); two wordings
# of one statement and two of opposite directions of another, with coordinates for means, which sum
# to zero (7 to 10); one of a cluster (11). One coefficient is of decisiveness. A view follows a
# belief and a mean, a wording an effect that leads.
B, SD, OTHERS, NU = (np.array(v) for v in ([0.4, -0.2], [0.8, -0.6], [0.9], [4.0]))
PLACE = np.array([0, 1, 2, 3, 7, 8, 9, 5, 6])
W = np.array([0.3, -0.2, 0.5, 1.1, 0.6, -0.7, 0.1, 0.2, -0.4])
SCALE = np.array([1, 1, 0, 0, 1, 1, 1, 0, 0])
TAIL = np.array([-1, 0, -1, -1, -1, -1, -1, -1, 0])
# Behind two coefficients and twelve effects: two means, and a belief.
MEAN, BELIEF = 14, 16
LEAD, WEIGHT = np.zeros((9, 4), dtype=int), np.zeros((9, 4))
LEAD[:2, 0], WEIGHT[:2, 0] = 1, (0.3, -0.2)
LEAD[3, 0], WEIGHT[3, 0] = 0, 0.4
LEAD[4, :2], WEIGHT[4, :2] = (2 + 3, 2 + 4), (0.7, 0.2)
LEAD[8], WEIGHT[8] = (BELIEF, 2 + 3, MEAN, 2 + 11), (-0.8, 0.6, 0.9, -0.3)
STOP = np.array([[0, 1], [0, 1], [0, 0], [1, 1], [1, 2], [0, 0], [0, 0], [0, 0], [3, 4]])
TOTAL = np.array([2.0, 1.5, 3.0, 2.5, 2.2, 4.0, 1.7, 1.8, 3.5])
PRECISION = TOTAL - np.array([1.0, 1.0, 1.5, 2.0, 0.3, 0.7, 1.2, 0.9, 1.1])
BASE = np.array([0.2, -0.3, 0.1, 0.1, -0.1, 0.4, 0.3, -0.5, 0.6])
KNOWN = (BASE, TOTAL, PRECISION, LEAD, WEIGHT, STOP)
HALF, THIRD = 0.5**0.5, 3**-0.5
TURNED = np.array([0, 1, 2, 3, 4, 8, 10, 7, 8, 9, 10])
SHARE = np.array([HALF, HALF, THIRD, THIRD, THIRD, 0.6, 0.8, HALF, HALF, -HALF, HALF])
PLACES = (
    *(np.zeros((0, 2)), SCALE, PLACE, np.array([11]), np.array([4, 10]), np.array([0]), TAIL),
    np.array([[0, 0], [2, 1], [4, 2], [4, 2], [7, 3], [9, 5]]),
    *(TURNED, SHARE, np.array([0, 2, 5, 7, 9, 11])),
    # Of the belief: a discrimination, twice; a distance; a factor of either sign.
    *(np.array([8, 10]), np.array([2, 11, 3, 4]), np.array([1.0, 1.0, -1.0, 0.5])),
    np.array([[0, 1, 3, 4]]),
)
VIEWS, LEVEL, SHARED, NONE = 3, 4, 5, 6  # the unit with views of the second model, the mean
UNITS = (
    *(np.array([[0.0, 1.0, 0.7, -0.3], [0.0, 1.0, -0.3, 0.7]]), np.array([0.5, 2.0])),
    *(np.array([[0.9], [1.4]]), np.array([0.8, 0.7]), np.array([0.4, 0.6])),
    *(np.array([0, 1, 2, 3]), np.array([0.1, 0.0, 0.3, -0.2])),
    np.array([NONE, NONE, NONE, 0, SHARED, SHARED, SHARED, NONE, VIEWS]),
    np.array([[-1, -1]] * 7 + [[0, LEVEL], [-1, -1]]),
)
TAKEN = np.array([1.0, -0.5, 0.7, 0.2, -1.3, 0.4, 0.8, -0.9, 0.3, 0.5, -0.2, 1.2, 0.6])


def total(b=B, sd=SD, w=W, others=OTHERS, nu=NU):
    effects, logp = expansion.expand(b, sd, w, others, nu, KNOWN, PLACES, UNITS)
    return TAKEN @ effects + logp.item()


def test_slopes_are_those_of_the_effects_whatever_memory_holds(monkeypatch):
    """Memory that was never written may hold NaN, and 0 times NaN is not 0."""
    given = {"b": B, "sd": SD, "w": W, "others": OTHERS, "nu": NU}
    rest = (KNOWN, PLACES, UNITS, TAKEN, np.array(1.0))
    expansion.pull_back(*given.values(), *rest)  # so that nothing is compiled while np.empty is not
    with monkeypatch.context() as patched:
        patched.setattr(np, "empty", lambda shape: np.full(shape, np.nan))
        found = expansion.pull_back.py_func(*given.values(), *rest)
    step = 1e-6
    for (name, at), slopes in zip(given.items(), found, strict=True):
        for k, one in enumerate(np.eye(len(at))):
            change = total(**{name: at + step * one}) - total(**{name: at - step * one})
            assert slopes[k] == pytest.approx(change / (2 * step), rel=1e-6, abs=1e-8), name


def known(sharp, *, lead=False):
    """Return information that pins every coordinate."""
    stop = STOP if lead else STOP * 0
    return (BASE, np.full(9, sharp + 1), np.full(9, sharp), LEAD, WEIGHT, stop)


def test_effects_keep_their_place_in_the_unit_of_their_model():
    """A well-known effect times its model's unit stays as decisiveness moves; a width divides."""
    found, grown = [], []
    for b in (B, B + np.array([0.0, 1.5])):
        ahead, logs, _ = expansion.unfold(b, SD, W * 0, OTHERS, NU, known(1e8), PLACES, UNITS)
        found.append(ahead[2:14])
        grown.append(logs)
    one, two = (np.exp(logs) for logs in grown)
    assert (two[:NONE] > one[:NONE]).all()
    assert two[NONE] == one[NONE] == 1
    mean = [effects[7:9].mean() for effects in found]
    np.testing.assert_allclose(mean[0] * one[SHARED], mean[1] * two[SHARED], rtol=1e-6)
    np.testing.assert_allclose(found[0][6] * one[VIEWS], found[1][6] * two[VIEWS], rtol=1e-6)
    width = [logs[0] - logs[LEVEL] for logs in grown]
    np.testing.assert_allclose(found[1][5] - found[0][5], width[0] - width[1], rtol=1e-6)


def test_a_view_follows_the_product_of_discrimination_and_distance():
    """And the coordinate of a mean of wordings is minus the root of their number times it."""
    found, grown = [], []
    for others in (OTHERS, OTHERS + 12.0):
        given = (SD, W * 0, others, NU, known(1e8, lead=True), PLACES, UNITS)
        ahead, logs, _ = expansion.unfold(B, *given)
        effects = ahead[2:14]
        belief = np.exp(effects[2]) * (effects[11] - effects[3]) * effects[4] / 2
        assert ahead[BELIEF] == pytest.approx(belief)
        assert ahead[MEAN] == pytest.approx(-(2**0.5) * effects[7:9].mean())
        assert ahead[MEAN + 1] == pytest.approx(-(effects[10] - effects[9]) * 0.5**0.5)
        found.append((effects, belief))
        grown.append(np.exp(logs[VIEWS]))
    (one, first), (two, then) = found
    moved = grown[0] * (-0.8 * (then - first)) - 0.3 * (two[11] - one[11])
    assert abs(then - first) > 1.0
    assert grown[0] * (two[6] - one[6]) == pytest.approx(moved, rel=1e-6)


def test_reflections_are_an_isometry_onto_effects_that_sum_to_zero():
    """Deviates of one scale, without information: effects are an orthogonal matrix times them."""
    nothing = (np.zeros(9), np.ones(9), np.zeros(9), LEAD, WEIGHT * 0, STOP * 0)
    given = (OTHERS, NU, nothing, PLACES, (*UNITS[:-1], np.full((9, 2), -1)))

    def effects(w):
        return expansion.expand(B * 0, np.ones(2), w, *given)[0][:11]

    matrix = np.stack([effects(one) for one in np.eye(9)], axis=1)
    np.testing.assert_allclose(matrix.T @ matrix, np.eye(9), atol=1e-12)
    np.testing.assert_allclose(matrix[2:5].sum(axis=0), 0, atol=1e-12)
    constraint = 0.6 * matrix[7:9].sum(axis=0) + 0.8 * (matrix[10] - matrix[9])
    np.testing.assert_allclose(constraint, 0, atol=1e-12)
    np.testing.assert_allclose(
        abs(matrix[:2].sum(axis=0)), 2**0.5 * (np.arange(9) == 1), atol=1e-12
    )


def test_the_unit_of_a_model_is_its_noise():
    """By a simulation: logistic noise and what is integrated out, without views and with them."""
    rng = np.random.default_rng(1)
    kappa, first, then = np.array([0.5, 3.0, 30.0]), np.array([0.7, 0, 1]), np.array([1.1, 0, 0.4])
    at, before = np.log(kappa) - 0.8, []
    for k, s in zip(at, first, strict=True):
        before.append(units.noise_of(k, s))
    scales = then.mean() + 0.5, then.mean() - 0.5
    spread = np.stack([then - scales[1], scales[0] - then], axis=1)
    share = np.array([0.2, 0.3, 0.5])
    args = np.full((3, 1), 0.8), at, spread, np.array(before), share
    logs = units.evaluate(np.ones(1), np.array(scales), *args)
    for views, found in ((0, logs[:3]), (1, logs[3:6])):
        noise = []
        for k, s in (*zip(np.exp(at), first, strict=True), *zip(kappa, then, strict=True)):
            drawn = rng.logistic(size=400_000) / k + s * rng.normal(size=400_000)
            noise.append((drawn + views * rng.normal(size=400_000)).std())
        np.testing.assert_allclose(found, np.log(noise[:3]) - np.log(noise[3:]), atol=0.01)
    assert logs[6] == pytest.approx(logs[:3].mean())
    assert logs[7] == pytest.approx(share @ logs[:3])
    assert logs[8] == 0
