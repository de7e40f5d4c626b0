"""Shards as tasks of a Ray cluster of two nodes, on this machine."""

import os
import signal
import tempfile
from pathlib import Path

import pytest
from launched import (
    QUESTIONS,
    ROOT,
    begun,
    journaled,
    processes,
    questions_given,
    same_answers,
    shards,
    wait_for,
)

pytest.importorskip("ray", reason="ray is not installed")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

SLOW = "+respondents.served.api.concurrency=1"
# Where Ray keeps its sockets, whose paths must be short, and its logs.
ENVIRONMENT = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "disabled"}


@pytest.fixture(scope="module")
def cluster():
    """Return a cluster of two nodes with room for one task each."""
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory(prefix="r") as folder:
        for name, value in {**ENVIRONMENT, "RAY_TMPDIR": folder, "PYTHONPATH": str(ROOT)}.items():
            patch.setenv(name, value)
        node = {"num_cpus": 1, "object_store_memory": 100 * 2**20, "include_dashboard": False}
        made = Cluster(initialize_head=True, head_node_args=node)
        made.add_node(num_cpus=1, object_store_memory=100 * 2**20)
        made.wait_for_nodes()
        yield made
        made.shutdown()


@pytest.fixture
def begin(cluster):
    """Return a function that starts the command on the cluster."""

    def start(world, folder, *more):
        where = ("launcher=ray", f"launcher.address={cluster.address}", "launcher.shards=2")
        return begun(world, folder, *where, *more)

    return start


def workers():
    return processes("ray::served-")


def parents(pids):
    return {int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1]) for pid in pids}


def test_two_nodes_give_the_dataset_of_one_process(begin, loopback, asked, tmp_path):
    world = loopback(delay=0.1)
    process = begin(world, tmp_path / "ray", SLOW)
    try:
        found = wait_for(lambda: w if len(w := workers()) == 2 else None)
        assert len(parents(found)) == 2  # one node each
        errors = process.communicate(timeout=300)[1]
    finally:
        process.kill()
    assert process.returncode == 0, errors
    assert len(questions_given(world)) == QUESTIONS
    assert set(questions_given(world).values()) == {1}
    assert asked(loopback(), tmp_path / "local")[0] == 0
    same_answers(tmp_path / "local", tmp_path / "ray")
    assert not (tmp_path / "ray" / "journal" / "shards").exists()


@pytest.mark.long
def test_an_interruption_stops_the_tasks(begin, loopback, asked, tmp_path):
    world, folder = loopback(delay=0.1), tmp_path / "ray"
    process = begin(world, folder, SLOW)
    try:
        wait_for(lambda: len(journaled(folder)) >= 6)
        process.send_signal(signal.SIGINT)
        errors = process.communicate(timeout=300)[1]
    finally:
        process.kill()
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    assert not workers()
    assert not shards(folder)
    kept = set(journaled(folder))
    assert 6 <= len(kept) < QUESTIONS
    assert asked(world, folder)[0] == 0
    assert sum(questions_given(world).values()) <= QUESTIONS + 2
    assert asked(loopback(), tmp_path / "local")[0] == 0
    same_answers(tmp_path / "local", folder)


@pytest.mark.parametrize("what", ["node", pytest.param("worker", marks=pytest.mark.long)])
def test_what_a_lost_worker_or_node_was_asking_goes_on_elsewhere(
    cluster, begin, loopback, asked, tmp_path, what
):
    """The node is the last thing to be lost: there is one less after that."""
    world, folder = loopback(delay=0.1), tmp_path / "ray"
    process = begin(world, folder, SLOW)
    try:
        wait_for(lambda: len(journaled(folder)) >= 6)
        if what == "worker":
            os.kill(workers()[0], signal.SIGKILL)
        else:
            (second,) = cluster.worker_nodes
            cluster.remove_node(second, allow_graceful=False)
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
