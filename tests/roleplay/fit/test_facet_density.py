"""The compiled density against the equation of the model written out with numpy."""

import numpy as np
import pytest
import xarray as xr
from scipy.special import expit

from polbayes.instrument.values import WEIGHTS
from polbayes.roleplay.fit.density import FacetDensity
from polbayes.roleplay.fit.model import SELF, build
from polbayes.roleplay.fit.rated import MISSING, gather


@pytest.fixture(scope="module")
def density(ratings):
    rating = ratings["rating"].copy()
    rating[0, 1, 0, 0, 1, 2] = np.nan  # a unit that a judge did not rate
    rating[1, 0, 1, 0, 0, 1, 4] = np.nan  # and a single rating
    return FacetDensity(
        build(gather(rating, scale=(0, 20), weights=WEIGHTS, asking=ratings["asking"]))
    )


@pytest.fixture(scope="module")
def point(density):
    return density.start(3) + 0.1 * np.random.default_rng(3).standard_normal(density.size)


def latent(density, point):
    """Add all effects up, one rating after the other."""
    model, rated = density.model, density.model.rated
    effects, values = density.effects(point), density.values(point)
    units, judges, _ = rated.answers.shape
    eta = np.tile(values["mean"], (units, judges, 1))
    for term in model.terms:
        moved = effects[term.name] @ rated.basis[:, : len(term.kinds)].T
        for unit in range(units):
            for judge in range(judges):
                level = term.index[unit, judge] if term.of_judges else term.index[unit]
                weight = 1.0 if term.weight is None else term.weight[unit]
                eta[unit, judge] += weight * moved[level]
    return eta


def likelihood(density, point):
    rated, values = density.model.rated, density.values(point)
    eta, total = latent(density, point), 0.0
    centre = float(np.dot(*density.model.cutpoints))
    for (unit, judge, value), answer in np.ndenumerate(rated.answers):
        if answer == MISSING:
            continue
        cuts = centre + values["stretch"][judge] * (values["cutpoint"] - centre)
        edges = np.concatenate([[-np.inf], cuts, [np.inf]])
        below = expit((edges - eta[unit, judge, value]) / values["noise"][judge])
        total += np.log(below[answer + 1] - below[answer])
    return total


def priors(density, point):
    """The log-density of the coordinates, up to what does not depend on them."""
    model = density.model
    values, scales, judges, inner, _ = density.sizes
    mean, sd, log_noise, stretch, wide, rest = np.split(
        point, np.cumsum([values, scales, judges, judges, 1])
    )
    total = -0.5 * (((mean - 10) / 5) ** 2).sum() - 0.5 * ((sd / model.scale_priors) ** 2).sum()
    total -= 0.5 * ((log_noise - np.log(1.0)) ** 2).sum() + 0.5 * ((stretch / 0.3) ** 2).sum()
    total -= 0.5 * (wide[0] / 0.5) ** 2
    _, scale, counts, extra = model.drawn
    noise = density.values(point)["noise"]
    told = counts / (3 * noise**2)
    sd = np.sqrt(np.append(sd, 0.0)[scale] ** 2 + extra)
    # Standard normal in z, seen from w: m s / r^2 + w / r, and without m for the widths.
    for w, q, m, s in (
        (rest[inner:], told.sum(axis=1), (told * density.seen).sum(axis=1), sd),
        (rest[:inner], model.frequencies[1:-1] / 2, 0.0, wide[0]),
    ):
        root = np.sqrt(1 + q * s**2)
        total += (-0.5 * (m * s / root**2 + w / root) ** 2 - np.log(root)).sum()
    return total


def test_it_is_the_equation(density, point):
    other = density.start(4)
    difference = density(point)[0] - density(other)[0]
    by_hand = [likelihood(density, x) + priors(density, x) for x in (point, other)]
    assert difference == pytest.approx(by_hand[0] - by_hand[1], abs=1e-6)


def test_gradient_is_that_of_the_density(density, point):
    gradient, rng = density(point)[1], np.random.default_rng(1)
    numbers = density.size - len(density.model.drawn[0])
    for k in [*range(numbers), *rng.choice(density.size, 60, replace=False)]:
        step = np.zeros(density.size)
        step[k] = 1e-5
        slope = (density(point + step)[0] - density(point - step)[0]) / 2e-5
        assert gradient[k] == pytest.approx(slope, rel=1e-4, abs=1e-4)


@pytest.mark.parametrize(
    ("term", "over"),
    [
        ("model", ["model"]),
        ("model:stage", ["model", "stage"]),
        ("model:scenario", ["model", "scenario"]),
        ("unit", ["model", "stage"]),
        ("judge", ["judge"]),
        ("judge:model", ["judge", "model"]),
    ],
)
def test_effects_sum_to_zero(density, point, term, over):
    effects = density.effects(point)[term]
    (bound,) = (t for t in density.model.terms if t.name == term)
    assert np.abs(effects).max() > 1e-3
    for name in over:
        within = np.delete(bound.levels, bound.factors.index(name), axis=1)
        for group in np.unique(within, axis=0):
            rows = (within == group).all(axis=1)
            assert effects[rows].sum(axis=0) == pytest.approx(0, abs=1e-9)


def test_rating_oneself_has_the_covariance_of_its_prior(density):
    # Free effects of judge:model have s^2 I + tau^2 P P': drawn with s = 0 they are tau P own.
    model = density.model
    places, matrix, extra = model.turned
    assert matrix @ np.diag(extra) @ matrix.T == pytest.approx(
        (SELF * 20) ** 2 * model.pattern @ model.pattern.T, abs=1e-9
    )
    # Judge m1 is the first model: its pattern is the double-centred indicator of that pair.
    grid = np.zeros((3, 3))
    grid[0, 0] = 1
    centred = grid - grid.mean(0) - grid.mean(1)[:, None] + grid.mean()
    assert np.linalg.norm(model.pattern) == pytest.approx(np.linalg.norm(centred))
    assert len(places) == 2


def test_directions_are_orthogonal_and_the_first_is_the_axis(density):
    basis = density.model.rated.basis
    product = basis.T @ basis
    assert product - np.diag(np.diag(product)) == pytest.approx(0, abs=1e-9)
    assert np.abs(basis[:, 0]).mean() == pytest.approx(1)
    assert basis[:, 0] / np.array([WEIGHTS[v] for v in density.model.rated.names["value"]]) == (
        pytest.approx(1)
    )
    assert basis[:, 1] == pytest.approx(1)
    assert np.diag(product)[2:] == pytest.approx(1)


def test_cutpoints_keep_unit_and_place(density, point):
    cuts, around = density.model.cutpoints
    found = density.values(point)["cutpoint"]
    assert (np.diff(found) > 0).all()
    assert around @ found == pytest.approx(around @ cuts)
    often = density.model.frequencies[1:-1]
    assert often @ np.diff(found) == pytest.approx(often @ np.diff(cuts))


def test_a_single_value_has_one_direction():
    rng = np.random.default_rng(1)
    table = xr.DataArray(
        rng.integers(0, 6, (3, 4, 2)).astype(float), dims=("model", "scenario", "judge")
    ).assign_coords(model=list("abc"), scenario=list("stuv"), judge=["a", "z"])
    density = FacetDensity(build(gather(table, scale=(0, 5))))
    assert {kind for _, kind in density.model.scales} == {"value"}
    assert np.isfinite(density(density.start(1))[0])
