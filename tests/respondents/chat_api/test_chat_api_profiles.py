"""Profiles of labs, on servers that refuse what each lab refuses, in its own words."""

import json
from contextlib import closing
from dataclasses import replace
from functools import cache

import loopback as servers
import pytest
from loopback import KEY, VARIABLE, Said, spread
from native_servers import Anthropic, Gemini

from polbayes.cli import _main
from polbayes.coding import get_coder
from polbayes.config.compose import compose
from polbayes.config.resources import folder
from polbayes.config.schema import ElicitationConfig
from polbayes.data.dataset import STANCE_CLASSES, open_responses
from polbayes.errors import UserError
from polbayes.instrument.prompts import load_lexicon
from polbayes.respondents import check, open_respondent
from polbayes.respondents.base import Question
from polbayes.respondents.chat_api.refused import LeftOut, refused_fields
from polbayes.respondents.chat_api.settings import api_of, check_api
from polbayes.respondents.usage import Usage
from polbayes.roleplay.rubric import schema
from polbayes.run.plan import plan

# The elicitations that users choose, by what they write, and the one of judges.
ASKED_BY = {
    **{
        kind: ("+experiment=wvs_prefixes", f"elicitation={kind}")
        for kind in ("forced_choice", "sampled_choice", "open_ended", "fill_mask")
    },
    "paired": ("+experiment=even_handedness",),
    "roleplay": ("+experiment=politicsbench",),
}
JUDGING = ElicitationConfig(kind="judging", template="roleplay", temperature=0.0, top_k=0)


@cache
def elicitation(kind):
    return JUDGING if kind == "judging" else compose(ASKED_BY[kind])[0].elicitation


def bad_request(message, param=None, code=None):
    error = {"message": message, "type": "invalid_request_error", "param": param, "code": code}
    return 400, {"error": error}


def openai_chat(body):
    if "top_k" in body:
        return bad_request("Unrecognized request argument supplied: top_k")
    return None


def openai_reasoning(body):
    unsupported = "Unsupported parameter: '{}' is not supported with this model."
    if "max_tokens" in body:
        said = f"{unsupported.format('max_tokens')} Use 'max_completion_tokens' instead."
        return bad_request(said, "max_tokens", "unsupported_parameter")
    if body.get("temperature", 1) != 1:
        said = "Unsupported value: 'temperature' does not support {} with this model. Only the "
        said = said.format(body["temperature"]) + "default (1) value is supported."
        return bad_request(said, "temperature", "unsupported_value")
    if "top_logprobs" in body and "logprobs" not in body:
        return bad_request("top_logprobs requires logprobs to be true")
    if "logprobs" in body:
        return 403, {"error": {"message": "'logprobs' is not supported with this model."}}
    return openai_chat(body)


def gemini(body):
    unknown = [name for name in ("seed", "top_k") if name in body]
    lines = [
        f'Invalid JSON payload received. Unknown name "{n}": Cannot find field.' for n in unknown
    ]
    error = {"code": 400, "message": "\n".join(lines), "status": "INVALID_ARGUMENT"}
    return (400, [{"error": error}]) if unknown else None


def claude(body):
    if body.get("temperature", 1) > 1:
        return bad_request("temperature: range: 0..1")
    return None


def mistral(body):
    unknown = [name for name in ("seed", "top_k", "logprobs", "top_logprobs") if name in body]
    detail = [
        {"type": "extra_forbidden", "loc": ["body", n], "msg": "Extra inputs are not permitted"}
        for n in unknown
    ]
    return (422, {"object": "error", "message": {"detail": detail}}) if unknown else None


def takes_all(body):
    """Refuse nothing: the servers of own protocols check the fields by themselves."""


FORMATS = ("text", "json_object", "json_schema")


