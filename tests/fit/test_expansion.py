"""Effects from the numbers that are sampled, and slopes back."""

import numpy as np
import pytest

from polbayes.fit.density import expansion, units

# Two models. Their effects: two of decisiveness, then one on a width, and two of one scale of which
# the second follows a coefficient, an effect and another one's. One coefficient is of decisiveness.
B, SD, W, OTHERS = (
    np.array(v) for v in ([0.4, -0.2], [0.8, -0.6], [0.3, -0.2, 0.5, 1.1, -0.7], [0.9])
)
NU = np.array([4.0])
MODE = np.array([0.1, 0.0, 0.3, -0.2, 0.2, 0.5, -0.4, 0.6])
LEAD = np.array([[1, 0, 0], [1, 0, 0], [0, 0, 0], [0, 0, 0], [0, 5, 7]])
WEIGHT = np.array([[0.3, 0, 0], [-0.2, 0, 0], [0, 0, 0], [0.4, 0, 0], [0.5, 0.6, -0.3]])
STOP = np.array([[0, 1], [0, 1], [0, 0], [1, 1], [2, 3]])  # the other one's effect has no unit
TOTAL, PRECISION = np.array([2.0, 1.5, 3.0, 2.5, 4.0]), np.array([1.0, 0.5, 2.0, 1.5, 3.0])
KNOWN = (MODE, MODE[2:7] - 0.1, TOTAL, PRECISION, LEAD, WEIGHT, STOP)
SHARES = np.where(np.arange(6) < 2, 0.3, 0.0)
PLACES = (
    *(np.zeros((6, 2)), np.array([1, 1, 0, 0, 0]), np.arange(5), np.array([5])),
    *(np.where(np.arange(6) < 2, 0, -1), SHARES, np.array([0]), np.array([-1, 0, -1, -1, 0])),
)
VIEWS, SHARED, NONE = 3, 4, 5  # the unit with views of the second model
UNITS = (
    *(np.array([[0.0, 1.0, 0.7, -0.3], [0.0, 1.0, -0.3, 0.7]]), np.array([0.5, 2.0])),
    *(np.array([[0.9], [1.4]]), np.array([0.8, 0.7]), np.array([0.4, 0.6]), np.array(2)),
    np.array([SHARED, NONE, NONE, NONE, NONE, 0, VIEWS, SHARED]),
    np.array([-1, -1, 0, -1, -1]),
)
TAKEN = np.array([1.0, -0.5, 0.7, 0.2, -1.3, 0.4, 0.8])


def total(b=B, sd=SD, w=W, others=OTHERS, nu=NU):
    effects, logp = expansion.expand(b, sd, w, others, nu, KNOWN, PLACES, UNITS)
    return TAKEN @ effects + logp.item()


def test_slopes_are_those_of_the_effects_whatever_memory_holds(monkeypatch):
    """Memory that was never written may hold NaN, and 0 times NaN is not 0."""
    monkeypatch.setattr(np, "empty", lambda shape: np.full(shape, np.nan))
    given = {"b": B, "sd": SD, "w": W, "others": OTHERS, "nu": NU}
    found = expansion.pull_back.py_func(*given.values(), KNOWN, PLACES, UNITS, TAKEN, np.array(1.0))
    step = 1e-6
    for (name, at), slopes in zip(given.items(), found, strict=True):
        for k, one in enumerate(np.eye(len(at))):
            change = total(**{name: at + step * one}) - total(**{name: at - step * one})
            assert slopes[k] == pytest.approx(change / (2 * step), rel=1e-6, abs=1e-8), name


def test_effects_keep_their_place_in_the_unit_of_their_model():
    """A well-known effect times its model's unit stays as decisiveness moves; a width divides."""
    sharp = 1e8
    known = (MODE, MODE[2:7], np.full(5, sharp + 1), np.full(5, sharp), LEAD, WEIGHT, STOP * 0)
    found, grown = [], []
    for b in (B, B + np.array([0.0, 1.5])):
        effects, _ = expansion.expand(*(b, SD, W * 0, OTHERS, NU, known, PLACES, UNITS))
        ahead = np.empty(8)
        logs, _ = expansion.decide(b, SD, W * 0, NU, ahead, known, PLACES, UNITS)
        found.append(effects)
        grown.append(logs)
    one, two = (np.exp(logs) for logs in grown)
    assert (two[:NONE] > one[:NONE]).all()
    assert two[NONE] == one[NONE] == 1
    np.testing.assert_allclose(found[0][3] * one[0], found[1][3] * two[0], rtol=1e-6)
    np.testing.assert_allclose(found[0][4] * one[VIEWS], found[1][4] * two[VIEWS], rtol=1e-6)
    width = [logs[0] - logs[SHARED] for logs in grown]
    np.testing.assert_allclose(found[1][2] - found[0][2], width[0] - width[1], rtol=1e-6)


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
    assert logs[6] == pytest.approx(share @ logs[:3])
    assert logs[7] == 0
