import pytest

from polbayes.fit.spec.equation import equation, prior_lines

THETA = {"theta": "~ 0 + dimension + (0 + dimension | model)"}


def test_the_full_model_is_that_of_the_documentation(spec_of, full_parts):
    lines = equation(spec_of(full_parts)).splitlines()
    assert lines[0].startswith("P(stance ≤ k) = logistic(c[k] − η)")
    assert lines[1] == (
        "η = acquiescence + wording + s · (discrimination · (theta − difficulty) + steer + quirk)"
    )
    assert "s = +1 where agreeing is right-leaning, −1 where it is left-leaning" in lines
    assert "log width: c[k] is multiplied with exp(threshold)" in lines
    assert "log discrimination = u[item]" in lines
    assert "wording = u[item, variant] + u[model, item, variant]" in lines
    assert "    u[model, item, variant] ~ Normal(0, σ²[model])" in lines
    assert "    u[model; dimension] ~ MvNormal(0, Σ)" in lines


@pytest.mark.parametrize(
    ("parts", "predictor"),
    [
        ({}, "η = s · (theta)"),
        ({"discrimination": "~ (1 | item)"}, "η = s · (discrimination · theta)"),
        (
            {"difficulty": "~ (1 | item)", "steer": "~ (1 | prefix)"},
            "η = s · (theta − difficulty + steer)",
        ),
        ({"acquiescence": "~ 1"}, "η = acquiescence + s · (theta)"),
    ],
)
def test_what_is_left_out_is_not_written(spec_of, parts, predictor):
    assert predictor in equation(spec_of({**THETA, **parts})).splitlines()


@pytest.mark.parametrize(
    ("settings", "parts", "expected"),
    [
        ({"family": "bernoulli", "response": "agree"}, {}, ["P(agree) = logistic(η)"]),
        (
            {"family": "logit_normal", "response": "r_plus"},
            {"sigma": "~ 1"},
            ["logit(r_plus) ~ Normal(η, σ)", "σ = exp(sigma)"],
        ),
        (
            {"family": "logit_normal", "response": "r_plus"},
            {"sigma": "~ 1", "validity": "~ 1"},
            ["τ = exp(validity_sigma)", "logit(p_agree + p_disagree) ~ Normal(validity, τ)"],
        ),
        (
            {"family": "beta", "response": "r_plus"},
            {"phi": "~ 1", "validity": "~ 1"},
            ["p_agree + p_disagree ~ Beta(mean = logistic(validity), precision = κ)"],
        ),
        (
            {"family": "beta", "response": "r_plus"},
            {"phi": "~ 1"},
            ["r_plus ~ Beta(mean = logistic(η), precision = φ)", "φ = exp(phi)"],
        ),
        (
            {"response": "rating"},
            {},
            ["P(rating ≤ k) = logistic(c[k] − η), k = 1 … K − 1, the middle of c is 0"],
        ),
    ],
)
def test_families(spec_of, settings, parts, expected):
    lines = equation(spec_of({**THETA, **parts}, **settings)).splitlines()
    assert set(expected) <= set(lines)


def test_on_data_levels_and_constraints_are_named(coded, bound, full_parts):
    spec, _, parts = bound(full_parts, coded())
    lines = equation(spec, parts).splitlines()
    per_dimension = "    u[item] ~ Normal(0, σ²), 4 levels, summing to zero in each of 2 groups"
    assert lines.count(per_dimension) == 2  # difficulty and discrimination
    assert (
        "    u[model, item, variant] ~ Normal(0, σ²[model]), 16 levels, "
        "summing to zero in each of 2 groups"
    ) in lines


def test_priors_are_listed_with_the_users_over_the_defaults(spec_of, full_parts):
    spec = spec_of(
        full_parts, priors={"theta.dimension": "Normal(0, 3)", "quirk.sd": "Exponential(2)"}
    )
    lines = prior_lines(spec)
    assert "theta: coefficients of dimension ~ Normal(0, 3)" in lines
    assert "quirk: standard deviation of (1 | model:item) ~ Exponential(2)" in lines
    assert "acquiescence: coefficients of Intercept ~ Normal(0, 1)" in lines
    assert "theta: correlations of (0 + dimension | model) ~ LKJ(2)" in lines
    assert (
        "steer: standard deviation of (1 | gr(model:prefix, by = model)) ~ HalfNormal(0.5), "
        "one for each model"
    ) in lines
    assert sum("cutpoints" in line for line in lines) == 1


def test_without_cutpoints_there_is_no_prior_of_theirs(spec_of):
    spec = spec_of({**THETA, "sigma": "~ 1"}, family="logit_normal", response="r_plus")
    assert not any("cutpoint" in line for line in prior_lines(spec))