def vllm(body):
    """Refuse as vLLM, which takes top_k and ignores what it does not know."""

    def wrong(message, param):
        error = {"message": message, "type": "BadRequestError", "param": param, "code": 400}
        return 400, {"error": error}

    top, form = body.get("top_logprobs", 0), body.get("response_format", {"type": "text"})
    if top and not body.get("logprobs"):
        return wrong("when using `top_logprobs`, `logprobs` must be set to true.", "top_logprobs")
    if top > 20:  # --max-logprobs, by default
        said = f"Requested sample logprobs of {top}, which is greater than max allowed: 20"
        return wrong(said, "logprobs")
    if form["type"] == "json_schema" and "json_schema" not in form:
        said = "When response_format type is 'json_schema', the 'json_schema' field must be "
        return wrong(f"{said}provided.", "response_format")
    if body.get("top_k", 0) < -1:
        return wrong(f"top_k must be 0 (disable), or at least 1, got {body['top_k']}.", "top_k")
    return None


def llama_cpp(body):
    """Refuse as llama.cpp's server, which lists any number of tokens and ignores the unknown."""
    error = {"code": 400, "type": "invalid_request_error"}
    if "top_logprobs" in body and not body.get("logprobs"):
        said = "top_logprobs requires logprobs to be set to true"
        return 400, {"error": {**error, "message": said}}
    kind = body.get("response_format", {}).get("type", "text")
    if kind not in FORMATS:
        said = f'response_format type must be one of "text" or "json_object", but got: {kind}'
        return 400, {"error": {**error, "message": said}}
    return None


def openrouter(body):
    """Refuse values outside the ranges that OpenRouter documents."""
    for name, low, high in (("temperature", 0, 2), ("top_p", 0, 1), ("top_logprobs", 0, 20)):
        if not low <= body.get(name, low) <= high:
            said = f"Invalid value for {name}: it has to be from {low} to {high}"
            return 400, {"error": {"message": said, "code": 400}}
    return None


# What a provider behind OpenRouter takes, and how it is chosen.
PROVIDER = {
    *("model", "messages", "max_tokens", "temperature", "top_p", "seed", "logprobs"),
    *("top_logprobs", "provider"),
}


class OpenRouter(servers.Handler):
    """Drops what the provider does not take without a word, unless the user requires all of it."""

    def reply(self, world, body, fault, now):
        if body.keys() - PROVIDER and body.get("provider", {}).get("require_parameters"):
            said = "No endpoints found that can handle the requested parameters."
            return self.send(404, {"error": {"message": said, "code": 404}})
        passed_on = {name: value for name, value in body.items() if name in PROVIDER}
        return super().reply(world, passed_on, fault, now)


# By profile, what a model there refuses, whether it lists log probabilities, and its protocol.
LABS = {
    "openai": (openai_chat, True, servers.Handler),
    "anthropic": (claude, False, servers.Handler),
    "anthropic_messages": (takes_all, False, Anthropic),
    "gemini": (gemini, True, servers.Handler),
    "gemini_generate": (takes_all, True, Gemini),
    "vllm": (vllm, True, servers.Handler),
    "llama_cpp": (llama_cpp, True, servers.Handler),
    "openrouter": (openrouter, True, OpenRouter),
    "azure": (openai_chat, True, servers.Handler),
}


def named(place):
    """Return the names of the shipped configs of a group."""
    return {path.stem for path in (folder("conf") / place).glob("*.yaml")}


def test_every_profile_is_tried_with_every_elicitation():
    assert set(LABS) == named("api")
    assert set(ASKED_BY) == named("elicitation")


@cache
def composed(profile):
    given = ["respondents=served", f"api={profile}", "respondents.served.checkpoint=m-1"]
    return compose(["+experiment=wvs_prefixes", *given])[0].respondents["served"]


def declared(profile, world, monkeypatch):
    """Return the respondent of the short command, at another address."""
    monkeypatch.setenv(VARIABLE, KEY)
    served = composed(profile)
    url = world.url.replace("/v1", "/v1beta") if profile == "gemini_generate" else world.url
    api = replace(api_of(served), base_url=url, key_variable=VARIABLE, backoff=0.01)
    return replace(served, api=api)


# A question by itself, one with a system prompt, and one with turns before it.
CONTEXTS = ({}, {"system": "Be brief."}, {"before": (("Hello?", "Hello."),)})


