"""Reading a server's reply, which may be anything."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

from polbayes.respondents.thinking import part

# Where Gemini's endpoint leaves the message out.
_WITHOUT_MESSAGE = ("length", "content_filter")


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
        """Whether the masses of options can be told: from log probabilities, or as none."""
        # What is cut off before there is an answer says nothing of the options.
        return self.declined or bool(self.positions) or (self.truncated and not self.text.strip())


# The reply of a model whose thinking takes all tokens, where a server makes an error of it.
CUT_OFF = Reply("", truncated=True)


def read_reply(body: str, own: Sequence[str] = ()) -> Reply:
    """Read the body of a reply, in which `own` marks thinking, too."""
    try:
        content = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise UnreadableReplyError("the reply is not JSON") from error
    content = _mapping(content, "the reply")
    if content.get("error"):
        raise UnreadableReplyError(f"the reply is an error{_words(content['error'])}")
    choices = content.get("choices")
    if not isinstance(choices, list) or not choices:
        raise UnreadableReplyError("the reply has no choices")
    choice = _mapping(choices[0], "its first choice")
    finish = choice.get("finish_reason")
    if choice.get("error") or finish == "error":
        raise UnreadableReplyError(f"the answer was broken off{_words(choice.get('error'))}")
    message = choice.get("message")
    if message is None and finish in _WITHOUT_MESSAGE:
        message = {}
    message = _mapping(message, "its message")
    refusal = _text(message.get("refusal"))
    parted, usage = part(_text(message.get("content")), own=own), content.get("usage")
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


def _words(error: Any) -> str:
    """Return what an error says, in brackets."""
    said = error.get("message") if isinstance(error, dict) else error
    return f" ({said})" if isinstance(said, str) and said else ""


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
    prompt, said = usage.get("prompt_tokens"), usage.get("completion_tokens", 0)
    if not (_is_count(prompt) and _is_count(said)):
        return None
    return prompt, said + _in_total_alone(usage)


def _thought_tokens(usage: Any) -> int | None:
    if not isinstance(usage, dict):
        return None
    details = usage.get("completion_tokens_details")
    count = details.get("reasoning_tokens") if isinstance(details, dict) else None
    count = count or _in_total_alone(usage)
    return count if type(count) is int and 0 < count < 2**31 else None


def _in_total_alone(usage: Mapping[str, Any]) -> int:
    """Count the tokens that are in the total only: those of thinking of Gemini's endpoint."""
    counts = [usage.get(f"{name}_tokens", 0) for name in ("total", "prompt", "completion")]
    if not all(map(_is_count, counts)):
        return 0
    return max(counts[0] - counts[1] - counts[2], 0)


def _is_count(value: Any) -> TypeGuard[int]:
    return type(value) is int and 0 <= value < 2**40


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
