"""A respondent that is the ideology model itself, with planted parameters."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from polbayes.config.schema import QUESTIONNAIRES, ElicitationConfig, RespondentConfig
from polbayes.data.provenance import text_digest
from polbayes.errors import UserError, check_known
from polbayes.huggingface.sampling import uniform
from polbayes.instrument.design import ModelInfo
from polbayes.instrument.prompts import Lexicon, Template
from polbayes.respondents.base import Backend, Completion, Question, model_info, template_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polbayes.planted.truth import Truth

PLANTED = "planted:"

ANSWERS = {
    "disagree": "I disagree with this statement.",
    "neutral": "I neither agree nor disagree with this statement.",
    "agree": "I agree with this statement.",
    "unrelated": "The weather is nice today.",
    "refused": "I would rather not answer that.",
}


def planted(name: str, config: RespondentConfig) -> "Truth":
    """Return the planted parameters of a respondent."""
    from polbayes.planted.truth import load_truths

    where = f"respondents.{name}: checkpoint"
    if not config.checkpoint.startswith(PLANTED):
        raise UserError(
            f"{where}: a simulated respondent has no '{config.checkpoint}'; write planted:NAME."
        )
    truths = load_truths()
    which = config.checkpoint.removeprefix(PLANTED)
    check_known("planted respondent", which, known=truths, where=where)
    return truths[which]


def _parameters_digest(config: RespondentConfig) -> str:
    """Return a digest of the planted parameters."""
    return text_digest(repr(planted("checkpoint", config)))


def describe(name: str, config: RespondentConfig, template: Template) -> ModelInfo:
    """Return the design's entry for a simulated respondent."""
    truth = planted(name, config)
    text = template_text(template, ("base", "chat", "masked"), name).replace("{mask}", "[MASK]")
    return model_info(name, config, text, instruct=truth.instruct)


def _open_simulated(
    name: str, config: RespondentConfig, template: Template, elicitation: ElicitationConfig
) -> "SimulatedRespondent":
    """Open a simulated respondent."""
    return SimulatedRespondent(describe(name, config, template), planted(name, config))


class SimulatedRespondent:
    """Answers according to the ideology model, given its parameters."""

    def __init__(self, info: ModelInfo, truth: "Truth") -> None:
        self.info = info
        self._truth = truth

    def warnings(self, lexicon: Lexicon | None) -> tuple[str, ...]:
        """Return no sentence: every option can be read."""
        return ()

    def option_mass(self, questions: Sequence[Question], lexicon: Lexicon) -> "NDArray[np.float64]":
        """Return the probability mass of each option (question, option).

        If the lexicon has neutral options the stances are ordinal, else agreeing is
        logistic(decisiveness eta); both are multiplied by the planted validity. The options of a
        stance share its mass equally.
        """
        stances = np.array(lexicon.stance)
        counts = np.array([(stances == s).sum() for s in (-1, 0, 1)])
        mass = np.zeros((len(questions), len(stances)))
        for row, question in enumerate(questions):
            by_stance = self._stances(question, ordinal=bool(counts[1]))
            mass[row] = (by_stance / np.maximum(counts, 1))[stances + 1]
        return mass

    def complete(self, questions: Sequence[Question], seeds: Sequence[int]) -> list[Completion]:
        """Return a fixed sentence for the drawn stance, or a digit if the prefix asks for one.

        Unrelated answers and refusals occur at the planted rates.
        """
        from polbayes.planted.truth import LIKERT_CLASSES, OPEN_CLASSES, class_probabilities

        answers = []
        for question, seed in zip(questions, seeds, strict=True):
            likert = question.answer == "likert"
            classes = LIKERT_CLASSES if likert else OPEN_CLASSES
            kind = "likert" if likert else "open"
            edges = np.cumsum(class_probabilities(self._truth, self._eta(question), kind))
            at = int(np.searchsorted(edges, uniform(seed), side="right"))
            drawn = classes[min(at, len(classes) - 1)]
            answers.append(Completion(ANSWERS.get(drawn, drawn)))
        return answers

    def close(self) -> None:
        """Hold nothing."""

    def _eta(self, question: Question) -> float:
        from polbayes.planted.truth import linear_predictor

        return linear_predictor(
            self._truth,
            item=question.item,
            variant=question.variant,
            dimension=question.dimension,
            keying=question.keying,
            prefix=question.prefix,
        )

    def _stances(self, question: Question, *, ordinal: bool) -> "NDArray[np.float64]":
        """Return the mass of disagreeing, neutral and agreeing."""
        from polbayes.planted.truth import agree_probability, stance_probabilities

        eta, truth = self._eta(question), self._truth
        if ordinal:
            stances = stance_probabilities(eta, truth.threshold, truth.decisiveness)
            return stances * truth.validity
        agree = float(agree_probability(eta, truth.decisiveness))
        return np.array([1 - agree, 0.0, agree]) * truth.validity


BACKEND = Backend(QUESTIONNAIRES, describe, _open_simulated, _parameters_digest)
