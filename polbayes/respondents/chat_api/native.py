"""Servers that are asked in a protocol of their own, by ``api.protocol``."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import httpx2
import openai

from polbayes.config.schema import ApiConfig
from polbayes.instrument.design import ModelInfo
from polbayes.respondents.chat_api import anthropic, gemini
from polbayes.respondents.chat_api.json_client import JsonClient, error_of


@dataclass(frozen=True)
class _Protocol:
    """Translates requests for chats, and their replies."""

    headers: Callable[[str | None], Mapping[str, str]]  # of a key
    path: Callable[[Mapping[str, Any]], str]  # of a request
    request: Callable[[Mapping[str, Any], ModelInfo], dict[str, Any]]
    completion: Callable[[Any], dict[str, Any]]
    failed: Callable[[httpx2.Response, Any], openai.APIStatusError] = error_of


_PROTOCOLS: Mapping[str, _Protocol] = {
    "anthropic": _Protocol(
        anthropic.headers_of,
        lambda body: "messages",
        anthropic.message_of,
        anthropic.completion_of,
    ),
    "gemini": _Protocol(
        gemini.headers_of,
        gemini.path_of,
        gemini.generation_of,
        gemini.completion_of,
        gemini.failed,
    ),
}


class NativeServer:
    """A server with a model, asked in the protocol that ``api.protocol`` names.

    Replies of more than `most` bytes are refused.
    """

    def __init__(self, info: ModelInfo, api: ApiConfig, key: str | None, *, most: int) -> None:
        self._protocol, self._info = _PROTOCOLS[api.protocol], info
        headers, failed = self._protocol.headers(key), self._protocol.failed
        self._client = JsonClient(api, headers, most=most, failed=failed)

    async def complete(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Send a request for a chat, and return its reply as one of ``/chat/completions``."""
        request = self._protocol.request(body, self._info)
        found = await self._client.ask("POST", self._protocol.path(body), request)
        return self._protocol.completion(found)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()
