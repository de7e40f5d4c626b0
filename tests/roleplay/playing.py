"""Respondents and judges that say what they are told, and remember what they were asked."""

import json
from dataclasses import dataclass, field

from polbayes.config.compose import compose
from polbayes.instrument.design import ModelInfo
from polbayes.instrument.values import VALUES
from polbayes.respondents import Completion
from polbayes.respondents.base import TooLongError
from polbayes.roleplay.plan import plan_roleplay

SMALL = [
    "+experiment=politicsbench",
    "roleplay.scenarios=[union,guns]",
    "roleplay.wordings=[original]",
    "judging.sample=4",
    "measures.bootstrap=200",
]
SAID = "### THOUGHTS\nHard.\n\n### ANSWER\nI hear you."


def ratings(value=12, commitment=3, **others):
    """Return a judge's proper reply."""
    return {"reasoning": "So.", **dict.fromkeys(VALUES, value), "commitment": commitment, **others}


@dataclass
class World:
    """What the stubs do, and what they saw."""

    says: object = SAID  # a text, or a function of the question
    judges: object = field(default_factory=lambda: json.dumps(ratings()))
    limit: int = 10**9  # letters that fit into the context
    stop_after: int = 10**9  # questions after which everything is interrupted
    asked: list = field(default_factory=list)
    seeds: list = field(default_factory=list)
    opened: list = field(default_factory=list)

    def of(self, name):
        return [question for who, question in self.asked if who == name]


class Stub:
    def __init__(self, name, world, says):
        self.info = ModelInfo(name, "{statement}", chat=True)
        self.world = world
        self.says = says
        world.opened.append(name)

    def warnings(self, lexicon):
        return ()

    def complete(self, questions, seeds):
        if len(self.world.asked) + len(questions) > self.world.stop_after:
            raise KeyboardInterrupt
        answers = []
        for question, seed in zip(questions, seeds, strict=True):
            put = sum(len(a) + len(b) for a, b in question.before) + len(question.prompt)
            if put > self.world.limit:
                raise TooLongError("too long for me")
            said = getattr(self.world, self.says)
            said = said(question) if callable(said) else said
            if isinstance(said, Exception):
                raise said
            self.world.asked.append((self.info.model, question))
            self.world.seeds.append(seed)
            answers.append(said if isinstance(said, Completion) else Completion(said))
        return answers

    def close(self):
        pass


STUBS = [
    *("respondents=none", "+respondents.a.backend=stub", "+respondents.b.backend=stub"),
    *("+respondents.a.checkpoint=x", "+respondents.b.checkpoint=y"),
    *("judges=none", "+judges.j.backend=stub_judge", "elicitation.batch_size=1"),
    "judging.batch_size=1",
]


def composed(*overrides):
    return compose([*SMALL, *overrides])[0]


def planned(*overrides):
    return plan_roleplay(composed(*overrides))
