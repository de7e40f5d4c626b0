"""The model's log-posterior against one written from the equation of the documentation.

    eta = acquiescence + wording + s * (discrimination * (theta - difficulty) + steer + quirk)

times decisiveness, where there is one. Whatever coordinates the sampler moves in, the density of
what they stand for (coefficients, scales, correlation, cutpoints and effects that sum to zero) must
be that of the equation. With y those quantities as a function of the coordinates x,
log p(x) = log p(y(x)) + log |dy/dx|; the Jacobian is taken by finite differences.
"""

import numpy as np
import pytest
import xarray as xr
from scipy import special, stats

from polbayes.data.dataset import STANCE, to_frame
from polbayes.fit.density.ahead import Ahead, own_views
from polbayes.fit.density.clusters import members
from polbayes.fit.density.coordinates import known_of, one_by_one, units_of
from polbayes.fit.density.density import Density, expand
from polbayes.fit.density.expansion import REST
from polbayes.fit.density.model import build
from polbayes.fit.spec.priors import CONSTANT

# The sum-to-zero constraints: term -> the group of a level, from its labels by factor.
DIMENSION_OF = {"e1": "economic", "e2": "economic", "c1": "cultural", "c2": "cultural"}
GROUPS = {
    ("theta", ("model",)): lambda at: 0,
    ("difficulty", ("item",)): lambda at: DIMENSION_OF[at["item"]],
    ("discrimination", ("item",)): lambda at: DIMENSION_OF[at["item"]],
    ("acquiescence", ("model",)): lambda at: 0,
    ("acquiescence", ("model", "prefix")): lambda at: at["model"],
    ("steer", ("model", "prefix")): lambda at: at["model"],
    ("quirk", ("model", "item")): lambda at: (at["model"], DIMENSION_OF[at["item"]]),
    ("wording", ("item", "variant")): lambda at: 0,
    ("wording", ("model", "item", "variant")): lambda at: at["model"],
    ("threshold", ("model",)): lambda at: 0,
    ("sigma", ("model",)): lambda at: 0,
    ("phi", ("model",)): lambda at: 0,
    ("validity", ("model",)): lambda at: 0,
    ("validity_sigma", ("model",)): lambda at: 0,
}
# Standard deviations of the half-normal priors; the defaults of the package.
HALF_NORMAL = {
    ("theta", ("model",)): 1.0,
    ("difficulty", ("item",)): 1.0,
    ("discrimination", ("item",)): 0.3,
    ("acquiescence", ("model",)): 1.0,
    ("validity", ("model",)): 1.0,
}


class Named:
    """The quantities of one point, by name."""

    def __init__(self, built, values):
        self.built = built
        self.values = values
        layout = built.layout
        self.common = {}
        for k, (part, _, column) in enumerate(layout.coefficients):
            self.common.setdefault(part, {})[column] = values["b"][k]
        self.effects, self.sd = {}, {}
        for block in layout.blocks:
            if block.group is None:
                continue
            key = (block.part, block.group.term.factors)
            rows = values["effects"][block.start : block.stop].reshape(-1, len(block.group.columns))
            levels = block.group.levels.itertuples(index=False, name=None)
            self.effects[key] = {
                level: dict(zip(block.group.columns, row, strict=True))
                for level, row in zip(levels, rows, strict=True)
            }
            first, count = block.scales
            self.sd[key] = dict(
                zip(
                    [s[2] for s in layout.scales[first:][:count]],
                    values["sd"][first:][:count],
                    strict=True,
                )
            )

    def intercept(self, part):
        return self.common.get(part, {}).get("Intercept", 0.0)

    def of(self, part, row):
        """Sum the varying intercepts of a part that a row has."""
        total = self.intercept(part)
        for (name, factors), levels in self.effects.items():
            if name == part:
                total += levels[tuple(getattr(row, f) for f in factors)].get("Intercept", 0.0)
        return total

    def theta(self, row):
        column = f"dimension[{row.dimension}]"
        varying = self.effects.get(("theta", ("model",)), {})
        return self.common["theta"][column] + varying.get((row.model,), {}).get(column, 0.0)

    def eta(self, row):
        belief = np.exp(self.of("discrimination", row)) * (
            self.theta(row) - self.of("difficulty", row)
        )
        belief += self.of("steer", row) + self.of("quirk", row)
        asked = self.of("acquiescence", row) + self.of("wording", row)
        return np.exp(self.of("decisiveness", row)) * (asked + row.keying * belief)


