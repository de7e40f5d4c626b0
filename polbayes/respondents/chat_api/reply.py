"""Reading a server's reply, which may be anything."""

import json
import math
from dataclasses import dataclass
from typing import Any

from polbayes.respondents.thinking import part


class UnreadableReplyError(ValueError):
    """A reply that violates the protocol."""


@dataclass(frozen=True)
class Position:
    """One token of an answer, and the likeliest at its position with their log probabilities."""

    token: str
    log_prob: float
    top: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Reply:
    """A server's reply.

    The text is the answer, or the refusal if that has its own field; lone surrogates, which no file
    can hold, are replaced. It may be `declined` or filtered, or `truncated` at the token limit.
    `tokens` of prompt and answer, and `positions`, are None if the server does not report them.
    `thoughts` are the model's preceding thoughts, from their own field or marked in the text, and
    `thought_tokens` their number of tokens, None if not reported; for `unopened` see `Completion`.
    """

    text: str
    declined: bool = False
    truncated: bool = False
    tokens: tuple[int, int] | None = None
    positions: tuple[Position, ...] | None = None
    served_by: str = ""
    thoughts: str = ""
    thought_tokens: int | None = None
    unopened: bool = False

    @property
    def tells_masses(self) -> bool:
        """Whether the masses of options can be told: from log probabilities, or as declined."""
        return self.declined or bool(self.positions)


def read_reply(body: str) -> Reply:
    """Read the body of a reply."""
    try:
        content = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise UnreadableReplyError("the reply is not JSON") from error
    content = _mapping(content, "the reply")
    if content.get("error"):
        raise UnreadableReplyError("the reply is an error with the status of an answer")
    choices = content.get("choices")
    if not isinstance(choices, list) or not choices:
        raise UnreadableReplyError("the reply has no choices")
    choice = _mapping(choices[0], "its first choice")
    message = _mapping(choice.get("message"), "its message")
    refusal, finish = _text(message.get("refusal")), choice.get("finish_reason")
    parted, usage = part(_text(message.get("content"))), content.get("usage")
    apart = message.get("reasoning_content") or message.get("reasoning")
    apart = _text(apart if isinstance(apart, str) else None)
    apart += _text(message.get("content"), key="thinking")
    return Reply(
        text=refusal or parted.answer,
        declined=bool(refusal) or finish == "content_filter",
        truncated=finish == "length",
        tokens=_tokens(usage),
        positions=_positions(choice.get("logprobs")),
        served_by=content["model"][:200] if isinstance(content.get("model"), str) else "",
        thoughts="\n\n".join(filter(None, (apart.strip(), parted.thoughts))),
        thought_tokens=_thought_tokens(usage),
        unopened=parted.unopened and not apart,
    )


def _mapping(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise UnreadableReplyError(f"{what} is not an object")
    return value


def _text(value: Any, key: str = "text") -> str:
    if value is None or (key != "text" and isinstance(value, str)):
        return ""
    if isinstance(value, list):
        # Some servers return the content in parts, the form that requests may have, too.
        pieces = (_mapping(piece, "a part of its content").get(key) for piece in value)
        return "".join(map(_text, pieces))
    if not isinstance(value, str):
        raise UnreadableReplyError("the content of its message is not a text")
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _tokens(usage: Any) -> tuple[int, int] | None:
    if not isinstance(usage, dict):
        return None
    counts = [usage.get("prompt_tokens"), usage.get("completion_tokens", 0)]
    if not all(type(count) is int and 0 <= count < 2**40 for count in counts):
        return None
    return int(counts[0]), int(counts[1])


def _thought_tokens(usage: Any) -> int | None:
    details = usage.get("completion_tokens_details") if isinstance(usage, dict) else None
    count = details.get("reasoning_tokens") if isinstance(details, dict) else None
    return count if type(count) is int and 0 < count < 2**31 else None


def _positions(logprobs: Any) -> tuple[Position, ...] | None:
    if not isinstance(logprobs, dict) or not isinstance(logprobs.get("content"), list):
        return None
    found = []
    for entry in logprobs["content"]:
        token, log_prob = _token(entry)
        top = entry.get("top_logprobs") or []
        if not isinstance(top, list):
            raise UnreadableReplyError("its top_logprobs are not a list")
        found.append(Position(token, log_prob, tuple(_token(one) for one in top)))
    return tuple(found)


def _token(entry: Any) -> tuple[str, float]:
    entry = _mapping(entry, "a token of its log probabilities")
    token, value = entry.get("token"), entry.get("logprob")
    number = isinstance(value, int | float) and not isinstance(value, bool)
    # Rounding may put a certain token a little above 0.
    if not isinstance(token, str) or not number or math.isnan(value) or value > 1e-3:
        raise UnreadableReplyError("a token of its log probabilities has none")
    return token, min(float(value), 0.0)
