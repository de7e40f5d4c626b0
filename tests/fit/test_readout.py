"""Public quantities from fabricated draws, against loops over the cells."""

from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr
from scipy import integrate, special, stats

from polbayes.data.dataset import NOT_ASKED
from polbayes.fit.density.model import build
from polbayes.fit.families import FAMILIES
from polbayes.fit.posterior.naming import name_posterior
from polbayes.fit.sampling.draws_cache import DrawsCache

CHAINS, DRAWS = 2, 3
MODELS, PREFIXES = ("m2", "m1"), ("please", "baseline", "name")  # not in alphabetical order
UNEVEN = (
    ("e1", "economic", "left", ("original", "opposite", "paraphrase")),
    ("e2", "economic", "right", ("original",)),
    ("e3", "economic", "right", ("original", "opposite")),
    ("c2", "cultural", "left", ("original", "opposite")),
    ("c1", "cultural", "right", ("original", "opposite")),
    ("c0", "cultural", "right", ("original", "paraphrase")),
)


def draws_of(built, seed=0, **scalars):
    """Fabricate draws of the vectors that the sampler would leave."""
    rng = np.random.default_rng(seed)
    layout, out = built.layout, {}
    size = layout.blocks[-1].stop
    vectors = {
        "effects": rng.normal(0, 0.8, (CHAINS, DRAWS, size)),
        "sd": rng.uniform(0.1, 1, (CHAINS, DRAWS, len(layout.scales))),
        "b": rng.normal(size=(CHAINS, DRAWS, len(layout.coefficients))),
        **scalars,
    }
    for name, values in vectors.items():
        dims = [f"{name}_dim_{k}" for k in range(values.ndim - 2)]
        out[name] = (("chain", "draw", *dims), values)
    return xr.Dataset(out, coords={"chain": range(CHAINS), "draw": range(DRAWS)})


def effect(built, drawn, part, factors, level, column="Intercept"):
    """Look one effect up in the vector: ``[chain, draw]``."""
    (block,) = [
        b
        for b in built.layout.blocks
        if b.part == part and b.group and b.group.term.factors == factors
    ]
    levels = list(block.group.levels.itertuples(index=False, name=None))
    at = levels.index(level) * len(block.group.columns) + block.group.columns.index(column)
    return drawn["effects"].values[..., block.start + at]


def common(built, drawn, part, column="Intercept"):
    """Look up the value of a part's common term whose only predictor is `column`."""
    (block,) = [b for b in built.layout.blocks if b.part == part and b.group is None]
    k = [c[::2] for c in built.layout.coefficients].index((part, column))
    (row,) = np.flatnonzero(built.layout.matrix[:, k])
    assert block.start <= row < block.stop
    return drawn["effects"].values[..., row]


@pytest.fixture(scope="module")
def full(coded, bound, full_parts):
    data = coded(
        np.random.default_rng(1).integers(-1, 2, (2, 6, 3, 3, 2)),
        items=UNEVEN,
        models=MODELS,
        prefixes=PREFIXES,
        runs=2,
    )
    spec, cells, parts = bound(full_parts, data)
    built = build(spec, cells, parts)
    drawn = draws_of(
        built,
        gap=np.random.default_rng(2).uniform(0.3, 2, (CHAINS, DRAWS, 1)),
        cor_theta_model=np.full((CHAINS, DRAWS), 0.25),
    )
    return SimpleNamespace(
        built=built, drawn=drawn, posterior=name_posterior(built, drawn), data=data, cells=cells
    )


def theta(full, model, dimension):
    column = f"dimension[{dimension}]"
    return common(full.built, full.drawn, "theta", column) + effect(
        full.built, full.drawn, "theta", ("model",), (model,), column
    )


def test_dimensions_are_in_the_order_of_the_data(full):
    posterior = full.posterior
    assert posterior["theta"].dims == ("chain", "draw", "model", "dimension")
    assert list(posterior["dimension"].values) == ["economic", "cultural"]
    assert list(posterior["item"].values) == [item[0] for item in UNEVEN]
    assert list(posterior["prefix"].values) == list(PREFIXES)
    assert posterior.sizes["chain"] == CHAINS