FAMILY_SPREAD = {"logit_normal": "sigma", "beta": "phi"}


def log_likelihood(named, answers, family):
    """Go through the answers one by one; the multinomial coefficients are left out."""
    total = 0.0
    for row in answers.itertuples():
        if family in ("cumulative", "bernoulli") and "validity" in named.built.parts:
            valid = named.of("validity", row)
            usable = row.stance in (-1, 0, 1)
            total += special.log_expit(valid if usable else -valid)
        if family in ("cumulative", "bernoulli") and row.stance not in (-1, 0, 1):
            continue
        if family in ("logit_normal", "beta") and "validity" in named.built.parts:
            total += log_density(row.p_agree + row.p_disagree, "validity", named, row, family)
            if np.isnan(row.r_plus):
                continue
        eta = named.eta(row)
        if family == "cumulative":
            half = named.values["gap"][0] / 2 * np.exp(named.of("threshold", row))
            below = [0.0, special.expit(-half - eta), special.expit(half - eta), 1.0]
            total += np.log(below[row.stance + 2] - below[row.stance + 1])
        elif family == "bernoulli":
            total += special.log_expit(eta if row.stance == 1 else -eta) if row.stance else 0.0
        else:
            total += log_density(row.r_plus, "", named, row, family)
    return total


def log_density(value, part, named, row, family):
    """Score one number in [0, 1], which is moved off the ends."""
    squeezed = (float(value) * 999 + 0.5) / 1000
    eta = named.of(part, row) if part else named.eta(row)
    spread = named.of(f"{part}_" * bool(part) + FAMILY_SPREAD[family], row)
    spread += 0.0 if part else named.of("decisiveness", row)
    if family == "logit_normal":
        return stats.norm(eta, np.exp(spread)).logpdf(special.logit(squeezed))
    mean, phi = special.expit(eta), np.exp(spread)
    return stats.beta(mean * phi, (1 - mean) * phi).logpdf(squeezed)


def log_prior(named, *, coefficients):
    """Sum the log-densities of everything drawn; see `log_effects` for the effects."""
    total = 0.0
    for k, (part, term, _) in enumerate(named.built.layout.coefficients):
        total += coefficients.get((part, term), stats.norm(0, 1)).logpdf(named.values["b"][k])
    if "gap" in named.values:
        total += stats.lognorm(0.7).logpdf(named.values["gap"]).sum()  # LogNormal(0, 0.7)
    for name, value in named.values.items():
        if name.startswith("cor_"):  # LKJ(2) of two coefficients has density 3/4 (1 - r^2)
            total += np.log(0.75 * (1 - float(value) ** 2))
    for key, scales in named.sd.items():
        prior = stats.halfnorm(scale=HALF_NORMAL.get(key, 0.5))
        total += sum(prior.logpdf(sd) for sd in scales.values())
        total += log_effects(named, key)
    return total


