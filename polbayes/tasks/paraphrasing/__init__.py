"""Wordings of the statements: generated or published, cleaned, checked, and sampled."""

from polbayes.config.tasks import Call, Task


def _do(call: Call) -> None:
    from polbayes.tasks.paraphrasing.task import paraphrase

    paraphrase(call.config, call.text, command=call.command)


TASK = Task(
    _do,
    "task=paraphrase paraphrase=haller name=NAME instruments=[pct]",
    "have wordings of the statements made, cleaned and checked",
)
