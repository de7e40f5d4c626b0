"""Answers that are numbers, summed up: the same as one by one, at the cost of the effects."""

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from polbayes.data.dataset import MISSING, NOT_ASKED, STATUS
from polbayes.errors import UserError
from polbayes.fit.density import crossed as crossing
from polbayes.fit.density.crossed import crossed
from polbayes.fit.density.density import Density
from polbayes.fit.density.kernel import ASKED, BELIEVED
from polbayes.fit.density.model import build
from polbayes.fit.density.observed import likelihood_parts
from polbayes.fit.posterior.arviz_groups import arviz_groups
from polbayes.fit.posterior.components import with_variances
from polbayes.fit.posterior.loo import leave_one_out, loo_tables, sampling_notes
from polbayes.fit.posterior.measurement_design import measurement_design, weigh
from polbayes.fit.posterior.naming import name_posterior
from polbayes.fit.posterior.pointwise import draws_of, likelihoods, log_likelihood
from polbayes.fit.posterior.power_scaling import log_likelihood_of
from polbayes.fit.posterior.predictive import posterior_predictive
from polbayes.fit.spec.cells import gather_cells
from polbayes.fit.spec.terms import bind

ITEMS = (
    *(
        (f"{dimension[0]}{k}", dimension, side, ("original", "paraphrase", "opposite"))
        for dimension in ("economic", "cultural")
        for k, side in enumerate(("left", "right", "left"))
    ),
    ("x", "", "", ("original",)),  # not scored
)
MODELS, PREFIXES = ("m1", "m2", "m3"), ("baseline", "please", "now")
PLAIN = {
    "theta": "~ 0 + dimension + (0 + dimension | model)",
    "acquiescence": "~ 1 + (1 | model)",
    "difficulty": "~ (1 | item)",
    "wording": "~ (1 | item:variant)",
    "sigma": "~ 1 + (1 | model)",
}
SHIPPED = {
    **PLAIN,
    "decisiveness": "~ 1 + (1 | model)",
    "discrimination": "~ (1 | item)",
    "quirk": "~ (1 | model:item)",
}
VALIDITY = {**SHIPPED, "validity": "~ 1 + (1 | model)", "validity_sigma": "~ 1"}
ATTRIBUTE = {**SHIPPED, "theta": "~ 0 + dimension + instruct + (0 + dimension | model)"}
NUMBERS = {"response": "r_plus", "family": "logit_normal"}
SPECS = {"plain": PLAIN, "shipped": SHIPPED, "validity": VALIDITY, "attribute": ATTRIBUTE}
EFFECT_A_WORDING = {**PLAIN, "wording": "~ (1 | model:item:variant)"}


@pytest.fixture(scope="module")
def data(coded):
    """Answers at random under three prefixes, of which some were not asked, failed or unusable."""
    rng = np.random.default_rng(7)
    shape = (len(MODELS), len(ITEMS), 3, len(PREFIXES), 2)
    found = coded(
        1,
        items=ITEMS,
        models=MODELS,
        prefixes=PREFIXES,
        runs=2,
        instruct=(False, True, True),
        r_plus=rng.beta(2, 2, shape),
        p_agree=rng.beta(2, 2, shape) / 2,
        p_disagree=rng.beta(2, 2, shape) / 2,
    )
    status = found["status"].copy()
    status[0, 2, 1, 0, 0] = NOT_ASKED
    status[1, 3, 0, 2] = STATUS["error"]
    r_plus = found["r_plus"].copy()
    r_plus[2, 1, 2] = np.nan  # no answer to the question can be used, only its mass
    r_plus[0, 0, 0, 1, 1] = np.nan
    return found.assign(status=status, r_plus=r_plus)


@pytest.fixture(scope="module", params=list(SPECS))
def both(request, data, spec_of):
    """One spec on summed answers and on the same ones, one by one, from the same start."""
    spec = spec_of(SPECS[request.param], **NUMBERS)
    cells = gather_cells(data, spec)
    assert cells.single is not None
    # One by one they are what they would be if they were not summed: with the same columns, but
    # texts in place of categories.
    frame = cells.single.frame.astype({"model": str, "item": str, "variant": str, "prefix": str})
    whole = replace(cells.single, frame=frame.astype({"dimension": str}))
    summed, single = (build(spec, one, bind(spec, one)) for one in (cells, whole))
    return summed, replace(single, start=summed.start)


