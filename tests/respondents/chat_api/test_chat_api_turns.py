"""Turns before a question, temperatures, schemas and full contexts, on a server on this machine."""

import json
from contextlib import closing
from dataclasses import replace

import pytest
from loopback import Said

from polbayes.config.schema import ApiConfig, ElicitationConfig, RespondentConfig
from polbayes.instrument.design import ModelInfo
from polbayes.respondents import open_respondent
from polbayes.respondents.base import Question
from polbayes.respondents.chat_api.request import most_tokens
from polbayes.respondents.usage import Usage
from polbayes.roleplay.rubric import schema

PLAY = ElicitationConfig(kind="roleplay", template="roleplay", temperature=0.7, max_new_tokens=20)
INFO = ModelInfo("m", "", checkpoint="m-1")
JUDGE = ElicitationConfig(kind="judging", template="roleplay", temperature=0.0, top_k=0)


def question(n=1, **more):
    return Question("s", "original", "reflection", n, "S", 1, "economic", f"Now {n}?", **more)


def api(world, **more):
    settings = {"key_variable": None, "backoff": 0.01, "concurrency": 2, **more}
    config = ApiConfig(base_url=world.url, **settings)
    return RespondentConfig(backend="chat_api", checkpoint="m-1", api=config)


def asked(config, questions, how):
    with closing(open_respondent("m", config, elicitation=how)) as respondent:
        put = [(one, 7) for one in questions]
        return [a for a in respondent.answers(put, None, spent=Usage()) if a.question]


def bodies(world):
    """Return the requests without the trial."""
    return [b for b in world.bodies if b["messages"][-1]["content"].startswith("Now")]


def test_the_turns_before_are_the_chat_before(loopback):
    world = loopback()
    before = (("First?", "One."), ("Second?", "Two."))
    asked(api(world, system="Be brief."), [question(before=before)], PLAY)
    assert [(m["role"], m["content"]) for m in bodies(world)[0]["messages"]] == [
        ("system", "Be brief."),
        *(("user", "First?"), ("assistant", "One."), ("user", "Second?"), ("assistant", "Two.")),
        ("user", "Now 1?"),
    ]


def test_what_a_question_may_take_counts_the_turns_before():
    config = ApiConfig()
    alone = most_tokens(question(), config, PLAY, INFO)
    more = most_tokens(question(before=(("x" * 500, "y" * 700),)), config, PLAY, INFO)
    assert more[0] >= alone[0] + 1200
    assert alone[1] == more[1] == 20


def test_a_question_may_have_a_temperature_of_its_own(loopback):
    world = loopback()
    asked(api(world), [question(1, temperature=0.0), question(2)], PLAY)
    found = {b["messages"][-1]["content"]: b["temperature"] for b in bodies(world)}
    assert found == {"Now 1?": 0.0, "Now 2?": 0.7}


def test_a_schema_is_asked_for(loopback):
    world = loopback(answer=lambda prompt, body: Said('{"reasoning": "x"}'))
    asked(api(world), [question(schema=schema())], JUDGE)
    form = bodies(world)[0]["response_format"]
    assert form["type"] == "json_schema"
    assert form["json_schema"]["schema"] == json.loads(json.dumps(schema()))
    assert "top_k" not in bodies(world)[0]


def test_a_server_without_schemas_is_asked_without_and_only_tried_once(loopback):
    world = loopback(unknown=("response_format",))
    questions = [question(n, schema=schema()) for n in range(6)]
    answers = asked(api(world, concurrency=1), questions, JUDGE)
    assert [answer.error for answer in answers] == [""] * 6
    assert ["response_format" in b for b in bodies(world)] == [True] + [False] * 6


def test_a_schema_that_is_left_out_is_said_and_known_from_then_on(loopback):
    world = loopback()
    world.refuses = lambda body: (400, {"error": "No."}) if "response_format" in body else None
    config = api(world, concurrency=1)
    put = [(question(n, schema=schema()), 1) for n in range(3)]
    with closing(open_respondent("m", config, elicitation=JUDGE)) as respondent:
        found = list(respondent.answers(put, None, spent=Usage()))
    assert [one.left_out for one in found if one.left_out] == [{"response_format": ""}]
    notes = [one.note for one in found if one.left_out]
    assert notes == [
        "m: the server does not take response_format; it is left out, and its default holds."
    ]
    world.bodies.clear()
    with closing(open_respondent("m", config, elicitation=JUDGE)) as respondent:
        list(respondent.answers(put, None, spent=Usage(), left_out={"response_format": ""}))
    assert not any("response_format" in body for body in world.bodies)


def test_a_schema_can_be_left_out_from_the_start(loopback):
    world = loopback()
    asked(api(world, omit=["response_format"]), [question(schema=schema())], JUDGE)
    assert not any("response_format" in b for b in world.bodies)


def test_a_question_that_is_wrong_for_another_reason_fails_with_that_reason(loopback):
    def status(prompt):
        return (400, {"error": {"message": "No."}}) if prompt == "Now 1?" else None

    world = loopback(extra_status=status)
    questions = [question(1, schema=schema()), question(2, schema=schema())]
    answers = {a.question.run: a for a in asked(api(world, concurrency=1), questions, JUDGE)}
    assert answers[1].error == "status 400: No."
    assert not answers[1].too_long
    assert answers[2].error == ""
    # The schema was not to blame, and is still asked for.
    assert "response_format" in bodies(world)[-1]


@pytest.mark.parametrize(
    "error",
    [
        {"message": "Too much.", "code": "context_length_exceeded"},
        {"message": "This model's maximum context length is 4096 tokens. However, you ..."},
        {"message": "the request exceeds the available context size, try increasing it"},
        {"message": "prompt is too long: 210000 tokens > 200000 maximum"},
    ],
)
def test_a_full_context_is_told_from_other_failures(loopback, error):
    world = loopback(
        extra_status=lambda p: (400, {"error": error}) if p.startswith("Now") else None
    )
    (answer,) = asked(api(world), [question(schema=schema())], JUDGE)
    assert answer.too_long
    assert error["message"][:20] in answer.error
    # That is no reason to ask once more without the schema.
    assert len(bodies(world)) == 1


def test_the_same_question_with_other_turns_is_another_one():
    from polbayes.respondents.questions import prompt_digest, question_digest

    one = question()
    assert question_digest(one) == prompt_digest(one.prompt)
    other = replace(one, before=(("a", "b"),))
    assert len({question_digest(q) for q in (one, other, replace(one, before=(("a", "c"),)))}) == 3
