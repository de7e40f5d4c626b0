"""Human labels: a sample of answers for annotators, their agreement, and decided labels."""

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
