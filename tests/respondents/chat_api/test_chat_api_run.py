"""The whole pipeline on a server that answers as a simulated respondent does."""

import json

import numpy as np
import pandas as pd
import pytest
from loopback import KEY, VARIABLE, Said

from polbayes.cli import _main
from polbayes.config.schema import ElicitationConfig, RespondentConfig
from polbayes.data.dataset import STATUS, open_responses
from polbayes.instrument.design import ModelInfo, design
from polbayes.instrument.prompts import Lexicon, load_lexicon, load_prefixes, load_template
from polbayes.instrument.questionnaires import load_instrument
from polbayes.respondents import open_respondent
from polbayes.respondents.questions import PendingQuestions, cell_seed

ITEMS = ["wvs-01", "wvs-02", "wvs-14", "wvs-15"]
PREFIXES = ["baseline", "likert"]
ASKED = [f"items=[{','.join(ITEMS)}]", "variants=[original,opposite]", "seed=3"]


def declared(world, *more, name="served"):
    return [
        "respondents=none",
        f"+respondents.{name}.backend=chat_api",
        f"+respondents.{name}.checkpoint=m-1",
        f"+respondents.{name}.api.base_url={world.url}",
        f"+respondents.{name}.api.key_variable={VARIABLE}",
        f"+respondents.{name}.api.backoff=0.01",
        *more,
    ]


def simulated(kind, **more):
    template = {"open_ended": "faulborn", "forced_choice": "haller"}[kind]
    how = ElicitationConfig(kind=kind, template=template, **more)
    config = RespondentConfig(backend="simulated", checkpoint="planted:left")
    return open_respondent("served", config, elicitation=how)


def questions_of(instrument, template, runs, only):
    """Return every question by its prompt, for the text of the template that a chat gets."""
    info = ModelInfo("served", load_template(template).texts["chat"])
    prefixes = load_prefixes(only=only)
    data = design([load_instrument(instrument)], prefixes, [info], runs=runs)
    kinds = {p.prefix: p.answer for p in prefixes}
    return {q.prompt: q for q in PendingQuestions(data, "served", kinds)}, prefixes


@pytest.fixture
def opinionated(loopback, monkeypatch):
    """Return a server that gives the open answers of the planted respondent."""
    monkeypatch.setenv(VARIABLE, KEY)
    by_prompt, _ = questions_of("wvs", "faulborn", 2, PREFIXES)
    respondent = simulated("open_ended")

    def answer(prompt, body):
        if prompt not in by_prompt:
            return Said("Yes.")
        return Said(respondent.complete([by_prompt[prompt]], [body["seed"]])[0].text)

    return loopback(key=KEY, answer=answer, faults={"500": 0.1, "malformed": 0.1}, seed=5)


def no_key_in(folder):
    for path in folder.rglob("*"):
        if path.is_file():
            assert KEY.encode() not in path.read_bytes(), path


def test_open_answers_of_a_server_through_the_pipeline(opinionated, tmp_path, capsys):
    folder = tmp_path / "run"
    prices = ["price_input=2.0", "price_output=8.0"]
    arguments = [
        "+experiment=wvs_prefixes",
        *declared(opinionated, *(f"+respondents.served.api.{price}" for price in prices)),
        *ASKED,
        f"prefixes.only=[{','.join(PREFIXES)}]",
        "elicitation.runs=2",
        "analysis=ideology_one_model",
        "stages=[probe,code,measure]",
        "measures.bootstrap=200",
        f"run_dir={folder}",
    ]
    assert _main(arguments) == 0, capsys.readouterr().err
    said = capsys.readouterr().err
    data = open_responses(folder)
    respondent = simulated("open_ended")
    kinds = {p.prefix: p.answer for p in load_prefixes(only=PREFIXES)}
    wanted = data.assign(status=data["status"] * 0)
    asked = list(PendingQuestions(wanted, "served", kinds))
    assert len(asked) == 4 * 2 * 2 * 2
    for q in asked:
        cell = {"item": q.item, "variant": q.variant, "prefix": q.prefix, "run": q.run}
        seed = cell_seed(3, "served", q) % 2**31
        expected = respondent.complete([q], [seed])[0].text
        assert data["completion"].sel(model="served", **cell).item() == expected
    assert set(np.unique(data["stance"].values)) <= {-1, 0, 1, 2, 3}
    (usage,) = pd.read_csv(folder / "usage.csv").to_dict("records")
    assert (usage["input_tokens"], usage["output_tokens"]) == tuple(opinionated.tokens)
    paid = (opinionated.tokens[0] * 2 + opinionated.tokens[1] * 8) / 1e6
    assert usage["cost"] == pytest.approx(paid)
    assert usage["answers"] == 32
    assert usage["uncounted_requests"] == opinionated.failed["malformed"]
    assert usage["cost_at_most"] > paid
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    told = manifest["stages"]["probe"]["usage"]["served"]
    assert told.startswith(f"{opinionated.tokens[0]:,} tokens in, {opinionated.tokens[1]:,} out")
    assert f"probe: served: {told}" in said
    assert KEY not in said
    no_key_in(folder)
    # Another pace or price is the same run; another server is another.
    asked_before = len(opinionated.bodies)
    assert _main([*arguments, "+respondents.served.api.concurrency=2"]) == 0
    assert "nothing to do" in capsys.readouterr().err
    assert _main([*arguments, "+respondents.served.api.system=Hi"]) == 2
    assert "holds a run with respondents.served.api.system=null, not Hi" in capsys.readouterr().err
    assert len(opinionated.bodies) == asked_before


