"""A budget that is never exceeded: the highest cost of a request is reserved before it is sent."""

from polbayes.config.schema import ApiConfig
from polbayes.respondents.usage import Usage

_MILLION = 1e6
# What batch services take off the price of single requests.
_OFF = 0.5


def cost(usage: Usage, api: ApiConfig, *, at_most: bool = False) -> float | None:
    """Return the cost of usage in the declared currency; None without declared prices.

    Prices are those of single requests; batch services take half of them. With `at_most`, requests
    without a count are taken to have cost as much as possible.
    """
    if api.price_input is None and api.price_output is None:
        return None
    tokens_in = usage.input - _OFF * usage.batch_input
    tokens_out = usage.output - _OFF * usage.batch_output
    if at_most:
        tokens_in += usage.input_bound - _OFF * usage.batch_input_bound
        tokens_out += usage.output_bound - _OFF * usage.batch_output_bound
    price_in, price_out = api.price_input or 0.0, api.price_output or 0.0
    return (tokens_in * price_in + tokens_out * price_out) / _MILLION


def expected(tokens_in: int, tokens_out: int, api: ApiConfig) -> Usage:
    """Return the usage of requests that will be made, by a batch service if the API has one."""
    found = Usage(tokens_in, tokens_out)
    return found if api.batch is None else found.of_batch


def tokens_at_most(usage: Usage) -> int:
    """Return the highest possible number of tokens used, in prompts and answers together."""
    return usage.input + usage.output + usage.input_bound + usage.output_bound


class Budget:
    """What is left of the limits of an API after `spent`, at its prices."""

    def __init__(self, api: ApiConfig, spent: Usage) -> None:
        self._api = api
        self.spent = spent
        self._aside = Usage()

    def set_aside(self, most: Usage) -> bool:
        """Reserve the highest usage of a request, if the budget allows it."""
        if self.lacking(most):
            return False
        self.reserve(most)
        return True

    def reserve(self, most: Usage) -> None:
        """Reserve the highest usage of requests that have been sent already."""
        self._aside += most

    def settle(self, most: Usage, used: Usage) -> None:
        """Release what was reserved for a request, and charge its usage."""
        self._aside -= most
        self.spent += used

    def lacking(self, most: Usage) -> str:
        """Return the key of the limit that another request might exceed; empty if none."""
        usage = self.spent + self._aside + most
        tokens = tokens_at_most(usage)
        if self._api.budget_tokens is not None and tokens > self._api.budget_tokens:
            return "budget_tokens"
        money = cost(usage, self._api, at_most=True)
        if self._api.budget is not None and money is not None and money > self._api.budget:
            return "budget"
        return ""
