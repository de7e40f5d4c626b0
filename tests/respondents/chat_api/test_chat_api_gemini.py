"""Gemini's own protocol, spoken by a server that refuses what the protocol does not have."""

import json
from contextlib import closing
from dataclasses import replace

import loopback as servers
import pytest
from loopback import KEY, VARIABLE
from native_servers import Gemini

from polbayes.config.compose import compose
from polbayes.config.schema import ApiConfig, ElicitationConfig, RespondentConfig
from polbayes.errors import UserError
from polbayes.instrument.design import ModelInfo
from polbayes.instrument.prompts import load_lexicon
from polbayes.respondents import open_respondent
from polbayes.respondents.base import Question
from polbayes.respondents.chat_api.gemini import completion_of, generation_of, path_of
from polbayes.respondents.chat_api.reply import UnreadableReplyError, read_reply
from polbayes.respondents.usage import Usage

OPEN = ElicitationConfig(kind="open_ended", template="faulborn", max_new_tokens=20)
CHOICE = ElicitationConfig(kind="forced_choice", template="haller")
SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}


@pytest.fixture
def world(loopback, monkeypatch):
    monkeypatch.setattr(servers, "Handler", Gemini)
    monkeypatch.setenv(VARIABLE, KEY)
    return loopback()


def declared(world, protocol="gemini", *, checkpoint="m-1", **more):
    own = {name: more.pop(name) for name in ("reasoning_effort", "thinking_tokens") if name in more}
    url = world.url.replace("/v1", "/v1beta") if protocol == "gemini" else world.url
    api = ApiConfig(
        base_url=url, key_variable=VARIABLE, backoff=0.01, **{"protocol": protocol, **more}
    )
    return RespondentConfig(backend="chat_api", checkpoint=checkpoint, api=api, **own)


def asked(config, how=OPEN, many=5, **more):
    lexicon = load_lexicon("haller_generative") if how.kind == "forced_choice" else None
    questions = [
        Question(*(f"i{n}", "original", "baseline", 1, "S"), 1, "economic", f"Now {n}?", **more)
        for n in range(many)
    ]
    with closing(open_respondent("m", config, elicitation=how)) as respondent:
        return list(respondent.answers([(one, 7) for one in questions], lexicon, spent=Usage()))


def of_questions(found):
    return {a.question.item: (a.completion, a.mass, a.error) for a in found if a.question}


@pytest.mark.parametrize("how", [OPEN, CHOICE], ids=lambda how: how.kind)
def test_the_answers_are_those_of_the_protocol_of_chats(world, how):
    chats = asked(declared(world, "openai"), how)
    found = asked(declared(world), how)
    texts, others = (
        {
            item: (one and one.text, mass, error)
            for item, (one, mass, error) in of_questions(some).items()
        }
        for some in (found, chats)
    )
    assert texts == others
    assert len(texts) == 5
    assert sum((a.usage for a in found), Usage()) == sum((a.usage for a in chats), Usage())


def test_what_is_asked_is_in_the_words_of_gemini(world):
    prompts = {"system": "Be fair.", "safetySettings": []}
    more = {"system": prompts.pop("system"), "extra_body": prompts}
    asked(declared(world, **more), replace(OPEN, top_k=5, top_p=0.9, temperature=0.7))
    own = [body for body in world.bodies if "Now" in body["contents"][-1]["parts"][0]["text"]]
    assert {json.dumps(body["systemInstruction"]) for body in own} == {
        json.dumps({"parts": [{"text": "Be fair."}]})
    }
    assert {json.dumps(body["generationConfig"]) for body in own} == {
        json.dumps({"temperature": 0.7, "topP": 0.9, "topK": 5, "seed": 7, "maxOutputTokens": 20})
    }
    assert all(body["safetySettings"] == [] for body in own)
    assert {headers["x-goog-api-key"] for headers in world.headers} == {KEY}


@pytest.mark.parametrize(
    ("own", "thinking"),
    [
        ({"thinking_tokens": 64}, {"includeThoughts": True, "thinkingBudget": 64}),
        ({"reasoning_effort": "low"}, {"includeThoughts": True, "thinkingLevel": "low"}),
    ],
)
def test_thoughts_are_apart_and_counted(world, own, thinking):
    found = of_questions(asked(declared(world, **own)))
    config = world.bodies[-1]["generationConfig"]
    assert config["thinkingConfig"] == thinking
    assert config["maxOutputTokens"] == 20 + own.get("thinking_tokens", 0)
    for done, _, _ in found.values():
        assert (done.reasoning, done.reasoning_tokens) == ("Hm.", 2)
        assert done.text.startswith("I agree")


def test_no_thinking_is_a_budget_of_none(world):
    found = of_questions(asked(declared(world, reasoning_effort="none")))
    assert world.bodies[-1]["generationConfig"]["thinkingConfig"] == {"thinkingBudget": 0}
    assert {done.reasoning for done, _, _ in found.values()} == {""}


