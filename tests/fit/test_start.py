"""The mode that chains start near, against counts by hand and against what was planted."""

import numpy as np
import pytest

from polbayes.fit.density.layout import lay_out
from polbayes.fit.density.mode import centre, find_start
from polbayes.fit.density.model import build
from polbayes.fit.density.observed import answers_of
from polbayes.fit.density.reliability import curvature, known

ITEMS = tuple(
    (f"i{k:02d}", "economic", "left" if k % 2 else "right", ("original", "opposite"))
    for k in range(10)
)


def started(coded, bound, parts, stance, **settings):
    return everything(coded, bound, parts, stance, **settings)[:2]


def everything(coded, bound, parts, stance, **settings):
    spec_settings = {k: settings.pop(k) for k in ("family", "response", "priors") if k in settings}
    spec, cells, bound_parts = bound(parts, coded(stance, **settings), **spec_settings)
    layout = lay_out(bound_parts, cells)
    return layout, find_start(layout, spec, cells), spec, cells


def curved(layout, start, spec, cells):
    terms = [(spec.observation.kind, answers_of(spec, cells), layout.answers)]
    effects = start.effects.copy()
    effects[: len(layout.matrix)] = layout.matrix @ start.coefficients
    return curvature(layout, terms, effects, start.gaps)


def test_one_coefficient_is_at_the_logit_of_the_share(coded, bound):
    """3 of 4 agree with either keying; 800 answers outweigh the penalty of b² / 8."""
    stance = np.tile([1, 1, 1, -1], 10)
    layout, start, spec, cells = everything(
        coded, bound, {"theta": "~ 1", "acquiescence": "~ 1"}, stance, items=ITEMS, runs=40,
        models=("m1",), prefixes=("p",), family="bernoulli", response="agree",
    )  # fmt: skip
    n = 10 * 2 * 40
    theta, b = start.coefficients
    assert theta == pytest.approx(0, abs=1e-5)
    # Where the slope of the log-likelihood and of the penalty cancel.
    p = 1 / (1 + np.exp(-b))
    assert n * (0.75 - p) == pytest.approx(b / 4, abs=1e-3)
    bend = curved(layout, start, spec, cells)
    np.testing.assert_allclose(bend.diagonal(), n * p * (1 - p), rtol=1e-3)
    # As many answers have one keying as the other.
    assert abs(bend[0, 1]) < 1e-6 * n


def test_discriminations_and_keyings_enter_the_information(coded, bound):
    """Of η = k · exp(λ) · (θ − d) along d: the square of exp(λ) for every answer to the item."""
    parts = {"theta": "~ 1", "difficulty": "~ (1 | item)", "discrimination": "~ (1 | item)"}
    rng = np.random.default_rng(1)
    layout, start, spec, cells = everything(
        coded, bound, parts, rng.choice([-1, 1, 1], size=(2, 10, 2, 2, 30)), items=ITEMS,
        runs=30, family="bernoulli", response="agree",
    )  # fmt: skip
    at = {b.part: slice(b.start, b.stop) for b in layout.blocks if b.group}
    location, slope = start.effects[at["difficulty"]], np.exp(start.effects[at["discrimination"]])
    p = 1 / (1 + np.exp(-slope * (start.coefficients[0] - location)))
    by_hand = 240 * slope**2 * p * (1 - p)
    bend = curved(layout, start, spec, cells).diagonal()
    ratio = bend[at["difficulty"]] / by_hand  # one common value: columns are places
    # The sums to zero of the discriminations multiply all of them by the same, near 1.
    np.testing.assert_allclose(ratio, ratio[0], rtol=0.01)
    assert ratio[0] == pytest.approx(1, abs=0.2)


def test_the_mode_is_near_what_was_planted(coded, bound):
    rng = np.random.default_rng(0)
    lean = np.array([1.0, -1.0])[:, None, None, None, None]
    yes = np.array([0.8, -0.2])[:, None, None, None, None]
    keying = np.array([[1, -1] if k % 2 == 0 else [-1, 1] for k in range(10)])[..., None, None]
    noise = rng.logistic(size=(2, 10, 2, 2, 100)) + yes + keying * lean
    stance = np.where(noise > 0.7, 1, np.where(noise < -0.7, -1, 0))
    parts = {
        "theta": "~ 1 + (1 | model)",
        "acquiescence": "~ 1 + (1 | model)",
        "difficulty": "~ (1 | item)",
    }
    layout, start = started(coded, bound, parts, stance, items=ITEMS, runs=100)
    at = {b.part: slice(b.start, b.stop) for b in layout.blocks if b.group}
    means = dict(zip([c[0] for c in layout.coefficients], start.coefficients, strict=True))
    # 4,000 answers a model: the standard error is about 0.03.
    np.testing.assert_allclose(means["theta"] + start.effects[at["theta"]], [1.0, -1.0], atol=0.15)
    np.testing.assert_allclose(
        means["acquiescence"] + start.effects[at["acquiescence"]], [0.8, -0.2], atol=0.15
    )
    assert start.gaps == pytest.approx([1.4], abs=0.1)
    assert abs(start.effects[at["difficulty"]]).max() < 0.2
    assert start.scales.min() == 0.1  # of difficulties, which are all alike


