"""Planning of a study from a finished pilot run."""

from collections.abc import Mapping
from typing import Any

from polbayes.config.tasks import Answer, Call, Task


def _do(call: Call) -> Answer:
    from polbayes.tasks.planning.task import plan

    text, facts = plan(call.config)
    found: Mapping[str, Any] = facts
    return Answer(text, found)


TASK = Task(
    _do,
    "task=plan run_dir=FOLDER plan.difference=0.3",
    "how many statements, wordings, prefixes and runs a study needs, from a pilot run",
    works_on="run",
)
