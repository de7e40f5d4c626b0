"""Validation of coders: their codes compared with human labels."""

from polbayes.config.tasks import Call, Task


def _do(call: Call) -> None:
    from polbayes.tasks.validation.task import validate_coder

    validate_coder(call.config, call.text, command=call.command)


TASK = Task(
    _do,
    "task=validate_coder run_dir=FOLDER",
    "say how well coders read what was annotated",
    works_on="run",
)
