"""Anthropic's own protocol: requests and replies of ``/chat/completions`` in its words.

It is spoken by the client of all servers. Anthropic's could be kept from retrying and from reading
replies of any length, as OpenAI's is, but requests and replies are translated here in any case, so
that it would save one POST, for another package and errors of a second kind.
"""

from collections.abc import Mapping
from typing import Any

from polbayes.instrument.design import ModelInfo
from polbayes.respondents.chat_api.request import flat

_VERSION = "2023-06-01"
# The smallest budget for thinking that is taken.
LEAST_THINKING = 1024
_FINISHED = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
}


def headers_of(key: str | None) -> Mapping[str, str]:
    """Return what every request carries."""
    return {"x-api-key": key or "none", "anthropic-version": _VERSION}


def message_of(body: Mapping[str, Any], info: ModelInfo) -> dict[str, Any]:
    """Translate a request for ``/chat/completions`` to one for ``/messages``.

    Thinking is configured only where the respondent declares it.
    """
    request = flat(body)
    turns = request.pop("messages")
    system = "\n\n".join(turn["content"] for turn in turns if turn["role"] == "system")
    longest = request.pop("max_completion_tokens", None) or request.pop("max_tokens", None)
    for name in ("seed", "response_format", "logprobs", "top_logprobs"):
        request.pop(name, None)
    declared: dict[str, Any] = {}
    if info.thinking_tokens:
        declared["thinking"] = {"type": "enabled", "budget_tokens": info.thinking_tokens}
    if (effort := request.pop("reasoning_effort", None)) == "none":
        declared["thinking"] = {"type": "disabled"}
    elif effort:
        declared["output_config"] = {"effort": effort}
    return {
        **declared,
        **request,
        "max_tokens": longest,
        **({"system": system} if system else {}),
        "messages": [turn for turn in turns if turn["role"] != "system"],
    }


def completion_of(message: Any) -> dict[str, Any]:
    """Translate a reply of ``/messages`` to one of ``/chat/completions``."""
    message = message if isinstance(message, dict) else {}
    blocks = [one for one in message.get("content") or () if isinstance(one, dict)]
    usage = message.get("usage") if isinstance(message.get("usage"), dict) else {}
    cached = ("cache_creation_input_tokens", "cache_read_input_tokens")
    counts: list[Any] = [usage.get("input_tokens"), *(usage.get(name) or 0 for name in cached)]
    total = sum(counts) if all(type(count) is int for count in counts) else None
    details = usage.get("output_tokens_details")
    thought = details.get("thinking_tokens") if isinstance(details, dict) else None
    reason = message.get("stop_reason")
    return {
        "model": message.get("model"),
        "choices": [
            {
                "message": {
                    "content": [{"text": b.get("text")} for b in blocks if b.get("type") == "text"],
                    "reasoning_content": "\n\n".join(
                        str(b.get("thinking") or "") for b in blocks if b.get("type") == "thinking"
                    ),
                },
                "finish_reason": _FINISHED.get(reason, reason),
            }
        ],
        "usage": {
            "prompt_tokens": total,
            "completion_tokens": usage.get("output_tokens"),
            "completion_tokens_details": {"reasoning_tokens": thought},
        },
    }
