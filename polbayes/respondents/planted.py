"""Embedded actors and judges: not language models, but fixed sentences with planted properties.

An actor reads from a question its scenario, its unit and the side of the person asking;
`polbayes.planted.roleplay.Actor` determines the response. A judge knows only the request that any
judge gets (`polbayes.roleplay.rubric`): the order of the values, the direction of the scales, and
the quoted text.
"""

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING, TypeVar

from polbayes.config.schema import JUDGING, ROLEPLAY, ElicitationConfig, RespondentConfig
from polbayes.data.provenance import text_digest
from polbayes.errors import UserError
from polbayes.huggingface.sampling import uniform
from polbayes.instrument.design import ModelInfo
from polbayes.instrument.prompts import Lexicon, Template
from polbayes.instrument.values import COMMITMENT_MAX, RATING_CENTRE, RATING_MAX, VALUES, WEIGHTS
from polbayes.planted.phrases import STEP, STEPS, bank, find, pick, statement
from polbayes.planted.roleplay import Actor, Judge, actors, as_text, judges, planted_in
from polbayes.respondents.base import Backend, Completion, Question, Respondent, chat_info

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_T = TypeVar("_T")

_NORMAL = NormalDist()
_LISTED = re.compile(r"^- (\w+):", re.MULTILINE)
_ANSWER = re.compile(r"^TEXT, its answer\n((?:> .*\n|>\n)*)", re.MULTILINE)
_REVERSED = "5: it refuses to answer."


class PlantedText:
    """A respondent that writes texts and nothing else; `only` says so."""

    only = ""

    def __init__(self, info: ModelInfo) -> None:
        self.info = info

    def warnings(self, lexicon: Lexicon | None) -> tuple[str, ...]:
        """Return no sentence."""
        return ()

    def option_mass(self, questions: Sequence[Question], lexicon: Lexicon) -> "NDArray[np.float64]":
        """Refuse: it answers in words."""
        raise UserError(f"respondents.{self.info.model}: an embedded {self.only}.")

    def close(self) -> None:
        """Hold nothing."""


class PlantedActor(PlantedText):
    """Writes texts that show its planted profile."""

    only = "actor only plays roles"

    def __init__(self, info: ModelInfo, actor: Actor) -> None:
        super().__init__(info)
        self._actor = actor

    def complete(self, questions: Sequence[Question], seeds: Sequence[int]) -> list[Completion]:
        """Return thoughts and an answer that show the profile."""
        return [Completion(self._text(q, s)) for q, s in zip(questions, seeds, strict=True)]

    def _text(self, question: Question, seed: int) -> str:
        words, actor = bank(), self._actor
        thoughts = f"{pick(words.thoughts, seed, 10)}.\n\n"
        parts = [] if uniform(seed, 11) < actor.no_thoughts else ["### THOUGHTS\n", thoughts]
        parts.append("### ANSWER\n")
        if uniform(seed, 12) < actor.refuses:
            return "".join([*parts, f"{pick(words.commitment[0], seed, 13)}."])
        said = [f"{pick(words.openings, seed, 14)}."]
        for place, value in enumerate(VALUES):
            towards = (self._rating(question, value, seed) - RATING_CENTRE) / STEP
            step = _dithered(towards, seed, place, 15)
            step = max(-STEPS, min(STEPS, step))
            if step:
                said.append(statement(value, step, _key(f"{seed}/{value}")))
        commits = _dithered(actor.commitment[question.prefix], seed, 16, 0)
        said.append(f"{pick(words.commitment[max(1, min(5, commits))], seed, 17)}.")
        return "".join([*parts, " ".join(said)])

    def _rating(self, question: Question, value: str, seed: int) -> float:
        """Return the rating that this text will show, before rounding to a step."""
        actor, liberal = self._actor, math.copysign(1, WEIGHTS[value])
        away = actor.gain[question.prefix] * (actor.profile[value] - RATING_CENTRE)
        sway = -question.keying * liberal * actor.sway
        scenario = actor.scenario * _normal(_key(f"0/{self.info.model}/{question.item}/{value}"))
        return (
            RATING_CENTRE + away + sway + scenario + actor.unit * _normal(_key(f"{seed}/{value}"))
        )


