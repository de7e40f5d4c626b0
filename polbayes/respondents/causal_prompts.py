"""Questions as token ids for a causal LM."""

from dataclasses import replace
from functools import cached_property
from typing import Any

from polbayes.errors import UserError
from polbayes.huggingface.continuation import Continuations, Ids, continuations, encode, leading_ids
from polbayes.huggingface.hub import reason_of
from polbayes.instrument.design import ModelInfo
from polbayes.instrument.prompts import Lexicon
from polbayes.respondents.base import Question, messages, plain_text
from polbayes.respondents.thinking import leaves_open

# The end of a prompt decides how an option continues it; no token is longer.
_TAIL = 64
# Today's date for LLaMA's chat templates, so that no answer depends on the day: the date they use
# by default.
_TODAY = "26 Jul 2024"
_WORD = "agree"
# Variables of chat templates for whether and how hard to think.
EFFORT = ("reasoning_effort", "enable_thinking", "thinking")


class CausalPrompts:
    """Renders prompts as a checkpoint expects them, and finds how options continue them."""

    def __init__(self, info: ModelInfo, tokenizer: Any) -> None:
        self._chat = info.chat
        self._marks = info.thinking_marks
        self._tokenizer = tokenizer
        effort = info.attributes.get("reasoning_effort")
        thinks = effort != "none"
        self._effort = dict(zip(EFFORT, (effort, thinks, thinks), strict=True)) if effort else {}
        self._lead: Ids = () if info.chat else leading_ids(tokenizer)
        self._joins: dict[tuple[str, tuple[str, ...]], Continuations] = {}

    def text(self, question: Question) -> str:
        """Return a question, including earlier turns, as one text."""
        if not self._chat:
            return plain_text(question)
        if question.system and not self._takes_system:
            first, *rest = [*question.before, (question.prompt, "")]
            begun = (f"{question.system}\n\n{first[0]}", first[1])
            *before, (prompt, _) = [begun, *rest]
            question = replace(question, system="", before=tuple(before), prompt=prompt)
        return _through_template(self._tokenizer, messages(question), **self._effort)

    @cached_property
    def _takes_system(self) -> bool:
        """Whether the template has a place for a system prompt."""
        turns = [{"role": "system", "content": _WORD}, {"role": "user", "content": "?"}]
        try:
            return _WORD in _through_template(self._tokenizer, turns, **self._effort)
        except Exception:  # templates are programs, and some raise where they have none
            return False

    @property
    def opens_thinking(self) -> bool:
        """Whether an answer begins within a block of thinking."""
        if not self._chat:
            return False
        turns = [{"role": "user", "content": _WORD}]
        said = _through_template(self._tokenizer, turns, **self._effort)
        return leaves_open(said, self._marks)

    def ids(self, text: str) -> Ids:
        """Return the ids of a text, with the tokens that the tokenizer puts first."""
        return self._lead + encode(self._tokenizer, text)

    def join(self, text: str, ids: Ids, lexicon: Lexicon) -> Continuations:
        """Return how the options of a lexicon continue a text."""
        key = (text[-_TAIL:], lexicon.options)
        if key not in self._joins:
            own = ids[len(self._lead) :]
            self._joins[key] = continuations(self._tokenizer, text, own, lexicon)
        return self._joins[key]

    def needed(self, question: Question, lexicon: Lexicon | None) -> int:
        """Return how many tokens must be fed to read the options or begin an answer."""
        text = self.text(question)
        ids = self.ids(text)
        if lexicon is None:
            return len(ids) + 1
        return len(ids) + max(
            map(len, self.join(text, ids, lexicon.spelled(question.options)).stems)
        )


def check_chat_template(name: str, checkpoint: str, tokenizer: Any) -> None:
    """Refuse a chat template that fails or leaves out the question."""
    try:
        text = _through_template(tokenizer, [{"role": "user", "content": _WORD}])
        reason = "it leaves out what the user says"
    except Exception as error:  # templates are programs
        text, reason = "", reason_of(error)
    if _WORD not in text:
        raise UserError(
            f"respondents.{name}: chat: the chat template of '{checkpoint}' cannot be used "
            f"({reason}); correct it, or set chat: false to put prompts as plain text."
        )


def _through_template(tokenizer: Any, turns: list[dict[str, str]], **more: Any) -> str:
    return str(
        tokenizer.apply_chat_template(
            turns, add_generation_prompt=True, tokenize=False, date_string=_TODAY, **more
        )
    )
