"""Predictive checks: statistics by hand, and intervals that hold what they promise."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import special, stats

from polbayes.data.dataset import STATUS
from polbayes.fit.density.model import build
from polbayes.fit.posterior.pointwise import Draws, draws_of
from polbayes.fit.posterior.predictive import (
    coverage,
    evaluate,
    observed_answers,
    posterior_predictive,
    quirk_tails,
    replicates,
    statistics,
)

ITEMS = tuple(
    (f"{d[0]}{k}", d, "left" if k % 2 else "right", ("original", "opposite"))
    for d in ("economic", "cultural")
    for k in range(10)
)
PARTS = {
    "theta": "~ 0 + dimension + (0 + dimension | model)",
    "difficulty": "~ (1 | item)",
    "acquiescence": "~ 1 + (1 | model) + (1 | model:prefix)",
    "wording": "~ (1 | item:variant)",
}
MODELS, PREFIXES = ("m1", "m2", "m3"), ("baseline", "please", "truth")


def constant(built, effects, *, draws=200, **more):
    """Repeat one set of parameters as if it were every draw of a posterior."""
    vectors = {"effects": effects, "sd": np.full(len(built.layout.scales), 0.5), **more}
    return xr.Dataset(
        {
            name: (("chain", "draw", name), np.broadcast_to(v, (1, draws, len(v))))
            for name, v in vectors.items()
        }
    )


def of(found, statistic, **labels):
    """Return the row of one group."""
    rows = found[found["statistic"] == statistic]
    for name, value in labels.items():
        rows = rows[rows[name] == value]
    (row,) = rows.to_dict("records")
    return row


@pytest.fixture(scope="module")
def simulated(coded, bound):
    """A model, and data that are drawn from it with numpy."""
    shape = (3, 20, 2, 3, 4)
    rng = np.random.default_rng(8)

    def draw(stance):
        return coded(stance, items=ITEMS, models=MODELS, prefixes=PREFIXES, runs=4)

    spec, cells, parts = bound(PARTS, draw(rng.integers(-1, 2, shape)))
    built = build(spec, cells, parts)
    effects = rng.normal(0, 0.7, built.layout.blocks[-1].stop)
    g = built.layout.answers
    entering = g.weight * effects[g.index]
    asked, theta = (entering[:, g.roles[r] : g.roles[r + 1]].sum(axis=1) for r in range(2))
    eta = asked + g.keying * theta
    names = cells.frame[["model", "item", "variant", "prefix"]].itertuples(index=False, name=None)
    order = (list(MODELS), [i[0] for i in ITEMS], ["original", "opposite"], list(PREFIXES))
    grid = np.empty(shape[:4])
    for name, value in zip(names, eta, strict=True):
        grid[tuple(o.index(n) for o, n in zip(order, name, strict=True))] = value
    latent = grid[..., None] + rng.logistic(size=shape)
    stance = np.where(latent > 0.4, 1, np.where(latent < -0.4, -1, 0))
    spec, cells, parts = bound(PARTS, draw(stance))
    return build(spec, cells, parts), effects, stance


def test_data_from_the_model_itself_lie_in_its_intervals(simulated):
    built, effects, _ = simulated
    drawn = constant(built, effects, draws=400, gap=np.array([0.8]))
    found = posterior_predictive(built, drawn, seed=1)
    counts = coverage(found).set_index("statistic")
    # Shares of few answers often lie on the end of an interval, which counts as inside.
    groups = int(counts.loc["all", "groups"])
    assert groups == 6 + 9 + 40 + 3 + 20 + 3 + 3
    assert counts.loc["all", "inside"] * groups > stats.binom.ppf(0.001, groups, 0.9)
    assert counts.loc["all", "inside_50"] * groups > stats.binom.ppf(0.001, groups, 0.5)
    assert counts.loc["all", "inside_50"] < 0.75
    # Kolmogorov and Smirnov of the uniform distribution that p has.
    assert stats.kstest(found["p"], "uniform").pvalue > 0.001


def test_another_model_is_found_out(simulated):
    built, effects, _ = simulated
    (block,) = [
        b
        for b in built.layout.blocks
        if b.part == "acquiescence" and b.group and b.group.term.factors == ("model", "prefix")
    ]
    without = effects.copy()
    without[block.start : block.stop] = 0.0
    drawn = constant(built, without, gap=np.array([0.8]))
    counts = coverage(posterior_predictive(built, drawn, seed=1)).set_index("statistic")
    assert counts.loc["agreement_by_prefix", "inside"] <= 5 / 9


def test_observed_shares_are_those_of_the_answers(simulated):
    built, effects, stance = simulated
    drawn = constant(built, effects, draws=5, gap=np.array([0.8]))
    found = posterior_predictive(built, drawn, seed=1)
    # Right-keyed: the original of items of the right (even numbers), the opposite of the others.
    even = np.arange(20) % 2 == 0
    right = np.concatenate([stance[1, even, 0].ravel(), stance[1, ~even, 1].ravel()])
    row = of(found, "agreement_by_keying", model="m2", keying=1)
    assert row["observed"] == pytest.approx((right == 1).mean())
    assert row["n"] == right.size
    row = of(found, "agreement_by_prefix", model="m3", prefix="truth")
    assert row["observed"] == pytest.approx((stance[2, :, :, 2] == 1).mean())
    row = of(found, "agreement_by_item", item="e1", keying=-1)
    assert row["observed"] == pytest.approx((stance[:, 1, 0] == 1).mean())
    assert of(found, "neutral", model="m1")["observed"] == pytest.approx((stance[0] == 0).mean())
    leaning = stance.mean(axis=(3, 4))[0] * [1, -1]
    expected = np.sqrt(leaning.var(axis=1, ddof=1).mean())
    assert of(found, "between_wordings", model="m1")["observed"] == pytest.approx(expected)


def test_intervals_and_p_are_those_of_the_replicates(simulated):
    built, effects, _ = simulated
    drawn = constant(built, effects, draws=40, gap=np.array([0.8]))
    found = posterior_predictive(built, drawn, level=0.8, seed=1)
    wanted = statistics(built)[0]
    rows = np.array([evaluate(wanted, a) for a in replicates(built, draws_of(drawn), seed=1)])
    observed = evaluate(wanted, observed_answers(built.cells))
    part = found[found["statistic"] == wanted.name]
    np.testing.assert_allclose(part["lower"], np.quantile(rows, 0.1, axis=0))
    np.testing.assert_allclose(part["upper"], np.quantile(rows, 0.9, axis=0))
    np.testing.assert_allclose(part["lower_50"], np.quantile(rows, 0.25, axis=0))
    np.testing.assert_allclose(part["estimate"], np.median(rows, axis=0))
    more, same = (rows > observed).sum(axis=0), (rows == observed).sum(axis=0)
    np.testing.assert_allclose(part["p"], (more + same / 2) / 40)
    assert (found["level"] == 0.8).all()


def test_replicates_have_the_probabilities_of_the_model(simulated):
    """P(agree) = 1 - logistic(0.4 - eta), P(disagree) = logistic(-0.4 - eta)."""
    built, effects, _ = simulated
    drawn = constant(built, effects, draws=3000, gap=np.array([0.8]))
    g = built.layout.answers
    entering = g.weight * effects[g.index]
    asked, theta = (entering[:, g.roles[r] : g.roles[r + 1]].sum(axis=1) for r in range(2))
    eta = asked + g.keying * theta
    agree, disagree = 0, 0
    for answers in replicates(built, draws_of(drawn), seed=5):
        assert (answers.n == 4).all()
        agree, disagree = agree + answers.agree, disagree + answers.disagree
    for found, expected in (
        (agree, stats.logistic.sf(0.4 - eta)),
        (disagree, stats.logistic.cdf(-0.4 - eta)),
    ):
        z = (found - 12_000 * expected) / np.sqrt(12_000 * expected * (1 - expected))
        assert abs(z).max() < 4.5
        assert z.std() == pytest.approx(1, abs=0.2)


@pytest.mark.parametrize(("family", "own"), [("logit_normal", "sigma"), ("beta", "phi")])
def test_answer_probabilities(coded, bound, family, own):
    rng = np.random.default_rng(3)
    r_plus = rng.uniform(0, 1, (2, 4, 2, 1, 1))
    data = coded(items=ITEMS[:4], prefixes=["baseline"], r_plus=r_plus)
    parts = {"theta": "~ 1", "acquiescence": "~ 1", own: "~ 1"}
    spec, cells, bindings = bound(parts, data, response="r_plus", family=family)
    built = build(spec, cells, bindings)
    effects = np.array([0.3, 0.2, np.log(0.8 if own == "sigma" else 5.0)])
    drawn = constant(built, effects, draws=4000)
    found = posterior_predictive(built, drawn, seed=2, most=4000)
    assert set(found["statistic"]) == {
        *("agreement_by_keying", "agreement_by_prefix", "agreement_by_item"),
        *("extreme", "between_wordings"),
    }
    row = of(found, "extreme", model="m1")
    value = (r_plus[0] * 999 + 0.5) / 1000
    assert row["observed"] == pytest.approx(((value < 0.05) | (value > 0.95)).mean())
    # The mean R+ of the eight right-keyed answers of a model.
    row = of(found, "agreement_by_keying", model="m1", keying=1)
    eta = 0.5  # acquiescence 0.2, theta 0.3
    if family == "beta":
        mean = 1 / (1 + np.exp(-eta))
        one = stats.beta(5 * mean, 5 * (1 - mean))
    else:
        x = 1 / (1 + np.exp(-np.random.default_rng(0).normal(eta, 0.8, 200_000)))
        one = stats.norm(x.mean(), x.std())
    assert row["estimate"] == pytest.approx(one.mean(), abs=0.015)
    width = 2 * 1.645 * one.std() / np.sqrt(row["n"])
    assert row["upper"] - row["lower"] == pytest.approx(width, rel=0.1)


def test_answers_that_are_not_usable_are_replicated_too(coded, bound):
    rng = np.random.default_rng(5)
    stance = rng.integers(-1, 2, (2, 4, 2, 2, 3))
    stance[0, :, :, :, 0] = 3
    data = coded(stance, items=ITEMS[:4], runs=3)
    parts = {"theta": "~ 1", "acquiescence": "~ 1", "validity": "~ 1"}
    built = build(*bound(parts, data))
    # P(usable) = logistic(1); theta and acquiescence 0
    effects = np.zeros(3)
    (block,) = [b for b in built.layout.blocks if b.part == "validity"]
    effects[block.start] = 1.0
    drawn = constant(built, effects, draws=2000, gap=np.ones(1))
    found = posterior_predictive(built, drawn, seed=1, most=2000)
    row = of(found, "usable", model="m1")
    assert row["observed"] == pytest.approx(2 / 3)
    assert row["n"] == 48
    expected = stats.binom(48, 1 / (1 + np.exp(-1)))
    assert row["estimate"] == pytest.approx(expected.median() / 48, abs=0.02)
    assert row["lower"] == pytest.approx(expected.ppf(0.05) / 48, abs=0.03)
    assert of(found, "usable", model="m2")["observed"] == 1
    assert len(found[found["statistic"] == "usable_by_item"]) == 4


def test_groups_without_answers_are_left_out(coded, bound):
    """A model that answered no right-keyed statement has no share of agreeing with them."""
    stance = np.ones((2, 4, 2, 1, 1), dtype=int)
    data = coded(stance, items=ITEMS[:4], prefixes=["baseline"])
    keyed = (data["keying"] > 0).broadcast_like(data["status"])
    first = data["model"] == "m1"
    data["status"] = data["status"].where(~(keyed & first), np.int8(STATUS["pending"]))
    built = build(*bound({"theta": "~ 1", "acquiescence": "~ 1"}, data))
    found = posterior_predictive(built, constant(built, np.zeros(2), gap=np.ones(1)), seed=1)
    part = found[found["statistic"] == "agreement_by_keying"]
    assert sorted(zip(part["model"], part["keying"], strict=True)) == [
        ("m1", -1),
        ("m2", -1),
        ("m2", 1),
    ]
    assert found[["observed", "estimate", "lower", "upper", "p"]].notna().all(axis=None)


def test_coverage_counts():
    table = pd.DataFrame(
        {
            "statistic": ["a", "a", "b"],
            "observed": [0.5, 0.9, 0.2],
            "lower": [0.3, 0.3, 0.2],
            "upper": [0.8, 0.8, 0.8],
            "lower_50": [0.45, 0.4, 0.3],
            "upper_50": [0.6, 0.7, 0.6],
            "level": 0.9,
        }
    )
    found = coverage(table).set_index("statistic")
    assert found.loc["a", ["groups", "inside_50", "inside"]].tolist() == [2, 0.5, 0.5]
    assert found.loc["b", ["groups", "inside_50", "inside"]].tolist() == [1, 0, 1]
    assert found.loc["all", "inside"] == pytest.approx(2 / 3)


def test_usable_shares_of_probabilities(coded, bound):
    """Masses of 0.2 and 0.6 for two models, and hardly any spread."""
    items = ITEMS[:8]
    data = coded(1, items=items, models=("m1", "m2"), prefixes=PREFIXES, r_plus=0.5)
    mass = xr.full_like(data["r_plus"], 0.2)
    mass.loc[{"model": "m2"}] = 0.6
    gone = {"model": "m1", "item": items[0][0]}
    r_plus = data["r_plus"].copy()
    r_plus.loc[gone] = np.nan
    data = data.assign(p_agree=mass / 2, p_disagree=mass / 2, r_plus=r_plus)
    parts = {
        "theta": "~ 0 + dimension + (0 + dimension | model)",
        "sigma": "~ 1",
        "validity": "~ 1 + (1 | model)",
    }
    spec, cells, bound_parts = bound(parts, data, response="r_plus", family="logit_normal")
    built = build(spec, cells, bound_parts)
    seen, cells = observed_answers(cells), cells.every
    wanted = {s.name: s for s in statistics(built)}
    usable = evaluate(wanted["usable"], seen)
    labels = wanted["usable"].labels["model"].tolist()
    squeezed = {"m1": (0.2 * 999 + 0.5) / 1000, "m2": (0.6 * 999 + 0.5) / 1000}
    np.testing.assert_allclose(usable, [squeezed[m] for m in labels], rtol=1e-6)
    # What has no R+ is in no share of agreement, but in those of usable answers.
    lost = (cells.frame["model"] == "m1") & (cells.frame["item"] == items[0][0])
    assert seen.n[lost].sum() == 0
    assert seen.n[~lost].all()
    effects = np.zeros(built.layout.blocks[-1].stop)
    for block in built.layout.blocks:
        if block.part == "validity" and block.group is None:
            effects[block.start] = -0.4
        if block.part.endswith("sigma"):
            effects[block.start] = -4.0
    draws = draws_of(constant(built, effects, draws=20))
    shares = [evaluate(wanted["usable"], answers) for answers in replicates(built, draws, seed=1)]
    np.testing.assert_allclose(np.mean(shares, axis=0), special.expit(-0.4), atol=0.005)
    for answers in replicates(built, draws, seed=2):
        np.testing.assert_array_equal(answers.n, seen.n)


def test_tails_of_quirks_are_told_from_normal_ones(bound, coded):
    """A quirk of six standard deviations in one model, normal ones in the other."""
    items = tuple((f"e{k}", "economic", "left", ("original",)) for k in range(30))
    data = coded(items=items, models=("plain", "odd"), prefixes=("a", "b"))
    parts = {"theta": "~ 1", "decisiveness": "~ 1", "quirk": "~ (1 | model:item)"}
    built = build(*bound(parts, data))
    (block,) = [b for b in built.layout.blocks if b.part == "quirk"]
    rng = np.random.default_rng(3)
    effects = np.zeros((300, built.layout.blocks[-1].stop))
    effects[:, block.start : block.stop] = rng.normal(size=(300, block.size))
    whose = block.group.levels["model"].to_numpy()
    effects[:, block.start + np.flatnonzero(whose == "odd")[0]] = 6.0
    draws = Draws(effects, *(np.ones((300, k)) for k in (1, len(built.layout.scales), 0, 0)))
    (table,) = quirk_tails(built, draws, level=0.9, seed=1)
    found = table.set_index("model")
    assert found.loc["odd", "p"] < 0.01
    assert 0.35 < found.loc["plain", "p"] < 0.65
    assert found.loc["plain", "observed"] == pytest.approx(3, abs=0.5)
    assert found.loc["odd", "n"] == 30
