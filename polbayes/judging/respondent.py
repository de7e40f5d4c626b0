"""A judge as a respondent: its declaration, how it is asked, and where its replies are kept."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cached_property

from polbayes.config.schema import (
    ApiConfig,
    CoderConfig,
    ElicitationConfig,
    JudgeConfig,
    RespondentConfig,
)
from polbayes.data.dataset import STANCE, STANCE_CLASSES
from polbayes.data.provenance import json_digest
from polbayes.errors import UserError, check_known
from polbayes.instrument.prompts import Lexicon, Template, render
from polbayes.judging.engine import Judge
from polbayes.judging.rubric import WAYS, Rubric, load_rubric, response_format
from polbayes.probing.dispatch import Asking
from polbayes.respondents import BACKENDS, answer_settings, check, check_ready, describe

# Increase it when the same judge, rubric and texts would give other probabilities.
_VERSION = 1
# Judgements do not depend on the run or its seed.
_SEED = 1
_LABELS = Lexicon("stances", STANCE_CLASSES, tuple(STANCE.values()))
_SAYS = {
    "stated": "stated by the judge",
    "votes": "shares of {votes} votes",
    "token": "of the label's tokens",
}


@dataclass(frozen=True)
class AskedJudge:
    """A judge and one way to ask it."""

    name: str  # of the coder
    config: CoderConfig
    rubric: Rubric
    schema: bool = False  # whether JSON is asked for by its schema

    @property
    def how(self) -> JudgeConfig:
        """The judge's declaration, or the defaults."""
        return self.config.judge or JudgeConfig()

    @property
    def way(self) -> str:
        """The source of its probabilities."""
        return self.how.probabilities

    @property
    def needed(self) -> int:
        """How many judgements of an answer are combined."""
        return self.how.votes if self.way == "votes" else 1

    @property
    def template(self) -> Template:
        """Its prompt."""
        return self.rubric.template(self.way)

    @property
    def about(self) -> str:
        """A description of its probabilities for readers."""
        says = _SAYS[self.way].format(votes=self.needed)
        return (
            f"{self.config.checkpoint} by rubric {self.rubric.rubric} "
            f"(version {self.rubric.version}), probabilities {says}"
        )

    @property
    def respondent(self) -> RespondentConfig:
        """The judge as a respondent."""
        api = self.how.api
        if self.schema:
            api = api or ApiConfig()
            api = replace(api, extra_body={**api.extra_body, **response_format(self.way)})
        return RespondentConfig(
            backend=self.how.backend,
            checkpoint=self.config.checkpoint,
            revision=self.config.revision,
            chat=self.how.chat,
            dtype=self.config.dtype,
            device=self.config.device,
            trust_remote_code=self.config.trust_remote_code,
            api=api,
        )

    @property
    def elicitation(self) -> ElicitationConfig:
        """How it is asked: for the probabilities of the labels, or for an output."""
        size = self.config.batch_size
        if self.way == "token":
            return ElicitationConfig(kind="forced_choice", template="haller", batch_size=size)
        usual = 1.0 if self.way == "votes" else 0.0
        return ElicitationConfig(
            max_new_tokens=self.how.max_new_tokens,
            top_k=0,
            temperature=usual if self.how.temperature is None else self.how.temperature,
            batch_size=size,
        )

    @property
    def judge(self) -> Judge:
        """The judge as the engine asks it."""
        lexicon = _LABELS if self.way == "token" else None
        info = describe(self.journal_name, self.respondent, self.template)
        return Judge(
            "stances",
            self.respondent,
            info,
            Asking(self.elicitation, lexicon, _SEED),
            {"options": list(lexicon.options) if lexicon else None},
        )

    @cached_property
    def journal_name(self) -> str:
        """The name of its journal, which differs for every other way of judging."""
        identity = {
            "version": _VERSION,
            "rubric": asdict(self.rubric),
            **answer_settings(self.respondent, self.elicitation),
        }
        return f"judge-{json_digest(identity, size=8)}"

    def prompt(self, statement: str, response: str) -> str:
        """Return the prompt about an answer (for a chat model, the user's turn)."""
        material = self.rubric.material(statement, response)
        return render(self.template.texts["chat"], prefix="", statement=material)

    def check(self) -> None:
        """Refuse a judge that cannot be asked, without asking it."""
        with self.named():
            check(self.journal_name, self.respondent, self.elicitation)
            describe(self.journal_name, self.respondent, self.template)

    def check_ready(self) -> None:
        """Refuse to ask while something outside the config is missing, such as a key."""
        with self.named():
            check_ready(self.journal_name, self.respondent)

    @contextmanager
    def named(self) -> Iterator[None]:
        """Make errors of the respondent name the keys that declare the judge."""
        try:
            yield
        except UserError as error:
            raise type(error)(self._in_its_words(str(error))) from error

    def _in_its_words(self, text: str) -> str:
        if "journal_name" not in self.__dict__:
            return text.replace("respondents.checkpoint", f"coding.models.{self.name}")
        asked, own = f"respondents.{self.journal_name}", f"coding.models.{self.name}"
        for key in ("api", "chat", "backend"):
            text = text.replace(f"{asked}.{key}", f"{own}.judge.{key}")
        text = text.replace(asked, own).replace(self.journal_name, self.name)
        return text.replace(
            "which forced_choice needs; ask this respondent with elicitation=open_ended, or "
            "sampled_choice, which draws options",
            f"which {own}.judge.probabilities=token needs; use stated or votes",
        )


def declared_judge(name: str, config: CoderConfig) -> AskedJudge:
    """Check the declaration of a judge, its rubric and its checkpoint."""
    how, where = config.judge or JudgeConfig(), f"coding.models.{name}.judge"
    _check(where, how)
    rubric = load_rubric(how.rubric, where=f"{where}.rubric")
    # Only a server can be asked for JSON by its schema, unless its declaration leaves that out.
    takes = how.backend == "chat_api" and "response_format" not in (how.api or ApiConfig()).omit
    schema = how.schema and how.probabilities != "token" and takes
    judge = AskedJudge(name, config, rubric, schema)
    judge.check()
    return judge


def _check(where: str, how: JudgeConfig) -> None:
    check_known("backend", how.backend, known=BACKENDS, where=where)
    if how.backend == "simulated":
        raise UserError(f"{where}.backend: a simulated respondent does not read; name another.")
    check_known("way", how.probabilities, known=WAYS, where=f"{where}.probabilities")
    if how.probabilities == "votes" and how.temperature == 0 and how.votes > 1:
        raise UserError(
            f"{where}.temperature: at 0 all votes are the same; take a higher one, or "
            "probabilities=stated."
        )
    if how.api is not None and "response_format" in how.api.extra_body:
        raise UserError(
            f"{where}.api.extra_body.response_format: is set by {where}.schema; leave it out."
        )
