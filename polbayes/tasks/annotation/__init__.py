"""Labels by humans: a sample of answers for them, their agreement, and what they agree on."""

from polbayes.config.tasks import Call, Task


def _do(call: Call) -> None:
    from polbayes.tasks.annotation.task import annotate

    annotate(call.config)


TASK = Task(
    _do,
    "task=annotate run_dir=FOLDER",
    "draw a sample of a run's answers for annotators",
    works_on="run",
)
