"""Gemini's own protocol: requests and replies of ``/chat/completions`` in its words.

Unlike Google's OpenAI-compatible endpoint it takes `seed` and `top_k`, a budget for thinking, and
gives summaries of thoughts and, for models that have them, log probabilities. The protocol is plain
JSON, so that it is spoken by the client of all servers: that of Google retries by itself, reads
replies of any length, and brings a dozen packages.
"""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import httpx2
import openai

from polbayes.instrument.design import ModelInfo
from polbayes.respondents.chat_api.json_client import error_of
from polbayes.respondents.chat_api.request import flat

_ROLES = {"user": "user", "assistant": "model"}
_FINISHED = {"STOP": "stop", "MAX_TOKENS": "length"}
# Why an answer is withheld.
_FILTERED = ("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR")
# From fields of a request for a chat to those here.
_FIELDS = {
    "temperature": "temperature",
    "top_p": "topP",
    "top_k": "topK",
    "seed": "seed",
    "logprobs": "responseLogprobs",
    "top_logprobs": "logprobs",
    "max_tokens": "maxOutputTokens",
    "max_completion_tokens": "maxOutputTokens",
}
# What errors call fields whose names here are others.
_CALLED = {
    "top_k": r"top_?k",
    "top_p": r"top_?p",
    "max_tokens": r"max_?output_?tokens",
    "logprobs": r"response_?logprobs",
    "response_format": r"response_?(?:json_?)?schema|response_?mime_?type",
}
_DELAY = re.compile(r"(\d+(?:\.\d+)?)s")


def headers_of(key: str | None) -> Mapping[str, str]:
    """Return what every request carries."""
    return {"x-goog-api-key": key} if key else {}


def path_of(body: Mapping[str, Any]) -> str:
    """Return the path of a request, relative to that of the version of the protocol."""
    model = str(body["model"])
    return f"{quote(model if '/' in model else f'models/{model}', safe='/')}:generateContent"


def generation_of(body: Mapping[str, Any], info: ModelInfo) -> dict[str, Any]:
    """Translate a request for ``/chat/completions`` to one for ``:generateContent``.

    Thinking is configured only where the respondent declares it, because models without refuse to
    be asked about it.
    """
    given = flat(body)
    turns = given.pop("messages")
    system = "\n\n".join(turn["content"] for turn in turns if turn["role"] == "system")
    config = {name: given.pop(field) for field, name in _FIELDS.items() if field in given}
    if form := given.pop("response_format", None):
        schema = form["json_schema"]["schema"]
        config |= {"responseMimeType": "application/json", "responseJsonSchema": schema}
    if (effort := given.pop("reasoning_effort", None)) == "none":
        config["thinkingConfig"] = {"thinkingBudget": 0}
    elif effort:
        config["thinkingConfig"] = {"includeThoughts": True, "thinkingLevel": effort}
    elif info.thinking_tokens:
        config["thinkingConfig"] = {
            "includeThoughts": True,
            "thinkingBudget": info.thinking_tokens,
        }
    given.pop("model")
    config |= given.pop("generationConfig", {})
    return {
        **given,
        **({"systemInstruction": {"parts": [{"text": system}]}} if system else {}),
        "contents": [
            {"role": _ROLES[turn["role"]], "parts": [{"text": turn["content"]}]}
            for turn in turns
            if turn["role"] != "system"
        ],
        "generationConfig": config,
    }


def completion_of(generated: Any) -> dict[str, Any]:
    """Translate a reply of ``:generateContent`` to one of ``/chat/completions``."""
    reply = _object(generated)
    found = _objects(reply.get("candidates"))
    if not found and _object(reply.get("promptFeedback")).get("blockReason"):
        found = [{"finishReason": "PROHIBITED_CONTENT"}]
    usage = _object(reply.get("usageMetadata"))
    asked, said, thought = (
        usage.get(name)
        for name in ("promptTokenCount", "candidatesTokenCount", "thoughtsTokenCount")
    )
    # What is 0 is left out of the counts, as of all JSON of this protocol.
    told = [said or 0, thought or 0]
    return {
        "model": reply.get("modelVersion"),
        "choices": [_choice(one) for one in found[:1]],
        "usage": {
            "prompt_tokens": asked,
            "completion_tokens": sum(told) if all(type(n) is int for n in told) else None,
            "completion_tokens_details": {"reasoning_tokens": thought},
        },
    }


def _choice(candidate: Mapping[str, Any]) -> dict[str, Any]:
    parts = _objects(_object(candidate.get("content")).get("parts"))
    thoughts = [str(one.get("text") or "") for one in parts if one.get("thought")]
    reason: Any = candidate.get("finishReason")
    return {
        "message": {
            "content": [{"text": one.get("text")} for one in parts if not one.get("thought")],
            "reasoning_content": "\n\n".join(thoughts),
        },
        "finish_reason": "content_filter" if reason in _FILTERED else _FINISHED.get(reason, reason),
        "logprobs": _logprobs(candidate.get("logprobsResult")),
    }


def _logprobs(result: Any) -> dict[str, Any] | None:
    """Return the log probabilities as the protocol of chats has them."""
    chosen = _objects(_object(result).get("chosenCandidates"))
    if not chosen:
        return None
    top = _objects(_object(result).get("topCandidates"))
    listed = [_objects(one.get("candidates")) for one in top] + [[]] * len(chosen)
    return {
        "content": [
            {**_token(one), "top_logprobs": [_token(other) for other in others]}
            for one, others in zip(chosen, listed, strict=False)
        ]
    }


def _token(candidate: Mapping[str, Any]) -> dict[str, Any]:
    # A certain token has the log probability 0, which is left out.
    return {"token": candidate.get("token"), "logprob": candidate.get("logProbability", 0)}


def failed(response: httpx2.Response, body: Any) -> openai.APIStatusError:
    """Return the error of a response, with fields and statuses as the protocol of chats has them.

    A wrong key has status 400 here, and how long to wait is in the body.
    """
    error = _object(body[0] if isinstance(body, list) and body else body).get("error")
    said = dict(_object(error))
    message = str(said.get("message") or "")
    for field, pattern in _CALLED.items():
        message = re.sub(rf"(?<!\w)(?:{pattern})(?!\w)", field, message, flags=re.IGNORECASE)
    details = _objects(said.get("details"))
    status, headers = response.status_code, dict(response.headers)
    if any(one.get("reason") == "API_KEY_INVALID" for one in details):
        status = 401
    for delay in (str(one.get("retryDelay") or "") for one in details):
        if (found := _DELAY.fullmatch(delay)) and "retry-after" not in headers:
            headers["retry-after"] = found[1]
    again = httpx2.Response(status, headers=headers, request=response.request)
    return error_of(again, {"error": {"message": message, "code": said.get("status")}})


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _objects(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
