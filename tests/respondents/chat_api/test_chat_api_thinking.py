"""Reasoning models behind a server: what they think is kept, counted, and no answer."""

import json
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
from loopback import KEY, VARIABLE, Said

from polbayes.cli import _main
from polbayes.config.schema import ApiConfig, ElicitationConfig, RespondentConfig
from polbayes.data.dataset import STANCE, STATUS, open_responses
from polbayes.errors import UserError
from polbayes.instrument.prompts import Lexicon
from polbayes.respondents import answer_settings, check, open_respondent
from polbayes.respondents.base import Question
from polbayes.respondents.chat_api import client
from polbayes.respondents.chat_api.reply import read_reply
from polbayes.respondents.usage import Usage

FORCED = ElicitationConfig(kind="forced_choice", template="haller")
YES_NO = Lexicon("yn", ("yes", "no"), (1, -1))


def body(message, **more):
    choice = {"message": {"role": "assistant", **message}, "finish_reason": "stop"}
    return json.dumps({"choices": [choice], **more})


@pytest.mark.parametrize(
    "message",
    [
        {"content": "I agree.", "reasoning_content": "I disagree, or do I?"},
        {"content": "I agree.", "reasoning": "I disagree, or do I?"},
        {
            "content": "I agree.",
            "reasoning": {"odd": 1},
            "reasoning_content": "I disagree, or do I?",
        },
        {"content": "<think>\nI disagree, or do I?\n</think>\n\nI agree."},
        {"content": "I disagree, or do I?\n</think>\n\nI agree."},
        {"content": "<think>I disagree,</think>\n<think>or do I?</think>\nI agree."},
        {"content": "<thought>\nI disagree, or do I?\n</thought>\nI agree."},
        {"content": "I disagree, or do I?<|END_THINKING|><|START_RESPONSE|>I agree."},
        {"content": "◁think▷I disagree, or do I?◁/think▷I agree."},
        {"content": "analysisI disagree, or do I?assistantfinalI agree."},
        {
            "content": [
                {
                    "type": "thinking",
                    "thinking": [{"type": "text", "text": "I disagree, or do I?"}],
                },
                {"type": "text", "text": "I agree."},
            ]
        },
        {
            "content": [
                {"type": "thinking", "thinking": "I disagree, or do I?"},
                {"text": "I agree."},
            ]
        },
    ],
)
def test_thinking_is_told_wherever_servers_put_it(message):
    reply = read_reply(body(message))
    said = reply.thoughts.replace("\n\n", " ")
    assert (said, reply.text) == ("I disagree, or do I?", "I agree.")


def test_tokens_of_thinking_are_counted_where_the_server_does():
    details = {"completion_tokens_details": {"reasoning_tokens": 64}}
    usage = {"prompt_tokens": 9, "completion_tokens": 70, **details}
    reply = read_reply(body({"content": "Yes"}, usage=usage))
    assert (reply.tokens, reply.thought_tokens) == ((9, 70), 64)
    for odd in (None, [], {"reasoning_tokens": "many"}, {"reasoning_tokens": 0}):
        usage["completion_tokens_details"] = odd
        assert read_reply(body({"content": "Yes"}, usage=usage)).thought_tokens is None


def question(n=1):
    return Question(f"i{n}", "original", "baseline", 1, "S", 1, "economic", f"Now {n}?")


def api(world, **more):
    config = ApiConfig(base_url=world.url, key_variable=None, backoff=0.01)
    return RespondentConfig(backend="chat_api", checkpoint="m-1", api=config, **more)


def asked(config, how, lexicon=None):
    with closing(open_respondent("m", config, elicitation=how)) as respondent:
        found = respondent.answers([(question(), 7)], lexicon, spent=Usage())
        return [answer for answer in found if answer.question]


