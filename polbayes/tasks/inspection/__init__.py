"""Inspection of single answers of a run, finished or not, without changing it."""

from polbayes.config.tasks import Call, Task


def _do(call: Call) -> None:
    from polbayes.tasks.inspection.task import inspect

    inspect(call.config)


TASK = Task(
    _do,
    "task=inspect run_dir=FOLDER inspect.models=[left] inspect.status=[error]",
    "show single answers of a run, finished or under way",
    works_on="run",
)
