"""Respondents that were asked every statement once: their decisiveness is held."""

import numpy as np
import pytest

from polbayes.config.schema import SamplerConfig
from polbayes.errors import UserError
from polbayes.fit.density.density import Density
from polbayes.fit.density.kernel import sharpness
from polbayes.fit.density.model import build
from polbayes.fit.fit import fit
from polbayes.fit.spec.cells import gather_cells
from polbayes.fit.spec.reduction import reduced
from polbayes.fit.spec.terms import bind
from tests.fit.test_unit_of_statements import ITEMS, PARTS

UNKEYED = {
    "theta": "~ (1 | model)",
    "decisiveness": "~ 1 + (1 | model)",
    "difficulty": "~ 1 + (1 | item)",
    "discrimination": "~ (1 | item)",
    "quirk": "~ (1 | model:item)",
}
LENIENT = {"unidentified": "leave_out"}
TWICE = {
    "runs": {"runs": 2},
    "prefixes": {"prefixes": ("baseline", "please")},
    "wordings": {"items": tuple((*item[:3], ("original", "opposite")) for item in ITEMS)},
}


@pytest.fixture
def once(coded):
    """Two models answer twenty statements, once each."""
    answers = np.random.default_rng(1).integers(-1, 2, (2, 20, 1, 1, 1))
    return coded(answers, items=ITEMS, prefixes=("baseline",))


@pytest.fixture
def mixed(coded):
    """Of three models, only the second answers three times."""
    answers = np.random.default_rng(1).integers(-1, 2, (3, 20, 1, 1, 3))
    answers[[0, 2], ..., 1:] = -128
    names = ("party", "model", "other")
    return coded(answers, items=ITEMS, models=names, prefixes=("baseline",), runs=3)


def read(spec_of, data, parts=PARTS, **settings):
    spec = spec_of(parts, **{**LENIENT, **settings})
    cells = gather_cells(data, spec)
    spec, notes = reduced(spec, cells)
    return spec, cells, bind(spec, cells), notes


def test_decisiveness_of_a_design_without_repetition_is_held(once, spec_of):
    spec, cells, found, notes = read(spec_of, once)
    assert cells.once == ("m1", "m2")
    assert found["decisiveness"].common.terms == ("copies",)
    assert found["decisiveness"].groups == ()
    assert notes == (
        "analysis.parts.decisiveness is held at 4.5, because nobody answered a statement twice, so "
        "that the answers do not tell how sharply anybody answers.",
    )
    built = build(spec, cells, found)
    assert (
        built.start.coefficients[
            list(built.layout.coefficients).index(("decisiveness", "copies", "copies"))
        ]
        == 1.5
    )


@pytest.mark.parametrize("again", list(TWICE))
def test_a_second_run_prefix_or_wording_tells_it(coded, spec_of, again):
    design = {"items": ITEMS, "prefixes": ("baseline",), "runs": 1} | TWICE[again]
    size = (2, 20, 1 + (again == "wordings"), len(design["prefixes"]), design["runs"])
    data = coded(np.random.default_rng(1).integers(-1, 2, size), **design)
    _, cells, found, notes = read(spec_of, data)
    assert cells.once == ()
    assert found["decisiveness"].common.terms == ("Intercept",)
    assert not [note for note in notes if "decisiveness" in note]


def test_only_of_those_asked_once_it_is_held(mixed, spec_of):
    """At one value for them, and as the formula says for the others."""
    spec, cells, found, notes = read(spec_of, mixed)
    assert cells.once == ("other", "party")
    (note,) = notes
    assert "is held at 4.5 for other, party, asked every statement once" in note
    density = Density(build(spec, cells, found))
    own = (cells.frame["model"] == "model").to_numpy()
    rng = np.random.default_rng(0)
    values = density.values(density.start(1) + rng.normal(0, 0.5, density.size))
    sharp = sharpness(values["effects"], *density.built.layout.sampled.answers.plain)[0]
    np.testing.assert_allclose(sharp[~own], np.exp(1.5))
    assert (abs(sharp[own] / np.exp(1.5) - 1) > 1e-3).all()


def test_answers_that_are_not_usable_do_not_count(coded, spec_of):
    """Two runs, of which one is never usable, are one answer."""
    answers = np.random.default_rng(1).integers(-1, 2, (2, 20, 1, 1, 2))
    answers[0, ..., 1] = -128
    data = coded(answers, items=ITEMS, prefixes=("baseline",), runs=2)
    assert read(spec_of, data)[1].once == ("m1",)


@pytest.mark.parametrize("again", [None, "prefixes", "wordings"])
def test_one_run_is_the_same_as_copies_of_it(coded, spec_of, again):
    design = {"items": ITEMS, "prefixes": ("b",)} | TWICE.get(again, {})
    size = (2, 20, 1 + (again == "wordings"), len(design["prefixes"]), 1)
    answers = np.random.default_rng(1).integers(-1, 2, size)
    names = np.array(["greedy", "greedy"], dtype=object)
    points = []
    for runs in (1, 3):
        data = coded(np.repeat(answers, runs, axis=-1), **design, runs=runs)
        data = data.assign_coords(decoding=("model", names))
        spec, cells, found, _ = read(spec_of, data)
        assert cells.copies == ("m1", "m2")
        assert found["decisiveness"].common.terms == ("copies",)
        density = Density(build(spec, cells, found))
        points.append(density(density.start(1)))
    assert points[0][0] == pytest.approx(points[1][0])
    np.testing.assert_allclose(points[0][1], points[1][1], atol=1e-9)


