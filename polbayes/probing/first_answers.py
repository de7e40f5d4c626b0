"""The first answers of a respondent: asking stops if none of them is usable."""

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from polbayes.errors import UserError, reason
from polbayes.probing.journal import Cell, Record, cell_of
from polbayes.respondents.base import Question

_log = logging.getLogger("polbayes")

# With fewer prompts, unusable answers say more about the prompts than the respondent.
_PROMPTS = 10
# With less probability on all options together, their ratio is meaningless.
_LEAST_MASS = 0.001
_AT_ONCE = 64
_LONGEST = 200
# Of a model whose thinking is neither shown nor counted.
_CUT_OFF = "an answer that was cut off before its first word"


Read = Callable[[Sequence[tuple[Question, str]]], Sequence[bool]]


@dataclass(frozen=True)
class Screening:
    """When to stop asking a respondent."""

    most: int  # after so many answers of which none can be used
    # Tells which answers can be read, as they arrive; None if only coding would tell.
    readable: Read | None = None
    # Where that only tells some: reads the first `most` texts once, before asking stops. A coder
    # that finds a stance in any text, such as inference between agreeing and disagreeing alone,
    # finds one in babble; no other sign of babble is safe in every language, so that goes on.
    coded: Read | None = None


def _in_questionnaire(cell: Cell) -> str:
    return f"item '{cell[0]}', wording '{cell[1]}', prefix '{cell[2]}'"


class FirstAnswers:
    """The answers of a respondent until one is usable.

    `question` returns the question of a cell, to read the answer; `where` names a cell in errors.
    """

    def __init__(
        self,
        screening: Screening | None,
        model: str,
        question: Callable[[Cell], Question | None] = lambda cell: None,
        options: Sequence[str] = (),
        where: Callable[[Cell], str] = _in_questionnaire,
    ) -> None:
        self._screening = screening
        self._model = model
        self._question = question
        self._options = options
        self._where = where
        self._prompts: set[str] = set()
        self._count = 0
        self._example: Record | None = None
        self._unread: list[tuple[Question, str]] = []
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
            self.settled = self._coded_as_usable(self._screening)
            if not self.settled:
                raise self._useless(self._example)

    def _any_usable(self, records: Sequence[Record], screening: Screening) -> bool:
        # A refusal is a result.
        if any(record["status"] == "refused" for record in records):
            return True
        if any(_mass(record) >= _LEAST_MASS for record in records if "mass" in record):
            return True
        texts = [record for record in records if record.get("text", "").strip()]
        if screening.readable is None:
            return bool(texts)
        read = [
            (question, record["text"])
            for record in texts
            if (question := self._question(cell_of(record))) is not None
        ]
        self._unread += read[: max(0, screening.most - len(self._unread))]
        return bool(read) and any(screening.readable(read))

    def _coded_as_usable(self, screening: Screening) -> bool:
        """Tell whether the run's coders find anything in the first texts."""
        if screening.coded is None or not self._unread:
            return False
        _log.info(
            "%s: the coders read the first %d answers, because rules read none of them.",
            *(self._model, len(self._unread)),
        )
        try:
            return any(screening.coded(self._unread))
        except Exception as error:
            # Whatever keeps them from reading now, such as memory that the respondent needs.
            _log.warning(
                "%s: the coders could not read its first answers (%s); asking goes on.",
                *(self._model, reason(error)),
            )
            return True

    def _useless(self, example: Record) -> UserError:
        coded = self._screening is not None and self._screening.readable is not None
        return UserError(
            f"respondents.{self._model}: none of the first {self._count} answers can be used, such "
            f"as {self._shown(example)} to {self._where(cell_of(example))}; "
            f"{_advice(self._model, example, coded=coded)}, or go on with give_up_after=null; what "
            "was answered is kept."
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


def _advice(model: str, example: Record, *, coded: bool) -> str:
    if _thought(example):
        return (
            f"allow more with respondents.{model}.thinking_tokens, or less thinking with "
            f"respondents.{model}.reasoning_effort"
        )
    if "mass" not in example:
        others = "more elicitation.max_new_tokens"
        others = f", {others} or other coding.coders" if coded else f" or {others}"
        return f"choose another elicitation.template{others}"
    served = f", a larger respondents.{model}.api.top_logprobs" if "unseen" in example else ""
    return (
        f"choose another elicitation.template or lexicon{served} or elicitation=open_ended (of a "
        f"model that thinks first set respondents.{model}.thinking_tokens or reasoning_effort)"
    )
