"""A balanced Gaussian design of two facets: analysis of variance, lme4 and the posterior agree.

The answers are logits of probabilities, so that the logit-normal family is Gaussian. The
reference numbers are those that `reference/two_facets.R` prints.
"""

import numpy as np
import pytest

from polbayes.config.schema import SamplerConfig
from polbayes.fit.fit import fit
from polbayes.fit.posterior.d_study import precision
from polbayes.fit.posterior.generalizability import own_plan, scores_of
from polbayes.fit.posterior.measurement_design import measurement_design
from polbayes.fit.spec.cells import gather_cells

pytestmark = pytest.mark.filterwarnings("ignore:Cannot cache compiled function")

MODELS, ITEMS, PREFIXES = 10, 12, 4
LME4 = {
    "m": 0.3193534086983,
    "i": 0.1714332107093,
    "p": 0.0999956637567,
    "mi": 0.1174402401862,
    "mp": 0.0803303085320,
    "e": 0.0788887598564,
}


def leanings():
    """Make the data of `reference/two_facets.R`: ``[model, item, prefix]``."""
    m, i, p = np.indices((MODELS, ITEMS, PREFIXES)).astype(float)
    k = np.arange(m.size).reshape(m.shape)
    return (
        0.9 * np.sin(2.3 * m + 0.5)
        + 0.6 * np.sin(1.7 * i**2 + 0.3)
        + 0.3 * np.cos(2.1 * p)
        + 0.5 * np.sin(3.1 * m + 5.3 * i**2 + m * i)
        + 0.35 * np.sin(4.7 * m**2 + 2.9 * p + 1)
        + 0.4 * np.sin(0.37 * k**2 + 0.1 * k)
    )


def analysis_of_variance(y):
    """Equate the mean squares with their expectations; items by prefixes are in the residual."""
    centre = y.mean()
    m, i, p = (y.mean(axis=a, keepdims=True) - centre for a in ((1, 2), (0, 2), (0, 1)))
    mi = y.mean(axis=2, keepdims=True) - centre - m - i
    mp = y.mean(axis=1, keepdims=True) - centre - m - p
    rest = y - centre - m - i - p - mi - mp
    a, b, c = y.shape
    square = {
        "m": b * c * (m**2).sum() / (a - 1),
        "i": a * c * (i**2).sum() / (b - 1),
        "p": a * b * (p**2).sum() / (c - 1),
        "mi": c * (mi**2).sum() / ((a - 1) * (b - 1)),
        "mp": b * (mp**2).sum() / ((a - 1) * (c - 1)),
        "e": (rest**2).sum() / (a * (b - 1) * (c - 1)),
    }
    return {
        "m": (square["m"] - square["mi"] - square["mp"] + square["e"]) / (b * c),
        "i": (square["i"] - square["mi"]) / (a * c),
        "p": (square["p"] - square["mp"]) / (a * b),
        "mi": (square["mi"] - square["e"]) / c,
        "mp": (square["mp"] - square["e"]) / b,
        "e": square["e"],
    }


def test_analysis_of_variance_is_what_lme4_finds():
    assert analysis_of_variance(leanings()) == pytest.approx(LME4, rel=1e-5)


def answered(coded):
    items = tuple(
        (f"i{k:02}", "economic", "left" if k % 2 else "right", ("original",)) for k in range(ITEMS)
    )
    keying = np.where(np.arange(ITEMS) % 2, -1, 1)[:, None]
    r_plus = 1 / (1 + np.exp(-keying * leanings()))
    return coded(
        1,
        items=items,
        models=tuple(f"m{k}" for k in range(MODELS)),
        prefixes=tuple(f"p{k}" for k in range(PREFIXES)),
        r_plus=r_plus[:, :, None, :, None],
    )


@pytest.mark.slow
def test_the_posterior_has_the_same_variances_and_coefficients(coded, spec_of):
    """Unbiased estimates lie well inside the posterior of each variance."""
    parts = {
        "theta": "~ 1 + (1 | model)",
        "difficulty": "~ (1 | item)",
        "quirk": "~ (1 | model:item)",
        "steer": "~ (1 | prefix) + (1 | model:prefix)",
        "acquiescence": "~ 1",
        "sigma": "~ 1",
    }
    spec = spec_of(parts, response="r_plus", family="logit_normal")
    cells = gather_cells(answered(coded), spec)
    result = fit(spec, cells, SamplerConfig(chains=2, tune=400, draws=400), seed=4)
    design = measurement_design(result.parts, cells)
    scores = scores_of(result.posterior, design, latent=True)
    plan = own_plan(design, "economic")
    assert (plan.items, plan.prefixes) == pytest.approx((ITEMS, PREFIXES))
    assert scores.universe.mean() == pytest.approx(LME4["m"], rel=0.1)
    found = {source.name: source.variance[:, 0] for source in scores.sources}
    for name, key in (
        ("difficulty: item", "i"),
        ("quirk: model:item", "mi"),
        ("steer: model:prefix", "mp"),
        ("steer: prefix", "p"),
        ("repetition", "e"),
    ):
        low, high = np.quantile(found[name], [0.1, 0.9])
        assert low < LME4[key] < high, name
    assert_coefficients(precision(scores, "economic", [None]), scores.universe[:, 0], found)


def assert_coefficients(own, universe, found):
    """Compare with the textbook formulas, draw by draw, and with those of lme4's estimates.

    With four prefixes the posterior mean of dependability is 0.05 below that of the estimates.
    """
    of_estimates = {key: LME4[key] for key in ("mi", "mp", "e", "i", "p")}
    of_draws = {
        "mi": found["quirk: model:item"],
        "mp": found["steer: model:prefix"],
        "e": found["repetition"],
        "i": found["difficulty: item"],
        "p": found["steer: prefix"],
    }
    expected = {}
    for name, score, v in (("draws", universe, of_draws), ("lme4", LME4["m"], of_estimates)):
        relative = v["mi"] / ITEMS + v["mp"] / PREFIXES + v["e"] / (ITEMS * PREFIXES)
        absolute = relative + v["i"] / ITEMS + v["p"] / PREFIXES
        expected[name] = {
            "generalizability": score / (score + relative),
            "dependability": score / (score + absolute),
        }
    for coefficient in ("generalizability", "dependability"):
        np.testing.assert_allclose(own[coefficient].ravel(), expected["draws"][coefficient])
        low, high = np.quantile(own[coefficient], [0.1, 0.9])
        assert low < expected["lme4"][coefficient] < high
