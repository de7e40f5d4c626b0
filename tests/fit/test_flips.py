"""Other studies of the same statements: by hand, and against a simulation that knows the truth."""

from itertools import product
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy.special import expit

from polbayes.config.schema import SamplerConfig
from polbayes.data.dataset import MISSING
from polbayes.fit.analysis import fit_analysis
from polbayes.fit.density.model import build
from polbayes.fit.posterior import other_studies as other_studies_module
from polbayes.fit.posterior.flips import Conclusion, Scores, concluded, flip_tables, judged
from polbayes.fit.posterior.other_studies import Asked, other_studies

DIRECTION = {"left": -1.0, "right": 1.0}


def frame_of(rows):
    names = ["model", "dimension", "direction", "keying", "item", "variant", "prefix"]
    return pd.DataFrame(rows, columns=names)


def test_a_study_weights_sides_items_and_wordings_equally():
    """Two items of the right (two wordings and one), one of the left; by hand."""
    rows = [
        ("m", "e", 1, 1, "r1", "a", "p"),
        ("m", "e", 1, -1, "r1", "b", "p"),  # a reversed wording
        ("m", "e", 1, 1, "r2", "a", "p"),
        ("m", "e", -1, -1, "l1", "a", "p"),
        ("m", "e", -1, -1, "l1", "a", "q"),
    ]
    asked = Asked(frame_of(rows), np.ones(5))
    (weights,) = asked.scores(np.ones(5, dtype=bool)).toarray()
    assert weights == pytest.approx([1 / 8, -1 / 8, 1 / 4, -1 / 4, -1 / 4])
    one = asked.scores(np.array([True, False, True, True, False])).toarray()
    assert one[0] == pytest.approx([1 / 4, 0, 1 / 4, -1 / 2, 0])
    assert asked.varied() == ["prefix", "wording"]


def test_what_was_not_answered_is_not_asked():
    rows = [("m", "e", 1, 1, "r1", "a", "p"), ("m", "e", 1, 1, "r2", "a", "p")]
    asked = Asked(frame_of(rows), np.array([0, 2]))
    assert asked.frame["item"].tolist() == ["r2"]
    assert asked.varied() == ["run"]


def test_each_study_asks_one_wording_of_every_item():
    rows = [
        ("m", "e", s, s, f"i{k}", v, p) for (k, s), v, p in product(enumerate([1, -1]), "abc", "pq")
    ]
    asked = Asked(frame_of(rows), np.ones(len(rows)))
    seen = set()
    for chosen in asked.of_prompts(np.random.default_rng(1)):
        own = asked.frame[chosen]
        assert sorted(own["item"]) == ["i0", "i1"]
        assert own["prefix"].nunique() == 1
        seen.add((tuple(own.sort_values("item")["variant"]), own["prefix"].iloc[0]))
    assert len(seen) > 5


def test_studies_of_very_many_cells_ask_some_prompts(monkeypatch):
    monkeypatch.setattr(other_studies_module, "_MOST_CELLS", 2000)
    grid = pd.MultiIndex.from_product(
        [range(2), range(5), range(50), range(10)], names=["model", "item", "variant", "prefix"]
    )
    frame = grid.to_frame(index=False)
    answers = np.where(frame["variant"] == 7, 0, 3)
    kept = other_studies_module._of_some_prompts(frame, answers, 1)
    of = frame[kept > 0]
    assert set(kept) == {0, 3}
    assert 7 not in set(of["variant"])
    # 49 of 50 wordings have answers, 4900 cells: 20 wordings of each item stay, whole ones.
    assert of.groupby("item")["variant"].nunique().tolist() == [20] * 5
    assert of.groupby(["item", "variant"]).size().unique().tolist() == [20]
    assert of.groupby("item")["variant"].unique().map(frozenset).nunique() == 5
    again = other_studies_module._of_some_prompts(frame, answers, 1)
    assert (again == kept).all()
    monkeypatch.setattr(other_studies_module, "_MOST_CELLS", 30)
    few = frame[other_studies_module._of_some_prompts(frame, answers, 1) > 0]
    assert few.groupby("item")["variant"].nunique().tolist() == [2] * 5
    assert few["prefix"].nunique() == 2
    assert other_studies_module._of_some_prompts(frame.iloc[:30], answers[:30], 1).sum() == 90


