"""Positions that change over time as a random walk, ``(1 | rw(a:b))``."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from polbayes.config.schema import SamplerConfig
from polbayes.data.dataset import MISSING
from polbayes.errors import UserError
from polbayes.fit.density.coordinates import known_of, units_of
from polbayes.fit.density.density import Density
from polbayes.fit.density.layout import entries, lay_out
from polbayes.fit.density.mode import find_start
from polbayes.fit.density.model import build
from polbayes.fit.density.observed import likelihood_parts
from polbayes.fit.density.prior_densities import priors_of
from polbayes.fit.density.reliability import curvature
from polbayes.fit.fit import fit
from polbayes.fit.posterior.power_scaling import log_prior
from polbayes.fit.spec.cells import gather_cells
from polbayes.fit.spec.equation import equation, prior_lines
from polbayes.fit.spec.terms import bind
from tests.fit.test_independent import run_r

PARTS = {
    "theta": "~ (1 | rw(party:year))",
    "difficulty": "~ 1 + (1 | item)",
    "discrimination": "~ (1 | item)",
}
# Party and year of every model; a has no 2005, b only two years, and c a single one.
SNAPSHOTS = (("a", 2002), ("a", 2009), ("a", 2013), ("b", 2005), ("b", 2009), ("c", 2013))
MODELS = tuple(f"{party}{year}" for party, year in SNAPSHOTS)
ITEMS = tuple((f"e{k}", "economic", "right", ("original",)) for k in range(4))
SIGNED = {"family": "bernoulli", "response": "agree", "anchor": {"economic": "a2002"}}


def dated(coded, stance=1, models=MODELS, snapshots=SNAPSHOTS, items=ITEMS):
    party, year = zip(*snapshots, strict=True)
    data = coded(stance, items=items, models=models, prefixes=("baseline",))
    return data.assign_coords(party=("model", np.array(party, object)), year=("model", list(year)))


def apart(coded):
    """Answer twelve statements at random, but for the first of a and of b, which disagree."""
    items = tuple((f"e{k}", "economic", "right", ("original",)) for k in range(12))
    stance = np.random.default_rng(2).choice([-1, 1], size=(6, 12))[:, :, None, None, None]
    stance[0], stance[3] = 1, -1
    return dated(coded, stance, items=items)


def test_levels_are_all_times_from_the_first_to_the_last(coded, spec_of):
    spec = spec_of(PARTS, **SIGNED)
    cells = gather_cells(dated(coded), spec)
    (group,) = bind(spec, cells)["theta"].groups
    assert group.labels == [
        *("a|2002", "a|2005", "a|2009", "a|2013"),
        *("b|2005", "b|2009", "c|2013"),
    ]
    assert group.first.tolist() == [0, 0, 0, 0, 4, 4, 6]
    assert group.scale_of.tolist() == [0, 1, 1, 1, 0, 1, 0]
    assert group.scales == ("start", "step")
    assert group.centred_in is None


def test_a_position_is_the_start_and_all_steps(coded, spec_of):
    spec = spec_of(PARTS, **SIGNED)
    cells = gather_cells(dated(coded), spec)
    parts = bind(spec, cells)
    (group,) = parts["theta"].groups
    matrix = np.zeros((len(cells.frame), 7))
    for index, weight in entries(group):
        np.add.at(matrix, (np.arange(len(matrix)), index), weight)
    by_model = {
        model: matrix[(cells.frame["model"] == model).to_numpy()].mean(axis=0).tolist()
        for model in MODELS
    }
    assert by_model == {
        "a2002": [1, 0, 0, 0, 0, 0, 0],
        "a2009": [1, 1, 1, 0, 0, 0, 0],
        "a2013": [1, 1, 1, 1, 0, 0, 0],
        "b2005": [0, 0, 0, 0, 1, 0, 0],
        "b2009": [0, 0, 0, 0, 1, 1, 0],
        "c2013": [0, 0, 0, 0, 0, 0, 1],
    }
    labels = [(part, name, scale) for part, name, scale in lay_out(parts, cells).scales]
    assert labels[:2] == [("theta", "party:year", "start"), ("theta", "party:year", "step")]


def test_it_is_written_down(coded, spec_of):
    priors = {"theta.party:year.step.sd": "HalfNormal(0.3)"}
    spec = spec_of(PARTS, priors=priors, **SIGNED)
    parts = bind(spec, gather_cells(dated(coded), spec))
    assert "u[party, year] ~ Normal(u[party, year before], σ²[step])" in equation(spec, parts)
    lines = prior_lines(spec, parts)
    assert "theta: standard deviation of the start of (1 | rw(party:year)) ~ HalfNormal(1)" in lines
    assert (
        "theta: standard deviation of the step of (1 | rw(party:year)) ~ HalfNormal(0.3)" in lines
    )


def test_start_and_steps_have_their_own_priors_everywhere(coded, spec_of):
    """In the sampled density, in the search for the mode, and in the sensitivity to priors."""
    own = {"theta.party:year.start.sd": "Constant(2)", "theta.party:year.step.sd": "Exponential(3)"}
    stance = np.resize([1, -1, -1, 1, 1], (6, 4))[:, :, None, None, None]
    spec = spec_of(PARTS, priors=own, **SIGNED)
    cells = gather_cells(dated(coded, stance), spec)
    built = build(spec, cells, bind(spec, cells))
    # A scale may be negative where it is sampled, and has the density of both signs.
    names = [prior.name for prior in priors_of(built.layout, spec, cells).scales[:2]]
    assert names == ["Constant", "Laplace"]
    assert built.start.scales[0] == 2.0
    layout = built.layout
    sd = np.ones((1, 2, len(layout.scales)))
    sd[0, :, 1] = 0.5, 1.5
    shape = (1, 2, len(layout.coefficients))
    drawn = xr.Dataset({"b": (("chain", "draw", "k"), np.zeros(shape))})
    drawn["sd"] = (("chain", "draw", "scale"), sd)
    (found,) = log_prior(built, drawn)
    assert found[1] - found[0] == pytest.approx(-3.0)  # of the exponential density of the steps


def test_steps_follow_all_earlier_ones_of_their_walk(coded, spec_of):
    """The determinant of a walk's covariance is the product of what is left of its variances.

    And moving by the slopes from the start on reproduces the covariance of the first two effects.
    """
    spec = spec_of(PARTS, **SIGNED)
    cells = gather_cells(apart(coded), spec)
    layout = lay_out(bind(spec, cells), cells)
    start = find_start(layout, spec, cells)
    (block,) = (b for b in layout.blocks if b.part == "theta")
    rows, coefficients = layout.matrix.shape
    (part,) = likelihood_parts(layout, spec, cells, naive=True)
    effects = start.effects.copy()
    effects[:rows] = layout.matrix @ start.coefficients
    bend = curvature(layout, [part], effects, start.gaps).toarray()
    scale_of = np.concatenate([b.every_scale for b in layout.blocks if b.group is not None])
    precision = np.concatenate([np.full(coefficients, 0.25), start.scales[scale_of] ** -2.0])
    covariance = np.linalg.inv(bend + np.diag(precision))
    at = coefficients - rows + block.start + np.arange(4)  # the walk of a
    own = covariance[np.ix_(at, at)]
    before = start.scales[block.every_scale[:4]] ** 2
    left = (1 - start.reliability[block.start : block.start + 4]) * before
    left[0] = own[0, 0]
    # Discriminations sum to zero, which the inverse here leaves aside.
    assert np.prod(left) == pytest.approx(np.linalg.det(own), rel=0.05)
    units = units_of(layout, start, cells)
    *_, lead, weight, stop = known_of(layout, start, units, jointly=True)
    first = len(start.coefficients) + block.start
    assert lead[1, 0] == first
    assert weight[1, 0] == pytest.approx(own[0, 1] / own[0, 0], rel=0.05)
    assert lead[3, :3].tolist() == [first, first + 1, first + 2]
    assert stop[:4].tolist() == [[0, 1], [0, 1], [0, 2], [0, 3]]
    assert (lead[[0, 4, 6], 0] < first).all()  # starts follow coefficients alone


def test_the_gradient_of_a_walk_is_that_of_its_density(coded, spec_of):
    spec = spec_of(PARTS, **SIGNED)
    cells = gather_cells(apart(coded), spec)
    density = Density(build(spec, cells, bind(spec, cells)))
    x = density.start(3)
    step = 1e-5 * np.eye(len(x))
    found = [(density(x + d)[0] - density(x - d)[0]) / 2e-5 for d in step]
    np.testing.assert_allclose(density(x)[1], found, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("formula", "told"),
    [
        ("~ (0 + dimension | rw(party:year))", "a random walk can only be given for an intercept"),
        ("~ (1 | rw(party year))", r"or rw\(a:b\)"),
        ("~ (1 | rw(party))", "at least two values of party; there is only a"),
    ],
)
def test_what_is_no_walk_is_refused(coded, spec_of, formula, told):
    here = dated(coded, models=("x", "y"), snapshots=(("a", 1), ("a", 2)))
    settings = {**SIGNED, "anchor": {"economic": "x"}}

    def bound():
        spec = spec_of({**PARTS, "theta": formula}, **settings)
        bind(spec, gather_cells(here, spec))

    with pytest.raises(UserError, match=told):
        bound()


def test_positions_between_are_drawn_together(coded, spec_of):
    """Parties that move: found where the steps are planted, with a gap in the years."""
    rng = np.random.default_rng(5)
    years = list(range(2001, 2009))
    snapshots = [(p, y) for p in "abcdef" for y in years if (p, y) != ("c", 2004)]
    drift = {p: rng.normal(0, 1.5) + np.cumsum(rng.normal(0, 0.5, len(years))) for p in "abcdef"}
    theta = np.array([drift[p][years.index(y)] for p, y in snapshots])
    items = tuple((f"e{k}", "economic", "right", ("original",)) for k in range(60))
    slope, place = rng.normal(0, 1.5, 60), rng.normal(0, 1, 60)
    chance = 1 / (1 + np.exp(-(np.outer(theta, slope) - place)))
    stance = np.where(rng.random(chance.shape) < chance, 1, -1)[:, :, None, None, None]
    models = tuple(f"{p}{y}" for p, y in snapshots)
    anchor = models[int(theta.argmax())]
    data = dated(coded, stance, models, snapshots, items)
    spec = spec_of(PARTS, **{**SIGNED, "anchor": {"economic": anchor}})
    cells = gather_cells(data, spec)
    found = fit(spec, cells, SamplerConfig(chains=2, draws=300, tune=300), seed=1).posterior
    ours = found["theta"].isel(dimension=0).sel(model=list(models)).mean(("chain", "draw"))
    assert np.corrcoef(ours, theta)[0, 1] > 0.95
    scales = found["scale"].mean(("chain", "draw"))
    # Both are in units of the spread of discriminations, which is 1.5.
    assert float(scales.sel(scale_name="theta: party:year [step]")) == pytest.approx(0.75, rel=0.4)
    effects = found["group_effect"].mean(("chain", "draw"))
    labels = [str(x) for x in effects["group_name"].values]
    at = dict(zip(labels, effects.to_numpy(), strict=True))
    for model, (party, year) in zip(models, snapshots, strict=True):
        assert at[f"{party}|{year}"] == pytest.approx(float(ours.sel(model=model)), abs=1e-6)
    # The year without an answer lies between its neighbours, less certain than both.
    spread = dict(zip(labels, found["group_effect"].std(("chain", "draw")).to_numpy(), strict=True))
    assert at["c|2004"] == pytest.approx((at["c|2003"] + at["c|2005"]) / 2, abs=0.15)
    assert spread["c|2004"] > max(spread["c|2003"], spread["c|2005"])


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.filterwarnings("ignore:Cannot cache compiled function")
def test_dynamic_ideal_points_of_justices(coded, spec_of, tmp_path):
    """Half of the contested cases of the Rehnquist court, beside `MCMCpack::MCMCdynamicIRT1d`.

    That has a probit link (1.7 times as steep as the logistic one) and a variance of the steps for
    every justice.
    """
    paths = [tmp_path / "votes.csv", tmp_path / "positions.csv"]
    run_r("MCMCpack", "dynamic.R", *paths)
    votes, theirs = (pd.read_csv(path) for path in paths)
    votes["model"] = votes["justice"] + "." + votes["term"].astype(str)
    table = votes.pivot(index="model", columns="case", values="yea")
    stance = (2 * table - 1).fillna(MISSING).to_numpy(dtype=int)[:, :, None, None, None]
    who = [name.rsplit(".", 1) for name in table.index]
    snapshots = [(justice, int(term)) for justice, term in who]
    items = tuple((case, "economic", "right", ("original",)) for case in table.columns)
    data = dated(coded, stance, tuple(table.index), snapshots, items)
    spec = spec_of(
        PARTS,
        family="bernoulli",
        response="agree",
        anchor={"economic": "Thomas.1994"},
        priors={
            "theta.party:year.start.sd": "Constant(1)",
            "theta.party:year.step.sd": "HalfNormal(0.2)",
            "discrimination.sd": "Constant(1.7)",
            "difficulty.sd": "Constant(1.7)",
            "difficulty.common": "Normal(0, 1.7)",
        },
    )
    cells = gather_cells(data, spec)
    config = SamplerConfig(chains=2, draws=500, tune=500)
    found = fit(spec, cells, config, seed=1).posterior
    theta = found["theta"].isel(dimension=0)
    parts = theirs["name"].str.extract(r"theta\.(?P<justice>.+)\.t(?P<time>\d+)")
    names = parts["justice"] + "." + (parts["time"].astype(int) + 1993).astype(str)
    theirs = theirs.set_index(names).reindex(table.index)
    ours = theta.mean(("chain", "draw")).to_series().reindex(table.index)
    alike = np.corrcoef(ours, theirs["mean"])[0, 1]
    ratio = (theta.std(("chain", "draw")).to_series().reindex(table.index) / theirs["sd"]).median()
    print(f"correlation {alike:.4f}, spread {ratio:.3f}")
    assert alike > 0.98
    assert ratio == pytest.approx(1, abs=0.25)
