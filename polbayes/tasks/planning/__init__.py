"""Planning of a study from a finished pilot run, or from assumptions."""

from polbayes.config.tasks import Answer, Call, Task


def _do(call: Call) -> Answer:
    from polbayes.tasks.planning.task import plan

    return plan(call)


TASK = Task(
    _do,
    "task=plan run_dir=FOLDER plan.difference=0.3",
    "how many statements, wordings, prefixes and runs a study needs, also without a pilot",
    works_on="run",
)