def test_a_prior_of_its_own_is_kept(once, spec_of):
    """The answers hardly change it, whatever the mode of the likelihood."""
    priors = {"decisiveness": {"Intercept": "Normal(0.5, 0.3)"}}
    spec, cells, _, notes = read(spec_of, once, priors=priors)
    assert cells.once == ()
    assert not [note for note in notes if "decisiveness" in note]
    sampler = SamplerConfig(chains=2, tune=300, draws=500)
    posterior = fit(spec, cells, sampler, seed=1).posterior
    drawn = posterior["coefficient"].sel(term="decisiveness: Intercept")
    assert float(drawn.mean()) == pytest.approx(0.5, abs=0.15)
    assert float(drawn.std()) == pytest.approx(0.3, abs=0.08)


def test_a_prior_of_the_others_does_not_free_those_asked_once(mixed, spec_of):
    priors = {"decisiveness": {"Intercept": "Normal(0, 0.5)"}}
    assert read(spec_of, mixed, priors=priors)[1].once == ("other", "party")


def test_a_prior_of_ones_own_holds_beside_copies(coded, spec_of):
    """One model answers every statement greedily with two prefixes, and the other once."""
    answers = np.random.default_rng(1).integers(-1, 2, (2, 20, 1, 2, 1))
    answers[1, :, :, 1] = -128
    data = coded(answers, items=ITEMS, prefixes=("baseline", "please"))
    data["decoding"] = ("model", np.array(["greedy", "sample"], dtype=object))
    data = data.set_coords("decoding")
    with pytest.raises(UserError, match="twice, except in copies of one answer, so"):
        read(spec_of, data, unidentified="refuse")
    priors = {"decisiveness": {"Intercept": "Normal(0, 0.5)"}}
    _, cells, found, _ = read(spec_of, data, unidentified="refuse", priors=priors)
    assert (cells.copies, cells.once) == (("m1",), ())
    assert set(found["decisiveness"].common.terms) == {"Intercept", "copies"}


def test_the_value_may_be_given(once, mixed, spec_of):
    prior = {"decisiveness": {"copies": "Normal(1, 0.5)"}}
    (note,) = read(spec_of, once, priors=prior)[3]
    assert "has one value with the prior Normal(1, 0.5) of its logarithm" in note
    (note,) = read(spec_of, mixed, priors={"decisiveness": {"copies": "Constant(1)"}})[3]
    assert "is held at 2.7 for other, party" in note


def test_a_spec_that_leaves_nothing_out_is_refused(once, mixed, spec_of):
    with pytest.raises(UserError, match="nobody answered a statement twice"):
        read(spec_of, once, unidentified="refuse")
    assert read(spec_of, mixed, unidentified="refuse")[3]


@pytest.mark.slow
@pytest.mark.long
def test_positions_of_parties_and_models_come_back(coded, spec_of):
    """Twenty parties answer once and four models that waver six times; statements have no side."""
    rng = np.random.default_rng(5)
    many, number = 24, 40
    theta = np.append(rng.normal(0, 1.2, 20), [-1.5, -0.5, 0.5, 1.5])
    sharp = np.append(np.full(20, 4.5), [1.0, 2.0, 1.0, 2.0])
    slope, middle = rng.normal(0, 1, number), rng.normal(0, 0.7, number)
    belief = theta[:, None] * slope - middle + rng.normal(0, 1, (many, number))
    noise = rng.logistic(size=(many, number, 6)) / sharp[:, None, None]
    latent = belief[:, :, None] + noise
    stance = (np.sign(latent) * (np.abs(latent) > 0.3)).astype(int)
    stance[:20, :, 1:] = -128
    items = tuple((f"i{k:02}", "economic", "right", ("original",)) for k in range(number))
    names = [*(f"p{k:02}" for k in range(20)), *(f"m{k}" for k in range(4))]
    data = coded(
        stance[:, :, None, None], items=items, models=names, prefixes=("baseline",), runs=6
    )
    anchor = {"economic": names[int(theta[:20].argmax())]}
    spec, cells, _, notes = read(spec_of, data, parts=UNKEYED, anchor=anchor)
    assert len(cells.once) == 20
    assert len(notes) == 1
    found = fit(spec, cells, SamplerConfig(chains=2, tune=300, draws=400), seed=1)
    assert not found.sample_stats["diverging"].any()
    drawn = found.posterior["theta"].isel(dimension=0).sel(model=names)
    theta = theta - theta.mean()  # their mean is in the difficulties
    assert np.corrcoef(drawn.mean(("chain", "draw")), theta)[0, 1] > 0.95
    low, high = (drawn.quantile(q, ("chain", "draw")).to_numpy() for q in (0.05, 0.95))
    assert 0.75 <= ((low < theta) & (theta < high)).mean() <= 1
    known = found.posterior["decisiveness"].sel(model=names[20:]).median(("chain", "draw"))
    assert (np.abs(np.log(known / sharp[20:])) < 0.5).all()
    assert found.posterior["decisiveness"].sel(model=names[:20]).isnull().all()
