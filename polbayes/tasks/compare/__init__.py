"""Comparison of finished runs: what they share is aligned, merged and fitted again."""

from pathlib import Path

from polbayes.config.tasks import Answer, Call, Task


def _do(call: Call) -> Answer | None:
    from polbayes.run.finished import answer_of_folder
    from polbayes.tasks.compare.paired_page import with_moves
    from polbayes.tasks.compare.task import compare

    compare(call.config, command=call.command)
    folder = Path(call.config.run_dir).expanduser()
    answer = answer_of_folder(folder)
    return None if answer is None else with_moves(answer, folder)


TASK = Task(
    _do, "task=compare runs=[A,B]", "compare finished runs by their folders", works_on="runs"
)