def asked(config, how):
    check("m", config, how)
    form = schema() if how.kind == "judging" else None
    questions = [
        Question(
            *(f"i{n}", "original", "baseline", 1, "S"),
            *(1, "economic", f"Now {n}?"),
            schema=form,
            **context,
        )
        for n, context in enumerate(CONTEXTS)
    ]
    lexicon = load_lexicon("haller_generative") if how.kind == "forced_choice" else None
    with closing(open_respondent("m", config, elicitation=how)) as respondent:
        put = [(one, 7) for one in questions]
        found = list(respondent.answers(put, lexicon, spent=Usage()))
    answers = [answer for answer in found if answer.question]
    assert len(answers) == len(questions)
    assert not any(answer.error for answer in answers)
    # The server of the tests lists four tokens at most.
    notes = [answer.note for answer in found if "likeliest tokens, not" not in answer.note]
    return answers, [note for note in notes if note]


@pytest.mark.parametrize("profile", LABS)
@pytest.mark.parametrize("kind", [*ASKED_BY, "judging"])
def test_every_elicitation_works_with_the_name_of_the_profile_alone(
    loopback, monkeypatch, profile, kind
):
    refuses, lists, protocol = LABS[profile]
    monkeypatch.setattr(servers, "Handler", protocol)
    world = loopback(key=KEY, refuses=refuses, logprobs=lists)
    config = declared(profile, world, monkeypatch)
    if kind == "fill_mask":
        with pytest.raises(UserError, match=r"by fill_mask; it offers forced_choice, open"):
            asked(config, elicitation(kind))
        assert world.bodies == []
        return
    if kind == "forced_choice" and not lists:
        with pytest.raises(UserError, match=r"returns no log probabilities.*sampled_choice"):
            asked(config, elicitation(kind))
        return
    answers, notes = asked(config, elicitation(kind))
    # A version of the model is another name for it.
    assert [note for note in notes if "was answered by" not in note] == []
    # The profile knows, so that nothing is asked in vain.
    assert len(world.bodies) == 4
    said = {a.question.prompt: spread(a.question.prompt) for a in answers}
    if kind == "forced_choice":
        for answer in answers:
            ((_, top),) = said[answer.question.prompt].tokens
            assert sum(answer.mass) == pytest.approx(sum(p for t, p in top if t != "Well"))
    else:
        assert {a.question.prompt: a.completion.text for a in answers} == {
            prompt: one.text for prompt, one in said.items()
        }


@pytest.mark.parametrize("profile", LABS)
@pytest.mark.parametrize("way", ["stated", "votes"])
def test_a_judge_of_answers_works_with_the_name_of_the_profile_alone(
    loopback, monkeypatch, tmp_path, profile, way
):
    monkeypatch.setenv(VARIABLE, KEY)
    refuses, _, protocol = LABS[profile]
    monkeypatch.setattr(servers, "Handler", protocol)
    stated = dict.fromkeys(STANCE_CLASSES, 5) | {"agree": 80}
    said = Said(json.dumps({"reason": "So.", "stance": "agree", **stated}))
    world = loopback(key=KEY, refuses=refuses, answer=lambda prompt, body: said)
    given = ["+coding.models.gpt.kind=judge", "+coding.models.gpt.checkpoint=m-1"]
    given += [
        f"+api@coding.models.gpt.judge={profile}",
        f"coding.models.gpt.judge.probabilities={way}",
    ]
    gpt = compose(["+experiment=wvs_prefixes", *given])[0].coding.models["gpt"]
    url = world.url.replace("/v1", "/v1beta") if profile == "gemini_generate" else world.url
    api = replace(gpt.judge.api, base_url=url, key_variable=VARIABLE, backoff=0.01)
    gpt = replace(gpt, judge=replace(gpt.judge, api=api, votes=2))
    probs = get_coder("gpt", {"gpt": gpt}, journal_dir=tmp_path)(["S."], ["I agree."])
    assert STANCE_CLASSES[probs[0].argmax()] == "agree"
    # A trial, one answer for practice, and the answers: nothing is asked in vain.
    assert len(world.bodies) == (3 if way == "stated" else 4)
    asked_for = any("response_format" in body for body in world.bodies)
    assert asked_for == (not profile.startswith(("anthropic", "gemini_generate")))


def test_an_elicitation_that_no_server_offers_is_told_before_its_prefixes_are_checked():
    given = ["respondents=served", "api=openai", "respondents.served.checkpoint=m-1"]
    with pytest.raises(UserError, match="chat_api cannot be asked by fill_mask"):
        plan(compose([*ASKED_BY["fill_mask"], *given])[0])


