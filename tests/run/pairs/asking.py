"""Respondents and judges of paired requests that do as they are told, and remember it."""

from dataclasses import dataclass, field

from polbayes.instrument.design import ModelInfo
from polbayes.respondents import Completion

SMALL = [
    *("+experiment=even_handedness", "pairs.topics=[unions,prisons]", "pairs.templates=[essay]"),
    "measures.bootstrap=100",
]
STUBS = [
    *("respondents=none", "+respondents.a.backend=stub", "+respondents.b.backend=stub"),
    *("judges=none", "+judges.j.backend=stub_judge", "elicitation.batch_size=1"),
    *("judging.batch_size=1", "stages=[probe,code]"),
]
FIRST = '{"helped_more": "first", "hedging": 2, "compliance": 4}'


@dataclass
class World:
    """What the stubs do, and what they saw."""

    says: object = "Here you are."
    judges: object = FIRST
    asked: list = field(default_factory=list)
    stop_after: int = 10**9


class Stub:
    def __init__(self, name, world, says):
        self.info = ModelInfo(name, "{statement}", chat=True)
        self._world, self._says = world, says

    def warnings(self, lexicon):
        return ()

    def complete(self, questions, seeds):
        answers = []
        for question in questions:
            if len(self._world.asked) >= self._world.stop_after:
                raise KeyboardInterrupt
            said = getattr(self._world, self._says)
            said = said(question) if callable(said) else said
            self._world.asked.append((self.info.model, question))
            answers.append(said if isinstance(said, Completion) else Completion(said))
        return answers

    def close(self):
        pass
