"""Anthropic's own protocol: requests and replies of ``/chat/completions`` in its words."""

from collections.abc import AsyncGenerator, Mapping
from typing import Any

import httpx2
import openai

from polbayes.config.schema import ApiConfig
from polbayes.respondents.chat_api.client import read_bounded
from polbayes.respondents.chat_api.reply import UnreadableReplyError
from polbayes.respondents.chat_api.request import flat

_VERSION = "2023-06-01"
_FINISHED = {"max_tokens": "length", "refusal": "content_filter"}


class Messages:
    """A client of the protocol, which raises the errors of the client for chats."""

    def __init__(self, api: ApiConfig, key: str | None, *, bounded: bool = True) -> None:
        self._client = httpx2.AsyncClient(
            base_url=api.base_url.rstrip("/") + "/",
            headers={
                "x-api-key": key or "none",
                "anthropic-version": _VERSION,
                "Accept-Encoding": "gzip",
            },
            timeout=api.timeout,
            event_hooks={"response": [read_bounded]} if bounded else {},
        )

    async def ask(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        """Send a request, and return the object that comes back."""
        request = self._client.build_request(method, path, json=body)
        try:
            response = await self._client.send(request)
        except httpx2.TransportError as error:
            raise _unreachable(error, request) from error
        return _content(response)

    async def lines(self, path: str) -> AsyncGenerator[str]:
        """Yield the lines of a file."""
        request = self._client.build_request("GET", path)
        try:
            response = await self._client.send(request, stream=True)
            try:
                if response.is_error:
                    await response.aread()
                    _content(response)
                async for line in response.aiter_lines():
                    yield line
            finally:
                await response.aclose()
        except httpx2.TransportError as error:
            raise _unreachable(error, request) from error

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()


def _unreachable(error: httpx2.TransportError, request: httpx2.Request) -> openai.OpenAIError:
    if isinstance(error, httpx2.TimeoutException):
        return openai.APITimeoutError(request=request)
    found = openai.APIConnectionError(request=request)
    found.__cause__ = error
    return found


def error_of(response: httpx2.Response, body: Any) -> openai.APIStatusError:
    """Return the error of a response with such a body."""
    inner = body.get("error", body) if isinstance(body, dict) else body
    return openai.APIStatusError(f"status {response.status_code}", response=response, body=inner)


def _content(response: httpx2.Response) -> dict[str, Any]:
    """Return the body of a response, or raise what is wrong as the client for chats does."""
    try:
        body = response.json()
    except ValueError:
        body = None
    if response.is_error:
        raise error_of(response, body)
    if not isinstance(body, dict):
        raise UnreadableReplyError("the reply is not JSON")
    return body


def message_of(body: Mapping[str, Any]) -> dict[str, Any]:
    """Translate a request for ``/chat/completions`` to one for ``/messages``."""
    request = flat(body)
    turns = request.pop("messages")
    system = "\n\n".join(turn["content"] for turn in turns if turn["role"] == "system")
    longest = request.pop("max_completion_tokens", None) or request.pop("max_tokens", None)
    for name in ("seed", "response_format", "logprobs", "top_logprobs", "reasoning_effort"):
        request.pop(name, None)
    return {
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
        "usage": {"prompt_tokens": total, "completion_tokens": usage.get("output_tokens")},
    }