@pytest.mark.parametrize("profile", ["openai", "vllm", "azure"])
@pytest.mark.parametrize("kind", ["open_ended", "roleplay", "judging"])
def test_a_reasoning_model_is_found_out_whatever_the_profile(loopback, monkeypatch, profile, kind):
    world = loopback(key=KEY, refuses=openai_reasoning, logprobs=False)
    config = declared(profile, world, monkeypatch)
    _, notes = asked(config, elicitation(kind))
    last = world.bodies[-1]
    assert not {"max_tokens", "top_k"} & last.keys()
    assert last["max_completion_tokens"] == elicitation(kind).max_new_tokens
    # The default temperature may be asked for, and is.
    assert ("temperature" in last) == (kind == "open_ended")
    said = "m: the server does not take {}; it is left out, and its default holds."
    expected = [] if kind == "open_ended" else [said.format("temperature")]
    if profile == "vllm":
        other = "m: the server does not take max_tokens; max_completion_tokens is sent instead."
        expected = [other, *expected]
        expected += [said.format("top_k")] if kind == "open_ended" else []
    assert sorted(notes) == sorted(expected)
    # Once for each field, by the trial question.
    assert len(world.bodies) == 4 + len(expected)


def test_probabilities_that_are_refused_end_in_a_sentence(loopback, monkeypatch):
    thinks = Said("<think>Hm, two is", finish="length")
    world = loopback(key=KEY, refuses=openai_reasoning, answer=lambda prompt, body: thinks)
    # More tokens for thinking would not help.
    with pytest.raises(UserError, match="returns no log probabilities of tokens"):
        asked(declared("openai", world, monkeypatch), elicitation("forced_choice"))


@pytest.mark.parametrize(
    "said",
    [
        "Requested sample logprobs of 20, which is greater than max allowed: 5",
        "top_logprobs must be between 0 and 5 for gpt-4.1-8b",
        "Invalid value for top_logprobs: less than or equal to 5 is supported, not 20.",
    ],
)
def test_fewer_tokens_are_asked_for_where_a_server_lists_fewer(loopback, monkeypatch, said):
    world = loopback(
        key=KEY, refuses=lambda body: bad_request(said) if body["top_logprobs"] > 5 else None
    )
    _, notes = asked(declared("vllm", world, monkeypatch), elicitation("forced_choice"))
    assert [body["top_logprobs"] for body in world.bodies] == [20, 5, 5, 5, 5]
    assert notes == ["m: the server lists at most 5 likeliest tokens; so many are asked for."]


@pytest.mark.parametrize("refuses", [gemini, mistral])
def test_several_fields_are_found_out_at_once(loopback, monkeypatch, refuses):
    world = loopback(key=KEY, refuses=refuses)
    _, notes = asked(declared("vllm", world, monkeypatch), elicitation("open_ended"))
    assert [one.split("take ")[1].split(";")[0] for one in notes] == ["seed", "top_k"]
    assert len(world.bodies) == 5


def test_a_value_that_is_wrong_is_no_field_that_is_refused(loopback, monkeypatch):
    world = loopback(key=KEY, refuses=claude)
    hot = replace(elicitation("open_ended"), temperature=1.5)
    with pytest.raises(UserError, match=r"status 400: temperature: range: 0..1"):
        asked(declared("anthropic", world, monkeypatch), hot)


@pytest.mark.parametrize("profile", ["vllm", "llama_cpp", "openrouter"])
def test_a_temperature_is_refused_where_the_server_has_a_limit(loopback, monkeypatch, profile):
    refuses, _, protocol = LABS[profile]
    monkeypatch.setattr(servers, "Handler", protocol)
    config = declared(profile, loopback(key=KEY, refuses=refuses), monkeypatch)
    hot = replace(elicitation("open_ended"), temperature=2.5)
    if profile == "openrouter":
        with pytest.raises(UserError, match=r"status 400: Invalid value for temperature"):
            asked(config, hot)
    else:
        assert len(asked(config, hot)[0]) == len(CONTEXTS)


