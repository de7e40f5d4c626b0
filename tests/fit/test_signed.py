"""Discriminations of either sign, with an anchor that says which way is right."""

import numpy as np
import pytest
from scipy import special

from polbayes.config.schema import SamplerConfig
from polbayes.errors import UserError
from polbayes.fit.analysis import check_analysis, fit_analysis
from polbayes.fit.density.density import Density
from polbayes.fit.density.model import build
from polbayes.fit.fit import fit
from polbayes.fit.spec.cells import gather_cells
from polbayes.fit.spec.equation import equation, prior_lines

PARTS = {
    "theta": "~ (0 + dimension | model)",
    "difficulty": "~ 1 + (1 | item)",
    "discrimination": "~ (1 | item)",
}
MODELS = tuple(f"m{k:02}" for k in range(30))
ITEMS = tuple(
    (f"{d[0]}{k:02}", d, "right", ("original", "opposite"))
    for d in ("economic", "cultural")
    for k in range(12)
)
BINARY = {"family": "bernoulli", "response": "agree"}
ANCHOR = {"economic": "m29", "cultural": "m00"}


@pytest.fixture(scope="module")
def truth():
    """Half of the discriminations are negative, and one is nearly zero; their mean square is 1."""
    rng = np.random.default_rng(3)
    theta = rng.normal(0, 1, (len(MODELS), 2))
    theta[29, 0], theta[0, 1] = 1.8, 1.6
    size = rng.uniform(0.8, 2.5, len(ITEMS))
    size[5] = 0.02
    unit = np.sqrt((size**2).mean())
    theta, size = theta * unit, size / unit
    return theta, size * np.where(np.arange(len(ITEMS)) % 2, -1, 1), rng.normal(0, 1, len(ITEMS))


@pytest.fixture(scope="module")
def data(coded, truth):
    theta, discrimination, difficulty = truth
    rng = np.random.default_rng(4)
    empty = coded(1, items=ITEMS, models=MODELS, prefixes=("baseline",))
    cultural = (empty["dimension"] == "cultural").to_numpy().astype(int)
    leaning = discrimination * theta[:, cultural] - difficulty
    eta = empty["keying"].to_numpy()[None, :, :] * leaning[:, :, None]
    agrees = rng.random(eta.shape) < special.expit(eta)
    stance = np.where(agrees, 1, -1)[..., None, None]
    return coded(stance, items=ITEMS, models=MODELS, prefixes=("baseline",))


@pytest.fixture(scope="module")
def point(data, bound):
    """A model at a point of the sampler's coordinates."""
    spec, cells, parts = bound(PARTS, data, anchor=ANCHOR, **BINARY)
    built = build(spec, cells, parts)
    model = built.model
    outputs = model.replace_rvs_by_values([model["effects"], *model.potentials])
    names = [p.name for p in model.potentials]
    compiled = model.compile_fn(outputs, mode="FAST_COMPILE", on_unused_input="ignore")
    start = model.initial_point(random_seed=1)

    def at(spread, seed=0):
        rng = np.random.default_rng(seed)
        values = compiled({k: v + rng.normal(0, spread, np.shape(v)) for k, v in start.items()})
        return values[0], dict(zip(names, map(float, values[1:]), strict=True))

    return built, at


def effects_of(built, effects, part):
    block = next(b for b in built.layout.blocks if b.part == part and b.group)
    rows = effects[block.start : block.stop].reshape(-1, len(block.group.columns))
    levels = block.group.levels.iloc[:, 0]
    return {
        (level, column): value
        for level, row in zip(levels, rows, strict=True)
        for column, value in zip(block.group.columns, row, strict=True)
    }


def test_the_likelihood_is_that_of_the_equation(point):
    built, at = point
    effects, potentials = at(0.1)
    theta, difficulty, discrimination = (effects_of(built, effects, part) for part in PARTS)
    mean = effects[: built.layout.matrix.shape[0]]
    expected = 0.0
    for row, counts in zip(built.cells.frame.itertuples(), built.cells.counts, strict=True):
        position = theta[row.model, f"dimension[{row.dimension}]"]
        leaning = discrimination[row.item, "Intercept"] * position
        leaning -= mean[0] + difficulty[row.item, "Intercept"]
        odds = row.keying * leaning
        expected += counts @ [special.log_expit(-odds), special.log_expit(odds)]
    assert potentials["answers"] == pytest.approx(expected, rel=1e-12)
    assert potentials["anchors"] == 0.0