@pytest.mark.parametrize(
    ("decision", "difference", "flips"),
    [
        ("left", [-0.3, 0.0, 0.2], [0, 0.5, 1]),
        ("right", [-0.3, 0.0, 0.2], [1, 0.5, 0]),
        ("equal", [-0.3, 0.0, 0.1], [1, 0, 0]),
    ],
)
def test_what_contradicts_a_conclusion(decision, difference, flips):
    one = Conclusion("centre", "e", "m", "", decision, -0.2, 0.1)
    assert one.flips(np.array(difference)).tolist() == flips
    assert np.isnan(
        Conclusion("centre", "e", "m", "", "open", -0.2, 0.1).flips(np.array(difference))
    ).all()


def test_who_is_furthest_is_concluded_only_if_all_pairs_are_decided():
    def row(a, b, decision):
        of = {"measure": "lean", "dimension": "e", "against": "model" if b else "centre"}
        return {**of, "model_a": a, "model_b": b, "decision": decision, "estimate": 0, "rope": 0.1}

    pairs = [("a", "b", "left"), ("a", "c", "left"), ("b", "c", "open"), ("a", None, "left")]
    found = list(concluded(pd.DataFrame([row(*pair) for pair in pairs])))
    ranks = [(one.model_a, one.decision) for one in found if one.against == "rank"]
    assert ranks == [("a", "left")]  # c is not known to be right of b
    assert len(found) == 5


# A world without quirks and noise in the parameters: two models, prefixes that steer.
ITEMS = tuple(
    (f"e{k}", "economic", ("left", "right")[k % 2], ("original", "paraphrase")) for k in range(6)
)
PARTS = {
    "theta": "~ 0 + dimension + (0 + dimension | model)",
    "decisiveness": "~ 1 + (1 | model)",
    "acquiescence": "~ 1 + (1 | model)",
    "steer": "~ (1 | gr(model:prefix, by = model))",
    "wording": "~ (1 | gr(model:item:variant, by = model))",
    "quirk": "~ (1 | model:item)",
}
THETA = np.array([-0.5, 0.6])
STEER = np.array([[0.9, -0.2, -0.7], [0.0, 0.1, -0.1]])
SCALE = np.array([0.8, 0.1])
SHARP = 2.0
GAP = 0.6


@pytest.fixture(scope="module")
def world(bound, coded):
    """A model whose only draw, many times over, is known."""
    stance = np.random.default_rng(4).integers(-1, 2, (2, 6, 2, 3, 2))
    data = coded(stance, items=ITEMS, models=("a", "b"), prefixes=("p", "q", "r"), runs=2)
    spec, cells, parts = bound(PARTS, data)
    built = build(spec, cells, parts)
    rng = np.random.default_rng(5)
    effects, scales = np.zeros(built.layout.size), np.full(len(built.layout.scales), 0.3)
    wording = rng.normal(0, 0.8, (2, 6, 2))
    for block in built.layout.blocks:
        part = slice(block.start, block.stop)
        if block.group is None:
            effects[part] = np.log(SHARP) if block.part == "decisiveness" else 0.0
            continue
        labels = block.group.levels
        model = [("a", "b").index(m) for m in labels["model"]]
        if block.part == "theta":
            effects[part] = THETA[model]
        if block.part == "steer":
            effects[part] = STEER[model, ["pqr".index(p) for p in labels["prefix"]]]
            scales[block.scales[0] : sum(block.scales)] = SCALE
        if block.part == "wording":
            item = [int(i[1]) for i in labels["item"]]
            variant = [("original", "paraphrase").index(v) for v in labels["variant"]]
            effects[part] = wording[model, item, variant]
    draws = 1000
    drawn = xr.Dataset(
        {
            "effects": (("chain", "draw", "effect"), np.tile(effects, (1, draws, 1))),
            "sd": (("chain", "draw", "sds"), np.tile(scales, (1, draws, 1))),
            "gap": (("chain", "draw", "gaps"), np.full((1, draws, 1), GAP)),
        }
    )
    return SimpleNamespace(
        built=built, wording=wording, studies=other_studies(built, drawn, seed=3, most=100)
    )


