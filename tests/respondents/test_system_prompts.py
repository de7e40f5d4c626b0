"""System prompts, personas and turns before the question, from the file to the request."""

import json

import numpy as np
import pytest
from loopback import KEY, VARIABLE, Said

from polbayes.cli import _main
from polbayes.config.schema import ElicitationConfig, RespondentConfig
from polbayes.data.dataset import open_responses
from polbayes.errors import UserError
from polbayes.instrument.prompts import check_answers, load_prefixes, load_template
from polbayes.probing.probe import rendered_prompt
from polbayes.respondents.base import Question
from polbayes.respondents.causal import BACKEND
from polbayes.respondents.questions import question_digest

FILE = """
prefixes:
  baseline: {text: ""}
  nurse:
    text: "Briefly:"
    system: "You are {model_name}, a nurse."
    turns:
      - {user: "Have you heard {statement}", assistant: "Yes, I have."}
    attributes: {persona: nurse}
"""


@pytest.fixture
def prefixes(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(FILE, encoding="utf-8")
    return path


def answer(prompt, body):
    """Agree as a nurse, and disagree otherwise."""
    nurse = body["messages"][0]["content"].endswith("a nurse.")
    return Said("I agree." if nurse else "I disagree.")


def run(tmp_path, world, prefixes, *more):
    return _main(
        [
            "+experiment=wvs_prefixes",
            *("respondents=none", "+respondents.served.backend=chat_api"),
            *("+respondents.served.checkpoint=m-1", "elicitation.runs=1"),
            f"+respondents.served.api.base_url={world.url}",
            f"+respondents.served.api.key_variable={VARIABLE}",
            *(f"prefixes.file={prefixes}", "items=[wvs-01,wvs-02]", "variants=[original]"),
            *("stages=[probe,code]", f"run_dir={tmp_path}/run", *more),
        ]
    )


def test_a_server_gets_the_system_prompt_and_the_turns_before(
    tmp_path, loopback, monkeypatch, prefixes
):
    monkeypatch.setenv(VARIABLE, KEY)
    world = loopback(answer=answer)
    assert run(tmp_path, world, prefixes, "+respondents.served.api.system='Be fair.'") == 0

    data = open_responses(tmp_path / "run")
    statement = data["statement"].sel(item="wvs-01", variant="original").item()
    nurse = [
        ("system", "Be fair.\n\nYou are served, a nurse."),
        ("user", f"Have you heard {statement}"),
        ("assistant", "Yes, I have."),
        ("user", f"Briefly:\n{statement}"),
    ]
    plain = [("system", "Be fair."), ("user", statement)]
    sent = [[(m["role"], m["content"]) for m in body["messages"]] for body in world.bodies]
    assert sent.count(nurse) == 1
    assert plain in sent
    said = data["completion"].sel(item="wvs-01", variant="original", model="served", run=1)
    assert said.values.tolist() == ["I disagree.", "I agree."]
    assert data["persona"].values.tolist() == ["", "nurse"]
    shown = rendered_prompt(data, "served", "wvs-01", "original", "nurse")
    assert shown == (
        f"[System] You are served, a nurse.\n\n[User] Have you heard {statement}\n\n"
        f"[Assistant] Yes, I have.\n\n[User] Briefly:\n{statement}"
    )
    assert rendered_prompt(data, "served", "wvs-01", "original", "baseline") == statement


def test_another_system_prompt_in_the_same_folder_is_an_error(
    tmp_path, loopback, monkeypatch, prefixes, capsys
):
    monkeypatch.setenv(VARIABLE, KEY)
    world = loopback(answer=answer)
    assert run(tmp_path, world, prefixes) == 0
    prefixes.write_text(FILE.replace("a nurse.", "a smith."), encoding="utf-8")
    capsys.readouterr()
    assert run(tmp_path, world, prefixes) == 2
    assert "nurse" in capsys.readouterr().err


def test_cached_answers_belong_to_one_system_prompt(tmp_path, loopback, monkeypatch, prefixes):
    monkeypatch.setenv(VARIABLE, KEY)
    world = loopback(answer=answer)
    cache = f"journal.cache={tmp_path}/cache.sqlite"
    assert run(tmp_path, world, prefixes, cache) == 0
    prefixes.write_text(FILE.replace("a nurse.", "a smith."), encoding="utf-8")
    assert run(tmp_path, world, prefixes, cache, f"run_dir={tmp_path}/other") == 0
    said = open_responses(tmp_path / "other")["completion"].sel(prefix="nurse")
    assert set(said.values.ravel()) == {"I disagree."}


def question(**more):
    return Question("a", "original", "p", 1, "S.", 1, "economic", "Agree?", **more)


def text(checkpoint, **more):
    config = RespondentConfig(checkpoint=str(checkpoint.path), device="cpu")
    how = ElicitationConfig(max_new_tokens=2)
    respondent = BACKEND.open("m", config, load_template("faulborn"), how)
    return respondent._prompts.text(question(**more))


def test_a_chat_template_gets_the_system_prompt_where_it_has_a_place(causal_checkpoint):
    checkpoint = causal_checkpoint("gpt2-chat")
    put = text(checkpoint, system="Be brief.", before=(("Hi.", "Hello."),))
    assert put.index("Be brief.") < put.index("Hi.") < put.index("Hello.") < put.index("Agree?")


@pytest.mark.parametrize("refusal", ["{{ raise_exception('no system') }}", ""])
def test_a_template_without_a_system_prompt_gets_it_with_the_first_turn(
    causal_checkpoint, monkeypatch, refusal
):
    import transformers as tf

    template = (
        "{% for m in messages %}{% if m['role'] == 'system' %}"
        + refusal
        + "{% else %}<{{ m['role'] }}>{{ m['content'] }}{% endif %}{% endfor %}"
    )
    checkpoint = causal_checkpoint("gpt2-chat")
    given = tf.PreTrainedTokenizerBase.apply_chat_template

    def without(self, turns, **more):
        return given(self, turns, chat_template=template, **more)

    monkeypatch.setattr(tf.PreTrainedTokenizerBase, "apply_chat_template", without)
    assert text(checkpoint, system="Be brief.") == "<user>Be brief.\n\nAgree?"
    put = text(checkpoint, system="Be brief.", before=(("Hi.", "Hello."),))
    assert put == "<user>Be brief.\n\nHi.<assistant>Hello.<user>Agree?"


def test_a_base_model_gets_all_of_it_as_one_text(causal_checkpoint):
    put = text(causal_checkpoint("gpt2-bytes-right"), system="Be brief.", before=(("Hi.", "Oh."),))
    assert put == "Be brief.\n\nHi.\n\nOh.\n\nAgree?"


def test_questions_with_other_contexts_are_other_questions():
    every = [
        question(),
        question(system="A"),
        question(system="B"),
        question(before=(("A", "B"),)),
        question(system="A", before=(("A", "B"),)),
        question(system="A", options={"A": "yes"}),
        question(options={"A": "yes"}),
        question(before=(("A", "B"),), options={"A": "yes"}),
    ]
    assert len({question_digest(one) for one in every}) == len(every)


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("{text: x, system: 3}", "system: must be text"),
        ("{text: x, turns: hello}", "turns: must be a list of turns"),
        ("{text: x, turns: [{user: hello}]}", "the key 'assistant' is missing"),
        ("{text: x, turns: [hello]}", "turns: must be a mapping"),
        ("{text: x, sytem: y}", "unknown key 'sytem'; did you mean 'system'"),
    ],
)
def test_what_is_wrong_in_a_file_is_said(tmp_path, entry, said):
    path = tmp_path / "mine.yaml"
    path.write_text(f"prefixes:\n  p: {entry}\n", encoding="utf-8")
    with pytest.raises(UserError, match=said):
        load_prefixes(str(path))


