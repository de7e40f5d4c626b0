import time
from email.utils import formatdate

import pytest

from polbayes.respondents.chat_api.failures import Kind, judge, retry_after, without
from polbayes.respondents.chat_api.reply import UnreadableReplyError

SECRET = "sk-0123456789"


def status_error(status, body=None, headers=None):
    import httpx2
    import openai

    request = httpx2.Request("POST", "http://127.0.0.1/v1")
    response = httpx2.Response(status, headers=headers or {}, json=body, request=request)
    client = openai.OpenAI(api_key="x", base_url="http://127.0.0.1/v1")
    try:
        return client._make_status_error_from_response(response)
    finally:
        client.close()


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (400, None, Kind.QUESTION),
        (400, "content_filter", Kind.DECLINED),
        (401, None, Kind.FATAL),
        (402, None, Kind.FATAL),
        (403, None, Kind.FATAL),
        (404, None, Kind.FATAL),
        (408, None, Kind.PASSING),
        (409, None, Kind.PASSING),
        (413, None, Kind.QUESTION),
        (422, None, Kind.QUESTION),
        (429, None, Kind.THROTTLED),
        (429, "insufficient_quota", Kind.FATAL),
        (500, None, Kind.PASSING),
        (503, None, Kind.PASSING),
        (529, None, Kind.PASSING),
    ],
)
def test_what_a_status_means(status, code, kind):
    failure = judge(status_error(status, {"error": {"message": "because", "code": code}}))
    assert failure.kind is kind
    assert failure.message == f"status {status}" + (": because" if status not in (401, 403) else "")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"error": "in one word"}, "in one word"),
        ({"detail": "as fastapi does"}, "as fastapi does"),
        ({"message": f"key {SECRET} is bad\nsecond line"}, "key *** is bad"),
        ([1], ""),
        (None, ""),
    ],
)
def test_the_words_of_the_server_are_found_and_cleaned(body, said):
    failure = judge(status_error(500, body), secret=SECRET)
    assert failure.message == f"status 500: {said}".rstrip(": ")


def test_a_refused_key_is_never_repeated():
    error = status_error(401, {"error": {"message": f"Incorrect: {SECRET[:6]}...{SECRET[-4:]}"}})
    assert judge(error, secret=SECRET).message == "status 401"


def test_unreadable_replies_and_timeouts_may_have_cost():
    for error in (UnreadableReplyError("x"), TimeoutError()):
        failure = judge(error)
        assert failure.kind is Kind.PASSING
        assert failure.billed
    assert judge(ValueError(f"odd {SECRET}"), secret=SECRET).message == "ValueError: odd ***"
    assert judge(UnicodeEncodeError("utf-8", "\ud83d", 0, 1, "no")).kind is Kind.QUESTION


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7),
        ({"retry-after": "0.25"}, 0.25),
        ({"retry-after-ms": "150", "retry-after": "1"}, 0.15),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ],
)
def test_how_long_a_server_asks_to_wait(headers, seconds):
    assert retry_after(headers) == pytest.approx(seconds)


def test_a_date_to_wait_for():
    assert retry_after({"retry-after": formatdate(time.time() + 30, usegmt=True)}) == pytest.approx(
        30, abs=2
    )
    assert retry_after({"retry-after": formatdate(0, usegmt=True)}) == 0


def test_messages_are_one_short_line():
    assert without("  a\nb ", None) == "a"
    assert without("", None) == ""
    assert len(without("x" * 5000, None)) == 300
