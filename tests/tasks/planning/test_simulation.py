"""Simulated studies."""

from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
import xarray as xr
from scipy.special import expit

from polbayes.config.schema import AnalysisConfig, PlanConfig
from polbayes.fit.density.model import build
from polbayes.fit.posterior.components import with_variances
from polbayes.fit.posterior.naming import name_posterior
from polbayes.fit.posterior.prior_check import prior_draws
from polbayes.fit.spec.cells import gather_cells
from polbayes.fit.spec.reduction import reduced
from polbayes.fit.spec.spec import parse_spec
from polbayes.fit.spec.terms import bind
from polbayes.tasks.planning.basis import assumption
from polbayes.tasks.planning.layouts import as_if_answered, laid_out
from polbayes.tasks.planning.populations import Population
from polbayes.tasks.planning.simulation import Simulator

pytestmark = pytest.mark.filterwarnings("ignore:Cannot cache compiled function")

NUMBERS = {"items": 8, "wordings": 2, "prefixes": 2, "runs": 1}
WANTED = PlanConfig(width=0.5)


@pytest.fixture(scope="module")
def simulator(questions, spec, assumed):
    return Simulator(assumed.population, spec, questions, 0.9, 0.1, 4)


def test_answers_follow_the_truth(simulator):
    """Shares of agreeing by statement, against the equation of the model by public names."""
    numbers = {**NUMBERS, "runs": 400}
    made = simulator.world(5, numbers, 3, np.random.default_rng(1))
    truth = name_posterior(made.built, made.truth).isel(chain=0, draw=0)
    frame = made.built.cells.frame
    block = next(b for b in made.built.layout.blocks if b.part == "quirk")
    effects = made.truth["effects"].values[0, 0]
    quirk = effects[block.start + block.group.index]
    steer = next(b for b in made.built.layout.blocks if b.part == "steer")
    steered = effects[steer.start + steer.group.index]
    keying = frame["keying"].to_numpy()

    def of(name, *dims):
        values = truth[name].transpose(*dims).to_series()
        return values.loc[
            [tuple(row) if len(dims) > 1 else row[0] for row in frame[list(dims)].to_numpy()]
        ].to_numpy()

    belief = of("discrimination", "item") * (
        of("theta", "model", "dimension") - of("difficulty", "item")
    )
    eta = of("acquiescence", "model") + of("wording", "item", "variant")
    eta = eta + keying * (belief + quirk + steered)
    above = expit(of("decisiveness", "model") * (eta - float(truth["gap"].values[0]) / 2))
    cells = made.data["stance"].transpose("model", "item", "variant", "prefix", "run")
    seen = np.array(
        [
            (cells.sel({d: r[d] for d in cells.dims[:4]}).values == 1).mean()
            for _, r in frame.iterrows()
        ]
    )
    z = (seen - above) / np.sqrt(np.maximum(above * (1 - above), 1e-4) / 400)
    assert np.abs(z).max() < 5
    assert np.std(z) < 1.15


def test_a_planted_effect_has_the_wanted_size(simulator):
    for scale in ("bias", "theta"):
        wanted = PlanConfig(power=0.5, effect=0.15, scale=scale)
        made = simulator.world(6, {**NUMBERS, "prefixes": 4}, 3, np.random.default_rng(2), wanted)
        found = name_posterior(made.built, made.truth)
        effects = found["prefix_steer"]
        if scale == "bias":
            slope = with_variances(xr.Dataset(), made.built, made.truth)["answer_slope"]
            effects = effects * slope.mean("dimension")
        for model, (prefix, sign) in made.planted.items():
            here = float(effects.sel(model=model, prefix=prefix).squeeze())
            assert here == pytest.approx(sign * 0.15, rel=0.05 if scale == "bias" else 1e-9)


def test_studies_are_reproducible_and_have_shapes(simulator):
    wanted = PlanConfig(power=0.5, effect=0.4)
    one, two = (
        list(islice(simulator.studies(NUMBERS, 3, wanted, planted=True), 2)) for _ in range(2)
    )
    for a, b in zip(one, two, strict=True):
        assert np.array_equal(a.lower, b.lower)
        assert a.lower.shape == a.true.shape == (3, 2)
        assert a.between.shape == (3, 2)
        assert (a.upper > a.lower).all()
        assert set(a.found) <= {0.0, 1.0}
        assert len(a.found) == 3
    other = next(replace(simulator, seed=5).studies(NUMBERS, 3, wanted))
    assert not np.array_equal(other.lower, one[0].lower)