def log_effects(named, key):
    """Density of independent normal effects, on the subspace that sums to zero."""
    levels, scales = named.effects[key], named.sd[key]
    columns = list(next(iter(levels.values())))
    values = np.array([[row[c] for c in columns] for row in levels.values()])
    factors = key[1]
    group_of = GROUPS[key]
    total = 0.0
    if len(columns) > 1:
        sd = np.array([scales[c] for c in columns])
        cor = float(named.values[f"cor_{key[0]}_{'_'.join(factors)}"])
        cov = np.outer(sd, sd) * np.array([[1, cor], [cor, 1]])
        total += stats.multivariate_normal(np.zeros(2), cov).logpdf(values).sum()
        # One level less: the normalising constant counts the dimensions of the subspace.
        total -= stats.multivariate_normal(np.zeros(2), cov).logpdf([0, 0])
        return total
    seen = set()
    for level, (value,) in zip(levels, values, strict=True):
        at = dict(zip(factors, level, strict=True))
        sd = scales[at["model"]] if "model" in at and at["model"] in scales else scales[""]
        total += stats.norm(0, sd).logpdf(value)
        group = group_of(at) if group_of else level
        if group_of and group not in seen:
            total -= stats.norm(0, sd).logpdf(0)
        seen.add(group)
    return total


class Point:
    """Access to a model at points of the sampler's coordinates."""

    def __init__(self, built, mode):
        model = built.model
        self.built, self.model = built, model
        self.names = [
            v.name
            for v in model.deterministics
            if v.name in ("b", "sd", "gap", "reading", "effects")
        ]
        self.names += [v.name for v in model.deterministics if v.name.startswith("cor_")]
        outputs = model.replace_rvs_by_values([model[name] for name in self.names])
        likelihood = sum(model.replace_rvs_by_values(list(model.potentials)))
        self._values = model.compile_fn(
            [*outputs, likelihood], mode="FAST_COMPILE", on_unused_input="ignore"
        )
        self.logp = model.compile_logp(mode=mode)
        self.start = model.initial_point(random_seed=0)

    def random(self, seed, spread=0.5):
        rng = np.random.default_rng(seed)
        return {k: v + rng.normal(0, spread, np.shape(v)) for k, v in self.start.items()}

    def values(self, point):
        found = self._values(point)
        return dict(zip(self.names, found[:-1], strict=True)), float(found[-1])

    def coordinates(self, point):
        """Return what the point stands for, without what the constraints repeat."""
        values, _ = self.values(point)
        spec, scales = self.built.spec, self.built.layout.scales
        drawn = [spec.prior(*scale, "sd").name != CONSTANT for scale in scales]
        values["sd"] = values["sd"][drawn]
        pieces = [np.ravel(v) for k, v in values.items() if k != "effects"]
        for block in self.built.layout.blocks:
            if block.group is None:
                continue
            key = (block.part, block.group.term.factors)
            width = len(block.group.columns)
            rows = values["effects"][block.start : block.stop].reshape(-1, width)
            basis = subspace(key, block.group.levels.to_dict("records"))
            pieces.append((basis @ rows).ravel())
        return np.concatenate(pieces)

    def log_jacobian(self, point):
        flat = np.concatenate([np.ravel(point[k]) for k in self.start])

        def at(vector):
            out, start = {}, 0
            for k, v in self.start.items():
                out[k] = vector[start : start + np.size(v)].reshape(np.shape(v))
                start += np.size(v)
            return self.coordinates(out)

        steps = 1e-5 * np.eye(len(flat))
        columns = [(at(flat + h) - at(flat - h)) / 2e-5 for h in steps]
        sign, value = np.linalg.slogdet(np.array(columns))
        assert sign != 0
        return value


class CompiledPoint(Point):
    """The same of the function that nutpie samples."""

    def __init__(self, built):
        self.built, self.density = built, Density(built)
        self.start = {"x": self.density.start(0)}

    def logp(self, point):
        """Return the log-density without that of the means, which are no part of the equation."""
        *_, group, terms, held, _ = self.density._clusters()
        values, means, grown = self.means(point)
        total = self.density(point["x"])[0]
        for first, second, one, two, r in terms:
            at = [first] if second < 0 else [first, second]
            spread = np.diag(values[[one] if second < 0 else [one, two]]) * grown
            off = 0.0 if second < 0 else values[r]
            before = spread @ (np.eye(len(at)) * (1 - off) + off) @ spread
            n = (group == first).sum()
            covariance = np.linalg.inv(n * (np.linalg.inv(before) + np.diag(held[at])))
            normal = stats.multivariate_normal(np.zeros(len(at)), covariance / grown**2)
            total -= normal.logpdf(means[at])
        return total

    def means(self, point):
        """Return scales and correlations by position, the sampled means, and their unit."""
        values, *_, logs, means, _, _, _ = expand(point["x"], *self.density._expansion)
        return values, means, np.exp(logs[-2])

    def coordinates(self, point):
        return np.concatenate([super().coordinates(point), self.means(point)[1]])

    def values(self, point):
        found = self.density.values(point["x"])
        return {k: v for k, v in found.items() if np.size(v)}, None