def test_effort_and_tokens_of_thinking_are_asked_for(loopback):
    world = loopback(answer=lambda prompt, body: Said("I agree."))
    how = ElicitationConfig(max_new_tokens=60)
    asked(api(world), how)
    assert world.bodies[-1]["max_tokens"] == 60
    assert "reasoning_effort" not in world.bodies[-1]
    asked(api(world, reasoning_effort="low", thinking_tokens=1000), how)
    assert world.bodies[-1]["max_tokens"] == 1060
    assert world.bodies[-1]["reasoning_effort"] == "low"


def test_what_a_server_asks_for_by_its_own_name_is_said(loopback):
    """As Alibaba's does of Qwen3."""
    said = {"error": {"message": "parameter.enable_thinking must be set to false"}}
    world = loopback(refuses=lambda body: None if "enable_thinking" in body else (400, said))
    with pytest.raises(UserError, match=r"set what the server asks for in respondents\.m\.api\.ex"):
        asked(api(world), ElicitationConfig())
    config = api(world)
    config = replace(config, api=replace(config.api, extra_body={"enable_thinking": False}))
    (answer,) = asked(config, ElicitationConfig())
    assert answer.completion.text


def test_a_declared_effort_is_never_left_out(loopback):
    said = {"error": {"message": "Unknown parameter: 'reasoning_effort'."}}
    world = loopback(refuses=lambda body: (400, said) if "reasoning_effort" in body else None)
    with pytest.raises(UserError, match="Unknown parameter: 'reasoning_effort'") as stopped:
        asked(api(world, reasoning_effort="low"), ElicitationConfig())
    assert "choose another respondents.m.reasoning_effort or" in str(stopped.value)
    assert "api.omit" not in str(stopped.value)


def test_marks_of_its_own_are_declared_and_part_its_answers(loopback):
    world = loopback(answer=lambda prompt, body: Said("<plan>I disagree?</plan> I agree."))
    (plain,) = asked(api(world), ElicitationConfig())
    assert plain.completion.text == "<plan>I disagree?</plan> I agree."
    own = api(world, thinking_marks=["<plan>", "</plan>"])
    (parted,) = asked(own, ElicitationConfig())
    assert (parted.completion.reasoning, parted.completion.text) == ("I disagree?", "I agree.")
    assert "respondent.thinking_marks" not in answer_settings(api(world), FORCED)
    settings = answer_settings(own, FORCED)
    assert settings["respondent.thinking_marks"] == ["<plan>", "</plan>"]


def test_options_are_read_behind_marks_of_its_own(loopback):
    tokens = [(t, ((t, 1.0),)) for t in ("<plan>", "No", "</plan>")] + LISTED
    said = Said("<plan>No</plan>Yes", tuple(tokens))
    world = loopback(answer=lambda prompt, body: said)
    own = api(world, thinking_tokens=100, thinking_marks=["<plan>", "</plan>"])
    (answer,) = asked(own, FORCED, YES_NO)
    np.testing.assert_allclose(answer.mass, [0.7, 0.2])


@pytest.mark.parametrize("marks", [[], ["<plan>"], ["<plan>", " "], ["|", "|"], ["a", "b", "c"]])
def test_marks_that_part_nothing_are_refused(marks):
    config = RespondentConfig(backend="chat_api", checkpoint="m", thinking_marks=marks)
    with pytest.raises(UserError, match=r"respondents\.m\.thinking_marks: must be two different"):
        check("m", config, ElicitationConfig())


THOUGHTS = [(t, ((t, 0.9), ("No", 0.1))) for t in ("<think>", "Yes", ", no", ".", "</", "think>")]
ANSWER = [("\n\n", (("\n\n", 1.0),)), ("Yes", (("Yes", 0.7), ("No", 0.2), ("Well", 0.1)))]