def answers_of(eta):
    """Probabilities of disagreeing, neutral and agreeing, from the formula of the model."""
    cut = GAP / 2
    low, high = expit(SHARP * (-cut - eta)), expit(SHARP * (cut - eta))
    return np.array([low, high - low, 1 - high])


def distribution(world, model, steer):
    """Exact distribution of six keyed answers, each in a wording drawn at random."""
    total = np.array([1.0])
    for item in range(6):
        keying = (-1, 1)[item % 2]
        one = np.zeros(3)
        for variant in range(2):
            eta = world.wording[model, item, variant] + keying * (THETA[model] + steer)
            one += answers_of(eta)[::keying] / 2
        total = np.convolve(total, one)
    return total  # of sums from -6 to 6, that is scores from -1 to 1


def test_a_study_with_a_single_prompt_by_enumeration(world):
    scores = world.studies.scores["prompt", "asked"][..., 0]
    assert scores.shape == (20000, 2)
    for model in range(2):
        exact = np.mean([distribution(world, model, s) for s in STEER[model]], axis=0)
        found = np.bincount(np.rint(scores[:, model] * 6).astype(int) + 6, minlength=13)
        assert found / found.sum() == pytest.approx(exact, abs=0.02)


def test_a_study_with_a_new_prefix_by_integration(world):
    """Prefix effects of new prefixes are normal; new wordings' as well, around their mean."""
    scores = world.studies.scores["prefix", "new"][..., 0]
    z, w = np.polynomial.hermite_e.hermegauss(61)
    for model in range(2):
        keyed = [
            np.mean(
                [
                    keying * (answers_of(eta)[2] - answers_of(eta)[0])
                    for item in range(6)
                    for keying in [(-1, 1)[item % 2]]
                    for variant in range(2)
                    for eta in [
                        world.wording[model, item, variant]
                        + keying * (THETA[model] + SCALE[model] * one)
                    ]
                ]
            )
            for one in z
        ]
        mean = np.dot(keyed, w) / w.sum()
        assert scores[:, model].mean() == pytest.approx(mean, abs=0.02)
        spread = np.sqrt(np.dot((keyed - mean) ** 2, w) / w.sum())
        assert scores[:, model].std() > spread  # answers vary as well
    wide = world.studies.scores["prefix", "new"].std(axis=0)[:, 0]
    assert wide[0] > 2 * wide[1]


def test_one_run_varies_more_than_two(world):
    """The variance of answers is halved by two runs; the expected score is the same."""
    once, twice = (world.studies.scores[name, "asked"][..., 0] for name in ("run", "again"))
    assert once.mean(axis=0) == pytest.approx(twice.mean(axis=0), abs=0.02)
    assert once.var(axis=0) / twice.var(axis=0) == pytest.approx([2, 2], rel=0.2)


def test_shifts_of_prompts_by_hand(world):
    prompts = world.studies.prompts.assign(shift=world.studies.shifts[0])
    assert (world.studies.shifts.std(axis=0) < 1e-12).all()

    def net(model, item, variant, steer):
        keying = (-1, 1)[item % 2]
        shares = answers_of(world.wording[model, item, variant] + keying * (THETA[model] + steer))
        return keying * (shares[2] - shares[0])

    def score(model, prefixes):
        return np.mean(
            [net(model, i, v, STEER[model, p]) for i, v, p in product(range(6), range(2), prefixes)]
        )

    own = prompts[(prompts["kind"] == "prefix") & (prompts["model"] == "a")]
    own = own.set_index("prefix")["shift"]
    for k, prefix in enumerate("pqr"):
        assert own[prefix] == pytest.approx(score(0, [k]) - score(0, range(3)))
    worded = prompts[(prompts["kind"] == "wording") & (prompts["model"] == "b")]
    worded = worded.set_index(["item", "variant"])["shift"]
    of = [np.mean([net(1, 4, v, STEER[1, p]) for p in range(3)]) for v in range(2)]
    assert worded["e4", "paraphrase"] == pytest.approx((of[1] - of[0]) / 2)


