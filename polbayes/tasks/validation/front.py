"""What stands before the sections of a validation's page."""

from collections.abc import Sequence

from polbayes.data.dataset import STANCE_CLASSES
from polbayes.report.numbers import count
from polbayes.report.page import Front, moment
from polbayes.tasks.validation.labelled import Labelled


def front(answers: Labelled, coders: Sequence[str], title: str, table: str) -> Front:
    """Make what stands before the sections."""
    left_out = []
    if answers.n_unlabelled:
        left_out.append(f"{count(answers.n_unlabelled)} rows of {table} have no label.")
    merged = [
        f"{name} stands for "
        + ", ".join(
            stance
            for stance, at in zip(STANCE_CLASSES, answers.classes.of_stance, strict=True)
            if answers.classes.names[at] == name
        )
        + ", which the labels do not tell apart."
        for k, name in enumerate(answers.classes.names)
        if answers.classes.of_stance.count(k) > 1
    ]
    return Front(
        title=title
        or (f"How well {coders[0]} reads" if len(coders) == 1 else "How well coders read"),
        description="",
        kicker="Validation of coders",
        made=f"Labelled answers from {table}, page made {moment()}.",
        facts={
            "labelled answers": count(len(answers.labels)),
            "coders": count(len(coders)),
            "classes": count(len(answers.classes.names)),
        },
        exclusions=left_out,
        notes=merged,
    )