@pytest.fixture(scope="module")
def draws(both):
    """Points near the mode, as draws of either model."""
    summed, _ = both
    density = Density(summed)
    values = [density.values(density.start(seed)) for seed in range(6)]
    stacked = {
        name: (("chain", "draw", f"{name}_dim"), np.stack([v[name] for v in values])[None])
        for name in values[0]
        if np.ndim(values[0][name]) and np.size(values[0][name])
    }
    shaped = {
        name: (dims, array.reshape(2, 3, *array.shape[2:]))
        for name, (dims, array) in stacked.items()
    }
    scalar = {
        name: (("chain", "draw"), np.reshape([v[name] for v in values], (2, 3)))
        for name in values[0]
        if not np.ndim(values[0][name])
    }
    return xr.Dataset({**shaped, **scalar}, coords={"chain": [0, 1], "draw": [0, 1, 2]})


def test_there_are_as_many_cells_as_combinations_of_effects(both):
    summed, single = both
    of_spec = ["model", "item", "variant"]
    asked = single.cells.frame.groupby(of_spec, observed=True).ngroups
    assert len(summed.cells.frame) == asked < len(single.cells.frame)
    assert summed.cells.answered.sum() == np.isfinite(single.cells.value).sum()
    assert summed.cells.asked.sum() == len(single.cells.frame)
    assert len(summed.layout.answers.index) == asked


def test_density_and_gradient_are_those_of_single_answers(both, monkeypatch):
    monkeypatch.setattr(crossing, "crossed", partial(crossed, fewer=0))
    summed, single = Density(both[0]), Density(both[1], by_cell=True)
    for seed in range(4):
        x = summed.start(seed)
        (one, of_one), (other, of_other) = summed(x), single(x)
        assert one == pytest.approx(other, rel=1e-11)
        np.testing.assert_allclose(of_one, of_other, rtol=1e-9, atol=1e-9 * np.abs(of_one).max())


@pytest.mark.parametrize(
    ("part", "formula"),
    [
        ("wording", "~ (1 | item:variant)"),
        ("steer", "~ (1 | item:variant) + (1 | model:prefix)"),  # turned by the keying
        ("wording", "~ (1 | model:item:variant)"),
    ],
)
def test_a_term_crossed_with_rows_is_as_a_loop_over_cells(
    data, spec_of, scored_alike, part, formula
):
    parts = {name: text for name, text in SHIPPED.items() if name != "wording"}
    spec = spec_of({**parts, part: formula}, **NUMBERS)
    cells = gather_cells(data, spec)
    built = build(spec, cells, bind(spec, cells))
    short, by_cell = Density(built), Density(built, by_cell=True)
    # So that there are rows at all of as few cells as these.
    kind, answers, at = likelihood_parts(built.layout, spec, cells)[0]
    found = crossed(built.layout, kind, answers, at, fewer=0)
    assert found is not None
    assert found.role == (BELIEVED if part == "steer" else ASKED)
    scored_alike(found, built, kind, answers, at, sizes=(0.5, 0.5, 0.5))
    x = short.start(1)
    assert short(x)[0] == pytest.approx(by_cell(x)[0], rel=1e-11)


def test_the_start_is_that_of_single_answers(both):
    summed, single = both
    own = build(single.spec, single.cells, single.parts).start
    # As near as the optimiser comes.
    np.testing.assert_allclose(summed.start.effects, own.effects, atol=2e-2)
    np.testing.assert_allclose(summed.start.reliability, own.reliability, atol=2e-2)


def test_the_posterior_reads_the_same(both, draws):
    found = [with_variances(name_posterior(one, draws), one, draws) for one in both]
    assert set(found[0].data_vars) == set(found[1].data_vars)
    xr.testing.assert_allclose(found[0], found[1], rtol=1e-9)
    for part in likelihoods(both[0]):
        moved = [log_likelihood_of(one, draws, part) for one in both]
        np.testing.assert_allclose(*moved, rtol=1e-10)