def test_models_are_in_the_order_of_the_data(full):
    assert list(full.posterior["model"].values) == list(MODELS)


def test_theta(full):
    for model in MODELS:
        for dimension in ("economic", "cultural"):
            found = full.posterior["theta"].sel(model=model, dimension=dimension)
            np.testing.assert_allclose(found, theta(full, model, dimension))


def test_acquiescence_is_that_over_all_prefixes(full):
    b, d = full.built, full.drawn
    for model in MODELS:
        by_prefix = [
            effect(b, d, "acquiescence", ("model", "prefix"), (model, p)) for p in PREFIXES
        ]
        expected = common(b, d, "acquiescence") + effect(b, d, "acquiescence", ("model",), (model,))
        found = full.posterior["acquiescence"].sel(model=model)
        np.testing.assert_allclose(found, expected + np.mean(by_prefix, axis=0))


@pytest.mark.parametrize("part", ["acquiescence", "steer"])
def test_prefix_effects_are_deviations_from_the_model(full, part):
    found = full.posterior[f"prefix_{part}"]
    for model in MODELS:
        values = {
            p: effect(full.built, full.drawn, part, ("model", "prefix"), (model, p))
            for p in PREFIXES
        }
        for p in PREFIXES:
            np.testing.assert_allclose(
                found.sel(model=model, prefix=p), values[p] - np.mean(list(values.values()), axis=0)
            )


def test_items_and_wordings(full):
    b, d, posterior = full.built, full.drawn, full.posterior
    for item, _, _, wordings in UNEVEN:
        np.testing.assert_allclose(
            posterior["difficulty"].sel(item=item), effect(b, d, "difficulty", ("item",), (item,))
        )
        np.testing.assert_allclose(
            posterior["discrimination"].sel(item=item),
            np.exp(effect(b, d, "discrimination", ("item",), (item,))),
        )
        for variant in ("original", "opposite", "paraphrase"):
            found = posterior["wording"].sel(item=item, variant=variant)
            if variant in wordings:
                expected = effect(b, d, "wording", ("item", "variant"), (item, variant))
                np.testing.assert_allclose(found, expected)
            else:
                assert found.isnull().all()


def test_scales_by_model_and_by_name(full):
    posterior, sd = full.posterior, full.drawn["sd"].values
    place = {label: k for k, label in enumerate(full.built.layout.scales)}
    for model in MODELS:
        np.testing.assert_allclose(
            posterior["wording_scale"].sel(model=model),
            sd[..., place["wording", "model:item:variant", model]],
        )
        for part in ("acquiescence", "steer"):
            np.testing.assert_allclose(
                posterior["prefix_scale"].sel(model=model, prefix_effect=part),
                sd[..., place[part, "model:prefix", model]],
            )
    assert posterior.sizes["scale_name"] == len(place)
    np.testing.assert_allclose(
        posterior["scale"].sel(scale_name="quirk: model:item"),
        sd[..., place["quirk", "model:item", ""]],
    )
    np.testing.assert_allclose(
        posterior["gap"].sel(middle_point="neutral"), full.drawn["gap"][..., 0]
    )
    np.testing.assert_allclose(posterior["cor_theta_model"], 0.25)


def wording_effects(full, model, item, variant):
    b, d = full.built, full.drawn
    return effect(b, d, "wording", ("item", "variant"), (item, variant)) + effect(
        b, d, "wording", ("model", "item", "variant"), (model, item, variant)
    )


