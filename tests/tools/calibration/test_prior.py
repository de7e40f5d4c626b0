"""Parameters drawn from the prior, against the moments of the documented distributions."""

import numpy as np
import pytest
from scipy import stats

from polbayes.fit.spec.priors import parse_prior
from tools.calibration.designs import CASES, lay_out_design, spec_of
from tools.calibration.prior import draw, draw_parameters
from tools.calibration.sbc import pose


@pytest.fixture(scope="module")
def ideology():
    case = CASES["ideology"]
    return pose(spec_of(case), lay_out_design(case), case.runs)


@pytest.fixture(scope="module")
def drawn(ideology):
    rng = np.random.default_rng(3)
    return [draw_parameters(ideology.spec, ideology.parts, 3, rng) for _ in range(250)]


@pytest.mark.parametrize(
    ("text", "quantile"),
    [
        ("Normal(1, 2)", 1.0),
        ("HalfNormal(2)", 2 * 0.67449),
        ("LogNormal(0.5, 0.7)", np.exp(0.5)),
        ("Exponential(2)", np.log(2) / 2),
        ("HalfCauchy(3)", 3.0),
        ("Cauchy(1, 2)", 1.0),
        ("Laplace(1, 2)", 1.0),
        ("StudentT(3, 1, 2)", 1.0),
        ("HalfStudentT(1, 2)", 2.0),  # with one degree of freedom it is half-Cauchy
        ("Gamma(1, 2)", np.log(2) / 2),  # and gamma of shape 1 exponential
    ],
)
def test_the_median_of_a_prior(text, quantile):
    values = draw(parse_prior(text, where="here"), 4000, np.random.default_rng(1))
    below = (values < quantile).mean()
    assert below == pytest.approx(0.5, abs=0.032)  # four standard errors


def test_effects_sum_to_zero_where_the_documentation_says_so(ideology, drawn):
    frame = ideology.cells.frame
    for parameters in drawn[:20]:
        for part, factors, within, zero in [
            ("discrimination", ("item",), "dimension", True),
            # Those asked are a sample of prefixes and of a domain's statements.
            ("steer", ("model", "prefix"), "model", False),
            ("difficulty", ("item",), "dimension", False),
            ("quirk", ("model", "item"), "dimension", False),
        ]:
            sums = frame.assign(v=parameters.terms[part, factors]).groupby(within)["v"].mean()
            assert ((abs(sums) < 1e-12) == zero).all()
            assert np.std(parameters.terms[part, factors]) > 0


def test_scales_are_half_normal_and_effects_follow_them(ideology, drawn):
    scales = np.array([p.scales["difficulty: item"] for p in drawn])
    assert stats.kstest(scales, stats.halfnorm(scale=1).cdf).pvalue > 0.001
    frame = ideology.cells.frame
    items = frame.drop_duplicates("item").index
    effects = np.array([p.terms["difficulty", ("item",)][items] for p in drawn])
    # Six effects, none of which follows from the others.
    squares = (effects**2).sum(axis=1) / scales**2
    assert stats.kstest(squares, stats.chi2(6).cdf).pvalue > 0.001


def test_correlations_are_lkj(drawn):
    r = np.array([p.correlations["theta", ("model",)][0, 1] for p in drawn])
    assert stats.kstest((r + 1) / 2, stats.beta(2, 2).cdf).pvalue > 0.001


def test_a_scale_for_every_model(drawn):
    names = {n for n in drawn[0].scales if n.startswith("wording: model:item:variant")}
    terms = ("model:item:variant", "model:item:variant:prefix")
    assert names == {f"wording: {term} [m{k}]" for term in terms for k in range(4)}
