"""Which of a few answers the rules can read, before all answers are there."""

import json
from collections.abc import Sequence

import numpy as np

from polbayes.coding.levels import RULES
from polbayes.coding.responses import ONLY_FOR, code_responses
from polbayes.config.schema import CodingConfig
from polbayes.data.dataset import STANCE, STATUS
from polbayes.respondents.base import Question

_USABLE = [code for name, code in STANCE.items() if name != "unrelated"]


def by_rules_alone(coding: CodingConfig) -> bool:
    """Return whether only rules read the answers of a run."""
    return set(coding.coders) <= set(RULES) - set(coding.models)


def readable(answers: Sequence[tuple[Question, str]], coders: Sequence[str]) -> list[bool]:
    """Return which answers coders read as a stance or a refusal, or leave to others."""
    import xarray as xr

    texts = {
        "completion": [text for _, text in answers],
        "statement": [question.statement for question, _ in answers],
        "prefix_answer": [question.answer for question, _ in answers],
        "prefix_options": [json.dumps(q.options) if q.options else "" for q, _ in answers],
    }
    data = xr.Dataset({name: ("cell", np.array(x, dtype=object)) for name, x in texts.items()})
    data["status"] = ("cell", np.full(len(answers), STATUS["ok"], dtype=np.int8))
    coded = code_responses(data.set_coords(["prefix_answer", "prefix_options"]), coders)
    left = [not any(ONLY_FOR.get(c, q.answer) == q.answer for c in coders) for q, _ in answers]
    return (np.isin(coded["stance"].values, _USABLE) | left).tolist()
