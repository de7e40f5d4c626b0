"""What requests cost, and when no more are sent: by hand."""

import pytest

from polbayes.config.schema import ApiConfig
from polbayes.respondents.chat_api.budget import Budget, cost, expected, tokens_at_most
from polbayes.respondents.usage import Usage

# Prices are those of a million tokens.
PRICED = {"price_input": 2.0, "price_output": 10.0}
# Input 1000, output 300, and one request that may have had 500 and 200 more.
USED = Usage(1000, 300, 1, 500, 200)


def most(*tokens):
    return Usage.at_most(tokens)


def test_what_was_counted_is_paid_for():
    """1000 × 2 + 300 × 10 = 5000 millionths."""
    assert cost(USED, ApiConfig(**PRICED)) == pytest.approx(0.005, rel=1e-12)


def test_at_most_what_was_not_counted_is_paid_for_too():
    """1500 × 2 + 500 × 10 = 8000 millionths."""
    assert cost(USED, ApiConfig(**PRICED), at_most=True) == pytest.approx(0.008, rel=1e-12)


@pytest.mark.parametrize(
    ("prices", "paid"),
    [
        ({}, None),
        ({"price_input": 2.0}, 0.002),
        ({"price_output": 10.0}, 0.003),
        ({"price_input": 0.0}, 0.0),
    ],
)
def test_a_price_that_is_not_declared_is_nothing(prices, paid):
    """Where none is, what was paid is unknown; where one is, the other kind costs nothing."""
    assert cost(USED, ApiConfig(**prices)) == (paid if paid is None else pytest.approx(paid))


def test_tokens_of_all_kinds_count():
    assert tokens_at_most(USED) == 1000 + 300 + 500 + 200


def test_tokens_are_spent_up_to_the_limit_and_not_beyond():
    budget = Budget(ApiConfig(budget_tokens=100), Usage(input=40))
    assert budget.lacking(most(50, 11)) == "budget_tokens"
    assert budget.lacking(most(50, 10)) == ""
    assert budget.set_aside(most(50, 11)) is False
    assert budget.set_aside(most(50, 10))
    assert not budget.set_aside(most(1, 0))
    assert not budget.set_aside(most(0, 1))
    assert budget.set_aside(most(0, 0))


def test_money_is_spent_up_to_the_limit_and_not_beyond():
    """Of 60 millionths 20 are gone; 10 × 2 + 2 × 10 are the other 40."""
    budget = Budget(ApiConfig(budget=60e-6, **PRICED), Usage(input=10))
    assert budget.lacking(most(10, 3)) == "budget"
    assert budget.lacking(most(11, 2)) == "budget"
    assert budget.set_aside(most(10, 2))
    assert budget.lacking(most(1, 0)) == "budget"


def test_what_a_request_did_not_use_is_given_back():
    """Set aside 60 + 30 of 100; used 5 + 3, so that 92 are left."""
    budget = Budget(ApiConfig(budget_tokens=100), Usage())
    assert budget.set_aside(most(60, 30))
    assert budget.lacking(most(10, 1)) == "budget_tokens"
    budget.settle(most(60, 30), Usage(input=5, output=3))
    assert budget.spent == Usage(input=5, output=3)
    assert budget.lacking(most(62, 31)) == "budget_tokens"
    assert budget.lacking(most(62, 30)) == ""
    assert budget.lacking(most(61, 31)) == ""


def test_each_kind_of_token_is_given_back_as_itself():
    """Output is five times as dear as input."""
    budget = Budget(ApiConfig(budget=100e-6, **PRICED), Usage())
    assert budget.set_aside(most(20, 5))
    budget.settle(most(20, 5), Usage(input=20, output=5))
    # 20 × 2 + 5 × 10 = 90 of 100 are gone: 5 input tokens are left, or 1 output token.
    assert budget.lacking(most(5, 0)) == ""
    assert budget.lacking(most(6, 0)) == "budget"
    assert budget.lacking(most(0, 1)) == ""
    assert budget.lacking(most(0, 2)) == "budget"


def test_requests_that_are_under_way_count_together():
    budget = Budget(ApiConfig(budget_tokens=100), Usage())
    assert budget.set_aside(most(40, 0))
    assert budget.set_aside(most(0, 40))
    assert not budget.set_aside(most(10, 11))
    budget.settle(most(40, 0), Usage())
    assert budget.set_aside(most(10, 11))


def test_without_limits_or_prices_nothing_is_lacking():
    assert Budget(ApiConfig(), Usage()).set_aside(most(10**9, 10**9))
    # What has no price cannot exceed an amount of money.
    assert Budget(ApiConfig(budget=1e-9), Usage()).set_aside(most(10**9, 10**9))
    # Nor do tokens, where only money is limited, and the other way round.
    assert Budget(ApiConfig(budget=1.0, price_input=1e-6), Usage()).set_aside(most(10**6, 10**6))
    assert Budget(ApiConfig(budget_tokens=10, price_input=1e6), Usage()).set_aside(most(10, 0))


def test_batches_are_half_the_price():
    api = ApiConfig(**PRICED)
    assert cost(USED.of_batch, api) == pytest.approx(0.0025)
    assert cost(USED.of_batch, api, at_most=True) == pytest.approx(0.004)
    # A run that began with single requests pays the whole price of these.
    assert cost(USED + USED.of_batch, api) == pytest.approx(0.0075)
    assert Usage(*(USED + USED.of_batch).record()["tokens"]) == USED + USED.of_batch
    assert tokens_at_most(USED.of_batch) == tokens_at_most(USED)


def test_what_will_be_asked_by_batch_is_half_the_price():
    batched = ApiConfig(**PRICED, batch="openai")
    assert cost(expected(1000, 300, batched), batched) == pytest.approx(0.0025)
    assert cost(expected(1000, 300, ApiConfig(**PRICED)), ApiConfig(**PRICED)) == pytest.approx(
        0.005
    )


def test_a_budget_allows_twice_as_much_by_batch():
    """10 × 2 + 2 × 10 = 40 millionths, by batch 20."""
    budget = Budget(ApiConfig(budget=60e-6, **PRICED), Usage())
    assert budget.set_aside(most(10, 2).of_batch)
    assert budget.set_aside(most(10, 2).of_batch)
    assert budget.lacking(most(10, 2)) == "budget"
    assert budget.set_aside(most(10, 2).of_batch)
    assert budget.lacking(most(1, 0).of_batch) == "budget"
    # Once it is answered, what it took is charged, at half the price.
    budget.settle(most(10, 2).of_batch, Usage(input=10, output=1).of_batch)
    assert budget.lacking(most(0, 1).of_batch) == ""
    assert budget.lacking(most(1, 1).of_batch) == "budget"