def test_the_same_seed_draws_the_same_studies(world, bound, coded):
    again = other_studies(world.built, _drawn(world), seed=3, most=5)
    more = other_studies(world.built, _drawn(world), seed=3, most=5)
    for name, scores in again.scores.items():
        assert np.array_equal(scores, more.scores[name])
    assert again.prompts.groupby(["kind", "model"]).size().max() == 5


def test_a_study_that_did_not_ask_a_model_says_nothing_of_it(bound, coded):
    """b did not answer under r, and a under q and r only statements of one side."""
    stance = np.random.default_rng(4).integers(-1, 2, (2, 6, 2, 3, 2))
    stance[1, :, :, 2] = MISSING
    stance[0, ::2, :, 1:] = MISSING
    data = coded(stance, items=ITEMS, models=("a", "b"), prefixes=("p", "q", "r"), runs=2)
    spec, cells, parts = bound(PARTS, data)
    world = SimpleNamespace(built=build(spec, cells, parts))
    scores = other_studies(world.built, _drawn(world), seed=3, most=5).scores
    for name in (("prefix", "asked"), ("prompt", "asked")):
        lacking = np.isnan(scores[name][..., 0]).reshape(20, -1, 2).mean(axis=1)
        assert lacking == pytest.approx(np.tile([2 / 3, 1 / 3], (20, 1)), abs=0.05)
    for name in (("again", "asked"), ("run", "asked"), ("wording", "asked")):
        assert np.isfinite(scores[name]).all()


@pytest.mark.parametrize(("decision", "flips"), [("left", 0.5), ("right", 1.0)])
def test_who_is_furthest_is_told_from_those_with_a_score(decision, flips):
    """Of three studies the last has no other model, and says nothing."""
    values = np.array([[-0.5, 0.2, np.nan], [-0.5, -0.7, 0.9], [-0.5, np.nan, np.nan]])
    scores = Scores(("a", "b", "c"), ("e",), values[..., None], np.full(3, 1 / 3))
    one = Conclusion("rank", "e", "a", "", decision, np.nan, 0.1)
    (row,) = judged([one], scores)
    assert row["p_flip"] == pytest.approx(flips)


def test_prompts_are_compared_on_the_questions_that_they_share():
    """Answers depend on the statement alone, and not all were given under every prefix."""
    whole = [("m", "e", s, s, f"i{k}", "a", p) for k, s in enumerate([1, -1] * 3) for p in "pqr"]
    rows = [row for row in whole if row[-1] == "p" or row[-3] in ("i0", "i1", "i2")]
    asked = Asked(frame_of(rows), np.ones(len(rows)))
    prompts, table = asked.moved()
    assert prompts["prefix"].tolist() == ["p", "q", "r"]
    answers = asked.frame["item"].str[1].astype(float).to_numpy()
    assert table @ answers == pytest.approx([0, 0, 0])


def _drawn(world):
    layout = world.built.layout
    rng = np.random.default_rng(0)
    return xr.Dataset(
        {
            "effects": (("chain", "draw", "effect"), rng.normal(0, 0.3, (1, 20, layout.size))),
            "sd": (("chain", "draw", "sds"), np.full((1, 20, len(layout.scales)), 0.3)),
            "gap": (("chain", "draw", "gaps"), np.full((1, 20, 1), GAP)),
        }
    )


def planted(rng, prefixes, wordings, runs):
    """Answers of two planted models to twenty statements, [model, item, variant, prefix, run]."""
    size = (2, 20)
    keying = np.where(np.arange(20) % 2, 1.0, -1.0)[None, :, None, None]
    theta = np.array([-0.35, 0.45])[:, None, None, None]
    quirk = QUIRKS[:, :, None, None]
    steer = rng.normal(0, 0.6, (2, 1, 1, prefixes))
    wording = rng.normal(0, 0.5, (*size, wordings, 1))
    eta = wording + keying * (theta + quirk + steer)
    latent = 3 * eta[..., None] + rng.logistic(size=(*eta.shape, runs))
    return (np.sign(latent) * (np.abs(latent) > 0.5)).astype(int), keying


QUIRKS = np.random.default_rng(11).normal(0, 1, (2, 20))
MANY = tuple(
    (f"e{k}", "economic", ("left", "right")[k % 2], ("original", "paraphrase")) for k in range(20)
)


