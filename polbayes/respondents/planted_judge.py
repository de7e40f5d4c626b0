"""An embedded judge: no language model, but a reader of fixed sentences with planted faults.

All that it knows is the request that any judge is given (`polbayes.roleplay.rubric`): the order of
the values, the direction of the scales, and the quoted text.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING, NoReturn

from polbayes.config.schema import JUDGING, ElicitationConfig, RespondentConfig
from polbayes.data.provenance import text_digest
from polbayes.errors import UserError
from polbayes.huggingface.sampling import uniform
from polbayes.instrument.design import ModelInfo
from polbayes.instrument.prompts import Lexicon, Template
from polbayes.instrument.values import COMMITMENT_MAX, RATING_MAX, VALUES, WEIGHTS
from polbayes.respondents.base import Backend, Completion, Question, chat_info

if TYPE_CHECKING:
    from polbayes.planted.roleplay import Judge

_NORMAL = NormalDist()
_LISTED = re.compile(r"^- (\w+):", re.MULTILINE)
_ANSWER = re.compile(r"^TEXT, its answer\n((?:> .*\n|>\n)*)", re.MULTILINE)
_REVERSED = "5: it refuses to answer."


def planted(name: str, config: RespondentConfig) -> "Judge":
    """Return what is planted in an embedded judge.

    Raises
    ------
    UserError
        If there is no such judge.
    """
    from polbayes.planted.roleplay import judges, planted_in

    return planted_in(f"respondents.{name}", config.checkpoint, judges(), "embedded judge")


def digest(config: RespondentConfig) -> str:
    """Return a digest of what is planted.

    Raises
    ------
    UserError
        If there is no such judge.
    """
    from polbayes.planted.roleplay import as_text

    return text_digest(as_text(planted("judge", config)))


def describe(name: str, config: RespondentConfig, template: Template) -> ModelInfo:
    """Return what is known of an embedded judge.

    Raises
    ------
    UserError
        If there is no such judge.
    """
    planted(name, config)
    return chat_info(name, config, template)


def open_judge(
    name: str, config: RespondentConfig, template: Template, elicitation: ElicitationConfig
) -> "PlantedJudge":
    """Make an embedded judge.

    Raises
    ------
    UserError
        If there is no such judge.
    """
    return PlantedJudge(describe(name, config, template), planted(name, config))


class PlantedJudge:
    """Rates the sentences that it knows, with its planted severity, leaning and carelessness.

    Parameters
    ----------
    info
        What is known of it.
    judge
        What is planted.
    """

    def __init__(self, info: ModelInfo, judge: "Judge") -> None:
        self.info = info
        self._judge = judge

    def warnings(self, lexicon: Lexicon | None) -> tuple[str, ...]:
        """Return no sentence."""
        return ()

    def option_mass(self, questions: Sequence[Question], lexicon: Lexicon) -> NoReturn:
        """Refuse: a judge answers in words.

        Raises
        ------
        UserError
            Always.
        """
        raise UserError(f"respondents.{self.info.model}: an embedded judge only rates texts.")

    def complete(self, questions: Sequence[Question], seeds: Sequence[int]) -> list[Completion]:
        """Return a JSON object of ratings; it hangs on the prompt, and on nothing else."""
        return [Completion(self._reply(question.prompt)) for question in questions]

    def close(self) -> None:
        """Hold nothing."""

    def _reply(self, prompt: str) -> str:
        from polbayes.planted.phrases import find

        listed = [name for name in _LISTED.findall(prompt) if name in VALUES]
        quoted = _ANSWER.search(prompt)
        text = re.sub(r"(?m)^> ?", "", quoted[1]) if quoted else ""
        found, seed = find(text), _key(self.info.checkpoint, text)
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
        return _slipped(
            json.dumps(answer, indent=1), self._judge, _key(self.info.checkpoint, prompt)
        )

    def _ratings(
        self, text: Mapping[str, float], listed: Sequence[str], seed: int, *, backwards: bool
    ) -> dict[str, int]:
        judge, ratings = self._judge, {}
        for place, value in enumerate(listed):
            liberal = math.copysign(1, WEIGHTS[value])
            chance = judge.noise * _NORMAL.inv_cdf(float(uniform(seed, VALUES.index(value))))
            first = 1 - 2 * place / max(len(listed) - 1, 1)
            meant = text[value] - judge.severity + liberal * judge.leaning + first * judge.place
            written = (RATING_MAX - meant if backwards else meant) + judge.number + chance
            ratings[value] = _whole(written, RATING_MAX, 0.5)
        return ratings


def _whole(x: float, most: int, part: float) -> int:
    """Return a whole number on the scale: rounded, or at random if `part` is."""
    return max(0, min(most, math.floor(x + part)))


def _slipped(reply: str, judge: "Judge", seed: int) -> str:
    """Return a reply, or what a careless judge makes of it."""
    if uniform(seed, 1) >= judge.slips:
        return reply
    if uniform(seed, 2) < 0.5:
        return reply[: len(reply) * 2 // 3]
    return re.sub(r'("egalitarianism": )\d+', r"\g<1>25", reply)


def _key(*texts: str) -> int:
    return int(text_digest(*texts, size=8), 16)


BACKEND = Backend((JUDGING,), describe, open_judge, digest)
