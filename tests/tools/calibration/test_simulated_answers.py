"""Simulated answers and their likelihood, against what follows by hand."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.special import expit, logit

from tools.calibration.answers import (
    Answers,
    draw_answers,
    estimands,
    log_likelihood,
    point_probabilities,
    predictor,
)
from tools.calibration.designs import CASES, lay_out_design, spec_of
from tools.calibration.prior import Parameters
from tools.calibration.sbc import pose

FRAME = pd.DataFrame(
    {
        "model": "m",
        "item": ["a", "a", "b", "b"],
        "variant": ["u", "v", "u", "v"],
        "dimension": "economic",
        "direction": [1, 1, -1, -1],
        "keying": [1, -1, -1, -1],
    }
)


def parameters(gaps=(), **parts):
    values = {name: np.broadcast_to(np.asarray(v, float), 4) for name, v in parts.items()}
    return Parameters(values, {}, {}, {}, np.array(gaps), {})


def test_the_predictor_by_hand():
    p = parameters(
        acquiescence=0.2,
        wording=0.1,
        theta=1.0,
        difficulty=0.4,
        discrimination=np.log(2),
        steer=0.5,
    )
    # 0.3 + s * (2 * 0.6 + 0.5)
    np.testing.assert_allclose(predictor(p, FRAME), [2.0, -1.4, -1.4, -1.4])


@pytest.mark.parametrize("eta", [-0.7, 0.0, 2.0])
def test_probabilities_of_the_points(eta):
    p = parameters(gaps=[1.0], threshold=np.log(2))
    low, high = expit(-1 - eta), expit(1 - eta)
    found = point_probabilities(p, np.full(4, eta), "cumulative")
    np.testing.assert_allclose(found, np.tile([low, high - low, 1 - high], (4, 1)))
    # With four points the one in the middle is 0.
    found = point_probabilities(parameters(gaps=[1.0, 2.0]), np.full(4, eta), "cumulative")
    below = expit(np.array([-1.0, 0.0, 2.0]) - eta)
    np.testing.assert_allclose(found[0], np.diff([0, *below, 1]))


def test_probabilities_far_out_keep_their_digits():
    found = point_probabilities(parameters(gaps=[1.0]), np.array([60.0]), "cumulative")
    # logistic(0.5 - 60) - logistic(-0.5 - 60), to first order
    assert found[0, 1] == pytest.approx(np.exp(-59.5) - np.exp(-60.5), rel=1e-9)
    found = point_probabilities(parameters(gaps=[1.0]), np.array([-60.0]), "cumulative")
    assert found[0, 1] == pytest.approx(np.exp(-59.5) - np.exp(-60.5), rel=1e-9)


def spec_named(name):
    return spec_of(CASES[name])


def test_shares_of_answers_are_their_probabilities():
    p = parameters(gaps=[1.0], theta=0.5)
    spec = spec_named("ideology_one_model")
    answers = draw_answers(p, FRAME, spec, 20000, np.random.default_rng(1))
    expected = point_probabilities(p, predictor(p, FRAME), "cumulative")
    np.testing.assert_allclose(answers.counts / 20000, expected, atol=0.015)
    assert (answers.counts.sum(axis=1) == 20000).all()


def test_unusable_answers_are_left_out_of_the_counts():
    p = parameters(gaps=[1.0], theta=0.5, validity=[-30, 0, 0, 30])
    answers = draw_answers(p, FRAME, spec_named("validity"), 1000, np.random.default_rng(1))
    usable = answers.counts.sum(axis=1)
    assert usable[0] == 0
    assert 400 < usable[1] < 600
    assert usable[3] == 1000
    assert (answers.asked == 1000).all()


def test_beta_answers_have_their_distribution_also_near_the_ends():
    frame = FRAME.loc[np.zeros(4000, dtype=int)]
    p = Parameters(
        {"theta": np.full(4000, 4.0), "phi": np.full(4000, 0.0)}, {}, {}, {}, np.empty(0), {}
    )
    answers = draw_answers(p, frame, spec_named("beta"), 1, np.random.default_rng(5))
    share = expit(4.0)
    # In most answers one minus the answer is below what a float near 1 can tell from 1.
    rest = stats.beta(1 - share, share)
    assert (answers.logs[:, 1] < np.log(1e-16)).mean() == pytest.approx(rest.cdf(1e-16), abs=0.03)
    assert stats.kstest(np.exp(answers.logs[:, 1]), rest.cdf).pvalue > 0.001


def test_log_likelihoods_by_scipy():
    counts = np.array([[1.0, 0, 2], [0, 0, 1], [3, 1, 0], [0, 0, 0]])
    p = parameters(gaps=[1.5], theta=0.3, validity=0.4)
    answers = Answers(counts, np.empty((0, 2)), np.full(4, 5.0))
    chance = point_probabilities(p, predictor(p, FRAME), "cumulative")
    expected = (counts * np.log(chance)).sum()
    expected += 8 * np.log(expit(0.4)) + 12 * np.log(expit(-0.4))
    found = log_likelihood(p, FRAME, spec_named("validity"), answers)
    assert found == pytest.approx(expected)
    value = np.array([0.2, 0.5, 0.9, 0.99])
    logs = np.stack([np.log(value), np.log1p(-value)], axis=1)
    answers = Answers(np.empty((0, 0)), logs, np.ones(4))
    p = parameters(theta=0.3, phi=1.2, sigma=-0.5)
    eta = predictor(p, FRAME)
    phi = np.exp(1.2)
    beta = stats.beta(phi * expit(eta), phi * expit(-eta)).logpdf(value).sum()
    assert log_likelihood(p, FRAME, spec_named("beta"), answers) == pytest.approx(beta)
    normal = stats.norm(eta, np.exp(-0.5)).logpdf(np.log(value / (1 - value))).sum()
    spec = spec_named("ideology_probabilities")
    assert log_likelihood(p, FRAME, spec, answers) == pytest.approx(normal)


def test_the_bias_measure_by_hand():
    """Keyed eta is 0.8 everywhere; agreeing with item b is left-leaning, so it is refused."""
    p = parameters(theta=0.8)
    truth = estimands(p, FRAME, spec_named("bernoulli"))
    net = np.tanh(0.4)  # logistic(x) - logistic(-x)
    assert truth["theta[m, economic]"] == pytest.approx(0.8)
    assert truth["bias_total[m]"] == pytest.approx(net)
    assert truth["bias[m, economic]"] == pytest.approx(net)


def test_acquiescence_is_no_bias():
    p = parameters(theta=0.0, acquiescence=2.0)
    # Item a is asked both ways; item b in statements keyed left only, which are agreed with.
    truth = estimands(p, FRAME, spec_named("bernoulli"))
    assert truth["bias_total[m]"] == pytest.approx((0 - np.tanh(1.0)) / 2)


@pytest.mark.parametrize("name", CASES)
def test_every_case_can_be_posed_and_simulated(name):
    case = CASES[name]
    problem = pose(spec_of(case), lay_out_design(case), case.runs)
    frame = problem.cells.frame
    keying = frame.groupby("dimension")["keying"].nunique()
    assert (keying == 2).all()
    for seed in range(5):
        p, answers = problem.simulate(np.random.default_rng(seed))
        assert np.isfinite(list(estimands(p, frame, problem.spec).values())).all()
        assert np.isfinite(log_likelihood(p, frame, problem.spec, answers))


def test_validity_of_numbers():
    value, mass = np.array([0.2, 0.5, 0.9, 0.99]), np.array([0.7, 0.1, 0.5, 0.3])
    logs, rest = (np.stack([np.log(v), np.log1p(-v)], axis=1) for v in (value, mass))
    answers = Answers(np.empty((0, 0)), logs, np.ones(4), rest)
    p = parameters(theta=0.3, sigma=-0.5, validity=0.4, validity_sigma=0.2)
    spec = spec_named("probabilities_validity")
    expected = stats.norm(predictor(p, FRAME), np.exp(-0.5)).logpdf(logit(value)).sum()
    expected += stats.norm(0.4, np.exp(0.2)).logpdf(logit(mass)).sum()
    assert log_likelihood(p, FRAME, spec, answers) == pytest.approx(expected)
    usable = estimands(p, FRAME, spec)["validity[m]"]
    assert usable == pytest.approx(stats.norm(0.4, np.exp(0.2)).expect(expit), abs=1e-8)
    many = pd.concat([FRAME] * 500, ignore_index=True)
    p = Parameters(
        {k: np.resize(v, 2000) for k, v in p.parts.items()}, {}, {}, {}, np.array([]), {}
    )
    drawn = draw_answers(p, many, spec, 1, np.random.default_rng(2)).mass
    assert np.exp(drawn[:, 0]).mean() == pytest.approx(usable, abs=0.02)
    np.testing.assert_allclose(np.exp(drawn).sum(axis=1), 1.0)


def test_instruments_by_themselves():
    two = pd.concat([FRAME.assign(instrument="one"), FRAME.assign(instrument="two")])
    theta = np.repeat([1.0, -2.0], 4)
    p = Parameters({"theta": theta}, {}, {}, {}, np.array([]), {})
    truth = estimands(p, two.reset_index(drop=True), spec_named("bernoulli"))
    assert truth["theta[m, economic]"] == pytest.approx(-0.5)
    assert truth["theta_instrument[m, economic, two]"] == -2
    # Keyed the way it leans, an item is agreed with by tanh(theta / 2) more than disagreed with.
    assert truth["bias_instrument[m, economic, one]"] == pytest.approx(np.tanh(0.5))
    assert truth["bias_instrument[m, economic, two]"] == pytest.approx(-np.tanh(1.0))


def test_modes_by_hand():
    modes = pd.concat([FRAME.assign(mode="choice"), FRAME.assign(mode="open")], ignore_index=True)
    first = np.repeat([1.0, -1.0], 4)
    parts = {
        "theta": np.full(8, 0.6),
        "steer": 0.3 * first,
        "acquiescence": 0.1 + 0.2 * first,
        "decisiveness": 0.5 + 0.4 * first,
        "discrimination": 0.7 * first,
    }
    terms = {("discrimination", ("mode",)): 0.7 * first}
    p = Parameters(parts, terms, {}, {}, np.array([]), {})
    truth = estimands(p, modes, spec_named("bernoulli"))
    assert truth["theta_mode[m, economic, choice]"] == pytest.approx(np.exp(0.7) * 0.6 + 0.3)
    assert truth["theta_mode[m, economic, open]"] == pytest.approx(np.exp(-0.7) * 0.6 - 0.3)
    assert truth["mode_discrimination[open]"] == pytest.approx(np.exp(-0.7))
    assert truth["mode_agreement[choice]"] == pytest.approx(0.3)
    assert truth["mode_decisiveness[open]"] == pytest.approx(np.exp(0.1))
    # Of the model and of a statement, over modes: geometric means.
    assert truth["decisiveness[m]"] == pytest.approx(np.exp(0.5))
    assert truth["discrimination[a]"] == pytest.approx(1)


def test_statements_that_mean_something_else_in_one_language_by_hand():
    tongues = pd.concat(
        [FRAME.assign(language="de"), FRAME.assign(language="en")], ignore_index=True
    )
    other = np.array([0.0, 0.0, 0.0, 0.0, 0.5, 0.5, -0.2, -0.2])
    terms = {("dif", ("item", "language")): other}
    parts = {
        "theta": np.full(8, 0.6),
        "acquiescence": np.zeros(8),
        "decisiveness": np.zeros(8),
        "dif": other,
    }
    p = Parameters(parts, terms, {}, {}, np.array([]), {})
    keying = np.tile(FRAME["keying"].to_numpy(), 2)
    np.testing.assert_allclose(predictor(p, tongues), keying * (0.6 + other))
    truth = estimands(p, tongues, spec_named("bernoulli"))
    assert {k: v for k, v in truth.items() if k.startswith("dif")} == {
        "dif[a language en]": 0.5,
        "dif[b language en]": -0.2,
    }
    # A new statement means the same to everybody.
    assert truth["lean[m, economic]"] == pytest.approx(np.tanh(0.3))


def test_effects_of_prefixes_by_hand_are_all_that_they_do():
    told = pd.concat([FRAME.assign(prefix="p"), FRAME.assign(prefix="q")], ignore_index=True)
    own, leaning = np.repeat([0.1, 0.3], 4), np.repeat([-0.5, 0.5], 4)
    p = Parameters(
        {"theta": np.zeros(8), "steer": own + 2 * leaning},
        {("steer", ("model", "prefix")): own},
        {"steer: model:prefix": 0.3},
        {},
        np.array([]),
        {"steer: user_leaning": 2.0},
    )
    truth = estimands(p, told, spec_named("bernoulli"))
    assert truth["prefix_steer[m, p]"] == pytest.approx(-1.1)
    assert truth["prefix_steer[m, q]"] == pytest.approx(1.1)
