"""The interface of respondents: questions and answers."""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from polbayes.config.schema import ElicitationConfig, RespondentConfig
from polbayes.errors import UserError
from polbayes.instrument.design import ModelInfo
from polbayes.instrument.prompts import SHAPES, Lexicon, Template
from polbayes.respondents.usage import Usage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Question:
    """One cell of the design as a question to one respondent.

    Parameters
    ----------
    item, variant, prefix, run
        Labels of the cell.
    statement
        The wording of the item.
    keying
        +1 if agreeing is right-leaning, -1 if it is left-leaning, 0 if not scored.
    dimension
        Of the item; empty if it is not scored.
    prompt
        Template, prefix and statement combined (for a chat model, the user's turn).
    answer
        The kind of answer that the prefix asks for: ``open`` or ``likert``.
    before
        Earlier turns as pairs of prompt and answer.
    temperature
        Of the answer; None for that of the elicitation.
    options
        The prefix's letters or numbers for the options, with the options they stand for.
    schema
        A JSON schema that the answer is to follow, asked for where the backend can; None for none.
    system
        The system prompt; empty for none.
    """

    item: str
    variant: str
    prefix: str
    run: int
    statement: str
    keying: int
    dimension: str
    prompt: str
    answer: str = "open"
    before: tuple[tuple[str, str], ...] = ()
    temperature: float | None = None
    options: Mapping[str, str] = field(default_factory=dict, hash=False)
    schema: Mapping[str, Any] | None = field(default=None, hash=False)
    system: str = ""

    @property
    def cell(self) -> tuple[str, str, str, int]:
        """Its labels, as in a journal."""
        return self.item, self.variant, self.prefix, self.run


class TooLongError(ValueError):
    """A question that does not fit into a respondent's context."""


@dataclass(frozen=True)
class Room:
    """The capacity of a respondent's context."""

    limit: int  # the number of tokens that it takes
    # Returns the number of tokens of a question, with those of an answer that must be fed.
    needed: Callable[[Question], int]

    def check(self, needed: int) -> None:
        """Refuse a question with too many tokens."""
        if needed > self.limit:
            raise TooLongError(
                f"the prompt and its answer have {needed} tokens, the model takes {self.limit}"
            )


@dataclass(frozen=True)
class Completion:
    """One open answer.

    Parameters
    ----------
    text
        As received, without the tokenizer's special tokens.
    status
        ``ok``, ``empty`` if there is only white space, or ``refused`` if a field or a filter of
        the respondent, not the text, says so.
    truncated
        Whether it was cut off at the limit of new tokens.
    reasoning
        The preceding thoughts of a reasoning model.
    reasoning_tokens
        Their number of tokens; None if unknown.
    unopened
        Whether the thinking has an end but no beginning in what was received.
    """

    text: str
    status: str = "ok"
    truncated: bool = False
    reasoning: str = ""
    reasoning_tokens: int | None = None
    unopened: bool = False


@dataclass(frozen=True)
class Batch:
    """Questions that were submitted together, to be fetched under a name hours later."""

    name: str
    questions: int
    most: tuple[int, int]  # tokens of the questions and of the answers, at most
    over: bool = False

    def record(self) -> dict[str, Any]:
        """Return the fields of a journal's record."""
        return {"batch": self.name, "over": self.over, "questions": self.questions} | {
            "most": list(self.most)
        }

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> "Batch":
        """Read the fields of a journal's record."""
        first, second = record["most"]
        most = int(first), int(second)
        return cls(str(record["batch"]), int(record["questions"]), most, bool(record["over"]))


