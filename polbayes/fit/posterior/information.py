"""Which questions tell most about a quantity: the expected reduction of its posterior variance."""

from collections.abc import Callable

import numpy as np


def most_informative(
    expected: np.ndarray,
    noise: np.ndarray,
    usable: np.ndarray,
    wanted: np.ndarray,
    *,
    number: int,
    cost: np.ndarray,
    allowed: Callable[[int], bool],
    chosen: Callable[[int], None],
) -> list[int]:
    """Choose questions one by one, each given those before it.

    By linear Bayes estimation a usable answer y to a question, with expectation m given the
    parameters and variance v around it, reduces the variance of a quantity q by
    Cov(q, m)² / (Var(m) + v) on average, and a question by that times the probability of such an
    answer. Covariances are those of posterior draws, whose part that is expected by chance is taken
    off; after each choice they become those expected with its answer, so that a second question
    about the same thing tells less.

    Parameters
    ----------
    expected
        ``[draw, question]`` expected answers.
    noise
        ``[question]`` variances of an answer given the parameters.
    usable
        ``[question]`` probabilities, above 0, that an answer can be used.
    wanted
        ``[draw, quantity]`` the quantities; the sum of their variances is to fall.
    number
        How many questions to choose at most.
    cost
        ``[question]`` what one costs.
    allowed
        Whether a question may be chosen now.
    chosen
        Called with each chosen question.

    Returns
    -------
    list of int
        The questions, the most informative per cost first.
    """
    draws = len(expected)
    m = expected - expected.mean(axis=0)
    q = wanted - wanted.mean(axis=0)
    found: list[int] = []
    open_ = np.ones(m.shape[1], dtype=bool)
    while len(found) < number and open_.any():
        variance = (m**2).mean(axis=0)
        shared = ((q.T @ m / draws) ** 2).sum(axis=0)
        by_chance = (q**2).mean(axis=0).sum() * variance / draws
        answers = np.maximum(variance + noise, 1e-9) / usable
        gain = np.maximum(shared - by_chance, 0.0) / answers / cost
        for best in np.argsort(-np.where(open_, gain, -1.0), kind="stable"):
            if not open_[best] or allowed(int(best)):
                break
        if not open_[best] or not allowed(int(best)):
            break
        best = int(best)
        found.append(best)
        chosen(best)
        open_[best] = False
        one = m[:, best].copy()
        if variance[best] < 1e-12:
            continue
        # The draws are shrunk along the answer so that their covariances are those given it.
        kept = 1 - np.sqrt(max(1 - variance[best] / answers[best], 0.0))
        m -= np.outer(one, kept * (one @ m) / (draws * variance[best]))
        q -= np.outer(one, kept * (one @ q) / (draws * variance[best]))
    return found
