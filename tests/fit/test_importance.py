import numpy as np
import pytest
from scipy import special

from polbayes.fit.sampling.importance import pareto_smoothed


@pytest.mark.parametrize("shape", [0.3, 0.9])
def test_the_shape_of_pareto_distributed_ratios(shape):
    """The exponential of `shape` standard exponential numbers is Pareto(1 / shape)."""
    logs = shape * np.random.default_rng(0).exponential(size=(40, 4000))
    weights, k = pareto_smoothed(logs)
    # The estimate is drawn towards 0.5 as if by ten draws of some 190 in the tail.
    expected = (shape * 190 + 0.5 * 10) / 200
    assert k.mean() == pytest.approx(expected, abs=0.05)
    np.testing.assert_allclose(special.logsumexp(weights, axis=1), 0, atol=1e-12)
    # Outside of the tail, weights have the proportions of the ratios.
    body = np.argsort(logs, axis=1)[:, :3700]
    found, given = (np.take_along_axis(x, body, axis=1) for x in (weights, logs))
    np.testing.assert_allclose(found - found[:, :1], given - given[:, :1], atol=1e-12)


def test_fewer_effective_draws_smooth_a_longer_tail():
    logs = 0.5 * np.random.default_rng(1).exponential(size=(1, 4000))
    raw = logs - special.logsumexp(logs)

    def smoothed(efficiency):
        weights, _ = pareto_smoothed(logs, efficiency=efficiency)
        moved = (weights - raw) - np.median(weights - raw)
        return int((abs(moved) > 1e-12).sum())

    # 3 sqrt(S / efficiency); no smoothed ratio is above the largest one, which may stay.
    assert smoothed(1.0) == pytest.approx(189.7, abs=2)
    assert smoothed(0.25) == pytest.approx(379.5, abs=2)


@pytest.mark.parametrize("draws", [20, 1000])
def test_a_tail_without_a_shape_is_left_as_it_is(draws):
    """With equal ratios, or too few, k is infinite and the weights are the ratios' shares."""
    logs = np.log(np.where(np.arange(draws) % 2, 3.0, 1.0))[None]
    weights, k = pareto_smoothed(logs)
    assert k.tolist() == [np.inf]
    np.testing.assert_allclose(np.exp(weights[0, :2]), [1 / (2 * draws), 3 / (2 * draws)])
