"""Judging the transcripts.

Requests to a judge are identified by their text alone: a judge's journal holds requests and replies
and does not know who wrote the text. Unusable replies are asked for again, with a note on what was
wrong, up to a limit; ratings of different replies are never combined. Each way of asking has its
own journal, so that transcripts can be judged again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from polbayes.data.provenance import json_digest
from polbayes.judging.engine import Judge, Task
from polbayes.judging.replies import Judgement
from polbayes.probing.dispatch import TOO_LONG, Asking
from polbayes.probing.journal import Record, adopt, journal_path
from polbayes.roleplay.plan import RoleplayPlan, judging_elicitation, named_as_judge
from polbayes.roleplay.rubric import Reading, problems_of, read, request, schema

# Folder for the replies of judges.
JUDGES = Path("journal") / "judges"
_FAILED = {"error": "no reply came", "refused": "it was refused", "invalid": "it was empty"}


@dataclass(frozen=True)
class Rating:
    """The outcome for one text and one judge."""

    judgement: Judgement | None  # of the first reply with the most usable ratings
    reply: str  # it, as received: untrusted text
    attempts: int  # how often the judge was asked
    # Of each attempt: ``ok``, the first other of `polbayes.judging.replies.STATUSES`, or ``error``,
    # ``refused``, ``invalid`` or ``too_long``, after which the judge is not asked again.
    outcomes: tuple[str, ...]


@dataclass(frozen=True)
class _Reply:
    """One parsed reply of a judge."""

    outcome: str
    problems: Sequence[str] = ()
    judgement: Judgement | None = None
    text: str = ""

    @property
    def usable(self) -> int:
        """Number of usable ratings; -1 without a reply."""
        if self.judgement is None:
            return -1
        return sum(status == "ok" for status in self.judgement.statuses.values())


def rate(
    plan: RoleplayPlan,
    judge: str,
    readings: Sequence[tuple[Reading, str]],
    *,
    folder: Path,
    answers_from: Path | None = None,
) -> list[Rating]:
    """Have one judge rate texts, except those rated before."""
    asked, texts = _judge(plan, judge), {str(n): text for n, text in enumerate(readings)}
    path = _journal(asked, folder)
    if answers_from is not None:
        adopt(answers_from / path.name, path, asked.journal_settings)

    def tasks(key: str, replies: Sequence[_Reply], attempt: int) -> list[Task]:
        if replies and replies[-1].outcome in ("ok", TOO_LONG):
            return []
        reading, way = texts[key]
        problems = replies[-1].problems if replies else ()
        text = request(reading, texts=plan.texts, way=way, problems=problems)
        form = schema(way) if plan.config.judging.schema else None
        return [Task(key, text, form, way=way, attempt=attempt)]

    with named_as_judge(judge, plan.config):
        replies = asked.verdicts(
            texts, tasks, _read, journal=path, attempts=1 + plan.config.judging.retries, show="bar"
        )
    return [_rating(replies[key]) for key in texts]


def _read(task: Task, record: Record) -> _Reply:
    if TOO_LONG in record:
        return _Reply(TOO_LONG)
    # A refusal may have a text, which is no rating.
    status = record["status"]
    if status in _FAILED:
        return _Reply(status, [_FAILED[status]])
    judgement = read(record["text"], task.way)
    wrong = [status for status in judgement.statuses.values() if status != "ok"]
    outcome = wrong[0] if wrong else "ok"
    return _Reply(outcome, problems_of(judgement), judgement, record["text"])


def _rating(replies: Sequence[_Reply]) -> Rating:
    best = max(replies, key=lambda reply: reply.usable)
    outcomes = tuple(reply.outcome for reply in replies)
    return Rating(best.judgement, best.text, len(replies), outcomes)


def _judge(plan: RoleplayPlan, name: str) -> Judge:
    config = plan.config
    settings = {"request": plan.texts.digest_of_request, "schema": config.judging.schema}
    asking = Asking(judging_elicitation(config), None, config.seed)
    return Judge("ratings", plan.judges[name], plan.judge_infos[name], asking, settings)


def _journal(judge: Judge, folder: Path) -> Path:
    """Return a judge's journal, whose name identifies the way of asking."""
    way = json_digest(judge.journal_settings, size=6)
    return journal_path(folder, f"{judge.info.model}-{way}")


def journals(plan: RoleplayPlan, folder: Path) -> dict[str, Path]:
    """Return the journal of each judge."""
    return {judge: _journal(_judge(plan, judge), folder) for judge in plan.judges}
