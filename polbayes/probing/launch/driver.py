"""The launch: shards are submitted to an engine, monitored, restarted and merged."""

import secrets
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from polbayes.config.schema import LauncherConfig
from polbayes.data.progress import say
from polbayes.data.prose import plural
from polbayes.errors import UserError
from polbayes.probing.launch.engine import Engine, open_engine
from polbayes.probing.launch.live import Live
from polbayes.probing.launch.merge import SHARDS, absorb, launch_path, stop_launch, tidy
from polbayes.probing.launch.rounds import Round, first_round, next_round, shards_of
from polbayes.probing.launch.shard import Ended, Shard
from polbayes.probing.work import Work

# Seconds between two checks of the tasks.
_LOOK = 0.2


@dataclass
class _Task:
    """A shard that has been or will be submitted."""

    shard: Shard
    round: Round  # what the shard belongs to
    died: int = 0  # how often in a row its worker has died without getting on
    size: int = 0  # bytes of its journal when it was begun
    handle: object = None  # what the engine calls it


def ask_elsewhere(
    works: Sequence[Work], launcher: LauncherConfig, *, progress: bool | Literal["always"] = True
) -> None:
    """Ask respondents in tasks of an engine, and merge the answers into their journals."""
    for work in works:
        absorb(work.path, work.settings, work.asking)
    with ExitStack() as stack:
        rounds = [one for work in works if (one := first_round(work, stack)) is not None]
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


def _begin(journal_dir: Path) -> str:
    """Record the current launch, so that workers of an earlier one stop."""
    token = secrets.token_hex(8)
    path = launch_path(journal_dir)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(token, encoding="ascii")
    return token


def _leave(journal_dir: Path) -> None:
    """Remove the files of the launch, except logs and journals that may still be needed."""
    stop_launch(journal_dir)
    tidy(journal_dir)


@contextmanager
def _stopping(engine: Engine, tasks: list[_Task], journal_dir: Path) -> Iterator[None]:
    """Stop all tasks if the block is left early; merge their answers in any case."""
    try:
        yield
    except BaseException:
        if tasks:
            say(f"probe: stopping {plural(len(tasks), 'worker')}; what was answered is kept")
        stop_launch(journal_dir)
        engine.stop([task.handle for task in tasks])
        for task in tasks:
            # Tasks that cannot be stopped still write, and are merged at the next start.
            with suppress(UserError):
                task.round.merge(task.shard)
        raise


def _run(
    rounds: Sequence[Round],
    tasks: list[_Task],
    means: tuple[Engine, LauncherConfig, str],
    live: Live,
) -> None:
    """Run the shards of all rounds, including the rounds that follow from them."""
    engine, launcher, token = means
    waiting = deque(
        _Task(shard, one) for one in rounds for shard in shards_of(one, launcher, token)
    )
    while waiting or tasks:
        while waiting and (launcher.workers is None or len(tasks) < launcher.workers):
            task = waiting.popleft()
            task.shard.path.parent.mkdir(parents=True, exist_ok=True)
            task.size = _size(task.shard.path)
            task.handle = engine.submit(task.shard)
            tasks.append(task)
        for task in list(tasks):
            ended = engine.ended(task.handle)
            if ended is None:
                continue
            tasks.remove(task)
            if ended.kind == "lost":
                waiting.append(_begun_again(task, ended, launcher))
                continue
            live.look(task.shard)
            more = _after(task, ended, launcher, token)
            waiting.extend(_Task(shard, task.round) for shard in more)
        live.show([task.shard for task in tasks])
        if tasks:
            time.sleep(_LOOK)


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


def _begun_again(task: _Task, ended: Ended, launcher: LauncherConfig) -> _Task:
    """Return the task that replaces a dead worker's."""
    died = 1 + (0 if _size(task.shard.path) > task.size else task.died)
    if died <= launcher.retries:
        return _Task(task.shard, task.round, died=died)
    task.round.merge(task.shard)
    raise UserError(
        f"respondents.{task.shard.questions.model}: a worker died {died} times without answering "
        f"anything ({ended.error.rstrip('.')}); what was answered is kept."
    )


def _after(task: _Task, ended: Ended, launcher: LauncherConfig, token: str) -> Sequence[Shard]:
    """Merge a finished shard, and return the shards of a further round, if any."""
    one = task.round
    one.merge(task.shard)
    one.running -= 1
    if ended.error and not ended.kind:
        raise UserError(ended.error)
    if ended.error:
        one.ended.append(ended)
    return next_round(one, launcher, token) if one.ended and not one.running else ()
