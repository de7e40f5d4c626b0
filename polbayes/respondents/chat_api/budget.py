"""A budget that is never exceeded: the highest cost of a request is reserved before it is sent."""

from polbayes.config.schema import ApiConfig
from polbayes.respondents.usage import Usage

_MILLION = 1e6


def cost(usage: Usage, api: ApiConfig, *, at_most: bool = False) -> float | None:
    """Return the cost of usage in the declared currency; None without declared prices.

    With `at_most`, requests without a count are taken to have cost as much as possible.
    """
    if api.price_input is None and api.price_output is None:
        return None
    tokens_in = usage.input + (usage.input_bound if at_most else 0)
    tokens_out = usage.output + (usage.output_bound if at_most else 0)
    price_in, price_out = api.price_input or 0.0, api.price_output or 0.0
    return (tokens_in * price_in + tokens_out * price_out) / _MILLION


def tokens_at_most(usage: Usage) -> int:
    """Return the highest possible number of tokens used, in prompts and answers together."""
    return usage.input + usage.output + usage.input_bound + usage.output_bound


class Budget:
    """What is left of the limits of an API after `spent`, at its prices."""

    def __init__(self, api: ApiConfig, spent: Usage) -> None:
        self._api = api
        self.spent = spent
        self._aside = Usage()

    def set_aside(self, most: tuple[int, int]) -> bool:
        """Reserve the highest number of tokens of a request, if the budget allows it."""
        if self.lacking(most):
            return False
        self.reserve(most)
        return True

    def reserve(self, most: tuple[int, int]) -> None:
        """Reserve the tokens of requests that have been sent already."""
        self._aside += _bound(most)

    def settle(self, most: tuple[int, int], used: Usage) -> None:
        """Release what was reserved for a request, and charge its usage."""
        self._aside += _bound((-most[0], -most[1]))
        self.spent += used

    def lacking(self, most: tuple[int, int]) -> str:
        """Return the key of the limit that another request might exceed; empty if none."""
        usage = self.spent + self._aside + _bound(most)
        tokens = tokens_at_most(usage)
        if self._api.budget_tokens is not None and tokens > self._api.budget_tokens:
            return "budget_tokens"
        money = cost(usage, self._api, at_most=True)
        if self._api.budget is not None and money is not None and money > self._api.budget:
            return "budget"
        return ""


def _bound(most: tuple[int, int]) -> Usage:
    return Usage(input_bound=most[0], output_bound=most[1])
