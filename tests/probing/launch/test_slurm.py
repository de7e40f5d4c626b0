"""Shards as jobs of a SLURM cluster of one node, on this machine."""

import os
import signal
import tempfile
from pathlib import Path

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
from slurm_cluster import SlurmCluster, missing

pytest.importorskip("submitit", reason="submitit is not installed")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(missing()), reason=missing())]

SLOW = "+respondents.served.api.concurrency=1"


@pytest.fixture(scope="module")
def cluster():
    # A short path: that of a socket has at most 107 characters. All may go through it.
    with tempfile.TemporaryDirectory(prefix="s") as folder:
        Path(folder).chmod(0o755)
        made = SlurmCluster(Path(folder))
        try:
            made.start()
            yield made
        finally:
            made.stop()


@pytest.fixture
def begin(cluster):
    """Return a function that starts the command where jobs can be submitted."""

    def start(world, folder, *more):
        where = ("launcher=slurm", "launcher.shards=2", "launcher.minutes=10")
        return begun(world, folder, *where, *more, environment=cluster.environment)

    return start


def workers(folder):
    return processes("submitit.core._submit", str(folder))


def test_jobs_give_the_dataset_of_one_process(cluster, begin, loopback, asked, tmp_path):
    world = loopback(delay=0.05)
    process = begin(world, tmp_path / "slurm", SLOW, "launcher.partition=main")
    try:
        names = wait_for(lambda: cluster.ask("squeue", "--noheader", "--format", "%j"))
        errors = process.communicate(timeout=300)[1]
    finally:
        process.kill()
    assert process.returncode == 0, errors
    assert "polbayes" in names
    assert len(questions_given(world)) == QUESTIONS
    assert set(questions_given(world).values()) == {1}
    assert asked(loopback(), tmp_path / "local")[0] == 0
    same_answers(tmp_path / "local", tmp_path / "slurm")
    assert not (tmp_path / "slurm" / "journal" / "shards").exists()


def test_a_job_that_dies_is_submitted_again_and_asks_nothing_twice(
    begin, loopback, asked, tmp_path
):
    world, folder = loopback(delay=0.1), tmp_path / "slurm"
    process = begin(world, folder, SLOW)
    try:
        wait_for(lambda: len(journaled(folder)) >= 6)
        os.kill(wait_for(lambda: workers(folder))[0], signal.SIGKILL)
        errors = process.communicate(timeout=300)[1]
    finally:
        process.kill()
    assert process.returncode == 0, errors
    given = questions_given(world)
    assert len(given) == QUESTIONS
    # What was under way when the worker died was never written down.
    assert sum(given.values()) <= QUESTIONS + 1
    assert asked(loopback(), tmp_path / "local")[0] == 0
    same_answers(tmp_path / "local", folder)


def test_an_interruption_leaves_no_job_behind(cluster, begin, loopback, asked, tmp_path):
    world, folder = loopback(delay=0.1), tmp_path / "slurm"
    process = begin(world, folder, SLOW)
    try:
        wait_for(lambda: len(journaled(folder)) >= 6)
        process.send_signal(signal.SIGINT)
        errors = process.communicate(timeout=300)[1]
    finally:
        process.kill()
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    assert not workers(folder)
    assert not shards(folder)
    assert wait_for(lambda: not cluster.ask("squeue", "--noheader"))
    assert asked(world, folder)[0] == 0
    assert sum(questions_given(world).values()) <= QUESTIONS + 2
    assert asked(loopback(), tmp_path / "local")[0] == 0
    same_answers(tmp_path / "local", folder)


def test_options_that_slurm_does_not_take_are_said(begin, loopback, tmp_path):
    process = begin(loopback(), tmp_path / "slurm", "launcher.partition=nowhere")
    errors = process.communicate(timeout=120)[1]
    assert process.returncode == 2
    assert "Traceback" not in errors
    assert "launcher: the job was rejected" in errors
    assert "invalid partition" in errors
