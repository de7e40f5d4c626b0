"""The ideology model in units of statement spread: decisiveness, what is integrated out, copies."""

import numpy as np
import pytest
from scipy import special, stats

from polbayes.config.schema import AnalysisConfig, SamplerConfig
from polbayes.errors import UserError
from polbayes.fit.density.coordinates import units_of
from polbayes.fit.density.density import Density, _turn
from polbayes.fit.density.kernel import evaluate, sharpness, shifted
from polbayes.fit.density.layout import Gathering
from polbayes.fit.density.model import build
from polbayes.fit.density.prior_densities import priors_of
from polbayes.fit.families.averages import mean_logistic
from polbayes.fit.families.kinds import ORDINAL
from polbayes.fit.fit import fit
from polbayes.fit.sampling.imputation import draw_shifts
from polbayes.fit.spec.equation import equation, prior_lines
from polbayes.fit.spec.spec import parse_spec

NONE = np.empty(0)
PARTS = {
    "theta": "~ 0 + dimension + (0 + dimension | model)",
    "decisiveness": "~ 1 + (1 | model)",
    "difficulty": "~ (1 | item)",
    "acquiescence": "~ 1 + (1 | model)",
    "quirk": "~ (1 | model:item)",
}
PROMPT = "~ (1 | gr(model:item:variant:prefix, by = model))"
ITEMS = tuple(
    (f"{dimension[0]}{k}", dimension, ("left", "right")[k % 2], ("original",))
    for dimension in ("economic", "cultural")
    for k in range(10)
)


def dense(eta, own, spread, gaps, counts):
    """Integrate over shifts on a grid that is fine and wide enough for all cases here."""
    raw = np.cumsum([0.0, *gaps])
    cuts = np.exp(own) * (raw - np.median(raw))
    z = np.linspace(-14, 14, 1_400_001)
    x = eta + spread * z
    total = stats.norm.logpdf(z)
    for point, n in enumerate(counts):
        if n:
            below = special.log_expit(cuts[point] - x) if point < len(cuts) else 0.0
            above = special.log_expit(x - cuts[point - 1]) if point else 0.0
            width = np.inf if point in (0, len(cuts)) else cuts[point] - cuts[point - 1]
            total = total + n * (below + above + np.log(-np.expm1(-width)))
    return special.logsumexp(total) + np.log(z[1] - z[0])


@pytest.mark.parametrize("spread", [0.05, 0.7, 3.0, 12.0, 150.0])
@pytest.mark.parametrize("counts", [(1, 0, 0), (0, 3, 0), (2, 1, 0), (0, 0, 60), (0, 25, 35)])
def test_the_likelihood_of_shifted_counts_is_the_integral(spread, counts):
    eta, own, gaps = 0.4 * max(spread, 1.0), np.log(max(spread, 1.0)), np.array([0.9])
    found = shifted(
        *(np.array([eta]), np.array([own]), np.array([spread])), gaps, np.array([counts], float)
    )
    assert found[0] == pytest.approx(dense(eta, own, spread, gaps, counts), abs=5e-4)


def one_cell(counts):
    """Return value and gradient by eta, log width, log decisiveness and spread, of one cell."""
    roles = np.array([0, 1, 1, 1, 1, 1, 3, 4, 5])
    index = np.array([[0, 1, 2, 2, 3]], dtype=np.uint32)
    at = Gathering(index, np.ones((1, 5)), roles, np.ones(1))
    answers = np.array([counts], float)

    def of(effects, gaps):
        return evaluate(effects, gaps, NONE, ORDINAL, answers, *at.arrays.values())

    return of


@pytest.mark.parametrize("counts", [(1, 0, 0), (0, 3, 0), (1, 1, 1), (0, 0, 40), (10, 30, 0)])
@pytest.mark.parametrize("sharp", [0.0, 1.5, 2.5, 4.0])
def test_slopes_of_shifted_counts(counts, sharp):
    of, gaps = one_cell(counts), np.array([0.8])
    effects = np.array([0.3, -0.1, sharp, 0.9])
    total, slopes, of_gaps, _ = of(effects, gaps)
    k = np.exp(sharp)
    assert total == pytest.approx(dense(k * 0.3, sharp - 0.1, k * 0.9, gaps, counts), abs=5e-4)
    steps = 1e-4 * np.eye(4)
    expected = [(of(effects + h, gaps)[0] - of(effects - h, gaps)[0]) / 2e-4 for h in steps]
    np.testing.assert_allclose(slopes, expected, rtol=0.01, atol=0.02)
    by_gap = (of(effects, gaps + 1e-4)[0] - of(effects, gaps - 1e-4)[0]) / 2e-4
    assert of_gaps[0] == pytest.approx(by_gap, rel=0.01, abs=0.02)