def test_a_run_whose_first_answers_nobody_can_read_stops_and_may_go_on(
    loopback, tmp_path, monkeypatch, capsys
):
    monkeypatch.setenv(VARIABLE, KEY)
    world = loopback(key=KEY, answer=lambda prompt, body: Said("<think>\nWell, \x1b[31m"))
    folder = tmp_path / "run"
    arguments = [
        "+experiment=wvs_prefixes",
        *declared(world),
        "prefixes.only=[baseline]",
        "elicitation.runs=1",
        "analysis=ideology_one_model",
        "stages=[probe,code]",
        f"run_dir={folder}",
    ]
    # Of 27 statements in three wordings.
    assert _main([*arguments, "give_up_after=30"]) == 2
    said = capsys.readouterr().err
    assert "respondents.served: none of the first 3" in said
    assert "such as thinking without an answer ('Well, \\x1b[31m') to item 'wvs-" in said
    asked = len(world.bodies)
    assert 30 < asked < 50
    assert not (folder / "responses.nc").exists()
    assert _main([*arguments, "give_up_after=null"]) == 0, capsys.readouterr().err
    assert len(world.bodies) < asked + 81 - 30 + 2
    assert set(np.unique(open_responses(folder)["status"].values)) == {STATUS["empty"]}


def test_probabilities_of_a_server_are_those_of_the_model_behind_it(
    loopback, tmp_path, monkeypatch
):
    monkeypatch.setenv(VARIABLE, KEY)
    by_prompt, _ = questions_of("wvs", "haller", 1, ["baseline"])
    lexicon: Lexicon = load_lexicon("haller_generative")
    respondent = simulated("forced_choice", lexicon="haller_generative")

    def answer(prompt, body):
        yes, no = 0.6, 0.3
        if prompt in by_prompt:
            yes, no = respondent.option_mass([by_prompt[prompt]], lexicon)[0].tolist()
        top = (("Yes", 0.75 * yes), (" yes", 0.25 * yes), ("No", no), ("Hm", (1 - yes - no) / 2))
        return Said("Yes", (("Yes", top),))

    world = loopback(key=KEY, answer=answer)
    how = ["elicitation=forced_choice", "prefixes.only=[baseline]", "stages=[probe,code]", *ASKED]
    one = ["analysis=ideology_probabilities_one_model"]
    served, direct = tmp_path / "served", tmp_path / "direct"
    experiment = "+experiment=wvs_prefixes"
    assert _main([experiment, *declared(world), *how, *one, f"run_dir={served}"]) == 0
    other = ["respondents=none", "+respondents.served.backend=simulated"]
    other += ["+respondents.served.checkpoint=planted:left"]
    assert _main([experiment, *other, *how, *one, f"run_dir={direct}"]) == 0
    got, wanted = open_responses(served), open_responses(direct)
    for name in ("option_prob", "p_agree", "p_disagree", "r_plus"):
        np.testing.assert_allclose(got[name].values, wanted[name].values, rtol=2e-6, err_msg=name)
    np.testing.assert_array_equal(got["stance"].values, wanted["stance"].values)
    unseen = (1 - wanted["p_agree"] - wanted["p_disagree"]) / 2
    np.testing.assert_allclose(got["mass_unseen"].values, unseen.values, atol=1e-6)
    assert "the server lists the 4 likeliest tokens, not 20" in got.attrs["notes"]
    no_key_in(served)


