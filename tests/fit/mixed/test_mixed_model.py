"""What is handed to Bambi, and that Bambi makes of it what the formula says."""

import numpy as np
import pytest

from polbayes.errors import UserError
from polbayes.fit.mixed.fit import reduced
from polbayes.fit.mixed.model import Coefficients, GroupEffects, build
from polbayes.fit.mixed.text import equation, prior_lines


def built(data, spec):
    _, ((_, rows),), _ = reduced(data, spec)
    return build(rows, spec)


@pytest.fixture(scope="module")
def data(coded):
    rng = np.random.default_rng(3)
    shape = (2, 4, 4, 2, 6)
    stance = rng.choice([-1, 0, 1], shape)
    return coded(stance, r_plus=rng.uniform(0.1, 0.9, shape), runs=6)


def test_terms_have_the_names_of_the_formula(data, mixed):
    model = built(data, mixed("~ keying + kind + scale(run) + (1 | item) + (keying || model)"))
    assert model.intercept
    assert model.common == (
        Coefficients("keying", ("keying",)),
        Coefficients("kind", ("kind[negation]", "kind[opposite]", "kind[paraphrase]")),
        Coefficients("scale(run)", ("scale(run)",)),
    )
    assert model.groups == (
        GroupEffects("1|polbayes_group0", "item", ("Intercept",), ("c1", "c2", "e1", "e2")),
        GroupEffects("1|polbayes_group1", "model", ("Intercept",), ("m1", "m2")),
        GroupEffects("keying|polbayes_group1", "model", ("keying",), ("m1", "m2")),
    )


def test_a_factor_of_two_levels_has_one_coefficient(data, mixed):
    spec = mixed("~ kind", select={"variant": ["original", "opposite"]})
    model = built(data, spec)
    assert model.common == (Coefficients("kind", ("kind[opposite]",)),)
    assert model.matrix.shape == (len(model.bambi.data), 1)


def test_only_combinations_that_occur_are_levels(data, mixed):
    model = built(data, mixed("~ (1 | item:variant)"))
    assert len(model.groups[0].levels) == 8  # of four items by four wordings


def test_bambi_has_no_correlations(data, mixed):
    """The reason why correlated coefficients are refused; once this fails, they need not be."""
    import bambi

    frame = built(data, mixed("~ keying + (1 | model)")).bambi.data
    with_slopes = bambi.Model("polbayes_response ~ keying + (1 + keying | polbayes_group0)", frame)
    with_slopes.build()
    names = {v.name for v in with_slopes.backend.model.free_RVs}
    groups = {n for n in names if "|" in n}
    assert groups == {
        f"{term}|polbayes_group0_{what}" for term in ("1", "keying") for what in ("sigma", "offset")
    }


def test_independent_coefficients_have_a_standard_deviation_each(data, mixed):
    model = built(data, mixed("~ (0 + kind || model)"))
    sd = model.model["kind|polbayes_group0_sigma"]
    assert sd.shape.eval().tolist() == [4]
    assert model.groups[0].terms == tuple(
        f"kind[{k}]" for k in ("original", "negation", "opposite", "paraphrase")
    )


def test_nothing_that_has_an_entry_a_row_is_sampled(data, mixed):
    for family, response in (("gaussian", "r_plus"), ("cumulative", "stance")):
        model = built(data, mixed("~ keying + (1 | item)", family=family, response=response))
        assert {v.name for v in model.model.deterministics} <= {"1|polbayes_group0"}


@pytest.mark.parametrize(("family", "response"), [("gaussian", "r_plus"), ("binomial", "agree")])
def test_effects_are_centred_where_the_means_of_the_levels_are_reliable(
    coded, mixed, family, response
):
    """Items with shares of 1/5 to 4/5: the means of 48 answers have reliabilities above 0.9.

    Those of answers that do not differ between items have none.
    """
    rng = np.random.default_rng(5)
    share = np.array([0.2, 0.4, 0.6, 0.8]).reshape(1, 4, 1, 1, 1)
    shape = (2, 4, 4, 2, 12)

    def drawn(share):
        noise = rng.normal(0, 0.05, shape)
        stance = np.where(rng.uniform(size=shape) < share, 1, -1)
        data = coded(stance, r_plus=share + noise, runs=12)
        spec = mixed("~ (1 | item)", family=family, response=response)
        return {v.name for v in built(data, spec).model.free_RVs}

    assert "1|polbayes_group0" in drawn(share)
    assert "1|polbayes_group0_offset" in drawn(np.full((1, 1, 1, 1, 1), 0.5))