def test_many_identical_answers_of_a_decided_model_are_one_opinion():
    """Where decisiveness is large, the likelihood of 60 answers follows eta as that of one does."""
    eta = np.linspace(-2, 2, 9) * 400.0
    same = np.full(9, 400.0)
    one, many = (
        shifted(eta, np.log(same), same, np.array([0.5]), np.tile([0.0, 0, n], (9, 1)))
        for n in (1, 60)
    )
    np.testing.assert_allclose(many - many[4], one - one[4], atol=0.03)


@pytest.mark.parametrize(
    "effects",
    [
        *((1e6, 0, 0, 1), (0, 40, 0, 1), (3, 0, 16, 1), (1, 0, 0, 1e7)),
        *((1e5, 0, 3, 1), (-1e5, 0, 3, 1)),
    ],
)
@pytest.mark.parametrize("counts", [(0, 0, 3), (0, 60, 0), (20, 40, 0), (0, 0, 0)])
def test_far_out_there_is_an_end(effects, counts):
    total, slopes, *_ = one_cell(counts)(np.array(effects, float), np.array([1.0]))
    assert np.isfinite(total)
    assert np.isfinite(slopes).all()


@pytest.mark.parametrize("eta", [5.1, 0.0, -3e16])
def test_where_rounding_hides_the_peak_the_likelihood_is_that_of_the_peak(eta):
    """Answers on both sides of a cutpoint far from all shifts: some are on the wrong one."""
    gaps, own = np.array([3e7, 3e7]), np.array([21.0])
    counts = np.array([[0.0, 2.0, 90.0, 8.0]])
    cuts = 3e7 * np.exp(21.0) * np.array([-1, 0, 1])
    found = shifted(np.array([eta]), own, np.array([1.5]), gaps, counts)[0]
    wrong = [max(0, eta - cuts[1]), max(cuts[1] - eta, eta - cuts[2], 0), max(cuts[2] - eta, 0)]
    assert found == pytest.approx(-np.array([2, 90, 8]) @ wrong, rel=1e-3)


@pytest.mark.parametrize(("spread", "counts"), [(0.8, (0, 2, 1)), (3, (0, 0, 3)), (40, (0, 9, 0))])
def test_effects_are_drawn_from_their_distribution_given_answers(spread, counts):
    """Evenly spaced values of the distribution function give the mean and spread of a grid."""
    gaps, own, eta, n = np.array([1.0]), np.log(max(spread, 1.0)), 0.5 * spread, 2000
    found = draw_shifts(
        *(np.full(n, eta), np.full(n, own), np.full(n, float(spread))),
        gaps,
        np.tile(np.array(counts, float), (n, 1)),
        (np.arange(n) + 0.5) / n,
    )
    z = np.linspace(-8, 8, 200_001)
    cuts = np.exp(own) * np.array([-0.5, 0.5])
    below = special.expit(cuts[:, None] - (eta + spread * z))
    p = np.diff(np.vstack([np.zeros_like(z), below, np.ones_like(z)]), axis=0)
    weight = stats.norm.pdf(z) * np.prod(p ** np.array(counts)[:, None], axis=0)
    weight /= weight.sum()
    mean = weight @ z
    assert found.mean() == pytest.approx(mean, abs=0.005)
    assert found.std() == pytest.approx(np.sqrt(weight @ (z - mean) ** 2), rel=0.02)
    assert (np.diff(found) >= 0).all()


def test_the_mean_of_a_logistic_function():
    t, v = np.meshgrid([-30.0, -2.0, 0.0, 0.7, 5.0], [0.0, 0.3, 0.99, 1.0, 25.0, 4000.0])
    z = np.linspace(-9, 9, 900_001)
    weight = stats.norm.pdf(z) / stats.norm.pdf(z).sum()
    pairs = zip(t.flat, v.flat, strict=True)
    expected = [special.expit(a + np.sqrt(b) * z) @ weight for a, b in pairs]
    np.testing.assert_allclose(mean_logistic(t.ravel(), v.ravel()), expected, atol=2e-6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"quirk": None}, "needs the term"),
        ({"quirk": "~ (1 | model:item:variant)"}, "needs the term"),
    ],
)
def test_decisiveness_needs_a_unit(change, message):
    with pytest.raises(UserError, match=message):
        parse_spec(AnalysisConfig(parts={**PARTS, **change}))


def test_the_unit_is_known():
    priors = {"quirk": {"sd": "HalfNormal(1)"}}
    with pytest.raises(UserError, match="must be known"):
        parse_spec(AnalysisConfig(parts=PARTS, priors=priors))