@dataclass(frozen=True)
class Answer:
    """The outcome of one question, if answers arrive one by one.

    Parameters
    ----------
    question
        The question; None for usage without an answer.
    completion
        The open answer; None if probabilities were read or asking failed. If probabilities were
        wanted, a completion says that the answer was refused.
    mass
        The probability mass of each option, as from `Respondent.option_mass`.
    unseen
        Mass that the server did not list: how much larger the mass of the options may be.
    error
        Why there is no answer; empty if there is one.
    too_long
        Whether the question does not fit into the context.
    usage
        The cost of asking, including failed attempts.
    note
        A remark about all answers.
    left_out
        Fields that later requests must omit, also after a restart.
    batch
        A batch that was submitted, or is over.
    """

    question: Question | None
    completion: Completion | None = None
    mass: tuple[float, ...] | None = None
    unseen: float = 0.0
    error: str = ""
    too_long: bool = False
    usage: Usage = field(default_factory=Usage)
    note: str = ""
    left_out: Mapping[str, str] = field(default_factory=dict)
    batch: Batch | None = None


class Respondent(Protocol):
    """Who answers; opened by `polbayes.respondents.open_respondent`.

    A question gets the same answer whatever else is in the batch. An exception other than
    `UserError` means that this batch could not be answered; the caller may ask smaller ones.
    """

    @property
    def info(self) -> ModelInfo:
        """Its entry in the design."""
        ...

    def warnings(self, lexicon: Lexicon | None) -> tuple[str, ...]:
        """Return remarks about its answers for readers, one sentence each.

        It is a `UserError` if the options of `lexicon` cannot be read from this respondent at all.
        """
        ...

    def option_mass(self, questions: Sequence[Question], lexicon: Lexicon) -> "NDArray[np.float64]":
        """Return the probability mass of each answer option, over question and option, in [0, 1].

        The mass of an option includes its case and space variants. A row sums to at most 1, with
        NaN for an option that this respondent cannot give as one answer.
        """
        ...

    def complete(self, questions: Sequence[Question], seeds: Sequence[int]) -> list[Completion]:
        """Return one open answer to each question.

        The question and its seed, below 2**64, determine the answer.
        """
        ...

    def close(self) -> None:
        """Release its resources."""
        ...


@runtime_checkable
class ConcurrentRespondent(Respondent, Protocol):
    """A respondent that is asked many questions at a time instead of batches."""

    def answers(
        self,
        questions: Iterable[tuple[Question, int]],
        lexicon: Lexicon | None,
        *,
        spent: Usage,
        left_out: Mapping[str, str] = ...,
        batches: Sequence[Batch] = ...,
    ) -> Generator[Answer]:
        """Yield the answers as they arrive, in any order.

        `left_out` and `batches`, those not over, are given only if earlier answers said so.
        """
        ...


def plain_text(question: Question) -> str:
    """Return a question, with the system prompt and the turns before it, as one text."""
    turns = [part for turn in question.before for part in turn]
    system = [question.system] if question.system else []
    return "\n\n".join([*system, *turns, question.prompt])


def messages(question: Question) -> list[dict[str, str]]:
    """Return a question as the turns of a chat, the system prompt and those before it first."""
    turns = [{"role": "system", "content": question.system}] if question.system else []
    turns += [
        {"role": role, "content": text}
        for turn in question.before
        for role, text in zip(("user", "assistant"), turn, strict=True)
    ]
    return [*turns, {"role": "user", "content": question.prompt}]


def chat_info(name: str, config: RespondentConfig, template: Template) -> ModelInfo:
    """Return the design's entry for a respondent that is asked in turns of a chat.

    A template without a text for chat or base models is a `UserError`.
    """
    text = template_text(template, ("chat", "base"), name)
    return model_info(name, config, text, instruct=True, chat=True)


def model_info(
    name: str, config: RespondentConfig, text: str, *, instruct: bool, chat: bool = False
) -> ModelInfo:
    """Return the design's entry for a respondent with this text of a template.

    Its declaration takes precedence over `instruct`, whether it is instruction-tuned.
    """
    return ModelInfo(
        model=name,
        template=text,
        chat=chat,
        family=config.family,
        instruct=instruct if config.instruct is None else config.instruct,
        checkpoint=config.checkpoint,
        revision=config.revision or "",
        attributes=effort_of(config),
        thinking_tokens=config.thinking_tokens or 0,
        thinking_marks=tuple(config.thinking_marks or ()),
        called=config.called or "",
    )