def test_free_coordinates_give_the_effects_back(coded, bound, full_parts):
    rng = np.random.default_rng(2)
    stance = rng.choice([-1, 0, 1, 1], size=(2, 4, 4, 2, 20))
    layout, start = started(coded, bound, full_parts, stance, runs=20)
    for block in layout.blocks:
        if block.group is None:
            continue
        found = np.zeros(block.size)
        found[block.free] = start.free(block)
        for at, weight in block.reflections:
            normal = np.where(np.arange(len(at)) == len(at) - 1, 1 + weight, weight)
            mirror = np.eye(len(at)) - 2 * np.outer(normal, normal) / (normal @ normal)
            found[at] = mirror @ found[at]
        np.testing.assert_allclose(found, start.effects[block.start : block.stop], atol=1e-12)
        within = block.within()
        for code in set(within) - {-1}:
            assert abs(found[within == code].sum()) < 1e-12


def test_an_answer_that_nobody_gives_leaves_the_start_finite(coded, bound, full_parts):
    """The cutpoints of models that never answer at the ends have no upper bound."""
    rating = np.random.default_rng(4).choice([2, 3], size=(2, 4, 4, 2, 20))
    rating[1, 0, 0, 0, 0], rating[1, 1, 0, 0, 0] = 1, 4
    data = coded(1, rating=rating, runs=20)
    data["rating"].attrs["rating_points"] = "no; rather no; rather yes; yes"
    spec, cells, parts = bound(full_parts, data, response="rating")
    start = find_start(lay_out(parts, cells), spec, cells)
    for values in (start.coefficients, start.effects, start.gaps, start.reliability):
        assert np.isfinite(values).all()
        assert abs(values).max() < 1e4
    assert start.gaps.shape == (2,)


def test_chains_start_apart_and_a_seed_fixes_where(coded, bound, full_parts):
    from pymc.initial_point import make_initial_point_fn

    spec, cells, parts = bound(full_parts, coded(np.tile([1, -1, 0], 4), runs=12))
    built = build(spec, cells, parts)
    start = make_initial_point_fn(model=built.model, jitter_rvs=set(), return_transformed=True)
    first, again, other = start(1), start(1), start(2)
    assert first.keys() == other.keys()
    for name, value in first.items():
        np.testing.assert_array_equal(value, again[name])
        if "cor" not in name:
            assert (value != other[name]).all()


@pytest.mark.parametrize("small", [0, 10**6])
def test_reliability_is_that_of_the_inverse_curvature(coded, bound, monkeypatch, small):
    """By hand: the whole matrix inverted, with the sums to zero as rows of their own.

    Of every model's two wordings of a statement, to which agreeing means the opposite, the
    coordinates are half the root of 2 times difference and sum.
    """
    monkeypatch.setattr("polbayes.fit.density.reliability._SMALL", small)
    rng = np.random.default_rng(5)
    parts = {
        "theta": "~ 1 + (1 | model)",
        "difficulty": "~ (1 | item)",
        "acquiescence": "~ 1 + (1 | model)",
        "wording": "~ (1 | gr(model:item:variant, by = model))",
    }
    stance = rng.choice([-1, 0, 1, 1], size=(2, 10, 2, 2, 6))
    layout, start, spec, cells = everything(coded, bound, parts, stance, items=ITEMS, runs=6)
    bend = curved(layout, start, spec, cells)
    groups = [b for b in layout.blocks if b.group is not None]
    scales = np.concatenate([start.scales[b.every_scale] for b in groups])
    precision = np.concatenate([[0.25, 0.25], scales**-2])
    nothing = np.empty(0, dtype=int)  # but the coefficients is followed
    monkeypatch.setattr("polbayes.fit.density.reliability.leading", lambda layout: nothing)
    found = known(layout, bend, precision, start.everything(layout))
    whole = bend.toarray() + np.diag(precision)
    rows, own = [], groups[-1]
    # Where the wordings are eliminated, their sums are left aside.
    for block in groups if small else groups[:-1]:
        for code in set(block.within()) - {-1}:
            rows.append(np.zeros(len(whole)))
            rows[-1][
                2 - len(layout.matrix) + block.start + np.flatnonzero(block.within() == code)
            ] = 1
    rows = np.array(rows)
    border = np.block([[whole, rows.T], [rows, np.zeros((len(rows),) * 2)]])
    covariance = np.linalg.inv(border)[: len(whole), : len(whole)]
    at = slice(own.start - len(layout.matrix), own.stop - len(layout.matrix))
    turn = np.eye(len(whole))
    for k in range(2 + at.start, 2 + at.stop, 2):
        turn[k : k + 2, k : k + 2] = np.array([[1, 1], [1, -1]]) / np.sqrt(2)
    covariance = turn @ covariance @ turn.T
    # Where wordings are eliminated, those of a statement count as equally well known.
    close = 1e-3 if small else 0.02
    np.testing.assert_allclose(found.after, covariance.diagonal()[2:], rtol=close)
    share = np.tile([1 - 1 / 10, 1.0], 20) if small else 1.0  # only the sums sum to zero
    np.testing.assert_allclose(found.before[at], share * scales[at] ** 2)
    n = (groups[1].within() >= 0).sum()
    np.testing.assert_allclose(found.before[2:12], scales[2:12] ** 2 * (1 - 1 / n))
    slopes = covariance[2:, :2] @ np.linalg.inv(covariance[:2, :2])
    np.testing.assert_array_equal(found.index[:, :2], np.tile([0, 1], (len(slopes), 1)))
    np.testing.assert_allclose(found.weight[:, :2], slopes, atol=close * abs(slopes).max())
    assert not found.weight[:, 2:].any()
    rest = covariance[2:, 2:] - slopes @ covariance[:2, 2:]
    np.testing.assert_allclose(found.following, rest.diagonal(), rtol=2 * close)


