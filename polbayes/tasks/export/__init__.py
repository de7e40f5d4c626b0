"""Runs for other software: answers, draws and tables, and the questions for other engines."""

from polbayes.config.tasks import Call, Task


def _do(call: Call) -> None:
    from polbayes.tasks.export.task import export

    export(call.config)


TASK = Task(
    _do,
    "task=export run_dir=FOLDER 'export.formats=[csv,draws,latex]'",
    "write answers, draws and tables for other software, or the questions for other engines",
    works_on="run",
)
