"""What each shard may spend: its share of what is left, with all that was spent before."""

import pytest

from polbayes.config.schema import ApiConfig, RespondentConfig
from polbayes.probing.launch.rounds import part_of
from polbayes.respondents.usage import Usage

# 3,000 tokens, of which 1,000 are a bound: 2 + 2 x 0.5 units and 1 more at most.
SPENT = Usage(1000, 1000, uncounted=1, input_bound=0, output_bound=1000)
PRICES = {"price_input": 2000.0, "price_output": 1000.0}


def parts(shares, **limits):
    api = ApiConfig(**PRICES, **limits)
    config = RespondentConfig(backend="chat_api", checkpoint="m", api=api)
    return [part_of(config, SPENT, share=s, at_once=len(shares)).api for s in shares]


def test_the_shares_of_money_add_up_to_what_is_left():
    """Of 12 units 4 may be spent, so that 8 are left."""
    some = parts([0.25, 0.25, 0.5], budget=12.0)
    assert [api.budget for api in some] == pytest.approx([4 + 2, 4 + 2, 4 + 4])
    assert sum(api.budget - 4 for api in some) == pytest.approx(8)
    assert [api.budget for api in parts([1.0], budget=12.0)] == [12.0]
    assert [api.budget for api in parts([0.5, 0.5])] == [None, None]


def test_the_shares_of_tokens_add_up_to_what_is_left():
    assert [api.budget_tokens for api in parts([0.25, 0.75], budget_tokens=7000)] == [4000, 6000]


def test_the_rate_is_shared_by_those_that_ask_at_once():
    assert [a.requests_per_minute for a in parts([0.5, 0.5], requests_per_minute=60)] == [30, 30]


def test_whoever_is_behind_no_server_has_no_limits():
    config = RespondentConfig(backend="simulated", checkpoint="planted:x")
    assert part_of(config, SPENT, share=0.5, at_once=2) is config
