"""Ablations: the effect on the measures of how the same questions are answered or read.

Lunardi et al. (2024, section 4.3) vary the decoding of answers, the number of sequences, the coder,
and the size of the lexicon of encoder models.
"""

from polbayes.config.tasks import Answer, Call, Task


def _do(call: Call) -> Answer:
    from polbayes.tasks.ablation.task import ablate

    return ablate(call.config, call.text, command=call.command)


TASK = Task(_do, "task=ablate", "answer and read a design in several ways, and compare")
