"""A budget that is not exceeded: what a request may cost at most is set aside before it is sent."""

from polbayes.config.schema import ApiConfig
from polbayes.respondents.usage import Usage

_MILLION = 1e6


def cost(usage: Usage, api: ApiConfig, *, at_most: bool = False) -> float | None:
    """Return what was paid for, in the declared currency; None where no price is declared.

    With `at_most`, requests of which no count came back are taken to have cost the most they can.
    """
    if api.price_input is None and api.price_output is None:
        return None
    tokens_in = usage.input + (usage.input_bound if at_most else 0)
    tokens_out = usage.output + (usage.output_bound if at_most else 0)
    price_in, price_out = api.price_input or 0.0, api.price_output or 0.0
    return (tokens_in * price_in + tokens_out * price_out) / _MILLION


def tokens_at_most(usage: Usage) -> int:
    """Return the most tokens that were used, in prompts and answers together."""
    return usage.input + usage.output + usage.input_bound + usage.output_bound


class Budget:
    """What may still be spent after what was `spent` before, by the limits and prices of an API."""

    def __init__(self, api: ApiConfig, spent: Usage) -> None:
        self._api = api
        self.spent = spent
        self._aside = Usage()

    def set_aside(self, most: tuple[int, int]) -> bool:
        """Set the most tokens of prompt and answer that a request may take aside, if left."""
        if self.lacking(most):
            return False
        self._aside += _bound(most)
        return True

    def settle(self, most: tuple[int, int], used: Usage) -> None:
        """Give back what was set aside for a request, and take what it used."""
        self._aside += _bound((-most[0], -most[1]))
        self.spent += used

    def lacking(self, most: tuple[int, int]) -> str:
        """Return the key of the limit that a further request might exceed; empty if none."""
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
