"""Judging the transcripts.

Unusable replies are asked for again (`polbayes.judging.repeated`). Each way of asking has its own
journal, so that transcripts can be judged again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from polbayes.judging.declared import judging_elicitation, named_as_judge
from polbayes.judging.engine import Judge
from polbayes.judging.repeated import Reply, Request, ask_until_usable, best, own_journal
from polbayes.judging.replies import Judgement
from polbayes.judging.requests import problems_of
from polbayes.probing.dispatch import Asking
from polbayes.probing.journal import Record, adopt
from polbayes.roleplay.plan import RoleplayPlan
from polbayes.roleplay.rubric import Reading, read, request, schema

# Folder for the replies of judges.
JUDGES = Path("journal") / "judges"


@dataclass(frozen=True)
class Rating:
    """The outcome for one text and one judge."""

    judgement: Judgement | None  # of the first reply with the most usable ratings
    reply: str  # it, as received: untrusted text
    attempts: int  # how often the judge was asked
    # Of each attempt: ``ok``, the first other of `polbayes.judging.replies.STATUSES`, or ``error``,
    # ``refused``, ``invalid`` or ``too_long``, after which the judge is not asked again.
    outcomes: tuple[str, ...]


def rate(
    plan: RoleplayPlan,
    judge: str,
    readings: Sequence[tuple[Reading, str]],
    *,
    folder: Path,
    answers_from: Path | None = None,
) -> list[Rating]:
    """Have one judge rate texts, except those rated before."""
    asked = _judge(plan, judge)
    path = own_journal(asked, folder)
    if answers_from is not None:
        adopt(answers_from / path.name, path, asked.journal_settings)

    def put(reading: Reading, way: str) -> Request:
        return Request(
            lambda problems: request(reading, texts=plan.texts, way=way, problems=problems),
            way,
            schema(way) if plan.config.judging.schema else None,
        )

    with named_as_judge(judge, plan.config):
        replies = ask_until_usable(
            asked,
            [put(*reading) for reading in readings],
            _read,
            journal=path,
            attempts=1 + plan.config.judging.retries,
        )
    return [_rating(one) for one in replies]


def _read(way: str, record: Record) -> Reply[Judgement]:
    judgement = read(record["text"], way)
    wrong = [status for status in judgement.statuses.values() if status != "ok"]
    outcome = wrong[0] if wrong else "ok"
    usable = len(judgement.statuses) - len(wrong)
    return Reply(outcome, problems_of(judgement.statuses), judgement, record["text"], usable)


def _rating(replies: Sequence[Reply[Judgement]]) -> Rating:
    kept = best(replies)
    outcomes = tuple(reply.outcome for reply in replies)
    return Rating(kept.found, kept.text, len(replies), outcomes)


def _judge(plan: RoleplayPlan, name: str) -> Judge:
    config = plan.config
    settings = {"request": plan.texts.digest_of_request, "schema": config.judging.schema}
    asking = Asking(judging_elicitation(config.judging), None, config.seed)
    return Judge("ratings", plan.judges[name], plan.judge_infos[name], asking, settings)


def journals(plan: RoleplayPlan, folder: Path) -> dict[str, Path]:
    """Return the journal of each judge."""
    return {judge: own_journal(_judge(plan, judge), folder) for judge in plan.judges}