def effort_of(config: RespondentConfig) -> dict[str, str]:
    """Return the declared reasoning effort as an attribute."""
    return {} if config.reasoning_effort is None else {"reasoning_effort": config.reasoning_effort}


def template_text(template: Template, shapes: Sequence[str], name: str) -> str:
    """Choose the text of a template for a respondent.

    Parameters
    ----------
    template
        With a text for some of the shapes.
    shapes
        Those of `polbayes.instrument.prompts.SHAPES` that it can use, the best first.
    name
        The respondent's, for the error.

    Raises
    ------
    UserError
        If the template has none of them.
    """
    for shape in shapes:
        if shape in template.texts:
            return template.texts[shape]
    has = ", ".join(shape for shape in SHAPES if shape in template.texts)
    raise UserError(
        f"respondents.{name}: template '{template.template}' has no text for a {shapes[0]} model "
        f"(only for: {has}); choose another elicitation.template."
    )


def left_out(model: str, lexicon: Lexicon, usable: Sequence[bool], why: str) -> tuple[str, ...]:
    """Describe the options that are not `usable`, in one sentence or none.

    `why` is what they are not, e.g. ``"a single token of this model"``. It is a `UserError` if no
    option is left to agree or to disagree with.
    """
    for stance, name in ((1, "agree"), (-1, "disagree")):
        if not any(u for u, s in zip(usable, lexicon.stance, strict=True) if s == stance):
            raise UserError(
                f"respondents.{model}: no '{name}' option of lexicon '{lexicon.lexicon}' is {why}; "
                "use another lexicon."
            )
    absent = [word for word, use in zip(lexicon.options, usable, strict=True) if not use]
    if not absent:
        return ()
    return (
        f"{model}: {len(absent)} of the {len(usable)} options of lexicon '{lexicon.lexicon}' were "
        f"left out, because none of their forms is {why}: {', '.join(absent)}.",
    )


# Decodings of open answers.
DECODINGS = ("sample", "greedy", "beam", "contrastive")

_Describe = Callable[[str, RespondentConfig, Template], ModelInfo]
_Room = Callable[[str, RespondentConfig, Template, Lexicon | None], Room | None]
_Open = Callable[[str, RespondentConfig, Template, ElicitationConfig], Respondent]


@dataclass(frozen=True)
class Backend:
    """One way to ask a model.

    Parameters
    ----------
    elicitations
        The ways of reading an answer that it offers.
    describe
        Returns the design's entry for a respondent without loading a model.
    open
        Opens the respondent.
    identity
        Returns a text that changes if the weights behind a checkpoint name do; empty if unknown.
    files
        Returns a text that changes if anything else does that answers depend on (config,
        tokenizer, template), or the commit of a checkpoint on the hub.
    settings
        Returns the respondent's own keys that determine the answers, besides the common ones.
    ready
        Refuses to ask while something outside the config is missing.
    decodings
        The decodings of open answers that it offers, of `DECODINGS`.
    by_prompt
        Whether the prompt alone determines the answer; otherwise the cell's labels do, too
        (`polbayes.probing.answer_cache`).
    room
        Returns the capacity of its context without loading a model; None if unknown.
    """

    elicitations: tuple[str, ...]
    describe: _Describe
    open: _Open
    identity: Callable[[RespondentConfig], str] = lambda config: ""
    settings: Callable[[RespondentConfig], Mapping[str, Any]] = lambda config: {}
    ready: Callable[[str, RespondentConfig], None] = lambda name, config: None
    decodings: tuple[str, ...] = ("sample",)
    by_prompt: bool = False
    files: Callable[[RespondentConfig], str] = lambda config: ""
    room: _Room = lambda name, config, template, lexicon: None