def test_statements_are_a_sample_and_do_not_sum_to_zero(bound, coded):
    data = coded(np.random.default_rng(1).integers(-1, 2, (2, 4, 4, 2, 2)), runs=2)
    for parts, expected in ((PARTS, True), ({**PARTS, "decisiveness": None}, False)):
        _, _, found = bound(parts, data)
        for name in ("quirk", "difficulty"):
            assert (found[name].groups[0].centred_in is None) == expected


def test_what_a_cell_has_to_itself_is_integrated_out(bound, coded):
    """The quirk where there is one cell a statement; else what a single prompt does."""
    rng = np.random.default_rng(1)
    one = coded(rng.integers(-1, 2, (2, 20, 1, 1, 3)), items=ITEMS, prefixes=["b"], runs=3)
    several = coded(rng.integers(-1, 2, (2, 4, 4, 2, 3)), runs=3)
    cases = (
        (PARTS, one, {"quirk"}),
        (PARTS, several, set()),
        ({**PARTS, "wording": PROMPT}, several, {"wording"}),
        ({**PARTS, "decisiveness": None}, one, set()),
    )
    for parts, data, expected in cases:
        spec, cells, found = bound(parts, data)
        layout = build(spec, cells, found).layout
        assert {b.part for b in layout.blocks if b.integrated} == expected
        assert layout.sampled.size == layout.size - sum(
            b.size - len(b.group.scales or "1") for b in layout.blocks if b.integrated
        )


def test_a_prompt_that_was_asked_once_has_no_effect_of_its_own(bound, coded):
    data = coded(np.random.default_rng(1).integers(-1, 2, (2, 4, 4, 2, 1)))
    _, _, found = bound({**PARTS, "wording": PROMPT}, data)
    assert found["wording"].groups == ()


def test_copies_count_once_where_there_are_several_cells(bound, coded):
    rng = np.random.default_rng(1)
    answers = rng.integers(-1, 2, (2, 4, 4, 2, 3))
    answers[0] = answers[0][..., :1]
    _, cells, _ = bound({**PARTS, "wording": PROMPT}, coded(answers, runs=3))
    own = (cells.frame["model"] == "m1").to_numpy()
    assert cells.copies == ("m1",)
    assert (cells.counts[own].sum(axis=1) == 1).all()
    assert (cells.asked[own] == 1).all()
    assert (cells.counts[~own].sum(axis=1) == 3).all()
    assert any(
        note.startswith("m1: all runs of every question have the same stance")
        for note in cells.notes
    )
    _, plain, _ = bound({**PARTS, "decisiveness": None}, coded(answers, runs=3))
    assert (plain.counts.sum(axis=1) == 3).all()


def test_topics_are_a_sample_of_the_domain_as_their_statements_are(bound, coded):
    data = coded(1, items=ITEMS)
    topics = np.array([f"t{k // 2}" for k in range(len(ITEMS))], dtype=object)
    data = data.assign_coords(topic=("item", topics))
    parts = {**PARTS, "quirk": "~ (1 | model:item) + (1 | model:topic)"}
    quirks = bound(parts, data)[2]["quirk"].groups
    assert [group.centred_in is None for group in quirks] == [True, True]
    assert len(quirks[1].levels) == 2 * 10


def test_copies_in_several_administrations_count_once(bound, coded):
    rng = np.random.default_rng(1)
    answers = rng.integers(-1, 2, (2, 20, 1, 2, 3))
    answers[0] = answers[0, ..., :1]
    data = coded(answers, items=ITEMS, prefixes=["a", "b"], runs=3)
    labels = np.array([[f"{p}{r}" for r in range(3)] for p in "ab"], dtype=object)
    data = data.assign_coords(administration=(("prefix", "run"), labels))
    parts = {**PARTS, "acquiescence": "~ 1 + (1 | model) + (1 | model:administration)"}
    _, cells, _ = bound(parts, data)
    own = (cells.frame["model"] == "m1").to_numpy()
    assert cells.copies == ("m1",)
    assert len(cells.frame) == 2 * 20 * 2 * 3
    assert cells.counts[own].sum() == 20 * 2
    assert cells.counts[~own].sum() == 20 * 2 * 3