@pytest.mark.parametrize("marked", [THOUGHTS, THOUGHTS[1:]])
def test_probabilities_are_read_after_the_thinking(loopback, marked):
    tokens = (*marked, *ANSWER)
    text = "".join(one for one, _ in tokens)
    world = loopback(answer=lambda prompt, body: Said(text, tokens))
    (answer,) = asked(api(world, thinking_tokens=1000), FORCED, YES_NO)
    assert world.bodies[-1]["max_tokens"] == 1004
    np.testing.assert_allclose(answer.mass, [0.7, 0.2])
    assert answer.unseen == pytest.approx(0.0, abs=1e-9)


def test_thinking_without_an_end_says_nothing_of_the_options(loopback):
    world = loopback(answer=lambda p, b: Said("<think>Yes, no", tuple(THOUGHTS[:3]), "length"))
    (answer,) = asked(api(world, thinking_tokens=3), FORCED, YES_NO)
    assert answer.mass == (0.0, 0.0)
    assert answer.unseen == 1.0


def test_a_forced_choice_that_begins_with_thinking_is_told_at_once(loopback):
    world = loopback(answer=lambda p, b: Said("<think>Yes, no", tuple(THOUGHTS[:3]), "length"))
    with pytest.raises(UserError, match=r"begin with thinking.*respondents\.m\.thinking_tokens"):
        asked(api(world), FORCED, YES_NO)
    assert len(world.bodies) == 1


def test_thinking_whose_tokens_no_server_lists_says_nothing_either(loopback):
    """Some list the tokens of the answer alone, and there is none."""
    cut = Said("", finish="length", thoughts="Yes, no")
    world = loopback(answer=lambda p, b: cut)
    (answer,) = asked(api(world, thinking_tokens=3), FORCED, YES_NO)
    assert (answer.mass, answer.unseen, answer.error) == ((0.0, 0.0), 1.0, "")
    # The trial question and this one, once each: more tokens would be spent for the same.
    assert len(world.bodies) == 2


def test_an_answer_for_which_thinking_left_no_tokens_is_empty(loopback):
    said = "Could not finish the message because max_tokens or model output limit was reached."
    world = loopback(
        answer=lambda prompt, body: Said("I agree."),
        extra_status=lambda p: (400, {"error": {"message": said}}) if "Now" in p else None,
    )
    (answer,) = asked(api(world), ElicitationConfig(max_new_tokens=60))
    assert (answer.completion.text, answer.completion.truncated) == ("", True)
    assert answer.error == ""
    # What it cost is not said.
    assert answer.usage.uncounted == 1
    assert len(world.bodies) == 2


def test_the_tokens_of_long_thinking_are_read(loopback, monkeypatch):
    """Each lists the likeliest twenty at its place, which may be more than any text takes."""
    monkeypatch.setattr(client, "MOST_BYTES", 2**16)
    top = tuple((f"token {n}", 0.04) for n in range(20))
    tokens = (*[("token 0", top)] * 100, ("</think>", (("</think>", 1.0),)), *ANSWER)
    text = "".join(one for one, _ in tokens)
    world = loopback(answer=lambda prompt, body: Said(text, tokens))
    (answer,) = asked(api(world, thinking_tokens=100), FORCED, YES_NO)
    np.testing.assert_allclose(answer.mass, [0.7, 0.2])
    short = api(world, thinking_tokens=1)
    with pytest.raises(UserError, match="the reply is longer than 0 MiB"):
        asked(replace(short, api=replace(short.api, retries=0)), FORCED, YES_NO)


UNMARKED = [(t, ((t, 0.9), ("No", 0.1))) for t in ("Yes", ",", " so")]
LISTED = [("Yes", (("Yes", 0.7), ("No", 0.2), ("Well", 0.1)))]


def test_unmarked_tokens_of_thinking_are_no_options(loopback):
    """A server that keeps thoughts apart may list their tokens, without marks."""
    cut = Said("", tuple(UNMARKED), "length", thoughts="Yes, so the")
    world = loopback(answer=lambda p, b: cut)
    (answer,) = asked(api(world, thinking_tokens=3), FORCED, YES_NO)
    assert (answer.mass, answer.unseen) == ((0.0, 0.0), 1.0)
    with pytest.raises(UserError, match="begin with thinking"):
        asked(api(world), FORCED, YES_NO)


