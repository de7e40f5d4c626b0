import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polbayes.respondents.chat_api.reply import Position, Reply, UnreadableReplyError, read_reply


def body(message=None, **more):
    choice = {"message": {"content": "I agree."} if message is None else message, **more}
    return json.dumps({"choices": [choice], "usage": {"prompt_tokens": 7, "completion_tokens": 2}})


def test_a_plain_answer():
    assert read_reply(body(finish_reason="stop")) == Reply("I agree.", tokens=(7, 2))


@pytest.mark.parametrize(
    ("message", "finish", "expected"),
    [
        ({"content": "I agr"}, "length", Reply("I agr", truncated=True, tokens=(7, 2))),
        ({"content": None}, "stop", Reply("", tokens=(7, 2))),
        ({"content": None, "refusal": "No."}, "stop", Reply("No.", declined=True, tokens=(7, 2))),
        ({"content": "Well"}, "content_filter", Reply("Well", declined=True, tokens=(7, 2))),
        (
            {"content": [{"type": "text", "text": "a"}, {"text": "b"}]},
            "stop",
            Reply("ab", tokens=(7, 2)),
        ),
        ({"content": "half \ud83d"}, "stop", Reply("half \ufffd", tokens=(7, 2))),
        ({"content": "\U0001f600"}, "stop", Reply("\U0001f600", tokens=(7, 2))),
    ],
)
def test_refused_filtered_empty_and_cut_answers_are_told_apart(message, finish, expected):
    assert read_reply(body(message, finish_reason=finish)) == expected


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"finish_reason": "error"}, "the answer was broken off"),
        (
            {"finish_reason": "stop", "error": {"code": 502, "message": "Upstream died"}},
            r"the answer was broken off \(Upstream died\)",
        ),
        ({"finish_reason": "error", "error": "gone"}, r"broken off \(gone\)"),
    ],
)
def test_an_answer_that_a_provider_broke_off_is_none(more, said):
    with pytest.raises(UnreadableReplyError, match=said):
        read_reply(body({"content": "I agr"}, **more))


def test_an_error_with_the_status_of_an_answer_is_said():
    with pytest.raises(UnreadableReplyError, match=r"the reply is an error \(busy\)"):
        read_reply('{"error": {"message": "busy"}}')


def test_a_reply_without_a_message_is_empty_where_thinking_took_all_tokens():
    """As Gemini's OpenAI-compatible endpoint says it."""
    usage = {"prompt_tokens": 7, "total_tokens": 67}
    reply = read_reply(
        json.dumps({"choices": [{"finish_reason": "length", "index": 0}], "usage": usage})
    )
    assert reply == Reply("", truncated=True, tokens=(7, 60), thought_tokens=60)
    assert reply.tells_masses
    with pytest.raises(UnreadableReplyError, match="its message is not an object"):
        read_reply('{"choices": [{"finish_reason": "stop"}]}')


@pytest.mark.parametrize(
    ("usage", "tokens", "thought"),
    [
        ({"completion_tokens": 4, "total_tokens": 11}, (7, 4), None),
        ({"completion_tokens": 4, "total_tokens": 41}, (7, 34), 30),
        ({"completion_tokens": 4, "total_tokens": 9}, (7, 4), None),
        ({"completion_tokens": 4, "total_tokens": "41"}, (7, 4), None),
        (
            {
                "completion_tokens": 34,
                "total_tokens": 41,
                "completion_tokens_details": {"reasoning_tokens": 30},
            },
            (7, 34),
            30,
        ),
        # Here they are in the details and the total, and not in what was completed.
        (
            {
                "completion_tokens": 4,
                "total_tokens": 41,
                "completion_tokens_details": {"reasoning_tokens": 30},
            },
            (7, 34),
            30,
        ),
    ],
)
def test_tokens_of_thinking_count_where_only_the_total_has_them(usage, tokens, thought):
    content = json.loads(body()) | {"usage": {"prompt_tokens": 7, **usage}}
    reply = read_reply(json.dumps(content))
    assert (reply.tokens, reply.thought_tokens) == (tokens, thought)


def test_an_answer_without_probabilities_tells_nothing_unless_it_is_cut_off_before_it_begins():
    assert not read_reply(body({"content": ""}, finish_reason="stop")).tells_masses
    assert not read_reply(body({"content": "Yes"}, finish_reason="length")).tells_masses
    assert read_reply(body({"content": " "}, finish_reason="length")).tells_masses


def test_log_probabilities_are_read_in_order():
    one = {"token": "Yes", "logprob": -0.5, "top_logprobs": [{"token": "No", "logprob": -1}]}
    two = {"token": ".", "logprob": 1e-9}
    reply = read_reply(body(logprobs={"content": [one, two]}))
    assert reply.positions == (Position("Yes", -0.5, (("No", -1.0),)), Position(".", 0.0, ()))
    assert read_reply(body(logprobs=None)).positions is None
    assert read_reply(body(logprobs={"content": None})).positions is None


@pytest.mark.parametrize("usage", [None, 3, {"prompt_tokens": "7"}, {"prompt_tokens": -1}, {}])
def test_a_count_that_is_none_is_no_count(usage):
    content = json.loads(body()) | {"usage": usage}
    assert read_reply(json.dumps(content)).tokens is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<html>busy</html>",
        '{"choices": [{"message": {"content": "I',
        "[]",
        "{}",
        '{"choices": []}',
        '{"choices": ["hi"]}',
        '{"choices": [{"message": "hi"}]}',
        '{"choices": [{"message": {"content": 3}}]}',
        '{"error": {"message": "busy"}, "choices": [{"message": {"content": "x"}}]}',
        body(logprobs={"content": [3]}),
        body(logprobs={"content": [{"token": "a", "logprob": "b"}]}),
        body(logprobs={"content": [{"token": "a", "logprob": 2.0}]}),
        body(logprobs={"content": [{"token": "a", "logprob": -1, "top_logprobs": 5}]}),
        '{"choices": [{"message": {"content": "x"}, "logprobs": {"content": '
        '[{"token": "a", "logprob": NaN}]}}]}',
        "[" * 100_000,
    ],
)
def test_what_is_no_answer_is_unreadable(text):
    with pytest.raises(UnreadableReplyError):
        read_reply(text)


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "choices",
                    "message",
                    "content",
                    "usage",
                    "logprobs",
                    "token",
                    "logprob",
                    "refusal",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(json_values)
def test_whatever_comes_is_read_or_unreadable(value):
    nested = {"choices": [{"message": {"content": "x"}, "logprobs": value, "finish_reason": value}]}
    for content in (value, {"choices": [value]}, {"choices": [{"message": value}]}, nested):
        try:
            reply = read_reply(json.dumps(content))
        except UnreadableReplyError:
            continue
        reply.text.encode("utf-8")
