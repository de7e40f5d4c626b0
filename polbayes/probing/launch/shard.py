"""A shard: some of a respondent's questions, and the task that asks them."""

import os
import platform
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polbayes.config.schema import RespondentConfig
from polbayes.errors import NothingWorksError, OverBudgetError, UserError
from polbayes.respondents.usage import Usage

if TYPE_CHECKING:
    from polbayes.probing.dispatch import Asking
    from polbayes.respondents.base import Question
    from polbayes.respondents.questions import PendingQuestions

# Seconds between two checks whether the shard is still wanted.
_LOOK = 0.5


@dataclass(frozen=True)
class Shard:
    """Some of one respondent's questions."""

    questions: "PendingQuestions"  # all of the respondent's
    places: Sequence[int]  # those of this shard, by their places among them
    config: RespondentConfig  # the respondent, with this shard's part of the budget and of the rate
    asking: "Asking"  # how all cells are asked
    # Of the shard's journal.
    path: Path
    settings: Mapping[str, Any]
    # A file, and its content while the shard is wanted.
    launch: Path
    token: str
    folder: Path  # where the command is run; relative paths are from there
    # Whether the respondent is known to answer, so that failures are the questions'.
    works: bool = False
    spent: Usage = field(default_factory=Usage)  # what the respondent used before
    left_out: Mapping[str, str] = field(default_factory=dict)  # what its server does not take

    @property
    def name(self) -> str:
        """Its name for the engine."""
        return f"{self.questions.model}-{self.path.stem}"


@dataclass(frozen=True)
class Ended:
    """How a task ended.

    `error` is a message for the user, empty if everything was asked; `kind` is ``budget`` or
    ``failures`` if the shard's share does not settle the matter for the whole, ``lost`` if the
    worker died, otherwise empty.
    """

    error: str = ""
    kind: str = ""


def ask_shard(shard: Shard) -> Ended:
    """Ask the questions of a shard that its journal lacks, if the shard is still wanted."""
    try:
        _ask(shard)
    except OverBudgetError as error:
        return Ended(str(error), "budget")
    except NothingWorksError as error:
        return Ended(str(error), "failures")
    except UserError as error:
        return Ended(f"{str(error).rstrip('.')} (on {platform.node()}).")
    return Ended()


def _ask(shard: Shard) -> None:
    from polbayes.probing.dispatch import before
    from polbayes.probing.work import Put, ask_left
    from polbayes.respondents import check_ready

    _enter(shard)
    if not _wanted(shard):
        return
    check_ready(shard.questions.model, shard.config)
    with shard.asking.open_journal(shard.path, shard.settings) as journal:
        known = before(journal)
        left = [n for n in shard.places if shard.questions[n].cell not in known.answered]
        if left:
            known.works = known.works or shard.works
            known.spent += shard.spent
            known.left_out = {**shard.left_out, **known.left_out}
            put = Put(_while_wanted(shard, left), known)
            ask_left(shard.questions, put, shard.config, shard.asking, journal)


def _enter(shard: Shard) -> None:
    """Change to the folder of the command, which every node must see."""
    try:
        os.chdir(shard.folder)
    except OSError as error:
        raise UserError(
            f"launcher: {shard.folder} cannot be seen by a worker ({error.strerror}); run the "
            "command in a folder that all nodes share."
        ) from error
    if not shard.path.parent.is_dir():
        raise UserError(
            f"run_dir: {shard.path.parent} cannot be seen by a worker; choose a run_dir that all "
            "nodes share."
        )


def _wanted(shard: Shard) -> bool:
    """Return whether the launch of the shard is still going on."""
    try:
        return shard.launch.read_text(encoding="ascii") == shard.token
    except (OSError, ValueError):
        return False


def _while_wanted(shard: Shard, left: Sequence[int]) -> "Iterator[Question]":
    """Yield the questions one by one until the shard is no longer wanted."""
    looked = time.monotonic()
    for n in left:
        if time.monotonic() - looked >= _LOOK:
            if not _wanted(shard):
                return
            looked = time.monotonic()
        yield shard.questions[n]