def test_schemas_are_asked_for(world):
    how = ElicitationConfig(kind="judging", template="roleplay", temperature=0.0, top_k=0)
    asked(declared(world), how, schema=SCHEMA)
    config = world.bodies[-1]["generationConfig"]
    assert config["responseMimeType"] == "application/json"
    assert config["responseJsonSchema"] == SCHEMA


def test_fields_that_a_model_does_not_take_are_left_out(world):
    def refuses(body):
        if "topK" in body["generationConfig"]:
            return 400, "topK is not supported by this model.", "INVALID_ARGUMENT"
        return None

    world.refuses = refuses
    assert len(of_questions(asked(declared(world), replace(OPEN, top_k=5)))) == 5
    assert "topK" not in world.bodies[-1]["generationConfig"]

    def has_no_probabilities(body):
        if "responseLogprobs" in body["generationConfig"]:
            return 400, "Logprobs is not enabled for models/m-1", "INVALID_ARGUMENT"
        return None

    world.refuses = has_no_probabilities
    with pytest.raises(UserError, match="returns no log probabilities"):
        asked(declared(world), CHOICE)


def test_how_long_to_wait_is_in_the_body(world):
    world.faults = {"429": 0.5}
    assert len(of_questions(asked(declared(world), many=8))) == 8
    assert world.failed["429"] > 0


def test_a_wrong_key_is_said_without_the_key(world, monkeypatch):
    monkeypatch.setenv(VARIABLE, "wrong-key-123456789")
    with pytest.raises(UserError, match="does not accept the key") as caught:
        asked(declared(world))
    assert "wrong-key" not in str(caught.value)


def test_a_model_that_is_not_there(world):
    with pytest.raises(UserError, match="cannot be asked as model 'other'"):
        asked(declared(world, checkpoint="other"))


def test_a_request_and_its_path():
    body = {"model": "m", "messages": [("system", "S"), ("user", "A"), ("assistant", "B")]}
    body["messages"] = [{"role": r, "content": t} for r, t in body["messages"]]
    more = {"generationConfig": {"thinkingConfig": {"thinkingBudget": 0}}}
    found = generation_of({**body, "logprobs": True, "top_logprobs": 3, "extra_body": more}, INFO)
    assert found == {
        "systemInstruction": {"parts": [{"text": "S"}]},
        "contents": [
            {"role": "user", "parts": [{"text": "A"}]},
            {"role": "model", "parts": [{"text": "B"}]},
        ],
        "generationConfig": {
            "responseLogprobs": True,
            "logprobs": 3,
            "thinkingConfig": {"thinkingBudget": 0},
        },
    }
    assert path_of(body) == "models/m:generateContent"
    assert path_of({"model": "tunedModels/m x?"}) == "tunedModels/m%20x%3F:generateContent"


INFO = ModelInfo("m", "{statement}", chat=True)


def read(generated):
    return read_reply(json.dumps(completion_of(generated)))


def test_replies_by_hand():
    part = {"parts": [{"text": "I "}, {"text": "agree."}]}
    reply = read({"candidates": [{"content": part, "finishReason": "MAX_TOKENS"}]})
    assert (reply.text, reply.truncated, reply.tokens) == ("I agree.", True, None)
    for reason in ("SAFETY", "PROHIBITED_CONTENT", "SPII"):
        assert read({"candidates": [{"finishReason": reason}]}).declined
    blocked = read({"promptFeedback": {"blockReason": "SAFETY"}})
    assert (blocked.declined, blocked.text) == (True, "")
    # A token that is certain has no log probability, and nobody may have said others.
    certain = {"chosenCandidates": [{"token": "Yes"}]}
    reply = read({"candidates": [{"content": part, "logprobsResult": certain}]})
    assert [(p.token, p.log_prob, p.top) for p in reply.positions] == [("Yes", 0.0, ())]
    usage = {"promptTokenCount": 5, "candidatesTokenCount": 2, "thoughtsTokenCount": 3}
    reply = read({"candidates": [{"content": part}], "usageMetadata": usage})
    assert (reply.tokens, reply.thought_tokens) == ((5, 5), 3)


@pytest.mark.parametrize(
    "wrong", [None, [], "x", {}, {"candidates": "x"}, {"candidates": [1]}, {"candidates": []}]
)
def test_replies_that_are_none(wrong):
    with pytest.raises(UnreadableReplyError):
        read(wrong)


def test_batches_are_refused(world):
    with pytest.raises(UserError, match=r"api.batch: openai takes .* not as protocol=gemini"):
        asked(declared(world, batch="openai"))


def test_the_profile_names_the_protocol():
    given = ["respondents=served", "api=gemini_generate", "respondents.served.checkpoint=m-1"]
    served = compose(["+experiment=wvs_prefixes", *given])[0].respondents["served"]
    assert (served.api.protocol, served.api.key_variable) == ("gemini", "GEMINI_API_KEY")
    assert served.api.base_url == "https://generativelanguage.googleapis.com/v1beta"