def test_theta_sums_to_zero_and_difficulties_about_their_mean(point):
    built, at = point
    effects, _ = at(0.2)
    theta = effects_of(built, effects, "theta")
    for d in ("economic", "cultural"):
        total = sum(v for (_, column), v in theta.items() if d in column)
        assert total == pytest.approx(0, abs=1e-10)
    assert sum(effects_of(built, effects, "difficulty").values()) == pytest.approx(0, abs=1e-10)
    assert abs(sum(effects_of(built, effects, "discrimination").values())) > 0.1


def test_the_other_half_is_impossible(point):
    """All thetas together must point the way they do at the mode, where the anchors are right."""
    built, at = point
    mode = effects_of(built, built.start.effects, "theta")
    assert all(mode[m, f"dimension[{d}]"] > 0 for d, m in ANCHOR.items())
    seen, anchors = set(), set()
    for seed in range(40):
        effects, potentials = at(2.0, seed)
        theta = effects_of(built, effects, "theta")
        columns = [f"dimension[{d}]" for d in ANCHOR]
        inside = all(sum(theta[m, c] * mode[m, c] for m in MODELS) > 0 for c in columns)
        assert potentials["anchors"] == (0.0 if inside else -np.inf)
        seen.add(inside)
        anchors.add((inside, all(theta[m, f"dimension[{d}]"] > 0 for d, m in ANCHOR.items())))
    assert seen == {True, False}
    assert (True, False) in anchors  # one of the anchors may be left of the middle


def test_which_anchor_is_named_does_not_matter(data, bound, truth):
    """On the same side: the density is the same everywhere, as it bounds no single theta."""
    points = []
    second = MODELS[int(np.argsort(truth[0][:, 0])[-2])]
    for economic in ("m29", second):
        spec, cells, parts = bound(
            PARTS, data, anchor={"economic": economic, "cultural": "m00"}, **BINARY
        )
        density = Density(build(spec, cells, parts))
        x = density.start(1) + np.random.default_rng(2).normal(0, 0.3, density.size)
        points.append(density(x))
    assert points[0][0] == pytest.approx(points[1][0], rel=1e-12)
    np.testing.assert_allclose(points[0][1], points[1][1])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Cannot cache compiled function")
