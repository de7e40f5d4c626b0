"""Request fields that a server refuses: learnt once, and omitted from then on."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

LIMIT_KEYS = ("max_tokens", "max_completion_tokens")
# What is learnt besides fields: of a budget for thinking, a system prompt, and the lowest limit on
# the answer.
THINKING, SYSTEM, LEAST = "thinking", "system", "least_tokens"
# Requests work without these; a limit on the answer has an alternative name.
_FIELDS = (
    *("temperature", "seed", "top_k", "top_p", "response_format", "logprobs", "top_logprobs"),
    *LIMIT_KEYS,
)
_LISTS = {"logprobs", "top_logprobs"}
_NAMED = re.compile(rf"(?<!\w)(?:{'|'.join(_FIELDS)})(?!\w)", re.IGNORECASE)
# Excludes wrong values, which the user should hear of.
_REFUSAL = re.compile(
    r"(?:un|not |not a |n't )support|unrecogni[sz]ed|unknown|unexpected|extra_forbidden"
    r"|not permitted|not allowed|not enabled|not available|not accept|cannot find|deprecated"
    r"|only the default|only [\d.]+ is allowed|must be unset|may only be set to|does not exist"
    r"|not compatible|incompatible",
    re.IGNORECASE,
)
_ONE_OF_TWO = re.compile(r"cannot both|not both|mutually exclusive", re.IGNORECASE)
# Of Claude models that decide by themselves how much they think.
_NO_BUDGET = "thinking.type.enabled"
# As chat templates of vLLM's models say it, OpenAI, and Google of Gemma. Other turns do alternate.
_NO_SYSTEM = re.compile(
    r"system role (?:is )?not supported|\brole' does not support 'system'"
    r"|does not support system (?:messages?|prompts?|roles?)|developer instruction is not enabled"
    r"|roles must alternate",
    re.IGNORECASE,
)
_AT_LEAST = re.compile(
    r"max_(?:output_|completion_)?tokens\W{0,3}"
    r"(?:integer below minimum value\. Expected a value|(?:must|should) be) "
    r"(?:>=|≥|at least|greater than or equal to) ?(\d{1,6})(?!\d)",
    re.IGNORECASE,
)
_TOO_MANY = re.compile(r"(?:maximum|at most|max allowed|less than|between|exceed|<=|≤|range)", re.I)
_NUMBER = re.compile(r"(?<![\w.-])\d{1,9}(?![\w-])")


def refused_fields(words: str) -> frozenset[str]:
    """Return the fields that a server says it does not accept, or not with such a value."""
    if _NO_BUDGET in words:
        return frozenset({THINKING})
    if _NO_SYSTEM.search(words):
        return frozenset({SYSTEM})
    if _AT_LEAST.search(words):
        return frozenset({LEAST})
    named = {name.lower() for name in _NAMED.findall(words)}
    if named == {"temperature", "top_p"} and _ONE_OF_TWO.search(words):
        return frozenset({"top_p"})
    if not _REFUSAL.search(words):
        # The server may list fewer likeliest tokens than requested.
        named &= _LISTS if _TOO_MANY.search(words) else set()
    return frozenset(named)


@dataclass
class LeftOut:
    """Fields that a server does not accept.

    `fields` maps each to its replacement: another field for a limit on the answer, a lower number
    of `top_logprobs`, another way of thinking, the role that a system prompt is put into, or
    nothing (the empty text); and `LEAST` to the lowest limit. `news` are those not reported yet.
    """

    fields: dict[str, str] = field(default_factory=dict)
    news: list[str] = field(default_factory=list)

    def learn(self, refused: frozenset[str], sent: Mapping[str, Any], words: str) -> bool:
        """Omit refused fields, and return whether the request had any of them."""
        # The budget for thinking has no field of its own until it is replaced.
        has_system = any(turn["role"] == "system" for turn in sent.get("messages", ()))
        about = refused & {*sent, THINKING, *([SYSTEM] if has_system else [])}
        lower = _lower(words, sent) if about & _LISTS else ""
        if lower:
            about = (about - _LISTS) | {"top_logprobs"}
        found = {n: lower if n == "top_logprobs" else self._instead(n) for n in about}
        if LEAST in refused and (least := _least(words, sent)):
            found[LEAST] = least
        for name, value in sorted(found.items()):
            if value is not None and self.fields.get(name) != value:
                self.fields[name] = value
                self.news.append(name)
        return any(value is not None for value in found.values())

    def _instead(self, name: str) -> str | None:
        """Return the replacement of a field; None if there is none."""
        if name == THINKING:
            return None if THINKING in self.fields else "adaptive"
        if name == SYSTEM:
            return "user"
        if name not in LIMIT_KEYS:
            return ""
        other = next(key for key in LIMIT_KEYS if key != name)
        return None if other in self.fields else other


def _lower(words: str, sent: Mapping[str, Any]) -> str:
    """Return the highest number of tokens that a server names, if lower than requested."""
    numbers = {int(number) for number in _NUMBER.findall(words)}
    return str(max((n for n in numbers if 0 < n < sent.get("top_logprobs", 0)), default=""))


def _least(words: str, sent: Mapping[str, Any]) -> str:
    """Return the lowest limit that a server names, if higher than requested."""
    found = _AT_LEAST.search(words)
    limit = max(sent.get(key, 0) for key in LIMIT_KEYS)
    return found[1] if found and int(found[1]) > limit else ""


def in_words(model: str, name: str, value: str) -> str:
    """Describe what was learnt about a server."""
    if not value:
        return f"{model}: the server does not take {name}; it is left out, and its default holds."
    if name == "top_logprobs":
        return f"{model}: the server lists at most {value} likeliest tokens; so many are asked for."
    if name == THINKING:
        return f"{model}: takes no budget for thinking, and decides by itself how much it thinks."
    if name == SYSTEM:
        return f"{model}: the server takes no system prompt; it is put before the first question."
    if name == LEAST:
        return f"{model}: the server takes no limit below {value} tokens; answers may have so many."
    return f"{model}: the server does not take {name}; {value} is sent instead."