def subspace(key, levels):
    """Return an orthonormal basis, in rows, of the effects that the constraints allow."""
    if GROUPS[key] is None:
        return np.eye(len(levels))
    codes = [str(GROUPS[key](at)) for at in levels]
    rows = np.array([[float(c == code) for c in codes] for code in sorted(set(codes))])
    _, _, right = np.linalg.svd(rows)
    return right[len(rows) :]


RUNS = 3
CASES = {
    "cumulative": {},
    "validity": {"validity": "~ 1 + (1 | model)"},
    "bernoulli": {"threshold": None},
    "logit_normal": {"threshold": None, "sigma": "~ 1 + (1 | model)"},
    "beta": {"threshold": None, "phi": "~ 1 + (1 | model)"},
    "logit_normal and validity": {
        "threshold": None,
        "sigma": "~ 1 + (1 | model)",
        "validity": "~ 1 + (1 | model)",
        "validity_sigma": "~ 1 + (1 | model)",
    },
    # The spread of validity is there by itself.
    "beta and validity": {"threshold": None, "phi": "~ 1", "validity": "~ 1 + (1 | model)"},
}
SETTINGS = {
    "bernoulli": {"family": "bernoulli", "response": "agree"},
    "logit_normal": {"family": "logit_normal", "response": "r_plus"},
    "beta": {"family": "beta", "response": "r_plus"},
}
COEFFICIENTS = {
    ("theta", "dimension"): stats.norm(0.2, 2),
    ("sigma", "Intercept"): stats.norm(-1, 1),
    ("phi", "Intercept"): stats.norm(2, 1),
    ("validity", "Intercept"): stats.norm(0, 2),
    ("validity_sigma", "Intercept"): stats.norm(0, 1),
    ("validity_phi", "Intercept"): stats.norm(2, 1),
}


def answers_of(coded, seed=0, runs=RUNS, *, empty=False):
    rng = np.random.default_rng(seed)
    stance = rng.choice([-1, 0, 1, STANCE["unrelated"]], (2, 4, 4, 2, runs), p=[0.3, 0.2, 0.4, 0.1])
    r_plus = rng.uniform(0.05, 0.95, stance.shape)
    # One model agrees with everything under one prefix, so that some effects are well known.
    stance[1, :, :, 1] = np.where(rng.random(stance[1, :, :, 1].shape) < 0.8, 1, stance[1, :, :, 1])
    data = coded(stance, r_plus=r_plus, runs=runs)
    # Of some questions nothing is known but that no answer was usable.
    mass = np.where(rng.random(stance.shape) < 0.1, 0.0, rng.uniform(0, 1, stance.shape))
    dims = data["r_plus"].dims
    return data.assign(
        r_plus=data["r_plus"].where(xr.DataArray(mass > 0, dims=dims)) if empty else data["r_plus"],
        p_agree=(dims, mass * r_plus),
        p_disagree=(dims, mass * (1 - r_plus)),
    )


@pytest.fixture(scope="module", params=CASES)
def case(request, coded, bound, full_parts):
    name = request.param
    numbers = name.startswith(("logit_normal", "beta"))
    data = answers_of(coded, runs=1 if numbers else RUNS, empty="and validity" in name)
    parts = {**full_parts, **CASES[name]}
    settings = SETTINGS.get(name.split(" and ")[0], {})
    spec, cells, bound_parts = bound(
        parts, data, priors={"theta.dimension": "Normal(0.2, 2)"}, **settings
    )
    return spec.family, to_frame(data), Point(build(spec, cells, bound_parts), "FAST_COMPILE")