def test_the_posterior_is_that_of_a_model_written_row_by_row(coded, spec_of):
    """In plain PyMC, with the same priors; at most 5 % of a posterior standard deviation is noise.

    Six models and eight items, so that priors and the anchor's constraint matter.
    """
    import pymc as pm

    models, items = MODELS[:6], ITEMS[:8]
    rng = np.random.default_rng(6)
    theta, slope = np.linspace(-1.5, 1.5, 6), np.where(np.arange(8) % 3, 1.2, -0.9)
    empty = coded(1, items=items, models=models, prefixes=("baseline",), runs=2)
    keying = empty["keying"].to_numpy()
    eta = keying[None] * (theta[:, None] * slope)[:, :, None]
    agrees = rng.random((*eta.shape, 1, 2)) < special.expit(eta)[..., None, None]
    stance = np.where(agrees, 1, -1)
    data = coded(stance, items=items, models=models, prefixes=("baseline",), runs=2)
    parts = {**PARTS, "theta": "~ (1 | model)"}
    spec = spec_of(parts, anchor={"economic": models[-1]}, **BINARY)
    config = SamplerConfig(tune=500, draws=2000, target_accept=0.95)
    ours = fit(spec, gather_cells(data, spec), config, seed=1).posterior

    m, i, v, *_ = np.indices(stance.shape)
    with pm.Model():
        spread = pm.HalfNormal("spread", 1.0)
        z = pm.ZeroSumNormal("z", 1.0, shape=6, initval=theta)
        x = pm.Deterministic("x", spread * z)
        pm.Potential("anchor", pm.math.switch(x[-1] > 0, 0.0, -np.inf))
        b = pm.Normal("b", 0.0, 1.0, shape=8, initval=slope)
        mean = pm.Normal("mean", 0.0, 1.0)
        sd = pm.HalfNormal("sd", 2.0)
        a = pm.Deterministic("a", mean + sd * pm.ZeroSumNormal("u", 1.0, shape=8))
        position = keying[i, v] * (b[i] * x[m] - a[i])
        pm.Bernoulli("y", logit_p=position.ravel(), observed=(stance.ravel() == 1).astype(int))
        theirs = pm.sample(
            draws=2000,
            tune=1000,
            chains=4,
            nuts_sampler="nutpie",
            target_accept=0.95,
            random_seed=1,
            progressbar=False,
            compute_convergence_checks=False,
        ).posterior
    pairs = {
        "theta": (ours["theta"].isel(dimension=0), theirs["x"]),
        "discrimination": (ours["discrimination"], theirs["b"]),
        "difficulty": (ours["difficulty"], theirs["a"]),
    }
    for name, (one, other) in pairs.items():
        one, other = (q.to_numpy().reshape(8000, -1) for q in (one, other))
        spread = other.std(axis=0)
        np.testing.assert_allclose(
            one.mean(axis=0) / spread, other.mean(axis=0) / spread, atol=0.15, err_msg=name
        )
        np.testing.assert_allclose(one.std(axis=0) / spread, 1, atol=0.12, err_msg=name)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Cannot cache compiled function")
def test_planted_positions_and_signs_come_back(data, truth, spec_of):
    theta, discrimination, difficulty = truth
    config = SamplerConfig(tune=400, draws=500)
    spec = spec_of(PARTS, anchor=ANCHOR, **BINARY)
    posterior = fit(spec, gather_cells(data, spec), config, seed=1).posterior
    mean = posterior.mean(("chain", "draw"))
    for k, d in enumerate(("economic", "cultural")):
        ours = mean["theta"].sel(dimension=d).to_numpy()
        assert np.corrcoef(ours, theta[:, k])[0, 1] > 0.9
    clear = abs(discrimination) > 0.4
    signs = np.sign(mean["discrimination"].sel(item=[i[0] for i in ITEMS]).to_numpy())
    assert (signs == np.sign(discrimination))[clear].all()
    low, high = (
        posterior["discrimination"].quantile(q, ("chain", "draw")).to_numpy() for q in (0.05, 0.95)
    )
    inside = (low < discrimination) & (discrimination < high)
    assert inside.mean() > 0.75
    assert low[5] < 0 < high[5]
    assert np.corrcoef(mean["difficulty"], difficulty)[0, 1] > 0.9


def test_the_equation_says_what_is_meant(spec_of):
    spec = spec_of(PARTS, anchor=ANCHOR, **BINARY)
    text = equation(spec)
    assert "η = s · (discrimination · theta − difficulty)" in text
    assert "theta[m29, economic] > 0" in text
    assert "log discrimination" not in text
    assert "discrimination: standard deviation of (1 | item) ~ Constant(1)" in prior_lines(spec)


@pytest.mark.parametrize(
    ("parts", "anchor", "message"),
    [
        ({}, {"economic": "m29"}, "without an anchor for cultural"),
        ({}, {"economic": "m29", "culture": "m00"}, "did you mean 'cultural'"),
        ({}, {"economic": "m92", "cultural": "m00"}, "analysis.anchor.economic: .*'m92'"),
        ({"theta": "~ 0 + dimension + (0 + dimension | model)"}, ANCHOR, "a mean of theta"),
        ({"discrimination": None}, ANCHOR, "there is no part 'discrimination'"),
    ],
)
def test_what_cannot_be_meant_is_refused(data, bound, parts, anchor, message):
    with pytest.raises(UserError, match=message):
        bound({**PARTS, **parts}, data, anchor=anchor, **BINARY)