@pytest.mark.parametrize(
    ("profile", "form", "says"),
    [
        ("vllm", {"type": "json_schema"}, "the 'json_schema' field must be provided"),
        ("llama_cpp", {"type": "xml"}, 'must be one of "text" or "json_object", but got: xml'),
        # It is dropped.
        ("openrouter", {"type": "xml"}, ""),
    ],
)
def test_a_form_of_answers_that_is_none_is_told(loopback, monkeypatch, profile, form, says):
    refuses, _, protocol = LABS[profile]
    monkeypatch.setattr(servers, "Handler", protocol)
    config = declared(profile, loopback(key=KEY, refuses=refuses), monkeypatch)
    config = replace(config, api=replace(config.api, extra_body={"response_format": form}))
    if says:
        with pytest.raises(UserError, match=says):
            asked(config, elicitation("open_ended"))
    else:
        assert len(asked(config, elicitation("open_ended"))[0]) == len(CONTEXTS)


@pytest.mark.parametrize("kind", ["forced_choice", "open_ended"])
def test_parameters_are_dropped_behind_a_router_unless_they_are_required(
    loopback, monkeypatch, kind
):
    monkeypatch.setattr(servers, "Handler", OpenRouter)
    world = loopback(key=KEY, refuses=openrouter)
    config = declared("openrouter", world, monkeypatch)
    required = {"provider": {"require_parameters": True}}
    strict = replace(config, api=replace(config.api, extra_body=required))
    if kind == "forced_choice":
        # The provider lists log probabilities, and takes all else that is sent.
        assert len(asked(strict, elicitation(kind))[0]) == len(CONTEXTS)
        return
    assert asked(config, elicitation(kind))[1] == []
    assert all("top_k" in body for body in world.bodies)
    with pytest.raises(UserError, match="No endpoints found that can handle the requested param"):
        asked(strict, elicitation(kind))


def test_what_the_user_asks_for_by_name_is_not_left_out(loopback, monkeypatch):
    world = loopback(key=KEY, refuses=openai_chat)
    config = declared("vllm", world, monkeypatch)
    config = replace(config, api=replace(config.api, extra_body={"top_k": 3}))
    with pytest.raises(UserError, match="Unrecognized request argument supplied: top_k"):
        asked(config, elicitation("open_ended"))


def test_a_limit_that_is_refused_under_both_names_ends():
    found = LeftOut()
    both = frozenset({"max_tokens", "max_completion_tokens"})
    assert found.learn(both, {"max_tokens": 4}, "")
    assert found.fields == {"max_tokens": "max_completion_tokens"}
    assert not found.learn(both, {"max_completion_tokens": 4}, "")


def test_thinking_that_is_refused_both_ways_ends():
    found = LeftOut()
    assert found.learn(frozenset({"thinking"}), {}, "")
    assert found.fields == {"thinking": "adaptive"}
    assert not found.learn(frozenset({"thinking"}), {"thinking": {"type": "adaptive"}}, "")


def test_names_within_other_names_are_not_meant():
    assert refused_fields("Unknown name: top_logprobs") == {"top_logprobs"}
    assert refused_fields("unsupported: max_tokens_per_day, temperatures") == set()
    assert refused_fields("'max_tokens' is too large: 99. This model supports at most 9") == set()


@pytest.mark.parametrize(
    ("words", "fields"),
    [
        ("`top_k` must be unset when thinking is enabled.", {"top_k"}),
        ("`temperature` may only be set to 1 when thinking is enabled.", {"temperature"}),
        ("`temperature` and `top_p` cannot both be specified for this model.", {"top_p"}),
        ("property 'seed' does not exist", {"seed"}),
        ("`temperature` is deprecated for this model.", {"temperature"}),
        ("deepseek-reasoner does not support the parameter `temperature`", {"temperature"}),
        (
            '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" '
            'and "output_config.effort" to control thinking behavior.',
            {"thinking"},
        ),
        (
            "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but "
            "got 8 instead.",
            {"least_tokens"},
        ),
        ("max_tokens must be at least 5", {"least_tokens"}),
        ("System role not supported", {"system"}),
        ("Conversation roles must alternate user/assistant/user/assistant/...", {"system"}),
        ("invalid temperature: only 1 is allowed for this model", {"temperature"}),
        ("'top_p' is not a supported parameter", {"top_p"}),
        (
            "Unsupported value: 'messages[0].role' does not support 'system' with this model.",
            {"system"},
        ),
        ("Developer instruction is not enabled for models/gemma-3-27b-it", {"system"}),
        ("max_tokens: your prompt contains at least 4077 input tokens", set()),
        ("temperature: range: 0..1", set()),
        ("temperature must be between 0 and 2", set()),
    ],
)
def test_what_servers_say_of_fields_that_they_refuse(words, fields):
    assert refused_fields(words) == fields