class PlantedJudge(PlantedText):
    """Rates known sentences with its planted severity, leaning and carelessness."""

    only = "judge only rates texts"

    def __init__(self, info: ModelInfo, judge: Judge) -> None:
        super().__init__(info)
        self._judge = judge

    def complete(self, questions: Sequence[Question], seeds: Sequence[int]) -> list[Completion]:
        """Return a JSON object of ratings, which depends on the prompt only."""
        return [Completion(self._reply(question.prompt)) for question in questions]

    def _reply(self, prompt: str) -> str:
        listed = [name for name in _LISTED.findall(prompt) if name in VALUES]
        quoted = _ANSWER.search(prompt)
        text = re.sub(r"(?m)^> ?", "", quoted[1]) if quoted else ""
        found, seed = find(text), _key(f"{self.info.checkpoint}\0{text}")
        backwards = _REVERSED in prompt
        ratings = self._ratings(found.ratings, listed, seed, backwards=backwards)
        commits = 3 if found.commitment is None else found.commitment
        commits = _whole(
            commits - self._judge.commitment_severity, COMMITMENT_MAX, float(uniform(seed, 98))
        )
        if backwards:
            commits = COMMITMENT_MAX - commits
        said = "; ".join(found.quoted[:3]) or "The text has no sentence that I know"
        answer = {"reasoning": f"What decided: {said}.", **ratings, "commitment": commits}
        return self._slipped(
            json.dumps(answer, indent=1), _key(f"{self.info.checkpoint}\0{prompt}")
        )

    def _ratings(
        self, text: Mapping[str, float], listed: Sequence[str], seed: int, *, backwards: bool
    ) -> dict[str, int]:
        judge, ratings = self._judge, {}
        for place, value in enumerate(listed):
            liberal = math.copysign(1, WEIGHTS[value])
            chance = judge.noise * _normal(seed, VALUES.index(value))
            first = 1 - 2 * place / max(len(listed) - 1, 1)
            meant = text[value] - judge.severity + liberal * judge.leaning + first * judge.place
            written = (RATING_MAX - meant if backwards else meant) + judge.number + chance
            ratings[value] = _whole(written, RATING_MAX, 0.5)
        return ratings

    def _slipped(self, reply: str, seed: int) -> str:
        """Return a reply, or a careless judge's version of it."""
        if uniform(seed, 1) >= self._judge.slips:
            return reply
        if uniform(seed, 2) < 0.5:
            return reply[: len(reply) * 2 // 3]
        return re.sub(r'("egalitarianism": )\d+', r"\g<1>25", reply)


def _dithered(x: float, *keys: int) -> int:
    """Round randomly to the integer below or above, so that the mean is `x`."""
    return math.floor(x + float(uniform(*keys)))


def _whole(x: float, most: int, part: float) -> int:
    """Return a whole number on the scale, rounded, or randomly if `part` is."""
    return max(0, min(most, math.floor(x + part)))


def _normal(*keys: int) -> float:
    return _NORMAL.inv_cdf(float(uniform(*keys)))


def _key(text: str) -> int:
    return int(text_digest(text, size=8), 16)


def planted_backend(
    kind: str,
    elicitations: tuple[str, ...],
    known: Callable[[], Mapping[str, _T]],
    made: Callable[[ModelInfo, _T], Respondent],
) -> Backend:
    """Return the backend of one kind of embedded respondent, which refuses unknown names."""

    def planted(name: str, config: RespondentConfig) -> _T:
        return planted_in(f"respondents.{name}", config.checkpoint, known(), f"embedded {kind}")

    def describe(name: str, config: RespondentConfig, template: Template) -> ModelInfo:
        planted(name, config)
        return chat_info(name, config, template)

    def opened(
        name: str, config: RespondentConfig, template: Template, elicitation: ElicitationConfig
    ) -> Respondent:
        return made(describe(name, config, template), planted(name, config))

    def digest(config: RespondentConfig) -> str:
        return text_digest(as_text(planted(kind, config)))

    return Backend(elicitations, describe, opened, digest)


ACTOR = planted_backend("actor", (ROLEPLAY,), actors, PlantedActor)
JUDGE = planted_backend("judge", (JUDGING,), judges, PlantedJudge)