def test_copies_have_a_known_decisiveness(bound, coded):
    """What prompts do to them is estimated: it is all that their answers can differ by."""
    rng = np.random.default_rng(1)
    answers = rng.integers(-1, 2, (2, 20, 1, 2, 3))
    answers[0] = answers[0, ..., :1]
    data = coded(answers, items=ITEMS, prefixes=["a", "b"], runs=3)
    parts = {**PARTS, "wording": PROMPT}
    spec, cells, found = bound(parts, data)
    built = build(spec, cells, found)
    own = (cells.frame["model"] == "m1").to_numpy()
    assert (cells.copied == own).all()
    density, layout = Density(built), built.layout.sampled
    known = [k for k, (*_, name) in enumerate(layout.coefficients) if name == "copies"]
    for seed in range(2):
        values = density.values(density.start(seed) + rng.normal(0, 0.5, density.size))
        sharp, spread = sharpness(values["effects"], *layout.answers.plain)
        np.testing.assert_allclose(sharp[own], np.exp(1.5))
        assert (abs(sharp[~own] / np.exp(1.5) - 1) > 1e-3).all()
        assert (spread > 0).all()
        assert values["b"][known] == [1.5]
    x = density.start(3) + rng.normal(0, 0.2, density.size)
    _, slopes = density(x)
    steps = 1e-5 * np.eye(density.size)
    expected = [(density(x + h)[0] - density(x - h)[0]) / 2e-5 for h in steps]
    np.testing.assert_allclose(slopes, expected, rtol=1e-3, atol=2e-3)
    assert "copies, of models that were asked once or repeat one answer" in equation(spec, found)
    assert "decisiveness: coefficients of copies ~ Constant(1.5)" in prior_lines(spec, found)


def test_where_all_are_copies_the_prior_of_their_decisiveness_may_be_given(bound, coded):
    answers = np.random.default_rng(1).integers(-1, 2, (2, 20, 1, 2, 1)) * np.ones(3, int)
    data = coded(answers, items=ITEMS, prefixes=["a", "b"], runs=3)
    parts = {**PARTS, "wording": PROMPT}
    spec, cells, found = bound(parts, data, priors={"decisiveness": {"copies": "Normal(2, 0.5)"}})
    assert found["decisiveness"].common.terms == ("copies",)
    assert found["decisiveness"].groups == ()
    assert found["wording"].groups[0].integrated
    posterior = fit(spec, cells, SamplerConfig(chains=2, draws=100, tune=200), seed=1).posterior
    assert np.isnan(posterior["decisiveness"]).all()
    assert np.isnan(posterior["repetition"]).all()
    assert np.isfinite(posterior["lean"]).all()
    drawn = posterior["coefficient"].sel(term="decisiveness: copies")
    assert 0.1 < float(drawn.std()) < 1


def test_copies_stay_where_the_likelihood_knows_it(bound, coded):
    answers = np.random.default_rng(1).integers(-1, 2, (2, 20, 1, 1, 1)) * np.ones(3, int)
    data = coded(answers, items=ITEMS, prefixes=["b"], runs=3)
    _, cells, _ = bound(PARTS, data)
    assert cells.copies == ("m1", "m2")
    assert (cells.counts.sum(axis=1) == 3).all()


@pytest.mark.parametrize("prefixes", [1, 2])
def test_the_gradient_is_the_slope(bound, coded, prefixes):
    rng = np.random.default_rng(prefixes)
    names = ["a", "b"][:prefixes]
    data = coded(rng.integers(-1, 2, (2, 20, 1, prefixes, 4)), items=ITEMS, prefixes=names, runs=4)
    parts = PARTS if prefixes == 1 else {**PARTS, "wording": PROMPT}
    density = Density(build(*bound(parts, data)))
    x = density.start(3) + rng.normal(0, 0.2, density.size)
    _, slopes = density(x)
    steps = 1e-5 * np.eye(density.size)
    expected = [(density(x + h)[0] - density(x - h)[0]) / 2e-5 for h in steps]
    np.testing.assert_allclose(slopes, expected, rtol=1e-3, atol=2e-3)


@pytest.fixture(scope="module")
def planted(bound, coded):
    """Four models of decisiveness 0.5, 2, 8 and 40; twenty statements, ten runs."""
    rng = np.random.default_rng(5)
    kappa = np.array([0.5, 2.0, 8.0, 40.0])
    at = np.array([0 if i[1] == "economic" else 1 for i in ITEMS])
    keying = np.array([-1 if i[2] == "left" else 1 for i in ITEMS])
    theta = rng.permutation(np.linspace(-1.5, 1.5, 8)).reshape(4, 2)
    difficulty, quirk = rng.normal(0, 0.5, 20), rng.normal(0, 1, (4, 20))
    eta = keying * (theta[:, at] - difficulty + quirk)
    latent = eta[..., None] + rng.logistic(size=(4, 20, 10)) / kappa[:, None, None]
    stance = np.sign(latent) * (abs(latent) > 0.4)
    models = [f"m{k}" for k in range(4)]
    data = coded(
        stance[:, :, None, None].astype(int), items=ITEMS, models=models, prefixes=["b"], runs=10
    )
    spec, cells, _ = bound(PARTS, data)
    found = fit(spec, cells, SamplerConfig(chains=2, draws=400, tune=400), seed=1).posterior
    own = np.stack([quirk[:, at == d].mean(axis=1) - difficulty[at == d].mean() for d in (0, 1)])
    return found.sel(dimension=["economic", "cultural"]), kappa, theta, theta + own.T


