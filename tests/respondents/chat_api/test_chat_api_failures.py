import json
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
    assert failure.message == f"status {status}" + (": because" if status != 401 else "")


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


UNSUPPORTED = "Unsupported parameter: 'max_tokens' is not supported with this model."


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (json.dumps({"error": {"message": UNSUPPORTED}}), UNSUPPORTED),
        ({"error": {"message": UNSUPPORTED}}, UNSUPPORTED),
        (UNSUPPORTED, UNSUPPORTED),
        ("[" * 100_000, "[" * 200),
        (None, ""),
        (7, ""),
    ],
)
def test_what_a_provider_says_is_read_behind_a_router(raw, said):
    """As OpenRouter passes errors on, whose own words are the same for all of them."""
    about = {"message": "Provider returned error", "code": 400, "metadata": {"raw": raw}}
    failure = judge(status_error(400, {"error": about}))
    assert failure.message.startswith(f"status 400: Provider returned error: {said}".rstrip(": "))
    assert failure.refused == ({"max_tokens"} if said == UNSUPPORTED else set())


@pytest.mark.parametrize(
    "metadata",
    [
        {"reasons": ["political"], "flagged_input": "Taxes …", "provider_name": "OpenAI"},
        {"raw": '{"error": {"code": "content_filter", "message": "filtered"}}'},
    ],
)
def test_a_question_that_a_filter_behind_a_router_holds_back_is_declined(metadata):
    about = {"message": "Your input was flagged", "code": 403, "metadata": metadata}
    assert judge(status_error(403, {"error": about})).kind is Kind.DECLINED


@pytest.mark.parametrize(
    ("status", "error", "kind"),
    [
        (
            400,
            {
                "type": "invalid_request_error",
                "message": "Your credit balance is too low to access the Anthropic API. Please go "
                "to Plans & Billing to upgrade or purchase credits.",
            },
            Kind.FATAL,
        ),
        (
            400,
            {
                "type": "invalid_request_error",
                "message": "You have reached your specified API usage limits. You will regain "
                "access on 2026-04-01 at 00:00 UTC.",
            },
            Kind.FATAL,
        ),
        (429, {"code": "billing_not_active", "message": "not active"}, Kind.FATAL),
        (429, {"type": "insufficient_quota", "message": "none left"}, Kind.FATAL),
        # Gemini says so of a limit for each minute.
        (
            429,
            {
                "code": 429,
                "message": "You exceeded your current quota, please check your plan and billing "
                "details.",
            },
            Kind.THROTTLED,
        ),
        (429, {"code": {}, "type": [], "message": "odd"}, Kind.THROTTLED),
    ],
)
def test_nothing_is_asked_of_a_server_that_waits_for_money(status, error, kind):
    assert judge(status_error(status, {"error": error})).kind is kind


def test_a_server_that_does_not_let_a_model_be_asked_says_why():
    said = f"Project of {SECRET} does not have access to model gpt-5"
    failure = judge(status_error(403, {"error": {"message": said}}), secret=SECRET)
    assert failure.kind is Kind.FATAL
    assert failure.message == "status 403: Project of *** does not have access to model gpt-5"


def test_thinking_that_takes_all_tokens_may_be_an_error():
    said = "Could not finish the message because max_tokens or model output limit was reached."
    failure = judge(status_error(400, {"error": {"message": said}}))
    assert (failure.cut_off, failure.billed) == (True, True)
    too_large = "'max_tokens' is too large: 99. This model supports at most 9"
    assert not judge(status_error(400, {"error": {"message": too_large}})).cut_off


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
