"""What the spec of a mixed model may say, and what is refused before any data."""

import pytest

from polbayes.config.compose import compose
from polbayes.config.schema import AnalysisConfig, SamplerConfig
from polbayes.errors import UserError
from polbayes.fit.analysis import parse_analysis
from polbayes.fit.mixed.spec import MixedSpec, is_mixed
from polbayes.fit.spec.spec import Spec


@pytest.mark.parametrize(
    ("text", "common"),
    [
        ("~ (1 | item)", "1"),  # as in R, there is an intercept
        ("~ 0 + (1 | item)", "0"),
        ("~ x + (1 | item)", "x"),
        ("~ 1 + x", "1 + x"),
        ("~ -1 + x", "0 + x"),
        ("x + scale(log(y))", "x + scale(log(y))"),
    ],
)
def test_the_intercept_is_there_unless_it_is_left_out(mixed, text, common):
    assert mixed(text).formula.common == common


def test_a_part_mu_makes_it_a_mixed_model():
    assert is_mixed(AnalysisConfig(parts={"mu": "~ 1"}))
    assert not is_mixed(AnalysisConfig(parts={"theta": "~ 1", "mu": None}))
    mixed = AnalysisConfig(response="agree", family="bernoulli", parts={"mu": "~ 1"})
    assert isinstance(parse_analysis(mixed, SamplerConfig()), MixedSpec)
    ideology = AnalysisConfig(parts={"theta": "~ 0 + dimension"})
    assert isinstance(parse_analysis(ideology, SamplerConfig()), Spec)


@pytest.mark.parametrize(
    ("formula", "settings", "says"),
    [
        ("~ x + (1 + x | item)", {}, "would fit as if they were independent"),
        ("~ x + (x | item)", {}, r"write \(x \|\| item\)"),
        ("~ (1 | gr(item, by = model))", {}, "one standard deviation for all its levels"),
        ("~ x", {"family": "poisson"}, "known: bernoulli, beta, binomial, cumulative, gaussian"),
        ("~ x", {"family": "gausian"}, "did you mean 'gaussian'"),
        ("~ x", {"family": "bernoulli"}, "unknown response for family bernoulli 'r_plus'"),
        ("~ x", {"parts": {"theta": "~ 1"}}, r"parts.theta: the part mu makes the analysis"),
        (
            "~ x",
            {"family": "cumulative", "response": "stance", "parts": {"threshold": "~ x"}},
            "cannot let its thresholds depend on predictors",
        ),
        ("~ 0 + x", {"family": "cumulative", "response": "stance"}, "in place of the intercept"),
        ("~ system(x)", {}, "unknown function 'system'"),
        ("~ os.system(x)", {}, "unknown function 'os.system'"),
        ("y ~ x", {}, "say it in analysis.response"),
        ("~ 0", {}, "has no term"),
        ("~", {}, "the formula is empty"),
        ("~ x +", {}, "nothing beside it"),
        ("~ x + (1 | item", {}, "leaves a parenthesis open"),
        ("~ x", {"priors": {"mu": {"z": "Normal(0, 1)"}}}, "unknown prior 'mu.z'"),
        ("~ x", {"priors": {"phi": "HalfNormal(1)"}}, "unknown prior 'phi'"),
        ("~ (1 | item)", {"priors": {"mu": {"sd": "Normal(0, 1)"}}}, "also allows negative"),
        ("~ x", {"priors": {"mu": {"x": "LKJ(2)"}}}, "is not a prior of a number"),
        ("~ x", {"priors": {"sigma": "Normal(0, 1)"}}, "also allows negative"),
    ],
)
def test_what_cannot_be_fitted_as_written_is_refused(mixed, formula, settings, says):
    with pytest.raises(UserError, match=says):
        mixed(formula, **settings)


def test_priors_are_found_from_the_particular_to_the_general(mixed):
    spec = mixed(
        "~ x + z + (1 | item) + (1 | model)",
        priors={
            "mu": {"x": "Normal(0, 9)", "common": "Normal(0, 2)", "item": {"sd": "HalfNormal(3)"}},
            "sd": "HalfNormal(4)",
        },
    )
    assert str(spec.prior("x")) == "Normal(0, 9)"
    assert str(spec.prior("z")) == "Normal(0, 2)"
    assert str(spec.prior("item", "sd")) == "HalfNormal(3)"
    assert str(spec.prior("model", "sd")) == "HalfNormal(4)"
    # Where the mean lies and how far answers scatter are other questions than what x does.
    assert spec.prior("Intercept") is None
    assert spec.prior("sigma") is None


@pytest.mark.parametrize(
    ("parts", "settings", "says"),
    [
        ({"mu": "~ x + (1 | item) + (1 | prefix)"}, {}, "at most one group-specific term"),
        ({"mu": "~ x + (x || item)"}, {}, "an intercept"),
        ({"mu": "~ x"}, {"family": "beta"}, "family gaussian"),
        ({"mu": "~ x"}, {"priors": {"common": "StudentT(3, 0, 1)"}}, "normal priors"),
        ({"theta": "~ 1"}, {"response": "stance", "family": "cumulative"}, "whose one part is mu"),
    ],
)
def test_exact_draws_are_refused_where_there_are_none(parts, settings, says):
    config = AnalysisConfig(parts=parts, **{"response": "r_plus", "family": "gaussian", **settings})
    with pytest.raises(UserError, match=says):
        parse_analysis(config, SamplerConfig(backend="exact"))


@pytest.mark.parametrize("key", ["by", "table"])
def test_keys_of_mixed_models_are_refused_for_the_ideology_model(key):
    config = AnalysisConfig(parts={"theta": "~ 1"}, **{key: "model"})
    with pytest.raises(UserError, match=rf"analysis\.{key}: is for mixed models"):
        parse_analysis(config, SamplerConfig())


def test_samplers_are_checked_for_mixed_models_too():
    asked = ["+experiment=pct_paraphrases", "analysis=mixed_r_plus", "sampler=exact"]
    with pytest.raises(UserError, match=r"sampler\.chains"):
        compose([*asked, "sampler.chains=1"])
    config = AnalysisConfig(response="r_plus", family="gaussian", parts={"mu": "~ 1"})
    with pytest.raises(UserError, match="unknown sampler 'stan'"):
        parse_analysis(config, SamplerConfig(backend="stan"))
