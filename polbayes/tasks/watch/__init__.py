"""Progress of a run in another process."""

from polbayes.config.tasks import Call, Task


def _do(call: Call) -> None:
    from polbayes.tasks.watch.task import watch

    watch(call.config)


TASK = Task(
    _do, "task=watch run_dir=FOLDER", "show how far a run is that goes on elsewhere", works_on="run"
)
