"""Comparison of a finished run's models by their predictions."""

from polbayes.config.tasks import Call, Task


def _do(call: Call) -> str:
    from polbayes.tasks.compare_specs.task import compare_specs_of_run

    return compare_specs_of_run(call.config, call.text, call.overrides, call.config_dir)


TASK = Task(
    _do,
    "task=compare_specs specs=[ideology,mine]",
    "compare models of a finished run by how well they predict",
)
