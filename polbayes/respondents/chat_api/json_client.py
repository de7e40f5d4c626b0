"""A client of protocols other than that of chats, with the errors of the client for chats."""

from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any

import httpx2
import openai

from polbayes.config.schema import ApiConfig
from polbayes.respondents.chat_api.client import MOST_BYTES, bounded
from polbayes.respondents.chat_api.reply import UnreadableReplyError


def error_of(response: httpx2.Response, body: Any) -> openai.APIStatusError:
    """Return the error of a response with such a body."""
    inner = body.get("error", body) if isinstance(body, dict) else body
    return openai.APIStatusError(f"status {response.status_code}", response=response, body=inner)


class JsonClient:
    """A client that sends and receives JSON objects.

    Parameters
    ----------
    api
        Where the server is, and how long to wait.
    headers
        What every request carries, such as the key.
    most
        How many bytes a reply may have; None for any number.
    failed
        Makes the error of a response with a status of failure and the given body.
    """

    def __init__(
        self,
        api: ApiConfig,
        headers: Mapping[str, str],
        *,
        most: int | None = MOST_BYTES,
        failed: Callable[[httpx2.Response, Any], openai.APIStatusError] = error_of,
    ) -> None:
        self._failed = failed
        self._client = httpx2.AsyncClient(
            base_url=api.base_url.rstrip("/") + "/",
            headers={**headers, "Accept-Encoding": "gzip"},
            timeout=api.timeout,
            event_hooks={"response": [bounded(most)]} if most else {},
        )

    async def ask(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        """Send a request, and return the object that comes back."""
        request = self._client.build_request(method, path, json=body)
        try:
            response = await self._client.send(request)
        except httpx2.TransportError as error:
            raise unreachable(error, request) from error
        return self._content(response)

    async def lines(self, path: str) -> AsyncGenerator[str]:
        """Yield the lines of a file."""
        request = self._client.build_request("GET", path)
        try:
            response = await self._client.send(request, stream=True)
            try:
                if response.is_error:
                    await response.aread()
                    self._content(response)
                async for line in response.aiter_lines():
                    yield line
            finally:
                await response.aclose()
        except httpx2.TransportError as error:
            raise unreachable(error, request) from error

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    def _content(self, response: httpx2.Response) -> dict[str, Any]:
        """Return the body of a response, or raise what is wrong as the client for chats does."""
        try:
            body = response.json()
        except ValueError:
            body = None
        if response.is_error:
            raise self._failed(response, body)
        if not isinstance(body, dict):
            raise UnreadableReplyError("the reply is not JSON")
        return body


def unreachable(error: httpx2.TransportError, request: httpx2.Request) -> openai.OpenAIError:
    """Return the error of a request whose connection failed."""
    if isinstance(error, httpx2.TimeoutException):
        return openai.APITimeoutError(request=request)
    found = openai.APIConnectionError(request=request)
    found.__cause__ = error
    return found
