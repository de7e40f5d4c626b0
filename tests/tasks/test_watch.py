import sys

import numpy as np
import pytest

from polbayes.cli import _main
from polbayes.config.schema import RunConfig, WatchConfig
from polbayes.data.dataset import write_dataset
from polbayes.instrument.design import ModelInfo, design
from polbayes.instrument.prompts import Prefix
from polbayes.instrument.questionnaires import Instrument, Item, Variant
from polbayes.probing.journal import DESIGN, Journal, journal_path
from polbayes.probing.launch.merge import merge, shard_folder
from polbayes.tasks.watch.task import watch, watched

ITEMS = tuple(
    Item(f"i{k}", "economic", 1, "s", (Variant("original", f"Text {k}.", "original", 1),), {})
    for k in range(10)
)


@pytest.fixture
def folder(tmp_path):
    """Return the folder of a run that asks two models ten questions each."""
    infos = [ModelInfo("a", "{prefix}{statement}"), ModelInfo("b/\x1b[31m", "{statement}")]
    data = design([Instrument("t", "T", "us", ITEMS)], [Prefix("baseline", "", "open")], infos)
    options = np.array(["yes", "no", "hm"], dtype=object)
    stances = ("option", np.array([1, -1, 0], dtype=np.int8))
    write_dataset(data.assign_coords(option=options, option_stance=stances), tmp_path / DESIGN)
    return tmp_path


def answers(first, last, mass=(0.5, 0.25, 0.25)):
    return [
        {"cell": [f"i{k}", "original", "baseline", 1], "prompt": "x", "status": "ok", "mass": mass}
        for k in range(first, last)
    ]


def test_what_is_in_the_journals_is_counted_as_it_comes(folder):
    a, b = watched(folder)
    assert a.look(0.0) == "a: 0 of 10 (0 %); no answers yet"
    with Journal(journal_path(folder / "journal", "a"), {}) as journal:
        journal.extend(answers(0, 2))
        assert (
            a.look(4.0)
            == "a: 2 of 10 (20 %), 0.5/s, 16 s left; 75.0 % of the mass agrees or disagrees"
        )
        journal.extend([{"tokens": [1]}, {"note": "so"}])
        with journal.path.open("ab") as file:
            file.write(b"0123 half a li")  # what another process is writing just now
        assert (
            a.look(8.0)
            == "a: 2 of 10 (20 %), 0.25/s, 32 s left; 75.0 % of the mass agrees or disagrees"
        )
    assert "nothing new for 60 s" in a.look(68.0)
    assert b.look(0.0).startswith("b/")


def test_a_shard_counts_until_it_is_merged_and_only_once(folder):
    a, _ = watched(folder)
    path = journal_path(folder / "journal", "a")
    part = shard_folder(path) / "t-1-1.jsonl"
    other = shard_folder(path) / "t-1-2.jsonl"
    with Journal(part, {}) as shard:
        shard.extend(answers(0, 4))
    with Journal(other, {}) as shard:
        shard.extend(answers(4, 5))
    assert a.look(0.0) == "a: 5 of 10 (50 %); 75.0 % of the mass agrees or disagrees, 2 shards"
    kept = part.read_bytes()
    with Journal(path, {}) as journal:
        merge(part, journal, set())
    assert a.look(0.0) == "a: 5 of 10 (50 %); 75.0 % of the mass agrees or disagrees, 1 shard"
    part.write_bytes(kept)  # merged, and not yet taken away
    assert a.look(0.0) == "a: 5 of 10 (50 %); 75.0 % of the mass agrees or disagrees, 1 shard"


def test_it_looks_again_and_again_and_ends_with_the_asking(folder, capsys, monkeypatch):
    passed = []

    def sleep(seconds):
        passed.append(seconds)
        if len(passed) == 3:
            (folder / DESIGN).unlink()

    config = RunConfig(run_dir=str(folder), watch=WatchConfig(every=5.0))
    watch(config, clock=lambda: sum(passed), sleep=sleep)
    lines = capsys.readouterr().out.splitlines()
    assert passed == [5.0] * 3
    assert len(lines) == 3 * 2 + 1
    assert lines[-1] == f"{folder}: all questions were asked"
    # A name is no command to the terminal.
    assert not any("\x1b" in line for line in lines)
    assert "b/⟨U+001B⟩[31m: 0 of 10 (0 %)" in lines[1]


def test_in_a_terminal_the_lines_are_replaced(folder, capsys, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    looks = []

    def sleep(seconds):
        looks.append(seconds)
        if len(looks) == 2:
            (folder / DESIGN).unlink()

    watch(RunConfig(run_dir=str(folder), watch=WatchConfig(every=1.0)), sleep=sleep)
    # Up by the two lines, and everything below away.
    assert capsys.readouterr().out.count("\x1b[2A\x1b[J") == 1


def test_one_look(folder, capsys):
    assert _main(["task=watch", f"run_dir={folder}", "watch.every=0"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2


def test_what_cannot_be_watched(tmp_path, folder, capsys):
    assert _main(["task=watch", f"run_dir={tmp_path / 'nowhere'}"]) == 2
    assert "nowhere holds no run that has asked anything" in capsys.readouterr().err
