"""Adaptive probing asks little, goes on where it stopped, and never counts what it left out."""

import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from polbayes.config.schema import AnalysisConfig, ProbingConfig, SamplerConfig
from polbayes.data.dataset import ASKED, MISSING, NOT_CHOSEN, STANCE, STATUS
from polbayes.errors import UserError
from polbayes.fit.fit import fit
from polbayes.fit.spec.cells import gather_cells
from polbayes.fit.spec.reduction import reduced
from polbayes.fit.spec.spec import parse_spec
from polbayes.instrument.design import ModelInfo, design
from polbayes.instrument.prompts import Prefix
from polbayes.instrument.questionnaires import Instrument, Item, Variant
from polbayes.measures.bias import bias
from polbayes.measures.grouping import asked_cells
from polbayes.measures.validity import validity
from polbayes.run.adaptive import (
    CHOICES,
    Policy,
    _usable,
    check_adaptive,
    marked,
    probe_adaptively,
)

MODELS = {"left": -1.2, "right": 1.2}
SETTINGS = {"start": 0.1, "batch": 0.1, "budget": 0.3}
PARTS = {
    "theta": "~ 0 + dimension + (0 + dimension | model)",
    "difficulty": "~ (1 | item)",
    "acquiescence": "~ 1 + (1 | model)",
    "steer": "~ (1 | model:prefix)",
}


def item(number):
    dimension = "economic" if number % 2 else "cultural"
    wordings = (Variant("original", "x", "original", 1), Variant("opposite", "y", "opposite", -1))
    return Item(f"i{number}", dimension, 1, "made up", wordings, {})


@pytest.fixture(scope="module")
def asked():
    return design(
        [Instrument("tiny", "tiny", "tiny", tuple(item(n) for n in range(10)))],
        [Prefix(p, p, "open") for p in ("baseline", "please")],
        [ModelInfo(m, "{statement}") for m in MODELS],
        runs=3,
    )


@pytest.fixture(scope="module")
def answers(asked):
    """The answer to every question, whether it is put or not."""
    rng = np.random.default_rng(5)
    theta = np.array(list(MODELS.values()))[:, None, None, None, None]
    keying = asked["keying"].to_numpy()[None, :, :, None, None]
    latent = keying * theta + rng.logistic(size=asked["status"].shape)
    return np.where(latent > 0.5, 1, np.where(latent < -0.5, -1, 0)).astype(np.int8)


def policy_of(**settings):
    probing = ProbingConfig(kind="adaptive", **settings)
    return Policy(probing, parse_spec(AnalysisConfig(parts=PARTS)), 0.9, 3)


def respondent(answers, calls):
    def put(chosen: xr.Dataset) -> xr.Dataset:
        status = chosen["status"].transpose("model", "item", "variant", "prefix", "run").to_numpy()
        now = status == STATUS["pending"]
        calls.append(now)
        return chosen.assign(
            status=(chosen["status"].dims, np.where(now, STATUS["ok"], status).astype(np.int8)),
            stance=(chosen["status"].dims, np.where(now, answers, MISSING).astype(np.int8)),
        )

    return put


@pytest.fixture(scope="module")
def done(asked, answers, tmp_path_factory):
    folder, calls = tmp_path_factory.mktemp("adaptive"), []
    chosen = probe_adaptively(asked, policy_of(**SETTINGS), respondent(answers, calls), folder)
    return chosen, calls, folder


def test_the_budget_is_kept_and_said(done, asked):
    chosen, calls, _ = done
    about = json.loads(chosen.attrs["adaptive"])
    assert about["questions"] == 240
    assert about["put"] == 72 == int((chosen["status"] >= ASKED).sum())
    assert about["batches"] == [24, 24, 24]
    assert about["ended"] == "the budget is spent"
    assert int((chosen["status"] == NOT_CHOSEN).sum()) == 240 - 72
    for before, after in pairwise(calls):
        assert (after | ~before).all()  # nothing that was asked is dropped


