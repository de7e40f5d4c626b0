"""What each shard may spend, and how fast it may ask, so that all together keep the limits."""

from dataclasses import replace

from polbayes.config.schema import RespondentConfig
from polbayes.respondents.chat_api.budget import cost, tokens_at_most
from polbayes.respondents.usage import Usage


def part_of(
    config: RespondentConfig, spent: Usage, *, share: float, at_once: int
) -> RespondentConfig:
    """Return a respondent with a shard's part of its limits."""
    if config.backend != "chat_api" or config.api is None:
        return config
    api = config.api
    tokens, money = tokens_at_most(spent), cost(spent, api, at_most=True)
    part: dict[str, float | int | None] = {}
    if api.requests_per_minute is not None:
        part["requests_per_minute"] = api.requests_per_minute / at_once
    if api.budget_tokens is not None and share < 1:
        part["budget_tokens"] = max(1, tokens + int(share * (api.budget_tokens - tokens)))
    if api.budget is not None and money is not None and share < 1:
        part["budget"] = money + share * (api.budget - money)
    return replace(config, api=replace(api, **part))  # type: ignore[arg-type]
