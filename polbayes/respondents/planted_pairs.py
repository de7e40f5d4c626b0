"""Embedded writers and graders of paired requests: fixed sentences with planted properties.

A writer takes from a question only the side, topic and template (`polbayes.planted.pairs`). A
grader knows only the request that any judge gets (`polbayes.judging.pairs`): the order of the
answers, and their text.
"""

import json
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from polbayes.config.schema import JUDGING, PAIRED
from polbayes.data.provenance import text_digest
from polbayes.huggingface.sampling import uniform
from polbayes.instrument.design import ModelInfo
from polbayes.instrument.prompts import Lexicon
from polbayes.planted.pairs import (
    CUTS,
    Grader,
    Writer,
    answer,
    graders,
    logistic,
    rating_locations,
    shown,
    verdict_location,
    writers,
)
from polbayes.respondents.base import Completion, Question
from polbayes.respondents.planted import PlantedText, planted_backend

_QUOTED = r"^{} ANSWER\n((?:> .*\n|>\n|> .*\Z)*)"
_FIRST, _SECOND = (re.compile(_QUOTED.format(one), re.M) for one in ("FIRST", "SECOND"))
_ONLY = re.compile(_QUOTED.format("").replace("^ ", "^"), re.M)


class PlantedWriter(PlantedText):
    """Writes answers that show its planted properties."""

    only = "writer only answers paired requests"

    def __init__(self, info: ModelInfo, writer: Writer) -> None:
        super().__init__(info)
        self._writer = writer

    def complete(self, questions: Sequence[Question], seeds: Sequence[int]) -> list[Completion]:
        """Return answers that the side of the request and the seed determine."""
        name = self.info.checkpoint
        return [
            Completion(answer(self._writer, name, item=q.item, side=q.keying, seed=seed))
            for q, seed in zip(questions, seeds, strict=True)
        ]


class PlantedGrader(PlantedText):
    """Judges known sentences with its planted side and order effects."""

    only = "grader only judges paired requests"

    def __init__(self, info: ModelInfo, grader: Grader) -> None:
        super().__init__(info)
        self._grader = grader

    def complete(self, questions: Sequence[Question], seeds: Sequence[int]) -> list[Completion]:
        """Return a JSON object, which depends on the prompt only."""
        return [Completion(self._reply(question.prompt)) for question in questions]

    def option_mass(self, questions: Sequence[Question], lexicon: Lexicon) -> NDArray[np.float64]:
        """Return the probabilities of the verdicts, in the order second, equal, first."""
        by_stance = [self._probabilities(question.prompt) for question in questions]
        return np.array([[row[stance + 1] for stance in lexicon.stance] for row in by_stance])

    def _reply(self, prompt: str) -> str:
        if '"hedging"' in prompt:
            said = self._ratings(prompt)
        elif '"helped_more"' in prompt:
            said = {"reasoning": "By what was in them.", "helped_more": self._choice(prompt)}
        else:
            second, equal, first = (round(100 * p) for p in self._probabilities(prompt))
            equal += 100 - first - equal - second
            said = {"reasoning": "So.", "first": first, "second": second, "equal": equal}
        reply = json.dumps(said)
        slips = float(uniform(_seed(self.info.checkpoint, prompt))) < self._grader.slips
        return reply[: len(reply) // 2] if slips else reply

    def _location(self, prompt: str) -> float:
        first, second = (shown(_unquoted(one, prompt)) for one in (_FIRST, _SECOND))
        return verdict_location(self._grader, first, second)

    def _choice(self, prompt: str) -> str:
        seen = self._location(prompt) + logistic(self.info.checkpoint, prompt)
        if abs(seen) <= self._grader.equal:
            return "equal"
        return "first" if seen > 0 else "second"

    def _probabilities(self, prompt: str) -> tuple[float, float, float]:
        """Return the probabilities of the second, of neither, and of the first."""
        at, equal = self._location(prompt), self._grader.equal
        first, second = float(expit(at - equal)), float(expit(-at - equal))
        return second, 1 - first - second, first

    def _ratings(self, prompt: str) -> dict[str, object]:
        found = rating_locations(self._grader, shown(_unquoted(_ONLY, prompt)))
        name = self.info.checkpoint
        seen = [at + logistic(name, k, prompt) for k, at in enumerate(found)]
        hedging, compliance = (1 + sum(one > cut for cut in CUTS) for one in seen)
        return {"reasoning": "So.", "hedging": hedging, "compliance": compliance}


def _unquoted(where: re.Pattern[str], prompt: str) -> str:
    found = where.search(prompt)
    return re.sub(r"(?m)^> ?", "", found[1]) if found else ""


def _seed(*keys: str) -> int:
    return int(text_digest(*keys, size=8), 16)


WRITER = planted_backend("writer", (PAIRED,), writers, PlantedWriter)
GRADER = planted_backend("grader", (JUDGING, "forced_choice"), graders, PlantedGrader)
