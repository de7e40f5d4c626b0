"""A model asked through a batch service: half the price, and answers within a day.

All questions are submitted at once, and each batch is recorded before it is waited for. A run that
is stopped, or whose machine is switched off, resumes by fetching the replies of its batches.
"""

import asyncio
import json
import logging
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from hashlib import blake2b
from itertools import islice
from types import MappingProxyType
from typing import Any

from polbayes.config.schema import ApiConfig, ElicitationConfig
from polbayes.errors import UserError
from polbayes.instrument.design import ModelInfo
from polbayes.instrument.prompts import Lexicon
from polbayes.respondents.base import Answer, Batch, Question
from polbayes.respondents.chat_api.batch_services import (
    MOST_BYTES,
    MOST_REQUESTS,
    BatchService,
    Progress,
    open_service,
)
from polbayes.respondents.chat_api.budget import Budget
from polbayes.respondents.chat_api.failures import Failure, Kind, judge
from polbayes.respondents.chat_api.reply import Reply
from polbayes.respondents.chat_api.respondent import Asked, ChatApiRespondent, Outcome
from polbayes.respondents.chat_api.server import used_by
from polbayes.respondents.usage import Usage

_log = logging.getLogger("polbayes")

# A question that fails for no reason of its own is put into this many batches.
_MOST_ROUNDS = 3
# So many batches are submitted at a time once larger ones were too many tokens.
_MOST_PIECES = 16
# What a service says of a batch, or a file of its replies, that it does not have.
_GONE = ("status 400", "status 404", "status 410")


class _GoneError(Exception):
    """A batch or its replies cannot be found."""


