"""Training of stance classifiers on labelled answers."""

from polbayes.config.tasks import Call, Task


def _do(call: Call) -> None:
    from polbayes.tasks.training.task import train_coder

    train_coder(call.config, command=call.command)


TASK = Task(
    _do,
    "task=train_coder run_dir=FOLDER",
    "train a classifier on what was annotated",
    works_on="run",
)