def test_the_likelihood_is_that_of_the_answers_one_by_one(case):
    family, answers, point = case
    values, found = point.values(point.random(1))
    expected = log_likelihood(Named(point.built, values), answers, family)
    assert found == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("compiled", [False, True])
def test_the_log_posterior_is_that_of_the_equation(case, compiled):
    """Compared between points, because constants do not matter."""
    family, answers, point = case
    point = CompiledPoint(point.built) if compiled else point
    gaps = []
    for seed in (2, 3, 4):
        at = point.random(seed)
        values, _ = point.values(at)
        named = Named(point.built, values)
        expected = log_prior(named, coefficients=COEFFICIENTS) + log_likelihood(
            named, answers, family
        )
        gaps.append(float(point.logp(at)) - expected - point.log_jacobian(at))
    np.testing.assert_allclose(gaps, gaps[0], atol=2e-5)


def test_the_compiled_gradient_is_the_slope(case):
    density = Density(case[2].built)
    rng = np.random.default_rng(7)
    x = density.start(1) + rng.normal(0, 0.3, density.size)
    slope = density(x)[1]
    for _ in range(3):
        step = 1e-5 * rng.normal(size=len(x))
        change = density(x + step)[0] - density(x - step)[0]
        assert 2 * slope @ step == pytest.approx(change, rel=1e-4, abs=1e-8)


def test_far_out_nothing_is_raised(case):
    """An exception there would end the sampler; what is not finite is rejected."""
    density = Density(case[2].built)
    rng = np.random.default_rng(8)
    finite = 0
    for size in (1.0, 50.0, 1e3, 1e6):
        for _ in range(20):
            finite += np.isfinite(density(rng.normal(0, size, density.size))[0])
    assert 20 <= finite < 80


def test_chains_of_the_compiled_function_start_apart_and_near_the_mode(case):
    density = Density(case[2].built)
    first, again, other = density.start(1), density.start(1), density.start(2)
    np.testing.assert_array_equal(first, again)
    assert (first != other).all()
    start, values = case[2].built.start, density.values(first)
    assert abs(values["b"] - start.coefficients).max() <= 0.3
    assert abs(np.log(values["sd"] / start.scales)).max() <= 0.3 + 1e-12


def test_effects_sum_to_zero(case):
    _, _, point = case
    values, _ = point.values(point.random(5))
    named = Named(point.built, values)
    for key, levels in named.effects.items():
        if GROUPS[key] is None:
            continue
        sums = {}
        for level, columns in levels.items():
            group = GROUPS[key](dict(zip(key[1], level, strict=True)))
            for column, value in columns.items():
                sums[group, column] = sums.get((group, column), 0.0) + value
        assert np.ptp([v for c in levels.values() for v in c.values()]) > 1e-4
        np.testing.assert_allclose(list(sums.values()), 0, atol=1e-12, err_msg=str(key))


@pytest.fixture(scope="module")
def cumulative(coded, bound, full_parts):
    spec, cells, parts = bound(full_parts, answers_of(coded))
    return build(spec, cells, parts)


# Numba says that it does not cache what holds large arrays.
@pytest.mark.filterwarnings("ignore:Cannot cache compiled function")
def test_numba_and_python_agree_and_the_gradient_is_the_slope(cumulative):
    point = Point(cumulative, "FAST_COMPILE")
    model = cumulative.model
    compiled = model.logp_dlogp_function(ravel_inputs=True, mode="NUMBA")
    compiled.set_extra_values({})
    from pymc.blocking import DictToArrayBijection

    at = DictToArrayBijection.map(point.random(6, spread=0.3))
    value, slope = compiled(at)
    raw = DictToArrayBijection.rmap(at)
    assert float(value) == pytest.approx(float(point.logp(raw)), rel=1e-9)
    rng = np.random.default_rng(7)
    for _ in range(3):
        direction = rng.normal(size=at.data.shape)
        ahead, behind = (
            compiled(at._replace(data=at.data + h * direction))[0] for h in (1e-5, -1e-5)
        )
        assert slope @ direction == pytest.approx(float(ahead - behind) / 2e-5, rel=1e-4, abs=1e-4)


