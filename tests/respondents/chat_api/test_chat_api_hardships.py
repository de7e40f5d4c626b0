"""Ten thousand questions with every fault, and processes that are killed while they ask."""

import multiprocessing
import random
import time
from pathlib import Path

import pytest

from polbayes.config.schema import ApiConfig, ElicitationConfig, RespondentConfig
from polbayes.data.dataset import STATUS, to_frame
from polbayes.instrument.design import design
from polbayes.instrument.prompts import Prefix, load_template
from polbayes.instrument.questionnaires import Instrument, Item, Variant
from polbayes.probing.journal import cell_of, journal_path, read
from polbayes.probing.probe import probe
from polbayes.respondents import describe
from polbayes.respondents.usage import used

ELICITATION = ElicitationConfig(kind="open_ended", template="faulborn", max_new_tokens=20)
FAULTS = dict.fromkeys(("429", "500", "hang", "cut", "malformed", "schema"), 0.05)
# Those that come back with an answer that cannot be read, or not in time.
UNREAD = ("hang", "cut", "malformed", "schema")


def asked(folder, url, *, items, runs, **more):
    """Ask `items` statements `runs` times each; with `url` alone, all is told to a process."""
    api = ApiConfig(base_url=url, key_variable=None, backoff=0.02, **more)
    config = RespondentConfig(backend="chat_api", checkpoint="m-1", api=api)
    every = tuple(
        Item(f"i{n}", "economic", 1, "s", (Variant("original", f"Say {n}.", "original", 1),), {})
        for n in range(items)
    )
    info = describe("m", config, load_template("faulborn"))
    prefixes = (Prefix("baseline", "", "open"),)
    return probe(
        design([Instrument("tiny", "Tiny", "us", every)], prefixes, [info], runs=runs),
        {"m": config},
        elicitation=ELICITATION,
        lexicon=None,
        prefixes=prefixes,
        seed=1,
        journal_dir=Path(folder),
        progress=False,
    )


def cells(folder):
    return [cell_of(r) for r in read(journal_path(Path(folder), "m")) if "cell" in r]


def check_nothing_lost_and_nothing_twice(world, data, folder, count):
    frame = to_frame(data)
    assert len(frame) == count
    assert (frame["status"] == STATUS["ok"]).all()
    lines = journal_path(Path(folder), "m").read_bytes().count(b'"cell"')
    assert lines == len(cells(folder)) == count
    given = {key: n for key, n in world.given.items() if key[0].startswith("Say")}
    assert len(given) == count
    return [n for n in given.values() if n > 1]


def test_hundreds_of_questions_with_every_fault(loopback, tmp_path):
    world = loopback(faults=FAULTS, seed=7)
    data = asked(tmp_path, world.url, items=40, runs=10, timeout=1.5, concurrency=16)
    assert check_nothing_lost_and_nothing_twice(world, data, tmp_path, 400) == []
    assert all(world.failed[fault] for fault in FAULTS)
    assert world.most_active <= 16
    usage = used(read(journal_path(tmp_path, "m")))
    assert (usage.input, usage.output) == tuple(world.tokens)
    assert usage.uncounted == sum(world.failed[fault] for fault in UNREAD)


@pytest.mark.slow
@pytest.mark.long
def test_ten_thousand_requests_with_every_fault(loopback, tmp_path):
    # A request that hangs holds its place until it is given up, which is most of what this waits.
    world = loopback(faults=FAULTS, seed=11, limit=(24, 0.2), retry_after="0.02")
    more = {"timeout": 0.5, "concurrency": 32, "retries": 8}
    data = asked(tmp_path, world.url, items=185, runs=40, **more)
    twice = check_nothing_lost_and_nothing_twice(world, data, tmp_path, 7400)
    assert len(world.arrived) > 10_000
    for fault in FAULTS:
        assert 400 < world.failed[fault] < 700
    assert world.failed["limit"] > 0
    usage = used(read(journal_path(tmp_path, "m")))
    # Where all else is slow an answer may be on its way when it is given up, which is counted.
    late = usage.uncounted - sum(world.failed[fault] for fault in UNREAD)
    assert 0 <= late <= len(world.arrived) / 100
    assert sum(n - 1 for n in twice) <= late
    for counted, given in zip((usage.input, usage.output), world.tokens, strict=True):
        assert 0 <= given - counted <= late * given / sum(world.given.values()) * 1.5
    # Asked to wait, nobody came but those that were under way, and the limit was found.
    assert world.early(grace=0.1) <= len(world.arrived) / 100
    assert world.failed["limit"] <= len(world.arrived) / 10
    assert world.most_active <= 32


def _child(folder, url, size):
    asked(folder, url, timeout=5.0, **size)


@pytest.mark.slow
@pytest.mark.long
def test_a_hundred_kills_lose_nothing_that_was_written_down(loopback, tmp_path):
    world = loopback(faults={"500": 0.02, "429": 0.02}, delay=0.002)
    size = {"items": 100, "runs": 60}
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, "openai", "xarray", "netCDF4"])
    moments = random.Random(3)
    before: set = set()
    for _ in range(100):
        process = context.Process(target=_child, args=(str(tmp_path), world.url, size))
        process.start()
        begun = len(world.bodies)
        until = time.monotonic() + 60
        while len(world.bodies) == begun and process.is_alive() and time.monotonic() < until:
            time.sleep(0.002)
        time.sleep(moments.uniform(0, 0.5))
        process.kill()
        process.join()
        assert process.exitcode in (-9, 0)
        now = set(cells(tmp_path))
        assert before <= now
        before = now
    assert before
    data = asked(tmp_path, world.url, timeout=5.0, concurrency=16, **size)
    twice = check_nothing_lost_and_nothing_twice(world, data, tmp_path, 6000)
    # What was under way when it was killed, at most eight at a time, was asked again.
    assert sum(n - 1 for n in twice) <= 100 * 8
