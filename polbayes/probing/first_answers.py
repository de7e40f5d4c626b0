"""The first answers of a respondent: asking stops if none of them is usable."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from polbayes.errors import UserError
from polbayes.probing.journal import Record, cell_of
from polbayes.respondents.base import Question
from polbayes.respondents.questions import PendingQuestions

# With fewer prompts, unusable answers say more about the prompts than the respondent.
_PROMPTS = 10
# With less probability on all options together, their ratio is meaningless.
_LEAST_MASS = 0.001
_AT_ONCE = 64
_LONGEST = 200
# Of a model whose thinking is neither shown nor counted.
_CUT_OFF = "an answer that was cut off before its first word"


@dataclass(frozen=True)
class Screening:
    """When to stop asking a respondent."""

    most: int  # after so many answers of which none can be used
    # Tells which answers the run's coders can read; None if only coding would tell.
    readable: Callable[[Sequence[tuple[Question, str]]], Sequence[bool]] | None = None


class FirstAnswers:
    """The answers of a respondent until one is usable."""

    def __init__(
        self, screening: Screening | None, questions: PendingQuestions, options: Sequence[str]
    ) -> None:
        self._screening = screening
        self._questions = questions
        self._options = options
        self._prompts: set[str] = set()
        self._count = 0
        self._example: Record | None = None
        self.settled = screening is None

    def add(self, records: Iterable[Record]) -> None:
        """Examine answers until one is usable; raise `UserError` if many are not."""
        if self.settled or self._screening is None:
            return
        answers = (r for r in records if "cell" in r and r["status"] != "error")
        while not self.settled and (some := list(islice(answers, _AT_ONCE))):
            self.settled = self._any_usable(some, self._screening)
            self._count += len(some)
            self._prompts |= {str(record["prompt"]) for record in some}
            with_text = (record for record in some if record.get("text", "").strip())
            self._example = self._example or next(with_text, some[0])
        many = self._count >= self._screening.most and len(self._prompts) >= _PROMPTS
        if many and not self.settled and self._example is not None:
            raise self._useless(self._example)

    def _any_usable(self, records: Sequence[Record], screening: Screening) -> bool:
        # A refusal is a result.
        if any(record["status"] == "refused" for record in records):
            return True
        if any(_mass(record) >= _LEAST_MASS for record in records if "mass" in record):
            return True
        read = [
            (question, record["text"])
            for record in records
            if record.get("text", "").strip()
            and (question := self._questions.of(cell_of(record))) is not None
        ]
        return bool(read) and (screening.readable is None or any(screening.readable(read)))

    def _useless(self, example: Record) -> UserError:
        model, cell = self._questions.model, cell_of(example)
        where = f"item '{cell[0]}', wording '{cell[1]}', prefix '{cell[2]}'"
        return UserError(
            f"respondents.{model}: none of the first {self._count} answers can be used, such as "
            f"{self._shown(example)} to {where}; {_advice(model, example)}, or go on with "
            "give_up_after=null; what was answered is kept."
        )

    def _shown(self, record: Record) -> str:
        """Return an answer, which is untrusted text, shortened to one line."""
        if "mass" not in record:
            thinks = _thought(record) and not record["text"].strip()
            text = record.get("reasoning", "") if thinks else record.get("text", "")
            shown = repr(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…")
            if thinks and not text:
                tokens = record.get("reasoning_tokens")
                return f"{tokens} tokens of thinking without an answer" if tokens else _CUT_OFF
            return f"thinking without an answer ({shown})" if thinks else shown
        mass = {word: m or 0.0 for word, m in zip(self._options, record["mass"], strict=True)}
        best = sorted(mass, key=lambda word: -mass[word])[:2]
        of_options = ", ".join(f"{word!r} {mass[word]:.2g}" for word in best)
        return f"the probability {_mass(record):.2g} of all options ({of_options})"


def _mass(record: Record) -> float:
    return float(sum(m or 0.0 for m in record["mass"]))


def _thought(record: Record) -> bool:
    """Return whether there was thinking: shown, counted, or cut off before there was an answer."""
    cut_off = bool(record.get("truncated")) and not record.get("text", "").strip()
    return cut_off or "reasoning" in record or bool(record.get("reasoning_tokens"))


def _advice(model: str, example: Record) -> str:
    if _thought(example):
        return (
            f"allow more with respondents.{model}.thinking_tokens, or less thinking with "
            f"respondents.{model}.reasoning_effort"
        )
    if "mass" not in example:
        return (
            "choose another elicitation.template, more elicitation.max_new_tokens or other "
            "coding.coders"
        )
    served = f", a larger respondents.{model}.api.top_logprobs" if "unseen" in example else ""
    return (
        f"choose another elicitation.template or lexicon{served} or elicitation=open_ended (of a "
        f"model that thinks first set respondents.{model}.thinking_tokens or reasoning_effort)"
    )