def test_a_budget_stops_the_run_and_a_larger_one_goes_on(opinionated, tmp_path, capsys):
    folder = tmp_path / "run"
    opinionated.faults = {"500": 0.1}
    arguments = [
        "+experiment=wvs_prefixes",
        *declared(opinionated),
        *ASKED,
        "prefixes.only=[baseline]",
        "analysis=ideology_one_model",
        "stages=[probe]",
        "elicitation.runs=2",
        f"run_dir={folder}",
    ]
    assert _main([*arguments, "+respondents.served.api.budget_tokens=450"]) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith("error: respondents.served.api.budget_tokens: the next question might")
    (usage,) = pd.read_csv(folder / "usage.csv").to_dict("records")
    assert 0 < usage["answers"] < 16
    assert sum(opinionated.tokens) <= 450
    assert not (folder / "responses.nc").exists()
    assert _main([*arguments, "+respondents.served.api.budget_tokens=100000"]) == 0
    assert (open_responses(folder)["status"] == 1).all()
    assert all(n == 1 for (p, _), n in opinionated.given.items() if "two more" not in p)


def test_a_dry_run_says_what_it_will_cost_and_asks_nobody(
    opinionated, tmp_path, capsys, monkeypatch
):
    monkeypatch.delenv(VARIABLE)
    prices = ["price_input=2.0", "price_output=8.0", "budget=0.0001"]
    arguments = [
        "+experiment=wvs_prefixes",
        *declared(opinionated, *(f"+respondents.served.api.{price}" for price in prices)),
        *ASKED,
        "+respondents.served.api.system=Brief.",
        "+respondents.near.backend=simulated",
        "+respondents.near.checkpoint=planted:left",
        "prefixes.only=[baseline]",
        "analysis=ideology_one_model",
        f"run_dir={tmp_path / 'run'}",
        "task=dry_run",
    ]
    assert _main(arguments) == 0, capsys.readouterr().err
    out = capsys.readouterr().out
    (row,) = [line for line in out.splitlines() if line.startswith("  served: ")]
    (near,) = [line for line in out.splitlines() if line.startswith("  near: ")]
    # Four items in two wordings, three runs, sixty tokens each at most.
    answers = 4 * 2 * 3 * 60
    assert row.startswith("  served: 24, ")
    tokens = int(row.split(", ")[1].replace(",", ""))
    items = {i.item: i for i in load_instrument("wvs").items}
    letters = [
        len(v.text)
        for name in ITEMS
        for v in items[name].variants
        if v.variant in ("original", "opposite")
    ]
    assert tokens == pytest.approx(3 * sum((n + len("Brief.")) / 4.5 + 16 for n in letters), abs=1)
    assert f", {answers:,}, about {(tokens * 2 + answers * 8) / 1e6:,.4g} USD" in row
    assert "--- served, system prompt\nBrief.\n" in out
    assert "may not be enough: the budget is 0.0001 USD" in out
    assert near.endswith(f", {answers:,}")
    assert opinionated.bodies == []
    assert list(tmp_path.iterdir()) == []


def test_the_shipped_declaration_is_completed_by_its_name_and_address(loopback, tmp_path, capsys):
    world = loopback()
    arguments = ["+experiment=wvs_prefixes", "respondents=served", "analysis=ideology_one_model"]
    arguments += [f"respondents.served.api.base_url={world.url}", f"run_dir={tmp_path / 'run'}"]
    assert _main([*arguments, "stages=[probe]"]) == 2
    assert "respondents.served.checkpoint: is empty" in capsys.readouterr().err
    arguments += ["respondents.served.checkpoint=m-1", "elicitation.runs=1"]
    arguments += ["items=[wvs-01,wvs-14]", "prefixes.only=[baseline]", "stages=[probe]"]
    assert _main(arguments) == 0, capsys.readouterr().err
    assert {h["authorization"] for h in world.headers} == {"Bearer none"}


def test_a_server_declared_for_another_backend_is_refused(capsys, tmp_path):
    arguments = ["+experiment=wvs_prefixes", "respondents=simulated"]
    arguments += ["+respondents.left.api.concurrency=3", f"run_dir={tmp_path}"]
    assert _main(arguments) == 2
    assert "respondents.left.api: is for backend=chat_api, not simulated" in capsys.readouterr().err