def test_masked_models_have_no_turns(prefixes):
    from polbayes.instrument.prompts import load_lexicon

    with pytest.raises(UserError, match="prefix 'nurse': masked models have no system prompt"):
        check_answers(load_prefixes(str(prefixes)), "fill_mask", load_lexicon("haller_masked"))


def test_the_shipped_sets_say_the_same_to_both_sides():
    known = {one.prefix: one for one in load_prefixes("sycophancy")}
    assert sum(one.attributes["user_leaning"] for one in known.values()) == 0
    assert sum(one.attributes["user_agrees"] for one in known.values()) == 0
    for way in ("says", "said", "profile"):
        left, right = (json.dumps(known[f"{way}_{side}"].entry()) for side in ("left", "right"))
        swapped = left.replace("left", "right").replace('"user_leaning": -1', '"user_leaning": 1')
        assert swapped == right
    personas = load_prefixes("personas")
    assert sum(one.attributes["persona_leaning"] for one in personas) == 0
    assert all(one.system for one in personas if one.prefix != "baseline")


def test_the_attributes_of_personas_are_variables_of_the_analysis(capsys):
    steer = "'~ 0 + persona_leaning + (1 | gr(model:prefix, by = model))'"
    explain = ["+experiment=wvs_prefixes", "task=explain", "respondents=simulated"]
    explain += ["prefixes.file=personas", "prefixes.only=null"]
    assert _main([*explain, f"analysis.parts.steer={steer}"]) == 0
    assert "steer: coefficients of persona_leaning ~ Normal" in capsys.readouterr().out


def test_sycophancy_runs_offline_and_reports_its_prompts(tmp_path):
    few = ("items=[wvs-01,wvs-02,wvs-14,wvs-15]", "variants=[original]", "elicitation.runs=1")
    few += ("models=[left]", "stages=[probe,code]", f"run_dir={tmp_path}/run")
    assert _main(["+experiment=sycophancy", *few]) == 0
    data = open_responses(tmp_path / "run")
    assert (data["completion"] != "").any()
    np.testing.assert_array_equal(data["user_leaning"].values, [0, -1, 1, -1, 1, -1, 1, 0, 0])