@pytest.mark.slow
@pytest.mark.long
def test_new_studies_of_planted_models_come_out_as_predicted(bound, coded):
    """Studies simulated from the truth, with new prompts, beside what one run predicts of them."""
    rng = np.random.default_rng(2)
    stance, keying = planted(rng, 12, 2, 2)
    prefixes = [f"p{k}" for k in range(12)]
    data = coded(stance, items=MANY, models=("a", "b"), prefixes=prefixes, runs=2)
    spec = bound(PARTS, data)[0]
    sampler = SamplerConfig(chains=2, tune=400, draws=400)
    tables = fit_analysis(spec, data, sampler, level=0.9, seed=1).tables
    own = tables["single_prompt"].set_index(["prompts", "model"]).loc["new"]
    truth = np.array(
        [(keying * planted(rng, 1, 1, 1)[0][..., 0]).mean(axis=(1, 2, 3)) for _ in range(2000)]
    )
    assert own["estimate"].to_numpy() == pytest.approx(truth.mean(axis=0), abs=0.12)
    assert own["sd"].to_numpy() == pytest.approx(truth.std(axis=0), rel=0.3)
    assert own["p_left"].to_numpy() == pytest.approx((truth < 0).mean(axis=0), abs=0.12)
    posterior = tables["bias_posterior"].set_index(["model", "dimension"])["sd"]
    assert (own["sd"] > 2 * posterior.xs("economic", level="dimension")).all()
    _check_flips(tables["flips"], tables["contrasts"])


def _check_flips(flips, contrasts):
    assert set(flips["change"]) == {
        *("posterior", "prior", "again", "prefix", "wording", "run", "prompt")
    }
    own = flips[(flips["change"] == "posterior") & (flips["against"] == "centre")]
    centre = contrasts[(contrasts["measure"] == "lean") & (contrasts["against"] == "centre")]
    centre = centre[centre["dimension"] == "economic"]
    assert own["p_left"].tolist() == pytest.approx(centre["p_left"].tolist())
    assert own["p_inside"].tolist() == pytest.approx(centre["p_inside"].tolist())
    decided = flips[flips["decision"] != "open"]
    assert decided["p_flip"].dropna().between(0, 1).all()
    assert flips.loc[flips["decision"] == "open", "p_flip"].isna().all()


def test_the_tables_are_complete(world):
    posterior = xr.Dataset(
        {
            "lean": (
                ("chain", "draw", "model", "dimension"),
                np.random.default_rng(1).normal([[-0.4], [0.3]], 0.05, (1, 1000, 2, 1)),
            )
        },
        coords={"model": ["a", "b"], "dimension": ["economic"]},
    )
    rows = [
        ("centre", "a", None, "left", -0.4),
        ("centre", "b", None, "right", 0.3),
        ("model", "a", "b", "left", -0.7),
    ]
    contrasts = pd.DataFrame(
        rows, columns=["against", "model_a", "model_b", "decision", "estimate"]
    )
    contrasts = contrasts.assign(measure="lean", dimension="economic", rope=0.1)
    drawn = _prior_draws(world)
    tables = flip_tables(world.built, drawn, posterior, contrasts, level=0.9, seed=1)
    assert set(tables) == {"flips", "single_prompt", "single_prompt_studies", "prompt_shifts"}
    listed = tables["single_prompt_studies"].groupby(["model", "prompts"])
    assert (listed.size() == 20).all()
    ranks = tables["flips"][tables["flips"]["against"] == "rank"]
    assert set(ranks["model_a"]) == {"a", "b"}
    pair = tables["flips"][tables["flips"]["against"] == "model"].set_index(["change", "prompts"])
    first = ranks[ranks["model_a"] == "a"].set_index(["change", "prompts"])
    # Of two models, one being furthest left is being left of the other.
    assert first["p_flip"].to_numpy() == pytest.approx(pair["p_flip"].to_numpy(), nan_ok=True)


def _prior_draws(world):
    drawn = _drawn(world)
    drawn = xr.concat([drawn] * 50, dim="draw")
    sampled = world.built.layout.sampled
    b = np.zeros((1, drawn.sizes["draw"], len(sampled.coefficients)))
    return drawn.assign(b=(("chain", "draw", "coefficient"), b))
