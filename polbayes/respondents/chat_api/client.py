"""The client of a server, which limits the memory that a reply can take."""

import zlib
from collections.abc import Awaitable, Callable
from functools import partial

import httpx2
import openai

from polbayes.config.schema import ApiConfig
from polbayes.respondents.chat_api.reply import UnreadableReplyError

# An answer of a hundred thousand tokens has less than a megabyte.
MOST_BYTES = 16 * 2**20
_GZIP = 16 + zlib.MAX_WBITS


def open_client(
    api: ApiConfig, key: str | None, *, most: int | None = MOST_BYTES
) -> openai.AsyncOpenAI:
    """Open a client that does not retry, and refuses replies of more than so many bytes."""
    http = openai.DefaultAsyncHttpxClient(
        headers={"Accept-Encoding": "gzip"},
        event_hooks={"response": [bounded(most)]} if most else {},
    )
    # The caller retries, because all requests share one pace.
    return openai.AsyncOpenAI(
        base_url=api.base_url,
        api_key=key or "none",
        timeout=api.timeout,
        max_retries=0,
        http_client=http,
    )


def bounded(most: int) -> Callable[[httpx2.Response], Awaitable[None]]:
    """Return a function that reads a response of so many bytes at most."""
    return partial(_read, most=most)


async def _read(response: httpx2.Response, *, most: int) -> None:
    """Read the body of a response, and put it in place of the stream that it comes from."""
    # The library decodes each piece as a whole, however long it becomes.
    encoding = response.headers.pop("content-encoding", "").strip().lower()
    stream = response.stream
    assert isinstance(stream, httpx2.AsyncByteStream)
    try:
        body = await _body(stream, zipped=encoding in ("gzip", "x-gzip"), most=most)
    except UnreadableReplyError:
        if not response.is_error:
            raise
        # The status says enough.
        body = b""
    finally:
        await stream.aclose()
    response.stream = httpx2.ByteStream(body)


async def _body(stream: httpx2.AsyncByteStream, *, zipped: bool, most: int) -> bytes:
    body, received, unzip = bytearray(), 0, zlib.decompressobj(_GZIP)
    async for piece in stream:
        received += len(piece)
        if not zipped:
            body += piece
        elif not unzip.eof:
            body += _unzipped(unzip, piece, most=most + 1 - len(body))
        if max(received, len(body)) > most:
            raise UnreadableReplyError(
                f"the reply is longer than {most // 2**20} MiB, as no answer is"
            )
    return bytes(body)


def _unzipped(unzip: "zlib._Decompress", piece: bytes, *, most: int) -> bytes:
    try:
        return unzip.decompress(piece, most)
    except zlib.error as error:
        raise UnreadableReplyError("the reply is not the gzip that it is said to be") from error
