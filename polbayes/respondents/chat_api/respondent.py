"""A model behind an OpenAI-compatible server, asked many questions at a time."""

import asyncio
import re
from collections import deque
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polbayes.config.schema import ApiConfig, ElicitationConfig
from polbayes.data.prose import form
from polbayes.errors import UserError
from polbayes.instrument.design import ModelInfo
from polbayes.instrument.prompts import Lexicon
from polbayes.respondents.base import Answer, Batch, Completion, Question
from polbayes.respondents.chat_api.budget import Budget
from polbayes.respondents.chat_api.failures import Failure, Kind, RequestRejectedError
from polbayes.respondents.chat_api.options import after_thinking, option_masses
from polbayes.respondents.chat_api.refused import in_words
from polbayes.respondents.chat_api.reply import Position, Reply
from polbayes.respondents.chat_api.server import Server, StopError
from polbayes.respondents.usage import Usage


@dataclass(frozen=True)
class Asked:
    """A question; `failed_after` is the number answered when it last failed, if it did."""

    question: Question
    seed: int
    failed_after: int | None = None


@dataclass(frozen=True)
class Outcome:
    """The outcome of a question: its answer, or why there is none."""

    asked: Asked
    answer: Answer
    passing: bool = False
    stop: UserError | None = None


class Queue:
    """Questions in their order, followed by those to ask once more."""

    def __init__(self, questions: Iterable[tuple[Question, int]]) -> None:
        self._new = (Asked(*pair) for pair in questions)
        self._later: deque[Asked] = deque()
        self._first: Asked | None = None

    def first(self) -> Asked | None:
        """Return the next question; None if there is none now."""
        if self._first is None:
            self._first = next(self._new, None)
        if self._first is None and self._later:
            self._first = self._later.popleft()
        return self._first

    def take(self) -> None:
        """Remove the first question."""
        self._first = None

    def put_back(self, asked: Asked, answered: int) -> bool:
        """Queue a question once more, and return whether that was possible."""
        if asked.failed_after is None:
            self._later.append(replace(asked, failed_after=answered))
        return asked.failed_after is None


# After this many questions in a row without an answer, besides those under way, it is down.
_OUTAGE = 20
# What users declare, so that it is never left out.
_OF_THINKING = re.compile(r"thinking|reasoning|effort", re.IGNORECASE)
# Asked first, so that problems that affect every question show at once.
_TRIAL = Question(
    *("", "", "", 0, ""),
    keying=0,
    dimension="",
    prompt="Please answer with yes or no: is two more than one?",
)


