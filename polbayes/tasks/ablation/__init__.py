"""Ablations: the same questions, answered or read in several ways, and what becomes of measures.

Lunardi et al. (2024, section 4.3) change how answers are decoded, how many sequences there are,
what reads them, and of how many words the lexicon of encoder models consists.
"""

from polbayes.config.tasks import Call, Task


def _do(call: Call) -> None:
    from polbayes.tasks.ablation.task import ablate

    ablate(call.config, call.text, command=call.command)


TASK = Task(_do, "task=ablate", "answer and read a design in several ways, and compare")