def test_repeated_runs_change_the_counts_alone(cumulative, coded, bound, full_parts):
    once = answers_of(coded)
    twice = once.isel(run=np.tile(np.arange(RUNS), 2)).assign_coords(run=np.arange(1, 2 * RUNS + 1))
    spec, cells, parts = bound(full_parts, twice)
    assert len(cells.frame) == len(cumulative.cells.frame)
    np.testing.assert_array_equal(cells.counts, 2 * cumulative.cells.counts)
    again = Point(build(spec, cells, parts), "FAST_COMPILE")
    values, doubled = again.values(again.random(8))
    single = log_likelihood(Named(again.built, values), to_frame(once), "cumulative")
    assert doubled == pytest.approx(2 * single, rel=1e-9)


def test_many_answers_have_the_same_posterior_in_other_coordinates(coded, bound, full_parts):
    """Where data are many some effects are drawn as they are; that must not show."""
    rng = np.random.default_rng(0)
    shape = (2, 4, 4, 2, 60)
    lean = np.array([1.5, -1.5])[:, None, None, None, None]
    noise = rng.logistic(size=shape) + coded()["keying"].to_numpy()[..., None, None] * lean
    stance = np.where(noise > 0.5, 1, np.where(noise < -0.5, -1, 0))
    data = coded(stance, runs=60)
    spec, cells, parts = bound(full_parts, data)
    built = build(spec, cells, parts)
    assert any(block.centred for block in built.layout.blocks)
    answers = to_frame(data)
    for point in (Point(built, "FAST_COMPILE"), CompiledPoint(built)):
        gaps = []
        for seed in (2, 3):
            at = point.random(seed)
            values, _ = point.values(at)
            named = Named(built, values)
            likelihood = log_likelihood(named, answers, "cumulative")
            expected = log_prior(named, coefficients={}) + likelihood
            gaps.append(float(point.logp(at)) - expected - point.log_jacobian(at))
        assert gaps[0] == pytest.approx(gaps[1], abs=2e-5)


WORDINGS = ("original", "paraphrase_1", "paraphrase_2")
ALIKE = tuple(
    (name, of, ("left", "right")[k % 2], WORDINGS)
    for k, (name, of) in enumerate(DIMENSION_OF.items())
)


@pytest.mark.parametrize("compiled", [False, True])
def test_the_log_posterior_of_paraphrases_is_that_of_the_equation(
    coded, bound, full_parts, monkeypatch, compiled
):
    """Where means of wordings have coordinates, and views follow positions."""
    for part, factors in (
        *(("decisiveness", ("model",)), ("difficulty", ("item",))),
        ("quirk", ("model", "item")),
    ):
        monkeypatch.setitem(GROUPS, (part, factors), None)
    parts = {
        **full_parts,
        "decisiveness": "~ 1 + (1 | model)",
        "sigma": "~ 1 + (1 | model)",
        "threshold": None,
        "steer": None,
        "acquiescence": "~ 1 + (1 | model)",
    }
    rng = np.random.default_rng(4)
    names = {"items": ALIKE, "models": ("m1", "m2", "m3")}
    data = coded(r_plus=rng.uniform(0.05, 0.95, (3, 4, 3, 2, 1)), **names)
    spec, cells, found = bound(parts, data, **SETTINGS["logit_normal"])
    built = build(spec, cells, found)
    assert [b.part for b in built.layout.blocks if b.averages] == ["wording"] * 2
    assert len(Ahead(built.layout).beliefs.views) == 3 * 4
    assert len(own_views(built.layout)[0]) == 3 * 4 - 3
    answers = to_frame(data)
    point = CompiledPoint(built) if compiled else Point(built, "FAST_COMPILE")
    coefficients = COEFFICIENTS | {
        ("theta", "dimension"): stats.norm(0, 1),
        ("decisiveness", "Intercept"): stats.norm(1, 1),
    }
    gaps = []
    for seed in (2, 3, 4):
        at = point.random(seed)
        values, _ = point.values(at)
        named = Named(built, values)
        expected = log_prior(named, coefficients=coefficients)
        expected += log_likelihood(named, answers, "logit_normal")
        gaps.append(float(point.logp(at)) - expected - point.log_jacobian(at))
    np.testing.assert_allclose(gaps, gaps[0], atol=2e-5)


