import hashlib

import numpy as np
import pytest
from scipy.stats import binomtest

from polbayes.errors import UserError
from polbayes.measures.resampling import (
    Bootstrap,
    by_item_set,
    generator,
    item_weights,
    mean_by_item,
    percentile_interval,
    resample_answers,
    share,
    wilson,
)


# Newcombe (1998), Statistics in Medicine 17, Table I, method 3.
@pytest.mark.parametrize(
    ("count", "n", "lower", "upper"),
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_gives_the_published_examples(count, n, lower, upper):
    assert wilson(count, n, 0.95) == pytest.approx((lower, upper), abs=5e-5)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
@pytest.mark.parametrize(("count", "n"), [(0, 3), (1, 3), (3, 3), (17, 40), (999, 1000)])
def test_wilson_is_that_of_scipy(count, n, level):
    expected = binomtest(count, n).proportion_ci(level, method="wilson")
    assert wilson(count, n, level) == pytest.approx(tuple(expected), abs=1e-12)


def test_wilson_at_the_ends_and_without_trials():
    assert wilson(0, 7, 0.9)[0] == 0.0
    assert wilson(7, 7, 0.9)[1] == 1.0
    assert np.isnan(wilson(0, 0, 0.95)).all()


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ((0, 0.95, 1), "at least 1 draw"),
        ((9, 1.0, 1), "between 0 and 1"),
        ((9, 0.0, 1), "between 0 and 1"),
        ((9, 0.5, -1), "negative"),
    ],
)
def test_settings_out_of_range_are_refused(settings, says):
    with pytest.raises(UserError, match=says):
        Bootstrap(*settings)


def test_settings_at_the_ends_of_their_ranges():
    assert Bootstrap(1, 0.9, 0).quantiles == pytest.approx((0.05, 0.95))


def test_a_share_with_its_interval():
    """Wilson's of 3 of 4 at 95 %, as R's prop.test(3, 4, correct = FALSE) gives it."""
    found = share(3, 4, 0.95)
    assert found == {
        "estimate": 0.75,
        "lower": pytest.approx(0.3006418, abs=1e-7),
        "upper": pytest.approx(0.9544127, abs=1e-7),
        "count": 3,
        "n": 4,
        "level": 0.95,
    }
    nothing = share(0, 0, 0.95)
    assert np.isnan([nothing["estimate"], nothing["lower"], nothing["upper"]]).all()
    assert (nothing["count"], nothing["n"]) == (0, 0)


def test_without_answers_there_is_nothing_to_resample():
    found = resample_answers(np.zeros((2, 3), dtype=int), 4, generator(1))
    np.testing.assert_array_equal(found, np.zeros((4, 2, 3)))


def test_draws_are_those_of_earlier_versions():
    """The seed and BLAKE2b of the labels with unit separators between them."""
    digest = hashlib.blake2b(b"model\x1f7", digest_size=16).hexdigest()
    expected = np.random.default_rng([5, int(digest, 16)]).random(3)
    np.testing.assert_array_equal(generator(5, "model", 7).random(3), expected)


def test_answers_are_resampled_as_rows_are():
    """The multinomial against resampling the rows themselves, by moments of the counts."""
    counts = np.array([[5, 0, 7], [3, 2, 13]])
    draws = 20_000
    rng = np.random.default_rng(3)
    rows = np.repeat(np.arange(6), counts.reshape(-1))
    picked = rng.choice(rows, size=(draws, rows.size))
    naive = np.stack([(picked == k).sum(axis=1) for k in range(6)], axis=1)
    fast = resample_answers(counts, draws, generator(1, "x")).reshape(draws, 6)
    assert (fast.sum(axis=1) == 30).all()
    share = counts.reshape(-1) / 30
    error = np.sqrt(30 * share * (1 - share) / draws)
    np.testing.assert_array_less(
        np.abs(fast.mean(0) - naive.mean(0)), 5 * np.sqrt(2) * error + 1e-12
    )
    np.testing.assert_allclose(
        np.cov(fast.T), np.cov(naive.T), atol=5 * np.sqrt(2) * 7.5 / np.sqrt(draws)
    )


def test_items_are_drawn_with_replacement():
    weights = item_weights(["a", "b", "c"], 30_000, 5)
    assert (weights.sum(axis=1) == 3).all()
    # Multinomial(3; 1/3, 1/3, 1/3): mean 1, variance 2/3, covariance -1/3.
    np.testing.assert_allclose(weights.mean(axis=0), 1, atol=5 * np.sqrt(2 / 3 / 30_000))
    np.testing.assert_allclose(np.cov(weights.T), np.eye(3) - 1 / 3, atol=0.03)


def test_generators_follow_seed_and_labels():
    first = generator(1, "model", "a").random(3)
    assert (generator(1, "model", "a").random(3) == first).all()
    assert (generator(2, "model", "a").random(3) != first).all()
    assert (generator(1, "model", "b").random(3) != first).all()


def test_undefined_draws_are_left_out_and_counted():
    draws = np.array([np.nan, 0.0, 1.0, 2.0, 3.0, 4.0, np.nan])
    assert percentile_interval(draws, 0.5) == (1.0, 3.0, 2)
    lower, upper, undefined = percentile_interval(np.full(3, np.nan), 0.5)
    assert np.isnan([lower, upper]).all()
    assert undefined == 3


def test_groups_of_equal_items_come_together():
    present = np.array([[1, 0, 1], [0, 1, 0], [1, 0, 1]], dtype=bool)
    found = {tuple(items): tuple(groups) for groups, items in by_item_set(present)}
    assert found == {(0, 2): (0, 2), (1,): (1,)}


def test_mean_by_item_weights_items_by_their_cells():
    totals = np.array([[1.0, 6.0], [4.0, 0.0], [0.0, 0.0]])
    counts = np.array([[1.0, 3.0], [2.0, 0.0], [0.0, 0.0]])
    means = mean_by_item(totals, counts, ("a", "b"), Bootstrap(4000, 0.9, 1))
    # Resamples of two items: aa (mean 1), ab or ba (7/4), bb (2), so the 90 % bounds are 1 and 2.
    np.testing.assert_allclose(means[0], [7 / 4, 1, 2])
    np.testing.assert_array_equal(means[1], [2, np.nan, np.nan])
    assert np.isnan(means[2]).all()
