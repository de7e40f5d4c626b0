"""Having judges rate the transcripts.

A request to a judge is told from others by its own text alone: a judge's journal holds requests
and replies and does not know who wrote what is rated. A reply that cannot be used is asked for
again, with a word on what was wrong, up to a limit; ratings of different replies are never put
together. Another way of asking begins another journal, so that transcripts can be judged again.
"""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

from polbayes.data.progress import progress_bar
from polbayes.data.provenance import json_digest
from polbayes.instrument.prompts import render
from polbayes.judging.replies import Judgement
from polbayes.probing.dispatch import TOO_LONG, Asking, ask_all, moves, note
from polbayes.probing.journal import Journal, Record, adopt, cell_of, journal_path, read
from polbayes.respondents import Question, Respondent, answer_settings, check_ready, open_respondent
from polbayes.respondents.questions import prompt_digest
from polbayes.roleplay.plan import RoleplayPlan, judging_elicitation, named_as_judge
from polbayes.roleplay.rubric import Reading, problems_of, request, schema
from polbayes.roleplay.rubric import read as read_reply

# Where a run keeps what its judges replied.
JUDGES = Path("journal") / "judges"
_FAILED = {"error": "no reply came", "refused": "it was refused", "invalid": "it was empty"}


@dataclass(frozen=True)
class Rating:
    """What came of one text and one judge.

    Parameters
    ----------
    judgement
        That of the first reply with the most usable ratings; None where there was no reply.
    reply
        It, as received. Untrusted text.
    attempts
        How often the judge was asked.
    outcomes
        Of each attempt: ``ok``, one of `polbayes.judging.replies.STATUSES`, the first that is not
        ok in the order of the ratings, or ``error``, ``refused``, ``invalid`` or
        ``too_long``, after which the judge is not asked again.
    """

    judgement: Judgement | None
    reply: str
    attempts: int
    outcomes: tuple[str, ...]


@dataclass
class _Task:
    """One text that a judge is to rate, and what it replied so far."""

    reading: Reading
    way: str
    outcomes: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    best: tuple[Judgement, str] | None = None

    @property
    def ended(self) -> bool:
        """Whether the judge need not be asked again, or there is no use in it."""
        whole = self.best is not None and self.best[0].complete
        return whole or self.outcomes[-1:] == [TOO_LONG]

    def take(self, record: Record) -> None:
        """Add the reply to the last request."""
        if TOO_LONG in record:
            self.outcomes.append(TOO_LONG)
            return
        # A refusal may come with words, which are no ratings.
        if record["status"] in _FAILED:
            self.outcomes.append(record["status"])
            self.problems = [_FAILED[record["status"]]]
            return
        judgement = read_reply(record["text"], self.way)
        wrong = [status for status in judgement.statuses.values() if status != "ok"]
        self.outcomes.append(wrong[0] if wrong else "ok")
        self.problems = problems_of(judgement)
        if self.best is None or _usable(judgement) > _usable(self.best[0]):
            self.best = (judgement, record["text"])


def rate(
    plan: RoleplayPlan,
    judge: str,
    readings: Sequence[tuple[Reading, str]],
    *,
    folder: Path,
    answers_from: Path | None = None,
    progress: bool | Literal["always"] = True,
) -> list[Rating]:
    """Have one judge rate texts, what it has rated before left out.

    Parameters
    ----------
    plan
        Who judges, and how.
    judge
        The judge's name.
    readings
        The texts, each with the way of asking (`polbayes.roleplay.rubric`).
    folder
        Of the judges' journals.
    answers_from
        That of another run, with whose journal this one begins.
    progress
        See `polbayes.data.progress.progress_bar`.

    Returns
    -------
    list of Rating
        One for each text.

    Raises
    ------
    UserError
        If the judge cannot be had or asked, or does nothing but fail.
    KeyboardInterrupt
        When interrupted; what was replied is in the journal.
    """
    path, settings = _journal(plan, judge, folder)
    if answers_from is not None:
        adopt(answers_from / path.name, path, settings)
    tasks = [_Task(reading, way) for reading, way in readings]
    with (
        named_as_judge(judge, plan.config),
        Journal(path, settings) as journal,
        ExitStack() as stack,
    ):
        open_judge = _opener(plan, judge, journal, stack)
        for attempt in range(1, 2 + plan.config.judging.retries):
            asked = [
                (task, _question(plan, judge, task, attempt)) for task in tasks if not task.ended
            ]
            said = _said(path)
            # Texts that are the same to the letter are one request.
            new = {q.item: q for _, q in asked if (q.item, attempt) not in said}
            if new:
                name = judge if attempt == 1 else f"{judge}, again"
                done = len({q.item for _, q in asked}) - len(new)
                bar = progress_bar(
                    name, total=len(new) + done, done=done, progress=progress, unit="text"
                )
                asking = Asking(judging_elicitation(plan.config), None, plan.config.seed)
                with bar:
                    ask_all(open_judge(), new.values(), asking, journal, shown=moves(bar))
                said = _said(path)
            for task, question in asked:
                task.take(said[question.item, attempt])
    return [_rating(task) for task in tasks]


def _opener(
    plan: RoleplayPlan, judge: str, journal: Journal, stack: ExitStack
) -> Callable[[], Respondent]:
    """Return a function that opens the judge when it is needed for the first time."""

    @cache
    def opened() -> Respondent:
        config = plan.judges[judge]
        check_ready(judge, config)
        respondent = open_respondent(judge, config, elicitation=judging_elicitation(plan.config))
        stack.callback(respondent.close)
        for text in respondent.warnings(None):
            note(journal, text)
        return respondent

    return opened


def _question(plan: RoleplayPlan, judge: str, task: _Task, attempt: int) -> Question:
    problems = task.problems if attempt > 1 else ()
    text = request(task.reading, texts=plan.texts, way=task.way, problems=problems)
    template = plan.judge_infos[judge].template
    prompt = render(template, prefix="", statement=text)
    return Question(
        *(prompt_digest(prompt), task.way, "", attempt),
        statement="",
        keying=0,
        dimension="",
        prompt=prompt,
        schema=schema(task.way) if plan.config.judging.schema else None,
    )


def _said(path: Path) -> dict[tuple[str, int], Record]:
    """Return the replies of a journal by request and attempt."""
    found = {}
    for record in read(path):
        if "cell" in record:
            item, _, _, attempt = cell_of(record)
            found[item, attempt] = record
    return found


def _rating(task: _Task) -> Rating:
    judgement, reply = task.best if task.best is not None else (None, "")
    return Rating(judgement, reply, len(task.outcomes), tuple(task.outcomes))


def _usable(judgement: Judgement) -> int:
    return sum(status == "ok" for status in judgement.statuses.values())


def _journal(plan: RoleplayPlan, judge: str, folder: Path) -> tuple[Path, dict[str, Any]]:
    """Return a judge's journal, whose name says how it was asked, and its settings."""
    config, info = plan.judges[judge], plan.judge_infos[judge]
    settings = {
        "judge": judge,
        "seed": plan.config.seed,
        "template": info.template,
        "chat template used": info.chat,
        "request": plan.texts.digest_of_request,
        "schema": plan.config.judging.schema,
        **answer_settings(config, judging_elicitation(plan.config)),
    }
    return journal_path(folder, f"{judge}-{json_digest(settings, size=6)}"), settings


def journals(plan: RoleplayPlan, folder: Path) -> dict[str, Path]:
    """Return the journal of each judge."""
    return {judge: _journal(plan, judge, folder)[0] for judge in plan.judges}
