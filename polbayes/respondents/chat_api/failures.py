"""Failed requests: the cause, and what to do next."""

import json
import math
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from enum import Enum, auto
from typing import Any

from polbayes.errors import UserError
from polbayes.respondents.chat_api.refused import refused_fields
from polbayes.respondents.chat_api.reply import UnreadableReplyError

_LONGEST = 300
# Wordings of servers (vLLM, llama.cpp, those of labs).
_CONTEXT = re.compile(
    r"context (?:length|size|window)|maximum context|max_model_len|prompt is too long"
    r"|exceed\w* the (?:available |model's )?context",
    re.IGNORECASE,
)

# Reasons for which nothing more is answered before somebody pays, with a status of other errors.
_UNPAID = re.compile(
    r"credit balance|usage limits?\b|billing|spending limit|insufficient (?:balance|credits|funds)",
    re.IGNORECASE,
)
_UNPAID_CODES = ("insufficient_quota", "billing_not_active")
_FILTER = re.compile(r"content_filter|content_policy_violation")
# Of a router, about a question that a filter holds back.
_FLAGGED = ("flagged_input", "reasons")
_CUT_OFF = re.compile(r"max_tokens or model output limit was reached", re.IGNORECASE)

_SAYING = ("error", "message", "detail", "msg")
_NAMING = ("param", "loc", "code", "type")


class RequestRejectedError(UserError):
    """A server rejects requests of this form, whatever the question."""


class Kind(Enum):
    """What to do about a failure."""

    FATAL = auto()  # No question can be answered: stop.
    THROTTLED = auto()  # Too many questions: slow down and ask again.
    PASSING = auto()  # Ask again.
    DECLINED = auto()  # This question is refused by the server's filter.
    QUESTION = auto()  # This question cannot be answered.


@dataclass(frozen=True)
class Failure:
    """Why a request failed, and what to do about it.

    `message` is one line, without the key; `wait` is the number of seconds that the server asks to
    wait, or None. `billed` is whether the model may have worked on the request, so that it may
    cost; `too_long` whether the question does not fit into the model's context. `refused` are
    fields of the request that the server does not accept. `cut_off` is whether there would be an
    answer if it might be longer.
    """

    kind: Kind
    message: str
    wait: float | None = None
    billed: bool = False
    too_long: bool = False
    refused: frozenset[str] = frozenset()
    cut_off: bool = False


def judge(error: Exception, *, secret: str | None = None) -> Failure:
    """Interpret a failure."""
    import openai

    if isinstance(error, openai.APIStatusError):
        return _of_status(error, secret)
    if isinstance(error, openai.APITimeoutError | TimeoutError):
        return Failure(Kind.PASSING, "no answer came in time", billed=True)
    if isinstance(error, openai.APIConnectionError):
        cause = error.__cause__
        if isinstance(cause, UnreadableReplyError):
            return judge(cause, secret=secret)
        refused = "Connect" in type(cause).__name__
        why = f" ({type(cause).__name__})" if cause is not None else ""
        return Failure(Kind.PASSING, f"the connection failed{why}", billed=not refused)
    if isinstance(error, UnreadableReplyError | openai.APIResponseValidationError):
        return Failure(Kind.PASSING, without(str(error), secret), billed=True)
    return Failure(Kind.QUESTION, without(f"{type(error).__name__}: {error}", secret))


def _of_status(error: Any, secret: str | None) -> Failure:
    status = int(error.status_code)
    said = f"status {status}: {without(_said(error.body), secret)}".rstrip(": ")
    wait, words = retry_after(error.response.headers), _words(error.body)
    if status == 401:
        # What the server says may repeat the key.
        return Failure(Kind.FATAL, f"status {status}")
    if status in (400, 403, 422):
        if _CUT_OFF.search(words):
            return Failure(Kind.QUESTION, said, billed=True, cut_off=True)
        if refused := refused_fields(words):
            return Failure(Kind.QUESTION, said, refused=refused)
        if _FILTER.search(words) or _metadata(error.body).keys() & set(_FLAGGED):
            return Failure(Kind.DECLINED, said)
        if _UNPAID.search(words):
            return Failure(Kind.FATAL, said)
    unpaid = error.code in _UNPAID_CODES or error.type in _UNPAID_CODES
    if status in (402, 403, 404) or unpaid:
        return Failure(Kind.FATAL, said)
    if status == 429:
        return Failure(Kind.THROTTLED, said, wait)
    if status in (408, 409) or status >= 500:
        return Failure(Kind.PASSING, said, wait, billed=status in (408, 504))
    too_long = error.code == "context_length_exceeded" or bool(_CONTEXT.search(said))
    return Failure(Kind.QUESTION, said, too_long=too_long)


def _said(body: Any) -> str:
    """Return the server's message, wherever it is."""
    if isinstance(body, list):
        return "; ".join(filter(None, map(_said, body)))
    if isinstance(body, Mapping):
        own = next((_said(body[key]) for key in _SAYING if body.get(key)), "")
        return ": ".join(filter(None, (own, _said(_upstream(body)))))
    return body if isinstance(body, str) else ""


def _metadata(body: Any) -> Mapping[str, Any]:
    found = body.get("metadata") if isinstance(body, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _upstream(body: Any) -> Any:
    """Return the error of a provider that a router passes on, if there is one."""
    raw = _metadata(body).get("raw")
    try:
        return json.loads(raw) if isinstance(raw, str) else raw
    except (ValueError, RecursionError):
        return raw


def _words(body: Any) -> str:
    """Return the server's message, with the names of the fields it is about."""
    if isinstance(body, list):
        return " ".join(map(_words, body))
    if isinstance(body, Mapping):
        own = (_words(body[key]) for key in (*_SAYING, *_NAMING) if key in body)
        return " ".join([*own, _words(_upstream(body))])
    return body if isinstance(body, str) else ""


def without(text: str, secret: str | None) -> str:
    """Return the first line of a text, shortened and with a secret blacked out."""
    if secret:
        text = text.replace(secret, "***")
    return (text.strip().splitlines() or [""])[0][:_LONGEST]


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a server asks to wait, in any of the usual forms, or None."""
    for header, unit in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(header, "")) * unit
        except ValueError:
            continue
        if math.isfinite(seconds) and seconds >= 0:
            return seconds
    try:
        moment = parsedate_to_datetime(headers.get("retry-after", ""))
        return max(moment.timestamp() - time.time(), 0.0)
    except (ValueError, TypeError, OverflowError):
        return None
