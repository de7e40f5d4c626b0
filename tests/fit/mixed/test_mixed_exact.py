"""Draws without a Markov chain, against lme4 and against the density written down in full.

The reference numbers are those that `reference/lme4.R` prints.
"""

import numpy as np
import pytest
from scipy import stats

from polbayes.config.schema import SamplerConfig
from polbayes.fit.mixed.exact import conditional, draw, log_density, sums_of
from polbayes.fit.mixed.model import bambi_prior, build
from polbayes.fit.mixed.readout import name_posterior
from polbayes.fit.spec.priors import parse_prior

LME4_SMALL = {
    "fixef": [0.408538862718, 0.255635836884, -0.122331768787, 0.0888280723391],
    "se": [0.0788170634092, 0.0274609966132, 0.054092974482, 0.0603049171049],
    "sd": (0.222147214196, 0.214531920146),
    "loglik": -6.06794099542,
    "ranef": [
        *(0.266286523603, -0.089514998472, -0.192465034729, -0.154534094454),
        *(0.169902724823, 0.245075446098, -0.129114652015, -0.288429263708),
        *(-0.10997468584, 0.27745952677, 0.202373751896, -0.197065243973),
    ],
}
LME4_LARGE = {
    "fixef": [0.504031923207, 0.0219883550852, -0.00303053486422, -0.0120173883641],
    "se": [0.0119574626256, 0.00408460548357, 0.00817553672482, 0.00914270660692],
    "sd": (0.0775423877988, 0.176324156251),
}
FORMULA = "~ x1 + x2 + x3 + (1 | item)"
CONFIG = SamplerConfig(backend="exact", chains=4, draws=1000)


def predictors(data):
    return np.column_stack([np.ones(len(data)), data[["x1", "x2", "x3"]]])


def flat(data):
    """Add the rows up under flat priors."""
    x = predictors(data)
    return sums_of(
        x, data["y"].to_numpy(), data["item"].to_numpy(), precision=np.zeros(4), mean=np.zeros(4)
    )


def at(*log_scales):
    return tuple(np.atleast_1d(np.log(v)) for v in log_scales)


class TestRestrictedLikelihood:
    """With flat priors, at lme4's estimates of the scales."""

    tau, sigma = LME4_SMALL["sd"]

    def test_coefficients_and_standard_errors(self, small_data):
        given = conditional(flat(small_data), *at(self.sigma, self.tau))
        np.testing.assert_allclose(given.mean[0], LME4_SMALL["fixef"], atol=1e-7)
        covariance = np.linalg.inv(given.root[0] @ given.root[0].T)
        np.testing.assert_allclose(np.sqrt(np.diag(covariance)), LME4_SMALL["se"], rtol=1e-5)

    def test_log_likelihood(self, small_data):
        given = conditional(flat(small_data), *at(self.sigma, self.tau))
        constant = (len(small_data) - 4) / 2 * np.log(2 * np.pi)
        assert given.log_density[0] - constant == pytest.approx(LME4_SMALL["loglik"], abs=1e-8)

    def test_it_is_highest_there(self, small_data):
        sums = flat(small_data)
        top = conditional(sums, *at(self.sigma, self.tau)).log_density[0]
        for factors in ((1.02, 1), (0.98, 1), (1, 1.02), (1, 0.98)):
            scales = at(self.sigma * factors[0], self.tau * factors[1])
            assert conditional(sums, *scales).log_density[0] < top

    def test_intercepts(self, small_data):
        from polbayes.fit.mixed.exact import _intercepts

        beta = np.array([LME4_SMALL["fixef"]])
        scales = (np.array([self.sigma]), np.array([self.tau]))
        # The rows are added up with their means; only the noise is left out.
        found = _intercepts(flat(small_data), beta, *scales, np.zeros((1, 12)))
        np.testing.assert_allclose(found[0], LME4_SMALL["ranef"], atol=1e-7)


@pytest.mark.parametrize(("sigma", "tau"), [(0.2, 0.25), (0.5, 1e-4), (0.01, 30.0)])
def test_density_is_that_of_the_normal_distribution_of_all_rows(small_data, sigma, tau):
    x, y = predictors(small_data), small_data["y"].to_numpy()
    item = small_data["item"].to_numpy()
    mean, sd = np.array([0.3, 0.1, 0.0, -0.2]), np.array([1.0, 0.5, 2.0, 0.7])
    covariance = x @ np.diag(sd**2) @ x.T + tau**2 * np.equal.outer(item, item)
    covariance += sigma**2 * np.eye(len(y))
    whole = stats.multivariate_normal(x @ mean, covariance).logpdf(y)
    sums = sums_of(x, y, item, precision=sd**-2, mean=mean)
    found = conditional(sums, *at(sigma, tau)).log_density[0]
    constant = len(y) / 2 * np.log(2 * np.pi) + np.log(sd).sum()
    assert found - constant == pytest.approx(whole, rel=1e-7)


def test_without_groups_it_is_a_regression(small_data):
    x, y = predictors(small_data), small_data["y"].to_numpy()
    sums = sums_of(x, y, np.empty(0, dtype=int), precision=np.zeros(4), mean=np.zeros(4))
    given = conditional(sums, *at(0.3, 1.0))
    np.testing.assert_allclose(given.mean[0], np.linalg.lstsq(x, y, rcond=None)[0], rtol=1e-9)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("HalfNormal(2)", stats.halfnorm(scale=2)),
        ("HalfCauchy(2)", stats.halfcauchy(scale=2)),
        ("Exponential(2)", stats.expon(scale=0.5)),
        ("Gamma(3, 2)", stats.gamma(3, scale=0.5)),
        ("LogNormal(1, 2)", stats.lognorm(2, scale=np.e)),
        ("HalfStudentT(3, 2)", stats.t(3, scale=2)),
    ],
)
def test_priors_of_scales(text, expected):
    values = np.array([0.1, 1.0, 7.0])
    found = log_density(bambi_prior(parse_prior(text, where="here")), values)
    wanted = expected.logpdf(values)
    np.testing.assert_allclose(found - found[0], wanted - wanted[0])


