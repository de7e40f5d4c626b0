"""One server, asked until it replies or there is no hope."""

import asyncio
import json
import logging
import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from polbayes.config.schema import ApiConfig, ElicitationConfig
from polbayes.errors import OverBudgetError, UserError
from polbayes.instrument.design import ModelInfo
from polbayes.respondents.base import Question
from polbayes.respondents.chat_api.budget import Budget, cost, tokens_at_most
from polbayes.respondents.chat_api.failures import Failure, Kind, judge
from polbayes.respondents.chat_api.pace import Pace
from polbayes.respondents.chat_api.refused import LeftOut
from polbayes.respondents.chat_api.reply import (
    CUT_OFF,
    Reply,
    UnreadableReplyError,
    read_reply,
)
from polbayes.respondents.chat_api.request import listed_bytes, most_tokens, request_body
from polbayes.respondents.usage import Usage

_log = logging.getLogger("polbayes")

# Being rate-limited is no failure of the question, up to this number of times.
_MOST_TURNED_AWAY = 100
_LONGEST_WAIT = 60.0
# Longer waits that the server asks for are announced, in seconds.
_WORTH_SAYING = 30.0
# A shorter key is a placeholder, and may be a word of an answer.
_SHORTEST_SECRET = 8


class StopError(Exception):
    """No further question can be answered: the message for the user, and the usage."""

    def __init__(self, why: UserError, used: Usage) -> None:
        super().__init__(str(why))
        self.why = why
        self.used = used


