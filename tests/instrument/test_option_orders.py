"""Letters, numbers and the order of options as factors of the design."""

import json
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
import yaml
from loopback import KEY, VARIABLE, Said

from polbayes.cli import _main
from polbayes.coding import code_responses
from polbayes.config.schema import ApiConfig, ElicitationConfig, RespondentConfig
from polbayes.data.dataset import STANCE, STATUS, open_responses
from polbayes.errors import UserError
from polbayes.instrument.design import ModelInfo, design
from polbayes.instrument.prompts import (
    Lexicon,
    check_answers,
    load_lexicon,
    load_prefixes,
    load_template,
)
from polbayes.instrument.questionnaires import load_instrument
from polbayes.respondents import open_respondent
from polbayes.respondents.questions import PendingQuestions, question_digest

ORDERS = "option_orders"
YES_NO = load_lexicon("haller_generative")


def test_each_form_of_the_options_is_there_in_both_orders():
    prefixes = load_prefixes(ORDERS)
    pairs = {(p.attributes["form"], p.attributes["order"]) for p in prefixes}
    assert pairs == {
        (form, order)
        for form in ("words", "letters", "numbers")
        for order in ("yes_first", "no_first")
    }
    for prefix in prefixes:
        first, second = (
            ("yes", "no") if prefix.attributes["order"] == "yes_first" else ("no", "yes")
        )
        assert prefix.text.lower().rfind(f" {first}") < prefix.text.lower().rfind(f" {second}")
        for code, word in prefix.options.items():
            assert f"\n{code}) {word}\n" in prefix.text
        assert list(prefix.options.values()) in ([], [first, second])
    check_answers(prefixes, "forced_choice", YES_NO)
    with pytest.raises(UserError, match="'letters_yes_first': options: must name each option"):
        check_answers(prefixes, "forced_choice", load_lexicon("haller_masked"))
    with pytest.raises(UserError, match="cannot be at a mask"):
        check_answers(prefixes, "fill_mask", YES_NO)


@pytest.mark.parametrize(
    "options", ["{A: 'yes', B: 'yes'}", "{A: 'yes', a: 'no'}", "[yes, no]", "{A: 1}"]
)
def test_letters_that_make_no_sense_are_refused(tmp_path, options):
    path = tmp_path / "mine.yaml"
    path.write_text(f"prefixes:\n  mine: {{text: Agree?, options: {options}}}\n", encoding="utf-8")
    with pytest.raises(UserError, match="mine"):
        load_prefixes(str(path))


def questions():
    prefixes = load_prefixes(ORDERS)
    info = ModelInfo("m", load_template("options").texts["chat"], chat=True)
    data = design([load_instrument("wvs")], prefixes, [info], items=["wvs-01"])
    kinds = {prefix.prefix: prefix.answer for prefix in prefixes}
    return data.isel(variant=[0]), list(PendingQuestions(data.isel(variant=[0]), "m", kinds))


def test_a_reader_of_the_file_knows_what_the_letters_mean():
    data, asked = questions()
    of = dict(zip(data["prefix"].values.tolist(), data["prefix_options"].values, strict=True))
    assert json.loads(of["letters_no_first"]) == {"A": "no", "B": "yes"}
    assert of["words_yes_first"] == ""
    by_prefix = {question.prefix: question for question in asked}
    assert by_prefix["numbers_no_first"].options == {"1": "no", "2": "yes"}
    # Letters of another meaning are another question, even in the same words.
    changed = {question_digest(q) for q in (*asked, *asked)}
    assert len(changed) == 6
    plain = design([load_instrument("wvs")], load_prefixes(only=["baseline"]), [ModelInfo("m", "")])
    assert "prefix_options" not in plain.coords


def test_probabilities_of_letters_are_those_of_what_they_stand_for(loopback):
    def answer(prompt, body):
        # It says the first option with 0.6, and the second with 0.3, whatever they are.
        first, second = {"word": ("Yes", "No"), "letter": ("A", "B"), "number": ("1", "2")}[
            next((w for w in ("letter", "number") if w in prompt), "word")
        ]
        if "no or yes" in prompt:
            first, second = second, first
        return Said(first, ((first, ((first, 0.6), (second, 0.3), ("Well", 0.1))),))

    world = loopback(answer=answer)
    api = ApiConfig(base_url=world.url, key_variable=None)
    config = RespondentConfig(backend="chat_api", checkpoint="m-1", api=api)
    how = ElicitationConfig(kind="forced_choice", template="options")
    _, asked = questions()
    with closing(open_respondent("m", config, elicitation=how)) as respondent:
        mass = respondent.option_mass(asked, YES_NO)
    for question, row in zip(asked, mass, strict=True):
        yes_first = question.prefix.endswith("yes_first")
        np.testing.assert_allclose(row, [0.6, 0.3] if yes_first else [0.3, 0.6])


