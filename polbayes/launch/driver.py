"""The launch: shards are handed to an engine, watched, begun again, and merged as they end."""

import secrets
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Literal

from polbayes.config import LauncherConfig
from polbayes.errors import UserError
from polbayes.journal import Journal
from polbayes.launch.engine import Engine, check_launcher, open_engine
from polbayes.launch.limits import part_of
from polbayes.launch.live import Live
from polbayes.launch.merge import SHARDS, absorb, launch_path, merge, shard_folder, stop_launch, tidy
from polbayes.launch.shard import Ended, Shard
from polbayes.probe import Work
from polbayes.respondents.usage import Usage, used
from polbayes.terminal import say

# Seconds between two looks at the tasks.
_LOOK = 0.2


@dataclass
class _Round:
    """The shards that one respondent's remaining questions are divided into.

    Parameters
    ----------
    work
        What it is asked.
    journal
        The respondent's, open for writing.
    left
        Places of the questions that were left when the round began.
    number
        Counts a respondent's rounds from 1.
    open
        Shards that have not ended.
    ended
        How the others did, if not well.
    answered, works, spent
        Answers of this round, whether there was any success at all, and what was used so far.
    noted
        Remarks in the journal.
    """

    work: Work
    journal: Journal
    left: list[int]
    number: int = 1
    size: int = 0
    open: int = 0
    ended: list[Ended] = field(default_factory=list)
    answered: int = 0
    works: bool = False
    spent: Usage = field(default_factory=Usage)
    noted: set[str] = field(default_factory=set)


@dataclass
class _Task:
    """A shard that an engine has."""

    shard: Shard
    round: _Round
    task: object
    # Bytes of the journal when it was begun, and how often in a row it died without a new one.
    size: int
    died: int = 0


def ask_elsewhere(
    works: Sequence[Work],
    launcher: LauncherConfig,
    *,
    progress: bool | Literal["always"] = True,
) -> None:
    """Ask respondents in tasks of an engine, and merge what they answer into their journals.

    Parameters
    ----------
    works
        What each respondent is asked.
    launcher
        Which engine, and into how many tasks the questions are divided.
    progress
        As of `polbayes.probe.probe`.

    Raises
    ------
    UserError
        If the engine cannot be had, a worker dies again and again without getting on, or a
        respondent cannot be asked. All tasks are stopped then, and what they answered is kept.
    KeyboardInterrupt
        When interrupted; likewise.
    """
    check_launcher(launcher)
    for work in works:
        absorb(work.path, work.settings)
    with ExitStack() as stack:
        rounds = [
            one for work in works if (one := _first_round(work, stack)) is not None
        ]
        if not rounds:
            return
        journal_dir = works[0].path.parent
        token = _begin(journal_dir)
        stack.callback(_leave, journal_dir)
        engine = open_engine(launcher, journal_dir / SHARDS / "tasks")
        stack.callback(engine.close)
        live = stack.enter_context(Live([(r.work, len(r.left)) for r in rounds], progress))
        tasks: list[_Task] = []
        with _stopping(engine, tasks, journal_dir):
            _run(rounds, tasks, (engine, launcher, token), live)


def _first_round(work: Work, stack: ExitStack) -> _Round | None:
    journal = stack.enter_context(Journal(work.path, work.settings))
    left = work.left(journal)
    if not left:
        return None
    records = journal.records
    return _Round(
        work,
        journal,
        left,
        works=any(r.get("status", "error") != "error" for r in records),
        spent=used(records),
        noted={str(r["note"]) for r in records if "note" in r},
    )


def _begin(journal_dir: Path) -> str:
    """Write down which launch is going on, so that workers of an earlier one stop."""
    token = secrets.token_hex(8)
    path = launch_path(journal_dir)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(token, encoding="ascii")
    return token


def _leave(journal_dir: Path) -> None:
    """Take away what the launch needed, but for logs and journals that somebody may still need."""
    stop_launch(journal_dir)
    tidy(journal_dir)


@contextmanager
def _stopping(engine: Engine, tasks: list[_Task], journal_dir: Path) -> Iterator[None]:
    """Stop all tasks if the block is left early, and merge what they answered in any case."""
    try:
        yield
    except BaseException:
        if tasks:
            say(f"probe: stopping {len(tasks)} workers; what they answered is kept")
        stop_launch(journal_dir)
        engine.stop([one.task for one in tasks])
        for one in tasks:
            # What cannot be stopped is still written, and merged another time.
            with suppress(UserError):
                _merge(one)
        raise


