"""Effects from the numbers that are sampled, and slopes back."""

import numpy as np
import pytest

from polbayes.fit.density import expansion

# Two effects of one scale, of which neither follows any other: leads of weight 0.
NOBODY, NO_ONE = np.zeros(0), np.zeros(0, dtype=int)
KNOWN = (NOBODY, np.zeros(2), NOBODY, np.ones(2), np.ones(2))
LEADS = (np.zeros((2, 1), dtype=int), np.zeros((2, 1)))
PLACES = (
    *(np.zeros((2, 0)), np.zeros(2, dtype=int), np.arange(2), NO_ONE),
    *(np.full(2, -1), np.zeros(2), NO_ONE, np.full(2, -1)),
)
TAKEN = np.array([1.0, -0.5])


def total(sd, w):
    effects, logp = expansion.expand(NOBODY, sd, w, NOBODY, NOBODY, *KNOWN, *LEADS, *PLACES)
    return TAKEN @ effects + logp.item()


def test_slopes_are_those_of_the_effects_whatever_memory_holds(monkeypatch):
    """Memory that was never written may hold NaN, and 0 times NaN is not 0."""
    monkeypatch.setattr(np, "empty", lambda shape: np.full(shape, np.nan))
    sd, w = np.array([0.8]), np.array([0.3, -0.2])
    of_b, of_sd, of_w, of_others, of_nu = expansion.pull_back.py_func(
        *(NOBODY, sd, w, NOBODY, NOBODY, *KNOWN, *LEADS, *PLACES, TAKEN, np.array(1.0))
    )
    step = 1e-6
    assert of_sd[0] == pytest.approx(
        (total(sd + step, w) - total(sd - step, w)) / (2 * step), rel=1e-6
    )
    for k, one in enumerate(np.eye(2)):
        change = total(sd, w + step * one) - total(sd, w - step * one)
        assert of_w[k] == pytest.approx(change / (2 * step), rel=1e-6)
    assert of_b.size == of_others.size == of_nu.size == 0
