"""Which of a few answers coders can read, before all answers are there."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from polbayes.coding.levels import RULES
from polbayes.coding.registry import judges
from polbayes.coding.responses import ONLY_FOR, code_responses
from polbayes.config.schema import CoderConfig, CodingConfig
from polbayes.data.dataset import STANCE, STATUS
from polbayes.respondents.base import Question

_USABLE = [code for name, code in STANCE.items() if name != "unrelated"]


def by_rules_alone(coding: CodingConfig) -> bool:
    """Return whether only rules read the answers of a run."""
    return set(coding.coders) <= set(RULES) - set(coding.models)


def beside_asking(coding: CodingConfig) -> bool:
    """Return whether a run's coders can read while a respondent is open.

    A language model on this machine that judges is as large as the respondent.
    """
    asked = judges(coding.coders, coding.models).values()
    return all(one.judge is not None and one.judge.backend == "chat_api" for one in asked)


def readable(
    answers: Sequence[tuple[Question, str]],
    coders: Sequence[str],
    *,
    models: Mapping[str, CoderConfig] | None = None,
    journal_dir: Path | None = None,
) -> list[bool]:
    """Return which answers coders read as a stance or a refusal, or leave to others.

    With `journal_dir`, the readings are kept where coding finds them.
    """
    import xarray as xr

    texts = {
        "completion": [text for _, text in answers],
        "statement": [question.statement for question, _ in answers],
        "prefix_answer": [question.answer for question, _ in answers],
        "prefix_options": [json.dumps(q.options) if q.options else "" for q, _ in answers],
    }
    data = xr.Dataset({name: ("cell", np.array(x, dtype=object)) for name, x in texts.items()})
    data["status"] = ("cell", np.full(len(answers), STATUS["ok"], dtype=np.int8))
    data = data.set_coords(["prefix_answer", "prefix_options"])
    coded = code_responses(data, coders, models=models, journal_dir=journal_dir)
    left = [not any(ONLY_FOR.get(c, q.answer) == q.answer for c in coders) for q, _ in answers]
    return (np.isin(coded["stance"].values, _USABLE) | left).tolist()