def sixteen_at_least(body):
    """Refuse as OpenAI does behind OpenRouter, which asks it by another protocol."""
    if body["max_tokens"] >= 16:
        return None
    said = (
        "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got "
        f"{body['max_tokens']} instead."
    )
    raw = json.dumps({"error": {"message": said, "code": "integer_below_min_value"}})
    about = {"raw": raw, "provider_name": "OpenAI"}
    return 400, {"error": {"message": "Provider returned error", "code": 400, "metadata": about}}


@pytest.mark.parametrize("kind", ["sampled_choice", "forced_choice", "paired"])
def test_a_limit_that_is_too_low_for_a_server_is_raised(loopback, monkeypatch, kind):
    world = loopback(key=KEY, refuses=sixteen_at_least)
    config, how = declared("openrouter", world, monkeypatch), elicitation(kind)
    _, notes = asked(config, how)
    limits = [body["max_tokens"] for body in world.bodies]
    if kind == "paired":
        assert (limits, notes) == ([how.max_new_tokens] * 4, [])
        return
    assert limits == [8 if kind == "sampled_choice" else 4, *[16] * 4]
    assert notes == [
        "m: the server takes no limit below 16 tokens; answers may have so many.",
    ]


def test_a_higher_limit_is_within_the_budget(loopback, monkeypatch):
    """What may be asked for at most is set aside before a request, and is more now."""
    world = loopback(key=KEY, refuses=sixteen_at_least, usage=False)
    config = declared("openrouter", world, monkeypatch)
    prompt = len("Please answer with yes or no: is two more than one?") + len('""') + 64
    for more, allowed in ((0, True), (-1, False)):
        api = replace(config.api, budget_tokens=prompt + 16 + more)
        with pytest.raises(UserError, match="budget_tokens: the next question might exceed"):
            asked(replace(config, api=api), elicitation("sampled_choice"))
        assert [b["max_tokens"] for b in world.bodies] == ([8, 16] if allowed else [8])
        world.bodies.clear()


@pytest.mark.parametrize("profile", ["vllm", "gemini_generate"])
def test_a_system_prompt_is_put_before_the_first_turn_where_there_is_no_place(
    loopback, monkeypatch, profile
):
    def of_chats(body):
        takes = body["messages"][0]["role"] != "system"
        return None if takes else bad_request("System role not supported")

    def of_gemini(body):
        said = "Developer instruction is not enabled for models/m-1"
        return (400, said, "INVALID_ARGUMENT") if "systemInstruction" in body else None

    refuses = of_gemini if profile == "gemini_generate" else of_chats
    monkeypatch.setattr(servers, "Handler", LABS[profile][2])
    world = loopback(key=KEY, refuses=refuses)
    answers, notes = asked(declared(profile, world, monkeypatch), elicitation("open_ended"))
    assert [note for note in notes if "was answered by" not in note] == [
        "m: the server takes no system prompt; it is put before the first question."
    ]
    left = {answer.question.system: answer.completion.text for answer in answers}
    assert left["Be brief."] == spread("Be brief.\n\nNow 1?").text
    # One is refused, and put once more.
    assert len(world.bodies) == 1 + 3 + 1


def test_a_system_prompt_that_is_not_there_is_not_learnt_of():
    found = LeftOut()
    user = {"messages": [{"role": "user", "content": "Now?"}]}
    assert not found.learn(frozenset({"system"}), user, "")
    assert found.learn(frozenset({"system"}), {"messages": [{"role": "system"}]}, "")
    assert found.fields == {"system": "user"}


def test_numbers_that_nothing_can_be_are_not_read():
    long = "9" * 5000
    assert refused_fields(f"max_tokens must be at least {long}") == set()
    lists = frozenset({"top_logprobs"})
    assert LeftOut().learn(lists, {"top_logprobs": 20}, f"at most 5, or {long}")


