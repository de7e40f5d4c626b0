"""Rounds: the division of a respondent's remaining questions into shards, repeated if need be."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

from polbayes.config.schema import LauncherConfig, RespondentConfig
from polbayes.errors import UserError
from polbayes.probing.dispatch import Before, before
from polbayes.probing.journal import Journal
from polbayes.probing.launch.merge import launch_path, merge, shard_folder
from polbayes.probing.launch.shard import Ended, Shard
from polbayes.probing.work import Work, from_cache, note_damage
from polbayes.respondents.chat_api.budget import cost, tokens_at_most
from polbayes.respondents.usage import Usage


def part_of(
    config: RespondentConfig, spent: Usage, *, share: float, at_once: int
) -> RespondentConfig:
    """Return a respondent with a shard's share of its limits."""
    if config.backend != "chat_api" or config.api is None:
        return config
    api = config.api
    tokens, money = tokens_at_most(spent), cost(spent, api, at_most=True)
    part: dict[str, float | int | None] = {}
    if api.requests_per_minute is not None:
        part["requests_per_minute"] = api.requests_per_minute / at_once
    if api.budget_tokens is not None and share < 1:
        part["budget_tokens"] = max(1, tokens + int(share * (api.budget_tokens - tokens)))
    if api.budget is not None and money is not None and share < 1:
        part["budget"] = money + share * (api.budget - money)
    return replace(config, api=replace(api, **part))  # type: ignore[arg-type]


@dataclass
class Round:
    """The shards that one respondent's remaining questions are divided into.

    `left` are positions of the questions left when the round began, and `known` the state of the
    journal then; `number` counts a respondent's rounds from 1. Of its `size` shards `running` have
    not ended; `ended` says how the others ended, if not well.
    """

    work: Work
    journal: Journal
    left: Sequence[int]
    known: Before
    number: int = 1
    size: int = 0
    running: int = 0
    ended: list[Ended] = field(default_factory=list)
    answered: int = 0

    def merge(self, shard: Shard) -> None:
        """Merge the journal of a finished shard into the respondent's."""
        cells = merge(shard.path, self.journal, self.known.notes)
        self.answered += len(cells)
        works = any(record["status"] != "error" for record in cells)
        self.known.works = self.known.works or works


def first_round(work: Work, stack: ExitStack) -> Round | None:
    """Return the first round of a respondent; None if no question is left."""
    journal = stack.enter_context(work.asking.open_journal(work.path, work.settings))
    known = before(journal)
    note_damage(journal, known)
    left = from_cache(work, work.left(known.answered), journal, stack)
    return Round(work, journal, left, known) if left else None


def shards_of(one: Round, launcher: LauncherConfig, token: str) -> list[Shard]:
    """Divide the remaining questions in their order, so that similar prompts stay together."""
    total = len(one.left)
    one.size = one.running = min(launcher.shards, total)
    ends = [round(k * total / one.size) for k in range(one.size + 1)]
    at_once = min(one.size, launcher.workers or one.size)
    work = one.work
    first = work.asking.first_answers(work.questions)
    first.add(one.journal.read())
    # One usable answer shows that the respondent works, whatever the shard's questions.
    asking = replace(work.asking, screening=None) if first.settled else work.asking
    return [
        Shard(
            questions=work.questions,
            places=one.left[first:end],
            config=part_of(
                work.config, one.known.spent, share=(end - first) / total, at_once=at_once
            ),
            asking=asking,
            path=(shard_folder(work.path) / f"{token}-{one.number}-{number}.jsonl").absolute(),
            settings=work.settings,
            launch=launch_path(work.path.parent).absolute(),
            token=token,
            folder=Path.cwd(),
            works=one.known.works,
            spent=one.known.spent,
            left_out=one.known.left_out,
        )
        for number, (first, end) in enumerate(pairwise(ends), start=1)
    ]


def next_round(one: Round, launcher: LauncherConfig, token: str) -> Sequence[Shard]:
    """Return the shards of a further round, if some shards did not end well."""
    over = [ended for ended in one.ended if ended.kind == "budget"]
    failed = [ended for ended in one.ended if ended.kind == "failures"]
    # What another shard left of its budget may allow what this one's did not.
    if over and one.size == 1:
        raise UserError(over[0].error)
    # If another shard has answers, the questions failed and not the respondent.
    if failed and not (one.known.works and one.answered):
        raise UserError(failed[0].error)
    if not one.answered:
        # The shares are too small for a single question, so that one shard gets them all.
        launcher = replace(launcher, shards=1)
    one.known = before(one.journal)
    questions = one.work.questions
    one.left = [n for n in one.left if questions[n].cell not in one.known.answered]
    one.number += 1
    one.answered, one.ended = 0, []
    return shards_of(one, launcher, token)