@pytest.mark.parametrize("jointly", [True, False])
def test_nothing_follows_what_comes_after_it(coded, bound, full_parts, jointly):
    parts = {**full_parts, "decisiveness": "~ 1 + (1 | model)"}
    names = {"models": ("m1", "m2", "m3")}
    stance = np.random.default_rng(3).integers(-1, 2, (3, 4, 4, 2, 3))
    spec, cells, found = bound(parts, coded(stance, runs=3, **names))
    built = build(spec, cells, found)
    layout = built.layout.sampled
    ahead = Ahead(layout)
    at, numbers = one_by_one(layout, jointly)
    units = units_of(layout, built.start, cells)
    _, _, _, lead, _, stop = known_of(layout, built.start, units, jointly=jointly)
    first, behind = len(layout.coefficients), ahead.of_beliefs()
    stage_of = np.full(layout.blocks[-1].stop, -1)  # effects of common terms and of clusters
    stage_of[at] = np.repeat(np.arange(len(numbers) - 1), np.diff(numbers))
    order = np.full(len(stage_of), -1)
    order[at] = np.arange(len(at))
    drawn_later = {"means": 0, "beliefs": 0, "views": 0}
    for k, effect in enumerate(at):
        for position in lead[k, : stop[k, 1]]:
            if position < first:
                continue
            if position >= behind[0]:
                drawn_later["beliefs"] += 1
                assert effect == ahead.beliefs.views[position - behind[0]]
            elif position >= first + len(stage_of):
                drawn_later["means"] += 1
                assert stage_of[effect] == REST
            elif stage_of[position - first] == stage_of[effect]:  # of one stage: raw is final
                drawn_later["views"] += 1
                assert (effect, position - first) in zip(*own_views(layout), strict=True)
                assert order[position - first] < order[effect]
            else:
                assert stage_of[position - first] < stage_of[effect]
    assert min(drawn_later.values()) > 0
    if jointly:
        assert (stage_of[members(layout)] == -1).all()


def test_more_than_two_coefficients_are_correlated_by_lkj(coded, bound):
    """Under LKJ(2) in four dimensions a correlation is 2 B - 1 with B ~ Beta(3, 3).

    The margin is Beta(eta - 1 + n / 2, the same) (Lewandowski et al. 2009), here eta = 2, n = 4;
    its variance is 1 / (2 * 3 + 1).
    """
    import pymc as pm

    spec, cells, parts = bound(
        {"theta": "~ 0 + dimension", "wording": "~ (0 + kind | model)"}, coded()
    )
    built = build(spec, cells, parts)
    with built.model:
        drawn = pm.draw(built.model["cor_wording_model"], draws=2000, random_seed=1)
    assert drawn.shape == (2000, 4, 4)
    np.testing.assert_allclose(drawn, drawn.transpose(0, 2, 1), atol=1e-12)
    np.testing.assert_allclose(np.diagonal(drawn, axis1=1, axis2=2), 1)
    below = drawn[:, *np.tril_indices(4, -1)]
    np.testing.assert_allclose(below.mean(axis=0), 0, atol=0.04)  # four and a half standard errors
    np.testing.assert_allclose(below.var(axis=0), 1 / 7, atol=0.02)
