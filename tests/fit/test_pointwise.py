"""Log-likelihoods by cell and draw, against scipy's distributions."""

from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr
from scipy import integrate, special, stats

from polbayes.fit.density.model import build
from polbayes.fit.families.ordinal import cutpoints, ordinal_probabilities
from polbayes.fit.posterior.pointwise import draws_of, likelihoods, log_likelihood

DRAWS = 3
ITEMS = (
    ("e1", "economic", "left", ("original", "opposite")),
    ("e2", "economic", "right", ("original",)),
    ("c1", "cultural", "right", ("original", "opposite")),
)
PARTS = {  # without an intercept, so that the wordings' effects need not sum to zero
    "theta": "~ 0 + dimension",
    "steer": "~ (1 | model)",
    "wording": "~ (1 | gr(model:item:variant, by = model))",
}
ALL = slice(None)


def fabricate(built, seed=0, **more):
    """Make up draws; their values are of no importance."""
    rng = np.random.default_rng(seed)
    size = built.layout.blocks[-1].stop
    vectors = {
        "effects": rng.normal(0, 0.8, (1, DRAWS, size)),
        "sd": rng.uniform(0.3, 1.5, (1, DRAWS, len(built.layout.scales))),
        **more,
    }
    return xr.Dataset({k: (("chain", "draw", k), v) for k, v in vectors.items()})


@pytest.fixture(scope="module")
def stances(coded, bound):
    """Two models, one prefix, four answers a cell; the wordings' effects are one a cell."""
    rng = np.random.default_rng(1)
    data = coded(rng.integers(-1, 2, (2, 3, 2, 1, 4)), items=ITEMS, prefixes=["baseline"], runs=4)
    spec, cells, parts = bound(PARTS, data)
    built = build(spec, cells, parts)
    drawn = fabricate(built, gap=rng.uniform(0.3, 2, (1, DRAWS, 1)))
    return SimpleNamespace(built=built, drawn=drawn, draws=draws_of(drawn))


def predictor(case, k, *, factor=1.0):
    """Return the predictor of draw k by the formula, the wordings' effects multiplied."""
    g, built = case.built.layout.answers, case.built
    effects = case.draws.effects[k].copy()
    (block,) = [b for b in built.layout.blocks if b.part == "wording"]
    effects[block.start : block.stop] *= factor
    asked, theta, steer = (
        (g.weight * effects[g.index])[:, g.roles[r] : g.roles[r + 1]].sum(axis=1) for r in range(3)
    )
    return asked + g.keying * (theta + steer)


def test_counts_have_their_multinomial_coefficient(stances):
    part = likelihoods(stances.built, integrate=False)["answers"]
    found = log_likelihood(part, stances.draws, ALL)
    counts = stances.built.cells.counts
    for k in range(DRAWS):
        cuts = cutpoints(stances.draws.gaps[k], 1.0)
        p = ordinal_probabilities(predictor(stances, k), cuts)
        expected = stats.multinomial(4, p).logpmf(counts)
        np.testing.assert_allclose(found[:, k], expected, rtol=1e-9)


def test_the_multinomial_coefficient_by_hand(stances):
    """Counts (2, 1, 1) come about in 4! / (2! 1! 1!) = 12 ways."""
    part = likelihoods(stances.built)["answers"]
    at = [tuple(sorted(row)) for row in part.answers]
    ways = {(0, 0, 4): 1, (0, 1, 3): 4, (0, 2, 2): 6, (1, 1, 2): 12}
    assert len(set(at)) > 2
    np.testing.assert_allclose(np.exp(part.constant), [ways[row] for row in at])


def check_integral(case, factor, inflation):
    """Compare with the integral over a normal effect, by scipy."""
    part = likelihoods(case.built)["answers"]
    assert part.integrated.all()
    found = log_likelihood(part, case.draws, ALL)
    models = case.built.cells.frame["model"].to_numpy()
    names = list(case.built.layout.scales)
    for k, c in np.ndindex(DRAWS, len(part.at)):
        eta = predictor(case, k, factor=factor)[c]
        scale = names.index(("wording", "model:item:variant", models[c]))
        sd = case.draws.scales[k, scale] * inflation**0.5
        cuts = cutpoints(case.draws.gaps[k], 1.0)

        def density(u, eta=eta, sd=sd, cuts=cuts, c=c):
            p = ordinal_probabilities(np.array(eta + u), cuts)
            return stats.multinomial.pmf(part.answers[c], 4, p) * stats.norm.pdf(u, 0, sd)

        expected, _ = integrate.quad(density, -10 * sd, 10 * sd, points=[0], limit=200)
        assert np.exp(found[c, k]) == pytest.approx(expected, rel=1e-5)


def test_effects_of_one_cell_are_integrated_out(stances):
    check_integral(stances, 0.0, 1.0)


def test_where_effects_sum_to_zero_their_mean_is_that_of_the_others(stances, coded, bound):
    """Five wordings a model: the others' mean is -u / 4, known with a variance of s² / 4."""
    parts = {**PARTS, "acquiescence": "~ 1 + (1 | model)"}
    rng = np.random.default_rng(1)
    data = coded(rng.integers(-1, 2, (2, 3, 2, 1, 4)), items=ITEMS, prefixes=["baseline"], runs=4)
    built = build(*bound(parts, data))
    drawn = fabricate(built, gap=rng.uniform(0.3, 2, (1, DRAWS, 1)))
    case = SimpleNamespace(built=built, draws=draws_of(drawn))
    check_integral(case, -1 / 4, 5 / 4)


