"""The batch services of OpenAI and Anthropic: submit requests, ask how far they are, fetch replies.

Both answer within a day at half the price. OpenAI's takes a file of requests to
``/chat/completions``, Anthropic's a list of requests to its own ``/messages``.
"""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import httpx2
import openai

from polbayes.config.schema import ApiConfig
from polbayes.instrument.design import ModelInfo
from polbayes.respondents.chat_api.anthropic import completion_of, headers_of, message_of
from polbayes.respondents.chat_api.client import open_client
from polbayes.respondents.chat_api.failures import Failure, Kind, judge
from polbayes.respondents.chat_api.json_client import JsonClient, error_of, unreachable
from polbayes.respondents.chat_api.reply import (
    CUT_OFF,
    Reply,
    UnreadableReplyError,
    read_reply,
)
from polbayes.respondents.chat_api.request import flat

OPENAI, ANTHROPIC = "openai", "anthropic"
# What both services take as one batch, and more than any reply has.
MOST_REQUESTS, MOST_BYTES, _MOST_LINE = 50_000, 100 * 2**20, 16 * 2**20
# OpenAI's code for more tokens under way than the organisation may have.
_CROWDED = "token_limit_exceeded"
_STATUS = {
    "invalid_request_error": 400,
    "request_too_large": 400,
    "authentication_error": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "rate_limit_error": 429,
    "overloaded_error": 503,
}


@dataclass(frozen=True)
class Progress:
    """How far a batch is; `failed` says why it was not accepted, and is empty otherwise.

    `crowded` is whether it would be accepted when less is under way.
    """

    done: int
    over: bool
    failed: str = ""
    crowded: bool = False


class BatchService(Protocol):
    """Asks many requests at a time, whose replies come hours later."""

    async def submit(self, requests: Mapping[str, dict[str, Any]]) -> str:
        """Submit requests by id, each as for ``chat.completions.create``; return the batch's id."""
        ...

    async def progress(self, batch: str) -> Progress:
        """Ask how far a batch is."""
        ...

    def replies(self, batch: str) -> AsyncGenerator[tuple[str, Reply | Failure]]:
        """Yield the replies of a batch that is over, by the ids of their requests, in any order."""
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...


def open_service(
    info: ModelInfo, api: ApiConfig, key: str | None, secret: str | None
) -> BatchService:
    """Open the batch service that ``api.batch`` names."""
    if api.batch == OPENAI:
        return _OpenAI(info, api, key, secret)
    return _Anthropic(info, api, key, secret)


class _OpenAI:
    def __init__(
        self, info: ModelInfo, api: ApiConfig, key: str | None, secret: str | None
    ) -> None:
        self._client = open_client(api, key, most=None)
        self._read = partial(_read, secret=secret, own=info.thinking_marks)

    async def submit(self, requests: Mapping[str, dict[str, Any]]) -> str:
        url = "/v1/chat/completions"
        lines = (
            json.dumps({"custom_id": name, "method": "POST", "url": url, "body": flat(body)})
            for name, body in requests.items()
        )
        content = "\n".join(lines).encode()
        file = await self._client.files.create(file=("batch.jsonl", content), purpose="batch")
        batch = await self._client.batches.create(
            input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h"
        )
        return str(batch.id)

    async def progress(self, batch: str) -> Progress:
        found = await self._client.batches.retrieve(batch)
        counts = found.request_counts
        done = counts.completed + counts.failed if counts else 0
        over = found.status in ("completed", "expired", "cancelled", "failed")
        errors = (found.errors.data or []) if found.errors else []
        failed = "; ".join(str(one.message) for one in errors[:3]) or "no reason given"
        if found.status != "failed":
            return Progress(done, over)
        crowded = any(one.code == _CROWDED for one in errors)
        return Progress(done, over, failed, crowded)

    async def replies(self, batch: str) -> AsyncGenerator[tuple[str, Reply | Failure]]:
        found = await self._client.batches.retrieve(batch)
        for file in (found.output_file_id, found.error_file_id):
            if not file:
                continue
            async with self._client.files.with_streaming_response.content(file) as response:
                try:
                    async for line in _lines(response.iter_lines()):
                        yield str(line.get("custom_id")), self._reply(line)
                except httpx2.TransportError as error:
                    # The client does not see to what happens after the first line.
                    raise unreachable(error, response.http_request) from error

    def _reply(self, line: Mapping[str, Any]) -> Reply | Failure:
        response, error = line.get("response"), line.get("error")
        if isinstance(response, dict):
            return self._read(response.get("status_code"), response.get("body"))
        code = error.get("code") if isinstance(error, dict) else None
        return Failure(Kind.PASSING, f"the batch ended before its turn ({code or 'no reason'})")

    async def close(self) -> None:
        await self._client.close()


class _Anthropic:
    def __init__(
        self, info: ModelInfo, api: ApiConfig, key: str | None, secret: str | None
    ) -> None:
        self._info = info
        self._messages = JsonClient(api, headers_of(key), most=None)
        self._read = partial(_read, secret=secret, own=info.thinking_marks)

    async def submit(self, requests: Mapping[str, dict[str, Any]]) -> str:
        listed = [
            {"custom_id": name, "params": message_of(body, self._info)}
            for name, body in requests.items()
        ]
        found = await self._messages.ask("POST", "messages/batches", {"requests": listed})
        return str(found["id"])

    async def progress(self, batch: str) -> Progress:
        found = await self._messages.ask("GET", f"messages/batches/{batch}")
        counts = found.get("request_counts") or {}
        done = sum(int(counts.get(kind, 0)) for kind in ("succeeded", "errored", "expired"))
        return Progress(done, found.get("processing_status") == "ended")

    async def replies(self, batch: str) -> AsyncGenerator[tuple[str, Reply | Failure]]:
        async with aclosing(self._messages.lines(f"messages/batches/{batch}/results")) as lines:
            async for line in _lines(lines):
                yield str(line.get("custom_id")), self._reply(line.get("result"))

    def _reply(self, result: Any) -> Reply | Failure:
        kind = result.get("type") if isinstance(result, dict) else None
        if kind == "succeeded":
            return self._read(200, completion_of(result.get("message")))
        if kind == "errored":
            body = result.get("error")
            inner = body.get("error") if isinstance(body, dict) else None
            named = inner.get("type") if isinstance(inner, dict) else None
            return self._read(_STATUS.get(str(named), 500), body)
        return Failure(Kind.PASSING, f"the batch ended before its turn ({kind or 'no reason'})")

    async def close(self) -> None:
        await self._messages.close()


async def _lines(lines: AsyncIterator[str]) -> AsyncIterator[Mapping[str, Any]]:
    """Read JSON lines; one that is none is no reply to any request."""
    async for line in lines:
        if len(line) > _MOST_LINE:
            continue
        try:
            found = json.loads(line) if line.strip() else None
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            yield found


def _read(status: Any, body: Any, secret: str | None, own: Sequence[str] = ()) -> Reply | Failure:
    """Interpret a reply within a batch as if it had come on its own."""
    try:
        if status == 200:
            return read_reply(json.dumps(body), own)
        raise error_of(_response(status if isinstance(status, int) else 500), body)
    except (UnreadableReplyError, openai.APIStatusError) as error:
        failure = judge(error, secret=secret)
        return CUT_OFF if failure.cut_off else failure


def _response(status: int) -> httpx2.Response:
    return httpx2.Response(status, request=httpx2.Request("POST", "http://batch"))