def eta_of(full, model, item, dimension, keying, variant, prefix):
    b, d = full.built, full.drawn
    asked = (
        common(b, d, "acquiescence")
        + effect(b, d, "acquiescence", ("model",), (model,))
        + effect(b, d, "acquiescence", ("model", "prefix"), (model, prefix))
        + wording_effects(full, model, item, variant)
    )
    location = theta(full, model, dimension) - effect(b, d, "difficulty", ("item",), (item,))
    belief = (
        np.exp(effect(b, d, "discrimination", ("item",), (item,))) * location
        + effect(b, d, "steer", ("model", "prefix"), (model, prefix))
        + effect(b, d, "quirk", ("model", "item"), (model, item))
    )
    return asked + keying * belief


def test_the_bias_measure_is_equation_3_wording_by_wording(full):
    """Right less left over two, each the mean over wordings of P(agree) - P(disagree).

    An opposite counts the other way round; over prefixes it is averaged first.
    """
    polarity = {"original": 1, "paraphrase": 1, "opposite": -1}
    side_of = {"left": -1, "right": 1}
    for model in MODELS:
        sides = {}
        for item, dimension, direction, wordings in UNEVEN:
            of_wordings = []
            for variant in wordings:
                keying = side_of[direction] * polarity[variant]
                net = []
                for prefix in PREFIXES:
                    eta = eta_of(full, model, item, dimension, keying, variant, prefix)
                    width = np.exp(
                        effect(full.built, full.drawn, "threshold", ("model",), (model,))
                    )
                    half = full.drawn["gap"].values[..., 0] / 2 * width
                    agree, disagree = special.expit(eta - half), special.expit(-half - eta)
                    net.append(polarity[variant] * (agree - disagree))
                of_wordings.append(np.mean(net, axis=0))
                sides.setdefault((dimension, direction), []).append(np.mean(net, axis=0))
            found = full.posterior["bias_item"].sel(model=model, item=item)
            expected = side_of[direction] * np.mean(of_wordings, axis=0)
            np.testing.assert_allclose(found, expected)
        for dimension in ("economic", "cultural"):
            right, left = (np.mean(sides[dimension, d], axis=0) for d in ("right", "left"))
            found = full.posterior["bias"].sel(model=model, dimension=dimension)
            np.testing.assert_allclose(found, (right - left) / 2)
        right, left = (
            np.mean([*sides["economic", d], *sides["cultural", d]], axis=0)
            for d in ("right", "left")
        )
        found = full.posterior["bias_total"].sel(model=model)
        np.testing.assert_allclose(found, (right - left) / 2)
    assert (abs(full.posterior["bias"]) <= 1).all()


def test_draws_without_the_integrated_effects_are_refused(full):
    size = full.built.layout.blocks[-1].stop
    short = full.drawn.isel(effects_dim_0=slice(0, size - 1))
    with pytest.raises(ValueError, match=rf"^draws: {size - 1} effects where the model has {size}"):
        name_posterior(full.built, short)


def test_a_side_without_items_has_no_bias(coded, bound):
    items = (
        ("e1", "economic", "right", ("original", "opposite")),
        ("e2", "economic", "right", ("original", "opposite")),
        ("c1", "cultural", "left", ("original", "opposite")),
        ("c2", "cultural", "right", ("original", "opposite")),
    )
    spec, cells, parts = bound({"theta": "~ 0 + dimension"}, coded(items=items))
    built = build(spec, cells, parts)
    posterior = name_posterior(built, draws_of(built, gap=np.ones((CHAINS, DRAWS, 1))))
    assert posterior["bias"].sel(dimension="economic").isnull().all()
    assert posterior["bias"].sel(dimension="cultural").notnull().all()
    assert posterior["bias_total"].notnull().all()


