"""Sensitivity of a finished run's conclusions to how it asked, read and assumed."""

from polbayes.config.tasks import Call, Task


def _do(call: Call) -> str:
    from polbayes.tasks.sensitivity.task import sensitivity

    return sensitivity(call.config.run_dir)


TASK = Task(
    _do,
    "task=sensitivity run_dir=FOLDER",
    "which conclusions of a finished run another prompt, coder or prior would change",
    works_on="run",
)
