"""An embedded actor: no language model, but a planted profile written down in fixed sentences.

It takes of a question which scenario and unit it is, and on whose side the person who asks is; what
it makes of that is in `polbayes.planted.roleplay.Actor`.
"""

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING, NoReturn

from polbayes.config.schema import ROLEPLAY, ElicitationConfig, RespondentConfig
from polbayes.data.provenance import text_digest
from polbayes.errors import UserError
from polbayes.huggingface.sampling import uniform
from polbayes.instrument.design import ModelInfo
from polbayes.instrument.prompts import Lexicon, Template
from polbayes.instrument.values import RATING_CENTRE, VALUES, WEIGHTS
from polbayes.respondents.base import Backend, Completion, Question, chat_info

if TYPE_CHECKING:
    from polbayes.planted.roleplay import Actor

_NORMAL = NormalDist()


def planted(name: str, config: RespondentConfig) -> "Actor":
    """Return what is planted in an embedded actor.

    Raises
    ------
    UserError
        If there is no such actor.
    """
    from polbayes.planted.roleplay import actors, planted_in

    where = f"respondents.{name}"
    return planted_in(where, config.checkpoint, actors(), "embedded actor")


def digest(config: RespondentConfig) -> str:
    """Return a digest of what is planted.

    Raises
    ------
    UserError
        If there is no such actor.
    """
    from polbayes.planted.roleplay import as_text

    return text_digest(as_text(planted("actor", config)))


def describe(name: str, config: RespondentConfig, template: Template) -> ModelInfo:
    """Return what the design says about an embedded actor.

    Raises
    ------
    UserError
        If there is no such actor.
    """
    planted(name, config)
    return chat_info(name, config, template)


def open_actor(
    name: str, config: RespondentConfig, template: Template, elicitation: ElicitationConfig
) -> "PlantedActor":
    """Make an embedded actor.

    Raises
    ------
    UserError
        If there is no such actor.
    """
    return PlantedActor(describe(name, config, template), planted(name, config))


class PlantedActor:
    """Writes its planted profile down.

    Parameters
    ----------
    info
        What the design says about it.
    actor
        What is planted.
    """

    def __init__(self, info: ModelInfo, actor: "Actor") -> None:
        self.info = info
        self._actor = actor

    def warnings(self, lexicon: Lexicon | None) -> tuple[str, ...]:
        """Return no sentence."""
        return ()

    def option_mass(self, questions: Sequence[Question], lexicon: Lexicon) -> NoReturn:
        """Refuse: an actor answers in words.

        Raises
        ------
        UserError
            Always.
        """
        raise UserError(f"respondents.{self.info.model}: an embedded actor only plays roles.")

    def complete(self, questions: Sequence[Question], seeds: Sequence[int]) -> list[Completion]:
        """Return thoughts and an answer, in which the profile can be read."""
        return [Completion(self._text(q, s)) for q, s in zip(questions, seeds, strict=True)]

    def close(self) -> None:
        """Hold nothing."""

    def _text(self, question: Question, seed: int) -> str:
        from polbayes.planted.phrases import STEP, STEPS, bank, pick, statement

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
                said.append(statement(value, step, _key(seed, value)))
        commits = _dithered(actor.commitment[question.prefix], seed, 16, 0)
        said.append(f"{pick(words.commitment[max(1, min(5, commits))], seed, 17)}.")
        return "".join([*parts, " ".join(said)])

    def _rating(self, question: Question, value: str, seed: int) -> float:
        """Return the rating that this text is to show, before it is rounded to a step."""
        actor, liberal = self._actor, math.copysign(1, WEIGHTS[value])
        away = actor.gain[question.prefix] * (actor.profile[value] - RATING_CENTRE)
        sway = -question.keying * liberal * actor.sway
        scenario = actor.scenario * _normal(_key(0, f"{self.info.model}/{question.item}/{value}"))
        return RATING_CENTRE + away + sway + scenario + actor.unit * _normal(_key(seed, value))


def _dithered(x: float, *keys: int) -> int:
    """Round at random to the integer below or above, so that the mean is `x`."""
    return math.floor(x + float(uniform(*keys)))


def _normal(*keys: int) -> float:
    return _NORMAL.inv_cdf(float(uniform(*keys)))


def _key(seed: int, text: str) -> int:
    return int(text_digest(f"{seed}/{text}", size=8), 16)


BACKEND = Backend((ROLEPLAY,), describe, open_actor, digest)