def test_every_model_has_both_keys_of_each_dimension_and_all_prefixes(done):
    chosen, calls, _ = done
    for now in (calls[0], (chosen["status"] >= ASKED).to_numpy()):
        keying = np.broadcast_to(chosen["keying"].to_numpy()[None, :, :, None, None], now.shape)
        economic = (chosen["dimension"] == "economic").to_numpy()
        for model in range(2):
            assert now[model].any(axis=(0, 1, 3)).all()
            for side in (economic, ~economic):
                kept = keying[model, side][now[model, side]]
                assert min((kept > 0).mean(), (kept < 0).mean()) >= 0.2


def test_an_interrupted_run_makes_the_same_choices(done, asked, answers, tmp_path):
    chosen, _, folder = done
    lines = (folder / CHOICES).read_text().splitlines(keepends=True)
    (tmp_path / CHOICES).write_text(lines[0] + lines[1] + lines[2][:20])
    again = probe_adaptively(asked, policy_of(**SETTINGS), respondent(answers, []), tmp_path)
    assert again.attrs["adaptive"] == chosen.attrs["adaptive"]
    xr.testing.assert_equal(again["status"], chosen["status"])
    assert (tmp_path / CHOICES).read_text() == (folder / CHOICES).read_text()


def test_statements_without_a_usable_answer_are_asked_about_less(asked, answers, tmp_path):
    """One model refuses to answer four of ten statements."""
    silent = answers.copy()
    silent[0, 4:8] = STANCE["refused"]
    settings = {"start": 0.1, "batch": 0.05, "budget": 0.4}
    chosen = probe_adaptively(asked, policy_of(**settings), respondent(silent, []), tmp_path)
    put = (chosen["status"] >= ASKED).to_numpy().sum(axis=(2, 3, 4))
    assert put[0, 4:8].mean() < 0.6 * put[0, [0, 1, 2, 3, 8, 9]].mean()


def test_the_probability_of_a_usable_answer_by_hand(asked, answers):
    frame = pd.DataFrame({"model": ["left", "left", "right"], "item": ["i0", "i1", "i0"]})
    silent = answers.copy()
    silent[0, 0] = STANCE["refused"]
    data = respondent(silent, [])(asked)
    # Of 120 answers 108 are usable, and none of 12 to i0.
    of_model = 109 / 122
    expected = [4 * of_model / 16, (12 + 4 * of_model) / 16, (12 + 4 * 121 / 122) / 16]
    np.testing.assert_allclose(_usable(data, frame), expected)


def test_answers_that_are_not_recorded_do_not_matter(done, asked, answers, tmp_path):
    """What makes the choice ignorable (Rubin 1976): only recorded answers decide."""
    chosen, calls, folder = done
    other = np.where(calls[-1], answers, -answers).astype(np.int8)
    assert (other != answers).any()
    again = probe_adaptively(asked, policy_of(**SETTINGS), respondent(other, []), tmp_path)
    assert (tmp_path / CHOICES).read_text() == (folder / CHOICES).read_text()
    assert again.attrs["adaptive"] == chosen.attrs["adaptive"]


def test_recorded_answers_do_matter(done, asked, answers, tmp_path):
    _, _, folder = done
    probe_adaptively(asked, policy_of(**SETTINGS), respondent(-answers, []), tmp_path)
    first, *mine = (tmp_path / CHOICES).read_text().splitlines()
    same, *others = (folder / CHOICES).read_text().splitlines()
    assert first == same
    assert mine != others


@pytest.mark.slow
def test_the_last_quick_fit_is_near_the_full_sampler(done, answers):
    chosen, _, _ = done
    data, spec = respondent(answers, [])(chosen), policy_of().spec
    spec, _ = reduced(spec, gather_cells(data, spec))
    theta = fit(spec, gather_cells(data, spec), SamplerConfig(), seed=1).posterior["theta"]
    quick = pd.DataFrame(json.loads(chosen.attrs["adaptive"])["theta"])
    for row in quick.to_dict("records"):
        draws = theta.sel(model=row["model"], dimension=row["dimension"])
        low, high = draws.quantile([0.05, 0.95]).to_numpy()
        assert 0.8 < (row["upper"] - row["lower"]) / (high - low) < 1.25
        assert abs(row["upper"] + row["lower"] - low - high) / 2 < 0.15 * (high - low)


