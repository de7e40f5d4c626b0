"""Batch services: what is submitted, what comes back hours later, and what happens in between."""

import json
import re
from contextlib import closing
from dataclasses import replace
from itertools import count

import loopback as servers
import pytest
from loopback import KEY, VARIABLE, Said, completion
from native_servers import Anthropic

from polbayes.cli import _main
from polbayes.coding import get_coder
from polbayes.config.schema import (
    ApiConfig,
    CoderConfig,
    ElicitationConfig,
    JudgeConfig,
    RespondentConfig,
)
from polbayes.data.dataset import STANCE, STANCE_CLASSES, open_responses
from polbayes.errors import UserError
from polbayes.instrument.design import ModelInfo
from polbayes.instrument.prompts import load_lexicon
from polbayes.instrument.scenarios import UNITS
from polbayes.probing.journal import cell_of, read
from polbayes.respondents import open_respondent
from polbayes.respondents.base import Question
from polbayes.respondents.chat_api.anthropic import completion_of, message_of
from polbayes.respondents.chat_api.batch import BatchRespondent
from polbayes.respondents.chat_api.batch_services import _read, open_service
from polbayes.respondents.chat_api.failures import Failure, Kind
from polbayes.respondents.chat_api.settings import check_api
from polbayes.respondents.usage import Usage

OPEN = ElicitationConfig(kind="open_ended", template="faulborn", max_new_tokens=20)
CHOICE = ElicitationConfig(kind="forced_choice", template="haller")


class Handler(Anthropic):
    """The server of the other tests, with the batch services of both labs."""

    def do_POST(self):  # noqa: N802
        if self.path in ("/v1/chat/completions", "/v1/messages"):
            return super().do_POST()
        raw = self.rfile.read(int(self.headers["Content-Length"]))
        world = self.server.world
        if self.path == "/v1/files":
            lines = [json.loads(x) for x in raw.splitlines() if x.startswith(b'{"custom_id"')]
            world.files["file-in"] = lines
            assert b'name="purpose"' in raw
            return self.send(200, about_file("file-in"))
        body = json.loads(raw)
        if self.path == "/v1/batches":
            assert body["endpoint"] == "/v1/chat/completions"
            requests = {x["custom_id"]: x["body"] for x in world.files[body["input_file_id"]]}
            batch = world.submitted(requests)
            return self.send(200, batch.openai()) if batch else self.send(500, {"error": "oh no"})
        assert self.headers["x-api-key"] == KEY
        assert self.headers["anthropic-version"]
        requests = {x["custom_id"]: x["params"] for x in body["requests"]}
        return self.send(200, world.submitted(requests).anthropic())

    def do_GET(self):  # noqa: N802
        world = self.server.world
        name = re.search(r"(batch-\d+)", self.path)[1]
        if world.away:
            world.away -= 1
            return self.send(503, {"error": {"message": "busy"}})
        if name not in world.batches:
            return self.send(404, {"error": {"message": "no such batch"}})
        batch = world.batches[name]
        if self.path == f"/v1/batches/{name}":
            return self.send(200, batch.polled().openai())
        if self.path == f"/v1/messages/batches/{name}":
            return self.send(200, batch.polled().anthropic())
        if name in world.files_gone:
            return self.send(404, {"error": {"message": "no such file"}})
        openai = self.path == f"/v1/files/{name}/content"
        lines = [batch.line(*pair, openai=openai) for pair in reversed(batch.requests.items())]
        text = "\n".join([*map(json.dumps, lines), "no json", ""])
        return self.raw(200, world.cut(text.encode()), length=len(text.encode()))


def about_file(name):
    return {
        "id": name,
        "object": "file",
        "bytes": 1,
        "created_at": 1,
        "filename": "batch.jsonl",
        "purpose": "batch",
        "status": "processed",
    }