def test_the_design_reads_the_same(both):
    summed, single = both
    whole = np.bincount(summed.cells.of, weigh(single.cells).weight)
    np.testing.assert_allclose(weigh(summed.cells).weight, whole, rtol=1e-12)
    one, other = (measurement_design(b.parts, b.cells) for b in both)
    for name in one.left:
        np.testing.assert_allclose(one.left[name], other.left[name], rtol=1e-12, atol=1e-12)
    for mine, its in zip(one.terms, other.terms, strict=True):
        assert mine.name == its.name
        np.testing.assert_allclose(mine.left, its.left, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(mine.single, its.single, rtol=1e-12, atol=1e-12)
    assert (one.items, one.levels, one.balanced) == (other.items, other.levels, other.balanced)


def test_checks_of_the_model_are_of_single_answers(both, draws):
    tables = [posterior_predictive(one, draws, seed=3) for one in both]
    pd.testing.assert_frame_equal(*tables, rtol=1e-9)
    assert set(tables[0]["prefix"].dropna()) == set(PREFIXES)


def test_single_answers_are_left_out(both, draws):
    kept = [likelihoods(one, single=True)["answers"] for one in both]
    first, second = (log_likelihood(part, draws_of(draws), slice(None)) for part in kept)
    np.testing.assert_allclose(first, second, rtol=1e-10)
    assert len(first) == np.isfinite(both[1].cells.value).sum()


def test_sums_and_groups_for_arviz_are_of_single_answers(both, draws):
    summed, single = both
    loos, own = (leave_one_out(one, draws) for one in both)
    for loo in loos:
        expected = log_likelihood_of(summed, draws, loo.part)
        np.testing.assert_allclose(loo.total, expected, rtol=1e-10)
    groups = arviz_groups(summed, draws, loos[0], seed=1)
    expected = arviz_groups(single, draws, own[0], seed=1)
    for name, group in groups.items():
        xr.testing.assert_allclose(group, expected[name], rtol=1e-5)
    observed = groups["observed_data"]
    value = single.cells.value[np.isfinite(single.cells.value)]
    np.testing.assert_allclose(observed["agreement"], 2 * value - 1)
    assert observed["prefix"].values.tolist() == loos[0].cells["prefix"].astype(str).tolist()


def test_of_very_many_cells_a_sample_is_left_out(both, draws):
    summed, _ = both
    whole, *_ = leave_one_out(summed, draws)
    some, *_ = sampled = leave_one_out(summed, draws, most=60)
    assert (len(some.cells), some.times) == (60, len(whole.cells) / 60)
    keys = ["model", "item", "variant", "prefix", "observed", "elpd"]
    assert len(some.cells[keys].merge(whole.cells[keys])) >= 60
    assert some.total is None
    assert arviz_groups(summed, draws, some, seed=1) == {}
    row = some.row()
    assert (row["cells"], row["of"]) == (60, len(whole.cells))
    mean, sd = some.cells["elpd"].mean(), some.cells["elpd"].std(ddof=1)
    assert row["elpd_loo"] == pytest.approx(len(whole.cells) * mean)
    # Of the mean of 60 cells, times the number of all.
    assert row["se"] == pytest.approx(len(whole.cells) * sd / np.sqrt(60))
    (note, *_) = sampling_notes(loo_tables(sampled)["loo"])
    assert "60 cells drawn at random" in note
    assert not sampling_notes(loo_tables([whole])["loo"])


def test_an_effect_of_every_wording_is_no_residual_where_wordings_repeat(data, spec_of):
    spec = spec_of(EFFECT_A_WORDING, **NUMBERS)
    cells = gather_cells(data, spec)
    bind(spec, cells)  # three prefixes and two runs tell it from the residual
    once = data.isel(prefix=[1], run=[0])
    with pytest.raises(UserError, match="one level for every answer"):
        bind(spec, gather_cells(once, spec))


def test_prefixes_that_the_spec_has_are_kept_apart(data, spec_of):
    spec = spec_of({**SHIPPED, "steer": "~ (1 | model:prefix)"}, **NUMBERS)
    cells = gather_cells(data, spec)
    assert cells.single is not None  # two runs are one cell
    assert cells.frame.duplicated(["model", "item", "variant", "prefix"]).sum() == 0
    once = gather_cells(data.isel(run=[0]), spec)
    assert once.single is None
    assert once.frame["prefix"].dtype == cells.frame["prefix"].dtype != "category"


def test_other_families_have_their_answers_one_by_one(data, spec_of):
    cells = gather_cells(
        data, spec_of({"theta": "~ 1", "phi": "~ 1"}, response="r_plus", family="beta")
    )
    assert cells.single is None
    there = (data["status"] == STATUS["ok"]) & data["r_plus"].notnull() & (data["keying"] != 0)
    assert len(cells.frame) == int(there.sum())
    assert MISSING not in cells.frame["keying"].to_numpy()