def test_choices_from_another_design_are_refused(done, asked, answers):
    _, _, folder = done
    with pytest.raises(UserError, match="another design"):
        probe_adaptively(asked.isel(item=slice(8)), policy_of(), respondent(answers, []), folder)


def test_it_stops_when_theta_is_known_well_enough(asked, answers, tmp_path):
    settings = {"start": 0.1, "batch": 0.1, "budget": 1.0, "width": 50.0}
    chosen = probe_adaptively(asked, policy_of(**settings), respondent(answers, []), tmp_path)
    about = json.loads(chosen.attrs["adaptive"])
    assert about["put"] == 24
    assert about["ended"] == "no interval of a theta is wider than 50"


def test_statements_of_one_side_are_asked_about_as_well(asked, answers, tmp_path):
    one = asked.isel(variant=slice(1))  # the originals, all of them right
    parts = {name: PARTS[name] for name in ("theta", "difficulty")}
    policy = policy_of(start=0.1, batch=0.2, budget=0.3)
    policy = replace(policy, spec=parse_spec(AnalysisConfig(parts=parts)))
    chosen = probe_adaptively(one, policy, respondent(answers[:, :, :1], []), tmp_path)
    about = json.loads(chosen.attrs["adaptive"])
    assert about["put"] == 36
    assert about["ended"] == "the budget is spent"


def test_statements_that_nobody_keyed_are_asked_about_under_an_anchor(asked, answers, tmp_path):
    nobody = asked.assign_coords(
        direction=xr.zeros_like(asked["direction"]), keying=xr.zeros_like(asked["keying"])
    )
    anchored = parse_spec(
        AnalysisConfig(
            parts={
                "theta": "~ (0 + dimension | model)",
                "difficulty": "~ 1 + (1 | item)",
                "discrimination": "~ (1 | item)",
            },
            anchor={"economic": "right", "cultural": "right"},
        )
    )
    policy = replace(policy_of(start=0.5, batch=0.2, budget=0.7), spec=anchored)
    chosen = probe_adaptively(nobody, policy, respondent(answers, []), tmp_path)
    about = json.loads(chosen.attrs["adaptive"])
    assert about["put"] == 168
    assert about["ended"] == "the budget is spent"
    assert (chosen["keying"] == 0).all()


def test_what_was_not_chosen_is_no_failure(done, answers):
    chosen, _, _ = done
    data = respondent(answers, [])(chosen)
    assert asked_cells(data).sum() == 72
    table = validity(data, by=("model",), draws=100, level=0.9, seed=1)
    rows = table.set_index("measure")
    assert (rows.loc["answered", "estimate"] == 1).all()
    assert (rows.loc["pending", "estimate"] == 0).all()
    assert not bias(data, draws=100, level=0.9, seed=1).empty


def test_tables_of_measures_say_that_questions_were_chosen():
    table = marked(pd.DataFrame({"estimate": [0.1, 0.2], "note": ["", "few"]}))
    said = "questions chosen by earlier answers"
    assert table["note"].tolist() == [said, f"few; {said}"]
    assert marked(pd.DataFrame({"estimate": [0.1]}))["note"].tolist() == [said]


def test_what_cannot_be_chosen_is_refused():
    spec = parse_spec(AnalysisConfig(parts=PARTS))
    with pytest.raises(UserError, match="use full or adaptive"):
        check_adaptive(ProbingConfig(kind="clever"), spec, ["a"])
    with pytest.raises(UserError, match="there is no model 'b'"):
        check_adaptive(ProbingConfig(kind="adaptive", cost={"b": 2.0}), spec, ["a"])
    with pytest.raises(UserError, match="must be above 0"):
        check_adaptive(ProbingConfig(kind="adaptive", cost={"a": 0.0}), spec, ["a"])
    other = parse_spec(AnalysisConfig(parts=PARTS, response="r_plus", family="logit_normal"))
    with pytest.raises(UserError, match="response: stance"):
        check_adaptive(ProbingConfig(kind="adaptive"), other, ["a"])
