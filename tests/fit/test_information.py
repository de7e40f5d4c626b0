"""Questions are chosen by the variance that their answers are expected to take away."""

import numpy as np

from polbayes.fit.posterior.information import most_informative


def choose(expected, noise, wanted, *, number, usable=None, cost=None, allowed=lambda _: True):
    return most_informative(
        expected,
        noise,
        np.ones(expected.shape[1]) if usable is None else usable,
        wanted,
        number=number,
        cost=np.ones(expected.shape[1]) if cost is None else cost,
        allowed=allowed,
        chosen=lambda _: None,
    )


def normal_draws(covariance, draws=20_000):
    """Draws whose covariance is exactly the given one."""
    z = np.random.default_rng(1).standard_normal((draws, len(covariance)))
    z -= z.mean(axis=0)
    z = z @ np.linalg.inv(np.linalg.cholesky(np.cov(z.T, bias=True))).T
    return z @ np.linalg.cholesky(np.array(covariance)).T


def best_pair(covariance, noise):
    """Return the second question after the first, from the formula for conditional variances."""
    sigma = np.array(covariance)

    def reduced(sigma, k):
        c = sigma[:, k]
        return sigma - np.outer(c, c) / (c[k] + noise[k - 1])

    first = min(range(1, 4), key=lambda k: reduced(sigma, k)[0, 0])
    after = reduced(sigma, first)
    rest = [k for k in range(1, 4) if k != first]
    return first, min(rest, key=lambda k: reduced(after, k)[0, 0])


# The quantity, two questions about the same part of it, and one about another part.
COVARIANCE = [
    [1.0, 0.50, 0.49, 0.4],
    [0.50, 0.5, 0.48, 0.0],
    [0.49, 0.48, 0.5, 0.0],
    [0.4, 0.0, 0.0, 0.5],
]
NOISE = np.array([0.1, 0.1, 0.1])


def test_a_batch_does_not_ask_the_same_twice():
    draws = normal_draws(COVARIANCE)
    found = choose(draws[:, 1:], NOISE, draws[:, :1], number=2)
    expected = best_pair(COVARIANCE, NOISE)
    assert found == [expected[0] - 1, expected[1] - 1] == [0, 2]


def test_a_dear_question_is_left():
    draws = normal_draws(COVARIANCE)
    found = choose(draws[:, 1:], NOISE, draws[:, :1], number=1, cost=np.array([10.0, 1.0, 1.0]))
    assert found == [1]


def test_what_is_hardly_ever_answered_is_left():
    draws = normal_draws(COVARIANCE)
    for usable, first in ((0.65, 0), (0.55, 2)):
        # Of the first two, 0.50^2 / 0.6 = 0.417; of the third, 0.4^2 / 0.6 = 0.267.
        found = choose(
            draws[:, 1:],
            NOISE,
            draws[:, :1],
            number=1,
            usable=np.array([usable, usable, 1.0]),
        )
        assert found == [first]


def test_a_question_that_may_stay_open_may_be_asked_again():
    """An answer that is usable once in five leaves most of what a second one tells."""
    draws = normal_draws(COVARIANCE)
    found = choose(draws[:, 1:], NOISE, draws[:, :1], number=2, usable=np.array([0.2, 0.2, 0.05]))
    assert found == [0, 1]


def test_what_is_not_allowed_is_passed_over():
    draws = normal_draws(COVARIANCE)
    found = choose(draws[:, 1:], NOISE, draws[:, :1], number=3, allowed=lambda k: k != 0)
    assert found == [1, 2]


def test_a_noisy_answer_tells_little():
    draws = normal_draws(COVARIANCE)
    found = choose(draws[:, 1:], np.array([9.0, 9.0, 0.1]), draws[:, :1], number=1)
    assert found == [2]
