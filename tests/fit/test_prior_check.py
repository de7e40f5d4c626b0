"""What the priors say of the answers, against draws made by hand."""

import numpy as np
import pytest

from polbayes.fit.density.model import build
from polbayes.fit.posterior.prior_check import prior_draws, prior_predictive, prior_text

PARTS = {
    "theta": "~ 0 + dimension + (0 + dimension | model)",
    "acquiescence": "~ 1 + (1 | model:prefix)",
    "difficulty": "~ (1 | item)",
    "wording": "~ (1 | item:variant)",
}
ITEMS = tuple(
    (f"{d[0]}{k}", d, "left" if k % 2 else "right", ("original", "opposite"))
    for d in ("economic", "cultural")
    for k in range(4)
)


def made(coded, bound, parts, stance=1, **settings):
    data = coded(stance, items=ITEMS, runs=3)
    return build(*bound(parts, data, **settings))


def test_draws_have_the_prior_s_moments(coded, bound):
    """Coefficients Normal(0, 2); effects of standard deviation HalfNormal(0.5) sum to zero."""
    parts = {"theta": "~ 1", "acquiescence": "~ 1", "difficulty": "~ (1 | item)"}
    built = made(coded, bound, parts, priors={"theta.common": "Normal(3, 2)"})
    drawn = prior_draws(built, draws=6000, seed=1)
    effects = drawn["effects"].values[0]
    (theta,) = [b.start for b in built.layout.blocks if b.part == "theta"]
    (block,) = [b for b in built.layout.blocks if b.part == "difficulty"]
    assert effects[:, theta].mean() == pytest.approx(3, abs=0.12)
    assert effects[:, theta].std() == pytest.approx(2, rel=0.05)
    items = effects[:, block.start : block.stop]
    assert drawn["sd"].shape == (1, 6000, 1)
    # E s² is 1 for HalfNormal(1); that eight items sum to zero leaves 7/8 of the variance.
    assert (items**2).mean() == pytest.approx(7 / 8, rel=0.1)
    np.testing.assert_allclose(items.sum(axis=1), 0, atol=1e-9)
    assert np.log(drawn["gap"].values).std() == pytest.approx(0.7, rel=0.05)


def test_the_answers_and_where_chains_start_do_not_matter(coded, bound):
    rng = np.random.default_rng(0)
    some = made(coded, bound, PARTS, rng.integers(-1, 2, (2, 8, 2, 2, 3)))
    all_agree = made(coded, bound, PARTS, 1)
    one, other = (
        prior_draws(b, draws=4000, seed=3)["effects"].values[0] for b in (some, all_agree)
    )
    assert one.std() == pytest.approx(other.std(), rel=0.05)
    np.testing.assert_allclose(one.std(axis=0), other.std(axis=0), rtol=0.15)
    np.testing.assert_allclose(one.mean(axis=0), 0, atol=0.1)
    np.testing.assert_allclose(other.mean(axis=0), 0, atol=0.1)


def test_a_tight_prior_shows_in_the_table(coded, bound):
    """With everything near 0, answers are those of eta = 0 and the prior of the cutpoints."""
    tight = {
        "common": "Normal(0, 0.001)",
        "sd": "HalfNormal(0.001)",
        "theta.sd": "HalfNormal(0.001)",
    }
    tight |= {"difficulty.sd": "HalfNormal(0.001)", "cutpoints": "LogNormal(0, 0.001)"}
    built = made(coded, bound, PARTS, priors=tight)
    table = prior_predictive(built, seed=1).set_index("quantity")
    bias = table.loc["bias of a model (−1 left, 1 right), all dimensions"]
    assert bias["lower"] == pytest.approx(0, abs=0.01)
    assert bias["upper"] == pytest.approx(0, abs=0.01)
    # P(agree) = P(disagree) = logistic(-1/2), of 48 answers a model and keying
    share = 1 / (1 + np.exp(0.5))
    for side in ("left", "right"):
        row = table.loc[f"share of {side}-leaning statements that a model agrees with"]
        assert row["estimate"] == pytest.approx(share, abs=0.02)
        half = 1.645 * np.sqrt(share * (1 - share) / 48)
        assert row["upper"] - row["lower"] == pytest.approx(2 * half, abs=0.03)
    neutral = table.loc["share of a model's answers that are neutral", "estimate"]
    assert neutral == pytest.approx(1 - 2 * share, abs=0.02)


def test_a_wide_prior_is_seen_to_expect_extremes(coded, bound):
    narrow = prior_predictive(made(coded, bound, PARTS), seed=1)
    wide = {"common": "Normal(0, 10)", "sd": "HalfNormal(10)", "theta.sd": "HalfNormal(10)"}
    found = prior_predictive(made(coded, bound, PARTS, priors=wide), seed=1)
    for table, most in ((narrow, 0.8), (found, 1.0)):
        row = table.set_index("quantity").loc["bias of a model, one dimension"]
        assert -1 <= row["lower"] < row["lower_50"] < row["upper_50"] < row["upper"] <= most
    assert found["upper"].iloc[1] > 0.95


def test_the_table_as_text(coded, bound):
    table = prior_predictive(made(coded, bound, PARTS), level=0.8, seed=1)
    lines = prior_text(table).splitlines()
    assert "before any answer" in lines[0]
    assert "80% of draws" in lines[3]
    assert len({len(line) for line in lines[4:]}) == 1
    assert len(lines) == 4 + len(table)


def test_answer_probabilities_and_unusable_answers_have_rows_too(coded, bound):
    parts = {"theta": "~ 1", "acquiescence": "~ 1", "sigma": "~ 1"}
    data = coded(items=ITEMS, r_plus=np.full((2, 8, 2, 2, 1), 0.4))
    built = build(*bound(parts, data, response="r_plus", family="logit_normal"))
    quantities = " ".join(prior_predictive(built, seed=1, draws=50)["quantity"])
    assert "below 0.05 or above 0.95" in quantities
    assert "neutral" not in quantities
    built = made(coded, bound, {"theta": "~ 1", "acquiescence": "~ 1", "validity": "~ 1"})
    quantities = " ".join(prior_predictive(built, seed=1, draws=50)["quantity"])
    assert "usable" in quantities