@pytest.mark.parametrize("listed", [LISTED, [*UNMARKED, *LISTED]])
@pytest.mark.parametrize("thoughts", ["Yes, so", " Yes, so\n"])
def test_the_answer_behind_unmarked_thinking_is_read(loopback, listed, thoughts):
    world = loopback(answer=lambda p, b: Said("Yes", tuple(listed), thoughts=thoughts))
    (answer,) = asked(api(world, thinking_tokens=1000), FORCED, YES_NO)
    np.testing.assert_allclose(answer.mass, [0.7, 0.2])


def test_a_run_keeps_thinking_apart(loopback, monkeypatch, tmp_path, capsys):
    monkeypatch.setenv(VARIABLE, KEY)

    def answer(prompt, body):
        if body["seed"] % 3 == 0:
            # Cut off before the end of thinking, whose beginning the prompt has.
            return Said("I strongly disagree, but then", finish="length")
        return Said("I strongly disagree, but then\n</think>\n\nI agree.")

    world = loopback(key=KEY, answer=answer)
    arguments = [
        *("+experiment=wvs_prefixes", "respondents=served", f"run_dir={tmp_path}"),
        *("respondents.served.checkpoint=m-1", f"respondents.served.api.base_url={world.url}"),
        *(f"respondents.served.api.key_variable={VARIABLE}", "prefixes.only=[baseline]"),
        *("respondents.served.reasoning_effort=high", "stages=[probe,code]"),
    ]
    assert _main(arguments) == 0
    data = open_responses(tmp_path)
    thoughts, said = data["reasoning"].values, data["completion"].values
    there = data["status"].values != -128
    assert set(thoughts[there]) == {"I strongly disagree, but then"}
    assert set(said[there]) == {"I agree.", ""}
    cut = data["truncated"].values == 1
    assert 0 < cut.sum() < there.sum()
    assert (said[cut] == "").all()
    assert (data["status"].values[cut] == STATUS["empty"]).all()
    assert (data["stance"].values[there & ~cut] == STANCE["agree"]).all()
    assert data["reasoning_effort"].values.tolist() == ["high"]
    assert "reasoning_tokens" not in data
    capsys.readouterr()
    assert _main(["task=inspect", f"run_dir={tmp_path}", "inspect.limit=1"]) == 0
    shown = capsys.readouterr().out
    assert "  thinking\n    | I strongly disagree, but then\n" in shown


def test_the_effort_is_a_factor_of_the_analysis(monkeypatch, capsys):
    """As the guide declares it: one checkpoint under two names."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    efforts = [
        given
        for effort in ("low", "high")
        for given in (
            f"+api@respondents.{effort}=openai",
            f"+respondents.{effort}.checkpoint=o4-mini",
            f"+respondents.{effort}.reasoning_effort={effort}",
        )
    ]
    theta = "'~ 0 + dimension + reasoning_effort:dimension + (0 + dimension | model)'"
    explain = ["+experiment=wvs_prefixes", "task=explain", "respondents=none", *efforts]
    assert _main([*explain, f"analysis.parts.theta={theta}"]) == 0
    assert "coefficients of reasoning_effort:dimension ~ Normal(0, 1)" in capsys.readouterr().out


def test_other_backends_do_not_think():
    config = RespondentConfig(backend="simulated", checkpoint="planted:left", thinking_tokens=5)
    with pytest.raises(UserError, match=r"respondents\.m\.thinking_tokens: is for backends causal"):
        check("m", config, ElicitationConfig())
    bare = replace(config, thinking_tokens=None)
    assert not {k for k in answer_settings(bare, FORCED) if "thinking" in k or "effort" in k}