@pytest.mark.slow
@pytest.mark.long
def test_planted_decisiveness_is_recovered(planted):
    found, kappa, *_ = planted
    log = np.log(found["decisiveness"])
    low, high = log.quantile([0.005, 0.995], ("chain", "draw")).to_numpy()
    assert (np.diff(log.mean(("chain", "draw"))) > 0).all()
    assert ((low < np.log(kappa)) & (np.log(kappa) < high)).all()


@pytest.mark.slow
@pytest.mark.long
def test_positions_are_those_that_were_planted(planted):
    found, _, theta, asked = planted
    for name, true in (("theta", theta), ("theta_asked", asked)):
        low, high = found[name].quantile([0.005, 0.995], ("chain", "draw")).to_numpy()
        assert ((low < true) & (true < high)).all(), name
    narrow, wide = (found[n].std(("chain", "draw")).mean() for n in ("theta_asked", "theta"))
    assert narrow < 0.85 * wide


@pytest.mark.slow
@pytest.mark.long
def test_a_decided_model_repeats_itself(planted):
    """The last one always does, so that its runs may be copies: nothing is said of it."""
    repeated = planted[0]["repetition"].mean(("chain", "draw")).to_numpy()
    assert (np.diff(repeated[:3]) > 0).all()
    assert repeated[2] > 0.85
    assert np.isnan(repeated[3])


HEAVY = {**PARTS, "quirk": "~ (1 | gr(model:item, dist = student))"}


@pytest.mark.parametrize("change", [-0.3, 0.3])
def test_in_logits_effects_stay_where_answers_say_they_are(bound, coded, change):
    """As decisiveness alone moves, what a model thinks of each statement does in its unit."""
    rng, models = np.random.default_rng(6), ("a", "b", "c")
    logit = rng.normal(0, 1, (3, 20, 1, 1, 1)) + rng.normal(0, 0.02, (3, 20, 1, 2, 3))
    r_plus = special.expit(logit)
    data = coded(items=ITEMS, models=models, prefixes=["a", "b"], runs=3, r_plus=r_plus)
    parts = {name: PARTS[name] for name in ("theta", "quirk")} | {"decisiveness": "~ 1"}
    parts["sigma"] = "~ 1"
    spec = bound(parts, data, family="logit_normal", response="r_plus")
    density = Density(build(*spec))
    layout = density.built.layout.sampled
    (at,) = [k for k, c in enumerate(layout.coefficients) if c[0] == "decisiveness"]
    (of_quirk,) = (b.group.levels for b in layout.blocks if b.part == "quirk" and b.group)
    model = of_quirk["model"].map({name: k for k, name in enumerate(models)}).to_numpy()
    dimension = of_quirk["item"].str.startswith("e").to_numpy().astype(int)
    x = density.start(1)
    moved = x + change * (np.arange(len(x)) == at)
    found = []
    for here in (x, moved):
        values = density.values(here)
        theta, quirk = (
            values["effects"][b.start : b.stop]
            for part in ("theta", "quirk")
            for b in layout.blocks
            if b.part == part and b.group
        )
        leaning = values["b"][:2] + theta.reshape(3, 2)
        view = leaning[model, dimension] + quirk
        found.append(view * np.exp(values["b"][at]))
    assert density.values(moved)["b"][at] == pytest.approx(density.values(x)["b"][at] + change)
    np.testing.assert_allclose(found[1], found[0], atol=0.05)