def test_discriminations_of_either_sign_need_a_term_by_item(data, bound):
    parts = {**PARTS, "discrimination": "~ (1 | model:item)"}
    with pytest.raises(UserError, match="need a term"):
        bound(parts, data, anchor=ANCHOR, **BINARY)


def test_a_constant_is_for_standard_deviations_of_effects(spec_of):
    for key in ("theta.dimension", "cutpoints"):
        with pytest.raises(UserError, match="standard deviations of effects only"):
            spec_of({"theta": "~ 0 + dimension"}, priors={key: "Constant(1)"})


def test_statements_that_nobody_keyed_are_those_on_which_agreeing_is_right(data, spec_of):
    """Only an anchor makes use of them; wordings of opposite meaning are turned by their kind."""
    unkeyed = data.assign_coords(direction=0 * data["direction"], keying=0 * data["keying"])
    spec = spec_of(PARTS, anchor=ANCHOR, **BINARY)
    known, unknown = (gather_cells(d, spec) for d in (data, unkeyed))
    assert set(known.frame["keying"]) == {-1, 1}
    assert unknown.frame.astype(known.frame.dtypes).equals(known.frame)
    np.testing.assert_array_equal(unknown.counts, known.counts)
    check_analysis(spec, unkeyed)
    plain = spec_of({"theta": "~ 0 + dimension + (0 + dimension | model)"})
    with pytest.raises(UserError, match=r"known direction; name .* under analysis\.anchor"):
        check_analysis(plain, unkeyed)
    unscored = unkeyed.assign_coords(dimension=("item", np.full(len(ITEMS), "")))
    with pytest.raises(UserError, match="none of the items to ask is scored"):
        check_analysis(plain, unscored)


def test_lean_is_the_stance_on_a_new_statement_that_its_discrimination_keys(data, spec_of):
    """In each draw, against many statements drawn anew and answered as the equation says."""
    spec = spec_of(PARTS, anchor=ANCHOR, **BINARY)
    sampler = SamplerConfig(chains=2, tune=200, draws=50)
    found = fit_analysis(spec, data, sampler, level=0.9, seed=1)
    assert not {"d_study", "reliability", "flips"} & set(found.tables)
    assert any("scored by the statements' keys" in note for note in found.notes)
    _bias_takes_the_sign_of_the_discrimination(found)
    rng = np.random.default_rng(5)
    normal = rng.normal(0, 1, (2, 200_000))
    for k in range(0, 50, 10):
        draw = found.posterior.isel(chain=0, draw=k)
        scale = float(draw["scale"].sel(scale_name="difficulty: item"))
        discrimination = normal[0]
        difficulty = float(draw["coefficient"][0]) + scale * normal[1]
        for m in (0, 14, 29):
            theta = float(draw["theta"].sel(dimension="economic")[m])
            agree = special.expit(discrimination * theta - difficulty)
            stance = np.sign(discrimination) * (2 * agree - 1)
            lean = float(draw["lean"].sel(dimension="economic")[m])
            assert lean == pytest.approx(stance.mean(), abs=0.008)
            assert np.sign(lean) == np.sign(theta)


def _bias_takes_the_sign_of_the_discrimination(found):
    """Draw by draw: agreeing with a statement is right where its discrimination is positive."""
    draws = found.posterior
    item = [i for i, dimension, *_ in ITEMS if dimension == "economic"]
    slope, location = (draws[name].sel(item=item) for name in ("discrimination", "difficulty"))
    agree = special.expit(slope * draws["theta"].sel(dimension="economic") - location)
    expected = np.sign(slope) * (2 * agree - 1)
    bias = draws["bias_item"].sel(item=item).transpose(*expected.dims)
    np.testing.assert_allclose(bias, expected, atol=1e-12)
    assert set(np.sign(slope[..., :6].to_numpy().ravel())) == {-1.0, 1.0}
    table = found.tables["bias_by_item"].set_index(["model", "item"])
    means = expected.mean(("chain", "draw")).to_series().reorder_levels(["model", "item"])
    np.testing.assert_allclose(table["estimate"].loc[means.index], means, atol=1e-12)