class ChatApiRespondent:
    """A model behind an OpenAI-compatible server, under the name `info.checkpoint`."""

    def __init__(
        self, info: ModelInfo, api: ApiConfig, elicitation: ElicitationConfig, key: str | None
    ) -> None:
        self.info = info
        self._api = api
        self._elicitation = elicitation
        self._runner = asyncio.Runner()
        self._server = Server(info, api, elicitation, key)
        self._tried = False

    def warnings(self, lexicon: Lexicon | None) -> tuple[str, ...]:
        """Return no sentence: remarks come from asking the server."""
        return ()

    def _trial(self, lexicon: Lexicon | None, budget: Budget) -> Generator[Answer]:
        """Ask a trial question, and yield what its reply implies for all others."""
        most = self._server.most(_TRIAL)
        if not budget.set_aside(most):
            raise self._server.over(budget, most)
        try:
            reply, used = self._runner.run(self._server.exchange(_TRIAL, 0, budget))
        except StopError as error:
            yield Answer(None, usage=error.used)
            raise error.why from error
        yield Answer(None, usage=used)
        yield from self._news()
        if isinstance(reply, Failure):
            where = f"respondents.{self.info.model}"
            kind = RequestRejectedError if reply.kind is Kind.QUESTION else UserError
            raise kind(
                f"{where}: the server at {self._api.base_url} does not answer ({reply.message})"
                f"{_hint(reply, where) if reply.kind is Kind.QUESTION else ''}."
            )
        if reply.served_by not in ("", self.info.checkpoint):
            yield Answer(None, note=f"{self.info.model}: was answered by '{reply.served_by}'.")
        if lexicon is not None and (note := self._listed(reply)):
            yield Answer(None, note=note)
        self._tried = True

    def _news(self) -> Generator[Answer]:
        """Yield what the server was found not to accept since the last call."""
        found = self._server.left_out
        while found.news:
            name = found.news.pop(0)
            value = found.fields[name]
            note = in_words(self.info.model, name, value)
            yield Answer(None, note=note, left_out={name: value})

    def _listed(self, reply: Reply) -> str:
        refused = "logprobs" in self._server.left_out.fields
        thinks = bool(reply.thoughts or reply.thought_tokens) and not refused
        if thinks and not self.info.thinking_tokens and not self._of_answer(reply):
            where = f"respondents.{self.info.model}"
            raise UserError(
                f"{where}: the answers of this model begin with thinking, whose tokens are no "
                f"options; read them after it with {where}.thinking_tokens=4000, have it not think "
                f"with {where}.reasoning_effort=none (or with a switch of the server's own in "
                f"{where}.api.extra_body), or ask with elicitation=open_ended."
            )
        if self.info.thinking_tokens and not refused and reply.truncated and not reply.text:
            return ""  # The thinking took all tokens, so that the server lists none of an answer.
        top = len(reply.positions[0].top) if reply.positions else 0
        if not top:
            raise UserError(
                f"respondents.{self.info.model}: the server at {self._api.base_url} returns no "
                f"log probabilities of tokens, which {self._elicitation.kind} needs; ask this "
                "respondent with elicitation=open_ended, or sampled_choice, which draws options."
            )
        wanted = int(self._server.left_out.fields.get("top_logprobs") or self._api.top_logprobs)
        if top >= wanted:
            return ""
        return (
            f"{self.info.model}: the server lists the {top} likeliest tokens, not {wanted}; "
            "mass_unseen says what may be missing."
        )

    def answers(
        self,
        questions: Iterable[tuple[Question, int]],
        lexicon: Lexicon | None,
        *,
        spent: Usage,
        left_out: Mapping[str, str] = MappingProxyType({}),
        batches: Sequence[Batch] = (),
    ) -> Generator[Answer]:
        """Yield the answers as they arrive (see `ConcurrentRespondent`)."""
        self._server.left_out.fields |= left_out
        budget = Budget(self._api, spent)
        if kept := (yield from self._without_lost(batches, budget)):
            names = ",".join(batch.name for batch in kept)
            where = f"respondents.{self.info.model}.api"
            raise UserError(
                f"{where}.batch: {form(len(kept), 'batch', 'batches')} {names} "
                f"{form(len(kept), 'is', 'are')} still to be fetched; set it as before, so that no "
                f"question is paid for twice, or {where}.lost_batches=[{names}] if the replies are "
                "lost."
            )
        if not self._tried:
            yield from self._trial(lexicon, budget)
        queue = Queue(questions)
        tasks: set[asyncio.Task[Outcome]] = set()
        stop: UserError | None = None
        in_a_row = answered = 0
        try:
            while tasks or (queue.first() and not stop):
                stop = stop or self._begin(tasks, queue, lexicon, budget)
                for task in self._runner.run(_first_of(tasks)) if tasks else ():
                    tasks.discard(task)
                    outcome = task.result()
                    answer, asked = outcome.answer, outcome.asked
                    stop = stop or outcome.stop
                    if not outcome.passing:
                        in_a_row, answered = 0, answered + 1
                    elif in_a_row > _OUTAGE + 2 * self._api.concurrency:
                        stop = stop or self._silent(answer.error)
                    elif not queue.put_back(asked, answered) and asked.failed_after == answered:
                        # No answer since then: is it this question, or the server?
                        if not (yield from self._alive(budget)):
                            stop = stop or self._silent(answer.error)
                        answered += 1
                    yield from self._news()
                    again = outcome.passing and (asked.failed_after is None or stop)
                    in_a_row += outcome.passing
                    yield Answer(None, usage=answer.usage) if again or outcome.stop else answer
            if stop:
                raise stop
        finally:
            if tasks:
                self._runner.run(_cancelled(tasks))

    def _without_lost(
        self, batches: Sequence[Batch], budget: Budget
    ) -> Generator[Answer, None, list[Batch]]:
        """Charge lost batches as much as they may have cost, and return the others."""
        kept: list[Batch] = []
        for batch in batches:
            if batch.name in self._api.lost_batches:
                used = replace(Usage.at_most(batch.most).of_batch, uncounted=batch.questions)
                budget.settle(Usage(), used)
                yield Answer(None, usage=used, batch=replace(batch, over=True))
            else:
                kept.append(batch)
        return kept

    def _begin(
        self,
        tasks: "set[asyncio.Task[Outcome]]",
        queue: Queue,
        lexicon: Lexicon | None,
        budget: Budget,
    ) -> UserError | None:
        """Send as many questions as the pace allows; say why no more can be sent, if so."""
        while (asked := queue.first()) and len(tasks) < self._server.pace.width:
            most = self._server.most(asked.question)
            if not budget.set_aside(most):
                # Requests under way may turn out cheaper than their reserve.
                return None if tasks else self._server.over(budget, most)
            queue.take()
            asking = self._answer(asked, lexicon, budget)
            tasks.add(self._runner.get_loop().create_task(asking))
        return None

    def _alive(self, budget: Budget) -> Generator[Answer, None, bool]:
        """Return whether the trial question is answered, or exceeds the budget."""
        if not budget.set_aside(self._server.most(_TRIAL)):
            return True
        try:
            reply, used = self._runner.run(self._server.exchange(_TRIAL, 0, budget))
        except StopError as error:
            yield Answer(None, usage=error.used)
            return False
        yield Answer(None, usage=used)
        return isinstance(reply, Reply)

    def _silent(self, message: str) -> UserError:
        return UserError(
            f"respondents.{self.info.model}: the server at {self._api.base_url} no longer answers "
            f"({message}); what was answered is kept, and the same command resumes from there."
        )

    def option_mass(self, questions: Sequence[Question], lexicon: Lexicon) -> NDArray[np.float64]:
        """Return the probability mass of each option (question, option) that was seen."""
        rows = self._in_order([(question, 0) for question in questions], lexicon)
        none = (np.nan,) * len(lexicon.options)
        return np.array([row.mass or none for row in rows]).reshape(-1, len(none))

    def complete(self, questions: Sequence[Question], seeds: Sequence[int]) -> list[Completion]:
        """Return one open answer to each question."""
        rows = self._in_order(list(zip(questions, seeds, strict=True)), None)
        return [row.completion for row in rows if row.completion is not None]

    def _in_order(
        self, questions: list[tuple[Question, int]], lexicon: Lexicon | None
    ) -> list[Answer]:
        found: dict[int, Answer] = {}
        for answer in self.answers(questions, lexicon, spent=Usage()):
            if answer.error:
                raise ValueError(answer.error)
            found[id(answer.question)] = answer
        return [found[id(question)] for question, _ in questions]

    def close(self) -> None:
        """Close the connections."""
        self._runner.run(self._server.close())
        self._runner.close()

    async def _answer(self, asked: Asked, lexicon: Lexicon | None, budget: Budget) -> Outcome:
        question, listed = asked.question, lexicon is not None
        try:
            reply, used = await self._server.exchange(question, asked.seed, budget, listed=listed)
        except StopError as error:
            return Outcome(asked, Answer(None, usage=error.used), stop=error.why)
        return self.outcome(asked, reply, used, lexicon)

    def outcome(
        self, asked: Asked, reply: Reply | Failure, used: Usage, lexicon: Lexicon | None
    ) -> Outcome:
        """Return what a reply to a question comes to."""
        question = asked.question
        if isinstance(reply, Reply):
            return Outcome(asked, replace(self._read(question, reply, lexicon), usage=used))
        if reply.kind is Kind.DECLINED:
            return Outcome(asked, Answer(question, Completion("", "refused"), usage=used))
        failed = Answer(question, error=reply.message, too_long=reply.too_long, usage=used)
        return Outcome(asked, failed, passing=reply.kind is not Kind.QUESTION)

    def _read(self, question: Question, reply: Reply, lexicon: Lexicon | None) -> Answer:
        text = _without_key(reply.text, self._server.secret)
        if reply.declined or lexicon is None:
            status = "refused" if reply.declined else "ok" if text.strip() else "empty"
            thoughts = _without_key(reply.thoughts, self._server.secret)
            about = (reply.truncated, thoughts, reply.thought_tokens, reply.unopened)
            return Answer(question, Completion(text, status, *about))
        positions = self._of_answer(reply)
        if not positions:
            # The thinking took all tokens, so that nothing is known about the options.
            return Answer(question, mass=(0.0,) * len(lexicon.options), unseen=1.0)
        masses = option_masses(positions, lexicon.spelled(question.options))
        return Answer(question, mass=masses.options, unseen=masses.unseen)

    def _of_answer(self, reply: Reply) -> Sequence[Position]:
        """Return the tokens of a reply that are no thinking."""
        own = self.info.thinking_marks
        told = reply.positions or ()
        return after_thinking(told, thoughts=reply.thoughts, answer=reply.text, own=own)


def _hint(failure: Failure, where: str) -> str:
    """Return what may help against a rejection of requests, whatever their question."""
    if _OF_THINKING.search(failure.message):
        return (
            f"; choose another {where}.reasoning_effort or {where}.thinking_tokens, leave them "
            f"out, or set what the server asks for in {where}.api.extra_body"
        )
    return f"; what it does not take can be left out with {where}.api.omit"


def _without_key(text: str, secret: str | None) -> str:
    """Black out a key in an answer, which only a faulty server repeats."""
    return text.replace(secret, "***") if secret else text


async def _first_of(tasks: set["asyncio.Task[Outcome]"]) -> set["asyncio.Task[Outcome]"]:
    done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    return done


async def _cancelled(tasks: Iterable[asyncio.Task[Any]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