def test_a_limit_that_is_high_enough_is_not_learnt():
    words = "max_tokens must be at least 5"
    found = LeftOut()
    assert not found.learn(frozenset({"least_tokens"}), {"max_tokens": 5}, words)
    assert found.learn(frozenset({"least_tokens"}), {"max_completion_tokens": 4}, words)
    assert found.fields == {"least_tokens": "5"}
    # The server contradicts itself, and is not asked for ever.
    assert not found.learn(frozenset({"least_tokens"}), {"max_completion_tokens": 5}, words)


@pytest.mark.parametrize(
    ("profile", "protocol"), [("anthropic_messages", "anthropic"), ("gemini_generate", "gemini")]
)
def test_the_profiles_of_own_protocols_are_whole(profile, protocol):
    served = composed(profile)
    check_api("served", served)
    assert api_of(served).protocol == protocol
    assert api_of(served).base_url.startswith("https://")


@pytest.mark.parametrize("profile", LABS)
def test_the_url_of_a_profile_is_whole_or_says_what_is_missing(profile):
    served = composed(profile)
    if profile != "azure":
        check_api("served", served)
        return
    says = (
        r"respondents\.served\.api\.base_url: 'https://RESOURCE\.openai\.azure\.com/openai/v1' .*; "
        r"write the name of your resource in place of RESOURCE\."
    )
    with pytest.raises(UserError, match=says):
        check_api("served", served)
    url = api_of(served).base_url.replace("RESOURCE", "mine")
    check_api("served", replace(served, api=replace(api_of(served), base_url=url)))


@pytest.mark.parametrize(("kind", "name"), [("respondents", "gpt"), ("judges", "strict")])
def test_a_profile_under_another_name(kind, name):
    given = ["+experiment=politicsbench", f"+api@{kind}.{name}=openai"]
    config = compose([*given, f"+{kind}.{name}.checkpoint=gpt-4o"])[0]
    found = getattr(config, kind)[name]
    check_api(name, found)
    assert found.checkpoint == "gpt-4o"
    assert api_of(found) == api_of(composed("openai"))


def test_what_was_found_out_is_kept_and_a_run_goes_on_as_it_began(
    loopback, monkeypatch, tmp_path, caplog
):
    monkeypatch.setenv(VARIABLE, KEY)
    world = loopback(key=KEY, refuses=openai_reasoning, answer=lambda p, b: Said("I agree."))
    folder = tmp_path / "run"
    arguments = [
        *("+experiment=wvs_prefixes", "respondents=served", "items=[wvs-01,wvs-02]"),
        *("respondents.served.checkpoint=m-1", f"respondents.served.api.base_url={world.url}"),
        *(f"respondents.served.api.key_variable={VARIABLE}", "elicitation.temperature=0.5"),
        *("variants=[original]", "prefixes.only=[baseline]", "stages=[probe]"),
        *("respondents.served.api.concurrency=1", f"journal.cache={tmp_path / 'cache.sqlite'}"),
    ]
    arguments, again = ([*arguments, f"run_dir={at}"] for at in (folder, tmp_path / "again"))
    assert _main([*arguments, "elicitation.runs=1"]) == 0
    assert "does not take temperature; it is left out" in caplog.text
    left = {"max_tokens": "max_completion_tokens", "temperature": "", "top_k": ""}
    data = open_responses(folder)
    assert json.loads(data.attrs["left_out"]) == {"served": left}
    assert "served: the server does not take top_k" in data.attrs["notes"]
    # The server takes everything now; what is left is asked as the rest was.
    world.refuses = lambda body: None
    before = len(world.bodies)
    assert _main([*arguments, "elicitation.runs=2"]) == 0
    later = world.bodies[before:]
    assert len(later) == 1 + 2
    assert all(not left.keys() & body.keys() for body in later)
    assert json.loads(open_responses(folder).attrs["left_out"]) == {"served": left}
    # Another run that takes the answers over says the same of them, and asks nobody.
    before = len(world.bodies)
    assert _main([*again, "elicitation.runs=2"]) == 0
    assert len(world.bodies) == before
    assert json.loads(open_responses(tmp_path / "again").attrs["left_out"]) == {"served": left}
