import numpy as np
import pytest
from scipy import stats

from polbayes.errors import UserError
from polbayes.fit.spec.priors import draw_vector, flatten, parse_prior

WHERE = "analysis.priors.theta.sd"

# As text, and by scipy's parametrisation.
DISTRIBUTIONS = {
    "Normal(0.5, 2)": stats.norm(0.5, 2),
    "StudentT(4, 0.5, 2)": stats.t(4, 0.5, 2),
    "Cauchy(0.5, 2)": stats.cauchy(0.5, 2),
    "Laplace(0.5, 2)": stats.laplace(0.5, 2),
    "HalfNormal(2)": stats.halfnorm(scale=2),
    "HalfStudentT(4, 2)": stats.t(4, 0, 2),
    "HalfCauchy(2)": stats.halfcauchy(scale=2),
    "Exponential(2)": stats.expon(scale=1 / 2),
    "Gamma(3, 2)": stats.gamma(3, scale=1 / 2),
    "LogNormal(0.5, 2)": stats.lognorm(2, scale=np.exp(0.5)),
}
FOLDED = {"HalfStudentT(4, 2)"}


def test_every_distribution_has_the_density_of_its_name():
    import pymc as pm

    at = np.array([0.3, 1.7])
    with pm.Model():
        drawn = [
            draw_vector([parse_prior(text, where=WHERE)] * 2, f"v{number}")
            for number, text in enumerate(DISTRIBUTIONS)
        ]
        found = pm.compile([], [pm.logp(rv, at) for rv in drawn], mode="FAST_COMPILE")()
    for (text, reference), density in zip(DISTRIBUTIONS.items(), found, strict=True):
        expected = reference.logpdf(at) + (np.log(2) if text in FOLDED else 0)
        np.testing.assert_allclose(density, expected, rtol=1e-8, err_msg=text)


@pytest.mark.parametrize(
    ("text", "symmetric"),
    [
        ("HalfNormal(2)", "Normal(0, 2)"),
        ("HalfStudentT(4, 2)", "StudentT(4, 0, 2)"),
        ("HalfCauchy(2)", "Cauchy(0, 2)"),
        ("Exponential(2)", "Laplace(0, 0.5)"),  # a Laplace scale is one over the rate
    ],
)
def test_the_absolute_value_of_the_unfolded_prior_has_the_prior(text, symmetric):
    assert str(parse_prior(text, where=WHERE).unfolded()) == symmetric


@pytest.mark.parametrize("text", ["Gamma(3, 2)", "LogNormal(0.5, 2)", "Normal(0.5, 2)"])
def test_what_is_no_half_of_anything_is_not_unfolded(text):
    assert parse_prior(text, where=WHERE).unfolded() is None


def test_entries_of_a_vector_have_priors_of_their_own():
    import pymc as pm

    at = np.array([0.3, 1.7])
    priors = [parse_prior(text, where=WHERE) for text in ("Normal(0, 1)", "Normal(2, 3)")]
    with pm.Model():
        found = pm.compile([], pm.logp(draw_vector(priors, "v"), at), mode="FAST_COMPILE")()
    np.testing.assert_allclose(found, stats.norm([0, 2], [1, 3]).logpdf(at))


@pytest.mark.parametrize("text", [*DISTRIBUTIONS, "LKJ(2)"])
def test_what_is_printed_is_read_back(text):
    assert str(parse_prior(text, where=WHERE)) == text


def test_spaces_do_not_matter():
    assert parse_prior("  Normal ( 0 ,1 ) ", where=WHERE) == parse_prior("Normal(0, 1)", where="")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is not a prior"),
        ("Normal", "is not a prior"),
        ("0.5", "is not a prior"),
        ("Normal(0, 1) + 1", "is not a prior"),
        ("HalfNormal(Normal(0, 1))", "is not a prior"),
        ("Normall(0, 1)", "unknown distribution 'Normall'; did you mean 'Normal'?"),
        ("Normal(0)", "Normal takes 2 arguments: mu, sigma"),
        ("Normal()", "Normal takes 2 arguments: mu, sigma"),
        ("HalfNormal(1, 2)", "HalfNormal takes 1 arguments: sigma"),
        ("Normal(zero, 1)", "must be numbers"),
        ("Normal(0, 1,)", "must be numbers"),
        ("Normal(0, 0)", "every scale and shape must be positive"),
        ("HalfNormal(-1)", "every scale and shape must be positive"),
    ],
)
def test_what_is_no_prior_is_refused(text, says):
    with pytest.raises(UserError) as caught:
        parse_prior(text, where=WHERE)
    assert says in str(caught.value)
    assert str(caught.value).startswith(f"{WHERE}: ")


@pytest.mark.parametrize("text", ["Normal(0, 1)", "StudentT(3, 0, 1)", "Cauchy(0, 1)"])
def test_a_scale_cannot_have_a_prior_with_negative_values(text):
    assert parse_prior(text, where=WHERE).positive is False
    with pytest.raises(UserError, match="also allows negative values"):
        parse_prior(text, where=WHERE, scale=True)


@pytest.mark.parametrize("text", ["HalfNormal(1)", "Exponential(2)", "LogNormal(0, 1)"])
def test_a_scale_can_have_a_positive_prior(text):
    assert str(parse_prior(text, where=WHERE, scale=True)) == text


@pytest.mark.parametrize("text", ["Gamma(-1, 2)", "Gamma(0, 2)"])
def test_the_shape_of_a_gamma_distribution_is_positive(text):
    with pytest.raises(UserError, match="positive"):
        parse_prior(text, where=WHERE)


@pytest.mark.parametrize("text", ["Normal(nan, 1)", "Normal(inf, 1)", "Normal(0, inf)"])
def test_arguments_are_finite(text):
    with pytest.raises(UserError):
        parse_prior(text, where=WHERE)


def test_a_correlation_prior_is_none_for_a_scale():
    with pytest.raises(UserError, match="LKJ"):
        parse_prior("LKJ(2)", where=WHERE, scale=True)


def test_arguments_by_name_are_not_taken_by_position():
    """Read by name, or refused; never mu = 2 and sigma = 1."""
    try:
        prior = parse_prior("Normal(sigma = 2, mu = 1)", where=WHERE)
    except UserError:
        return
    assert prior.arguments == {"mu": 1.0, "sigma": 2.0}


def test_an_unknown_argument_is_refused():
    with pytest.raises(UserError, match="tau"):
        parse_prior("Normal(mu = 0, tau = 1)", where=WHERE)


def test_nested_priors_become_dotted_keys():
    nested = {"theta": {"sd": "HalfNormal(1)", "model": {"sd": "HalfNormal(2)"}}, "sd": "x"}
    assert flatten(nested) == {
        "theta.sd": "HalfNormal(1)",
        "theta.model.sd": "HalfNormal(2)",
        "sd": "x",
    }