def test_predictors_of_the_model_enter_theta(coded, bound):
    data = coded(models=("a", "b"), instruct=(False, True))
    spec, cells, parts = bound({"theta": "~ 0 + dimension + instruct:dimension"}, data)
    built = build(spec, cells, parts)
    drawn = draws_of(built, gap=np.ones((CHAINS, DRAWS, 1)))
    beta = np.random.default_rng(5).normal(size=4)
    drawn["effects"].values[:] = built.layout.matrix @ beta
    posterior = name_posterior(built, drawn)
    names = [c[2] for c in built.layout.coefficients]
    for dimension in ("economic", "cultural"):
        base = beta[names.index(f"dimension[{dimension}]")]
        (slope,) = [k for k, n in enumerate(names) if "instruct" in n and dimension in n]
        found = posterior["theta"].sel(dimension=dimension)
        np.testing.assert_allclose(found.sel(model="a"), base)
        np.testing.assert_allclose(found.sel(model="b"), base + beta[slope])


def test_validity_is_the_share_of_what_was_asked(coded, bound):
    """e1 was asked twice as often as the other items: its probability counts twice."""
    stance = np.ones((2, 4, 1, 1, 1)) * np.array([1, 2, 1, 1])[None, :, None, None, None]
    data = coded(stance.astype(int), runs=2)
    data["status"][:, 1:, :, :, 1] = NOT_ASKED
    parts = {"theta": "~ 0 + dimension", "validity": "~ 1 + (1 | item)"}
    spec, cells, bounds = bound(parts, data)
    built = build(spec, cells, bounds)
    drawn = draws_of(built, gap=np.ones((CHAINS, DRAWS, 1)))
    mean = common(built, drawn, "validity")
    share = {
        item: 1 / (1 + np.exp(-mean - effect(built, drawn, "validity", ("item",), (item,))))
        for item in ("e1", "e2", "c1", "c2")
    }
    expected = (2 * share["e1"] + share["e2"] + share["c1"] + share["c2"]) / 5
    found = name_posterior(built, drawn)["validity"]
    assert found.dims == ("chain", "draw", "model")
    for model in ("m1", "m2"):
        np.testing.assert_allclose(found.sel(model=model), expected)


def test_parts_that_are_not_there_have_no_variables(coded, bound):
    spec, cells, parts = bound({"theta": "~ 0 + dimension"}, coded())
    built = build(spec, cells, parts)
    posterior = name_posterior(
        built, draws_of(built, gap=np.ones((CHAINS, DRAWS, 1))).drop_vars("sd")
    )
    positions = {"theta", "theta_asked", "lean", "bias", "bias_total", "bias_item"}
    assert set(posterior.data_vars) == {*positions, "gap", "coefficient"}


def test_a_posterior_goes_to_a_file_and_back(full, tmp_path):
    from polbayes.fit.fit import load_posterior, save_posterior

    stats_ = xr.Dataset({"diverging": (("chain", "draw"), np.zeros((CHAINS, DRAWS), bool))})
    save_posterior(full.posterior, stats_, tmp_path / "posterior.nc")
    back = load_posterior(tmp_path / "posterior.nc")
    for name in full.posterior.data_vars:
        np.testing.assert_allclose(back[name].values, full.posterior[name].values)
        assert back[name].dims == full.posterior[name].dims
    assert [p.name for p in tmp_path.iterdir()] == ["posterior.nc"]


def test_kept_draws_come_back_only_for_what_they_were_made_from(full, coded, bound, tmp_path):
    stats_ = xr.Dataset({"diverging": (("chain", "draw"), np.zeros((CHAINS, DRAWS), bool))})
    cache, layout = DrawsCache(tmp_path / "draws.nc", "a"), full.built.layout
    assert cache.load(layout) is None
    cache.save(full.drawn.assign(deviates=full.drawn["b"]), stats_, layout)
    drawn, stats_again = cache.load(layout)
    assert "deviates" not in drawn
    again = name_posterior(full.built, drawn)
    for name in full.posterior.data_vars:
        np.testing.assert_array_equal(again[name].values, full.posterior[name].values)
    assert stats_again["diverging"].sum() == 0
    assert DrawsCache(tmp_path / "draws.nc", "b").load(layout) is None
    spec, cells, parts = bound({"theta": "~ 0 + dimension"}, coded())
    assert cache.load(build(spec, cells, parts).layout) is None
    cache.path.write_bytes(cache.path.read_bytes()[:1000])
    assert cache.load(layout) is None


