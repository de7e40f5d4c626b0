import asyncio
from itertools import pairwise

import pytest

from polbayes.respondents.chat_api.pace import Pace


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


def succeed(pace, times):
    for _ in range(times):
        pace.worked()


def test_the_width_doubles_until_the_first_rejection_and_then_grows_by_one_a_round():
    clock = Clock()
    pace = Pace(32, clock=clock)
    assert pace.width == 1
    for width in (2, 4, 8, 16):
        succeed(pace, pace.width)
        assert pace.width == width
    clock.now += 1
    pace.too_fast(begun=100.5)
    assert pace.width == 8
    succeed(pace, 8)
    assert pace.width == 8  # 8 + 8 · 1/8, a little less for growing meanwhile
    succeed(pace, 1)
    assert pace.width == 9
    succeed(pace, 10_000)
    assert pace.width == 32


def test_many_rejections_at_once_slow_down_once():
    clock = Clock()
    pace = Pace(16, clock=clock)
    succeed(pace, 15)
    clock.now = 101.0
    for begun in (100.1, 100.2, 100.3):
        pace.too_fast(begun)
    assert pace.width == 8
    clock.now = 102.0
    pace.too_fast(begun=101.5)
    assert pace.width == 4


def test_requests_are_spaced_where_one_at_a_time_is_too_fast_and_that_is_forgotten():
    clock = Clock()
    pace = Pace(4, clock=clock)
    for n in range(3):
        clock.now += 1
        pace.too_fast(begun=clock.now - 0.5)
        assert pace.spacing == pytest.approx(0.1 * 2**n)
    assert pace.width == 1
    succeed(pace, 14)
    assert pace.spacing == pytest.approx(0.4 * 0.95**14)
    for _ in range(20):
        clock.now += 1
        pace.too_fast(begun=clock.now - 0.5)
    assert pace.spacing == 10
    succeed(pace, 200)
    assert pace.spacing == 0


def test_a_server_that_says_how_long_to_wait_is_not_asked_more_slowly_than_that():
    pace = Pace(4, clock=Clock())
    pace.too_fast(begun=99.0, wait=2.0)
    assert (pace.width, pace.spacing) == (1, 0)


def test_a_known_limit_is_kept_by_spacing():
    pace = Pace(4, per_minute=120)
    assert pace.spacing == 0.5


def test_nobody_begins_while_the_server_asks_to_wait():
    clock = Clock()
    pace = Pace(4, clock=clock)
    pace.pause(5)
    pace.pause(2)
    assert pace.delay() == pytest.approx(5)
    clock.now += 6
    assert pace.delay() < 0


def test_turns_are_held_by_as_many_as_the_width_allows():
    async def work():
        pace = Pace(8)
        succeed(pace, 2)
        active = most = done = 0

        async def one():
            nonlocal active, most, done
            async with pace.turn():
                active += 1
                most = max(most, active)
                await asyncio.sleep(0.001)
                active -= 1
                done += 1

        await asyncio.gather(*(one() for _ in range(20)))
        return most, done

    assert asyncio.run(work()) == (3, 20)


def test_turns_are_spaced_and_given_back_when_cancelled():
    async def work():
        pace = Pace(1, per_minute=60 / 0.05)
        begun = []

        async def one():
            async with pace.turn() as at:
                begun.append(at)

        await asyncio.gather(*(one() for _ in range(4)))
        pace.pause(60)
        late = asyncio.create_task(one())
        await asyncio.sleep(0.01)
        late.cancel()
        await asyncio.gather(late, return_exceptions=True)
        pace._not_before = 0
        await one()
        return begun

    begun = asyncio.run(work())
    assert len(begun) == 5
    assert all(b - a >= 0.0499 for a, b in pairwise(begun[:4]))
