"""Replies that have no end, or more in them than anybody can hold, and those that are fine."""

import gzip
import itertools
import json
import time
import zlib
from collections import Counter
from contextlib import closing

import pytest

from polbayes.config.schema import ApiConfig, ElicitationConfig, RespondentConfig
from polbayes.errors import UserError
from polbayes.respondents import open_respondent
from polbayes.respondents.base import Question
from polbayes.respondents.usage import Usage

OPEN = ElicitationConfig(kind="open_ended", template="faulborn", max_new_tokens=20)
ODD = "Prompt 2."
NESTED = gzip.compress(gzip.compress(bytes(1 << 28)))


def head(*lines):
    # The loopback server closes the connection, as it says.
    own = "Content-Type: application/json", "Connection: close"
    return "\r\n".join(["HTTP/1.1 200 OK", *own, *lines, "", ""])


def whole(encoding, data):
    yield head(f"Content-Encoding: {encoding}", f"Content-Length: {len(data)}").encode() + data


def chunked(encoding, data):
    """Send bytes again and again in chunks."""
    yield head(f"Content-Encoding: {encoding}", "Transfer-Encoding: chunked").encode()
    for piece in data:
        yield b"%x\r\n%s\r\n" % (len(piece), piece)


def zeros(wbits):
    """Return what is compressed of zeros without end."""
    squeeze = zlib.compressobj(9, zlib.DEFLATED, wbits)
    yield squeeze.compress(b"") + squeeze.flush(zlib.Z_SYNC_FLUSH)
    block = squeeze.compress(bytes(1 << 20)) + squeeze.flush(zlib.Z_FULL_FLUSH)
    yield block
    block = squeeze.compress(bytes(1 << 20)) + squeeze.flush(zlib.Z_FULL_FLUSH)
    while True:
        yield block


def trickle():
    yield head("Content-Length: 1000000").encode()
    while True:
        time.sleep(0.05)
        yield b" "


def informed(pause):
    while True:
        time.sleep(pause)
        yield b"HTTP/1.1 100 Continue\r\n\r\n" * (1 if pause else 1000)


ENDLESS = {
    "a stream": (lambda: chunked("identity", itertools.repeat(bytes(1 << 16))), "is longer than"),
    "a gzip bomb": (lambda: chunked("gzip", zeros(31)), "is longer than"),
    # What was not asked for is read as it comes, and is as long.
    "a deflate bomb": (lambda: chunked("deflate", zeros(15)), "is longer than"),
    "a brotli bomb": (lambda: chunked("br", itertools.repeat(bytes(1 << 16))), "is longer than"),
    "empty gzip members": (
        lambda: chunked("gzip", itertools.repeat(1000 * gzip.compress(b""))),
        "is longer than",
    ),
    "a bomb in a bomb": (lambda: whole("gzip, gzip", NESTED), "is not JSON"),
    "a trickle": (trickle, "no answer came in time"),
    "slow informational responses": (lambda: informed(0.05), "no answer came in time"),
    "fast informational responses": (lambda: informed(0), "no answer came in time"),
}


def answered(world, **more):
    """Ask three questions, and return their answers by item."""
    settings = {"key_variable": None, "backoff": 0.01, "timeout": 1.5, "retries": 0, **more}
    api = ApiConfig(base_url=world.url, **settings)
    config = RespondentConfig(backend="chat_api", checkpoint="m-1", api=api)
    questions = [
        Question(f"i{n}", "original", "baseline", 1, f"S {n}.", 1, "economic", f"Prompt {n}.")
        for n in range(1, 4)
    ]
    with closing(open_respondent("m", config, elicitation=OPEN)) as respondent:
        put = [(question, n) for n, question in enumerate(questions)]
        answers = respondent.answers(put, None, spent=Usage())
        return {a.question.item: a for a in answers if a.question is not None}