class Batch:
    def __init__(self, world, requests):
        self.world, self.requests = world, requests
        self.name = f"batch-{next(world.numbers)}"
        self.left = world.polls
        under_way = [b for b in world.batches.values() if not (b.over or b.crowded)]
        self.crowded = sum(len(b.requests) for b in (*under_way, self)) > world.room
        self.number = len(world.batches)

    def polled(self):
        self.left -= 1
        return self

    @property
    def over(self):
        return self.left < 0

    def openai(self):
        counts = {"total": len(self.requests), "completed": 0, "failed": 0}
        status = "in_progress"
        if self.over:
            status = "failed" if self.name in self.world.fails else "completed"
            counts["completed"] = counts["total"]
        said = {"message": "the file is too old", "code": "invalid_file"}
        if self.crowded:
            status = "failed"
            said = {"message": "Enqueued token limit reached", "code": "token_limit_exceeded"}
        failed = {"object": "list", "data": [said]}
        return {
            "id": self.name,
            "object": "batch",
            "endpoint": "/v1/chat/completions",
            "errors": failed if status == "failed" else None,
            "input_file_id": "file-in",
            "completion_window": "24h",
            "status": status,
            "output_file_id": self.name if self.over and status != "failed" else None,
            "created_at": 1,
            "request_counts": counts,
        }

    def anthropic(self):
        counts = dict.fromkeys(("processing", "succeeded", "errored", "canceled", "expired"), 0)
        counts["succeeded" if self.over else "processing"] = len(self.requests)
        status = "ended" if self.over else "in_progress"
        return {"id": self.name, "processing_status": status, "request_counts": counts}

    def line(self, name, body, *, openai):
        prompt = body["messages"][-1]["content"]
        expired = self.number == 0 and self.world.expires(prompt)
        if openai:
            if expired:
                said = {"code": "batch_expired", "message": "This request expired."}
                return {"custom_id": name, "response": None, "error": said}
            status, content = self.world.refuses(body) or (
                200,
                completion(self.world, body, prompt),
            )
            response = {"status_code": status, "request_id": "r", "body": content}
            return {"custom_id": name, "response": response, "error": None}
        if expired:
            return {"custom_id": name, "result": {"type": "expired"}}
        said = self.world.answer(prompt, body)
        message = {
            "model": self.world.model,
            "content": [{"type": "text", "text": said.text}],
            "stop_reason": "end_turn",
            "usage": {"input_tokens": 7, "output_tokens": 3},
        }
        return {"custom_id": name, "result": {"type": "succeeded", "message": message}}


@pytest.fixture
def world(loopback, monkeypatch):
    monkeypatch.setattr(servers, "Handler", Handler)
    monkeypatch.setenv(VARIABLE, KEY)
    world = loopback()
    world.files, world.batches, world.numbers = {}, {}, count()
    world.polls = 1
    world.files_gone = set()
    world.fails = set()  # batches that are not accepted
    world.room = 10**9  # so many questions may be under way
    world.away = 0  # so many questions about batches to come are turned away
    world.cut = lambda raw: raw  # what arrives of a file of replies
    world.expires = lambda prompt: False

    def submitted(requests):
        batch = Batch(world, requests)
        world.batches[batch.name] = batch
        return batch

    world.submitted = submitted
    return world


def declared(world, service="openai", **more):
    more = {"backoff": 0.01, "batch_poll": 0.01, "batch": service, **more}
    if service == "anthropic":
        more["protocol"] = service
    api = ApiConfig(base_url=world.url, key_variable=VARIABLE, **more)
    return RespondentConfig(backend="chat_api", checkpoint="m-1", api=api)


def questions(many=5, **more):
    return [
        Question(*(f"i{n}", "original", "baseline", 1, "S"), 1, "economic", f"Now {n}?", **more)
        for n in range(many)
    ]


def asked(config, how=OPEN, many=5, **more):
    lexicon = load_lexicon("haller_generative") if how.kind == "forced_choice" else None
    with closing(open_respondent("m", config, elicitation=how)) as respondent:
        put = [(one, 7) for one in questions(many)]
        return list(respondent.answers(put, lexicon, spent=Usage(), **more))


def until_stopped(config, many=5, **more):
    """Return the answers, and the error that ended them."""
    found, error = [], ""
    with closing(open_respondent("m", config, elicitation=OPEN)) as respondent:
        put = [(one, 7) for one in questions(many)]
        try:
            for answer in respondent.answers(put, None, spent=Usage(), **more):
                found.append(answer)
        except UserError as raised:
            error = str(raised)
    return found, error


def of_questions(found):
    return {a.question.item: (a.completion, a.mass, a.error) for a in found if a.question}


@pytest.mark.parametrize("how", [OPEN, CHOICE], ids=lambda how: how.kind)
def test_the_answers_are_those_of_single_requests(world, how):
    single = of_questions(asked(declared(world, None), how))
    bodies = [body for body in world.bodies if body["messages"][-1]["content"].startswith("Now")]
    found = asked(declared(world, batch_size=2), how)
    assert of_questions(found) == single
    assert len(single) == 5
    assert [len(batch.requests) for batch in world.batches.values()] == [2, 2, 1]
    put = [body for batch in world.batches.values() for body in batch.requests.values()]
    order = lambda body: body["messages"][-1]["content"]  # noqa: E731
    assert sorted(put, key=order) == sorted(bodies, key=order)
    records = [(a.batch.name, a.batch.questions, a.batch.over) for a in found if a.batch]
    assert records == [
        *[("batch-0", 2, False), ("batch-1", 2, False), ("batch-2", 1, False)],
        *[("batch-0", 2, True), ("batch-1", 2, True), ("batch-2", 1, True)],
    ]
    assert sum((a.usage for a in found), Usage()).input > 0