@pytest.mark.parametrize("change", [-3.0, 3.0])
def test_leaning_stays_in_units_of_noise_as_a_model_decisiveness_moves(bound, coded, change):
    """Compared with the others', which stay in all units though the mean decisiveness moves.

    The noise of an answer to one statement is logistic, and what the model thinks of it, with the
    standard deviation of 1.

    Leanings sum to zero over models, so that all of them change by the mean of the change.
    """
    rng = np.random.default_rng(6)
    view = rng.normal(0, 1, (3, 20)) + np.array([[2.0], [-2.5], [3.0]])
    view *= np.array([-1 if item[2] == "left" else 1 for item in ITEMS])
    latent = view[:, :, None, None, None] + rng.logistic(size=(3, 20, 1, 1, 40)) / 2
    stance = np.sign(latent) * (abs(latent) > 1)
    data = coded(stance.astype(int), items=ITEMS, models=("a", "b", "c"), prefixes=["a"], runs=40)
    parts = {name: PARTS[name] for name in ("theta", "quirk", "decisiveness")}
    density = Density(build(*bound(parts, data)))
    layout = density.built.layout.sampled
    assert layout.copies  # views are integrated out
    blocks = {b.part: b for b in layout.blocks if b.group}
    x = density.start(1)
    at = density._scalars.sampled + 1  # effects of decisiveness come first
    turned = density._turned()  # in which the mean over models is a coordinate
    moved = _turn(_turn(x, *turned) + change * (np.arange(len(x)) == at), *turned)
    leaning, logs = [], []
    for place in (x, moved):
        found = density.values(place)
        own, theta = (
            found["effects"][blocks[part].start : blocks[part].stop]
            for part in ("decisiveness", "theta")
        )
        leaning.append(found["b"][:2] + theta.reshape(3, 2))
        logs.append(own + found["b"][2])
    log = logs[1] - logs[0]
    assert abs(log[1]) > 0.1
    assert abs(log[[0, 2]]).max() < 1e-3
    apart = [one[1] - one[[0, 2]].mean(axis=0) for one in leaning]
    noise = [np.sqrt(np.pi**2 / 3 * np.exp(-2 * log[1]) + 1) for log in logs]
    wanted = leaning[0][1] * (noise[1] / noise[0] - 1)
    assert abs(wanted).min() > 0.1
    np.testing.assert_allclose(apart[1] - apart[0], wanted, rtol=0.1)


@pytest.mark.parametrize("viewed", [True, False])
@pytest.mark.parametrize("points", [True, False])
def test_what_differs_between_prompts_is_in_units_of_noise(bound, coded, viewed, points):
    """What does not is, too, where views are integrated out or the answers are numbers."""
    rng, names = np.random.default_rng(5), {"models": ["a", "b"], "prefixes": ["p", "q"], "runs": 2}
    size = (2, 20, 1, 2, 2)
    prompts = "~ 1 + (1 | model) + (1 | gr(model:prefix, by = model))"
    parts = {**PARTS, "acquiescence": prompts, "threshold": "~ (1 | model)"}
    if points:
        data = coded(rng.integers(-1, 2, size), items=ITEMS, **names)
        spec, cells, terms = bound(parts | ({"wording": PROMPT} if viewed else {}), data)
    else:
        parts = {**parts, "threshold": None, "wording": PROMPT if viewed else None}
        parts["sigma"] = "~ 1 + (1 | model)"
        data = coded(items=ITEMS, r_plus=special.expit(rng.normal(size=size)), **names)
        spec, cells, terms = bound(parts, data, family="logit_normal", response="r_plus")
    built = build(spec, cells, terms)
    layout = built.layout.sampled
    units = units_of(layout, built.start, cells)
    views = any(b.part == "quirk" for b in layout.blocks)
    noise, with_views, level, shared, none = [0, 1], [2, 3], [4], [5], [6]
    for block in (b for b in layout.blocks if b.group):
        found = sorted(set(units.effects[block.start : block.stop].tolist()))
        wide = units.stretched[block.start : block.stop].T
        factors = block.group.term.factors
        if block.part in ("decisiveness", "threshold", "sigma"):
            assert found == none
        elif "prefix" in factors:
            assert found == noise
        elif "model" in factors:
            assert found == (with_views if views and points else noise)
        else:
            assert found == (none if views else shared)
        one, relative = {"threshold": (noise, level), "sigma": (noise, none)}.get(
            block.part, ([-1], [-1])
        )
        assert (sorted(set(wide[0])), sorted(set(wide[1]))) == (one, relative)
    of_scales = units.numbers[len(layout.coefficients) :][: len(layout.scales)]
    scale = {s[:3]: number for s, number in zip(layout.scales, of_scales, strict=True)}
    for name in ("a", "b"):
        assert scale["acquiescence", "model:prefix", name] == noise[name == "b"]


