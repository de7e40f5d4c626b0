"""The request for one question."""

import json
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from polbayes.config.schema import TEXTS, ApiConfig, ElicitationConfig
from polbayes.instrument.design import ModelInfo
from polbayes.respondents.base import Question, messages
from polbayes.respondents.chat_api.refused import LEAST, SYSTEM, THINKING

# Enough for an option of a few tokens; most answers are shorter.
ANSWER_TOKENS = 4
# A seed that every server accepts.
_SEEDS = 2**31
# Bytes of a token in a list of the likeliest, with its log probability and its bytes as numbers.
_LISTED = 160
# Tokens that a server may add around the turns of a chat.
_AROUND = 64


def request_body(
    question: Question,
    *,
    info: ModelInfo,
    api: ApiConfig,
    elicitation: ElicitationConfig,
    seed: int,
    left_out: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, Any]:
    """Return the arguments of the client's ``chat.completions.create``.

    `left_out` are fields that the server does not accept (`LeftOut`).
    """
    # Servers take one system prompt, at the beginning.
    system = "\n\n".join(text for text in (api.system, question.system) if text)
    turns = messages(replace(question, system=""))
    if system and left_out.get(SYSTEM):
        turns[0] = {**turns[0], "content": f"{system}\n\n{turns[0]['content']}"}
    elif system:
        turns.insert(0, {"role": "system", "content": system})
    body: dict[str, Any] = {
        "model": info.checkpoint,
        "messages": turns,
        left_out.get(api.limit_key) or api.limit_key: longest_answer(elicitation, info, left_out),
    }
    if effort := info.attributes.get("reasoning_effort"):
        body["reasoning_effort"] = effort
    extra: dict[str, Any] = {}
    if elicitation.kind in TEXTS:
        greedy, own = elicitation.decoding == "greedy", question.temperature
        warm = elicitation.temperature if own is None else own
        body |= {"temperature": 0.0 if greedy else warm, "seed": seed % _SEEDS}
        if elicitation.top_p < 1 and not greedy:
            body |= {"top_p": elicitation.top_p}
        # Not in the protocol, but common.
        extra = {"top_k": elicitation.top_k} if elicitation.top_k and not greedy else {}
    else:
        top = int(left_out.get("top_logprobs") or api.top_logprobs)
        body |= {"temperature": 0.0, "logprobs": True, "top_logprobs": top}
    if left_out.get(THINKING):
        extra[THINKING] = {"type": left_out[THINKING], "display": "summarized"}
    if question.schema is not None:
        form = {"name": "answer", "strict": True, "schema": question.schema}
        body["response_format"] = {"type": "json_schema", "json_schema": form}
    for name in (*api.omit, *(name for name, instead in left_out.items() if not instead)):
        body.pop(name, None)
        extra.pop(name, None)
    if "logprobs" not in body:
        body.pop("top_logprobs", None)  # which means nothing without it
    return {**body, "extra_body": {**extra, **api.extra_body}}


def longest_answer(
    elicitation: ElicitationConfig,
    info: ModelInfo,
    left_out: Mapping[str, str] = MappingProxyType({}),
) -> int:
    """Return the maximum number of tokens of an answer and its thinking."""
    answer = elicitation.max_new_tokens if elicitation.kind in TEXTS else ANSWER_TOKENS
    return max(answer + info.thinking_tokens, int(left_out.get(LEAST, 0)))


def most_tokens(
    question: Question,
    api: ApiConfig,
    elicitation: ElicitationConfig,
    info: ModelInfo,
    left_out: Mapping[str, str] = MappingProxyType({}),
) -> tuple[int, int]:
    """Return the maximum number of tokens of a question and its answer, one byte each."""
    turns = [turn["content"] for turn in messages(question)]
    text = "".join([*turns, api.system or "", json.dumps(question.schema or "")])
    around = _AROUND * len(turns)
    length = len(text.encode("utf-8", "surrogatepass")) + around
    return length, longest_answer(elicitation, info, left_out)


def listed_bytes(elicitation: ElicitationConfig, info: ModelInfo, api: ApiConfig) -> int:
    """Return how many bytes of a reply lists of the likeliest tokens may take at most."""
    if elicitation.kind in TEXTS:
        return 0
    return longest_answer(elicitation, info) * (api.top_logprobs + 1) * _LISTED


def flat(body: Mapping[str, Any]) -> dict[str, Any]:
    """Put the fields outside of the protocol with the others, as the client for chats does."""
    return {**{k: v for k, v in body.items() if k != "extra_body"}, **body["extra_body"]}