def test_priors_of_the_spec_are_those_of_the_model(data, mixed):
    priors = {
        "mu": {
            "keying": "StudentT(3, 0, 0.2)",
            "common": "Normal(0, 0.7)",
            "Intercept": "Normal(0.5, 0.3)",
            "item": {"sd": "Exponential(4)"},
            "sd": "HalfNormal(0.9)",
        },
        "sigma": "HalfCauchy(0.6)",
    }
    spec = mixed("~ keying + kind + (1 | item) + (1 | model)", priors=priors)
    model = built(data, spec)
    lines = prior_lines(spec, model, answered=True)
    assert lines == [
        "mu: Intercept, at the mean of the predictors ~ Normal(0.5, 0.3)",
        "mu: coefficient of keying ~ StudentT(3, 0, 0.2)",
        "mu: coefficient of kind[negation] ~ Normal(0, 0.7)",
        "mu: coefficient of kind[opposite] ~ Normal(0, 0.7)",
        "mu: coefficient of kind[paraphrase] ~ Normal(0, 0.7)",
        "mu: standard deviation of item: Intercept ~ Exponential(4)",
        "mu: standard deviation of model: Intercept ~ HalfNormal(0.9)",
        "σ ~ HalfCauchy(0.6)",
    ]
    # The text is written from Bambi's terms; PyMC's variables must be the same.
    drawn = {v.name: v.owner.op for v in model.model.free_RVs}
    assert type(drawn["keying"]).__name__ == "StudentTRV"
    assert type(drawn["1|polbayes_group0_sigma"]).__name__ == "ExponentialRV"
    assert type(drawn["sigma"]).__name__ == "HalfCauchyRV"
    assert type(drawn["kind"]).__name__ == "NormalRV"


def test_the_equation_of_an_ordinal_model(data, mixed):
    spec = mixed("~ keying + (1 | item)", family="cumulative", response="stance")
    model = built(data, spec)
    assert not model.intercept
    assert model.points == ("disagree", "neutral", "agree")
    assert equation(spec, model) == (
        "P(stance ≤ k) = logistic(c[k] − η), k = 1 … K − 1\n"
        "η = β[keying] + u[item: Intercept]\n"
        "    u[item: Intercept] ~ Normal(0, σ²), 4 levels"
    )
    assert prior_lines(spec, model, answered=True)[-2:] == [
        "c[1] ~ Normal(-2, 1), in increasing order",
        "c[2] ~ Normal(2, 1), in increasing order",
    ]


def test_points_that_do_not_occur_have_no_threshold(coded, mixed):
    stance = np.resize([-1, 1], (2, 4, 4, 2, 1))
    stance[:, :, 1:] = 1
    spec = mixed("~ keying", family="cumulative", response="stance")
    model = built(coded(stance), spec)
    assert model.points == ("disagree", "agree")


@pytest.mark.parametrize(
    ("family", "response"),
    [
        ("gaussian", "r_plus"),
        ("cumulative", "stance"),
        ("bernoulli", "agree"),
        ("binomial", "agree"),
    ],
)
def test_an_answer_that_never_varies_is_refused(coded, mixed, family, response):
    data = coded(1, r_plus=0.25)
    with pytest.raises(UserError, match=rf"{response} is the same in all"):
        built(data, mixed("~ keying", family=family, response=response))


@pytest.mark.parametrize("family", ["gaussian", "beta", "bernoulli", "binomial", "cumulative"])
def test_the_density_is_that_of_the_family(data, mixed, family):
    """At given parameters, against SciPy's distributions and by hand."""
    from scipy import stats
    from scipy.special import expit

    response = {"gaussian": "r_plus", "beta": "r_plus", "cumulative": "stance"}.get(family, "agree")
    model = built(data, mixed("~ keying", family=family, response=response))
    frame = model.bambi.data
    y = frame["polbayes_response"]
    x = frame["keying"].to_numpy(dtype=float)
    eta = 0.4 * x if family == "cumulative" else 0.3 + 0.4 * (x - x.mean())
    if family == "gaussian":
        expected = stats.norm(eta, 0.5).logpdf(y).sum()
    elif family == "beta":
        mean = expit(eta)
        expected = stats.beta(3 * mean, 3 * (1 - mean)).logpdf(y).sum()
    elif family == "bernoulli":
        expected = stats.bernoulli(expit(eta)).logpmf(y).sum()
    elif family == "binomial":
        expected = stats.binom(frame["polbayes_trials"], expit(eta)).logpmf(y).sum()
    else:
        cuts = np.array([-np.inf, -0.6, 0.9, np.inf])
        k = y.astype(int).to_numpy() + 1
        expected = np.log(expit(cuts[k + 1] - eta) - expit(cuts[k] - eta)).sum()
    values = {
        "Intercept": 0.3,
        "keying": 0.4,
        "sigma": 0.5,
        "kappa": 3.0,
        "threshold": np.array([-0.6, 0.9]),
    }
    observed = model.model.observed_RVs[0]
    given = {v: values[v.name] for v in model.model.free_RVs}
    logp = model.model.compile_fn(
        model.model.logp(vars=[observed], jacobian=False), inputs=model.model.value_vars
    )
    point = {
        model.model.rvs_to_values[v].name: _unconstrained(v.name, value)
        for v, value in given.items()
    }
    assert float(logp(point)) == pytest.approx(expected, rel=1e-6)


def _unconstrained(name, value):
    if name in ("sigma", "kappa"):
        return np.log(value)
    if name == "threshold":
        return np.append(value[:1], np.log(np.diff(value)))
    return value