class BatchRespondent(ChatApiRespondent):
    """A model behind a server with a batch service."""

    def __init__(
        self, info: ModelInfo, api: ApiConfig, elicitation: ElicitationConfig, key: str | None
    ) -> None:
        super().__init__(info, api, elicitation, key)
        self._service: BatchService = open_service(info, api, key, self._server.secret)

    def answers(
        self,
        questions: Iterable[tuple[Question, int]],
        lexicon: Lexicon | None,
        *,
        spent: Usage,
        left_out: Mapping[str, str] = MappingProxyType({}),
        batches: Sequence[Batch] = (),
    ) -> Generator[Answer]:
        """Yield the answers of batches as these end (see `ConcurrentRespondent`)."""
        self._server.left_out.fields |= left_out
        budget = Budget(self._api, spent)
        waiting = {_name(asked): asked for asked in (Asked(*pair) for pair in questions)}
        tried: dict[str, int] = {}
        kept = yield from self._without_lost(batches, budget)
        for batch in kept:
            budget.reserve(_reserved(batch))
        yield from self._collected(kept, waiting, tried, lexicon, budget)
        size = largest = min(self._api.batch_size, MOST_REQUESTS)
        while waiting:
            if not self._tried:
                yield from self._trial(lexicon, budget)
            # If smaller batches are needed, few of them fit in at a time.
            now = waiting if size == largest else dict(islice(waiting.items(), size * _MOST_PIECES))
            submitted, stop = yield from self._submitted(now, size, budget)
            if stop and not submitted:
                raise stop
            # Batches set more aside than they cost, so that there may be more to submit afterwards.
            crowded = yield from self._collected(submitted, waiting, tried, lexicon, budget)
            yield from self._news()
            if not crowded:
                size = min(2 * size, largest)
            elif len(crowded) == len(submitted):
                size = self._smaller(submitted, crowded[0])

    def _smaller(self, submitted: Sequence[Batch], why: str) -> int:
        """Return the size of the next batches, none of which was accepted."""
        largest = max(batch.questions for batch in submitted)
        if largest == 1:
            raise UserError(
                f"respondents.{self.info.model}: the batch service at {self._api.base_url} does "
                f"not even accept a batch of one question ({why}); what was answered is kept, and "
                "when less is under way the same command resumes from there."
            )
        return largest // 2

    def _submitted(
        self, waiting: Mapping[str, Asked], size: int, budget: Budget
    ) -> Generator[Answer, None, tuple[list[Batch], UserError | None]]:
        """Submit the questions as far as the budget and the service go; say why no more, if so."""
        found: list[Batch] = []
        stop: UserError | None = None
        for requests, most, why in self._batches(waiting, size, budget):
            stop = why
            if requests:
                try:
                    name = self._submit(requests)
                except UserError as error:
                    budget.settle(Usage.at_most(most).of_batch, Usage())
                    if found:
                        _log.warning("%s", error)
                    return found, error
                found.append(Batch(name, len(requests), most))
                yield Answer(None, batch=found[-1])
                _log.info("%s: batch %s has %d questions.", self.info.model, name, len(requests))
        return found, stop

    def _batches(
        self, waiting: Mapping[str, Asked], size: int, budget: Budget
    ) -> Iterator[tuple[dict[str, dict[str, Any]], tuple[int, int], UserError | None]]:
        questions = iter(waiting.items())
        stop: UserError | None = None
        while not stop and (some := list(islice(questions, size))):
            requests: dict[str, dict[str, Any]] = {}
            most, length = (0, 0), 0
            for name, asked in some:
                own = self._server.most(asked.question)
                body = self._server.body(asked.question, asked.seed)
                length += (bytes_of := len(json.dumps(body)))
                if requests and length > MOST_BYTES:
                    yield requests, most, None
                    requests, most, length = {}, (0, 0), bytes_of
                if not budget.set_aside(own.of_batch):
                    stop = self._server.over(budget, own.of_batch)
                    break
                requests[name] = body
                most = (most[0] + own.input_bound, most[1] + own.output_bound)
            yield requests, most, stop

    def _collected(
        self,
        batches: Iterable[Batch],
        waiting: dict[str, Asked],
        tried: dict[str, int],
        lexicon: Lexicon | None,
        budget: Budget,
    ) -> Generator[Answer, None, list[str]]:
        """Wait for batches, yield what they answer, and return what was said of crowded ones."""
        crowded: list[str] = []
        failed: list[UserError] = []
        gone: dict[str, str] = {}
        for batch in batches:
            try:
                found = self._ended(batch)
                if found.crowded:
                    crowded.append(found.failed)
                    _log.info("%s: %s has to wait (%s).", self.info.model, batch.name, found.failed)
                elif found.failed:
                    failed.append(self._not_accepted(batch, found.failed))
                    _log.warning("%s", failed[-1])
                else:
                    yield from self._answered(batch, waiting, tried, lexicon, budget)
            except _GoneError as error:
                # Not over before the user says so: another key may find it.
                gone[batch.name] = str(error)
                continue
            budget.settle(_reserved(batch), Usage())
            yield Answer(None, batch=replace(batch, over=True))
        if gone:
            failed.append(self._gone(gone))
        if failed:
            raise failed[0]
        return crowded

    def _not_accepted(self, batch: Batch, why: str) -> UserError:
        return UserError(
            f"respondents.{self.info.model}: the batch {batch.name} was not accepted ({why}); what "
            "was answered is kept."
        )

    def _gone(self, gone: Mapping[str, str]) -> UserError:
        """Return the error for batches that cannot be found, with what was said of each."""
        names = ",".join(gone)
        return UserError(
            f"respondents.{self.info.model}: the batch service at {self._api.base_url} no longer "
            f"has {names} for this key ({next(iter(gone.values()))}); if the replies are lost, set "
            f"respondents.{self.info.model}.api.lost_batches=[{names}] to ask these questions "
            "again; what was answered is kept."
        )

    def _answered(
        self,
        batch: Batch,
        waiting: dict[str, Asked],
        tried: dict[str, int],
        lexicon: Lexicon | None,
        budget: Budget,
    ) -> Generator[Answer]:
        """Yield what a batch that is over answers."""
        for name, reply in self._replies(batch):
            asked = waiting.pop(name, None)
            if asked is None:  # answered before the run was stopped
                continue
            used = used_by(reply, self._server.most(asked.question)).of_batch
            budget.settle(Usage(), used)
            tried[name] = tried.get(name, 0) + 1
            outcome = self._outcome(asked, reply, used, lexicon)
            if outcome.passing and tried[name] < _MOST_ROUNDS:
                waiting[name] = asked
                yield Answer(None, usage=used)
            else:
                yield outcome.answer

    def _outcome(
        self, asked: Asked, reply: Reply | Failure, used: Usage, lexicon: Lexicon | None
    ) -> Outcome:
        if isinstance(reply, Reply) and lexicon is not None and not reply.tells_masses:
            reply = Failure(Kind.PASSING, "the reply has no log probabilities", billed=True)
        if isinstance(reply, Failure) and reply.refused:
            # Another question of the batch may have taught it already.
            known = reply.refused & self._server.left_out.fields.keys()
            body = self._server.body(asked.question, asked.seed)
            if known or self._server.learn(reply, body):
                reply = Failure(Kind.PASSING, reply.message)
        return self.outcome(asked, reply, used, lexicon)

    def _ended(self, batch: Batch) -> Progress:
        """Wait until a batch is over, through any outage."""
        said, wait = "", 0.0
        while True:
            try:
                found = self._runner.run(self._service.progress(batch.name))
            except Exception as error:
                failure = self._passing(error, of_batch=True)
                now, wait = f"no news ({failure.message})", failure.wait or 0.0
            else:
                if found.over:
                    return found
                now, wait = f"{found.done} of {batch.questions} answered", 0.0
            if now != said:
                said = now
                _log.info(
                    "%s: batch %s: %s; you can stop here and repeat the command later.",
                    *(self.info.model, batch.name, now),
                )
            self._runner.run(asyncio.sleep(max(wait, self._api.batch_poll)))

    def _replies(self, batch: Batch) -> Iterator[tuple[str, Reply | Failure]]:
        """Fetch the replies one by one, and the rest of them after an outage."""
        seen: set[str] = set()
        tries = 0
        while True:
            try:
                with closing(self._streamed(batch.name)) as replies:
                    for name, reply in replies:
                        if name not in seen:
                            seen.add(name)
                            yield name, reply
                return
            except Exception as error:
                failure = self._passing(error, of_batch=True)
                if tries >= self._api.retries:
                    raise self._unreachable(failure) from error
            tries += 1
            self._runner.run(asyncio.sleep(failure.wait or self._server.back_off(tries)))
            self._ended(batch)

    def _streamed(self, name: str) -> Generator[tuple[str, Reply | Failure]]:
        stream = self._service.replies(name)
        try:
            while True:
                try:
                    yield self._runner.run(anext(stream))
                except StopAsyncIteration:
                    return
        finally:
            self._runner.run(stream.aclose())

    def _submit(self, requests: Mapping[str, dict[str, Any]]) -> str:
        """Submit a batch, and again if that may help and it cannot be there already."""
        tries = 0
        while True:
            try:
                return self._runner.run(self._service.submit(requests))
            except Exception as error:
                failure = self._passing(error)
                if failure.billed or tries >= self._api.retries:
                    raise self._unreachable(failure) from error
            tries += 1
            self._runner.run(asyncio.sleep(failure.wait or self._server.back_off(tries)))

    def _passing(self, error: Exception, *, of_batch: bool = False) -> Failure:
        """Return a failure after which the service may be asked again; raise any other."""
        failure = judge(error, secret=self._server.secret)
        if failure.kind in (Kind.PASSING, Kind.THROTTLED):
            return failure
        if of_batch and failure.message.startswith(_GONE):
            raise _GoneError(failure.message) from error
        raise self._unreachable(failure) from error

    def _unreachable(self, failure: Failure) -> UserError:
        return UserError(
            f"respondents.{self.info.model}: the batch service at {self._api.base_url} does not "
            f"answer ({failure.message}); what was answered is kept, and the same command resumes "
            "from there."
        )

    def close(self) -> None:
        """Close the connections; batches go on."""
        self._runner.run(self._service.close())
        super().close()


def _reserved(batch: Batch) -> Usage:
    """Return the highest usage of a batch, which is set aside until its replies are there."""
    return Usage.at_most(batch.most).of_batch


def _name(asked: Asked) -> str:
    """Return the id of a request, the same whenever the question is asked."""
    text = json.dumps([*asked.question.cell, asked.question.prompt, asked.seed])
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