@pytest.mark.parametrize(("reply", "reason"), ENDLESS.values(), ids=ENDLESS)
def test_a_reply_without_end_costs_one_answer_and_not_the_run(loopback, reply, reason):
    world = loopback(pieces=lambda prompt: reply() if prompt == ODD else None)
    # What is too long or unreadable must be told however slow the machine is.
    found = answered(world, timeout=1.5 if "in time" in reason else 60)
    assert reason in found["i2"].error
    assert [found[item].error for item in ("i1", "i3")] == ["", ""]
    assert sum(b["messages"][-1]["content"] == ODD for b in world.bodies) == 2
    assert found["i2"].usage.uncounted == 1


def test_a_server_that_fails_once_more_is_asked_again_before_it_is_given_up(loopback):
    asked = Counter()

    def reply(prompt):
        asked[prompt if prompt.startswith("Prompt") else "trial"] += 1
        # The first trial is before all questions, the second after the last one failed.
        lost = prompt == "Prompt 3." or (prompt[:6] != "Prompt" and asked["trial"] == 2)
        return whole("identity", b"no JSON") if lost else None

    found = answered(loopback(pieces=reply), concurrency=1, retries=1)
    assert "is not JSON" in found["i3"].error
    assert [found[item].error for item in ("i1", "i2")] == ["", ""]
    assert asked["trial"] == 3


def said(text):
    """Return the body of a reply that says a text."""
    choice = {"message": {"content": text}, "finish_reason": "stop"}
    return json.dumps({"choices": [choice]}).encode()


@pytest.mark.parametrize(
    ("encoding", "data"),
    [
        ("gzip", gzip.compress(said("Yes."), mtime=0)),
        ("X-GZIP", gzip.compress(said("Yes."), mtime=0)),
        # Some servers put the character set there.
        ("utf-8", said("Yes.")),
        ("identity", said("Yes.")),
    ],
)
def test_a_reply_in_an_encoding_that_was_asked_for_is_read(loopback, encoding, data):
    world = loopback(pieces=lambda prompt: whole(encoding, data) if prompt == ODD else None)
    assert answered(world)["i2"].completion.text == "Yes."
    assert {headers["accept-encoding"] for headers in world.headers} == {"gzip"}


def test_the_longest_answer_is_read(loopback):
    # A hundred thousand tokens of characters that JSON may write with six bytes each.
    longest = "\u4e00" * 1_000_000
    data = said(longest)
    assert len(data) > 6_000_000
    for encoding, body in (("identity", data), ("gzip", gzip.compress(data))):
        world = loopback(pieces=lambda p, e=encoding, b=body: whole(e, b) if p == ODD else None)
        assert answered(world, timeout=20.0)["i2"].completion.text == longest


def test_what_is_said_to_be_gzip_and_is_not_fails_the_question(loopback):
    world = loopback(pieces=lambda prompt: whole("gzip", said("Yes.")) if prompt == ODD else None)
    assert answered(world)["i2"].error == "the reply is not the gzip that it is said to be"


@pytest.mark.parametrize("body", [itertools.repeat(bytes(1 << 16)), [b"no gzip"]])
def test_the_status_of_an_error_counts_whatever_its_body(loopback, body):
    def unauthorized(prompt):
        pieces = chunked("gzip", body)
        yield next(pieces).replace(b"200 OK", b"401 Unauthorized")
        yield from pieces

    with pytest.raises(UserError, match="does not accept requests without key"):
        answered(loopback(pieces=unauthorized))


def test_redirects_are_followed_no_further_than_their_bodies_go(loopback):
    def redirect(prompt):
        pieces = chunked("gzip", zeros(31))
        location = b"307 Temporary Redirect\r\nLocation: /v1/elsewhere"
        yield next(pieces).replace(b"200 OK", location)
        yield from pieces

    world = loopback(pieces=lambda prompt: redirect(prompt) if prompt == ODD else None)
    assert "is longer than" in answered(world)["i2"].error
