"""The client of a server, which limits the memory that a reply can take."""

import zlib

import httpx2
import openai

from polbayes.config.schema import ApiConfig
from polbayes.respondents.chat_api.reply import UnreadableReplyError

# An answer of a hundred thousand tokens has less than a megabyte.
_MOST_BYTES = 16 * 2**20
_GZIP = 16 + zlib.MAX_WBITS


def open_client(api: ApiConfig, key: str | None, *, bounded: bool = True) -> openai.AsyncOpenAI:
    """Open a client that does not retry; `bounded`, it refuses replies too long for an answer."""
    http = openai.DefaultAsyncHttpxClient(
        headers={"Accept-Encoding": "gzip"},
        event_hooks={"response": [read_bounded]} if bounded else {},
    )
    # The caller retries, because all requests share one pace.
    return openai.AsyncOpenAI(
        base_url=api.base_url,
        api_key=key or "none",
        timeout=api.timeout,
        max_retries=0,
        http_client=http,
    )


async def read_bounded(response: httpx2.Response) -> None:
    """Read the body of a response, and put it in place of the stream that it comes from."""
    # The library decodes each piece as a whole, however long it becomes.
    encoding = response.headers.pop("content-encoding", "").strip().lower()
    stream = response.stream
    assert isinstance(stream, httpx2.AsyncByteStream)
    try:
        body = await _body(stream, zipped=encoding in ("gzip", "x-gzip"))
    except UnreadableReplyError:
        if not response.is_error:
            raise
        # The status says enough.
        body = b""
    finally:
        await stream.aclose()
    response.stream = httpx2.ByteStream(body)


async def _body(stream: httpx2.AsyncByteStream, *, zipped: bool) -> bytes:
    body, received, unzip = bytearray(), 0, zlib.decompressobj(_GZIP)
    async for piece in stream:
        received += len(piece)
        if not zipped:
            body += piece
        elif not unzip.eof:
            body += _unzipped(unzip, piece, most=_MOST_BYTES + 1 - len(body))
        if max(received, len(body)) > _MOST_BYTES:
            most = _MOST_BYTES // 2**20
            raise UnreadableReplyError(f"the reply is longer than {most} MiB, as no answer is")
    return bytes(body)


def _unzipped(unzip: "zlib._Decompress", piece: bytes, *, most: int) -> bytes:
    try:
        return unzip.decompress(piece, most)
    except zlib.error as error:
        raise UnreadableReplyError("the reply is not the gzip that it is said to be") from error
