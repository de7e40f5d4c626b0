import pytest

from polbayes.config.schema import AnalysisConfig
from polbayes.errors import UserError
from polbayes.fit.spec.spec import common_names, parse_spec

THETA = {"theta": "~ 0 + dimension + (0 + dimension | model)"}


def test_the_default_config_declares_no_theta():
    with pytest.raises(UserError, match="the part 'theta' is missing"):
        parse_spec(AnalysisConfig())


def test_parts_select_and_names_are_parsed(spec_of):
    spec = spec_of(
        {**THETA, "acquiescence": "~ 1"}, select={"prefix": ["baseline", "please"], "model": "m"}
    )
    assert (spec.response, spec.family) == ("stance", "cumulative")
    assert list(spec.parts) == ["theta", "acquiescence"]
    assert spec.parts["theta"].common == "0 + dimension"
    assert spec.select == {"prefix": ("baseline", "please"), "model": ("m",)}


def test_a_part_that_is_switched_off_is_left_out(spec_of):
    assert list(spec_of({**THETA, "quirk": None}).parts) == ["theta"]


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"family": "cumulatif"}, "analysis.family: unknown family 'cumulatif'; did you mean"),
        (
            {"response": "r_plus"},
            "analysis.response: unknown response for family cumulative 'r_plus'",
        ),
        ({"family": "beta"}, "analysis.response: unknown response for family beta 'stance'"),
        (
            {"parts": {**THETA, "acquiesence": "~ 1"}},
            "analysis.parts: unknown part 'acquiesence'; did you mean 'acquiescence'?",
        ),
        ({"parts": {**THETA, "sigma": "~ 1"}}, "analysis.parts: unknown part 'sigma'"),
        (
            {
                "parts": {**THETA, "threshold": "~ 1"},
                "family": "logit_normal",
                "response": "r_plus",
            },
            "analysis.parts: unknown part 'threshold'",
        ),
        ({"parts": {"difficulty": "~ (1 | item)"}}, "the part 'theta' is missing"),
        ({"parts": {"theta": ""}}, "analysis.parts.theta: the formula is empty"),
        ({"parts": {"theta": "~ (1 | model"}}, "analysis.parts.theta: "),
        (
            {"priors": {"theta.model.std": "HalfNormal(1)"}},
            "analysis.priors: unknown prior 'theta.model.std'; did you mean 'theta.model.sd'?",
        ),
        ({"priors": {"quirk.sd": "HalfNormal(1)"}}, "analysis.priors: unknown prior 'quirk.sd'"),
        ({"priors": {"theta.sd": "Normal(0, 1)"}}, "analysis.priors.theta.sd: 'Normal(0, 1)' also"),
        (
            {"priors": {"theta": {"model": {"sd": "Normal(0, 1)"}}}},
            "analysis.priors.theta.model.sd",
        ),
        ({"priors": {"cutpoints": "Normal(0, 1)"}}, "analysis.priors.cutpoints"),
        ({"priors": {"sd": "HalfNormall(1)"}}, "did you mean 'HalfNormal'?"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_key(settings, says):
    with pytest.raises(UserError) as caught:
        parse_spec(AnalysisConfig(**{"parts": THETA, **settings}))
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_prior_of_a_correlation_must_be_one():
    with pytest.raises(UserError, match=r"analysis\.priors\.cor"):
        parse_spec(AnalysisConfig(parts=THETA, priors={"cor": "Normal(0, 1)"}))


def test_the_most_specific_prior_counts(spec_of):
    spec = spec_of(
        {**THETA, "steer": "~ (1 | model:prefix) + (1 | prefix)", "acquiescence": "~ 1"},
        priors={
            "steer.sd": "Exponential(1)",
            "steer.prefix.sd": "Exponential(2)",
            "theta": {"dimension": "Normal(0, 3)", "cor": "LKJ(4)"},
        },
    )
    assert str(spec.prior("steer", "prefix", "sd")) == "Exponential(2)"
    assert str(spec.prior("steer", "model:prefix", "sd")) == "Exponential(1)"
    assert str(spec.prior("theta", "dimension")) == "Normal(0, 3)"
    assert str(spec.prior("theta", "model", "cor")) == "LKJ(4)"
    # The shipped defaults, weakly informative on the logit scale.
    assert str(spec.prior("theta", "model", "sd")) == "HalfNormal(1)"
    assert str(spec.prior("acquiescence", "Intercept")) == "Normal(0, 1)"
    assert spec.cutpoint_prior.positive


def test_a_prior_of_one_part_leaves_the_others_alone(spec_of):
    spec = spec_of({**THETA, "difficulty": "~ (1 | item)"}, priors={"theta.sd": "Exponential(3)"})
    assert str(spec.prior("theta", "model", "sd")) == "Exponential(3)"
    assert str(spec.prior("difficulty", "item", "sd")) == "HalfNormal(1)"


@pytest.mark.parametrize(
    ("common", "names"),
    [
        ("1", ["Intercept"]),
        ("0 + dimension", ["dimension"]),
        ("0 + dimension + instruct:dimension", ["dimension", "instruct:dimension"]),
        ("0", []),
    ],
)
def test_names_of_common_terms(common, names):
    assert common_names(common) == names


@pytest.mark.parametrize("key", ["theta.Intercept", "theta.instruct", "theta.common"])
def test_common_terms_can_have_priors_of_their_own(spec_of, key):
    spec = spec_of({"theta": "~ 1 + instruct"}, priors={key: "Normal(0, 7)"})
    assert spec.priors[key] == "Normal(0, 7)"


@pytest.mark.parametrize("text", ["~ instruct", "~ instruct + (1 | model)"])
def test_an_intercept_that_is_not_written_has_a_prior_too(spec_of, text):
    spec = spec_of({"theta": text}, priors={"theta.Intercept": "Normal(0, 7)"})
    assert str(spec.prior("theta", "Intercept")) == "Normal(0, 7)"


def test_validity_of_numbers_has_a_spread(spec_of):
    numbers = {"response": "r_plus", "family": "logit_normal"}
    spec = spec_of({**THETA, "validity": "~ 1 + (1 | model)"}, **numbers)
    assert list(spec.parts)[-1] == "validity_sigma"
    assert spec.parts["validity_sigma"].common == "1"
    own = {**THETA, "validity": "~ 1", "validity_sigma": "~ 1 + (1 | model)"}
    assert spec_of(own, **numbers).parts["validity_sigma"].groups
    with pytest.raises(UserError, match=r"validity_sigma: is the spread of the part 'validity'"):
        spec_of({**THETA, "validity_sigma": "~ 1"}, **numbers)
    with pytest.raises(UserError, match="unknown part 'validity_phi'"):
        spec_of({**THETA, "validity_phi": "~ 1"}, **numbers)
    with pytest.raises(UserError, match="unknown part 'validity_sigma'"):
        spec_of({**THETA, "validity_sigma": "~ 1"})