ETA = np.array([-2.5, -0.3, 0.0, 1.1, 4.0])
OWN = np.array([0.2, -0.4, 0.1, 0.0, 0.3])


def test_net_agreement_of_three_points():
    half = 0.8 / 2 * np.exp(OWN)
    expected = special.expit(ETA - half) - special.expit(-half - ETA)
    found = FAMILIES["cumulative"].net(ETA, OWN, np.array([0.8]))
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize(
    ("gaps", "cuts"),
    [
        # The middle one of three cutpoints is 0 and parts disagreeing from agreeing.
        ([0.5, 1.5], [-0.5, 0.0, 1.5]),
        # The middle two of four are equally far from 0; the point between them counts nothing.
        ([1.0, 0.5, 2.0], [-1.25, -0.25, 0.25, 2.25]),
    ],
)
def test_net_agreement_of_four_and_five_points(gaps, cuts):
    below = special.expit(np.array(cuts)[:, None] * np.exp(OWN) - ETA)
    disagree, agree = (below[1], 1 - below[1]) if len(cuts) == 3 else (below[1], 1 - below[2])
    found = FAMILIES["cumulative"].net(ETA, OWN, np.array(gaps))
    np.testing.assert_allclose(found, agree - disagree, atol=1e-12)


def test_net_agreement_of_two_points():
    found = FAMILIES["bernoulli"].net(ETA, np.zeros(5), np.empty(0))
    np.testing.assert_allclose(found, 2 * special.expit(ETA) - 1)


@pytest.mark.parametrize(("sigma", "tolerance"), [(0.2, 1e-8), (0.6, 1e-5), (1.2, 2e-3)])
def test_net_agreement_of_a_logit_normal_answer(sigma, tolerance):
    """The mean of 2 R - 1 over the residual, by quadrature of scipy."""

    def mean(eta):
        def integrand(z):
            return (2 * special.expit(z) - 1) * stats.norm(eta, sigma).pdf(z)

        return integrate.quad(integrand, eta - 10 * sigma, eta + 10 * sigma)[0]

    found = FAMILIES["logit_normal"].net(ETA, np.full(5, np.log(sigma)), np.empty(0))
    np.testing.assert_allclose(found, [mean(eta) for eta in ETA], atol=tolerance)


def test_net_agreement_of_a_beta_answer_is_that_of_its_mean():
    phi = 3.0
    mean = special.expit(ETA)
    expected = 2 * stats.beta(mean * phi, (1 - mean) * phi).mean() - 1
    found = FAMILIES["beta"].net(ETA, np.full(5, np.log(phi)), np.empty(0))
    np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize("family", ["logit_normal", "beta"])
def test_the_expected_probability_of_a_usable_answer(coded, bound, family):
    data = coded(1, items=UNEVEN, models=MODELS, r_plus=0.4)
    half = xr.full_like(data["r_plus"], 0.3)
    data = data.assign(p_agree=half, p_disagree=half)
    parts = {
        "theta": "~ 0 + dimension + (0 + dimension | model)",
        "sigma" if family == "logit_normal" else "phi": "~ 1",
        "validity": "~ 1 + (1 | model)",
    }
    built = build(*bound(parts, data, response="r_plus", family=family))
    drawn = draws_of(built, seed=4)
    found = name_posterior(built, drawn)["validity"]
    spread = common(built, drawn, f"validity_{'sigma' if family == 'logit_normal' else 'phi'}")
    for model in MODELS:
        logit = common(built, drawn, "validity") + effect(
            built, drawn, "validity", ("model",), (model,)
        )
        expected = special.expit(logit)
        if family == "logit_normal":
            expected = np.vectorize(
                lambda at, log_sd: stats.norm(at, np.exp(log_sd)).expect(special.expit)
            )(logit, spread)
        np.testing.assert_allclose(found.sel(model=model), expected, atol=2e-4)