def test_a_local_model_is_read_by_letters(causal_checkpoint):
    path = str(causal_checkpoint("llama-bytes-bos-right").path)
    how = ElicitationConfig(kind="forced_choice", template="options")
    config = RespondentConfig(checkpoint=path, device="cpu")
    _, asked = questions()
    with closing(open_respondent("m", config, elicitation=how)) as respondent:
        mass = respondent.option_mass(asked, YES_NO)
        # Of yes and no, in that order, what the prompt has for them.
        written = {
            "words_no_first": ("yes", "no"),
            "letters_yes_first": ("A", "B"),
            "letters_no_first": ("B", "A"),
            "numbers_no_first": ("2", "1"),
        }
        by_prefix = dict(zip((question.prefix for question in asked), asked, strict=True))
        for prefix, options in written.items():
            plain = replace(by_prefix[prefix], options={})
            alone = respondent.option_mass([plain], Lexicon("mine", options, (1, -1)))[0]
            np.testing.assert_allclose(mass[list(by_prefix).index(prefix)], alone, rtol=1e-5)


@pytest.mark.parametrize(
    ("said", "codes"),
    [
        ("A", {"letters_yes_first": "agree", "letters_no_first": "disagree"}),
        ("b) No", {"letters_yes_first": "disagree"}),
        ("B) No", {"letters_no_first": None}),
        ("My answer is 2.", {"numbers_yes_first": "disagree", "numbers_no_first": "agree"}),
        ("Yes.", dict.fromkeys(("words_no_first", "letters_no_first"), "agree")),
        ("A", {"words_yes_first": None}),
    ],
)
def test_drawn_letters_are_read_as_what_they_stand_for(said, codes):
    data, _ = questions()
    dims = data["status"].dims
    asked = data["status"].values == STATUS["pending"]
    data["completion"] = (dims, np.where(asked, said, "").astype(object))
    data["status"] = (dims, np.where(asked, STATUS["ok"], data["status"].values).astype(np.int8))
    coded = code_responses(data, ["lexical"])
    for prefix, stance in codes.items():
        found = coded["stance"].sel(prefix=prefix).values.ravel()
        assert set(found.tolist()) == {-128 if stance is None else STANCE[stance]}


def drawn_how(data):
    """Return the number of draws and the temperature, as the file of answers says."""
    how = yaml.safe_load(data.attrs["config"])["elicitation"]
    return how["runs"], how["temperature"]


def test_a_choice_is_drawn_where_there_are_no_probabilities(loopback, monkeypatch, tmp_path):
    monkeypatch.setenv(VARIABLE, KEY)

    def answer(prompt, body):
        first = body["seed"] % 4 > 0
        return Said("A" if first else "B")

    world = loopback(key=KEY, answer=answer, logprobs=False)
    arguments = [
        *("+experiment=wvs_prefixes", "respondents=served", "elicitation=sampled_choice"),
        *("respondents.served.checkpoint=m-1", f"respondents.served.api.base_url={world.url}"),
        *(f"respondents.served.api.key_variable={VARIABLE}", "elicitation.template=options"),
        *("items=[wvs-01,wvs-02]", "variants=[original]", f"prefixes.file={ORDERS}"),
        *("prefixes.only=[letters_yes_first,letters_no_first]", "stages=[probe,code]"),
        f"run_dir={tmp_path}",
    ]
    assert _main(arguments) == 0
    data = open_responses(tmp_path)
    assert data.sizes["run"] == 20
    assert drawn_how(data) == (20, 1.0)
    assert data["order"].values.tolist() == ["yes_first", "no_first"]
    agree = (data["stance"] == STANCE["agree"]).mean(("model", "item", "variant", "run")).values
    # Whatever it is asked, it says A with 3/4: all of it is the order.
    seeds = [
        body["seed"] for body in world.bodies if "Statement: " in body["messages"][-1]["content"]
    ]
    assert len(seeds) == len(set(seeds)) == 80
    assert {body["temperature"] for body in world.bodies} == {1.0}
    assert agree[0] > 0.55
    assert agree[1] < 0.45


@pytest.mark.parametrize("taken", [True, False])
def test_the_answers_say_how_often_and_how_warm_they_were_drawn(
    loopback, monkeypatch, tmp_path, taken
):
    monkeypatch.setenv(VARIABLE, KEY)
    world = loopback(key=KEY, logprobs=False, answer=lambda prompt, body: Said("Yes"))
    world.unknown = () if taken else ("temperature",)
    arguments = [
        *("+experiment=wvs_prefixes", "respondents=served", "elicitation=sampled_choice"),
        *("respondents.served.checkpoint=m-1", f"respondents.served.api.base_url={world.url}"),
        *(f"respondents.served.api.key_variable={VARIABLE}", "elicitation.temperature=0.7"),
        *("items=[wvs-01]", "variants=[original]", "prefixes.only=[baseline]"),
        *("stages=[probe,code]", f"run_dir={tmp_path}"),
    ]
    # The second command adds draws to those of the first.
    for draws in (3, 5):
        assert _main([*arguments, f"elicitation.runs={draws}"]) == 0
        data = open_responses(tmp_path)
        assert data["run"].values.tolist() == list(range(1, draws + 1))
        assert drawn_how(data) == (draws, 0.7)
        assert ("temperature" in data.attrs.get("left_out", "")) is not taken
    assert {body.get("temperature") for body in world.bodies[-2:]} == {0.7 if taken else None}