def fitted(data, spec, rows_from, *, seed=1, config=CONFIG):
    model = build(rows_from(data, spec, "y"), spec)
    drawn, sampled = draw(model, config, seed=seed)
    return name_posterior(model, drawn), sampled


@pytest.fixture(scope="module")
def exact_small(small_data, mixed, rows_from):
    """Draw with priors so narrow that they matter."""
    priors = {
        "mu": {"x1": "Normal(0, 0.05)", "Intercept": "Normal(0.2, 0.1)", "sd": "HalfNormal(0.1)"},
        "sigma": "Exponential(20)",
    }
    return fitted(small_data, mixed(FORMULA, priors=priors), rows_from)[0]


def test_draws_have_the_posterior_of_a_fine_grid(small_data, exact_small):
    """Integrate over both scales row by row, with another rule and without sums."""
    x = predictors(small_data)
    means = x[:, 1:].mean(axis=0)
    x[:, 1:] -= means
    y, item = small_data["y"].to_numpy(), small_data["item"].to_numpy()
    # Bambi's own priors for what was not set: 2.5 sd(y) / sd(x), around 0.
    sd = np.append([0.1, 0.05], 2.5 * y.std() / x[:, 2:].std(axis=0))
    mean = np.array([0.2, 0.0, 0.0, 0.0])
    same = np.equal.outer(item, item).astype(float)
    total, moments = 0.0, np.zeros(6)
    for sigma in np.linspace(0.16, 0.31, 26):
        for tau in np.linspace(0.01, 0.45, 36):
            covariance = tau**2 * same + sigma**2 * np.eye(len(y))
            inside = np.linalg.solve(covariance, x)
            precision = x.T @ inside + np.diag(sd**-2)
            centre = np.linalg.solve(precision, inside.T @ y + mean / sd**2)
            marginal = stats.multivariate_normal(x @ mean, covariance + (x * sd**2) @ x.T)
            log_weight = marginal.logpdf(y) - 20 * sigma - 0.5 * (tau / 0.1) ** 2
            weight = np.exp(log_weight - 20)
            total += weight
            moments += weight * np.append(centre, [sigma, tau])
    moments /= total
    moments[0] -= means @ moments[1:4]
    found = exact_small["coefficient"].mean(("chain", "draw")).values
    spread = exact_small["coefficient"].std(("chain", "draw")).values
    np.testing.assert_allclose(found, moments[:4], atol=0.02 * spread.min())
    for name, wanted in (("sigma", moments[4]), ("group_sd", moments[5])):
        draws = exact_small[name]
        error = 4 * float(draws.std()) / np.sqrt(2000)
        assert float(draws.mean()) == pytest.approx(wanted, abs=error)


def test_fixed_effects_are_those_of_lme4(large_data, mixed, rows_from):
    """Within a hundredth of lme4's standard error, with Bambi's own wide priors."""
    posterior, _ = fitted(large_data, mixed(FORMULA), rows_from)
    draws = posterior["coefficient"]
    se = np.array(LME4_LARGE["se"])
    off = np.abs(draws.mean(("chain", "draw")).values - LME4_LARGE["fixef"]) / se
    assert off.max() < 0.01
    np.testing.assert_allclose(draws.std(("chain", "draw")).values, se, rtol=0.05)
    tau, sigma = LME4_LARGE["sd"]
    assert float(posterior["sigma"].mean()) == pytest.approx(sigma, rel=0.01)
    assert float(posterior["group_sd"].mean()) == pytest.approx(tau, rel=0.05)


def test_a_seed_fixes_the_draws(small_data, mixed, rows_from):
    spec = mixed(FORMULA)
    config = SamplerConfig(backend="exact", chains=3, draws=51)  # an odd number in all
    one, again, other = (
        fitted(small_data, spec, rows_from, seed=s, config=config)[0] for s in (3, 3, 4)
    )
    assert one.sizes["chain"] == 3
    assert one.sizes["draw"] == 51
    assert one.equals(again)
    assert not one.equals(other)


def test_draws_are_as_good_as_independent_ones(exact_small):
    import arviz as az

    assert float(az.rhat(exact_small).to_array().max()) < 1.01
    # The scales are drawn once for every pair of draws.
    assert float(az.ess(exact_small)["sigma"]) > 1500
    assert float(az.ess(exact_small)["coefficient"].min()) > 3000


def test_names_of_the_posterior(exact_small):
    assert exact_small["term"].values.tolist() == ["Intercept", "x1", "x2", "x3"]
    assert exact_small["group_term"].values.tolist() == ["item: Intercept"]
    assert exact_small.sizes["group_level"] == 12
    assert exact_small["group"].values.tolist() == ["item"] * 12
    assert exact_small["sigma"].dims == ("chain", "draw")


def test_a_response_that_groups_explain_alone(small_data, mixed, rows_from):
    """Where the intercepts are all but nothing, their scale goes to zero and nothing breaks."""
    flat_y = small_data.assign(y=small_data["noise"])
    posterior, _ = fitted(flat_y, mixed(FORMULA), rows_from)
    assert float(posterior["group_sd"].quantile(0.05)) < 0.05
    assert np.isfinite(posterior.to_array().values.astype(float)).all()
