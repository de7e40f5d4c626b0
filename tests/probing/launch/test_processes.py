"""Shards as processes of this machine, through submitit's own executor for that."""

import os
import signal

import pytest
from launched import (
    QUESTIONS,
    begun,
    journaled,
    processes,
    questions_given,
    same_answers,
    shards,
    wait_for,
)

pytest.importorskip("submitit", reason="submitit is not installed")

TWO = ("launcher=processes", "launcher.shards=2")


def workers(folder):
    return processes("submitit.core._submit", str(folder))


def test_the_dataset_is_that_of_one_process(loopback, asked, tmp_path):
    world = loopback()
    assert asked(world, tmp_path / "local")[0] == 0
    world.given.clear()
    code, said = asked(world, tmp_path / "two", *TWO)
    assert code == 0, said
    same_answers(tmp_path / "local", tmp_path / "two")
    assert len(questions_given(world)) == QUESTIONS
    assert set(questions_given(world).values()) == {1}
    assert not (tmp_path / "two" / "journal" / "shards").exists()


@pytest.mark.slow
def test_a_worker_that_is_killed_is_begun_again_and_asks_nothing_twice(loopback, asked, tmp_path):
    world = loopback(delay=0.1)
    slow = "+respondents.served.api.concurrency=1"
    folder = tmp_path / "run"
    process = begun(world, folder, *TWO, slow)
    try:
        wait_for(lambda: len(journaled(folder)) >= 6)
        (victim, *_) = wait_for(lambda: workers(folder))
        os.kill(victim, signal.SIGKILL)
        answered = len(questions_given(world))
        errors = process.communicate(timeout=120)[1]
    finally:
        process.kill()
    assert process.returncode == 0, errors
    assert answered < QUESTIONS
    given = questions_given(world)
    assert len(given) == QUESTIONS
    # What was under way when the worker died was never written down.
    assert sum(given.values()) <= QUESTIONS + 1
    assert asked(world, tmp_path / "local")[0] == 0
    same_answers(tmp_path / "local", folder)


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_stopping_the_command_stops_the_workers_and_keeps_the_answers(
    loopback, asked, tmp_path, how
):
    world = loopback(delay=0.1)
    slow = "+respondents.served.api.concurrency=1"
    folder = tmp_path / "run"
    process = begun(world, folder, *TWO, slow)
    try:
        wait_for(lambda: len(journaled(folder)) >= 6)
        process.send_signal(how)
        errors = process.communicate(timeout=120)[1]
    finally:
        process.kill()
    assert "Traceback" not in errors
    if how == signal.SIGINT:
        assert process.returncode == 130
        assert not workers(folder)
        assert not shards(folder)
        assert len(journaled(folder)) < QUESTIONS
    assert asked(world, folder)[0] == 0  # goes on in this process
    assert not workers(folder)
    given = questions_given(world)
    assert len(given) == QUESTIONS
    assert sum(given.values()) <= QUESTIONS + 2
    assert asked(world, tmp_path / "local")[0] == 0
    same_answers(tmp_path / "local", folder)