def test_known_models_whose_runs_are_copies_repeat_themselves(simulator, assumed):
    cells = replace(assumed.population.built.cells, copies=("m1",))
    built = replace(assumed.population.built, cells=cells)
    known = replace(simulator, population=Population(built, assumed.whole, ("m0", "m1")))
    made = known.world(3, {**NUMBERS, "runs": 5}, 2, np.random.default_rng(4))
    answers = made.data["stance"].transpose("model", ..., "run").values
    alike = (answers == answers[..., :1]).all(axis=-1).reshape(2, -1).mean(axis=1)
    assert alike.max() == 1
    assert alike.min() < 1


def test_answers_that_are_numbers(questions):
    parts = {
        "theta": "~ 0 + dimension + (0 + dimension | model)",
        "difficulty": "~ (1 | item)",
        "quirk": "~ (1 | model:item)",
        "sigma": "~ 1",
    }
    config = AnalysisConfig(
        parts=parts, response="r_plus", family="logit_normal", unidentified="leave_out"
    )
    spec = parse_spec(config)
    found = assumption(spec, questions, models=2, seed=2)
    simulator = Simulator(found.population, spec, questions, 0.9, 0.1, 4)
    first = next(simulator.studies({**NUMBERS, "prefixes": 1}, 2, WANTED))
    assert (first.upper > first.lower).all()
    made = simulator.world(3, {**NUMBERS, "prefixes": 1}, 2, np.random.default_rng(4))
    values = made.data["r_plus"].values
    assert ((values > 0) & (values < 1)).all()
    assert len(np.unique(values)) == values.size


@pytest.mark.slow
@pytest.mark.long
def test_intervals_cover_what_was_drawn(questions, parts):
    """The truth is drawn from the priors that the fit has, so that nominal coverage is exact."""
    priors = {"decisiveness": {"Intercept": "Normal(1.5, 0.2)", "model": {"sd": "Constant(0.3)"}}}
    spec = parse_spec(AnalysisConfig(parts=parts, priors=priors, unidentified="leave_out"))
    found = assumption(spec, questions, models=3, seed=3)
    simulator = Simulator(found.population, spec, questions, 0.9, 0.1, 6)
    outcomes = list(islice(simulator.studies({**NUMBERS, "items": 10}, 3, WANTED), 60))
    inside = np.array([((o.lower <= o.true) & (o.true <= o.upper)).mean() for o in outcomes])
    assert inside.mean() == pytest.approx(0.9, abs=3.5 * inside.std() / np.sqrt(len(inside)) + 0.02)


ONCE = {"items": 8, "wordings": 1, "prefixes": 1, "runs": 1}


def test_answers_of_a_study_without_repetition_waver_as_those_of_the_population(simulator):
    """What holds decisiveness in its fit is no truth."""
    made = simulator.world(5, ONCE, 3, np.random.default_rng(1))
    found = name_posterior(made.built, made.truth)["decisiveness"]
    again = simulator.world(5, NUMBERS, 3, np.random.default_rng(1))
    expected = name_posterior(again.built, again.truth)["decisiveness"]
    assert found.notnull().all()
    assert float(found.mean()) == pytest.approx(float(expected.mean()), rel=2.0)
    outcome = simulator.outcome(made, WANTED, seed=1)
    assert (outcome.upper > outcome.lower).all()


def test_a_pilot_without_repetition_holds_decisiveness_of_studies(simulator, questions, spec):
    rng = np.random.default_rng(1)
    source = {f"m{n}": str(questions["model"].values[0]) for n in range(3)}
    cells = gather_cells(as_if_answered(laid_out(questions, ONCE, source, rng), spec), spec)
    assert set(cells.once) == set(source)
    less, _ = reduced(spec, cells)
    built = build(less, cells, bind(less, cells))
    pilot = Population(built, prior_draws(built, draws=3, seed=1), ())
    studies = replace(simulator, population=pilot, spec=less)
    made = studies.world(1, {**ONCE, "runs": 3}, 3, rng)
    (block,) = (b for b in made.built.layout.blocks if b.part == "decisiveness")
    assert (made.truth["effects"].values[0, 0, block.start : block.stop] == 1.5).all()