@pytest.mark.parametrize(("kappa", "change"), [(1.0, 8.0), (20.0, 8.0)])
def test_views_stay_in_units_of_views_and_noise_as_decisiveness_moves(bound, coded, kappa, change):
    """What a decided model thinks hardly moves; effects of its prompts are in units of noise.

    Each prompt is asked forty times, so that what differs between prompts is known well.
    """
    rng = np.random.default_rng(3)
    view = rng.normal(0, 1, (3, 20)) + np.array([[1.0], [-1.0], [0.5]])
    view = view * np.array([-1 if item[2] == "left" else 1 for item in ITEMS])
    prefix = rng.normal(0, 1, (3, 1, 1, 4)) / kappa
    latent = view[:, :, None, None] + prefix + rng.normal(0, 1, (3, 20, 1, 4)) / kappa
    latent = latent[..., None] + rng.logistic(size=(3, 20, 1, 4, 40)) / kappa
    stance = (np.sign(latent) * (abs(latent) > 0.3)).astype(int)
    data = coded(stance, items=ITEMS, models=("a", "b", "c"), prefixes=list("pqrs"), runs=40)
    parts = {**PARTS, "wording": PROMPT}
    parts["acquiescence"] = "~ 1 + (1 | model) + (1 | gr(model:prefix, by = model))"
    density = Density(build(*bound(parts, data)))
    layout = density.built.layout.sampled
    blocks = {(b.part, b.size): b for b in layout.blocks if b.group}
    x = density.start(1)
    at = density._scalars.sampled + 1  # effects of decisiveness come first
    one, two = (density.values(place) for place in (x, x + change * (np.arange(len(x)) == at)))
    apart = blocks["decisiveness", 3].start + 1
    log = [found["b"][2] + found["effects"][apart] for found in (one, two)]
    assert log[1] - log[0] > 0.1
    scale = [layout.scales[k][:1] for k in layout.copies].index(("wording",)) + 1
    tau = one["sd"][layout.copies[scale]]
    noise = [np.sqrt(np.pi**2 / 3 * np.exp(-2 * k) + tau**2) for k in log]
    wide = [np.sqrt(1 + v**2) for v in noise]
    for (part, size), unit in ((("quirk", 60), wide), (("acquiescence", 12), noise)):
        block = blocks[part, size]
        own = block.start + np.flatnonzero(block.group.levels["model"] == "b")
        before, after = one["effects"][own], two["effects"][own]
        slope = (before @ after) / (before @ before)
        assert slope == pytest.approx(
            unit[1] / unit[0], abs=0.1 * abs(1 - unit[1] / unit[0]) + 0.02
        )


def test_heavy_tails_are_a_t_distribution_of_the_quirks(bound, coded):
    """The log-posterior less that of normal quirks is known from the quirks alone."""
    rng = np.random.default_rng(2)
    data = coded(rng.integers(-1, 2, (2, 20, 1, 2, 3)), items=ITEMS, prefixes=["a", "b"], runs=3)
    normal, heavy = (Density(build(*bound(parts, data))) for parts in (PARTS, HEAVY))
    first = sum(heavy.sizes[:4]) - sum(p.name == "Constant" for p in heavy_scales(heavy))
    gaps = []
    for seed, nu in ((1, 2.5), (2, 7.0), (3, 40.0)):
        x = normal.start(seed) + rng.normal(0, 0.3, normal.size)
        wide = np.insert(x, first, np.log(nu))
        values = heavy.values(wide)
        assert values["nu"][0] == pytest.approx(nu)
        np.testing.assert_allclose(values["effects"], normal.values(x)["effects"])
        quirks = next(b for b in heavy.built.layout.blocks if b.part == "quirk")
        u = values["effects"][quirks.start : quirks.stop]
        prior = stats.gamma.logpdf(nu, 2, scale=10) + np.log(nu)
        expected = prior + (stats.t.logpdf(u, nu) - stats.norm.logpdf(u)).sum()
        gaps.append(heavy(wide)[0] - normal(x)[0] - expected)
    np.testing.assert_allclose(gaps, gaps[0], atol=1e-8)


def heavy_scales(density):
    built = density.built
    return priors_of(built.layout, built.spec, built.cells).scales


def test_the_gradient_of_heavy_tails_is_the_slope(bound, coded):
    rng = np.random.default_rng(4)
    data = coded(rng.integers(-1, 2, (2, 20, 1, 2, 3)), items=ITEMS, prefixes=["a", "b"], runs=3)
    density = Density(build(*bound(HEAVY, data)))
    x = density.start(3) + rng.normal(0, 0.2, density.size)
    steps = 1e-5 * np.eye(density.size)
    expected = [(density(x + h)[0] - density(x - h)[0]) / 2e-5 for h in steps]
    np.testing.assert_allclose(density(x)[1], expected, rtol=1e-3, atol=2e-3)


