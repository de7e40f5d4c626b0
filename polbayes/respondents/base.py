"""What every respondent is asked, and what it gives back."""

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
    """One cell of the design, as one respondent is asked it.

    Parameters
    ----------
    item, variant, prefix, run
        The cell's labels.
    statement
        The wording of the item.
    keying
        +1 where agreeing is right-leaning, -1 where it is left-leaning, 0 where not scored.
    dimension
        Of the item; empty where it is not scored.
    prompt
        Template, prefix and statement put together (the user's turn, for a chat model).
    answer
        The kind of answer that the prefix asks for: ``open`` or ``likert``.
    before
        The turns before this one, each what was put and what was answered.
    temperature
        Of the answer; None for that of the elicitation.
    options
        Letters or numbers that the prefix has for the options, with the options they stand for.
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
        """Its labels, as a journal names it."""
        return self.item, self.variant, self.prefix, self.run


class TooLongError(ValueError):
    """A question that does not fit into the context of a respondent."""


@dataclass(frozen=True)
class Room:
    """How much fits into the context of a respondent."""

    limit: int  # the number of tokens that it takes
    # Returns how many tokens a question has, with those of an answer that have to be fed.
    needed: Callable[[Question], int]

    def check(self, needed: int) -> None:
        """Refuse a question of so many tokens, if they are too many."""
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
        ``ok``, ``empty`` where there is nothing but white space, or ``refused`` where it is not
        the text that says so but who answered: a field for refusals, a filter.
    truncated
        Whether it was still going on when the limit of new tokens was reached.
    reasoning
        What a reasoning model thought before that.
    reasoning_tokens
        How many tokens that took; None where nobody counted.
    unopened
        Whether the thinking has an end, but no beginning in what was received.
    """

    text: str
    status: str = "ok"
    truncated: bool = False
    reasoning: str = ""
    reasoning_tokens: int | None = None
    unopened: bool = False


@dataclass(frozen=True)
class Answer:
    """What came of one question, where answers come one by one.

    Parameters
    ----------
    question
        What was asked; None where nothing came of it but what it took.
    completion
        The open answer; None where probabilities were read or it failed. Where probabilities
        were to be read, a completion says that none came because the answer was refused.
    mass
        The probability mass of each option, as `Respondent.option_mass` gives it.
    unseen
        Mass of what the server did not list: by how much the mass of the options may be larger.
    error
        Why there is no answer; empty where there is one.
    too_long
        Whether that is because the question does not fit into the context.
    usage
        What asking took, failed attempts included.
    note
        What a reader must know about all answers.
    left_out
        What is to be left out of later requests, too, and is so when asking goes on another time.
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


class Respondent(Protocol):
    """Who answers. Made by `polbayes.respondents.open_respondent`.

    The same question gets the same answer whatever else is in the batch. An exception other
    than `UserError` means that this batch could not be answered; the caller may ask it again
    in smaller ones.
    """

    @property
    def info(self) -> ModelInfo:
        """What the design says about this respondent."""
        ...

    def warnings(self, lexicon: Lexicon | None) -> tuple[str, ...]:
        """Return what a reader must know about its answers, one sentence each.

        Raises
        ------
        UserError
            If the options of `lexicon` cannot be read from this respondent at all.
        """
        ...

    def option_mass(self, questions: Sequence[Question], lexicon: Lexicon) -> "NDArray[np.float64]":
        """Return the probability mass of each answer option.

        Parameters
        ----------
        questions
            What to ask.
        lexicon
            The options; the mass of each includes its case and space variants.

        Returns
        -------
        numpy.ndarray
            Dimensions question, option, in [0, 1]; a row sums to at most 1. NaN for an option
            that this respondent cannot give as one answer.
        """
        ...

    def complete(self, questions: Sequence[Question], seeds: Sequence[int]) -> list[Completion]:
        """Return one open answer to each question.

        Parameters
        ----------
        questions
            What to ask.
        seeds
            One for each question, below 2**64; with the question it fixes the answer.
        """
        ...

    def close(self) -> None:
        """Free what it holds."""
        ...


@runtime_checkable
class ConcurrentRespondent(Respondent, Protocol):
    """A respondent that is asked many questions at a time, and not in batches."""

    def answers(
        self,
        questions: Iterable[tuple[Question, int]],
        lexicon: Lexicon | None,
        *,
        spent: Usage,
        left_out: Mapping[str, str] = ...,
    ) -> Generator[Answer]:
        """Yield the answers as they come, in any order.

        `left_out` is given only where earlier answers said so (`Answer.left_out`).
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
    """Return what the design says about a respondent that is put turns of a chat.

    A template without a text for chat or base models is a `UserError`.
    """
    text = template_text(template, ("chat", "base"), name)
    return model_info(name, config, text, instruct=True, chat=True)


def model_info(
    name: str, config: RespondentConfig, text: str, *, instruct: bool, chat: bool = False
) -> ModelInfo:
    """Return what the design says about a respondent that has this text of a template.

    Its declaration comes before `instruct`, whether it is tuned to follow instructions.
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
    )


def effort_of(config: RespondentConfig) -> dict[str, str]:
    """Return how hard a respondent is declared to think, as an attribute."""
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
    """Say which options are not `usable`, one sentence or none.

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


# How open answers are written.
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
        Says, without loading a model, what the design says about a respondent.
    open
        Makes the respondent.
    identity
        A text that changes when the weights behind the same checkpoint name do; empty where that
        cannot be told.
    files
        One that changes when anything else does that answers depend on (config, tokenizer,
        template), or the commit of a checkpoint on the hub.
    settings
        What of the respondent's own keys determines the answers, beside those that all have.
    ready
        Refuses to ask it where something outside of the config is missing.
    decodings
        The ways of writing open answers that it offers, of `DECODINGS`.
    by_prompt
        Whether of a question nothing but the text of its prompt determines the answer; where not,
        the cell's labels are taken to do so, too (`polbayes.probing.answer_cache`).
    room
        Says, without loading a model, how much fits into its context; None where that is not known.
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
