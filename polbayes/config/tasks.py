"""Tasks of the command line."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from polbayes.config.registry import Registry
from polbayes.config.schema import RunConfig


@dataclass(frozen=True)
class Call:
    """A parsed command line.

    Parameters
    ----------
    config, text
        The checked config, and the same as YAML.
    overrides, config_dir
        As given.
    """

    config: RunConfig
    text: str
    overrides: Sequence[str]
    config_dir: str | None

    @property
    def command(self) -> list[str]:
        """The command line, to be run again."""
        folder = ["--config-dir", self.config_dir] if self.config_dir else []
        return ["polbayes", *self.overrides, *folder]


@dataclass(frozen=True)
class Answer:
    """What a task found: `text` for people, and the same as values that JSON has."""

    text: str
    facts: Mapping[str, Any]

    def __repr__(self) -> str:
        """Return the text, so that Python and notebooks show it as the terminal does."""
        return self.text


@dataclass(frozen=True)
class Task:
    """A task of the command line.

    Parameters
    ----------
    do
        Does it, and returns what is printed at the end, if anything. Should import what it needs
        when called, so that ``--help`` is fast.
    usage
        Overrides that call it, e.g. ``task=inspect run_dir=FOLDER``; empty for the default.
    help
        What it does, in one line.
    works_on
        What it needs: a ``config`` (with an experiment, instruments and respondents), the folder
        of a ``run``, or several ``runs``.
    judged
        Whether it supports elicitation=roleplay and elicitation=paired, whose texts judges rate.
    """

    do: Callable[[Call], str | Answer | None]
    usage: str
    help: str
    works_on: Literal["config", "run", "runs"] = "config"
    judged: bool = False


# In the order of the help.
TASKS: Registry[Task] = Registry(
    "polbayes.tasks",
    "task",
    {
        "run": "polbayes.tasks.pipeline:RUN",
        "dry_run": "polbayes.tasks.pipeline:DRY_RUN",
        "explain": "polbayes.tasks.pipeline:EXPLAIN",
        "prior": "polbayes.tasks.pipeline:PRIOR",
        "compare_specs": "polbayes.tasks.compare_specs:TASK",
        "sensitivity": "polbayes.tasks.sensitivity:TASK",
        "plan": "polbayes.tasks.planning:TASK",
        "compare": "polbayes.tasks.compare:TASK",
        "annotate": "polbayes.tasks.annotation:TASK",
        "train_coder": "polbayes.tasks.training:TASK",
        "validate_coder": "polbayes.tasks.validation:TASK",
        "inspect": "polbayes.tasks.inspection:TASK",
        "watch": "polbayes.tasks.watch:TASK",
        "export": "polbayes.tasks.export:TASK",
        "paraphrase": "polbayes.tasks.paraphrasing:TASK",
        "ablate": "polbayes.tasks.ablation:TASK",
    },
)


def answer_of(call: Call) -> Answer | None:
    """Do the task of a call, and return what it found, if anything."""
    said = TASKS[call.config.task].do(call)
    return Answer(said, {"text": said}) if isinstance(said, str) else said