def _run(
    rounds: Sequence[_Round],
    tasks: list[_Task],
    means: tuple[Engine, LauncherConfig, str],
    live: Live,
) -> None:
    engine, launcher, token = means
    waiting: deque[tuple[Shard, _Round, int]] = deque()
    for one in rounds:
        waiting += _shards(one, launcher, token)
    while waiting or tasks:
        while waiting and (launcher.workers is None or len(tasks) < launcher.workers):
            shard, of, died = waiting.popleft()
            shard.path.parent.mkdir(parents=True, exist_ok=True)
            tasks.append(_Task(shard, of, engine.submit(shard), _size(shard.path), died))
        for one in list(tasks):
            ended = engine.ended(one.task)
            if ended is None:
                continue
            if ended.kind == "lost" and (died := _died(one)) <= launcher.retries:
                tasks.remove(one)
                waiting.append((one.shard, one.round, died))
                continue
            tasks.remove(one)
            live.look(one.shard)
            waiting += _after(one, ended, launcher, token)
        live.show([one.shard for one in tasks])
        if tasks:
            time.sleep(_LOOK)


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


def _died(one: _Task) -> int:
    """Return how often in a row a task has died without getting on."""
    return 1 + (0 if _size(one.shard.path) > one.size else one.died)


def _after(
    one: _Task, ended: Ended, launcher: LauncherConfig, token: str
) -> list[tuple[Shard, _Round, int]]:
    """Merge a shard that has ended, and return those of a further round, if there is to be one.

    Raises
    ------
    UserError
        If the respondent cannot be asked what is left.
    """
    of = one.round
    _merge(one)
    of.open -= 1
    if ended.error:
        if ended.kind in ("", "lost"):
            where = f"respondents.{of.work.questions.model}: "
            raise UserError(ended.error if not ended.kind else f"{where}{_lost(ended, launcher)}")
        of.ended.append(ended)
    if of.open or not of.ended:
        return []
    # What one part of the budget did not allow, what another part left over may.
    spent = [e for e in of.ended if e.kind == "budget"]
    failed = [e for e in of.ended if e.kind == "failures"]
    if spent and of.size == 1:
        raise UserError(spent[0].error)
    if failed and not (of.works and of.answered):
        raise UserError(failed[0].error)
    return _next_round(of, launcher, token)


def _lost(ended: Ended, launcher: LauncherConfig) -> str:
    return (
        f"a worker died {launcher.retries + 1} times without answering anything ({ended.error}); "
        "what was answered is kept."
    )


def _merge(one: _Task) -> None:
    of = one.round
    cells = merge(one.shard.path, of.journal, of.work.settings, of.noted)
    of.answered += len(cells)
    of.works = of.works or any(record["status"] != "error" for record in cells)


def _next_round(
    of: _Round, launcher: LauncherConfig, token: str
) -> list[tuple[Shard, _Round, int]]:
    from polbayes.journal import tail

    records, _ = tail(of.journal.path)
    answered = {tuple(record["cell"]) for record in records if "cell" in record}
    left = []
    for n in of.left:
        q = of.work.questions[n]
        if (q.item, q.variant, q.prefix, q.run) not in answered:
            left.append(n)
    of.left, of.spent = left, used(records)
    of.number += 1
    if not of.answered:
        # The parts are too small for a single question: one gets it all.
        launcher = replace(launcher, shards=1)
    of.answered, of.ended = 0, []
    return _shards(of, launcher, token)


def _shards(
    of: _Round, launcher: LauncherConfig, token: str
) -> list[tuple[Shard, _Round, int]]:
    """Divide what is left, in its order, so that prompts that begin alike stay together."""
    total = len(of.left)
    of.size = of.open = min(launcher.shards, total)
    ends = [round(k * total / of.size) for k in range(of.size + 1)]
    at_once = min(of.size, launcher.workers or of.size)
    work, folder = of.work, Path.cwd()
    shards = []
    for number, (first, end) in enumerate(pairwise(ends), start=1):
        config = part_of(work.config, of.spent, share=(end - first) / total, at_once=at_once)
        path = shard_folder(work.path) / f"{token}-{of.number}-{number}.jsonl"
        shard = Shard(
            questions=work.questions,
            places=of.left[first:end],
            config=config,
            asking=work.asking,
            path=path.absolute(),
            settings=work.settings,
            launch=launch_path(work.path.parent).absolute(),
            token=token,
            folder=folder,
            works=of.works,
            spent=of.spent,
        )
        shards.append((shard, of, 0))
    return shards