def test_a_batch_of_anthropic_gives_the_same_texts(world):
    single = of_questions(asked(declared(world, None, protocol="anthropic")))
    bodies = [body for body in world.bodies if body["messages"][-1]["content"].startswith("Now")]
    assert of_questions(asked(declared(world, "anthropic"))) == single
    (batch,) = world.batches.values()
    order = lambda body: body["messages"][-1]["content"]  # noqa: E731
    assert sorted(batch.requests.values(), key=order) == sorted(bodies, key=order)
    for body in bodies:
        assert set(body) == {"model", "messages", "max_tokens", "temperature", "top_k"}


def test_a_request_in_the_words_of_anthropic():
    turns = [("system", "Be brief."), ("user", "A"), ("assistant", "B"), ("user", "C")]
    body = {
        "model": "m",
        "messages": [{"role": role, "content": text} for role, text in turns],
        "max_completion_tokens": 9,
        "temperature": 0.5,
        "seed": 3,
        "response_format": {"type": "json_schema"},
        "extra_body": {"thinking": {"type": "enabled"}},
    }
    assert message_of(body, ModelInfo("m", "")) == {
        "model": "m",
        "system": "Be brief.",
        "messages": [
            {"role": "user", "content": "A"},
            {"role": "assistant", "content": "B"},
            {"role": "user", "content": "C"},
        ],
        "max_tokens": 9,
        "temperature": 0.5,
        "thinking": {"type": "enabled"},
    }


