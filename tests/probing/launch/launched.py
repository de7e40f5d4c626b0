"""Runs on a server of this machine, and what their workers are."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from polbayes.cli import _main
from polbayes.data.dataset import open_responses
from polbayes.probing.journal import cell_of, read

ROOT = Path(__file__).resolve().parents[3]
ITEMS = ["wvs-01", "wvs-02", "wvs-14", "wvs-15"]
MODEL = "served"
# Of the design below: items, wordings, prefixes, runs.
QUESTIONS = 4 * 3 * 2 * 3


def arguments(world, folder, *more):
    """Return a command line that asks the server, or without one whom the others say."""
    served = [
        "respondents=none",
        f"+respondents.{MODEL}.backend=chat_api",
        f"+respondents.{MODEL}.checkpoint=m-1",
        f"+respondents.{MODEL}.api.base_url={world and world.url}",
        f"+respondents.{MODEL}.api.key_variable=null",
        f"+respondents.{MODEL}.api.backoff=0.01",
    ]
    return [
        "+experiment=wvs_prefixes",
        *(served if world else ()),
        f"items=[{','.join(ITEMS)}]",
        "prefixes.only=[baseline,likert]",
        "stages=[probe]",
        "seed=3",
        f"run_dir={folder}",
        *more,
    ]


@pytest.fixture
def asked(capsys) -> Callable[..., tuple[int, str]]:
    """Return a function that has a server asked into a folder: exit code, and what was said."""

    def ask(world, folder, *more):
        capsys.readouterr()
        code = _main(arguments(world, folder, *more))
        return code, capsys.readouterr().err

    return ask


def same_answers(one, other):
    """Check that the datasets of two runs differ in nothing but how they were made."""
    a, b = (open_responses(folder).drop_attrs(deep=False) for folder in (one, other))
    assert set(a.variables) == set(b.variables)
    for name in a.variables:
        np.testing.assert_array_equal(a[name].values, b[name].values, err_msg=str(name))


def cells_in(path):
    """Return the cells that a journal has answers to."""
    return [cell_of(record) for record in read(path) if "cell" in record]


def journaled(folder):
    """Return the cells in the journals of a run and of its shards."""
    whole = folder / "journal" / f"{MODEL}.jsonl"
    return [c for path in (whole, *shards(folder)) for c in cells_in(path)]


def shards(folder):
    return sorted((folder / "journal" / "shards" / MODEL).glob("*.jsonl"))


def wait_for(what, seconds=240.0):
    """Return what a function gives as soon as that is something."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if found := what():
            return found
        time.sleep(0.02)
    raise AssertionError("it did not come to that")


def processes(*marks):
    """Return the ids of the processes whose command line has all of these texts."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if all(mark in line for mark in marks) and int(path.parent.name) != os.getpid():
            found.append(int(path.parent.name))
    return found


def begun(world, folder, *more, environment=None):
    """Start the command in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **(environment or {})}
    return subprocess.Popen(
        [sys.executable, "-m", "polbayes", *arguments(world, folder, *more)],
        env=environment,
        cwd=folder.parent,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def questions_given(world):
    """Return how often each question but the trial was answered."""
    return {key: n for key, n in world.given.items() if "two more than one" not in key[0]}