class Server:
    """A server with a model that it calls `info.checkpoint`."""

    def __init__(
        self, info: ModelInfo, api: ApiConfig, elicitation: ElicitationConfig, key: str | None
    ) -> None:
        from polbayes.respondents.chat_api.client import MOST_BYTES, open_client

        self.secret = key if key and len(key) >= _SHORTEST_SECRET else None
        # Whether it accepts schemas of answers; None if not known yet.
        self.takes_schema: bool | None = None
        self.left_out = LeftOut()
        self.pace = Pace(api.concurrency, per_minute=api.requests_per_minute)
        self._info = info
        self._api = api
        self._elicitation = elicitation
        most = MOST_BYTES + listed_bytes(elicitation, info, api)
        self._client = open_client(api, key, most=most)
        self._native = None
        if api.protocol != "openai":
            from polbayes.respondents.chat_api.native import NativeServer

            self._native = NativeServer(info, api, key, most=most)
        self._jitter = random.Random()

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()
        if self._native is not None:
            await self._native.close()

    def most(self, question: Question) -> Usage:
        """Return the highest usage of a question and its answer, asked by themselves."""
        known = self.left_out.fields
        most = most_tokens(question, self._api, self._elicitation, self._info, known)
        return Usage.at_most(most)

    async def exchange(
        self, question: Question, seed: int, budget: Budget, *, listed: bool = False
    ) -> tuple[Reply | Failure, Usage]:
        """Ask until there is a reply or no hope, and say what that took."""
        most, used = self.most(question), Usage()
        failures = turned_away = 0
        while True:
            put = question if self.takes_schema is not False else replace(question, schema=None)
            body = self.body(put, seed)
            outcome = await self._attempt(body, listed=listed)
            took = used_by(outcome, most)
            budget.settle(most, took)
            used += took
            if isinstance(outcome, Reply):
                self.takes_schema = True if put.schema else self.takes_schema
                return outcome, used
            if outcome.kind is Kind.FATAL:
                raise StopError(self._fatal(outcome), used)
            if outcome.refused and self.learn(outcome, body):
                most = self.most(question)
                self._set_aside(most, budget, used)
                continue
            untried = put.schema is not None and self.takes_schema is None
            if outcome.kind is Kind.QUESTION and untried and not outcome.too_long:
                # Perhaps the server does not accept the schema; without it there may be an answer.
                bare = replace(question, schema=None)
                self._set_aside(most, budget, used)
                second, took = await self.exchange(bare, seed, budget, listed=listed)
                if isinstance(second, Reply) and self.takes_schema is None:
                    self.takes_schema = False
                    form = frozenset({"response_format"})
                    self.left_out.learn(form, body, outcome.message)
                return second, used + took
            throttled = outcome.kind is Kind.THROTTLED
            failures, turned_away = failures + (not throttled), turned_away + throttled
            hopeless = failures > self._api.retries or turned_away > _MOST_TURNED_AWAY
            if hopeless or outcome.kind in (Kind.QUESTION, Kind.DECLINED):
                return outcome, used
            if outcome.wait is None:
                await asyncio.sleep(self.back_off(turned_away if throttled else failures))
            self._set_aside(most, budget, used)

    def _set_aside(self, most: Usage, budget: Budget, used: Usage) -> None:
        """Set the highest usage of another request aside, or stop after what was used."""
        if not budget.set_aside(most):
            raise StopError(self.over(budget, most), used)

    def body(self, question: Question, seed: int) -> dict[str, Any]:
        """Return the request for a question, without the fields that the server refuses."""
        return request_body(
            question,
            info=self._info,
            api=self._api,
            elicitation=self._elicitation,
            seed=seed,
            left_out=self.left_out.fields,
        )

    def learn(self, failure: Failure, body: Mapping[str, Any]) -> bool:
        """Omit the fields a request was refused for, unless the user asked for them by name."""
        refused = failure.refused - self._api.extra_body.keys()
        sent = {**body["extra_body"], **body}
        return self.left_out.learn(refused, sent, failure.message)

    async def _attempt(self, body: Mapping[str, Any], *, listed: bool) -> Reply | Failure:
        async with self.pace.turn() as begun:
            try:
                async with asyncio.timeout(self._api.timeout):
                    text = await self._sent(body)
                reply = read_reply(text, self._info.thinking_marks)
                if listed and not reply.tells_masses:
                    raise UnreadableReplyError("the reply has no log probabilities")
            except Exception as error:
                # Errors of the client or the server must cost only this attempt.
                failure = judge(error, secret=self.secret)
                if failure.cut_off:
                    return CUT_OFF
            else:
                self.pace.worked()
                return reply
            if failure.kind is Kind.THROTTLED:
                self.pace.too_fast(begun, failure.wait)
            if failure.wait is not None:
                self._wait(failure.wait)
        return failure

    async def _sent(self, body: Mapping[str, Any]) -> str:
        """Send a request, and return its reply in the protocol of chats."""
        if self._native is None:
            raw = await self._client.chat.completions.with_raw_response.create(**body)
            return str(raw.text)
        return json.dumps(await self._native.complete(body))

    def _wait(self, seconds: float) -> None:
        if seconds > _WORTH_SAYING and seconds > self.pace.delay() + 1:
            _log.warning("%s: the server asks to wait for %.0f s.", self._info.model, seconds)
        self.pace.pause(seconds)

    def back_off(self, tried: int) -> float:
        """Return seconds to wait, random below a bound that doubles (full jitter)."""
        bound = min(self._api.backoff * 2.0 ** (min(tried, 30) - 1), _LONGEST_WAIT)
        return self._jitter.uniform(0.0, bound)

    def _fatal(self, failure: Failure) -> UserError:
        api = self._api
        if failure.message.startswith(("status 401", "status 403")):
            source = (
                f"the key in {api.key_variable}" if api.key_variable else "requests without key"
            )
            why = f"does not accept {source} ({failure.message})"
        else:
            why = f"cannot be asked as model '{self._info.checkpoint}' ({failure.message})"
        return UserError(
            f"respondents.{self._info.model}: the server at {api.base_url} {why}; what was "
            "answered is kept."
        )

    def over(self, budget: Budget, most: Usage) -> UserError:
        """Return the error for a question whose highest usage the budget does not allow."""
        spent, money = budget.spent, cost(budget.spent, self._api, at_most=True)
        tokens = tokens_at_most(spent)
        paid = "" if money is None else f", {money:.4g} {self._api.currency}"
        which = budget.lacking(most)
        return OverBudgetError(
            f"respondents.{self._info.model}.api.{which}: the next question might exceed "
            f"{getattr(self._api, which)} ({tokens:,} tokens were used{paid}); what was answered "
            "is kept, and with a larger budget the same command resumes from there."
        )


def used_by(outcome: Reply | Failure, most: Usage) -> Usage:
    """Return the usage of a request with such a highest usage."""
    if isinstance(outcome, Reply) and outcome.tokens is not None:
        return Usage(*outcome.tokens)
    if isinstance(outcome, Reply) or outcome.billed:
        return replace(most, uncounted=1)
    return Usage()