@pytest.mark.parametrize("n", [1, 30, 2000])
@pytest.mark.parametrize("spread", [0.05, 1.0, 4.0])
@pytest.mark.parametrize("eta", [0.0, -9.0])
def test_the_integral_is_right_for_few_and_many_answers(n, spread, eta):
    from polbayes.fit.density.kernel import shifted

    counts = np.array([n // 3, n - n // 3], dtype=float)

    def log_integrand(z):
        x = eta + spread * z
        return (
            counts[0] * special.log_expit(-x)
            + counts[1] * special.log_expit(x)
            + stats.norm.logpdf(z)
        )

    grid = np.linspace(-90, 90, 4_000_001)
    expected = special.logsumexp(log_integrand(grid)) + np.log(grid[1] - grid[0])
    none = np.empty(0)
    (found,) = shifted(np.array([eta]), np.zeros(1), np.array([spread]), none, counts[None])
    assert found == pytest.approx(expected, abs=1e-5)


def test_an_effect_of_two_cells_is_not_integrated_out(coded, bound):
    data = coded(np.random.default_rng(1).integers(-1, 2, (2, 3, 2, 2, 1)), items=ITEMS)
    built = build(*bound(PARTS, data))
    part = likelihoods(built)["answers"]
    assert not part.integrated.any()
    # Where one of the two was not answered, the effect is the other's alone.
    data["status"][{"model": 0, "item": 0, "variant": 0, "prefix": 0}] = 0
    spec, cells, parts = bound(PARTS, data)
    part = likelihoods(build(spec, cells, parts))["answers"]
    (alone,) = np.flatnonzero(part.integrated)
    row = cells.frame.iloc[part.at[alone]]
    assert tuple(row[["model", "item", "variant", "prefix"]]) == (
        "m1",
        "e1",
        "original",
        "please",
    )


def test_effects_that_sum_to_zero_in_pairs_are_not_integrated_out(coded, bound):
    data = coded(np.random.default_rng(1).integers(-1, 2, (2, 3, 2, 1, 1)), items=ITEMS)
    parts = {**PARTS, "wording": "~ (1 | item:variant) + (1 | model:item:variant)"}
    assert not likelihoods(build(*bound(parts, data)))["answers"].integrated.any()


@pytest.mark.parametrize(("family", "own"), [("logit_normal", "sigma"), ("beta", "phi")])
def test_continuous_densities_are_those_of_the_answer_itself(coded, bound, family, own):
    """So that the two families can be compared: both integrate to 1 over (0, 1)."""
    r_plus = np.random.default_rng(1).uniform(0.02, 0.98, (2, 3, 2, 1, 1))
    data = coded(items=ITEMS, prefixes=["baseline"], r_plus=r_plus)
    parts = {"theta": "~ 0 + dimension", "acquiescence": "~ 1", own: "~ 1"}
    spec, cells, bindings = bound(parts, data, response="r_plus", family=family)
    built = build(spec, cells, bindings)
    drawn = fabricate(built)
    part = likelihoods(built)["answers"]
    found = log_likelihood(part, draws_of(drawn), ALL)
    g = built.layout.answers
    for k in range(DRAWS):
        entering = g.weight * drawn["effects"].values[0, k][g.index]
        eta = entering[:, : g.roles[1]].sum(axis=1)
        eta = eta + g.keying * entering[:, g.roles[1] : g.roles[2]].sum(axis=1)
        parameter = np.exp(entering[:, g.roles[4] :].sum(axis=1))
        if family == "beta":
            mean = special.expit(eta)
            expected = stats.beta(mean * parameter, (1 - mean) * parameter).logpdf(cells.value)
        else:
            # P(Y <= y) = P(logit Y <= logit y), differentiated by differences
            h = 1e-6
            ends = [special.logit(cells.value + d) for d in (-h, h)]
            low, high = (stats.norm(eta, parameter).cdf(end) for end in ends)
            expected = np.log((high - low) / (2 * h))
        np.testing.assert_allclose(found[:, k], expected, rtol=1e-4, atol=1e-5)


def test_validity_is_a_likelihood_of_its_own(coded, bound):
    stance = np.random.default_rng(3).integers(-1, 3, (2, 3, 2, 1, 4))
    stance[1, 0] = 2  # not answered at all
    data = coded(np.where(stance == 2, 3, stance), items=ITEMS, prefixes=["baseline"], runs=4)
    parts = {**PARTS, "validity": "~ 1 + (1 | item)"}
    spec, cells, bindings = bound(parts, data)
    built = build(spec, cells, bindings)
    drawn = fabricate(built, gap=np.ones((1, DRAWS, 1)))
    both = likelihoods(built)
    assert len(both["answers"].at) == len(cells.frame) - 2
    assert len(both["validity"].at) == len(cells.frame)
    g = built.layout.validity
    found = log_likelihood(both["validity"], draws_of(drawn), ALL)
    for k in range(DRAWS):
        eta = (g.weight * drawn["effects"].values[0, k][g.index]).sum(axis=1)
        expected = stats.binom(4, special.expit(eta)).logpmf(cells.answered)
        np.testing.assert_allclose(found[:, k], expected, rtol=1e-9)
