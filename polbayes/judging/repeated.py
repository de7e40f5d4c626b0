"""Asking a judge again where its reply cannot be used, with a note on what was wrong.

Requests to a judge are identified by their text alone: a judge's journal holds requests and replies
and does not know who wrote the text. What is read from different replies is never combined.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

from polbayes.data.provenance import json_digest
from polbayes.judging.engine import Judge, Task
from polbayes.probing.dispatch import TOO_LONG
from polbayes.probing.journal import Record, journal_path

_T = TypeVar("_T")
_FAILED = {"error": "no reply came", "refused": "it was refused", "invalid": "it was empty"}
_FAILED["empty"] = _FAILED["invalid"]


@dataclass(frozen=True)
class Request:
    """What a judge is asked about a text, in one way."""

    # Returns the request, given the problems of an earlier reply, of which there may be none.
    text: Callable[[Sequence[str]], str]
    way: str
    schema: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Reply(Generic[_T]):
    """One reply of a judge, as read."""

    # ``ok``, the first other of `polbayes.judging.replies.STATUSES`, or ``error``, ``refused``,
    # ``invalid`` or ``too_long``, after which the judge is not asked again.
    outcome: str
    problems: Sequence[str] = ()
    found: _T | None = None
    text: str = ""  # as received: untrusted
    usable: int = -1  # number of usable parts; -1 without a reply


def ask_until_usable(
    judge: Judge,
    requests: Sequence[Request],
    read: Callable[[str, Record], Reply[_T]],
    *,
    journal: Path,
    attempts: int,
    show: Literal[True, "bar"] = "bar",
) -> list[list[Reply[_T]]]:
    """Put requests until the reply can be used, and return the replies to each.

    `read` reads a reply, given the way of asking and its record.
    """
    put = {str(n): request for n, request in enumerate(requests)}

    def tasks(key: str, replies: Sequence[Reply[_T]], attempt: int) -> list[Task]:
        if replies and replies[-1].outcome in ("ok", TOO_LONG):
            return []
        one = put[key]
        text = one.text(replies[-1].problems if replies else ())
        return [Task(key, text, one.schema, way=one.way, attempt=attempt)]

    def verdict(task: Task, record: Record) -> Reply[_T]:
        if TOO_LONG in record:
            return Reply(TOO_LONG)
        # A refusal may have a text, which is no rating.
        status = record["status"]
        if status in _FAILED:
            return Reply("invalid" if status == "empty" else status, [_FAILED[status]])
        return read(task.way, record)

    replies = judge.verdicts(put, tasks, verdict, journal=journal, attempts=attempts, show=show)
    return [replies[key] for key in put]


def best(replies: Sequence[Reply[_T]]) -> Reply[_T]:
    """Return the first reply with the most usable parts."""
    return max(replies, key=lambda reply: reply.usable)


def own_journal(judge: Judge, folder: Path) -> Path:
    """Return a judge's journal, whose name identifies the way of asking."""
    way = json_digest(judge.journal_settings, size=6)
    return journal_path(folder, f"{judge.info.model}-{way}")