@pytest.mark.parametrize(
    ("about", "sent"),
    [
        ({}, {}),
        ({"tokens": 2000}, {"thinking": {"type": "enabled", "budget_tokens": 2000}}),
        ({"effort": "low"}, {"output_config": {"effort": "low"}}),
        ({"effort": "none"}, {"thinking": {"type": "disabled"}}),
        (
            {"tokens": 2000, "effort": "high", "own": {"thinking": {"type": "adaptive"}}},
            {"thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}},
        ),
    ],
)
def test_thinking_in_the_words_of_anthropic(about, sent):
    """What is declared is asked for, so that two efforts are two models."""
    effort = {"reasoning_effort": about["effort"]} if "effort" in about else {}
    body = {"model": "m", "messages": [], "max_tokens": 9, **effort}
    body["extra_body"] = about.get("own", {})
    found = message_of(body, ModelInfo("m", "", thinking_tokens=about.get("tokens", 0)))
    assert {k: v for k, v in found.items() if k in ("thinking", "output_config")} == sent
    assert "reasoning_effort" not in found


def refuses_with_thinking(body):
    """Refuse in the words of Anthropic."""
    if "top_k" in body:
        return 400, {"error": {"message": "`top_k` must be unset when thinking is enabled."}}
    if body.get("temperature", 1) != 1:
        said = "`temperature` may only be set to 1 when thinking is enabled."
        return 400, {"error": {"message": said}}
    return None


@pytest.mark.parametrize("service", [None, "anthropic"])
def test_what_does_not_go_with_thinking_is_left_out_and_said(world, service):
    world.refuses = refuses_with_thinking
    config = replace(declared(world, service, protocol="anthropic"), thinking_tokens=2000)
    found = asked(config, replace(OPEN, temperature=0.7, top_k=10, max_new_tokens=30))
    sent = [body for body in world.bodies if "top_k" not in body and "temperature" not in body]
    batched = [body for batch in world.batches.values() for body in batch.requests.values()]
    assert len(sent) + len(batched) == 6
    for body in (*sent, *batched):
        assert body["thinking"] == {"type": "enabled", "budget_tokens": 2000}
        assert body["max_tokens"] == 2030
        assert not {"top_k", "temperature"} & body.keys()
    left = {name for answer in found for name in answer.left_out}
    assert left == {"top_k", "temperature"}


def decides_by_itself(body):
    """Refuse as Claude models do that take no budget for thinking."""
    if body.get("thinking", {}).get("type") != "enabled":
        return None
    said = (
        '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and '
        '"output_config.effort" to control thinking behavior.'
    )
    return 400, {"type": "error", "error": {"type": "invalid_request_error", "message": said}}


@pytest.mark.parametrize("service", [None, "anthropic"])
def test_a_model_that_decides_how_much_it_thinks_is_let_decide(world, service):
    world.refuses = decides_by_itself
    config = declared(world, service, protocol="anthropic")
    config = replace(config, thinking_tokens=2000, reasoning_effort="low")
    found = asked(config, replace(OPEN, max_new_tokens=30))
    batched = [body for batch in world.batches.values() for body in batch.requests.values()]
    refused, *sent = [*world.bodies, *batched]
    assert refused["thinking"] == {"type": "enabled", "budget_tokens": 2000}
    assert len(sent) == 6
    for body in sent:
        assert body["thinking"] == {"type": "adaptive", "display": "summarized"}
        assert body["output_config"] == {"effort": "low"}
        # What it thinks is limited all the same.
        assert body["max_tokens"] == 2030
    (answer,) = [one for one in found if one.left_out]
    assert answer.left_out == {"thinking": "adaptive"}
    assert answer.note == (
        "m: takes no budget for thinking, and decides by itself how much it thinks."
    )
    assert {a.error for a in found if a.question} == {""}


def test_thinking_that_the_user_asks_for_by_name_is_not_changed(world):
    world.refuses = decides_by_itself
    own = {"thinking": {"type": "enabled", "budget_tokens": 15}}
    config = declared(world, None, protocol="anthropic", extra_body=own)
    with pytest.raises(UserError, match=r'"thinking.type.enabled" is not supported.*effort'):
        asked(config)
    assert len(world.bodies) == 1


def test_less_thinking_than_anthropic_takes_is_refused():
    api = ApiConfig(protocol="anthropic")
    config = RespondentConfig(backend="chat_api", checkpoint="m", api=api, thinking_tokens=1000)
    with pytest.raises(UserError, match=r"m\.thinking_tokens: Anthropic takes 1024 or more, not"):
        check_api("m", config)
    check_api("m", replace(config, thinking_tokens=1024))


def test_a_reply_in_the_words_of_anthropic():
    message = {
        "model": "claude",
        "content": [
            {"type": "thinking", "thinking": "Hm."},
            {"type": "text", "text": "I "},
            {"type": "text", "text": "agree."},
        ],
        "stop_reason": "max_tokens",
        "usage": {"input_tokens": 5, "cache_read_input_tokens": 2, "output_tokens": 4},
    }
    reply = _read(200, completion_of(message), None)
    assert (reply.text, reply.thoughts, reply.truncated) == ("I agree.", "Hm.", True)
    assert reply.tokens == (7, 4)
    assert _read(200, completion_of({**message, "stop_reason": "refusal"}), None).declined
    assert _read(200, completion_of({**message, "usage": "x"}), None).tokens is None
    for wrong in (None, [], "text", {"content": "x"}, {"content": [1]}):
        reply = _read(200, completion_of(wrong), None)
        assert isinstance(reply, Failure) or reply.text == ""
    failure = _read(400, {"error": {"type": "invalid_request_error", "message": "no"}}, None)
    assert (failure.kind, failure.message) == (Kind.QUESTION, "status 400: no")


def test_thinking_that_anthropic_does_not_show_is_counted():
    """As of models that think by default, and leave its text out."""
    usage = {"input_tokens": 5, "output_tokens": 60}
    message = {
        "content": [{"type": "thinking", "thinking": "", "signature": "x"}],
        "stop_reason": "max_tokens",
        "usage": {**usage, "output_tokens_details": {"thinking_tokens": 60}},
    }
    reply = _read(200, completion_of(message), None)
    assert (reply.text, reply.thoughts, reply.truncated) == ("", "", True)
    assert (reply.tokens, reply.thought_tokens) == ((5, 60), 60)
    for odd in (None, 3, {}, {"thinking_tokens": "many"}):
        message["usage"] = {**usage, "output_tokens_details": odd}
        assert _read(200, completion_of(message), None).thought_tokens is None
    message["stop_reason"] = "model_context_window_exceeded"
    assert _read(200, completion_of(message), None).truncated


def test_an_error_of_thinking_within_a_batch_is_an_answer_that_was_cut_off():
    said = "Could not finish the message because max_tokens or model output limit was reached."
    reply = _read(400, {"error": {"message": said}}, None)
    assert (reply.text, reply.truncated) == ("", True)


def test_single_requests_in_the_words_of_anthropic(world):
    chats = of_questions(asked(declared(world, None)))
    world.bodies.clear()
    world.down = 2
    thinking = {"thinking": {"type": "enabled"}}
    more = {"protocol": "anthropic", "system": "Be brief.", "extra_body": thinking}
    found = asked(declared(world, None, **more))
    done = {item: completion for item, (completion, _, _) in of_questions(found).items()}
    texts = {item: (one.text, one.reasoning) for item, one in done.items()}
    assert texts == {item: (one.text, "Hm.") for item, (one, _, _) in chats.items()}
    assert {body["system"] for body in world.bodies} == {"Be brief."}
    assert not any({"seed", "extra_body", "logprobs"} & body.keys() for body in world.bodies)
    assert sum((a.usage for a in found), Usage()) == Usage(input=6 * 7, output=6 * 3)


def test_no_probabilities_in_the_words_of_anthropic(world):
    with pytest.raises(UserError, match="returns no log probabilities"):
        asked(declared(world, None, protocol="anthropic"), CHOICE)


def test_a_server_of_anthropic_that_is_not_there(world):
    config = declared(world, None, protocol="anthropic", retries=1)
    config = replace(config, api=replace(config.api, base_url="http://127.0.0.1:9/v1"))
    with pytest.raises(
        UserError, match=r"does not answer \(the connection failed \(ConnectError\)\)"
    ):
        asked(config)


@pytest.mark.parametrize("service", ["openai", "anthropic"])
def test_what_expired_is_submitted_again(world, service):
    world.expires = lambda prompt: prompt in ("Now 1?", "Now 3?")
    found = of_questions(asked(declared(world, service)))
    assert len(found) == 5
    assert not any(error for _, _, error in found.values())
    assert [len(batch.requests) for batch in world.batches.values()] == [5, 2]


def test_a_question_that_always_fails_does_not_go_on_for_ever(world):
    world.refuses = lambda body: (
        (500, {"error": {"message": "oh no"}})
        if body["messages"][-1]["content"] == "Now 1?"
        else None
    )
    found = of_questions(asked(declared(world)))
    assert [item for item, (_, _, error) in found.items() if error] == ["i1"]
    assert [len(batch.requests) for batch in world.batches.values()] == [5, 1, 1]


def test_a_field_that_is_refused_is_left_out_of_the_next_batch(world):
    def refuses(body):
        if "seed" in body and body["messages"][-1]["content"].startswith("Now"):
            said = "Unrecognized request argument supplied: seed"
            return 400, {"error": {"message": said, "param": None}}
        return None

    world.refuses = refuses
    found = asked(declared(world))
    assert not any(answer.error for answer in found)
    first, second = world.batches.values()
    assert all("seed" in body for body in first.requests.values())
    assert not any("seed" in body for body in second.requests.values())
    assert [a.left_out for a in found if a.left_out] == [{"seed": ""}]


def test_a_batch_that_is_not_accepted_stops_after_the_others(world):
    world.fails = {"batch-0"}
    found, error = until_stopped(declared(world, batch_size=2))
    assert "batch-0 was not accepted (the file is too old)" in error
    assert len(of_questions(found)) == 3
    assert sum(a.batch.over for a in found if a.batch) == len(world.batches) == 3


def test_a_batch_that_cannot_be_submitted_stops_after_those_that_were(world):
    submit, times = world.submitted, iter([True, True])
    world.submitted = lambda requests: submit(requests) if next(times, False) else None
    found, error = until_stopped(declared(world, batch_size=2, retries=0))
    assert "does not answer (status 500" in error
    assert len(of_questions(found)) == 4
    assert sum(a.batch.over for a in found if a.batch) == len(world.batches) == 2


@pytest.mark.parametrize(
    ("room", "size", "sizes"),
    [
        # What does not fit in beside others waits for them.
        (3, 2, [2, 2, 1, 2]),
        # What never fits in is divided.
        (2, 10, [5, 2, 2, 1, 2, 1, 1]),
    ],
)
def test_more_tokens_than_may_be_under_way_are_submitted_by_and_by(world, room, size, sizes):
    single = of_questions(asked(declared(world, None)))
    world.room = room
    found = asked(declared(world, batch_size=size))
    assert of_questions(found) == single
    assert [len(batch.requests) for batch in world.batches.values()] == sizes
    assert sum(a.batch.over for a in found if a.batch) == len(sizes)


def test_no_room_for_a_single_question_stops(world):
    world.room = 0
    found, error = until_stopped(declared(world), many=40)
    assert not of_questions(found)
    assert "accept a batch of one question (Enqueued token limit reached); what was" in error
    sizes = [len(batch.requests) for batch in world.batches.values()]
    assert sizes == [40, 20, 20, *[10] * 4, *[5] * 8, *[2] * 16, *[1] * 16]


def test_batches_grow_again_when_there_is_room(world):
    submit = world.submitted

    def submitted(requests):
        world.room = 0 if len(requests) > 1 and len(world.batches) < 40 else 10**9
        return submit(requests)

    world.submitted = submitted
    assert len(of_questions(asked(declared(world), many=40))) == 40
    sizes = [len(batch.requests) for batch in world.batches.values()]
    assert sizes == [40, 20, 20, *[10] * 4, *[5] * 8, *[2] * 16, *[1] * 16, *[2] * 12]


def submitted_before(world, service="openai"):
    """Return batches of which one is still there and two are gone, and the world as it was."""
    known = [a.batch for a in asked(declared(world, service, batch_size=2)) if a.batch]
    batches = [batch for batch in known if not batch.over]
    del world.batches["batch-0"]
    if service == "openai":  # knows the batch, and has its file no more
        world.files_gone = {"batch-2"}
    else:
        del world.batches["batch-2"]
    return batches


@pytest.mark.parametrize("service", ["openai", "anthropic"])
def test_batches_that_are_gone_are_named_after_the_others_are_fetched(world, service):
    found, error = until_stopped(declared(world, service), batches=submitted_before(world, service))
    assert "no longer has batch-0,batch-2 for this key (status 404: no such batch)" in error
    assert "set respondents.m.api.lost_batches=[batch-0,batch-2] to ask these questions" in error
    assert set(of_questions(found)) == {"i2", "i3"}
    assert [(a.batch.name, a.batch.over) for a in found if a.batch] == [("batch-1", True)]


@pytest.mark.parametrize("service", ["openai", "anthropic", None])
def test_questions_of_lost_batches_are_asked_again(world, service):
    batches = submitted_before(world, service or "openai")
    protocol = {"protocol": "anthropic"} if service == "anthropic" else {}
    lost = ["batch-0", "batch-2", *(["batch-1"] if service is None else [])]
    world.bodies.clear()
    before = set(world.batches)
    found = asked(declared(world, service, lost_batches=lost, **protocol), batches=batches)
    assert of_questions(found) == of_questions(asked(declared(world, None, **protocol)))
    over = [a.batch.name for a in found if a.batch and a.batch.over]
    new = [batch for name, batch in world.batches.items() if name not in before]
    if service is None:
        assert (over, new) == (["batch-0", "batch-1", "batch-2"], [])
    else:
        assert over[:3] == ["batch-0", "batch-2", "batch-1"]
        assert [len(batch.requests) for batch in new] == [3]
    # What was lost may have been paid for.
    used = [a.usage for a in found if a.batch and a.batch.name in lost]
    for batch, usage in zip((b for b in batches if b.name in lost), used, strict=True):
        assert (usage.batch_input_bound, usage.batch_output_bound) == batch.most
        assert usage.uncounted == batch.questions


@pytest.mark.parametrize("service", ["openai", "anthropic"])
def test_a_service_that_is_down_for_a_while(world, service):
    """However often the service does not answer, it is asked again at the next poll."""
    world.away = 20
    assert len(of_questions(asked(declared(world, service, retries=0)))) == 5
    assert world.away == 0
    assert len(world.batches) == 1


@pytest.mark.parametrize("service", ["openai", "anthropic"])
def test_replies_that_break_off_are_fetched_to_their_end(world, service):
    whole = asked(declared(world, service))
    breaks = iter([60, 900, 1200])
    world.cut = lambda raw: raw[: next(breaks, len(raw))]
    found = asked(declared(world, service))
    assert of_questions(found) == of_questions(whole)
    assert [answer.usage for answer in found] == [answer.usage for answer in whole]
    assert len(world.batches) == 2
    breaks = iter([60, 900, 1200])
    with pytest.raises(UserError, match=r"does not answer \(.*\); what was answered is kept"):
        asked(declared(world, service, retries=2))


def test_an_unknown_service(world):
    with pytest.raises(UserError, match=r"respondents.m.api.batch: unknown batch service 'no'"):
        asked(declared(world, "no"))


@pytest.mark.parametrize(
    ("service", "protocol", "profile"),
    [
        ("anthropic", "openai", "anthropic_messages"),
        ("openai", "anthropic", "openai"),
    ],
)
def test_the_service_of_another_protocol_is_refused(service, protocol, profile):
    """Its batches would ask other questions than single requests do."""
    api = ApiConfig(protocol=protocol, batch=service)
    config = RespondentConfig(backend="chat_api", checkpoint="m", api=api)
    with pytest.raises(UserError, match=rf"respondents.m.api.batch: .*={protocol}; .*={profile},"):
        check_api("m", config)
    check_api("m", replace(config, api=replace(api, protocol=service)))


def test_single_requests_do_not_forget_a_batch(world):
    known = next(a.batch for a in asked(declared(world)) if a.batch)
    said = r"batch batch-0 is still to be fetched; .* or respondents.m.api.lost_batches=\[batch-0\]"
    with pytest.raises(UserError, match=said):
        asked(declared(world, None), batches=[known])
    with pytest.raises(UserError, match="batches batch-0,batch-7 are still to be fetched"):
        asked(declared(world, None), batches=[known, replace(known, name="batch-7")])


def test_the_budget_covers_what_is_under_way(world):
    most = next(a.batch.most for a in asked(declared(world)) if a.batch)
    whole = sum(most)
    trial = 1000
    world.batches.clear()
    budget = whole * 3 // 5 + trial
    found, error = until_stopped(declared(world, budget_tokens=budget))
    spent = sum((a.usage for a in found), Usage())
    assert spent.input + spent.output <= budget
    # All but the trial question is charged as a batch.
    assert 0 < spent.batch_input < spent.input
    for batch in (a.batch for a in found if a.batch and not a.batch.over):
        assert sum(batch.most) <= budget
    assert not error or "budget_tokens" in error
    assert len(of_questions(found)) == sum(len(b.requests) for b in world.batches.values())


def test_half_of_the_replies_before_a_crash(world):
    config = declared(world)
    with closing(open_respondent("m", config, elicitation=OPEN)) as respondent:
        put = [(one, 7) for one in questions()]
        answers = respondent.answers(put, None, spent=Usage())
        first = []
        for answer in answers:
            first.append(answer)
            if len(of_questions(first)) == 2:
                break
        answers.close()
    (batch,) = [a.batch for a in first if a.batch]
    seen = of_questions(first)
    rest = [(one, 7) for one in questions() if one.item not in seen]
    with closing(open_respondent("m", config, elicitation=OPEN)) as respondent:
        later = list(respondent.answers(rest, None, spent=Usage(), batches=[batch]))
    assert seen | of_questions(later) == of_questions(asked(declared(world, None)))
    assert len(world.batches) == 1
    assert [a.batch.over for a in later if a.batch] == [True]


RUN = [
    "+experiment=wvs_prefixes",
    "respondents=none",
    "+respondents.m.backend=chat_api",
    "+respondents.m.checkpoint=m-1",
    f"+respondents.m.api.key_variable={VARIABLE}",
    "items=[wvs-01,wvs-02]",
    "prefixes.only=[baseline,likert]",
    "stages=[probe]",
]


def test_a_run_that_is_stopped_while_it_waits_goes_on_from_there(
    world, tmp_path, monkeypatch, capsys
):
    def run(folder, *more):
        return _main(
            [
                *RUN,
                f"+respondents.m.api.base_url={world.url}",
                f"run_dir={tmp_path / folder}",
                *more,
            ]
        )

    batched = ["+respondents.m.api.batch=openai", "+respondents.m.api.batch_poll=0.01"]
    world.polls = 10**9

    def interrupted(respondent, batch):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(BatchRespondent, "_ended", interrupted)
        assert run("batch", *batched) != 0
    (batch,) = world.batches.values()
    assert len(batch.requests) == 36
    batch.left = 0
    assert run("batch") != 0
    assert "still to be fetched" in capsys.readouterr().err
    assert run("batch", *batched) == 0
    assert len(world.batches) == 1
    assert run("single") == 0
    assert run("more", *batched, "launcher=processes") != 0
    assert "respondents.m.api.batch: a batch service" in capsys.readouterr().err
    found, expected = (open_responses(tmp_path / folder) for folder in ("batch", "single"))
    assert (found["completion"].values == expected["completion"].values).all()
    assert (found["status"].values == expected["status"].values).all()
    assert int((found["completion"].values != "").sum()) == 36


def test_a_run_asks_the_questions_of_a_lost_batch_again(world, tmp_path, monkeypatch, capsys):
    def run(*more):
        where = [f"+respondents.m.api.base_url={world.url}", f"run_dir={tmp_path}"]
        return _main([*RUN, *where, *more]), capsys.readouterr().err

    batched = ["+respondents.m.api.batch=openai", "+respondents.m.api.batch_poll=0.01"]
    batched += ["+respondents.m.api.batch_size=20"]

    def interrupted(respondent, batch):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(BatchRespondent, "_ended", interrupted)
        assert run(*batched)[0] != 0
    (kept, lost) = world.batches.values()
    del world.batches[lost.name]
    for more in (batched, []):
        code, said = run(*more)
        assert code != 0
        assert f"respondents.m.api.lost_batches=[{lost.name}]" in said
    assert run(*batched, f"+respondents.m.api.lost_batches=[{lost.name}]")[0] == 0
    again = world.batches[max(world.batches)]
    assert again.requests == lost.requests
    assert not again.requests.keys() & kept.requests.keys()
    assert int((open_responses(tmp_path)["completion"].values != "").sum()) == 36
    # It is over for good, and the key not needed any more.
    assert run(*batched)[0] == run()[0] == 0
    assert len(world.batches) == 2


def at(world, start):
    """Declare a model behind the world's batch service under a key."""
    api = {"base_url": world.url, "key_variable": VARIABLE, "batch": "openai", "batch_poll": 0.01}
    return [f"+{start}.api.{key}={value}" for key, value in api.items()]


JUDGE = [
    *("+experiment=wvs_prefixes", "respondents=simulated", "models=[left]", "items=[wvs-01]"),
    *("prefixes.only=[baseline]", "elicitation.runs=2", "coding.coders=[gpt]"),
    *("+coding.models.gpt.kind=judge", "+coding.models.gpt.checkpoint=m-1"),
]


def test_a_judge_is_asked_by_one_batch_for_each_attempt(world, tmp_path, monkeypatch):
    clear = dict.fromkeys(STANCE_CLASSES, 2) | {"agree": 92}
    world.answer = lambda prompt, body: Said(json.dumps(clear) if len(world.batches) > 1 else "hm")
    given = [*JUDGE, *at(world, "coding.models.gpt.judge"), f"run_dir={tmp_path}"]

    def interrupted(respondent, batch):
        raise KeyboardInterrupt

    assert _main([*given, "stages=[probe]"]) == 0
    with monkeypatch.context() as patched:
        patched.setattr(BatchRespondent, "_ended", interrupted)
        assert _main([*given, "stages=[code]"]) != 0
    assert _main([*given, "stages=[code]"]) == 0
    first, second = (batch.requests for batch in world.batches.values())
    # A practice answer is judged with the first.
    assert len(first) - 1 == len(second) > 1
    data = open_responses(tmp_path)
    assert (data["stance"].values[data["completion"].values != ""] == STANCE["agree"]).all()


def test_a_judge_without_a_journal_is_not_asked_by_batches(world):
    api = declared(world).api
    judge = CoderConfig(kind="judge", checkpoint="m-1", judge=JudgeConfig(api=api))
    with pytest.raises(UserError, match=r"coding.models.gpt.judge.api.batch: .* journal_dir"):
        get_coder("gpt", {"gpt": judge})(["Two is more than one."], ["I agree."])
    assert not world.batches


def test_every_stage_of_a_role_play_is_a_batch(world, tmp_path):
    play = [
        *("+experiment=politicsbench", "respondents=none", "roleplay.scenarios=[union]"),
        *("roleplay.wordings=[original]", "stages=[probe]"),
        *("+respondents.m.backend=chat_api", "+respondents.m.checkpoint=m-1"),
        *at(world, "respondents.m"),
    ]
    assert _main([*play, f"run_dir={tmp_path / 'batch'}"]) == 0
    assert [len(batch.requests) for batch in world.batches.values()] == [2] * len(UNITS)
    assert _main([*play, "respondents.m.api.batch=null", f"run_dir={tmp_path / 'single'}"]) == 0
    batched, single = (
        {
            cell_of(r): r["text"]
            for r in read(tmp_path / name / "journal" / "m.jsonl")
            if "cell" in r
        }
        for name in ("batch", "single")
    )
    assert len(batched) == 2 * len(UNITS)
    assert batched == single


@pytest.mark.parametrize("service", ["openai", "anthropic"])
def test_marks_of_thinking_of_its_own_part_replies_of_batches(service):
    said = "<plan>Hm.</plan>I agree."
    body = {"choices": [{"message": {"content": said}, "finish_reason": "stop"}]}
    line = {
        "openai": {"response": {"status_code": 200, "body": body}},
        "anthropic": {
            "type": "succeeded",
            "message": {"content": [{"type": "text", "text": said}], "stop_reason": "end_turn"},
        },
    }[service]
    info = ModelInfo("m", "", thinking_marks=("<plan>", "</plan>"))
    reply = open_service(info, ApiConfig(batch=service), None, None)._reply(line)
    assert (reply.thoughts, reply.text) == ("Hm.", "I agree.")
