"""Confusion matrices from gamma variables, against plain numpy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polbayes.fit.coder_errors.confusion import expand, pull_back


def plain(numbers, tables, points, bins):
    """Write P[k, c] Q[k, c, b] out."""
    size = points + 1
    p = numbers[: tables * size**2].reshape(tables, size, size)
    p = p / p.sum(axis=2, keepdims=True)
    q = np.ones((size, points, 1))
    if bins > 1:
        q = numbers[tables * size**2 :].reshape(size, points, bins)
        q = q / q.sum(axis=2, keepdims=True)
    out = np.zeros((tables + 1, size, points, bins))
    for t, k, c in np.ndindex(tables, size, points):
        out[t, k, c] = p[t, k, c] * q[k, c]
    for k in range(points):
        out[tables, k, k, 0] = 1
    return out.ravel()


@settings(max_examples=30)
@given(st.integers(1, 3), st.integers(2, 4), st.integers(1, 3), st.integers(0, 2**32 - 1))
def test_values_and_slopes(tables, points, bins, seed):
    rng = np.random.default_rng(seed)
    size = tables * (points + 1) ** 2 + ((points + 1) * points * bins if bins > 1 else 0)
    numbers = rng.gamma(2.0, 1.0, size) + 0.1
    found = expand(numbers, tables, points, bins)
    np.testing.assert_allclose(found, plain(numbers, tables, points, bins), rtol=1e-12)
    slope = rng.normal(size=len(found))
    steps = 1e-6 * np.eye(size)
    expected = [
        (plain(numbers + h, tables, points, bins) - plain(numbers - h, tables, points, bins))
        @ slope
        / 2e-6
        for h in steps
    ]
    np.testing.assert_allclose(
        pull_back(numbers, tables, points, bins, slope), expected, rtol=1e-5, atol=1e-6
    )


def test_without_tables_there_is_nothing():
    assert expand(np.empty(0), 0, 0, 0).shape == (0,)
    assert pull_back(np.empty(0), 0, 0, 0, np.empty(0)).shape == (0,)


@pytest.mark.parametrize("mode", ["FAST_COMPILE", "NUMBA"])
def test_through_pytensor(mode):
    import pytensor
    import pytensor.tensor as pt

    from polbayes.fit.density.operation import Confusion

    numbers, x = np.random.default_rng(2).gamma(2, 1, 32 + 36), pt.dvector()
    slope = np.random.default_rng(3).normal(size=3 * 4 * 9)
    out = Confusion(2, 3, 3)(x)
    run = pytensor.function([x], [out, pytensor.grad((out * slope).sum(), x)], mode=mode)
    value, gradient = run(numbers)
    np.testing.assert_allclose(value, plain(numbers, 2, 3, 3), rtol=1e-12)
    np.testing.assert_allclose(gradient, pull_back(numbers, 2, 3, 3, slope), rtol=1e-9, atol=1e-12)