def test_pymc_has_the_same_heavy_tails(bound, coded):
    """A change of the degrees of freedom alone changes both log-posteriors by as much."""
    rng = np.random.default_rng(6)
    data = coded(rng.integers(-1, 2, (2, 20, 1, 2, 3)), items=ITEMS, prefixes=["a", "b"], runs=3)
    built = build(*bound(HEAVY, data))
    logp, at = built.model.compile_logp(), built.model.initial_point(random_seed=1)
    change = float(logp(at)) - float(logp(at | {"nu_0_log__": at["nu_0_log__"] - 0.7}))
    density = Density(built)
    x = density.start(1)
    first = sum(density.sizes[:4]) - sum(p.name == "Constant" for p in heavy_scales(density))
    nu = np.exp(at["nu_0_log__"][0])
    x[first] = np.log(nu)
    lower = x.copy()
    lower[first] -= 0.7
    quirks = next(b for b in built.layout.blocks if b.part == "quirk")

    def expected(u):
        return (stats.t.logpdf(u, nu) - stats.t.logpdf(u, nu * np.exp(-0.7))).sum() + prior

    prior = stats.gamma.logpdf(nu, 2, scale=10) - stats.gamma.logpdf(nu * np.exp(-0.7), 2, scale=10)
    prior += 0.7
    u = density.values(x)["effects"][quirks.start : quirks.stop]
    assert density(x)[0] - density(lower)[0] == pytest.approx(expected(u))
    (effects,) = built.model.replace_rvs_by_values([built.model["effects"]])
    both = built.model.compile_fn([effects, built.model.logp()])
    u = both(at)[0][quirks.start : quirks.stop]
    assert change == pytest.approx(expected(u))


@pytest.mark.parametrize(
    ("formula", "says"),
    [
        ("~ (1 | gr(model:item, dist = cauchy))", "distribution"),
        ("~ (0 + dimension | gr(model:item, dist = student))", "only be given for an intercept"),
    ],
)
def test_tails_that_do_not_exist_are_refused(bound, coded, formula, says):
    with pytest.raises(UserError, match=says):
        bound({**PARTS, "quirk": formula}, coded(1, items=ITEMS))


@pytest.mark.slow
@pytest.mark.long
def test_heavy_tails_are_found(bound, coded):
    """In answers that are probabilities: three points say little, as answers far out are alike."""
    rng = np.random.default_rng(9)
    items = tuple((f"e{k}", "economic", ("left", "right")[k % 2], ("original",)) for k in range(60))
    keying = np.array([(-1, 1)[k % 2] for k in range(60)])
    parts = {
        "theta": "~ 1 + (1 | model)",
        "decisiveness": "~ 1 + (1 | model)",
        "quirk": HEAVY["quirk"],
        "sigma": "~ 1 + (1 | model)",
    }
    ends = {}
    for name, quirk in (
        ("heavy", rng.standard_t(1.5, (3, 60))),
        ("normal", rng.normal(0, 1, (3, 60))),
    ):
        eta = keying * (np.array([-0.5, 0.0, 0.5])[:, None] + quirk)
        logit = eta[..., None] + rng.normal(0, 0.3, (3, 60, 2))
        data = coded(
            items=items, models=["a", "b", "c"], r_plus=special.expit(logit)[:, :, None, :, None]
        )
        spec, cells, _ = bound(parts, data, family="logit_normal", response="r_plus")
        found = fit(spec, cells, SamplerConfig(chains=2, draws=300, tune=400), seed=1).posterior
        ends[name] = found["nu"].quantile([0.05, 0.95], ("chain", "draw")).to_numpy().ravel()
        assert np.isfinite(found["lean"]).all()
    assert ends["heavy"][0] < 1.5 < ends["heavy"][1] < 4
    assert ends["normal"][0] > 3


def test_runs_of_a_decoding_with_one_answer_count_once_whatever_they_say(bound, coded):
    """A server at temperature 0 may say two things all the same."""
    rng = np.random.default_rng(1)
    answers = rng.integers(-1, 2, (2, 4, 4, 2, 3))
    data = coded(answers, runs=3)
    data = data.assign_coords(decoding=("model", np.array(["greedy", ""], dtype=object)))
    _, cells, _ = bound({**PARTS, "wording": PROMPT}, data)
    own = (cells.frame["model"] == "m1").to_numpy()
    assert cells.copies == ("m1",)
    assert (cells.counts[own].sum(axis=1) == 1).all()
    assert (cells.counts[~own].sum(axis=1) == 3).all()
    first = data["stance"].sel(model="m1").isel(run=0)
    one = cells.frame[own].iloc[0]
    given = int(first.sel(item=one["item"], variant=one["variant"], prefix=one["prefix"]))
    assert cells.counts[own][0].tolist() == [float(given == k) for k in (-1, 0, 1)]
    assert any("m1" in note and "greedy" in note for note in cells.notes)
    _, plain, _ = bound({**PARTS, "decisiveness": None}, data)
    assert (plain.counts.sum(axis=1) == 3).all()
