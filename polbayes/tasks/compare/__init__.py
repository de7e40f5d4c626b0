"""Comparison of finished runs: what they share is aligned, merged and fitted again."""

from polbayes.config.tasks import Call, Task


def _do(call: Call) -> None:
    from polbayes.tasks.compare.task import compare

    compare(call.config, command=call.command)


TASK = Task(
    _do, "task=compare runs=[A,B]", "compare finished runs by their folders", works_on="runs"
)