def test_what_the_answers_know_is_what_is_asked_often(coded, bound, full_parts):
    """Prefixes are answered with every item, a quirk is that of one."""
    stance = np.random.default_rng(6).choice([-1, 0, 1, 1], size=(2, 4, 4, 2, 50))
    layout, start = started(coded, bound, full_parts, stance, runs=50)
    mean = {
        (b.part, b.group.term.factors): start.reliability[b.start : b.stop].mean()
        for b in layout.blocks
        if b.group
    }
    assert all(0 <= value < 1 for value in mean.values())
    assert mean["acquiescence", ("model",)] > mean["acquiescence", ("model", "prefix")]
    assert mean["acquiescence", ("model", "prefix")] > mean["quirk", ("model", "item")]


def test_correlated_effects_are_drawn_as_they_are_where_many_answers_know_them(coded, bound):
    parts = {"theta": "~ 0 + dimension + (0 + dimension | model)", "acquiescence": "~ 1"}
    rng, lean = np.random.default_rng(3), np.array([1.0, -1.0])[:, None, None, None, None]
    keying = coded()["keying"].to_numpy()[..., None, None]
    for runs, expected in ((200, True), (1, False)):
        stance = np.where(rng.logistic(size=(2, 4, 4, 2, runs)) + keying * lean > 0, 1, -1)
        layout = centre(*started(coded, bound, parts, stance, runs=runs))
        assert [b.centred for b in layout.blocks if b.correlated] == [expected]


def test_answers_that_are_all_the_same_number(coded, bound):
    """The likelihood grows without bound as the residual scale goes to 0; the start does not."""
    settings = {"family": "logit_normal", "response": "r_plus", "items": ITEMS}
    same = np.full((2, 10, 2, 2, 1), 0.5)
    parts = {"theta": "~ 1", "acquiescence": "~ 1", "sigma": "~ 1"}
    _, start = started(coded, bound, parts, 1, r_plus=same, **settings)
    assert np.isfinite(start.coefficients).all()
    assert start.coefficients[-1] < -2


def test_decisiveness_starts_from_its_prior_if_nothing_is_asked_twice(coded, bound):
    """It would grow without bound; it stays near that mean, and is found from repetitions."""
    rng, models = np.random.default_rng(7), ("m1", "m2", "m3", "m4")
    parts = {
        "theta": "~ 0 + dimension + (0 + dimension | model)",
        "decisiveness": "~ 1 + (1 | model)",
        "difficulty": "~ (1 | item)",
        "quirk": "~ (1 | model:item)",
    }
    items = tuple((name, *rest, ("original",)) for name, *rest, _ in ITEMS)
    lean = np.array([2.0, 1.0, -1.0, -2.0])[:, None, None, None, None]
    quirk = rng.normal(size=(4, 10, 1, 1, 1))
    common, starts = {"decisiveness": {"Intercept": "Normal(0.9, 0.2)"}}, []
    for runs, priors in ((1, common), (20, {})):
        keying = coded(items=items, models=models)["keying"].to_numpy()[None, :, :, None, None]
        noise = rng.logistic(size=(4, 10, 1, 1, runs)) / 6
        stance = np.where(keying * (lean + quirk) + noise > 0, 1, -1)
        layout, _, spec, cells = everything(
            coded, bound, parts, stance, items=items, models=models, prefixes=("p",), runs=runs,
            family="bernoulli", response="agree", priors=priors,
        )  # fmt: skip
        layout = layout.sampled  # with quirks integrated out, as in a fit
        start = find_start(layout, spec, cells)
        names = [part for part, _, _ in layout.coefficients]
        starts.append(start.coefficients[names.index("decisiveness")])
    assert starts[0] == pytest.approx(0.9, abs=0.2)
    assert starts[1] == pytest.approx(np.log(6), abs=0.6)
